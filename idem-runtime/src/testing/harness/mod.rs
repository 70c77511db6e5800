//! The harness: every fault that a guarded tool has to survive, played with the user's own tool.
//!
//! In reading order: what is asked about a tool (`fixture`), how it is called (`subject`, `who`) and what its callers
//! are told (`answer`); what is played with it (`scenario`, `scenarios`), on which `stage`; a `case` and what has to
//! be true after each of its calls, how an unknown outcome `settle`s and how a case ends (`ending`); the fault `matrix`, its `cell`s, the `store`
//! that is struck and the `child` that is killed; and what is left of it: a `verdict`, a `record`, a `summary`.

mod answer;
mod case;
mod cell;
mod child;
mod ending;
mod fixture;
mod matrix;
mod playing;
mod record;
mod rehearsal;
mod scenario;
mod scenarios;
mod settle;
mod stage;
mod store;
mod subject;
mod summary;
mod verdict;
mod who;

use std::{
    env,
    io::{self, Write},
    path::PathBuf,
    time::{Instant, SystemTime},
};

pub use answer::{Answer, asked};
pub use fixture::Fixture;
pub use record::{Actual, CaseRecord, Counts, Expected, Record, Verdict};
pub use scenario::Scenario;
pub use subject::Subject;
pub use verdict::{Failure, FailureKind};

use self::playing::{Failed, Part, Playing, Stop};

/// The seed of whatever is drawn, unless the environment says another.
const SEED: u64 = 20_261_130;

/// Under which name the environment says it.
const SEED_VARIABLE: &str = "IDEM_HARNESS_SEED";

/// Plays one scenario with a tool; what a generated test does. `test` is the test's own path, `module_path!()` and name.
///
/// # Panics
/// When it fails: with what was seen, what usually mends it, and how to run it again.
pub fn play<S, A>(test: &str, subject: &Subject<S, A>, fixture: &Fixture<S, A>, scenario: Scenario)
where
    S: Clone + Send + 'static,
    A: Clone + Send + 'static,
{
    if let Err(failure) = run(test, subject, fixture, scenario) {
        panic!("{failure}");
    }
}

/// The same, for those who look at the record or the failure themselves.
///
/// # Errors
/// The [`Failure`].
pub fn run<S, A>(
    test: &str,
    subject: &Subject<S, A>,
    fixture: &Fixture<S, A>,
    scenario: Scenario,
) -> Result<Record, Box<Failure>>
where
    S: Clone + Send + 'static,
    A: Clone + Send + 'static,
{
    // The crate's name is no part of a test's path.
    let test = test.split_once("::").map_or(test, |(_, path)| path);
    let mut record = Record::new(subject.spec.name(), scenario, seed(), again(test));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Err(Box::new(stopped(&record, broken(format!("a runtime: {error}"))))),
    };
    if let Some(task) = child::task() {
        if task.is_of(scenario) {
            runtime.block_on(task.plays(subject, fixture));
        }
        record.verdict = Verdict::NotApplicable;
        return Ok(record);
    }
    let started = Instant::now();
    let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    record.times.insert("ran_at_unix_seconds".to_owned(), at.as_secs().to_string());
    record.effects.clone_from(&fixture.effects);
    record.owner.clone_from(&fixture.owner);
    record.counts_as = subject.spec.effect_in_words().map(str::to_owned);
    let ended = match fixture.skips.get(&scenario) {
        Some(reason) => {
            record.verdict = Verdict::Skipped;
            record.reason = Some(reason.clone());
            Ok(())
        }
        None => runtime.block_on(played(&mut record, test, subject, fixture, scenario)),
    };
    record.times.insert("took_ms".to_owned(), started.elapsed().as_millis().to_string());
    let failed = match ended {
        Ok(()) => None,
        Err(Stop::NotApplicable(reason)) => {
            record.verdict = Verdict::NotApplicable;
            record.reason = Some(reason);
            None
        }
        Err(Stop::Failed(failed)) => {
            record.verdict = Verdict::Failed;
            record.failure = Some(failed.kind);
            record.reason = Some(failed.seen.join("; "));
            Some(failed)
        }
    };
    let path = match written(&record, fixture.records.clone(), scenario) {
        Ok(path) => path,
        Err(error) => return Err(Box::new(stopped(&record, broken(format!("write the record: {error}"))))),
    };
    match failed {
        None => Ok(record),
        Some(failed) => Err(Box::new(Failure { record: Some(path), ..stopped(&record, *failed) })),
    }
}

/// Writes the record and the page of all records; says where the record stands.
fn written(record: &Record, records: Option<PathBuf>, scenario: Scenario) -> io::Result<PathBuf> {
    let records = records.map_or_else(record::folder, Ok)?;
    let path = record.write(&records)?;
    if let Some(page) = summary::add(&records, record, scenario)? {
        // Past the test runner's capture: it is for whoever sits at the terminal. If nobody does, nothing is lost.
        let _ = writeln!(io::stderr(), "\n{page}");
    }
    Ok(path)
}

async fn played<S: Part, A: Part>(
    record: &mut Record,
    test: &str,
    subject: &Subject<S, A>,
    fixture: &Fixture<S, A>,
    scenario: Scenario,
) -> Result<(), Stop> {
    let mut playing = Playing::new((subject, fixture), scenario, test)?;
    playing.rehearsed = rehearsal::rehearse(&playing).await?;
    let ended = scenarios::play(&playing).await;
    (record.cases, record.counts, record.notes) = playing.came_to();
    ended
}

fn stopped(record: &Record, failed: Failed) -> Failure {
    let Failed { kind, expected, seen } = failed;
    Failure { kind, case: record.id.clone(), expected, seen, again: record.again.clone(), record: None }
}

fn broken(why: String) -> Failed {
    let expected = "the harness can do its work".to_owned();
    Failed { kind: FailureKind::Stage, expected, seen: vec![why] }
}

fn seed() -> u64 {
    env::var(SEED_VARIABLE).ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED)
}

/// The command that runs this one case again, with its seed.
fn again(test: &str) -> String {
    let package = env::var("CARGO_PKG_NAME").map(|name| format!(" -p {name}")).unwrap_or_default();
    format!("{SEED_VARIABLE}={} cargo test{package} {test} -- --exact", seed())
}
