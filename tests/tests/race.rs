//! Many callers at once: of one operation, from one process and from several, and of many operations on one ledger.
//!
//! Callers are released by a barrier; what counts is the provider's effect log. Each race is also run by callers who
//! check and then insert: they must fail, or the race was none.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use idem_runtime::{Idem, Outcome, Refusal, ToolCall, idempotent};
use idem_tests::{
    home::{Home, Place},
    world::every_store,
};
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use tokio::sync::{Barrier, mpsc};

use outside::{
    child::{self, Child},
    effects::Effects,
};

mod outside;

const ROUNDS: u32 = 500;
/// Each round is two commits of a server, and waits of its losers: those of a file are many enough for chance.
const ROUNDS_ON_A_SERVER: u32 = 100;
/// Enough for the callers who check and then insert: nearly every round of theirs has several effects.
const CONTROL_ROUNDS: u32 = 20;
const CALLERS: usize = 32;
const PROCESSES: usize = 4;

const CLAIMS: &str = "claims.db";
const EFFECTS: &str = "effects.log";

/// How long SQLite waits for another writer before it gives up.
const BUSY: Duration = Duration::from_secs(10);

static EFFECT: AtomicU64 = AtomicU64::new(1);

/// Takes a seat; the result tells which process did, and its how-manieth effect it was.
#[idempotent(scope = "tenant", key = "args")]
async fn take(_call: &ToolCall, seat: String, #[idem(state)] effects: Effects) -> Result<String, Refusal> {
    effects.happen(&seat);
    Ok(format!("{}-{}", std::process::id(), EFFECT.fetch_add(1, Ordering::Relaxed)))
}

/// The ledger of the home that has this folder.
async fn open(folder: &Path) -> Idem {
    Idem::open(&Home::address_of(folder)).await.expect("a ledger")
}

fn rounds(place: Place) -> u32 {
    if place.is_server() { ROUNDS_ON_A_SERVER } else { ROUNDS }
}

/// Who wants the seat.
enum Caller {
    /// A caller of the guarded tool.
    Guarded(Idem),
    /// One who checks whether there is a claim, and then inserts one.
    CheckThenInsert(Mutex<Connection>),
}

/// What a caller was told.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    first: bool,
    result: String,
}

impl Caller {
    fn check_then_insert(folder: &Path) -> Self {
        let db = Connection::open(folder.join(CLAIMS)).expect("the claims");
        db.busy_timeout(BUSY).expect("a timeout");
        db.pragma_update(None, "journal_mode", "wal").expect("a write-ahead log");
        db.pragma_update(None, "synchronous", "full").expect("durable commits");
        db.execute_batch("create table if not exists claims (seat text not null) strict").expect("a table");
        Self::CheckThenInsert(Mutex::new(db))
    }

    async fn take(&self, seat: &str, effects: &Effects) -> Told {
        match self {
            Self::Guarded(idem) => {
                let call = idem.call().tenant("acme");
                let outcome = take_outcome(&call, seat.to_owned(), effects.clone()).await;
                match outcome {
                    Outcome::Succeeded(success) => Told { first: success.told.replay.is_none(), result: success.value },
                    Outcome::Refused(refusal) => Told { first: false, result: refusal.kind().name().to_owned() },
                }
            }
            Self::CheckThenInsert(db) => {
                let db = db.lock().expect("its own connection");
                let claimed: u32 = db
                    .query_row("select count(*) from claims where seat = ?1", [seat], |row| row.get(0))
                    .expect("a count");
                if claimed == 0 {
                    db.execute("insert into claims (seat) values (?1)", [seat]).expect("a claim");
                    effects.happen(seat);
                }
                Told { first: claimed == 0, result: String::new() }
            }
        }
    }
}

/// Callers that wait at a barrier for the next round.
struct Callers {
    round: Arc<AtomicU32>,
    start: Arc<Barrier>,
    told: mpsc::UnboundedReceiver<Told>,
    count: usize,
}

impl Callers {
    /// Callers in tasks of their own, for as many rounds as there are.
    fn wait(callers: Vec<Caller>, race: &'static str, effects: &Effects) -> Self {
        let (tell, told) = mpsc::unbounded_channel();
        let (count, round) = (callers.len(), Arc::new(AtomicU32::new(0)));
        let start = Arc::new(Barrier::new(count + 1));
        for caller in callers {
            let (tell, round, start, effects) = (tell.clone(), Arc::clone(&round), Arc::clone(&start), effects.clone());
            tokio::spawn(async move {
                loop {
                    start.wait().await;
                    let seat = seat(race, round.load(Ordering::Acquire));
                    if tell.send(caller.take(&seat, &effects).await).is_err() {
                        break;
                    }
                }
            });
        }
        Self { round, start, told, count }
    }

    /// Releases all of them, and hears what they were told.
    async fn round(&mut self, round: u32) -> Vec<Told> {
        self.round.store(round, Ordering::Release);
        self.start.wait().await;
        let mut all = Vec::with_capacity(self.count);
        while all.len() < self.count {
            all.push(self.told.recv().await.expect("a caller"));
        }
        all
    }
}

fn seat(race: &str, round: u32) -> String {
    format!("{race} {round}")
}

/// What the rounds of a race came to.
#[derive(Debug, Default)]
struct Tally {
    rounds: u32,
    /// Rounds with more than one effect.
    doubled: u32,
    effects: usize,
}

impl Tally {
    fn add(&mut self, effects: usize) {
        self.rounds += 1;
        self.doubled += u32::from(effects > 1);
        self.effects += effects;
    }
}

/// One effect in the provider's log, one caller who had it, and everybody told the same.
fn one_effect(told: &[Told], effects: usize, seat: &str) {
    assert_eq!(effects, 1, "effects of `{seat}` in the provider's log");
    assert_eq!(told.len(), CALLERS);
    assert_eq!(told.iter().filter(|told| told.first).count(), 1, "{seat}: {told:?}");
    assert!(told.iter().all(|other| other.result == told[0].result), "{seat}: {told:?}");
}

async fn in_one_process(race: &'static str, callers: Vec<Caller>, folder: &Path, rounds: u32, guarded: bool) -> Tally {
    let effects = Effects::at(folder.join(format!("{race}.log")));
    let mut callers = Callers::wait(callers, race, &effects);
    let mut tally = Tally::default();
    for round in 0..rounds {
        let told = callers.round(round).await;
        let seat = seat(race, round);
        let count = effects.count(&seat);
        if guarded {
            one_effect(&told, count, &seat);
        }
        tally.add(count);
    }
    tally
}

fn report(race: &str, tally: &Tally, started: Instant) {
    let Tally { rounds, doubled, effects } = tally;
    eprintln!("{race}: {rounds} rounds, {effects} effects, {doubled} rounds doubled, {:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn r051_one_winner_among_32_callers_of_one_process() {
    let folder = tempfile::tempdir().expect("a folder");
    for setup in every_store().await {
        let (started, race, rounds) = (Instant::now(), setup.name(), rounds(setup.place()));
        let callers = (0..CALLERS).map(|_| Caller::Guarded(setup.idem.clone())).collect();
        let tally = in_one_process(race, callers, folder.path(), rounds, true).await;
        report(race, &tally, started);
        assert_eq!((tally.rounds, tally.effects), (rounds, rounds as usize));
    }
    let started = Instant::now();
    let callers = (0..CALLERS).map(|_| Caller::check_then_insert(folder.path())).collect();
    let tally = in_one_process("check then insert", callers, folder.path(), CONTROL_ROUNDS, false).await;
    report("check then insert", &tally, started);
    assert!(tally.doubled > 0, "the control arm must show duplicates: {tally:?}");
}

/// The processes of a race, each with its share of the callers.
fn across_processes(role: &str, folder: &Path, rounds: u32, guarded: bool) -> Tally {
    let effects = Effects::at(folder.join(EFFECTS));
    let mut children: Vec<Child> = (0..PROCESSES).map(|_| Child::start(role, folder)).collect();
    let mut tally = Tally::default();
    for child in &mut children {
        assert_eq!(child.hear(), "ready");
    }
    for round in 0..rounds {
        for child in &mut children {
            child.say(&round.to_string());
        }
        let told: Vec<Told> = children.iter_mut().flat_map(|child| heard(&child.hear())).collect();
        let seat = seat(race_of(role), round);
        let count = effects.count(&seat);
        if guarded {
            one_effect(&told, count, &seat);
        }
        tally.add(count);
    }
    tally
}

fn heard(line: &str) -> Vec<Told> {
    let told = line.split(' ').map(|word| {
        let (first, result) = word.split_once(':').expect("what a caller was told");
        Told { first: first == "first", result: result.to_owned() }
    });
    told.collect()
}

const GUARDED: &str = "guarded";
const NAIVE: &str = "check-then-insert";
const MANY: &str = "many";
const DEFERRED: &str = "deferred";
const OPENERS: &str = "openers";

fn race_of(role: &str) -> &'static str {
    if role == GUARDED { GUARDED } else { NAIVE }
}

#[test]
fn r051_one_winner_among_32_callers_of_four_processes() {
    for place in Place::lasting() {
        let (home, started, rounds) = (place.home().expect("a home"), Instant::now(), rounds(place));
        let tally = across_processes(GUARDED, home.folder(), rounds, true);
        report(&format!("4 processes, {}", place.name()), &tally, started);
        assert_eq!((tally.rounds, tally.effects), (rounds, rounds as usize));
    }
    let folder = tempfile::tempdir().expect("a folder");
    // The file is there before anybody races for it: making it is not what the control arm is about.
    drop(Caller::check_then_insert(folder.path()));
    let started = Instant::now();
    let tally = across_processes(NAIVE, folder.path(), CONTROL_ROUNDS, false);
    report("4 processes, check then insert", &tally, started);
    assert!(tally.doubled > 0, "the control arm must show duplicates: {tally:?}");
}

/// Plays the part that this process was started for; nothing, when it is the test run itself.
#[test]
fn child_process() {
    let Some((role, folder)) = child::role() else { return };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        match role.as_str() {
            GUARDED => {
                let idem = open(&folder).await;
                let callers = (0..CALLERS / PROCESSES).map(|_| Caller::Guarded(idem.clone())).collect();
                race(callers, &role, &folder).await;
            }
            NAIVE => {
                let callers = (0..CALLERS / PROCESSES).map(|_| Caller::check_then_insert(&folder)).collect();
                race(callers, &role, &folder).await;
            }
            MANY => many(&folder).await,
            DEFERRED => deferred(&folder),
            OPENERS => openers().await,
            other => panic!("no role: {other}"),
        }
    });
}

/// One process of a race.
async fn race(callers: Vec<Caller>, role: &str, folder: &Path) {
    let mut callers = Callers::wait(callers, race_of(role), &Effects::at(folder.join(EFFECTS)));
    child::say("ready");
    while let Some(round) = child::hear() {
        let told = callers.round(round.parse().expect("a number")).await;
        let words = told.iter().map(|told| format!("{}:{}", if told.first { "first" } else { "again" }, told.result));
        child::say(&words.collect::<Vec<_>>().join(" "));
    }
}

const WRITERS: usize = 8;
const RESERVATIONS: usize = 200;

/// A seat that is nobody else's; its effect is nothing but the result.
#[idempotent(scope = "tenant", key = "args")]
async fn sit(_call: &ToolCall, seat: String) -> Result<String, Refusal> {
    Ok(seat)
}

/// One process of many that each make reservations of their own.
async fn many(folder: &Path) {
    let idem = open(folder).await;
    child::say("ready");
    child::hear().expect("a start");
    for at in 0..RESERVATIONS {
        let started = Instant::now();
        let outcome = sit_outcome(&idem.call().tenant("acme"), format!("{} {at}", std::process::id())).await;
        let waited = started.elapsed().as_micros();
        let how = match outcome {
            Outcome::Succeeded(success) if success.told.replay.is_none() => "fresh".to_owned(),
            other => other.to_model_text().replace('\n', " "),
        };
        child::say(&format!("{waited} {how}"));
    }
}

/// One process of the control arm: a transaction that reads before it writes.
fn deferred(folder: &Path) {
    let Caller::CheckThenInsert(db) = Caller::check_then_insert(folder) else { return };
    let mut db = db.into_inner().expect("its own connection");
    child::say("ready");
    child::hear().expect("a start");
    for at in 0..RESERVATIONS {
        let started = Instant::now();
        let seat = format!("{} {at}", std::process::id());
        let how = match read_then_write(&mut db, &seat) {
            Ok(()) => "fresh".to_owned(),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => "busy".to_owned(),
            Err(error) => error.to_string(),
        };
        child::say(&format!("{} {how}", started.elapsed().as_micros()));
    }
}

fn read_then_write(db: &mut Connection, seat: &str) -> rusqlite::Result<()> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Deferred)?;
    let claimed: u32 =
        transaction.query_row("select count(*) from claims where seat = ?1", [seat], |row| row.get(0))?;
    assert_eq!(claimed, 0, "a seat of one's own");
    transaction.execute("insert into claims (seat) values (?1)", [seat])?;
    transaction.commit()
}

/// What the processes were told, and how long each waited.
fn reservations(role: &str, folder: &Path) -> (Vec<Duration>, Vec<String>) {
    let mut children: Vec<Child> = (0..WRITERS).map(|_| Child::start(role, folder)).collect();
    for child in &mut children {
        assert_eq!(child.hear(), "ready");
    }
    for child in &mut children {
        child.say("go");
    }
    let mut waits = Vec::new();
    let mut others = Vec::new();
    for child in &mut children {
        for _ in 0..RESERVATIONS {
            let line = child.hear();
            let (waited, how) = line.split_once(' ').expect("a wait and an answer");
            waits.push(Duration::from_micros(waited.parse().expect("microseconds")));
            if how != "fresh" {
                others.push(how.to_owned());
            }
        }
    }
    waits.sort_unstable();
    (waits, others)
}

#[test]
fn r079_no_busy_error_reaches_a_caller_of_eight_processes() {
    for place in Place::lasting() {
        let (name, home, started) = (place.name(), place.home().expect("a home"), Instant::now());
        let (waits, others) = reservations(MANY, home.folder());
        let p99 = waits[waits.len() * 99 / 100];
        let longest = waits[waits.len() - 1];
        eprintln!("{name}: {} reservations in {:?}: p99 {p99:?}, longest {longest:?}", waits.len(), started.elapsed());
        assert_eq!((waits.len(), others), (WRITERS * RESERVATIONS, Vec::<String>::new()), "{name}");
        assert!(p99 < BUSY, "{name}: {p99:?}");
        let succeeded: Vec<String> = home.column("select state from idem_operations where state = 'succeeded'");
        assert_eq!(succeeded.len(), WRITERS * RESERVATIONS, "{name}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    drop(Caller::check_then_insert(folder.path()));
    let started = Instant::now();
    let (_, others) = reservations(DEFERRED, folder.path());
    let busy = others.iter().filter(|how| *how == "busy").count();
    eprintln!("deferred transactions: {busy} of {} busy in {:?}", WRITERS * RESERVATIONS, started.elapsed());
    assert!(busy > 0, "the control arm must show busy errors");
}

const FILES: u32 = 40;
/// Each makes the whole schema.
const SCHEMAS: u32 = 5;

/// One process of many that open the same new ledgers.
async fn openers() {
    child::say("ready");
    while let Some(address) = child::hear() {
        match Idem::open(&address).await {
            Ok(_) => child::say("opened"),
            Err(error) => child::say(&error.to_string()),
        }
    }
}

#[test]
fn eight_processes_open_new_ledgers_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut children: Vec<Child> = (0..WRITERS).map(|_| Child::start(OPENERS, folder.path())).collect();
    for child in &mut children {
        assert_eq!(child.hear(), "ready");
    }
    for place in Place::lasting() {
        for ledger in 0..if place.is_server() { SCHEMAS } else { FILES } {
            let home = place.home().expect("a home");
            for child in &mut children {
                child.say(home.address());
            }
            for child in &mut children {
                assert_eq!(child.hear(), "opened", "{} {ledger}", place.name());
            }
        }
    }
}

/// Sends a message; a model may emit the same call many times in one response.
#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn send(_call: &ToolCall, text: String, #[idem(state)] effects: Effects) -> Result<String, Refusal> {
    effects.happen(&text);
    Ok(format!("sent {text}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r023_nine_equal_calls_of_one_message_are_one_effect() {
    let folder = tempfile::tempdir().expect("a folder");
    for setup in every_store().await {
        let (name, idem) = (setup.name(), &setup.idem);
        let effects = Effects::at(folder.path().join(EFFECTS));
        let start = Arc::new(Barrier::new(9));
        let calls = (0..9).map(|at| {
            let call = idem.call().tenant("acme").conversation("c-1").turn(7).tool_call_id(format!("call_{at}"));
            let (start, effects) = (Arc::clone(&start), effects.clone());
            tokio::spawn(async move {
                start.wait().await;
                send_outcome(&call, name.to_owned(), effects).await
            })
        });
        let mut replays = 0;
        for call in calls.collect::<Vec<_>>() {
            let outcome = call.await.expect("a caller");
            replays += usize::from(outcome.is_replay());
            assert_eq!(outcome.value(), Some(&format!("sent {name}")), "{outcome:?}");
        }
        assert_eq!((effects.count(name), replays), (1, 8), "{name}");
    }
}
