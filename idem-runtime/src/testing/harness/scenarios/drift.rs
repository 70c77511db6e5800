//! The same operation with other arguments: refused, whatever they are.

use super::super::{
    playing::{Part, Played, Playing, not_applicable, unfit},
    verdict::FailureKind,
};

/// What the names of arguments say that are amounts.
pub(super) const AMOUNTS: &[&str] = &["amount", "cents", "price", "total", "sum", "quantity", "value", "count"];

/// … currencies.
pub(super) const CURRENCIES: &[&str] = &["currency"];

/// … recipients.
pub(super) const RECIPIENTS: &[&str] =
    &["recipient", "to", "email", "mail", "address", "payee", "customer", "iban", "phone", "account", "channel"];

pub(super) async fn on_each_argument<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if it.fixture.drifts.is_empty() {
        return match it.subject.spec.effect_parameters().first() {
            None => Err(not_applicable("no argument of the tool is part of its effect")),
            Some(name) => {
                Err(unfit(format!("the fixture says no `.drift({name:?}, …)`: the arguments with another value of it")))
            }
        };
    }
    for (name, changed) in &it.fixture.drifts {
        on(it, name, changed).await?;
    }
    for name in it.subject.spec.effect_parameters() {
        if !it.fixture.drifts.iter().any(|(given, _)| given == name) {
            it.note(format!("drift on `{name}`"), "the fixture gives no changed value of it");
        }
    }
    Ok(())
}

/// On the arguments whose names say what they are.
pub(super) async fn on_one_that_says<S: Part, A: Part>(it: &Playing<'_, S, A>, what: &str, words: &[&str]) -> Played {
    let says = |name: &str| name.split(['_', '.', '-']).any(|part| words.contains(&part.to_lowercase().as_str()));
    let mut found = false;
    for (name, changed) in it.fixture.drifts.iter().filter(|(name, _)| says(name)) {
        found = true;
        on(it, name, changed).await?;
    }
    if found {
        return Ok(());
    }
    Err(not_applicable(format!(
        "no `.drift(…)` of the fixture changes an argument whose name says that it is the {what}"
    )))
}

async fn on<S: Part, A: Part>(it: &Playing<'_, S, A>, name: &str, changed: &A) -> Played {
    let mut case = it.case(&format!("another value of `{name}`")).await?;
    case.expects("in_progress → succeeded", "the first result; the changed call is a conflict; the first result again");
    let who = case.who.clone();
    let first = case.call(&who, &it.arguments).await?;
    let carrying = who.carrying(first.record.clone());
    let mut changed_calls = vec![];
    if first.record.is_some() {
        changed_calls.push(carrying);
    }
    if it.subject.spec.trusts_ids() || !it.subject.guarded {
        changed_calls.push(who.clone());
    }
    for changed_call in changed_calls {
        let told = case.call(&changed_call, changed).await?;
        let why = "the same operation with another intent is refused as a conflict";
        case.is_told(&told, &["rejected_key_conflict"], FailureKind::MisleadingAnswer, why)?;
        let named = told.parameters.iter().any(|given| name.starts_with(given.as_str()) || given.starts_with(name));
        if !told.parameters.is_empty() && !named {
            let seen = format!("the conflict names {:?}", told.parameters);
            return Err(case.failed(FailureKind::MisleadingAnswer, "a conflict names what differs", seen));
        }
    }
    let again = case.call(&who, &it.arguments).await?;
    case.is_replay(&again, "a conflict leaves the operation as it was")?;
    case.ends(1).await
}
