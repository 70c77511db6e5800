//! The process that is killed: this binary, run again for one call.
//!
//! Its clock stands at the first instant of the test clock, as its parent's did.

use std::path::Path;

use idem_runtime::{Idem, testing::TestClock};
use idem_tests::{home::Home, store::AnyStore};

use super::{
    provider::{Bears, Provider},
    random::{WORKER, works},
    site::{Checkpoint, Fault, Site},
    store::Standing,
    tools::{Tool, call},
};
use crate::process;

/// The provider's file.
pub(crate) const PROVIDER: &str = "provider.db";

/// The order of a folder in which there is one.
pub(crate) const ORDER: &str = "A-1";

/// How the role of a victim begins.
const VICTIM: &str = "victim";

/// How a worker without a guard is called.
pub(crate) const UNGUARDED: &str = "unguarded";

/// The role of a process that pays with this tool and stands still here.
pub(crate) fn role(tool: Tool, here: Checkpoint) -> String {
    format!("{VICTIM} {tool:?} {here:?}")
}

/// Plays a role.
pub(crate) fn plays(role: &str, folder: &Path) {
    let words: Vec<&str> = role.split(' ').collect();
    match words.as_slice() {
        [VICTIM, tool, here] => pays(Tool::named(tool), Checkpoint::named(here), folder),
        [WORKER, seed, dies_at, orders] => works([seed, dies_at, orders], folder),
        [UNGUARDED] => unguarded(folder),
        _ => panic!("an unknown role: {role}"),
    }
}

fn pays(tool: Tool, here: Checkpoint, folder: &Path) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let clock = TestClock::default();
        let site = Site::armed(Provider::at(&folder.join(PROVIDER), &clock), here, Fault::Kill);
        let store = Standing::new(AnyStore::at(&Home::address_of(folder)).await, &site);
        let idem = Idem::builder().clock(clock).with_store(store).expect("a ledger");
        let outcome = tool.pay(&call(&idem, ORDER, 1), &site, ORDER).await;
        site.strikes(Checkpoint::Return);
        panic!("it should have stood at {here:?}, and was told {outcome:?}");
    });
}

/// Pays without a guard; the key is made up for each call, as clients do that are not given one.
fn unguarded(folder: &Path) {
    let provider = Provider::at(&folder.join(PROVIDER), &TestClock::default());
    provider.pay(Bears::Key, &format!("made up by {}", std::process::id()), ORDER, super::tools::CENTS);
    process::say("here");
    process::hear();
}
