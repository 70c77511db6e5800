//! Operations that compensate or replace others.

use super::{
    calls::{RETAIN, TOMBSTONE, call, end, named},
    subject::{Checked, Subject, Wrong, holds, same},
};
use crate::ledger::{Ending, Link, LinkKind, Reserve, Settle};

pub(super) async fn both_ways(subject: &mut Subject) -> Checked {
    let first = subject.granted(call("A", 5, "A")).await?;
    let mut from = Vec::new();
    for (order, kind) in [("B", LinkKind::Compensates), ("C", LinkKind::Replaces)] {
        let link = Link { kind, to: first.operation };
        let later = subject.granted(Reserve { link: Some(link), ..call(order, 5, order) }).await?;
        let detail = subject.detail(later.operation).await?;
        same("its links", &(detail.links, detail.linked_from), &(vec![link], Vec::new()))?;
        from.push(Link { kind, to: later.operation });
    }
    let detail = subject.detail(first.operation).await?;
    same("the first one's links", &(detail.links, detail.linked_from), &(Vec::new(), from.clone()))?;
    // A link to a link.
    let [compensates, _] = from[..] else { return Err(Wrong::new("there are two links")) };
    let link = Link { kind: LinkKind::Replaces, to: compensates.to };
    let last = subject.granted(Reserve { link: Some(link), ..call("D", 5, "D") }).await?;
    let detail = subject.detail(compensates.to).await?;
    let back = vec![Link { kind: LinkKind::Replaces, to: last.operation }];
    same("one in the middle", &(detail.links.len(), detail.linked_from), &(1, back))
}

pub(super) async fn of_one_tenant(subject: &mut Subject) -> Checked {
    let other = named("other");
    let theirs = |order: &str| Reserve { tenant: other.clone(), ..call(order, 5, order) };
    let first = subject.granted(call("A", 5, "A")).await?;
    let same_id = subject.granted(theirs("A")).await?;
    same("equal calls have equal ids", &same_id.operation, &first.operation)?;
    let link = Some(Link { kind: LinkKind::Compensates, to: first.operation });
    subject.granted(Reserve { link, ..call("B", 5, "B") }).await?;
    subject.granted(theirs("B")).await?;
    let seen = subject.reader().detail(&other, first.operation).await?;
    let seen = seen.ok_or_else(|| Wrong::new("the other tenant's operation has no detail"))?;
    holds("another tenant's operation has no links", seen.links.is_empty() && seen.linked_from.is_empty())?;
    same("its own has", &subject.detail(first.operation).await?.linked_from.len(), &1)
}

pub(super) async fn go_with_a_purge(subject: &mut Subject) -> Checked {
    let first = subject.granted(call("A", 5, "A")).await?;
    subject.settle(Settle { retain: RETAIN * 100, ..end(&first, Ending::Ok) }).await?;
    let link = Some(Link { kind: LinkKind::Compensates, to: first.operation });
    let linked = || Reserve { link, ..call("B", 5, "B") };
    let later = subject.granted(linked()).await?;
    subject.recorded(&later, Ending::Ok).await?;
    subject.advance(RETAIN);
    subject.purge(10, TOMBSTONE).await?;
    same("a tombstone keeps its link", &subject.detail(later.operation).await?.links.len(), &1)?;
    subject.advance(TOMBSTONE);
    same("the records removed", &subject.purge(10, TOMBSTONE).await?.removed, &1)?;
    holds("the link is gone", subject.detail(first.operation).await?.linked_from.is_empty())?;
    // The same call anew, without the link, has none.
    let anew = subject.granted(call("B", 5, "B")).await?;
    same("its id", &anew.operation, &later.operation)?;
    holds("it has no link", subject.detail(anew.operation).await?.links.is_empty())
}
