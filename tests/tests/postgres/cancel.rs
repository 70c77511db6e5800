//! Callers that go away at any point: no connection is left in a transaction, and what is reserved is there for everybody
//! before a body starts.

use idem_runtime::{OperationId, Refusal, ToolCall, idempotent, testing::postgres::Cluster};
use idem_tests::{
    timing::{poll_times, until},
    wire::{Session, schema_of},
    world::World,
};
use tokio::{
    sync::mpsc::{UnboundedSender, unbounded_channel},
    task::JoinSet,
};

use super::stage::wired;

const POLLS: usize = 6;
const DROPS: usize = 200;
/// So many drop side by side, at each poll.
const LANES: usize = 5;

/// Sessions of the ledger that hold a transaction open and do nothing.
pub(crate) const IDLE: &str = "select count(*) from pg_stat_activity where application_name = 'idem' and \
                               state like 'idle in transaction%'";

/// Says which operation it is before anything happens, and goes on when somebody has looked.
#[idempotent(scope = "conversation", key = "args")]
async fn book(call: &ToolCall, seat: String, #[idem(state)] desk: Desk) -> Result<usize, Refusal> {
    if let Some(asks) = &desk.asks {
        let (seen, looked) = tokio::sync::oneshot::channel();
        asks.send((call.operation(), seen)).expect("somebody looks");
        assert!(looked.await.expect("somebody looked"), "{seat} is reserved, and nobody else can see it");
    }
    Ok(desk.world.effect(seat))
}

type Asked = (OperationId, tokio::sync::oneshot::Sender<bool>);

#[derive(Clone, Default)]
struct Desk {
    world: World,
    asks: Option<UnboundedSender<Asked>>,
}

// R-L5
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r065_a_caller_dropped_at_any_poll_leaves_no_transaction_open() {
    let cluster = Cluster::own().expect("a server");
    let (_proxy, ledger, idem) = wired(&cluster).await;
    let (port, schema) = (cluster.port().expect("a port"), schema_of(&ledger).to_owned());
    let mut watcher = Session::open(port, &schema).await;
    // The control arm: what is looked for can be seen.
    let mut held = Session::open(port, &schema).await;
    held.ask("set application_name = 'idem'; begin; select 1").await.expect("a transaction");
    until("a transaction is seen", async || (watcher.value(IDLE).await == "1").then_some(())).await;
    drop(held);

    // Another connection looks for every reservation, before its body goes on.
    let (asks, mut asked) = unbounded_channel::<Asked>();
    let looking = tokio::spawn({
        let mut session = Session::open(port, &schema).await;
        async move {
            let mut looks = 0_usize;
            while let Some((operation, seen)) = asked.recv().await {
                let id: Vec<String> = operation.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                let select = format!("select count(*) from idem_operations where operation = '\\x{}'", id.concat());
                looks += 1;
                // A body whose runtime is gone asks for nothing any more.
                let _ = seen.send(session.value(&select).await == "1");
            }
            looks
        }
    });
    let desk = Desk { world: World::default(), asks: Some(asks) };
    let mut lanes = JoinSet::new();
    for lane in 0..POLLS * LANES {
        let (polls, from) = (1 + lane / LANES, lane % LANES * DROPS / LANES);
        let (idem, desk) = (idem.clone(), desk.clone());
        lanes.spawn(async move {
            let mut dropped = Vec::new();
            for nth in from..from + DROPS / LANES {
                let call = idem.call().tenant("acme").conversation("c");
                let unwanted = format!("unwanted {polls} {nth}");
                if poll_times(book(&call, unwanted.clone(), desk.clone()), polls).await.is_none() {
                    let wanted = format!("wanted {polls} {nth}");
                    book(&call, wanted.clone(), desk.clone()).await.expect("booked");
                    // The operation whose first caller went away is not stuck, either.
                    book(&call, unwanted, desk.clone()).await.expect("booked");
                    dropped.push(wanted);
                }
            }
            dropped
        });
    }
    let dropped = lanes.join_all().await.concat();
    until("no transaction is open", async || (watcher.value(IDLE).await == "0").then_some(())).await;
    let unwanted = (1..=POLLS).flat_map(|polls| (0..DROPS).map(move |nth| format!("unwanted {polls} {nth}")));
    for seat in unwanted.chain(dropped.iter().cloned()) {
        assert_eq!(desk.world.count(&seat), 1, "{seat}");
    }
    let effects = desk.world.effects().len();
    drop((desk, idem));
    let looks = looking.await.expect("no panic");
    let (drops, calls) = (dropped.len(), POLLS * DROPS);
    eprintln!("dropped: {drops} of {calls} calls, effects: {effects}, reservations seen elsewhere: {looks}");
    // Later polls find the call at its end.
    assert!(drops >= 2 * DROPS, "too few were dropped: {drops}");
    assert_eq!((effects, looks), (calls + drops, calls + drops));
}
