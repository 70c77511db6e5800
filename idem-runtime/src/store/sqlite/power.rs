//! What a file holds when the power comes back.

use std::{path::Path, sync::Arc, time::Duration};

use idem_losing_disk::Disk;
use rusqlite::Connection;

use super::{SqliteStore, checkpoint::checkpoint};
use crate::{
    clock::Timestamp,
    id::Tenant,
    identity::Source,
    ledger::{
        AfterRetention, Command, Ending, Grant, Identity, Reply, Reserve, Reserved, Scope, Settle, Settled, Stored,
        StoredKind, Tool,
    },
};

const CALLS: u8 = 40;
const SECOND: Duration = Duration::from_secs(1);

fn tenant() -> Tenant {
    Tenant::new("acme").expect("a name")
}

fn reserve(number: u8) -> Command {
    let args = [number; 32];
    Command::Reserve(Arc::new(Reserve {
        tenant: tenant(),
        principal: None,
        scope: Scope { kind: "tenant".into(), value: None, digest: [255; 32] },
        tool: Arc::new(Tool { name: "bank::send".into(), version: 1, params: "order;".into() }),
        identities: vec![Identity { source: Source::Args, digest: args, generation: None }],
        resumed: None,
        fingerprint: args,
        parts: args[..8].into(),
        content: Arc::default(),
        window: None,
        after_retention: AfterRetention::Tell,
        lease: SECOND,
        nonce: 1 + u64::from(number),
        resend: None,
        paused: false,
        budget: None,
        retain: 60 * SECOND,
        needs_reference: false,
        approval: None,
        link: None,
        resources: Arc::default(),
        arguments: None,
    }))
}

fn settle(grant: &Grant) -> Command {
    Command::Settle(Settle {
        tenant: tenant(),
        row: grant.row,
        fence: grant.fence,
        attempt: grant.attempt,
        ending: Ending::Ok,
        reference: None,
        stored: Some(Stored { kind: StoredKind::Value, bytes: (*b"\"sent\"").into() }),
        retain: 60 * SECOND,
        pause: Duration::ZERO,
        budget: None,
        resources: Arc::default(),
        looks: true,
    })
}

/// How a record stands in a folder that the power came back to.
fn state(folder: &Path, row: i64) -> Option<String> {
    let file = Connection::open(folder.join("idem.db")).expect("a file");
    let sound: String = file.query_row("pragma integrity_check", [], |row| row.get(0)).expect("checked");
    assert_eq!(sound, "ok");
    file.query_row("select state from idem_operations where id = ?1", [row], |row| row.get(0)).ok()
}

/// Confirmations that the power takes back, of reservations and of settlements: it fails after each one.
fn lost(level: Option<&str>) -> (usize, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = Disk::watch(folder.path()).expect("a disk");
    let mut sqlite = SqliteStore::open(folder.path().join("idem.db")).expect("a ledger");
    if let Some(level) = level {
        sqlite.writer.pragma_update(None, "synchronous", level).expect("a level");
    }
    let now = Timestamp::from_nanos(1_893_456_000_000_000_000);
    let (mut reservations, mut settlements) = (0, 0);
    let is_left = |row: i64, state_then: &str| {
        let after = tempfile::tempdir().expect("a folder");
        disk.after_power_loss(after.path()).expect("written");
        state(after.path(), row).is_some_and(|state| state == state_then)
    };
    for number in 0..CALLS {
        if number % 16 == 15 {
            // Where pages go from the log into the file, and the log begins anew.
            checkpoint(&sqlite.writer, "restart").expect("a checkpoint");
        }
        let replies = sqlite.apply_now(&[reserve(number)], now).expect("reserved");
        let [Reply::Reserved(Reserved::Granted(grant))] = replies.as_slice() else { panic!("{replies:?}") };
        reservations += usize::from(!is_left(grant.row, "in_progress"));
        let replies = sqlite.apply_now(&[settle(grant)], now.after(SECOND / 2)).expect("settled");
        assert!(matches!(replies.as_slice(), [Reply::Settled(Settled::Recorded { .. })]), "{replies:?}");
        settlements += usize::from(!is_left(grant.row, "succeeded"));
    }
    (reservations, settlements)
}

#[test]
fn r081_what_was_confirmed_is_there_when_the_power_comes_back() {
    assert_eq!(lost(None), (0, 0));
    // The disk does forget: this is what every connection of ours is kept from.
    let (reservations, settlements) = lost(Some("normal"));
    assert!(reservations > 0 && settlements > 0, "{reservations} and {settlements}");
}
