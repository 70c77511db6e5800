//! A bulk tool: each of its items is an operation of its own, under a child key.
//!
//! Must not know what an item is, nor keep anything of a batch: what became of it is what its items' records say.

use std::{
    collections::HashMap,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    vec,
};

use super::tool_call::ToolCall;
use crate::outcome::{Bulk, BulkItem, Outcome};

/// Items of one key, in their order, each with its place in the batch.
struct Group<I> {
    key: Arc<str>,
    items: Vec<(usize, I)>,
}

/// What the lanes of a batch share.
struct Batch<I, T> {
    groups: Mutex<vec::IntoIter<Group<I>>>,
    outcomes: Mutex<Vec<Option<Outcome<T>>>>,
}

/// Runs a guarded tool for each item, which has a child key: what sets it apart from the others of its batch, the same in
/// every repeat. `run` is handed [the item's call](ToolCall::item) and the item, and calls the tool's `…_outcome`.
///
/// The report has every item, in the order given. The batch itself has no record: called again, with the same items or
/// others, it runs what is left, and the rest are replays. Items of one key run one after the other, the first one says
/// what the key stands for; others run at the same time, [`Config::items_at_once`](crate::Config::items_at_once) of them.
///
/// ```
/// # use idem_runtime::{BulkState, Idem, ToolCall, bulk, idempotent};
/// # type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
/// #[idempotent(scope = "conversation", key = "tool_call_id|args")]
/// async fn send_mail(call: &ToolCall, to: String, text: String) -> Result<String> {
///     Ok(format!("sent to {to}"))
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<()> {
/// # let idem = Idem::open("memory:").await?;
/// let call = idem.call().tenant("acme").conversation("c-42").turn(7).tool_call_id("call_abc");
/// let mails = ["ann", "bob"].map(|to| (to, format!("Dear {to}, …")));
/// let sent = bulk(&call, mails, |call, text| async move {
///     let to = call.item_key().unwrap_or_default().to_owned();
///     send_mail_outcome(&call, to, text).await
/// })
/// .await;
/// assert_eq!(sent.state(), BulkState::Complete);
/// assert_eq!(sent.items()[1].outcome.value().map(String::as_str), Some("sent to bob"));
/// # Ok(()) }
/// ```
///
/// Dropped, it starts no more items; those that run end as their tool's bodies do.
pub async fn bulk<K, I, T, F>(
    call: &ToolCall,
    items: impl IntoIterator<Item = (K, I)>,
    run: impl Fn(ToolCall, I) -> F,
) -> Bulk<T>
where
    K: Into<Arc<str>>,
    F: Future<Output = Outcome<T>>,
{
    let (keys, groups) = grouped(items);
    let lanes = call.engine().config.items_at_once.clamp(1, groups.len().max(1));
    let outcomes = keys.iter().map(|_| None).collect();
    let batch = Batch { groups: Mutex::new(groups.into_iter()), outcomes: Mutex::new(outcomes) };
    together((0..lanes).map(|_| Box::pin(lane(&batch, call, &run))).collect()).await;
    let outcomes = batch.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Every lane ends, and has filled the places of its items.
    let items = keys.into_iter().zip(outcomes).filter_map(|(key, outcome)| Some(BulkItem { key, outcome: outcome? }));
    Bulk::new(items.collect())
}

/// The keys in order, and the items by key.
fn grouped<K: Into<Arc<str>>, I>(items: impl IntoIterator<Item = (K, I)>) -> (Vec<Arc<str>>, Vec<Group<I>>) {
    let (mut keys, mut groups) = (Vec::new(), Vec::<Group<I>>::new());
    let mut known = HashMap::<Arc<str>, usize>::new();
    for (place, (key, item)) in items.into_iter().enumerate() {
        let key: Arc<str> = key.into();
        let at = *known.entry(Arc::clone(&key)).or_insert_with(|| {
            groups.push(Group { key: Arc::clone(&key), items: Vec::new() });
            groups.len() - 1
        });
        groups[at].items.push((place, item));
        keys.push(key);
    }
    (keys, groups)
}

/// Takes one key after the other, for as long as there are any.
async fn lane<I, T, F>(batch: &Batch<I, T>, call: &ToolCall, run: &impl Fn(ToolCall, I) -> F)
where
    F: Future<Output = Outcome<T>>,
{
    loop {
        let next = held(&batch.groups).next();
        let Some(Group { key, items }) = next else { return };
        for (place, item) in items {
            let outcome = run(call.clone().item(Arc::clone(&key)), item).await;
            held(&batch.outcomes)[place] = Some(outcome);
        }
    }
}

fn held<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for all of them, in this task.
async fn together<F: Future<Output = ()>>(mut lanes: Vec<Pin<Box<F>>>) {
    poll_fn(|context| {
        lanes.retain_mut(|lane| lane.as_mut().poll(context).is_pending());
        if lanes.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
