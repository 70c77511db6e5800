//! A server that dies under load, and a disk that fills: callers are told the truth, and the ledger goes on by itself.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use idem_runtime::{
    Held, Idem, Outcome, Refusal, RefusalKind, ToolCall, idempotent, ledger::State, testing::postgres::Cluster,
};
use idem_tests::{
    timing::{Gate, until},
    wire::{Session, schema_of},
};
use tokio::task::JoinSet;

use super::stage::{Till, call, pay, pay_outcome, pay_soon_outcome, record, refused};

const CALLERS: usize = 64;
const ORDERS: usize = 12;
const KILLS: usize = 5;

/// What callers of a run were told.
#[derive(Debug, Default)]
struct Tally {
    done: AtomicUsize,
    unavailable: AtomicUsize,
    flagged: AtomicUsize,
    unknown: AtomicUsize,
}

/// Comes again until it knows; a caller of a provider without keys.
async fn insist(idem: &Idem, order: &str, till: &Till, tally: &Tally) {
    loop {
        let told = pay_soon_outcome(&call(idem), order.to_owned(), till.clone()).await;
        match &told {
            Outcome::Succeeded(success) => {
                assert_eq!(till.count(order), 1, "a success without its effect, or with two: {order}");
                tally.flagged.fetch_add(usize::from(success.told.held != Held::Result), Ordering::SeqCst);
                break;
            }
            Outcome::Refused(refusal) => match refusal.kind() {
                // It did not start: so long had its reservation taken that its lease was half over.
                RefusalKind::FailedRetryable | RefusalKind::LedgerUnavailable | RefusalKind::InProgress { .. } => {
                    tally.unavailable.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                }
                RefusalKind::Unknown => {
                    tally.unknown.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                other => panic!("{order}: {other:?}"),
            },
        }
    }
    tally.done.fetch_add(1, Ordering::SeqCst);
}

// R-L5
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_killed_under_load_doubles_nothing() {
    let cluster = Arc::new(Cluster::own().expect("a server"));
    let ledger = cluster.ledger().expect("a schema");
    let idem = Idem::open(&ledger).await.expect("a ledger");
    let (till, tally) = (Till::default(), Arc::new(Tally::default()));
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (idem, till, tally) = (idem.clone(), till.clone(), Arc::clone(&tally));
        callers.spawn(async move {
            for nth in 0..ORDERS {
                insist(&idem, &format!("order {caller} {nth}"), &till, &tally).await;
            }
        });
    }
    let all = CALLERS * ORDERS;
    for kill in 1..=KILLS {
        let enough = all * kill / (KILLS + 1);
        until("callers get on", async || (tally.done.load(Ordering::SeqCst) >= enough).then_some(())).await;
        let cluster = Arc::clone(&cluster);
        let killed = tokio::task::spawn_blocking(move || {
            cluster.kill().expect("a crash");
            cluster.start_again().expect("a recovery");
        });
        killed.await.expect("killed and started");
    }
    callers.join_all().await;
    let orders: Vec<String> =
        (0..CALLERS).flat_map(|caller| (0..ORDERS).map(move |nth| format!("order {caller} {nth}"))).collect();
    let twice = orders.iter().filter(|order| till.count(order) > 1).count();
    let effects = till.world.effects().len();
    // A process that remembers nothing. What was unknown may have been proved by now not to have begun: that one runs.
    let fresh = Idem::open(&ledger).await.expect("a ledger");
    let mut left = 0;
    for order in &orders {
        let told = until("it is settled", async || {
            let told = pay_soon_outcome(&call(&fresh), order.clone(), till.clone()).await;
            let waits = matches!(refused(&told), Some(RefusalKind::InProgress { .. } | RefusalKind::FailedRetryable));
            (!waits).then_some(told)
        })
        .await;
        match told {
            Outcome::Succeeded(_) => assert_eq!(till.count(order), 1, "{order}"),
            Outcome::Refused(refusal) => {
                assert_eq!(refusal.kind(), &RefusalKind::Unknown, "{order}: {refusal:?}");
                assert!(till.count(order) <= 1, "{order}");
                left += 1;
            }
        }
    }
    let unknown = tally.unknown.load(Ordering::SeqCst);
    eprintln!(
        "{all} operations of {CALLERS} callers, {KILLS} kills; refused for want of a ledger: {}, successes with a flag: {}, \
         unknown: {unknown} ({} settled, {left} left for an operator), effects: {effects}, twice: {twice}",
        tally.unavailable.load(Ordering::SeqCst),
        tally.flagged.load(Ordering::SeqCst),
        unknown - left,
    );
    assert_eq!(twice, 0);
    assert!(left <= unknown, "{left} operations ended otherwise than their callers were told");
    assert!(effects + unknown >= all, "an operation was dropped: {effects} effects, {unknown} unknown");
}

/// A folder on a small disk of its own, as root; gone when it is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None where this system does not let a test mount anything.
    fn mount(folder: PathBuf) -> Option<Self> {
        std::fs::create_dir(&folder).ok()?;
        let disk = Self(folder);
        let ran = |program: &str, arguments: &[&str]| {
            let command = Command::new(program).args(arguments).arg(&disk.0).stderr(Stdio::null()).status();
            command.is_ok_and(|status| status.success())
        };
        let mounted = ran("mount", &["-t", "tmpfs", "-o", "size=4m", "idem-small-disk"]) && ran("chown", &["postgres"]);
        mounted.then_some(disk)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Where nothing was mounted there is nothing to undo.
        let _ = Command::new("umount").arg("-l").arg(&self.0).stderr(Stdio::null()).status();
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A result that does not get smaller by being compressed.
#[idempotent(scope = "conversation", key = "args")]
async fn report(call: &ToolCall, order: String, #[idem(state)] till: Till) -> Result<String, Refusal> {
    if let Some(gate) = &till.gate {
        gate.pass().await;
    }
    till.world.effect(&order);
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64;
    let signs = (0..300_000).map(|_| {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        char::from(b'!' + u8::try_from(noise % 90).expect("small"))
    });
    Ok(signs.collect())
}

/// How the disk comes to be full, and how there comes to be space again.
enum Disk {
    /// For real.
    Small(SmallDisk),
    /// The server is told to say so.
    Said,
}

impl Disk {
    async fn fill(&self, session: &mut Session) {
        match self {
            Self::Small(disk) => {
                use std::io::Write;
                let mut ballast = std::fs::File::create(disk.0.join("ballast")).expect("a file");
                while ballast.write_all(&[0; 4096]).is_ok() {}
            }
            Self::Said => {
                session
                    .ask(
                        "create or replace function full_disk() returns trigger language plpgsql as $$ begin
                             raise exception 'could not extend file: No space left on device' using errcode = '53100';
                         end $$;
                         create trigger full_disk before insert on idem_results
                             for each statement execute function full_disk();
                         create trigger full_disk before insert on idem_operations
                             for each statement execute function full_disk()",
                    )
                    .await
                    .expect("a full disk");
            }
        }
    }

    async fn empty(&self, session: &mut Session) {
        match self {
            Self::Small(disk) => std::fs::remove_file(disk.0.join("ballast")).expect("space"),
            Self::Said => {
                let drop = "drop trigger full_disk on idem_results; drop trigger full_disk on idem_operations";
                session.ask(drop).await.expect("space");
            }
        }
    }
}

// R-L5
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_disk_is_told_and_gone_on_from() {
    let cluster = Cluster::own().expect("a server");
    let folder = std::env::temp_dir().join(format!("idem-small-{}", std::process::id()));
    let disk = SmallDisk::mount(folder.clone()).map_or(Disk::Said, Disk::Small);
    if matches!(disk, Disk::Small(_)) {
        let space = format!("create tablespace small location '{}'", folder.display());
        cluster.say(&space).expect("a tablespace");
        cluster.set("default_tablespace", "small").expect("tables are made there");
    }
    let ledger = cluster.ledger().expect("a schema");
    let idem = Idem::open(&ledger).await.expect("a ledger");
    let mut session = Session::open(cluster.port().expect("a port"), schema_of(&ledger)).await;
    let gate = Gate::new();
    let (held, till) = (Till::at(&gate), Till::default());
    let paying = tokio::spawn({
        let (call, till) = (call(&idem), held.clone());
        async move { report_outcome(&call, "held".into(), till).await }
    });
    gate.arrived().await;
    disk.fill(&mut session).await;
    // A result that could not be stored reaches its caller all the same.
    gate.open();
    let Outcome::Succeeded(told) = paying.await.expect("no panic") else { panic!("it happened") };
    assert_eq!(told.value.len(), 300_000);
    let Held::NotYet(why) = &told.told.held else { panic!("it says that it is stored: {:?}", told.told.held) };
    assert!(why.contains("full"), "{why}");
    // New ones find room in pages that are there until there is none; then nothing is run.
    let mut passed = 0;
    let refusal = loop {
        let order = format!("order {passed}");
        match pay_outcome(&call(&idem), order.clone(), till.clone()).await {
            Outcome::Succeeded(_) => assert_eq!(till.count(&order), 1),
            Outcome::Refused(refusal) => {
                assert_eq!(till.count(&order), 0, "it was run unguarded");
                break refusal;
            }
        }
        passed += 1;
        assert!(passed < 20_000, "the disk is not full");
    };
    assert_eq!(refusal.kind(), &RefusalKind::LedgerUnavailable);
    assert!(refusal.to_string().contains("full") || format!("{refusal:?}").contains("Full"), "{refusal:?}");
    disk.empty(&mut session).await;
    // The settlement that is owed is made by itself.
    until("it is stored", async || {
        let record = record(&idem, told.told.operation).await.expect("a record");
        (record.state == State::Succeeded).then_some(())
    })
    .await;
    let fresh = Idem::open(&ledger).await.expect("a ledger");
    let again = report_outcome(&call(&fresh), "held".into(), held.clone()).await;
    assert!(again.is_replay(), "{:?}", again.operation());
    assert_eq!(again.value(), Some(&told.value));
    pay(&call(&idem), format!("order {passed}"), till.clone()).await.expect("there is room again");
    assert_eq!((held.count("held"), till.count(&format!("order {passed}"))), (1, 1));
    let how = if matches!(disk, Disk::Small(_)) { "a tablespace on 4 MiB" } else { "a trigger that raises 53100" };
    eprintln!("full disk ({how}): {passed} calls went through before one was refused");
    drop((idem, fresh));
    drop(cluster);
}
