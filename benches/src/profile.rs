//! One arm for a profiler: no gate, no comparison.

use std::{path::Path, time::Duration};

use anyhow::Result;
use tokio::runtime::Runtime;

use crate::{
    arguments::Order,
    arm::{Keys, ours, ours::Place, store},
    cli::{Cli, Profile, Store},
    load::{Quantile, Sample, as_f64},
    quiet::Watch,
    report,
    server::Server,
    single::{self, Finished},
};

/// How many finished operations are replayed.
pub const OPERATIONS: u64 = 200_000;

/// Runs what `profile` says and gives a line about it.
///
/// # Errors
/// When the run fails.
pub fn run(runtime: &Runtime, cli: &Cli, profile: Profile, folder: &Path) -> Result<String> {
    let callers = cli.callers.first().copied().unwrap_or(1);
    let server = report::server(runtime, cli)?;
    let space = server.as_ref().map(|server| runtime.block_on(server.space())).transpose()?;
    let place = match (cli.store.first(), &space) {
        (Some(Store::Memory), _) => Place::Memory,
        (Some(Store::Postgres(_)), Some(space)) => Place::Postgres(space.address.clone()),
        _ => Place::Sqlite(folder.join("profile.db")),
    };
    let span = cli.span();
    let spawned = |work| runtime.block_on(async { tokio::spawn(work).await? });
    let watched = |work: &mut dyn FnMut() -> Result<Sample>| {
        let watch = Watch::begin(server.as_ref().and_then(Server::postmaster))?;
        let sample = work()?;
        let used = watch.used()?;
        let a_call = |span: Duration| span.as_secs_f64() * 1e6 / as_f64(sample.calls.max(1));
        anyhow::Ok(format!("{}, {:.0}+{:.0} us/call", line(&sample), a_call(used.own), a_call(used.server)))
    };
    let told = match profile {
        Profile::Fresh => watched(&mut || spawned(ours::run(place.clone(), Keys::Scoped, callers, span))),
        Profile::FreshRandom => watched(&mut || spawned(ours::run(place.clone(), Keys::Random, callers, span))),
        Profile::Store => watched(&mut || runtime.block_on(store::run(&place, Keys::Scoped, callers, span))),
        Profile::ReplayMemory => {
            let replays = async { Finished::in_memory(OPERATIONS).await?.replays(span).await };
            Ok(format!("{:?} a replay", runtime.block_on(replays)?))
        }
        Profile::ReplayFile if space.is_some() => {
            let finished = runtime.block_on(Finished::forgotten(&place, 20_480))?;
            let replays = || {
                let finished = finished.clone();
                runtime.block_on(async { tokio::spawn(finished.replays_of(callers, span)).await? })
            };
            watched(&mut { replays })
        }
        Profile::ReplayFile => {
            let replays = async { Finished::in_file(folder, OPERATIONS).await?.replays(span).await };
            Ok(format!("{:?} a replay", runtime.block_on(replays)?))
        }
        Profile::Key => Ok(format!("{:?}", single::keys(&Order::thousand(), span)?)),
    };
    if let Some(server) = &server {
        runtime.block_on(server.clear())?;
    }
    told
}

fn line(sample: &Sample) -> String {
    let [p50, p99] = [Quantile::Half, Quantile::NinetyNine].map(|part| sample.quantile(part));
    let group = sample.calls_a_commit.unwrap_or(0.0);
    format!("{:.0} calls/s, p50 {p50:?}, p99 {p99:?}, {group:.1} calls a commit, {} calls", sample.rate(), sample.calls)
}
