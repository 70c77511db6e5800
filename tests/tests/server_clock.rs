//! Whose clock decides: in a PostgreSQL ledger the server's, whatever the workers' own show.
//!
//! Workers are processes whose wall clock is really off: a few lines of C stand before the system's. The same for a server
//! whose clock is set while it runs.

#![cfg(all(feature = "postgres", target_os = "linux"))]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use idem_runtime::{
    Idem, OperationId, Refusal, SystemClock, Tenant, ToolCall, idempotent,
    ledger::{Record, State},
    prepare,
    testing::postgres::Cluster,
};
use idem_tests::{
    timing::{Gate, until},
    world::{World, config},
};
use outside::{
    child::{self, Child},
    effects::Effects,
};

#[expect(dead_code, reason = "every child here is started with a clock of its own")]
mod outside;

const ADDRESS: &str = "address";
const EFFECTS: &str = "effects.log";
const SHIFT: &str = "IDEM_TEST_CLOCK_SHIFT";

/// Roles.
const HOLDS: &str = "holds";
const ASKS: &str = "asks";
const ASKS_BY_ITS_OWN: &str = "asks by its own clock";
const SETS: &str = "sets its server's clock";

const LEASE: Duration = Duration::from_secs(6);

#[idempotent(scope = "conversation", key = "tool_call_id|args", lease = "6s", on_busy = "tell")]
async fn pay(call: &ToolCall, order: String, #[idem(state)] bank: Bank) -> Result<String, Refusal> {
    let _ = call.number();
    if bank.stands {
        child::say("here");
        child::hear();
    }
    bank.effects.happen(&order);
    Ok(order)
}

#[derive(Clone)]
struct Bank {
    effects: Effects,
    stands: bool,
}

fn call(idem: &Idem) -> ToolCall {
    idem.call().tenant("acme").conversation("c-1").turn(7).tool_call_id("call_1")
}

/// A folder with the C lines compiled, and room for files that say how far a clock is off.
struct Clocks {
    folder: tempfile::TempDir,
}

impl Clocks {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // A server runs as another user.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("a folder that all may enter");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server_clock/shift.c");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let library = folder.path().join("shift.so");
        let mut build = Command::new(compiler);
        build.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl");
        let built = build.output().expect("a C compiler");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, whose: &str) -> PathBuf {
        self.path().join(format!("{whose}.shift"))
    }

    /// Sets somebody's clock.
    fn set(&self, whose: &str, seconds: i64) {
        fs::write(self.file(whose), seconds.to_string()).expect("a file");
    }

    /// A process whose wall clock is off by so much.
    fn start(&self, whose: &str, seconds: i64, role: &str) -> Child {
        self.set(whose, seconds);
        let library = self.path().join("shift.so");
        let mut child = Child::start_with(role, self.path(), &[("LD_PRELOAD", &library), (SHIFT, &self.file(whose))]);
        let shows: u64 = child.hear().parse().expect("a number");
        let ours = seconds_now().saturating_add_signed(seconds);
        assert!(shows.abs_diff(ours) < 30, "its clock is really off by {seconds} s");
        child
    }
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock").as_secs()
}

/// Plays the part that this process was started for; nothing, when it is the test run itself.
#[test]
fn child_process() {
    let Some((role, folder)) = child::role() else { return };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    child::say(&seconds_now().to_string());
    runtime.block_on(async {
        match role.as_str() {
            HOLDS => holds(&folder).await,
            SETS => sets().await,
            asks => asks_again(&folder, asks == ASKS_BY_ITS_OWN).await,
        }
    });
}

async fn open(folder: &Path) -> Idem {
    let address = fs::read_to_string(folder.join(ADDRESS)).expect("an address");
    Idem::open(&address).await.expect("a ledger")
}

/// Holds its attempt until it is told to go on.
async fn holds(folder: &Path) {
    let idem = open(folder).await;
    let bank = Bank { effects: Effects::at(folder.join(EFFECTS)), stands: true };
    let told = pay_outcome(&call(&idem), "A-1".to_owned(), bank).await;
    child::say(told.to_json()["outcome"].as_str().expect("a name"));
}

/// Calls once for each line that it hears, by a ledger that was open before, and by one that it opens then.
async fn asks_again(folder: &Path, by_its_own: bool) {
    let old = open(folder).await;
    while child::hear().is_some() {
        let new = open(folder).await;
        let mut told = Vec::new();
        for idem in [&old, &new] {
            let idem = if by_its_own {
                let address = fs::read_to_string(folder.join(ADDRESS)).expect("an address");
                Idem::builder().clock(SystemClock::new()).open(&address).await.expect("a ledger")
            } else {
                idem.clone()
            };
            let bank = Bank { effects: Effects::at(folder.join(EFFECTS)), stands: false };
            let outcome = pay_outcome(&call(&idem), "A-1".to_owned(), bank).await;
            let replayed = outcome.is_replay();
            told.push(match outcome.into_result() {
                Ok(_) if replayed => "replay".to_owned(),
                Ok(_) => "ran".to_owned(),
                Err(refusal) => refusal.kind().name().to_owned(),
            });
        }
        child::say(&told.join(" "));
    }
}

fn ask(child: &mut Child) -> String {
    child.say("ask");
    child.hear()
}

/// The record of the one operation, seen by a process whose clock is right.
async fn record(idem: &Idem) -> Record {
    let bank = Bank { effects: Effects::at("/dev/null"), stands: false };
    let operation: OperationId = prepare(pay(&call(idem), "A-1".to_owned(), bank)).await.expect("a record").operation();
    idem.show(&Tenant::new("acme").expect("a tenant"), operation).await.expect("read").expect("a record")
}

// R-C2 R-C4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r038_only_the_servers_clock_decides() {
    const TAKEN: &str = "unknown_requires_reconciliation unknown_requires_reconciliation";
    let cluster = Cluster::start().expect("a server");
    for (asks, b_shows, told, state) in [
        (ASKS, 90, "in_progress in_progress", State::InProgress),
        (ASKS, -90, "in_progress in_progress", State::InProgress),
        // The control arm: judged by its own clock, B takes A for silent.
        (ASKS_BY_ITS_OWN, 90, TAKEN, State::OutcomeUnknown),
    ] {
        let clocks = Clocks::new();
        fs::write(clocks.path().join(ADDRESS), cluster.ledger().expect("a schema")).expect("a file");
        let idem = open(clocks.path()).await;
        let mut a = clocks.start("a", 0, HOLDS);
        assert_eq!(a.hear(), "here");
        let mut b = clocks.start("b", b_shows, asks);
        assert_eq!(ask(&mut b), told, "B shows {b_shows} s more");
        assert_eq!(record(&idem).await.state, state);
        if state == State::InProgress {
            // B's clock is set while it runs, and A's steps back an hour: A goes on renewing, for no longer than it may.
            clocks.set("b", -b_shows);
            assert_eq!(ask(&mut b), told);
            clocks.set("a", -3_600);
            let before = record(&idem).await.renewals;
            let renewed = until("a renewal", async || {
                let record = record(&idem).await;
                (record.renewals > before + 1).then_some(record)
            });
            let renewed = renewed.await;
            let lease = renewed.lease_until.expect("a lease").since(renewed.renewed_at.expect("renewed"));
            assert_eq!(lease, LEASE, "no longer than configured");
            let at_server = format!(
                "do $$ begin assert {} <= extract(epoch from clock_timestamp()) * 1000000000 + 100000000; end $$",
                renewed.renewed_at.expect("renewed").as_nanos()
            );
            cluster.say(&at_server).expect("renewed at an instant of the server's");
            assert_eq!(ask(&mut b), told);
        }
        a.say("go on");
        assert_eq!(a.hear(), "succeeded");
        assert_eq!(ask(&mut b), "replay replay");
        assert_eq!(Effects::at(clocks.path().join(EFFECTS)).count("A-1"), 1);
    }
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", lease = "2s", on_busy = "tell")]
async fn hang(
    call: &ToolCall,
    order: String,
    #[idem(state)] gate: Gate,
    #[idem(state)] world: World,
) -> Result<usize, Refusal> {
    gate.pass().await;
    Ok(world.effect(order))
}

/// Has a server of its own, whose clock is off as its own is, and sets it back by an hour while attempts hang.
async fn sets() {
    let cluster = Cluster::own().expect("a server");
    let address = cluster.ledger().expect("a schema");
    // Nobody renews: what hangs falls silent.
    let no_renewal = config(|it| it.run_max = Duration::ZERO);
    let idem = Idem::builder().config(no_renewal).open(&address).await.expect("a ledger");
    let (gate, world) = (Gate::new(), World::default());
    let (calls, of, through) = (idem.clone(), gate.clone(), world.clone());
    let held = tokio::spawn(async move { hang_outcome(&call(&calls), "A-1".to_owned(), of, through).await });
    gate.arrived().await;
    child::say("here");
    child::hear();
    // By a ledger that was open before, and by one that finds the clock behind what others wrote.
    let young = Idem::open(&address).await.expect("a ledger");
    for idem in [&young, &idem] {
        until("the end of a lease of two seconds", async || {
            let told = hang_outcome(&call(idem), "A-1".to_owned(), gate.clone(), world.clone()).await;
            (told.into_result().err()?.kind().name() == "unknown_requires_reconciliation").then_some(())
        })
        .await;
    }
    gate.open();
    held.await.expect("no panic").into_result().expect("a late success counts");
    assert_eq!(world.effects(), ["A-1"]);
    child::say("ended");
}

#[test]
fn a_server_that_is_set_back_holds_no_lease_for_an_hour() {
    let clocks = Clocks::new();
    let mut worker = clocks.start("server", 0, SETS);
    assert_eq!(worker.hear(), "here");
    clocks.set("server", -3_600);
    worker.say("go on");
    assert_eq!(worker.hear(), "ended");
}
