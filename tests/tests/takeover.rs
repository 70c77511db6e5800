//! What a later process makes of what an earlier one left in flight: it asks the provider before anybody tries again.
//!
//! The worker is this binary run again, killed (`kill -9`) while it stands after its send. The provider lives in the test's
//! own process, is called over HTTP, and honours no keys: whatever is sent again happens again.

use std::{path::Path, time::Duration};

use idem_runtime::{
    Config, Idem, Outcome, RefusalKind, Tenant, ToolCall, Unsettled, Verdict, idempotent,
    ledger::{Listing, Record, State},
    testing::TestClock,
};
use idem_tests::{
    home::{Home, Place},
    provider::{Bank, BankError, Looking, Provider, Refund, SendError, Sending, classify},
    timing::{Gate, until},
    world::{config, every_store_with},
};

use child::Child;

#[path = "outside/child.rs"]
mod child;

const SECOND: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(30);
/// Just before the lease of what began at the beginning ends.
const BEFORE_ITS_END: Duration = Duration::from_secs(29);
/// Just before "not found" proves something: two minutes after that lease's end.
const BEFORE_IT_SETTLES: Duration = Duration::from_secs(149);
const CENTS: u64 = 4_900;
const RECIPIENT: &str = "iban-1";

/// Where a worker stands when it has sent.
#[derive(Debug, Clone)]
enum Stands {
    /// It says so to its parent, and waits for a word.
    Told,
    /// At a gate.
    At(Gate),
}

#[derive(Debug, Clone)]
struct Desk {
    bank: Bank,
    stands: Stands,
}

/// Refunds an order; whoever comes while that is under way is told.
#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify, lease = "30s",
    on_busy = "tell", recover(lookup = find), settles_in = "2m")]
async fn refund(call: &ToolCall, #[idem(state)] desk: Desk, order: String, cents: u64) -> Result<Refund, SendError> {
    let sent = desk.bank.send(call.provider_key("refund").as_str(), &order, cents, RECIPIENT).await;
    match &desk.stands {
        Stands::At(gate) => {
            // Who is let through by nobody is a failure, not a test that hangs.
            tokio::time::timeout(Duration::from_mins(1), gate.pass()).await.expect("nobody opened the gate");
        }
        Stands::Told => {
            let told = tokio::task::spawn_blocking(|| {
                child::say("sent");
                child::hear()
            });
            told.await.expect("a parent");
        }
    }
    Ok(sent?)
}

async fn find(desk: &Desk, operation: Unsettled) -> Result<Verdict<Refund>, BankError> {
    Ok(match desk.bank.by_key(operation.provider_key("refund").as_str()).await? {
        Some(refund) => Verdict::applied(refund.clone(), refund.id),
        None => Verdict::not_applied("no refund under the key"),
    })
}

fn call(idem: &Idem, order: &str) -> ToolCall {
    idem.call().tenant("acme").conversation(order).turn(7).tool_call_id("call_1")
}

async fn open(folder: &Path, clock: &TestClock) -> Idem {
    Idem::builder().jitter_seed(7).clock(clock.clone()).open(&Home::address_of(folder)).await.expect("a ledger")
}

/// Plays the part that this process was started for; nothing, when it is the test run itself. `works ADDRESS ORDER…`
/// refunds orders; `reconciles ADDRESS SECONDS` settles what is due so long after the beginning.
#[test]
fn child_process() {
    let Some((role, folder)) = child::role() else { return };
    let words: Vec<&str> = role.split(' ').collect();
    let [part, address, rest @ ..] = &words[..] else { panic!("what to do: {role}") };
    let desk = Desk { bank: Bank::at(address.parse().expect("an address")), stands: Stands::Told };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let clock = TestClock::default();
        match *part {
            "reconciles" => {
                clock.advance(Duration::from_secs(rest[0].parse().expect("seconds")));
                let idem = open(&folder, &clock).await;
                let mut reconciler = idem.reconciler([refund_tool(desk)]);
                let seen = reconciler.run_once().await.expect("a ledger");
                child::say(&format!(
                    "taken over {}, applied {}, not applied {}, inconclusive {}",
                    seen.taken_over, seen.applied, seen.not_applied, seen.inconclusive
                ));
            }
            "works" => {
                let idem = open(&folder, &clock).await;
                let calls: Vec<_> = rest
                    .iter()
                    .map(|order| {
                        let (call, desk, order) = (call(&idem, order), desk.clone(), (*order).to_owned());
                        tokio::spawn(async move { refund_outcome(&call, desk, order, CENTS).await })
                    })
                    .collect();
                for told in calls {
                    let told = told.await.expect("no panic");
                    child::say(told.to_json()["outcome"].as_str().expect("a name"));
                }
            }
            other => panic!("nobody does this: {other}"),
        }
    });
}

/// A ledger whose worker was killed while its refunds of these orders stood after their sends.
struct Killed {
    home: Home,
    provider: Provider,
    clock: TestClock,
    desk: Desk,
}

impl Killed {
    fn while_refunding(place: Place, orders: &[&str], sends: impl IntoIterator<Item = Sending>) -> Self {
        let (home, clock) = (place.home().expect("a home"), TestClock::default());
        let provider = Provider::start(&clock);
        provider.habits(|habits| habits.keyed = false);
        provider.sends(sends);
        let mut worker = Child::start(&format!("works {} {}", provider.address(), orders.join(" ")), home.folder());
        for _ in orders {
            assert_eq!(worker.hear(), "sent");
        }
        // `kill -9`, by its id.
        drop(worker);
        assert_eq!(provider.sent(), orders.len());
        let desk = Desk { bank: provider.bank(), stands: Stands::At(Gate::opened()) };
        Self { home, provider, clock, desk }
    }

    async fn restarted(&self) -> Idem {
        open(self.home.folder(), &self.clock).await
    }

    async fn call(&self, idem: &Idem, order: &str) -> Outcome<Refund> {
        refund_outcome(&call(idem, order), self.desk.clone(), order.to_owned(), CENTS).await
    }

    /// What a reconciler of a process of its own says, so long after the beginning.
    fn reconciled(&self, after: Duration) -> String {
        let role = format!("reconciles {} {}", self.provider.address(), after.as_secs());
        Child::start(&role, self.home.folder()).hear()
    }

    /// One refund of the order happened, and it is the one that was meant.
    fn one_effect(&self, order: &str) {
        let effects = self.provider.effects().into_iter().filter(|effect| effect.order == order);
        let effects: Vec<_> = effects.map(|effect| (effect.cents, effect.recipient)).collect();
        assert_eq!(effects, [(CENTS, RECIPIENT.to_owned())], "refunds of {order}");
    }

    /// What the provider was asked, in order, by method.
    fn asked(&self) -> Vec<String> {
        let asked = self.provider.asked().into_iter();
        asked.filter_map(|path| Some(path.split(' ').next()?.to_owned())).collect()
    }
}

async fn records(idem: &Idem) -> Vec<Record> {
    let tenant = Tenant::new("acme").expect("a tenant");
    let listing = Listing { records_max: 100, ..Listing::default() };
    idem.operator(&tenant, "mia").expect("a name").list(&listing).await.expect("a ledger").records
}

async fn states(idem: &Idem) -> Vec<State> {
    records(idem).await.iter().map(|record| record.state).collect()
}

fn kind<T: std::fmt::Debug>(outcome: &Outcome<T>) -> &RefusalKind {
    match outcome {
        Outcome::Refused(refusal) => refusal.kind(),
        Outcome::Succeeded(_) => panic!("it should have been refused: {outcome:?}"),
    }
}

// R-U6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_u6_a_restart_finds_what_was_in_flight_and_asks_before_anyone_tries_again() {
    for place in Place::lasting() {
        let killed = Killed::while_refunding(place, &["A-1"], []);
        killed.one_effect("A-1");
        // Its lease has not ended: it is left alone, by a new process and by a retry.
        assert_eq!(killed.reconciled(BEFORE_ITS_END), "taken over 0, applied 0, not applied 0, inconclusive 0");
        let idem = killed.restarted().await;
        killed.clock.advance(BEFORE_ITS_END);
        assert!(matches!(kind(&killed.call(&idem, "A-1").await), RefusalKind::InProgress { .. }));
        assert_eq!(killed.asked(), ["POST"]);
        // It has: the provider is asked, and only then is there an answer for the retry.
        killed.clock.advance(SECOND);
        assert_eq!(killed.reconciled(LEASE), "taken over 1, applied 1, not applied 0, inconclusive 0");
        let told = killed.call(&idem, "A-1").await;
        assert!(told.is_replay(), "{told:?}");
        assert_eq!(told.value().map(|refund| refund.id.as_str()), Some("rf_1"));
        assert_eq!(killed.asked(), ["POST", "GET"], "nothing was sent again");
        assert_eq!(killed.reconciled(LEASE * 2), "taken over 0, applied 0, not applied 0, inconclusive 0");
        killed.one_effect("A-1");
        // The control arm: who takes a lease that ended for a failure sends again.
        killed.desk.bank.send("again", "A-1", CENTS, RECIPIENT).await.expect("a refund");
        assert_eq!(killed.provider.refunds_of("A-1"), 2);
    }
}

// R-U6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_u6_everything_that_was_in_flight_is_found() {
    for place in Place::lasting() {
        let orders = ["A-1", "A-2", "A-3", "A-4", "A-5"];
        let killed = Killed::while_refunding(place, &orders, []);
        let idem = killed.restarted().await;
        assert_eq!(states(&idem).await, [State::InProgress; 5]);
        assert_eq!(killed.reconciled(LEASE), "taken over 5, applied 5, not applied 0, inconclusive 0");
        assert_eq!(states(&idem).await, [State::Succeeded; 5]);
        for order in orders {
            assert!(killed.call(&idem, order).await.is_replay());
            killed.one_effect(order);
        }
        assert_eq!(killed.provider.sent(), 5);
    }
}

// R-U6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_u6_what_never_reached_the_provider_is_tried_again_after_proof_and_not_before() {
    for place in Place::lasting() {
        let killed = Killed::while_refunding(place, &["A-1"], [Sending::Dropped]);
        let idem = killed.restarted().await;
        // Not found proves nothing before the effects have settled, counted from the lease's end.
        killed.clock.advance(BEFORE_IT_SETTLES);
        assert_eq!(killed.reconciled(BEFORE_IT_SETTLES), "taken over 1, applied 0, not applied 0, inconclusive 1");
        assert_eq!(kind(&killed.call(&idem, "A-1").await), &RefusalKind::Unknown);
        assert_eq!((killed.provider.sent(), killed.provider.refunds_of("A-1")), (1, 0));
        // A provider that is down proves nothing either, however late it is.
        killed.provider.lookups(Looking::Dropped);
        killed.clock.advance(Duration::from_hours(24));
        assert_eq!(kind(&killed.call(&idem, "A-1").await), &RefusalKind::Unknown);
        assert_eq!(killed.provider.sent(), 1);
        killed.provider.lookups(Looking::Answered);
        killed.clock.advance(Duration::from_hours(1));
        assert_eq!(
            killed.reconciled(Duration::from_hours(26)),
            "taken over 0, applied 0, not applied 1, inconclusive 0"
        );
        let told = killed.call(&idem, "A-1").await;
        assert!(
            matches!(&told, Outcome::Succeeded(it) if it.told.replay.is_none() && it.told.attempt == 2),
            "{told:?}"
        );
        let asked = killed.asked();
        assert_eq!((asked.first(), asked.last()), (Some(&"POST".to_owned()), Some(&"POST".to_owned())));
        assert_eq!(asked.iter().filter(|method| *method == "POST").count(), 2, "{asked:?}");
        killed.one_effect("A-1");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r046_a_retry_after_the_lease_looks_up_what_the_killed_worker_did() {
    for place in Place::lasting() {
        let killed = Killed::while_refunding(place, &["A-1"], []);
        let idem = killed.restarted().await;
        killed.clock.advance(LEASE);
        // No reconciler runs: the retry asks by itself, and a second one is a replay without asking.
        for _ in 0..2 {
            let told = killed.call(&idem, "A-1").await;
            assert!(told.is_replay(), "{told:?}");
            assert_eq!(told.to_json()["outcome"], "succeeded");
        }
        assert_eq!(killed.asked(), ["POST", "GET"]);
        assert_eq!(states(&idem).await, [State::Succeeded]);
        assert_eq!(records(&idem).await[0].attempt, 1, "no second attempt was granted");
        killed.one_effect("A-1");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_is_not_killed_settles_by_itself() {
    // The control arm of the kill: let go, the same worker records its success, and nobody has to ask.
    for place in Place::lasting() {
        let (home, clock) = (place.home().expect("a home"), TestClock::default());
        let provider = Provider::start(&clock);
        let mut worker = Child::start(&format!("works {} A-1", provider.address()), home.folder());
        assert_eq!(worker.hear(), "sent");
        worker.say("go on");
        assert_eq!(worker.hear(), "succeeded");
        let idem = open(home.folder(), &clock).await;
        let desk = Desk { bank: provider.bank(), stands: Stands::At(Gate::opened()) };
        let told = refund_outcome(&call(&idem, "A-1"), desk, "A-1".to_owned(), CENTS).await;
        assert!(told.is_replay(), "{told:?}");
        assert_eq!((provider.looked_up(), provider.effects().len()), (0, 1), "{}", place.name());
    }
}

// R-C2 R-U6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_u6_a_hung_body_ends_as_unknown_at_its_longest_time_and_is_settled_by_the_lookup() {
    let longest = |it: &mut Config| it.run_max = Duration::from_mins(2);
    for setup in every_store_with(|| Idem::builder().jitter_seed(7).config(config(longest))).await {
        let name = setup.name();
        let provider = Provider::start(&setup.clock);
        provider.habits(|habits| habits.keyed = false);
        let gate = Gate::new();
        let desk = Desk { bank: provider.bank(), stands: Stands::At(gate.clone()) };
        let (of_task, tool) = (call(&setup.idem, "A-1"), desk.clone());
        let hung = tokio::spawn(async move { refund_outcome(&of_task, tool, "A-1".to_owned(), CENTS).await });
        gate.arrived().await;
        let mut reconciler = setup.idem.reconciler([refund_tool(desk.clone())]);
        // While it may run its lease is renewed, and nobody asks.
        for renewals in 1..=11_u32 {
            setup.clock.advance(10 * SECOND);
            until("a renewal", async || (records(&setup.idem).await[0].renewals >= renewals).then_some(())).await;
            let seen = reconciler.run_once().await.expect("a ledger");
            assert_eq!((seen.looked_at, provider.looked_up()), (0, 0), "{name}");
        }
        assert_eq!(states(&setup.idem).await, [State::InProgress], "110 s: {name}");
        // Then it is not; its last lease ends.
        setup.clock.advance(10 * SECOND);
        setup.clock.advance(LEASE);
        let seen = reconciler.run_once().await.expect("a ledger");
        assert_eq!((seen.taken_over, seen.applied), (1, 1), "{name}: {seen:?}");
        let told = refund_outcome(&call(&setup.idem, "A-1"), desk, "A-1".to_owned(), CENTS).await;
        assert!(told.is_replay(), "{name}: {told:?}");
        // It comes back in the end, and changes nothing.
        gate.open();
        assert_eq!(hung.await.expect("no panic").value(), told.value());
        assert_eq!(states(&setup.idem).await, [State::Succeeded], "{name}");
        assert_eq!((provider.sent(), provider.effects().len()), (1, 1), "{name}");
    }
}
