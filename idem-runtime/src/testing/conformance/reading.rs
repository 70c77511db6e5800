//! Questions that are asked together, and names of whatever characters.

use std::sync::Arc;

use super::{
    calls::{LEASE, by_args, by_id, call, digest, named, scope, tenant},
    subject::{Checked, Subject, Wrong, grant, holds, same},
};
use crate::{
    Principal, Tenant,
    ledger::{Command, Digest, Find, Identity, Match, Reply, Reserve, Scope, Sweep, Tool},
};

/// Whose, in which scope, what for; and what is found.
type Question<'a> = (&'a Tenant, Digest, &'a [Identity], &'a [Option<(u32, i64)>]);

/// Generations and handles.
fn told(found: Vec<Option<Match>>) -> Vec<Option<(u32, i64)>> {
    found.into_iter().map(|found| found.map(|found| (found.generation, found.record.row))).collect()
}

pub(super) async fn together(subject: &mut Subject) -> Checked {
    let (ours, theirs, nobody) = (tenant(), named("other"), named("nobody"));
    let first = Some((1, subject.granted(call("A", 5, "A")).await?.row));
    let second = Some((1, subject.granted(call("B", 5, "B")).await?.row));
    let other = Some((1, subject.granted(Reserve { tenant: theirs.clone(), ..call("A", 5, "A") }).await?.row));
    let (here, elsewhere) = (scope().digest, digest("elsewhere"));
    let of = |identity: Identity, generation| Identity { generation: Some(generation), ..identity };
    let questions: &[Question<'_>] = &[
        (&ours, here, &[by_args("A"), by_id("B")], &[first, second]),
        (&theirs, here, &[by_args("A"), by_id("B")], &[other, None]),
        (&nobody, here, &[by_args("A")], &[None]),
        (&ours, elsewhere, &[by_args("A")], &[None]),
        (&ours, here, &[], &[]),
        (&ours, here, &[of(by_args("A"), 1), of(by_args("A"), 2), by_id("C")], &[first, None, None]),
        // Again, as whoever waits for the same operation does.
        (&ours, here, &[by_args("A"), by_id("B")], &[first, second]),
    ];
    let finds: Vec<Find<'_>> =
        questions.iter().map(|(tenant, scope, identities, _)| Find { tenant, scope, identities }).collect();
    let reader = subject.reader();
    let answers = reader.find_all(&finds).await;
    same("the number of answers", &answers.len(), &questions.len())?;
    for (nth, (answer, (.., should_be))) in answers.into_iter().zip(questions).enumerate() {
        same(&format!("answer {nth} of many"), &told(answer?).as_slice(), should_be)?;
        let alone = reader.find(finds[nth]).await?;
        same(&format!("answer {nth} alone"), &told(alone).as_slice(), should_be)?;
    }
    holds("nothing is answered where nothing was asked", reader.find_all(&[]).await.is_empty())
}

/// Names that differ in characters only that a database may not have.
const NAMES: [&str; 4] = ["a\0b", "ab", "a\u{1a}0b", "a\u{fffd}b"];

pub(super) async fn any_characters(subject: &mut Subject) -> Checked {
    let named = |name: &str| Tenant::new(name).map_err(|error| Wrong::new(error.to_string()));
    let asked = |name: &str| {
        let words: Arc<str> = format!("{name}\0").into();
        Ok(Arc::new(Reserve {
            tenant: named(name)?,
            principal: Principal::new(Arc::clone(&words)).ok(),
            scope: Scope { value: Some(Arc::clone(&words)), ..scope() },
            tool: Arc::new(Tool { name: format!("bank\0{name}").into(), version: 1, params: "order\0".into() }),
            approval: Some(words),
            ..call("A", 5, "A")
        }))
    };
    let calls: Vec<Arc<Reserve>> = NAMES.into_iter().map(asked).collect::<Checked<_>>()?;
    let commands: Vec<Command> = calls.iter().map(|call| Command::Reserve(Arc::clone(call))).collect();
    let replies = subject.apply(&commands).await?;
    for (call, reply) in calls.iter().zip(replies) {
        let Reply::Reserved(reserved) = reply else { return Err(Wrong::new("a reservation was answered otherwise")) };
        let grant = grant(reserved)?;
        let found = subject.find_as(&call.tenant, &call.identities).await?;
        same("what is found", &told(found), &vec![Some((1, grant.row)); 2])?;
        let detail = subject.reader().detail(&call.tenant, grant.operation).await?;
        let detail = detail.ok_or_else(|| Wrong::new("the operation is not shown"))?;
        same("its scope", &detail.scope_value, &call.scope.value)?;
        same("its principal", &detail.record.principal, &call.principal)?;
        same("its approval", &detail.record.approval, &call.approval)?;
        same("its tool", &detail.record.tool, &call.tool)?;
    }
    subject.advance(LEASE);
    for call in &calls {
        let sweep = Sweep { tools: vec![Arc::clone(&call.tool.name)], records_max: 10, ..Sweep::default() };
        let due = subject.reader().sweep(&sweep, subject.now).await?.due;
        let tenants: Vec<&Tenant> = due.iter().map(|(tenant, _)| tenant).collect();
        same("whose operations are due", &tenants, &vec![&call.tenant])?;
    }
    Ok(())
}
