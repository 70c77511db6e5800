//! The run: four workers are started, killed with `kill -9` at random and started again, while what they say is heard.
//!
//! Must not know what a ledger says: it hears what callers were told.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use idem_tests::dice::Dice;

use super::{
    child::{ADDRESS, Arm, Life},
    provider::Provider,
};
use crate::process::Child;

const WORKERS: usize = 4;

/// A kill comes after so many answers at least, and after so many more at most.
const ANSWERS_MIN: u64 = 60;
const ANSWERS_MORE: u64 = 300;

/// There is one order more after so many answers: about as many callers want each of them.
const ANSWERS_AN_ORDER: u64 = 3;

/// How many orders there are at the beginning.
const ORDERS_MIN: u64 = 20;

/// What callers were told.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// By order: the references of the successes.
    pub(crate) successes: BTreeMap<u64, BTreeSet<String>>,
    /// Successes of calls for which something was run.
    pub(crate) ran: u64,
    pub(crate) replays: u64,
    /// By name: everything else.
    pub(crate) refusals: BTreeMap<String, u64>,
    pub(crate) kills: u64,
    /// How many orders there were to ask for.
    pub(crate) orders: u64,
}

impl Heard {
    fn answers(&self) -> u64 {
        self.ran + self.replays + self.refusals.values().sum::<u64>()
    }

    /// How many orders there are by now.
    fn orders(&self) -> u64 {
        ORDERS_MIN + self.answers() / ANSWERS_AN_ORDER
    }

    fn note(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let [number, told, reference @ ..] = words.as_slice() else { panic!("a worker said {line:?}") };
        let number = number.parse().expect("an order");
        match (*told, reference) {
            ("ran", [reference]) => {
                self.ran += 1;
                self.successes.entry(number).or_default().insert((*reference).to_owned());
            }
            ("replayed", [reference]) => {
                self.replays += 1;
                self.successes.entry(number).or_default().insert((*reference).to_owned());
            }
            (refusal, []) => *self.refusals.entry(refusal.to_owned()).or_default() += 1,
            _ => panic!("a worker said {line:?}"),
        }
    }
}

/// Workers work for so long; then they end their calls and themselves.
pub(crate) fn run(arm: Arm, seed: u64, lasts: Duration, address: &str, provider: &Provider, folder: &Path) -> Heard {
    fs::write(folder.join(ADDRESS), address).expect("the ledger's address");
    let (mut dice, mut heard) = (Dice::new(seed), Heard::default());
    let life = Life { arm, seed: 0, keyed: provider.keyed, plain: provider.plain, orders: ORDERS_MIN };
    let mut workers: Vec<Child> = (0..WORKERS).map(|_| begins(life, &mut dice, folder)).collect();
    let (begun, mut next) = (Instant::now(), ANSWERS_MIN);
    while begun.elapsed() < lasts {
        for worker in &mut workers {
            hears(worker, &mut heard);
            worker.say(&heard.orders().to_string());
        }
        if heard.answers() >= next {
            let at = usize::try_from(dice.below(WORKERS as u64)).expect("a small number");
            dies(&mut workers[at], &mut heard);
            workers[at] = begins(Life { orders: heard.orders(), ..life }, &mut dice, folder);
            next = heard.answers() + ANSWERS_MIN + dice.below(ANSWERS_MORE);
        }
    }
    heard.orders = heard.orders();
    for worker in &mut workers {
        drop(worker.process.stdin.take());
    }
    for mut worker in workers {
        loop {
            match worker.hear().as_str() {
                "done" => break,
                line => heard.note(line),
            }
        }
    }
    heard
}

fn begins(life: Life, dice: &mut Dice, folder: &Path) -> Child {
    Child::start(&Life { seed: dice.below(1 << 40), ..life }.role(), folder)
}

/// Hears what a worker has said by now.
fn hears(worker: &Child, heard: &mut Heard) {
    // Not a wait for time to pass, but for the next answer: the other workers are heard in between.
    let mut waits = Duration::from_millis(1);
    loop {
        match worker.lines.recv_timeout(waits) {
            Ok(line) => heard.note(&line),
            Err(RecvTimeoutError::Timeout) => return,
            Err(RecvTimeoutError::Disconnected) => panic!("a worker ended by itself"),
        }
        waits = Duration::ZERO;
    }
}

/// `kill -9`, by its id, whatever its callers are doing; what it said before that counts.
fn dies(worker: &mut Child, heard: &mut Heard) {
    worker.process.kill().expect("a kill");
    while let Ok(line) = worker.lines.recv() {
        heard.note(&line);
    }
    heard.kills += 1;
}
