//! One arm for a profiler: no gate, no comparison.

use std::path::Path;

use anyhow::Result;
use tokio::runtime::Runtime;

use crate::{
    arguments::Order,
    arm::{Keys, ours, ours::Place, store},
    cli::{Cli, Profile, StoreKind},
    load::{Quantile, Sample},
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
    let path = folder.join("profile.db");
    let place = match cli.store {
        StoreKind::Memory => Place::Memory,
        StoreKind::Sqlite => Place::Sqlite(path.clone()),
    };
    let span = cli.span();
    let fresh = |keys| runtime.block_on(async { tokio::spawn(ours::run(place.clone(), keys, callers, span)).await? });
    Ok(match profile {
        Profile::Fresh => line(&fresh(Keys::Scoped)?),
        Profile::FreshRandom => line(&fresh(Keys::Random)?),
        Profile::Store => line(&store::run(&path, Keys::Scoped, callers, span)?),
        Profile::ReplayMemory => {
            format!(
                "{:?} a replay",
                runtime.block_on(async { Finished::in_memory(OPERATIONS).await?.replays(span).await })?
            )
        }
        Profile::ReplayFile => {
            format!(
                "{:?} a replay",
                runtime.block_on(async { Finished::in_file(folder, OPERATIONS).await?.replays(span).await })?
            )
        }
        Profile::Key => format!("{:?}", single::keys(&Order::thousand(), span)?),
    })
}

fn line(sample: &Sample) -> String {
    let [p50, p99] = [Quantile::Half, Quantile::NinetyNine].map(|part| sample.quantile(part));
    let group = sample.calls_a_commit.unwrap_or(0.0);
    format!("{:.0} calls/s, p50 {p50:?}, p99 {p99:?}, {group:.1} calls a commit, {} calls", sample.rate(), sample.calls)
}
