//! A fixture that does not fit its tool says so, in one message, before anything is proved.

use std::{path::Path, sync::Arc};

use idem_runtime::testing::harness::{FailureKind, Fixture, Scenario, Verdict, run};

use super::tools::{Bank, alone};

type Refunds = Fixture<Arc<Bank>, (String, u64)>;

fn fixture(records: &Path) -> Refunds {
    Fixture::of(|provider| Arc::new(Bank(provider.clone())))
        .arguments(("A-1".into(), 4_900))
        .other(("A-2".into(), 1_200))
        .drift("cents", ("A-1".into(), 9_400))
        .effect("refund")
        .records(records)
}

/// What is wrong with a fixture, in words.
fn unfit(change: impl Fn(Refunds) -> Refunds) -> String {
    let records = tempfile::tempdir().expect("a folder");
    let fixture = change(fixture(records.path()));
    let played = run(module_path!(), &alone::__idem_send_refund_subject(), &fixture, Scenario::TwoDifferentCalls);
    let failure = played.expect_err("the fixture does not fit");
    assert_eq!(failure.kind, FailureKind::Fixture, "{failure}");
    assert_eq!(failure.seen.len(), 1, "one message: {failure}");
    failure.seen[0].clone()
}

#[test]
fn a_fixture_that_does_not_fit_says_what_to_write() {
    let said = unfit(|fixture| fixture.other(("A-1".into(), 4_900)));
    assert!(said.contains("`.other(…)` means the same as `.arguments(…)`"), "{said}");
    let said = unfit(|fixture| fixture.drift("order", ("A-1".into(), 4_900)));
    assert!(said.contains("`.drift(\"order\", …)` changes nothing"), "{said}");
    let said = unfit(|fixture| fixture.effect("ticket"));
    assert!(said.contains("one call has 0 effects `ticket`") && said.contains("`refund`"), "{said}");
    let said = unfit(|_| Fixture::of(|provider| Arc::new(Bank(provider.clone()))));
    assert!(said.contains("`.arguments(…)`"), "{said}");
    let said = unfit(|fixture| fixture.provider(|habits| habits.declines("the account is closed")));
    assert!(said.contains("`failed_final`") && said.contains("the account is closed"), "{said}");
}

#[test]
fn what_is_left_out_is_told_with_its_reason() {
    let records = tempfile::tempdir().expect("a folder");
    let subject = alone::__idem_send_refund_subject();
    let fixture = fixture(records.path()).skip(Scenario::Replanned, "ids are ours").owner("payments team");
    let skipped = run(module_path!(), &subject, &fixture, Scenario::Replanned).expect("not played");
    assert_eq!((skipped.verdict, skipped.reason.as_deref()), (Verdict::Skipped, Some("ids are ours")));
    assert_eq!(skipped.owner.as_deref(), Some("payments team"));
    let not = run(module_path!(), &subject, &fixture, Scenario::RecoveryBySearch).expect("not played");
    assert_eq!(not.verdict, Verdict::NotApplicable);
    let page = std::fs::read_to_string(records.path().join("summary.md")).expect("a page");
    assert!(page.contains("SKIPPED CRITICAL replanned_with_a_new_id: ids are ours"), "{page}");
    assert!(page.contains("not applicable recovery_by_search: the tool does not declare"), "{page}");
    assert!(page.contains("not played yet: faults_at_return"), "{page}");
    assert!(!page.to_lowercase().contains("exactly once"), "{page}");
}
