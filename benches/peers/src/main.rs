//! Prints how fast this project's runtime is beside other crates that guard calls, on one server and in one run.
//!
//! Arms take turns, so that whatever changes on the machine changes for all of them; ratios are medians of turns.

mod arms;

use std::{path::Path, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Result;
use arms::Arm;
use clap::Parser;
use idem_benches::{
    load::{Quantile, Sample, as_f64},
    quiet::{Gated, Patience},
    row::Spread,
    server::Server,
    table::time,
};

/// How fast guarded calls are, beside other crates doing the same work.
#[derive(Debug, Parser)]
#[command(name = "peers", version)]
struct Cli {
    /// The server, `postgres://…`; without one, a server is started for the run.
    #[arg(long)]
    server: Option<String>,

    /// How long one run takes, in milliseconds.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(50..))]
    dur_ms: u64,

    /// How often each run is done; figures are medians.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..100))]
    reps: u64,

    /// How many callers call at once.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 64, 256])]
    callers: Vec<u64>,

    /// How long to wait for a quiet machine, all waits together, in seconds.
    #[arg(long, default_value_t = 600)]
    patience_s: u64,

    /// Where the files are made; must lie on a disk, not in memory.
    #[arg(long)]
    folder: Option<PathBuf>,
}

/// One arm's runs for some number of callers.
struct Row {
    arm: Arm,
    callers: u64,
    runs: Vec<Gated<Sample>>,
    /// Ours by this one, of each turn, and whether nobody disturbed either.
    ours: Vec<(f64, bool)>,
}

impl Row {
    fn spread(&self, of: impl Fn(&Gated<Sample>) -> f64) -> Option<Spread> {
        let any = self.runs.iter().any(|run| run.quiet);
        Spread::of(self.runs.iter().filter(|run| run.quiet || !any).map(of))
    }

    /// How many times as fast ours is, and whether it was measured on a quiet machine.
    fn times(&self) -> Option<(f64, bool)> {
        let any = self.ours.iter().any(|(_, quiet)| *quiet);
        let counted = self.ours.iter().filter(|(_, quiet)| *quiet || !any).map(|(times, _)| *times);
        Some((Spread::of(counted)?.median, any))
    }

    fn line(&self) -> String {
        let median = |of: &dyn Fn(&Gated<Sample>) -> f64| self.spread(of).map_or(0.0, |spread| spread.median);
        let rate = self.spread(|run| run.run.rate());
        let range = rate.map_or(String::new(), |rate| format!("{:.0}..{:.0}", rate.min, rate.max));
        let quantile =
            |part| time(Duration::from_secs_f64(median(&|run: &Gated<Sample>| run.run.quantile(part).as_secs_f64())));
        let a_call = |span: Duration, calls: u64| span.as_secs_f64() * 1e6 / as_f64(calls.max(1));
        let own = median(&|run| a_call(run.used.own, run.run.calls));
        let server = median(&|run| a_call(run.used.server, run.run.calls));
        let foreign = self.spread(|run| run.used.foreign).map_or(0.0, |spread| spread.max);
        let times = self.times().filter(|_| self.arm != self.arm.ours());
        let times = times.map_or(String::new(), |(times, _)| format!("{times:.1}x"));
        let noise = if self.runs.iter().any(|run| run.quiet) { "" } else { "  disturbed" };
        format!(
            "{:>7}  {:32} {:>8.0} {range:>17} {:>9} {:>9} {:>11} {times:>9} {foreign:>7.2}{noise}",
            self.callers,
            self.arm.name(),
            rate.map_or(0.0, |rate| rate.median),
            quantile(Quantile::Half),
            quantile(Quantile::NinetyNine),
            format!("{own:.0}+{server:.0}"),
        )
    }
}

fn head() -> String {
    format!(
        "{:>7}  {:32} {:>8} {:>17} {:>9} {:>9} {:>11} {:>9} {:>7}\n{:>7}  {:32} {:>8} {:>17} {:>9} {:>9} {:>11} {:>9} {:>7}",
        "callers",
        "crate, store",
        "calls/s",
        "min..max",
        "p50",
        "p99",
        "us/call,",
        "ours is",
        "foreign",
        "",
        "",
        "",
        "",
        "",
        "",
        "own+server",
        "so fast",
        "CPU"
    )
}

const EXPLAINED: &str = "
A call is new: its key was never seen. The body does nothing and returns 200 bytes. What each does for it:
idem-runtime: key from tool, scope and arguments; reserves durably before the body with a lease, a fencing token and a
    provider key, settles durably after it. Calls of one process share a commit.
dbos: a workflow without steps, the key is the workflow's id, which the caller makes up: arguments are not part of it and
    not compared. Records it before the body, its output after. Its table has 15 indexes, which serve queues, recovery and
    listing that the others do not have. A body that was interrupted runs again on recovery: no outcome is unknown there.
agent-effects: name and key from the caller, a digest of the input is compared. Records intent, lease, attempt and an
    audit trail in transactions of their own; a result after that. Unknown outcomes are kept as such, as by ours.
Each run is checked: rows in the store that have succeeded = bodies run = calls.
";

/// What ours is to be at least: callers, and how many times as fast as dbos.
const TARGETS: [(u64, f64); 3] = [(1, 1.4), (64, 12.0), (256, 25.0)];

#[expect(clippy::print_stdout, reason = "this is the program's output")]
fn main() -> Result<()> {
    let cli = Cli::parse();
    let folder = match &cli.folder {
        None => tempfile::tempdir()?,
        Some(folder) => tempfile::tempdir_in(folder)?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let server = Arc::new(runtime.block_on(Server::at(cli.server.as_deref()))?);
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    println!("{processors} processors, runs of {} ms, {} each\nPostgreSQL {}\n", cli.dur_ms, cli.reps, server.about());
    println!("{}", head());
    let patience = Patience::new(Duration::from_secs(cli.patience_s), server.postmaster());
    let mut rows = Vec::new();
    for callers in &cli.callers {
        let row = |arm| Row { arm, callers: *callers, runs: Vec::new(), ours: Vec::new() };
        let mut of_callers = Arm::ALL.map(row);
        for _ in 0..cli.reps {
            turn(&mut of_callers, &cli, &runtime, &server, &patience, folder.path())?;
        }
        of_callers.iter().for_each(|row| println!("{}", row.line()));
        rows.extend(of_callers);
    }
    println!("{EXPLAINED}");
    for (callers, least) in TARGETS {
        let row = rows.iter().find(|row| row.arm == Arm::Dbos && row.callers == callers);
        let verdict = match row.and_then(Row::times) {
            None => "not measured".to_owned(),
            Some((times, false)) => format!("{times:.1}x  no verdict: the machine was not quiet"),
            Some((times, true)) => format!("{times:.1}x  {}", if times >= least { "met" } else { "MISSED" }),
        };
        println!("{callers:>4} callers, ours / dbos, PostgreSQL: >= {least}x  {verdict}");
    }
    runtime.block_on(server.clear())
}

/// All arms once.
fn turn(
    rows: &mut [Row],
    cli: &Cli,
    runtime: &tokio::runtime::Runtime,
    server: &Arc<Server>,
    patience: &Patience,
    folder: &Path,
) -> Result<()> {
    for row in &mut *rows {
        let run = patience.gated(|| {
            let work = arms::run(
                row.arm,
                Arc::clone(server),
                Arc::from(folder),
                row.callers,
                Duration::from_millis(cli.dur_ms),
            );
            // Only the callers, which are tasks, run on the runtime's workers.
            runtime.block_on(work)
        })?;
        row.runs.push(run);
    }
    let last = |row: &Row| row.runs.last().map(|run| (run.run.rate(), run.quiet));
    let turn: Vec<_> = rows.iter().map(|row| (row.arm, last(row))).collect();
    for row in rows {
        let of = |arm| turn.iter().find(|(other, _)| *other == arm).and_then(|(_, run)| *run);
        if let (Some((ours, quiet)), Some((rate, also))) = (of(row.arm.ours()), of(row.arm)) {
            row.ours.push((ours / rate, quiet && also));
        }
    }
    Ok(())
}
