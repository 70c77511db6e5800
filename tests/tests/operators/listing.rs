//! What a person sees: operations by state and age, page by page while they move, and one of them in full.

use std::time::Duration;

use idem_runtime::{
    Clock, OperationId, Operator, RefusalKind,
    ledger::{Evidence, Listing, Record, Resolution, State},
};
use idem_tests::world::every_store;
use serde_json::json;

use crate::{Provider, detail, ids, operation, operator, refusal, tenant, told};

fn unknown(records_max: u32) -> Listing {
    Listing { states: vec![State::OutcomeUnknown], records_max, ..Listing::default() }
}

/// Every page from the first on; `between` moves records after each.
async fn pages(person: &Operator, mut listing: Listing, mut between: impl AsyncFnMut(usize)) -> Vec<Record> {
    let mut all = Vec::new();
    for page_number in 0.. {
        let page = person.list(&listing).await.expect("a page");
        assert!(page.records.len() <= listing.records_max as usize);
        all.extend(page.records);
        match page.next {
            None => break,
            Some(next) => listing.after = next,
        }
        between(page_number).await;
    }
    all
}

async fn nothing_moves(_: usize) {}

const KINDS: [Provider; 5] =
    [Provider::AnswerLost, Provider::Answers, Provider::RequestLost, Provider::Busy, Provider::Declines];

// R-U7
#[tokio::test]
async fn r_u7_operations_are_listed_by_state_and_age() {
    for setup in every_store().await {
        let person = operator(&setup);
        let start = setup.clock.now();
        let mut by_kind: Vec<(Provider, OperationId)> = Vec::new();
        for number in 0..20 {
            let kind = KINDS[number % KINDS.len()];
            by_kind.push((kind, operation(&setup, &format!("A-{number}"), kind).await));
            setup.clock.advance(Duration::from_mins(1));
        }
        let of = |wanted: &[Provider]| -> Vec<OperationId> {
            by_kind.iter().filter(|(kind, _)| wanted.contains(kind)).map(|(_, id)| *id).collect()
        };
        for (states, wanted) in [
            (vec![State::OutcomeUnknown], vec![Provider::AnswerLost, Provider::RequestLost]),
            (vec![State::Succeeded], vec![Provider::Answers]),
            (vec![State::FailedRetryable, State::FailedFinal], vec![Provider::Busy, Provider::Declines]),
            (vec![], KINDS.to_vec()),
            (vec![State::OperatorReview], vec![]),
        ] {
            // Pages that end in the middle, at the end, and far behind it.
            for records_max in [1, 3, 4, 20, 100] {
                let listing = Listing { states: states.clone(), records_max, ..Listing::default() };
                let listed = pages(&person, listing, nothing_moves).await;
                assert_eq!(ids(&listed), of(&wanted), "{}: {states:?} by {records_max}", setup.name());
            }
        }
        // By age: what came to its state before the tenth minute.
        let before = Some(start.after(Duration::from_mins(10)));
        let listing = Listing { before, records_max: 3, ..Listing::default() };
        let early: Vec<OperationId> = by_kind[..10].iter().map(|(_, id)| *id).collect();
        assert_eq!(ids(&pages(&person, listing, nothing_moves).await), early, "{}", setup.name());
        let listing = Listing { before, ..unknown(3) };
        let early: Vec<OperationId> = early.into_iter().filter(|id| of(&[KINDS[0], KINDS[2]]).contains(id)).collect();
        assert_eq!(ids(&pages(&person, listing, nothing_moves).await), early, "{}", setup.name());
    }
}

#[tokio::test]
async fn r_u7_pages_have_no_gaps_and_no_doubles_while_records_move() {
    for setup in every_store().await {
        let person = operator(&setup);
        let mut all = Vec::new();
        for number in 0..24 {
            all.push(operation(&setup, &format!("A-{number}"), Provider::AnswerLost).await);
        }
        // After each page: one that was listed leaves, one that was not yet listed leaves, and a new one comes.
        let listed = pages(&person, unknown(5), async |page| {
            if page > 3 {
                return;
            }
            for gone in [all[page], all[23 - page]] {
                let seen = setup.record(gone).await;
                person.resolve(&seen, Resolution::Final, "gone", None).await.expect("resolved");
            }
            operation(&setup, &format!("B-{page}"), Provider::AnswerLost).await;
        })
        .await;
        let listed = ids(&listed);
        let mut unique = listed.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), listed.len(), "no doubles: {}", setup.name());
        for stayed in &all[4..20] {
            assert!(listed.contains(stayed), "no gaps: {}", setup.name());
        }
        assert!(!listed.contains(&all[23]), "what had left before its page is not on it");
        assert_eq!(listed.len(), 20 + 4, "and what came meanwhile is behind the rest");
    }
}

// R-U7
#[tokio::test]
async fn r_u7_an_operation_is_shown_with_attempts_history_evidence_and_links() {
    for setup in every_store().await {
        let (person, call) = (operator(&setup), setup.call_as("call_1", 1));
        assert_eq!(refusal(told(&setup, &call, "A-1", Provider::Busy).await).kind(), &RefusalKind::FailedRetryable);
        setup.clock.advance(Duration::from_mins(1));
        let lost = refusal(told(&setup, &call, "A-1", Provider::AnswerLost).await);
        let id = lost.operation().expect("an operation");
        let webhook = Evidence::of(&tenant(), id, "stripe", "evt_1").words("charge.pending");
        setup.idem.evidence(webhook).await.expect("weighed");
        let seen = detail(&setup, id).await.record;
        let resolution = Resolution::succeeded(Some(&json!({ "id": "ch_1" })), Some("ch_1"));
        person.resolve(&seen, resolution, "it is on the statement", Some("page 3")).await.expect("resolved");
        let undo = setup.call_as("call_2", 2).compensates(id);
        let undone = told(&setup, &undo, "A-1", Provider::Answers).await.operation().expect("an operation");

        let shown = detail(&setup, id).await;
        assert_eq!((shown.record.operation, shown.record.attempt), (id, 2));
        assert_eq!((&*shown.scope_kind, shown.scope_value.as_deref()), ("conversation", Some("c-1")));
        assert_eq!(shown.attempts.iter().map(|it| it.number).collect::<Vec<_>>(), [1, 2], "{}", setup.name());
        assert!(shown.attempts[0].fence < shown.attempts[1].fence);
        assert!(shown.attempts[0].started_at < shown.attempts[1].started_at);
        let events: Vec<(&str, State)> = shown.history.iter().map(|it| (&*it.event, it.state)).collect();
        assert_eq!(
            events,
            [
                ("settle_retryable", State::FailedRetryable),
                ("reserve", State::InProgress),
                ("settle_unknown", State::OutcomeUnknown),
                ("evidence_inconclusive", State::OutcomeUnknown),
                ("resolve_succeeded", State::Succeeded),
            ],
            "{}",
            setup.name()
        );
        assert!(shown.history.windows(2).all(|pair| pair[0].version < pair[1].version && pair[0].at <= pair[1].at));
        assert_eq!(shown.history.last().map(|it| it.version), Some(shown.record.version));
        let [said] = &shown.evidence[..] else { panic!("one piece of evidence: {:?}", shown.evidence) };
        assert_eq!((&*said.source, &*said.event, &*said.finding), ("stripe", "evt_1", "inconclusive"));
        assert_eq!(said.words.as_deref(), Some("charge.pending"));
        assert_eq!(shown.linked_from.iter().map(|link| link.to).collect::<Vec<_>>(), [undone]);
        assert!(shown.links.is_empty());
        assert_eq!(shown.arguments, None, "arguments are not stored unless the tool says so");
        assert_eq!(shown.identities.len(), 2, "an id and the arguments lead to it");
    }
}

#[tokio::test]
async fn what_contradicts_a_success_is_listed_for_review() {
    for setup in every_store().await {
        let person = operator(&setup);
        let quiet = operation(&setup, "A-1", Provider::Answers).await;
        let disputed = operation(&setup, "A-2", Provider::Answers).await;
        let in_review = Listing { in_review: true, records_max: 10, ..Listing::default() };
        assert!(person.list(&in_review).await.expect("a page").records.is_empty());
        let against = Evidence::of(&tenant(), disputed, "stripe", "evt_1").not_applied();
        setup.idem.evidence(against).await.expect("weighed");
        let page = person.list(&in_review).await.expect("a page");
        assert_eq!(ids(&page.records), [disputed], "{}", setup.name());
        assert_eq!((page.records[0].state, page.records[0].review), (State::Succeeded, true));
        assert!(!setup.record(quiet).await.review);
    }
}
