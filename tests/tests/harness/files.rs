//! Records are files that people review: two runs write the same, but for the times.

use std::{fs, path::Path, sync::Arc};

use idem_runtime::testing::harness::{Fixture, Record, Scenario, Verdict, run};

use super::tools::{Bank, alone, keyed};

fn fixture(records: &Path) -> Fixture<Arc<Bank>, (String, u64)> {
    Fixture::of(|provider| Arc::new(Bank(provider.clone())))
        .arguments(("A-1".into(), 4_900))
        .other(("A-2".into(), 1_200))
        .drift("cents", ("A-1".into(), 9_400))
        .effect("refund")
        .without_postgres("one ledger shows it")
        .records(records)
}

/// The record's text without its times.
fn text(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a record");
    let mut fields: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let times = fields.as_object_mut().expect("an object").remove("times").expect("times");
    assert!(times.as_object().is_some_and(|times| times.contains_key("took_ms")), "{times}");
    serde_json::to_string_pretty(&fields).expect("JSON")
}

// R-H6
#[test]
fn r_h6_two_runs_write_the_same_record_but_for_the_times() {
    let (one, two) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let subject = keyed::__idem_send_refund_subject();
    for scenario in Scenario::ALL {
        // Children are this test's path: there are none in these.
        let kills = scenario.family() == "faults" || ["races", "restarts"].contains(&scenario.family());
        if kills {
            continue;
        }
        let records = [&one, &two].map(|folder| {
            run(module_path!(), &subject, &fixture(folder.path()), *scenario).expect("a tool that is right");
            let path = folder.path().join("keyed").join(format!("{scenario}.json"));
            text(&path)
        });
        assert_eq!(records[0], records[1], "{scenario}");
    }
}

// R-H6
#[test]
fn r_h6_a_record_has_the_fields_of_a_test_case() {
    let records = tempfile::tempdir().expect("a folder");
    let subject = alone::__idem_send_refund_subject();
    let fixture = fixture(records.path()).owner("payments team");
    let record =
        run(module_path!(), &subject, &fixture, Scenario::LostResponseThenRetry).expect("a tool that is right");
    let path = records.path().join("alone").join("lost_response_then_retry.json");
    let read: Record = serde_json::from_str(&fs::read_to_string(path).expect("a record")).expect("JSON");
    assert_eq!(read, record);
    assert_eq!((read.verdict, read.id.as_str()), (Verdict::Passed, "alone/lost_response_then_retry"));
    assert_eq!(read.owner.as_deref(), Some("payments team"));
    let lost = &read.cases[1];
    assert!(lost.operation.is_some() && lost.fingerprint.is_some() && lost.key.len() == 2, "{lost:?}");
    assert_eq!((lost.checkpoint.as_deref(), lost.fault.as_deref()), (Some("provider_commit"), Some("lost_response")));
    assert_eq!((lost.initial_state.as_str(), lost.expected.effects), ("none", Some(1)));
    assert_eq!(lost.actual.transitions, ["in_progress", "outcome_unknown", "succeeded"]);
    // Attempts and effects are counted apart, and calls apart from both.
    assert_eq!((lost.actual.effects["refund"], lost.actual.attempts, lost.actual.calls), (1, 1, 4));
    assert_eq!(
        (lost.actual.objects.as_slice(), lost.actual.reference.as_deref()),
        (&["A-1".to_owned()][..], Some("fx_1"))
    );
    assert!(lost.reconciliation.as_ref().is_some_and(|words| words.contains("a person")), "{lost:?}");
}
