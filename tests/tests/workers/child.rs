//! One worker: so many callers at once, each with one refund after the other, until its parent says no more.
//!
//! What a caller was told it says before anything else. Must not know that it will be killed.

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use idem_runtime::Idem;
use idem_tests::dice::Dice;
use tokio::task::JoinSet;

use super::tools::{Banks, Tool, bound, config, unguarded};
use crate::process;

/// Callers of a worker.
const CALLERS: u64 = 64;

/// Where a worker reads its ledger's address.
pub(crate) const ADDRESS: &str = "address";

/// Callers want one of the newest so many orders, so that workers meet.
const NEWEST: u64 = 150;

/// And once in so many calls one that is older.
const OLDER_IN: u64 = 10;

/// The two arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arm {
    Guarded,
    /// The control.
    Unguarded,
}

/// What a worker is started with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Life {
    pub(crate) arm: Arm,
    pub(crate) seed: u64,
    pub(crate) keyed: SocketAddr,
    pub(crate) plain: SocketAddr,
    /// How many orders there are at its beginning. The parent says when there are more.
    pub(crate) orders: u64,
}

impl Life {
    pub(crate) fn role(&self) -> String {
        let Self { arm, seed, keyed, plain, orders } = self;
        format!("{arm:?} {seed} {keyed} {plain} {orders}")
    }

    fn read(role: &str) -> Self {
        let words: Vec<&str> = role.split(' ').collect();
        let [arm, seed, keyed, plain, orders] = words.as_slice() else { panic!("an unknown role: {role}") };
        let number = |word: &str| word.parse().expect("a number");
        let address = |word: &str| word.parse().expect("an address");
        let arm = if *arm == "Guarded" { Arm::Guarded } else { Arm::Unguarded };
        Self { arm, seed: number(seed), keyed: address(keyed), plain: address(plain), orders: number(orders) }
    }
}

/// One of the newest orders, or sometimes an older one.
fn drawn(dice: &mut Dice, orders: u64) -> u64 {
    if dice.below(OLDER_IN) == 0 { dice.below(orders) } else { orders - 1 - dice.below(NEWEST.min(orders)) }
}

/// A worker's life.
pub(crate) fn works(role: &str, folder: &Path) {
    let life = Life::read(role);
    let address = fs::read_to_string(folder.join(ADDRESS)).expect("the ledger's address");
    let (done, orders) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(life.orders)));
    let (ends, grow) = (Arc::clone(&done), Arc::clone(&orders));
    thread::spawn(move || {
        while let Some(line) = process::hear() {
            grow.store(line.parse().expect("a number of orders"), Ordering::SeqCst);
        }
        ends.store(true, Ordering::SeqCst);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let banks = Banks::at(life.keyed, life.plain);
        let idem = match life.arm {
            Arm::Unguarded => None,
            Arm::Guarded => Some(Idem::builder().config(config()).open(&address).await.expect("a ledger")),
        };
        if let Some(idem) = &idem {
            tokio::spawn(idem.reconciler(bound(&banks)).run());
        }
        let (mut callers, calls) = (JoinSet::new(), Arc::new(AtomicU64::new(0)));
        for caller in 0..CALLERS {
            let (idem, banks, done) = (idem.clone(), banks.clone(), Arc::clone(&done));
            let (orders, calls) = (Arc::clone(&orders), Arc::clone(&calls));
            let mut dice = Dice::new(life.seed.wrapping_add(caller));
            callers.spawn(async move {
                while !done.load(Ordering::SeqCst) {
                    let number = drawn(&mut dice, orders.load(Ordering::SeqCst));
                    let told = if let Some(idem) = &idem {
                        guarded(idem, &banks, number).await
                    } else {
                        let refund = unguarded(&banks, number, calls.fetch_add(1, Ordering::SeqCst)).await;
                        refund.map_or_else(|| "nothing".to_owned(), |refund| format!("ran {}", refund.id))
                    };
                    process::say(&format!("{number} {told}"));
                }
            });
        }
        while callers.join_next().await.is_some() {}
    });
    process::say("done");
}

/// A success with the provider's reference, or the name of the refusal.
async fn guarded(idem: &Idem, banks: &Banks, number: u64) -> String {
    let outcome = Tool::of(number).refund(idem, banks, number).await;
    match outcome.value() {
        Some(refund) if outcome.is_replay() => format!("replayed {}", refund.id),
        Some(refund) => format!("ran {}", refund.id),
        None => outcome.to_json()["outcome"].as_str().expect("a name").to_owned(),
    }
}
