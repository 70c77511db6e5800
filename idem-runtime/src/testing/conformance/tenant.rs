//! What one tenant does concerns no other, even where every digest is the same.

use super::{
    calls::{LEASE, by_args, by_id, call, end, named, tenant},
    findings::{applied, begin, decision, says, silent, verdict},
    stand::bring,
    subject::{Checked, Subject, Wrong, holds, same},
};
use crate::{
    Source,
    ledger::{
        Alias, BeginReconcile, Begun, Command, Ending, Evidence, Judge, Judged, Reply, Reserve, Resolution, Resolve,
        Resolved, Settle, Settled, Silent, Standing, State, Tally, Witnessed,
    },
};

pub(super) async fn sees_nothing(subject: &mut Subject) -> Checked {
    let grant = subject.granted(call("A", 5, "id1")).await?;
    let before = subject.show(grant.operation).await?;
    let other = named("other");
    // Once while the store has never heard of the other tenant, once when it has an operation of its own.
    for known in [false, true] {
        if known {
            let own = subject.granted(Reserve { tenant: other.clone(), ..call("B", 5, "id9") }).await?;
            holds("each tenant has records of its own", own.row != grant.row)?;
        }
        let found = subject.find_as(&other, &[by_args("A"), by_id("id1")]).await?;
        holds("another tenant finds nothing", found.iter().all(Option::is_none))?;
        let shown = subject.reader().show(&other, grant.operation).await?;
        holds("another tenant is shown nothing", shown.is_none())?;
        for ending in [Ending::Ok, Ending::Retryable, Ending::Final, Ending::Unknown, Ending::NotStarted] {
            let settled = subject.settle(Settle { tenant: other.clone(), ..end(&grant, ending) }).await?;
            let Settled::Gone = settled else {
                return Err(Wrong::new(format!("another tenant settled with {ending:?}: {settled:?}")));
            };
        }
        same("the record", &subject.show(grant.operation).await?, &before)?;
    }
    let theirs = subject.granted(Reserve { tenant: other.clone(), ..call("A", 5, "id1") }).await?;
    same("equal calls of two tenants are two records", &theirs.attempt, &1)?;
    subject.settle(Settle { tenant: other, ..end(&theirs, Ending::Final) }).await?;
    same("the first tenant's record", &subject.show(grant.operation).await?, &before)
}

pub(super) async fn tallies_nothing(subject: &mut Subject) -> Checked {
    let grant = subject.granted(call("A", 5, "id1")).await?;
    let other = named("other");
    subject.granted(Reserve { tenant: other.clone(), ..call("B", 5, "id9") }).await?;
    let alias = Alias { source: Source::ToolCallId, digest: by_id("id2").digest, generation: 1 };
    let tally = Tally {
        tenant: other.clone(),
        row: grant.row,
        replays: 1,
        drifts: 1,
        parameters: vec!["cents".to_owned()],
        aliases: vec![alias],
    };
    subject.apply(&[Command::Tally(vec![tally])]).await?;
    for tenant in [tenant(), other] {
        let drifted = subject.reader().drifted(&tenant, 10).await?;
        holds("another tenant's drifts are not counted", drifted.is_empty())?;
        let found = subject.find_as(&tenant, &[by_id("id2")]).await?;
        holds("another tenant's alias leads nowhere", found.iter().all(Option::is_none))?;
    }
    Ok(())
}

pub(super) async fn finds_out_nothing(subject: &mut Subject) -> Checked {
    let other = named("other");
    subject.granted(Reserve { tenant: other.clone(), ..call("B", 5, "id9") }).await?;
    for state in [State::InProgress, State::OutcomeUnknown, State::Reconciling] {
        let record = bring(subject, state.name(), Standing::sure(state)).await?.record;
        subject.advance(LEASE);
        let commands = [
            Command::EndLeases(vec![Silent { tenant: other.clone(), ..silent(&record) }]),
            Command::BeginReconcile(BeginReconcile { tenant: other.clone(), ..begin(&record) }),
            Command::Verdict(Box::new(Judge { tenant: other.clone(), ..verdict(&record, applied(Some("1"), None)) })),
            Command::Resolve(Box::new(Resolve { tenant: other.clone(), ..decision(&record, Resolution::Final) })),
            Command::Evidence(Box::new(Evidence {
                tenant: other.clone(),
                ..says(record.operation, "e1", applied(Some("1"), None))
            })),
        ];
        let replies = subject.apply(&commands).await?;
        let nothing = matches!(
            &replies[..],
            [
                Reply::LeasesEnded(0),
                Reply::Begun(Begun::Gone),
                Reply::Judged(Judged::Gone),
                Reply::Resolved(Resolved::Gone),
                Reply::Witnessed(Witnessed::Kept),
            ]
        );
        holds(&format!("another tenant is told of nothing: {replies:?}"), nothing)?;
        same("the record", &subject.show(record.operation).await?, &record)?;
        holds("nothing was said of it", subject.detail(record.operation).await?.evidence.is_empty())?;
    }
    Ok(())
}
