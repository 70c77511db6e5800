//! Results that cannot be kept, or cannot be read any more.

use super::super::{
    case::Case,
    playing::{Part, Played, Playing, not_applicable},
    stage::{Ground, Set},
    store::Quirks,
    verdict::FailureKind,
};

pub(super) async fn too_large<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if !it.subject.guarded {
        return Err(not_applicable("the tool has no guard that keeps results"));
    }
    let set = Set { result_bytes_max: Some(1), ..Set::default() };
    let mut case = Case::new(it, "larger than the ledger keeps", (Ground::usual(), set)).await?;
    case.expects("in_progress → succeeded", "the result; then that it succeeded, without one");
    let who = case.who.clone();
    let first = case.call(&who, &it.arguments).await?;
    case.is_told(&first, &["succeeded"], FailureKind::MisleadingAnswer, "whoever ran it is given the result")?;
    let again = case.call(&who, &it.arguments).await?;
    let why = "a success whose result was not kept is told as that";
    case.is_told(&again, &["succeeded_without_result"], FailureKind::MisleadingAnswer, why)?;
    case.ends(1).await
}

pub(super) async fn not_decodable<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if !it.subject.guarded {
        return Err(not_applicable("the tool has no guard that keeps results"));
    }
    if Ground::usual() == Ground::Memory {
        return Err(not_applicable("no ledger outlives the code that wrote it: the feature `sqlite` is off"));
    }
    let quirks = Quirks { garbles_results: true, ..Quirks::default() };
    let set = Set { quirks, ..Set::default() };
    let mut case = Case::new(it, "written by code that is no more", (Ground::usual(), set)).await?;
    case.expects("in_progress → succeeded", "the result; then, of later code, that it succeeded and cannot be read");
    case.callers("one; one of a later release");
    let who = case.who.clone();
    let first = case.call(&who, &it.arguments).await?;
    case.is_told(&first, &["succeeded"], FailureKind::MisleadingAnswer, "whoever ran it is given the result")?;
    let clock = case.stage.clock.clone();
    let later = case.stage.opened_again(&clock).await.map_err(|why| it.broken(why))?;
    let told = case.call_on(&later, &who, &it.arguments).await?;
    let why = "a success whose result cannot be read is told as that, and not run again";
    case.is_told(&told, &["succeeded_without_result"], FailureKind::MisleadingAnswer, why)?;
    case.ends(1).await
}
