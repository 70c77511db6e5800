//! How batches write: values are told in the text of a message, and rows are looked up one by one.

use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::{Idem, ToolCall, idempotent, testing::postgres::Cluster};

static KEPT: AtomicU32 = AtomicU32::new(0);

#[idempotent(scope = "conversation", key = "args")]
async fn keep(call: &ToolCall, words: String) -> Result<String, String> {
    KEPT.fetch_add(1, Ordering::SeqCst);
    Ok(words)
}

#[idempotent(scope = "conversation", key = "args")]
async fn store(call: &ToolCall, words: String) -> Result<String, String> {
    Ok(words)
}

#[tokio::test]
async fn words_are_kept_as_they_are_under_every_setting_of_the_server() {
    const WORDS: [&str; 6] = ["it's", "\\'; drop table idem_operations; --", "{\"a\",null}", "\\x00", "E'é", "null"];
    let cluster = Cluster::start().expect("a server");
    for settings in ["", "%20-cstandard_conforming_strings%3Doff%20-cbackslash_quote%3Doff"] {
        let address = cluster.ledger().expect("a schema") + settings;
        for round in 0..2 {
            // The second one remembers nothing.
            let idem = Idem::open(&address).await.expect("a ledger");
            for words in WORDS {
                let call = idem.call().tenant(words).principal(words).conversation(words).turn(1).tool_call_id(words);
                let call = call.approval(words);
                assert_eq!(keep(&call, words.to_owned()).await.as_deref(), Ok(words), "round {round}, {settings:?}");
            }
        }
    }
    assert_eq!(KEPT.load(Ordering::SeqCst), 2 * u32::try_from(WORDS.len()).expect("a few"));
}

#[tokio::test]
async fn a_settlement_looks_at_no_row_but_its_own() {
    const CALLS: u64 = 200;
    const A_CALL: u64 = 8;
    let cluster = Cluster::own().expect("a server");
    let idem = Idem::open(&cluster.ledger().expect("a schema")).await.expect("a ledger");
    for number in 0..CALLS {
        let call = idem.call().tenant("acme").conversation("c-1").turn(number).tool_call_id(format!("call-{number}"));
        store(&call, number.to_string()).await.expect("kept");
    }
    // Its connections tell what they did when they end.
    drop(idem);
    let of =
        |what: &str| format!("select {what} from pg_stat_user_tables where relname ~ '^idem_operations(_p?[0-9]+)?$'");
    let all_told = format!("sum(n_tup_ins) >= {CALLS} and sum(n_tup_upd) >= {CALLS}");
    cluster.until(&of(&all_told), "t").expect("statistics");
    let looked = cluster.ask(&of("sum(seq_tup_read + coalesce(idx_tup_fetch, 0))")).expect("rows");
    let looked: u64 = looked.parse().expect("a number");
    assert!(looked <= CALLS * A_CALL, "{looked} rows were looked at in {CALLS} calls");
}
