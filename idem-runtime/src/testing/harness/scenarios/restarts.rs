//! The process dies between the effect and its record.

use super::{
    super::{
        case::Case,
        cell,
        playing::{Part, Played, Playing, not_applicable},
        stage::{Ground, Set},
        verdict::FailureKind,
    },
    on_every_ground,
};
use crate::{
    ledger::State,
    testing::{Checkpoint, Fault},
};

pub(super) async fn restart_and_reconcile<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if Ground::usual() == Ground::Memory {
        return Err(not_applicable("no ledger outlives its process: the feature `sqlite` is off"));
    }
    on_every_ground(it, async |ground| restarts(it, ground).await).await
}

async fn restarts<S: Part, A: Part>(it: &Playing<'_, S, A>, ground: Ground) -> Played {
    let mut case = Case::new(it, "killed after the effect", (ground, Set::default())).await?;
    case.expects(
        "in_progress → outcome_unknown → … → succeeded",
        "whoever comes first after the restart is not allowed to do it again; then the one result",
    );
    case.callers("one, killed (kill -9); a process that begins anew");
    case.entry.checkpoint = Some(Checkpoint::ProviderCommit.name().to_owned());
    case.entry.fault = Some(Fault::Kill.name().to_owned());
    cell::kill(&mut case, Checkpoint::ProviderCommit, false).await?;
    if it.subject.guarded && case.state().await != Some(State::InProgress) {
        let seen = format!("the operation is {:?}", case.state().await.map(State::name));
        let why = "what was in flight when the process died stands in the ledger";
        return Err(case.failed(FailureKind::NoDeduplication, why, seen));
    }
    let who = case.who.clone();
    if !it.subject.guarded {
        // Whoever lost its answer calls again.
        case.call(&who, &it.arguments).await?;
    }
    if case.comes_to_light().await? {
        case.everybody_is_told(&who).await?;
        case.ends(1).await?;
    }
    Ok(())
}
