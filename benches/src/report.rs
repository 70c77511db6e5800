//! The whole program: measures, prints, judges.

use std::{path::Path, process::ExitCode, time::Duration};

use anyhow::Result;
use tokio::runtime::Runtime;

use crate::{
    arguments::{Keyed, Order, Presorted},
    cli::{Cli, Kind, Store},
    load::Quantile,
    plan::Plan,
    profile::OPERATIONS,
    quiet::{Gated, Patience},
    row::Arm,
    server::Server,
    single::{self, Finished},
    table,
    target::{self, Figure, Limit, Target, Verdict},
};

/// Replays from a file are slower; fewer operations fill a file sooner.
const OPERATIONS_IN_FILE: u64 = 200_000;

/// Measures everything and prints it; fails when `--ci` asks for what was not there.
///
/// # Errors
/// The first run that failed.
#[expect(clippy::print_stdout, reason = "this is the program's output")]
pub fn print(runtime: &Runtime, cli: &Cli, folder: &Path) -> Result<ExitCode> {
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    println!("{processors} processors, files in {}, runs of {:?}, {} each", folder.display(), cli.span(), cli.reps);
    let server = server(runtime, cli)?;
    if let Some(server) = &server {
        println!("PostgreSQL {}", server.about());
    }
    println!("\n{}", table::head());
    let patience = Patience::new(cli.patience(), server.as_ref().and_then(Server::postmaster));
    let plan = Plan { cli, runtime, folder, server: server.as_ref(), patience: &patience };
    let rows = plan.run(|row| println!("{}", table::line(row)))?;
    if let Some(server) = &server {
        runtime.block_on(server.clear())?;
    }
    if let Some((disk, pair)) = rows.iter().find_map(|row| Some((row, row.quantile(Quantile::Half)?)))
        && disk.arm == Arm::Disk
    {
        let noise = if disk.is_quiet() { "" } else { ", or less: the machine was not quiet" };
        println!("\none fdatasync takes {} here (half of them){noise}", table::time(pair / 2));
    }
    println!("SHA-256 of 1,000 bytes takes {} here; 577 ns where the targets were set", table::time(single::digest()));
    println!("{EXPLAINED}");
    let kinds = || cli.store.iter().map(Store::kind);
    let targets = if cli.ci {
        kinds().flat_map(|kind| target::of_ci(&rows, kind)).collect()
    } else {
        let mut targets = if kinds().all(|kind| kind == Kind::Postgres) { Vec::new() } else { single(&plan)? };
        targets.extend(kinds().flat_map(|kind| match kind {
            Kind::Memory => Vec::new(),
            Kind::Sqlite => target::of_sqlite(&rows, cli.rows),
            Kind::Postgres => target::of_postgres(&rows, cli.rows),
        }));
        targets
    };
    println!("{:62} {:>12} {:>10}", "target", "wanted", "measured");
    for target in &targets {
        println!("{}", target.line());
    }
    let failed = cli.ci && targets.iter().any(|target| target.verdict() != Verdict::Met);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The server that was asked for.
pub(crate) fn server(runtime: &Runtime, cli: &Cli) -> Result<Option<Server>> {
    let asked = cli.store.iter().find_map(|store| match store {
        Store::Postgres(address) => Some(address.as_deref()),
        Store::Sqlite | Store::Memory => None,
    });
    asked.map(|address| runtime.block_on(Server::at(address))).transpose()
}

const EXPLAINED: &str = "
raw: one connection, one table (unique key, state, 200 B result), tuned as the ledger's store is, N inserts and a commit,
N updates and a commit, where N is what our commits carried in the same turn. our store: the ledger's tables at the same N,
no callers, no keys, no engine. naive: the raw table, an autocommitted statement for each step: 8 connections on threads
that may block, or sqlx's pool of 10 as its defaults have it. Calls per commit are counted in the store. Replays: finished
operations at random, each a guarded call of a process that remembers none; reads: one statement each for a row of the raw
table. Each run is checked: rows in the store = calls, all succeeded with a result, bodies run = calls, and none run again.
Each caller's first call is not timed: with it connections are opened and statements planned. % of raw, x naive (of replays: x
reads) and x empty ledger are medians of turns. us/call: processor time of this program, callers included, and of the server.
";

/// What one thread can do.
fn single(plan: &Plan<'_>) -> Result<Vec<Target>> {
    let cli = plan.cli;
    let (thousand, refund) = (Order::thousand(), Presorted::refund());
    let keys_of_thousand = gated(plan, || single::keys(&thousand, cli.span()))?;
    let keys_of_refund = gated(plan, || single::keys(&refund, cli.span()))?;
    let memory = replays(plan, Finished::in_memory(OPERATIONS))?;
    let file = replays(plan, Finished::in_file(plan.folder, OPERATIONS_IN_FILE))?;
    let (ours, reference) = keys_of_thousand.run;
    Ok(vec![
        Target {
            what: format!(
                "key of {} B, structured: serde_jcs + sha2 {} / ours {}",
                thousand.bytes()?,
                table::time(reference),
                table::time(ours)
            ),
            limit: Limit::AtLeastTimes(5.0),
            figure: Some(Figure::Times(reference.as_secs_f64() / ours.as_secs_f64())),
            quiet: keys_of_thousand.quiet,
        },
        took(format!("key of {} B, sorted fields", refund.bytes()?), 400, &keys_of_refund.map(|(ours, _)| ours)),
        took(format!("replay from memory, {OPERATIONS} operations, random"), 1_000, &memory),
        took(format!("replay from SQLite, {OPERATIONS_IN_FILE} operations, random"), 10_000, &file),
    ])
}

fn took(what: String, nanos: u64, measured: &Gated<Duration>) -> Target {
    let limit = Limit::AtMost(Duration::from_nanos(nanos));
    Target { what, limit, figure: Some(Figure::Took(measured.run)), quiet: measured.quiet }
}

/// The median of some runs, quiet if all were.
fn gated<T: Ord>(plan: &Plan<'_>, mut work: impl FnMut() -> Result<T>) -> Result<Gated<T>> {
    let runs = (0..plan.cli.reps).map(|_| plan.patience.gated(&mut work)).collect::<Result<Vec<_>>>()?;
    let any = runs.iter().any(|run| run.quiet);
    let mut counted: Vec<Gated<T>> = runs.into_iter().filter(|run| run.quiet || !any).collect();
    counted.sort_by(|left, right| left.run.cmp(&right.run));
    let middle = counted.len() / 2;
    Ok(counted.swap_remove(middle))
}

fn replays(plan: &Plan<'_>, finished: impl Future<Output = Result<Finished>>) -> Result<Gated<Duration>> {
    let (runtime, span) = (plan.runtime, plan.cli.span());
    let mut finished = runtime.block_on(finished)?;
    gated(plan, || runtime.block_on(finished.replays(span)))
}
