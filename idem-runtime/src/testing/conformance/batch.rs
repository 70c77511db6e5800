//! Batches, what readers see of them, and counts that are written later.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{
    calls::{NANO, RETAIN, TOMBSTONE, by_args, by_id, call, end, operation_of, scope, tenant},
    subject::{Checked, Subject, Wrong, answer, grant, holds, same},
};
use crate::{
    Source,
    ledger::{Alias, Command, Drifted, Ending, Find, Grant, Reader, Reply, Settled, State, Tally},
};

fn reserve(order: &str) -> Command {
    Command::Reserve(Arc::new(call(order, 5, order)))
}

fn tally(grant: &Grant, drifts: u64, parameters: &[&str], aliases: Vec<Alias>) -> Tally {
    Tally {
        tenant: tenant(),
        row: grant.row,
        replays: 1,
        drifts,
        parameters: parameters.iter().map(|&name| name.to_owned()).collect(),
        aliases,
    }
}

pub(super) async fn order(subject: &mut Subject) -> Checked {
    let first = subject.granted(call("A", 5, "A")).await?;
    let commands = [
        reserve("A"),
        Command::Settle(end(&first, Ending::Retryable)),
        reserve("A"),
        reserve("A"),
        Command::Settle(end(&first, Ending::Ok)),
        reserve("A"),
    ];
    let mut replies = subject.apply(&commands).await?.into_iter();
    let mut next = || replies.next().ok_or_else(|| Wrong::new("a reply is missing"));
    let reserved = |reply| match reply {
        Reply::Reserved(reserved) => Ok(reserved),
        other => Err(Wrong::new(format!("a reservation was answered with {other:?}"))),
    };
    same("at first", &answer(reserved(next()?)?)?.record.attempt, &1)?;
    holds("the settlement is recorded", matches!(next()?, Reply::Settled(Settled::Recorded { .. })))?;
    let second = grant(reserved(next()?)?)?;
    same("after proof of no effect", &second.attempt, &2)?;
    same("the attempt that is found then", &answer(reserved(next()?)?)?.record.fence, &second.fence)?;
    holds("the older attempt is late", matches!(next()?, Reply::Settled(Settled::Late { .. })))?;
    let last = answer(reserved(next()?)?)?;
    same("at last", &last.record.state, &State::Succeeded)?;
    same("the record", &subject.show(first.operation).await?, &last.record)
}

pub(super) async fn replies(subject: &mut Subject) -> Checked {
    same("the replies to nothing", &subject.apply(&[]).await?.len(), &0)?;
    let first = subject.granted(call("A", 5, "A")).await?;
    let commands = [
        Command::Tally(vec![tally(&first, 0, &[], Vec::new())]),
        Command::Purge { records_max: 10, tombstone: TOMBSTONE },
        Command::Settle(end(&first, Ending::Ok)),
        Command::Renew(Vec::new()),
        Command::Tally(Vec::new()),
        reserve("B"),
    ];
    let replies = subject.apply(&commands).await?;
    let in_order = matches!(
        &replies[..],
        [
            Reply::Tallied,
            Reply::Purged(_),
            Reply::Settled(Settled::Recorded { .. }),
            Reply::Renewed { .. },
            Reply::Tallied,
            Reply::Reserved(_)
        ]
    );
    holds("each command has its own reply", in_order)
}

pub(super) async fn tallies(subject: &mut Subject) -> Checked {
    let first = subject.granted(call("A", 5, "A")).await?;
    let second = subject.granted(call("B", 5, "B")).await?;
    let third = subject.granted(call("C", 5, "C")).await?;
    let nobody = Grant { row: 9_000_000, ..first.clone() };
    let steps: [&[Tally]; 4] = [
        &[tally(&first, 2, &["cents"], Vec::new()), tally(&third, 0, &[], Vec::new())],
        &[tally(&second, 1, &["order", "cents"], Vec::new()), tally(&nobody, 7, &["cents"], Vec::new())],
        &[tally(&first, 3, &["order"], Vec::new())],
        // A replay is no drift.
        &[tally(&second, 0, &[], Vec::new())],
    ];
    for tallies in steps {
        subject.advance(NANO);
        subject.apply(&[Command::Tally(tallies.to_vec())]).await?;
    }
    let last_drift = subject.now.before(NANO);
    let drifted = subject.reader().drifted(&tenant(), 10).await?;
    let told: Vec<_> =
        drifted.iter().map(|drifted| (drifted.operation, drifted.count, drifted.parameters.join(" "))).collect();
    let should_be = vec![(first.operation, 5, "order".to_owned()), (second.operation, 1, "order cents".to_owned())];
    same("the drifts", &told, &should_be)?;
    let newest = subject.reader().drifted(&tenant(), 1).await?;
    let Some(Drifted { operation, tool, last_at, .. }) = newest.first() else {
        return Err(Wrong::new("no drift is listed"));
    };
    same("how many are listed", &newest.len(), &1)?;
    same("the newest drift", operation, &first.operation)?;
    same("its tool", &tool.as_str(), &"bank::send")?;
    same("its instant", last_at, &last_drift)
}

pub(super) async fn aliases(subject: &mut Subject) -> Checked {
    let first = subject.granted(call("A", 5, "A")).await?;
    let second = subject.granted(call("B", 5, "B")).await?;
    let alias = |id: &str| Alias { source: Source::ToolCallId, digest: by_id(id).digest, generation: 1 };
    let tallied = tally(&first, 0, &[], vec![alias("new"), alias("B"), alias("new")]);
    subject.apply(&[Command::Tally(vec![tallied])]).await?;
    let rows = |found: Vec<Option<crate::ledger::Match>>| -> Vec<Option<i64>> {
        found.into_iter().map(|found| Some(found?.record.row)).collect()
    };
    let found = rows(subject.find(&[by_id("new"), by_id("B"), by_id("A")]).await?);
    same("what the ids lead to", &found, &vec![Some(first.row), Some(second.row), Some(first.row)])?;
    let by_alias = subject.found(call("A", 5, "new")).await?;
    holds("the alias is known", by_alias.aliases.is_empty())?;
    // It goes with its operation.
    subject.recorded(&first, Ending::Ok).await?;
    subject.advance(RETAIN + TOMBSTONE);
    subject.purge(10, TOMBSTONE).await?;
    let found = rows(subject.find(&[by_id("new"), by_id("B"), by_args("A")]).await?);
    same("what the ids lead to after a purge", &found, &vec![None, Some(second.row), None])
}

pub(super) async fn reader(subject: &mut Subject) -> Checked {
    // One that was there before the first write.
    let reader = subject.reader();
    holds("an empty ledger lists no drift", reader.drifted(&tenant(), 10).await?.is_empty())?;
    let mut operations = Vec::new();
    for order in ["A", "B", "C"] {
        let grant = subject.granted(call(order, 5, order)).await?;
        for state in [State::InProgress, State::Succeeded] {
            let identities = [by_args(order), by_id(order)];
            let found =
                reader.find(Find { tenant: &tenant(), scope: &scope().digest, identities: &identities }).await?;
            for found in found {
                let seen = found.map(|found| (found.generation, found.record.row, found.record.state));
                same("what is found", &seen, &Some((1, grant.row, state)))?;
            }
            let shown = reader.show(&tenant(), grant.operation).await?.map(|record| record.state);
            same("the state that is shown", &shown, &Some(state))?;
            if state == State::InProgress {
                subject.recorded(&grant, Ending::Ok).await?;
            }
        }
        operations.push(grant.operation);
    }
    holds("operations differ", operations.windows(2).all(|pair| pair[0] != pair[1]))?;
    let nobody = operation_of(&call("D", 5, "D"), subject.now)?;
    holds("an unknown id shows nothing", reader.show(&tenant(), nobody).await?.is_none())
}

/// How many batches are written while another task reads.
const OVERLAPPING: u32 = 60;

pub(super) async fn halves(subject: &mut Subject) -> Checked {
    let mut held = subject.granted(call("A", 5, "A")).await?;
    let done = Arc::new(AtomicBool::new(false));
    let reading = tokio::spawn(read(subject.reader(), Arc::clone(&done)));
    let mut written = Ok(());
    for _ in 0..OVERLAPPING {
        written = next_attempt(subject, &mut held).await;
        if written.is_err() {
            break;
        }
        tokio::task::yield_now().await;
    }
    done.store(true, Ordering::Release);
    let read = reading.await.map_err(|error| Wrong::new(format!("the reader failed: {error}")))?;
    written?;
    same("the attempt that is read at last", &read?, &held.attempt)
}

/// One attempt ends and the next one starts, in one batch.
async fn next_attempt(subject: &mut Subject, held: &mut Grant) -> Checked {
    let commands = [Command::Settle(end(held, Ending::Retryable)), reserve("A")];
    match subject.apply(&commands).await?.pop() {
        Some(Reply::Reserved(reserved)) => *held = grant(reserved)?,
        other => return Err(Wrong::new(format!("a reservation was answered with {other:?}"))),
    }
    Ok(())
}

/// Reads until nothing more is written; gives the last attempt seen. Between two attempts there is no instant.
async fn read(reader: Arc<dyn Reader>, done: Arc<AtomicBool>) -> Checked<u32> {
    let mut last = 0;
    loop {
        let stops = done.load(Ordering::Acquire);
        let (tenant, scope) = (tenant(), scope());
        let find = Find { tenant: &tenant, scope: &scope.digest, identities: &[by_args("A")] };
        let found = reader.find(find).await?.pop().flatten();
        let record = found.ok_or_else(|| Wrong::new("a record vanished while it was written"))?.record;
        same("the state between two batches", &record.state, &State::InProgress)?;
        holds("attempts ascend", record.attempt >= last)?;
        last = record.attempt;
        if stops {
            return Ok(last);
        }
        tokio::task::yield_now().await;
    }
}
