//! What is one operation, and what is two.

use super::super::{
    playing::{Part, Played, Playing},
    verdict::FailureKind,
};
use crate::ScopeKind;

pub(super) async fn two_different_calls<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("two intents in one response of the model").await?;
    case.expects("in_progress → succeeded, twice", "each its own result");
    case.intended = 2;
    let who = case.who.clone();
    let why = "two calls that mean two effects both happen";
    for (who, arguments) in [(who.clone(), &it.arguments), (who.of_another_intent(), &it.other)] {
        let told = case.call(&who, arguments).await?;
        case.is_told(&told, &["succeeded"], FailureKind::MisleadingAnswer, why)?;
    }
    case.ends(2).await
}

pub(super) async fn same_call_twice<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("two ids in one response of the model, at once").await?;
    case.expects("in_progress → succeeded", "both the one result");
    case.callers("two at once");
    let who = case.who.clone();
    let twin = who.twice_in_one_message();
    case.at_once(&[who.clone(), twin.clone()]).await?;
    for who in [who, twin] {
        let told = case.call(&who, &it.arguments).await?;
        case.is_replay(&told, "the same call, emitted twice, is one operation")?;
    }
    case.entry.actual.answers = vec!["both the one result".to_owned()];
    case.ends(1).await
}

pub(super) async fn replanned<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("another id, a later response").await?;
    case.expects("in_progress → succeeded", "the first result");
    let who = case.who.clone();
    let first = case.call(&who, &it.arguments).await?;
    case.is_told(&first, &["succeeded"], FailureKind::MisleadingAnswer, "nothing goes wrong")?;
    for nth in 2..=3 {
        let told = case.call(&who.replanned(nth), &it.arguments).await?;
        case.is_replay(&told, "a call that the model planned again is the same operation")?;
    }
    case.ends(1).await
}

pub(super) async fn deliberate_repeat<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("a second occurrence, meant by the platform").await?;
    case.expects("in_progress → succeeded, twice", "each occurrence its own result");
    let who = case.who.clone();
    case.call(&who, &it.arguments).await?;
    case.intended = 2;
    let second = who.replanned(2).occurrence("second");
    let told = case.call(&second, &it.arguments).await?;
    case.is_told(&told, &["succeeded"], FailureKind::MisleadingAnswer, "a new occurrence is a new operation")?;
    if it.subject.guarded && told.replayed {
        let seen = "the second occurrence was given the first one's result";
        return Err(case.failed(FailureKind::SuccessWithoutEffect, "a new occurrence is a new operation", seen));
    }
    let again = case.call(&second, &it.arguments).await?;
    case.is_replay(&again, "the second occurrence, called again, is itself")?;
    case.ends(2).await
}

pub(super) async fn other_tenant<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("the same call of two tenants").await?;
    case.expects("in_progress → succeeded, once a tenant", "each its own result; neither sees the other's");
    let who = case.who.clone();
    let ours = case.call(&who, &it.arguments).await?;
    case.intended = 2;
    let mut theirs = who.clone();
    theirs.tenant = Some(it.fixture.tenants.1.clone());
    let told = case.call(&theirs, &it.arguments).await?;
    let why = "another tenant's call is another operation";
    case.is_told(&told, &["succeeded"], FailureKind::MisleadingAnswer, why)?;
    if it.subject.guarded && (told.replayed || told.operation == ours.operation) {
        let seen = format!("tenant {} was told of operation {:?}", it.fixture.tenants.1, told.operation);
        return Err(case.failed(FailureKind::MisleadingAnswer, why, seen));
    }
    if let (Some(operation), Ok(tenant)) = (case.operation(), crate::Tenant::new(it.fixture.tenants.1.as_str())) {
        let shown = case.stage.idem.show(&tenant, operation).await.map_err(|error| it.broken(error.to_string()))?;
        if shown.is_some() {
            let seen = format!("tenant {} is shown the record of {operation}", it.fixture.tenants.1);
            return Err(case.failed(FailureKind::MisleadingAnswer, "no tenant sees another's operations", seen));
        }
    }
    case.ends(2).await
}

pub(super) async fn no_scope<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("a call that lacks what its scope needs").await?;
    case.expects("none", "the call is not valid; nothing was done");
    let mut who = case.who.clone();
    who.scope = None;
    if matches!(it.subject.spec.declared_scope().kind(), ScopeKind::Tenant | ScopeKind::Global) {
        // Whose the operation is, is all the scope there is.
        who.tenant = None;
    }
    let told = case.call(&who, &it.arguments).await?;
    let why = "without its scope nobody can say what a call repeats: it is refused";
    case.is_told(&told, &["invalid_call"], FailureKind::NoDeduplication, why)?;
    case.ends(0).await
}
