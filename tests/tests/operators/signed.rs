//! Who says something, and how much: operators have a tenant and a name, and their words have bounds.

use idem_runtime::{
    Idem, InvalidId, ResolveError, Tenant,
    ledger::{Listing, Resolution, Witnessed},
};
use idem_tests::world::{config, every_store, every_store_with, memory};
use serde_json::json;

use crate::{Paid, Provider, detail, ids, operation, operator, tenant};

// R-X1 R-U7
#[tokio::test]
async fn r_x1_an_operator_is_bound_to_a_tenant() {
    for setup in every_store().await {
        let id = operation(&setup, "A-1", Provider::AnswerLost).await;
        let before = detail(&setup, id).await;
        let umbrella = Tenant::new("umbrella").expect("a tenant");
        let stranger = setup.idem.operator(&umbrella, "eve").expect("an operator");
        let all = Listing { records_max: 100, ..Listing::default() };
        assert!(stranger.list(&all).await.expect("a page").records.is_empty());
        assert_eq!(stranger.show(id).await.expect("readable"), None);
        for resolution in [Resolution::Retryable, Resolution::Final, Resolution::succeeded(None, Some("ch"))] {
            let refused = stranger.resolve(&before.record, resolution, "mine now", None).await;
            assert!(matches!(refused, Err(ResolveError::Gone)), "{}: {refused:?}", setup.name());
        }
        let result = Some(&Paid { id: "ch_evil".into() });
        let kept = stranger.record_external(id, result, Some("ch_evil"), "mine now").await.expect("kept");
        assert!(matches!(kept, Witnessed::Kept), "as for an id that there is not: {kept:?}");
        assert_eq!(detail(&setup, id).await, before, "{}", setup.name());
        // Its own operator sees it.
        assert_eq!(ids(&operator(&setup).list(&all).await.expect("a page").records), [id]);
    }
}

#[tokio::test]
async fn an_operator_has_a_name() {
    let setup = memory(Idem::builder()).await;
    for name in ["", "  \t"] {
        let refused = setup.idem.operator(&tenant(), name).expect_err("refused");
        assert_eq!(refused, InvalidId::Blank { what: "actor" });
    }
    let refused = setup.idem.operator(&tenant(), "x".repeat(513)).expect_err("refused");
    assert_eq!(refused, InvalidId::TooLong { what: "actor", bytes: 513 });
    // As long as a name may be: everything can be signed with it.
    let person = setup.idem.operator(&tenant(), "x".repeat(512)).expect("an operator");
    for (order, by_hand) in [("A-1", false), ("A-2", true)] {
        let id = operation(&setup, order, Provider::AnswerLost).await;
        if by_hand {
            person.record_external::<Paid>(id, None, Some("ch_1"), "by hand").await.expect("weighed");
        } else {
            let seen = setup.record(id).await;
            person.resolve(&seen, Resolution::Final, "no", None).await.expect("resolved");
        }
        let history = detail(&setup, id).await.history;
        assert_eq!(history.last().and_then(|it| it.actor.as_deref().map(str::len)), Some(512));
    }
}

#[tokio::test]
async fn r_x3_what_an_operator_says_is_bounded_and_refused_before_anything_changes() {
    let small = config(|it| it.result_bytes_max = 100);
    for setup in every_store_with(|| Idem::builder().config(small.clone())).await {
        let person = operator(&setup);
        let id = operation(&setup, "A-1", Provider::AnswerLost).await;
        let seen = setup.record(id).await;
        let (long, name) = ("x".repeat(4_097), "x".repeat(513));
        let large = json!({ "id": "x".repeat(100) });
        let succeeded = Resolution::succeeded;
        let decisions: [(Resolution, &str, Option<&str>, &str); 7] = [
            (Resolution::Final, "", None, "empty or blank"),
            (Resolution::Final, "  ", None, "empty or blank"),
            (Resolution::Final, &long, None, "4097 bytes"),
            (Resolution::Retryable, "no", Some(&long), "4097 bytes"),
            (Resolution::Retryable, "no", Some(" "), "empty or blank"),
            (succeeded(None, Some(&name)), "yes", None, "513 bytes"),
            (succeeded(Some(&large), Some("ch_1")), "yes", None, "at most 100 are stored"),
        ];
        for (resolution, reason, evidence, why) in decisions {
            let error = person.resolve(&seen, resolution, reason, evidence).await.expect_err("refused");
            assert!(error.to_string().contains(why), "{}: {error}", setup.name());
        }
        let large = Paid { id: "x".repeat(100) };
        for (result, reference, reason, why) in [
            (None, None, "", "empty or blank"),
            (None, None, &*long, "4097 bytes"),
            (None, Some(&*name), "yes", "513 bytes"),
            (Some(&large), None, "yes", "at most 100 are stored"),
        ] {
            let error = person.record_external(id, result, reference, reason).await.expect_err("refused");
            assert!(error.to_string().contains(why), "{}: {error}", setup.name());
        }
        assert_eq!(setup.record(id).await, seen, "nothing was changed: {}", setup.name());
        assert_eq!(detail(&setup, id).await.history.len(), 1, "{}", setup.name());
        // As long as it may be.
        let long = "x".repeat(4_096);
        person.resolve(&seen, Resolution::Final, &long, Some(&long)).await.expect("resolved");
        let history = detail(&setup, id).await.history;
        let words = history.last().and_then(|it| it.detail.as_deref()).expect("words");
        assert_eq!(words.chars().count(), 1_000, "the history keeps the beginning: {}", setup.name());
    }
}
