//! Calls that carry the record of an attempt: they mean that generation and no other.

use super::{
    calls::{RETAIN, WINDOW, by_args, call, operation_of, resumed},
    subject::{Checked, Subject, holds, same},
};
use crate::ledger::{AfterRetention, Ending, Reserve, State};

pub(super) async fn exact_generation(subject: &mut Subject) -> Checked {
    let in_window = |id| Reserve { window: Some(WINDOW), ..call("A", 5, id) };
    let first = subject.granted(in_window("id1")).await?;
    subject.recorded(&first, Ending::Ok).await?;
    subject.advance(WINDOW);
    let second = subject.granted(in_window("id2")).await?;
    subject.recorded(&second, Ending::Final).await?;
    same("the generations of the second", &second.generations, &vec![2, 1])?;
    subject.advance(WINDOW);
    for (grant, id, state) in [(&first, "id1", State::Succeeded), (&second, "id2", State::FailedFinal)] {
        let carried = resumed(in_window(id), grant.operation, &grant.generations);
        let answer = subject.found(carried).await?;
        same("the record", &answer.record.row, &grant.row)?;
        same("its state", &answer.record.state, &state)?;
        same("the generations", &answer.generations, &grant.generations)?;
        holds("nothing new leads to it", answer.aliases.is_empty())?;
    }
    // Without the record it is the newest that counts, and its window is over.
    let third = subject.granted(in_window("id3")).await?;
    same("the generations of the third", &third.generations, &vec![3, 1])
}

pub(super) async fn prepared(subject: &mut Subject) -> Checked {
    // The ledger that the record was made from is lost: the operation keeps the id that its provider knows.
    let mut fourth = call("A", 5, "id1");
    fourth.identities.iter_mut().for_each(|identity| identity.generation = Some(4));
    let operation = operation_of(&fourth, subject.now)?;
    subject.granted(call("A", 5, "id1")).await?;
    let carried = || resumed(call("A", 5, "id1"), operation, &[4, 4]);
    let grant = subject.granted(carried()).await?;
    same("the operation", &grant.operation, &operation)?;
    same("its generations", &grant.generations, &vec![4, 4])?;
    same("the record shown", &subject.show(operation).await?.row, &grant.row)?;
    let again = subject.found(carried()).await?;
    same("the record found", &again.record.row, &grant.row)?;
    let found = subject.find(&[by_args("A")]).await?;
    let newest = found.first().and_then(|found| found.as_ref().map(|found| found.generation));
    same("the newest generation", &newest, &Some(4))
}

pub(super) async fn later_generation(subject: &mut Subject) -> Checked {
    let asked = || call("A", 5, "id1");
    let of = |generation: u32| {
        let mut call = asked();
        call.identities.iter_mut().for_each(|identity| identity.generation = Some(generation));
        call
    };
    // Nothing before it is in this ledger.
    let fourth = operation_of(&of(4), subject.now)?;
    let grant = subject.granted(resumed(asked(), fourth, &[4, 4])).await?;
    subject.recorded(&grant, Ending::Unknown).await?;
    let answer = subject.found(asked()).await?;
    same("what a call without the record finds", &answer.record.row, &grant.row)?;
    let first = operation_of(&of(1), subject.now)?;
    let carried = || resumed(asked(), first, &[1, 1]);
    let grant = subject.granted(carried()).await?;
    same("the first operation", &grant.operation, &first)?;
    same("what its record finds", &subject.found(carried()).await?.record.row, &grant.row)?;
    let answer = subject.found(asked()).await?;
    same("what a call without a record still finds", &answer.record.operation, &fourth)
}

pub(super) async fn after_retention(subject: &mut Subject) -> Checked {
    for after_retention in [AfterRetention::Tell, AfterRetention::Run] {
        let order = format!("order {after_retention:?}");
        let asked = || Reserve { after_retention, ..call(&order, 5, &order) };
        let first = subject.granted(asked()).await?;
        subject.recorded(&first, Ending::Ok).await?;
        subject.advance(RETAIN);
        let carried = resumed(asked(), first.operation, &first.generations);
        let answer = subject.found(carried).await?;
        same("the record", &answer.record.row, &first.row)?;
        holds("it says that retention has ended", answer.retention_ended)?;
        subject.advance(RETAIN);
    }
    Ok(())
}
