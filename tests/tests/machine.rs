//! The whole transition table, driven through memory and a file by random commands, against the pure function.
//!
//! Each case is a plan: batches of commands over three operations, with steps of the clock around every boundary. The
//! memory store is asked command by command, and what it says decides what the later ones name; another store is then
//! given the batch as a whole. Both have to give the same answers and keep the same records, and every record's
//! history has to be a walk over the table. It must not know how either store does it.

mod machine {
    //! The plans, what carries them out, and what is checked; the folder beside this file.

    mod driver;
    mod pair;
    pub(crate) mod plan;
    mod walk;

    pub(crate) use driver::Case;
    pub(crate) use pair::Pair;
    pub(crate) use walk::{Seen, unreached};
}

use std::cell::{Cell, RefCell};

use idem_runtime::ledger::{Event, Standing, transition};
use idem_tests::home::Place;
use machine::{Case, Pair, Seen, plan, unreached};
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestRunner};

/// Cases in one run, and how many share a pair of stores: opening a file costs more than a case.
const CASES: u32 = 256;
const CASES_OF_A_PAIR: u32 = 32;
/// Runs until every move was seen. One is enough, all but always.
const RUNS_MAX: u32 = 6;

fn runner(cases: u32) -> TestRunner {
    // Seeds of failures are kept and printed.
    let seeds = FileFailurePersistence::Direct("tests/machine/seeds.txt");
    TestRunner::new(Config {
        cases,
        failure_persistence: Some(Box::new(seeds)),
        source_file: Some(file!()),
        max_shrink_iters: 400,
        ..Config::default()
    })
}

/// Legal moves that no case has made yet.
fn missing(seen: &Seen) -> Vec<(Standing, Event)> {
    let pairs = Standing::all().flat_map(|from| Event::ALL.map(|event| (from, event)));
    let legal = pairs.filter(|(from, event)| transition(*from, *event).is_ok());
    legal.filter(|(from, event)| !seen.contains_key(&(*from, *event)) && unreached(*from, *event).is_none()).collect()
}

/// Runs cases over one pair after another; says which moves were made, in how many cases.
fn walks(place: Place, cases: u32, enough: impl Fn(&Seen) -> bool) -> (Seen, u32) {
    let seen = RefCell::new(Seen::default());
    let pair: RefCell<Option<Pair>> = RefCell::default();
    let number = Cell::new(0_u32);
    for _ in 0..RUNS_MAX {
        let mut runner = runner(cases);
        let result = runner.run(&plan::plans(), |plan| {
            // A pair that a case has failed on is not used again: smaller plans are tried on new ones.
            let stores = pair.borrow_mut().take().filter(|_| !number.get().is_multiple_of(CASES_OF_A_PAIR));
            let stores = stores.unwrap_or_else(|| Pair::open(place));
            let mut case = Case::new(stores, number.replace(number.get() + 1));
            case.run(&plan, &mut seen.borrow_mut()).map_err(TestCaseError::fail)?;
            *pair.borrow_mut() = Some(case.into_pair());
            Ok(())
        });
        if let Err(error) = result {
            panic!("{error}\n{runner}");
        }
        if enough(&seen.borrow()) {
            break;
        }
    }
    (seen.into_inner(), number.get())
}

#[test]
fn memory_and_a_file_walk_the_whole_table() {
    let (seen, cases) = walks(Place::File, CASES, |seen| missing(seen).is_empty());
    let missing = missing(&seen);
    assert!(missing.is_empty(), "never seen, though it is legal: {missing:#?}");
    // What is said to be out of reach is, and is legal.
    for (from, event) in Standing::all().flat_map(|from| Event::ALL.map(|event| (from, event))) {
        if let Some(reason) = unreached(from, event) {
            assert!(transition(from, event).is_ok(), "{from:?} on {event:?} is not even legal");
            assert!(!seen.contains_key(&(from, event)), "{from:?} on {event:?} was seen, against: {reason}");
        }
    }
    let rarest = seen.iter().min_by_key(|(_, times)| **times);
    eprintln!("{} moves seen in {cases} cases; the rarest: {rarest:?}", seen.len());
}
