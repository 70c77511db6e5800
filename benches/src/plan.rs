//! Which runs are done, in which order.
//!
//! All arms of some number of callers take turns (ours, raw, store, naive, over every store and size, then again), so that
//! whatever changes on the machine changes for all of them, and what is divided was measured within seconds of each other.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    arm::{Keys, disk, naive, ours, ours::Place, postgres, raw, store},
    cli::{Cli, Kind},
    load::{Sample, as_f64},
    quiet::{Gated, Patience},
    row::{Arm, Row, Setting, compare},
    server::{Server, Space},
    single::Finished,
};

/// How many finished operations are replayed from a database.
const REPLAYED: u64 = 20_480;

/// Does the runs.
#[derive(Debug)]
pub struct Plan<'a> {
    /// What was asked for.
    pub cli: &'a Cli,
    /// What the callers run on.
    pub runtime: &'a Runtime,
    /// Where files are made.
    pub folder: &'a Path,
    /// Where databases are made, if any are.
    pub server: Option<&'a Server>,
    /// What is left of the time to wait for a quiet machine.
    pub patience: &'a Patience,
}

/// What the arms of one store, size and kind of keys work on; what has rows in it is used again for the next number of
/// callers.
struct Stand {
    store: Kind,
    rows: u64,
    /// Ledger, small table and the store's own ledger; `None` where each run has new ones.
    places: Option<(Place, Place, Place)>,
    replays: Option<Replays>,
}

/// What is read again and again.
struct Replays {
    finished: Finished,
    table: String,
    rows: u64,
}

impl Stand {
    fn arms(&self) -> &'static [Arm] {
        match self.store {
            Kind::Memory => &[Arm::Ours],
            Kind::Sqlite => &[Arm::Ours, Arm::Raw, Arm::Store, Arm::Naive],
            Kind::Postgres if self.replays.is_none() => &[Arm::Ours, Arm::Raw, Arm::Store, Arm::Naive],
            Kind::Postgres => &[Arm::Ours, Arm::Raw, Arm::Store, Arm::Naive, Arm::Replay, Arm::Reads],
        }
    }
}

/// Something new for one run, and what removes it.
struct New {
    place: Place,
    space: Option<Space>,
    _folder: Option<TempDir>,
}

impl Plan<'_> {
    /// Every setting in turn; `done` hears of each row as soon as it is there.
    ///
    /// # Errors
    /// The first run that failed, or whose store does not hold what it should.
    pub fn run(&self, mut done: impl FnMut(&Row)) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        let disk = self.disk()?;
        done(&disk);
        rows.push(disk);
        let sizes = if self.cli.rows == 0 || self.cli.ci { vec![0] } else { vec![0, self.cli.rows] };
        let callers: &[u64] = if self.cli.ci { &[1, 64] } else { &self.cli.callers };
        for keys in [Keys::Scoped, Keys::Random] {
            if self.cli.ci && keys == Keys::Random {
                continue;
            }
            let each = self.cli.store.iter().flat_map(|store| sizes.iter().map(|size| (store.kind(), *size)));
            let stands = each.map(|(store, size)| self.stand(store, keys, size)).collect::<Result<Vec<_>>>()?;
            for callers in callers {
                let of_callers = self.turns(&stands, keys, *callers)?;
                of_callers.iter().for_each(&mut done);
                rows.extend(of_callers);
            }
        }
        Ok(rows)
    }

    fn disk(&self) -> Result<Row> {
        let setting = Setting { store: Kind::Sqlite, rows: 0, keys: Keys::Scoped, callers: 1 };
        let mut row = Row::new(setting, Arm::Disk);
        for _ in 0..self.cli.reps {
            row.add(self.gated(|| disk::run(self.folder, self.cli.span()))?);
        }
        Ok(row)
    }

    fn gated<T>(&self, work: impl FnMut() -> Result<T>) -> Result<Gated<T>> {
        self.patience.gated(work)
    }

    /// All arms of all stores and sizes, in turn.
    fn turns(&self, stands: &[Stand], keys: Keys, callers: u64) -> Result<Vec<Row>> {
        let mut rows: Vec<(&Stand, Row)> = Vec::new();
        for stand in stands {
            let setting = Setting { store: stand.store, rows: stand.rows, keys, callers };
            rows.extend(stand.arms().iter().map(|arm| (stand, Row::new(setting, *arm))));
        }
        for _ in 0..self.cli.reps {
            // The group that the raw limit is given: as many rows a transaction as ours came to in this turn.
            let mut group = callers.div_ceil(2);
            for (stand, row) in &mut rows {
                let run = self.gated(|| self.one(row.arm, row.setting, group, stand))?;
                if let (Arm::Ours, Some(calls)) = (row.arm, run.run.calls_a_commit) {
                    group = rounded(calls * 2.0);
                }
                row.add(run);
            }
            let (stands, mut turn): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
            compare(&mut turn);
            rows = stands.into_iter().zip(turn).collect();
        }
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    fn one(&self, arm: Arm, setting: Setting, group: u64, stand: &Stand) -> Result<Sample> {
        let Setting { keys, callers, .. } = setting;
        let span = self.cli.span();
        if let (Arm::Replay, Some(replays)) = (arm, &stand.replays) {
            return self.on_a_worker(replays.finished.clone().replays_of(callers, span));
        }
        if let (Arm::Reads, Some(replays)) = (arm, &stand.replays) {
            return self.on_a_worker(postgres::reads(replays.table.clone(), keys, replays.rows, callers, span));
        }
        let new = stand.places.is_none().then(|| self.new_place(stand.store)).transpose()?;
        let there = stand.places.as_ref().map(|(ours, table, store)| match arm {
            Arm::Ours => ours,
            Arm::Store => store,
            Arm::Disk | Arm::Raw | Arm::Naive | Arm::Replay | Arm::Reads => table,
        });
        let place = new.as_ref().map(|new| &new.place).or(there).context("an arm has no place")?;
        let sample = match (arm, place.clone()) {
            (Arm::Ours, place) => self.on_a_worker(ours::run(place, keys, callers, span)),
            (Arm::Store, place) => alone()?.block_on(store::run(&place, keys, group, span)),
            (Arm::Raw, Place::Sqlite(path)) => raw::run(&path, keys, group, span),
            (Arm::Raw, Place::Postgres(address)) => alone()?.block_on(postgres::raw(address, keys, group, span)),
            (Arm::Naive, Place::Sqlite(path)) => self.on_a_worker(naive::run(path, keys, callers, span)),
            (Arm::Naive, Place::Postgres(address)) => self.on_a_worker(postgres::naive(address, keys, callers, span)),
            (Arm::Disk | Arm::Raw | Arm::Naive | Arm::Replay | Arm::Reads, _) => bail!("{arm:?} has no place there"),
        };
        if let Some(space) = new.and_then(|new| new.space) {
            self.runtime.block_on(self.server()?.remove(&space))?;
        }
        sample
    }

    /// The main thread is none of the runtime's workers; an application's callers are.
    fn on_a_worker<T: Send + 'static>(&self, work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
        self.runtime.block_on(self.runtime.spawn(work)).context("a run panicked")?
    }

    fn server(&self) -> Result<&Server> {
        self.server.context("no server was started")
    }

    fn new_place(&self, store: Kind) -> Result<New> {
        Ok(match store {
            Kind::Memory => New { place: Place::Memory, space: None, _folder: None },
            Kind::Sqlite => {
                let folder = tempfile::tempdir_in(self.folder)?;
                New { place: Place::Sqlite(folder.path().join("fresh.db")), space: None, _folder: Some(folder) }
            }
            Kind::Postgres => {
                let space = self.runtime.block_on(self.server()?.space())?;
                New { place: Place::Postgres(space.address.clone()), space: Some(space), _folder: None }
            }
        })
    }

    /// What arms of this store, size and kind of keys work on.
    fn stand(&self, store: Kind, keys: Keys, rows: u64) -> Result<Stand> {
        let mut stand = Stand { store, rows, places: None, replays: None };
        if store == Kind::Postgres {
            return self.stand_in_postgres(keys, rows);
        }
        if rows > 0 && store == Kind::Sqlite {
            let at = |name: &str| self.folder.join(format!("{name}-{keys}-{rows}.db"));
            let [ours, table, store]: [PathBuf; 3] = [at("ours"), at("raw"), at("store")];
            self.runtime.block_on(store::prefill(&Place::Sqlite(ours.clone()), keys, rows))?;
            std::fs::copy(&ours, &store).context("copy the prefilled ledger")?;
            raw::prefill(&table, keys, rows)?;
            stand.places = Some((Place::Sqlite(ours), Place::Sqlite(table), Place::Sqlite(store)));
        }
        Ok(stand)
    }

    fn stand_in_postgres(&self, keys: Keys, rows: u64) -> Result<Stand> {
        let server = self.server()?;
        let (ledger, table) =
            self.runtime.block_on(async { anyhow::Ok((server.space().await?, server.space().await?)) })?;
        let of_table = if rows > 0 { rows } else { REPLAYED };
        self.runtime.block_on(postgres::prefill(&table.address, keys, of_table))?;
        let place = Place::Postgres(ledger.address.clone());
        self.runtime.block_on(store::prefill(&place, keys, rows))?;
        let replays = match keys {
            Keys::Random => None,
            Keys::Scoped => {
                let of_place = place.clone();
                let finished = self.on_a_worker(async move { Finished::forgotten(&of_place, REPLAYED).await })?;
                Some(Replays { finished, table: table.address.clone(), rows: of_table })
            }
        };
        self.runtime.block_on(server.vacuum())?;
        let places = (rows > 0).then(|| (place.clone(), Place::Postgres(table.address), place));
        Ok(Stand { store: Kind::Postgres, rows, places, replays })
    }
}

/// One thread, as a ledger has it.
fn alone() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// The nearest count, at least one.
fn rounded(figure: f64) -> u64 {
    (1..4_096_u64).find(|count| as_f64(*count) + 0.5 > figure).unwrap_or(4_096)
}
