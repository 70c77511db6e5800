//! An operator who says "failed" and a reconciler that finds the effect, at the same moment.

use std::{collections::HashMap, sync::Arc};

use idem_runtime::{
    OperationId, ResolveError,
    ledger::{Detail, Evidence, Resolution, State},
};
use idem_tests::world::{Setup, every_store};
use tokio::sync::Barrier;

use crate::{Provider, detail, operation, operator, pay_tool, refused_decisions, tenant, told};

/// An operator who says "failed" and a reconciler that finds the effect, at the same moment.
struct Round<'a> {
    setup: &'a Setup,
    number: usize,
}

/// Who came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Winner {
    Operator,
    Reconciler,
}

impl Round<'_> {
    /// `first` comes first for certain; without it both start at a barrier.
    async fn run(&self, first: Option<Winner>) -> Winner {
        let Self { setup, number } = self;
        let order = format!("A-{number}");
        let id = operation(setup, &order, Provider::AnswerLost).await;
        let (seen, tenant) = (setup.record(id).await, tenant());
        let barrier = Arc::new(Barrier::new(2));
        let decides = tokio::spawn({
            let (person, seen, barrier) = (operator(setup), seen.clone(), Arc::clone(&barrier));
            async move {
                barrier.wait().await;
                person.resolve(&seen, Resolution::Final, "nothing on the statement", None).await
            }
        });
        let reconciler = setup.idem.reconciler([pay_tool(Provider::Answers, setup.world.clone())]);
        let (decided, found) = match first {
            Some(Winner::Operator) => {
                barrier.wait().await;
                let decided = decides.await.expect("no panic");
                (decided, reconciler.settle(&tenant, id).await)
            }
            Some(Winner::Reconciler) => {
                let found = reconciler.settle(&tenant, id).await;
                barrier.wait().await;
                (decides.await.expect("no panic"), found)
            }
            None => {
                barrier.wait().await;
                let found = reconciler.settle(&tenant, id).await;
                (decides.await.expect("no panic"), found)
            }
        };
        let found = found.expect("a ledger").expect("the record as it stands");
        let winner = match &decided {
            Ok(record) => {
                assert_eq!((record.state, record.version), (State::FailedFinal, seen.version + 1));
                assert_eq!(found, *record, "the reconciler is told what the operator made of it");
                Winner::Operator
            }
            Err(ResolveError::Changed(record)) => {
                let now = record.state;
                assert!(matches!(now, State::Reconciling | State::Succeeded), "as it stood: {now:?}");
                assert_eq!(found.state, State::Succeeded);
                Winner::Reconciler
            }
            Err(other) => panic!("{other:?}"),
        };
        self.check(id, winner).await;
        winner
    }

    /// The loser insists: what it knows is evidence, stands in the history, and takes no success back.
    async fn check(&self, id: OperationId, winner: Winner) {
        let Self { setup, number } = self;
        let said = Evidence::of(&tenant(), id, "by hand", format!("evt_{number}"));
        let said = match winner {
            Winner::Operator => said.applied(None, Some("ch_1")).by("the reconciler"),
            Winner::Reconciler => said.not_applied().by("mia"),
        };
        setup.idem.evidence(said).await.expect("weighed");
        let Detail { record, history, .. } = detail(setup, id).await;
        assert_eq!((record.state, record.review), (State::Succeeded, true), "{}: {history:?}", setup.name());
        let mut steps: Vec<(&str, Option<&str>)> = history.iter().map(|it| (&*it.event, it.actor.as_deref())).collect();
        if winner == Winner::Reconciler {
            // It came too late at some moment after the reconciler had begun.
            let late = steps.iter().position(|step| *step == ("resolve_refused", Some("mia"))).expect("the loser");
            assert!(late >= 2, "{}: {steps:?}", setup.name());
            steps.remove(late);
            assert_eq!(refused_decisions(&history)[0].1, "failed_final: nothing on the statement");
        }
        let expected: &[(&str, Option<&str>)] = match winner {
            Winner::Operator => &[
                ("settle_unknown", None),
                ("resolve_final", Some("mia")),
                ("evidence_applied", Some("the reconciler")),
            ],
            Winner::Reconciler => &[
                ("settle_unknown", None),
                ("begin_reconcile", None),
                ("step", None),
                ("verdict_applied", None),
                ("evidence_not_applied", Some("mia")),
            ],
        };
        assert_eq!(steps, expected, "{}: both stand in the history", setup.name());
        let order = format!("A-{number}");
        let again = told(setup, &setup.call_as("again", *number as u64), &order, Provider::Answers).await;
        assert_ne!(again.to_json()["outcome"], "failed_final", "{}", setup.name());
        assert_eq!(setup.world.count(&order), 1, "{}: effect and final state agree", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r060_an_operator_and_a_reconciler_at_the_same_moment() {
    const ROUNDS: usize = 1_000;
    const ROUNDS_ON_A_SERVER: usize = 200;
    for setup in every_store().await {
        // Each round is some ten commits, which a server carries out in more time than a file.
        let rounds = if setup.place().is_server() { ROUNDS_ON_A_SERVER } else { ROUNDS };
        for (number, first) in [Winner::Operator, Winner::Reconciler].into_iter().enumerate() {
            assert_eq!(Round { setup: &setup, number: ROUNDS + number }.run(Some(first)).await, first);
        }
        let mut first = HashMap::new();
        for number in 0..rounds {
            *first.entry(Round { setup: &setup, number }.run(None).await).or_insert(0) += 1;
        }
        eprintln!("{}: first of {rounds} rounds: {first:?}", setup.name());
    }
}
