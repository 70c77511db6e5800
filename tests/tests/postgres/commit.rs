//! The wire is cut before a commit has reached the server, and after the server has done it: what is true is found out, and
//! nothing happens twice.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use idem_runtime::{
    Idem, Outcome, RefusalKind, Tenant, ToolCall, Unsettled, Verdict, idempotent, ledger::State,
    testing::postgres::Cluster,
};
use idem_tests::{
    timing::{Gate, until},
    wire::{At, Proxy, Side, through},
    world::{TENANT, World, config},
};

use super::stage::{Till, call, pay, pay_outcome, pay_soon, record, refused, wired};

const ROUNDS: usize = 20;
const VERDICTS: usize = 3;
const SIDES: [Side; 2] = [Side::Before, Side::After];

/// Waits until the ledger has settled it; then whoever comes again is told the same by a process that remembers nothing.
async fn settled(idem: &Idem, fresh: &Idem, order: &str, told: &Outcome<String>, till: &Till) {
    let operation = told.operation().expect("an operation");
    until("it is settled", async || {
        let record = record(idem, operation).await.expect("a record");
        (record.state == State::Succeeded).then_some(())
    })
    .await;
    let again = pay_outcome(&call(fresh), order.to_owned(), till.clone()).await;
    assert!(again.is_replay(), "{again:?}");
    assert_eq!(again.value(), told.value());
    assert_eq!(till.count(order), 1, "effects of {order}");
    let operator = fresh.operator(&Tenant::new(TENANT).expect("a tenant"), "auditor").expect("an operator");
    let detail = operator.show(operation).await.expect("a ledger").expect("a record");
    assert_eq!(detail.attempts.len(), 1, "attempts of {order}");
    assert!(!detail.record.review, "nothing about {order} contradicts itself");
}

// R-L5
/// (a) the reservation. There is no dispatch mark (b): the commit of the reservation stands for it, and is read back under
/// the attempt's own nonce.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r071_a_reservation_whose_answer_is_lost_is_recognised() {
    let cluster = Cluster::own().expect("a server");
    let (proxy, ledger, idem) = wired(&cluster).await;
    let fresh = Idem::open(&ledger).await.expect("a ledger");
    let till = Till::default();
    for side in SIDES {
        for round in 0..ROUNDS {
            let order = format!("{side:?} {round}");
            proxy.cut(At::Commit, side);
            let told = pay_outcome(&call(&idem), order.clone(), till.clone()).await;
            assert!(!proxy.disarm(), "it was not cut");
            assert!(told.value().is_some() && !told.is_replay(), "{side:?}: its own attempt goes on: {told:?}");
            settled(&idem, &fresh, &order, &told, &till).await;
        }
    }
    let effects = till.world.effects().len();
    eprintln!("reservations cut: {}, effects: {effects}", proxy.cuts());
    assert_eq!((proxy.cuts(), effects), (2 * ROUNDS, 2 * ROUNDS));
}

// R-L5
/// (c) the result.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r071_a_result_is_persisted_a_second_time_without_harm() {
    let cluster = Cluster::own().expect("a server");
    let (proxy, ledger, idem) = wired(&cluster).await;
    let fresh = Idem::open(&ledger).await.expect("a ledger");
    let (till, mut flagged) = (Till::default(), 0);
    for side in SIDES {
        for round in 0..ROUNDS {
            let (order, wire) = (format!("{side:?} {round}"), proxy.clone());
            let cutting = till.then(move || wire.cut(At::Commit, side));
            let told = pay_outcome(&call(&idem), order.clone(), cutting).await;
            assert!(!proxy.disarm(), "it was not cut");
            let Outcome::Succeeded(success) = &told else { panic!("{side:?}: it happened: {told:?}") };
            flagged += usize::from(!matches!(success.told.held, idem_runtime::Held::Result));
            settled(&idem, &fresh, &order, &told, &till).await;
        }
    }
    let effects = till.world.effects().len();
    eprintln!("results cut: {}, told with a flag: {flagged}, effects: {effects}", proxy.cuts());
    assert_eq!((proxy.cuts(), effects), (2 * ROUNDS, 2 * ROUNDS));
}

/// A lease that could not be renewed once is renewed the next time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r071_a_renewal_that_is_cut_loses_no_lease() {
    let cluster = Cluster::own().expect("a server");
    let (proxy, _, idem) = wired(&cluster).await;
    for side in SIDES {
        let (gate, order) = (Gate::new(), format!("{side:?}"));
        let till = Till::at(&gate);
        let paying = tokio::spawn({
            let (call, order, till) = (call(&idem), order.clone(), till.clone());
            async move { pay_soon(&call, order, till).await }
        });
        gate.arrived().await;
        let cuts = proxy.cuts();
        proxy.cut(At::Commit, side);
        until("a renewal is cut", async || (proxy.cuts() > cuts).then_some(())).await;
        let operation = prepared(&idem, &order, &till).await;
        let before = record(&idem, operation).await.expect("a record").renewals;
        until("the next one is not", async || {
            let record = record(&idem, operation).await.expect("a record");
            assert_eq!(record.state, State::InProgress, "{side:?}: the lease was lost");
            (record.renewals >= before + 2).then_some(())
        })
        .await;
        gate.open();
        assert_eq!(paying.await.expect("no panic").expect("paid"), format!("paid {order}"));
        assert_eq!(till.count(&order), 1);
    }
    eprintln!("renewals cut: {}", proxy.cuts());
}

async fn prepared(idem: &Idem, order: &str, till: &Till) -> idem_runtime::OperationId {
    let call = call(idem);
    let record = idem_runtime::prepare(pay_soon(&call, order.to_owned(), till.clone())).await.expect("a record");
    record.operation()
}

/// A provider that does it and loses its answer, and the wire that is cut when it is asked.
#[derive(Clone)]
struct Desk {
    world: World,
    wire: Proxy,
    /// Cut on this side, once.
    cuts: Arc<Mutex<Option<Side>>>,
}

#[idempotent(scope = "conversation", key = "args", lease = "1s", recover(lookup = find))]
async fn refund(call: &ToolCall, order: String, #[idem(state)] desk: Desk) -> Result<String, anyhow::Error> {
    let key = call.provider_key("refund");
    desk.world.effect(format!("{order} {key}"));
    anyhow::bail!("no answer about {order}")
}

async fn find(desk: &Desk, operation: Unsettled) -> Result<Verdict<String>, anyhow::Error> {
    // As a provider's answer would be waited for.
    tokio::task::yield_now().await;
    let key = operation.provider_key("refund").to_string();
    let found = desk.world.effects().into_iter().find(|effect| effect.ends_with(&key));
    if let Some(side) = desk.cuts.lock().unwrap_or_else(PoisonError::into_inner).take() {
        desk.wire.cut(At::Commit, side);
    }
    Ok(match found {
        Some(effect) => Verdict::applied(effect.clone(), effect),
        None => Verdict::not_applied("there is none"),
    })
}

/// What was found out is told, or found out again when who had asked is silent for too long; it is not done again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r071_a_verdict_whose_answer_is_lost_frees_nothing() {
    let cluster = Cluster::own().expect("a server");
    let wire = Proxy::to(cluster.port().expect("a port"));
    let address = through(&cluster.ledger().expect("a schema"), wire.port());
    let patience = config(|config| config.lookup_timeout = Duration::from_millis(500));
    let idem = Idem::builder().config(patience).open(&address).await.expect("a ledger");
    let (world, mut at_once) = (World::default(), 0);
    for side in SIDES {
        for round in 0..VERDICTS {
            let order = format!("{side:?} {round}");
            let cuts = Arc::new(Mutex::new(Some(side)));
            let desk = Desk { world: world.clone(), wire: wire.clone(), cuts };
            let first = refund_outcome(&call(&idem), order.clone(), desk.clone()).await;
            at_once += usize::from(first.value().is_some());
            until("it is known", async || {
                let told = refund_outcome(&call(&idem), order.clone(), desk.clone()).await;
                let waits = [RefusalKind::Unknown, RefusalKind::LedgerUnavailable];
                assert!(refused(&told).is_none_or(|kind| waits.contains(kind)), "{told:?}");
                told.value().map(drop)
            })
            .await;
            assert!(!wire.disarm(), "it was not cut");
            let of_order = format!("{order} ");
            assert_eq!(world.effects().iter().filter(|it| it.starts_with(&of_order)).count(), 1, "{order}");
        }
    }
    eprintln!("verdicts cut: {}, told at once: {at_once} of {}", wire.cuts(), 2 * VERDICTS);
    assert_eq!(wire.cuts(), 2 * VERDICTS);
}

/// Not only commits: every request of a call, one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r071_whichever_request_is_cut_there_is_one_effect() {
    let cluster = Cluster::own().expect("a server");
    let ledger = cluster.ledger().expect("a schema");
    let proxy = Proxy::to(cluster.port().expect("a port"));
    let (mut refusals, mut requests) = (0, [0; 2]);
    let fresh = Idem::open(&ledger).await.expect("a ledger");
    let till = Till::default();
    for (nth, side) in SIDES.into_iter().enumerate() {
        for number in 1.. {
            // A process that knows no names yet: interning them is cut as well.
            let idem = Idem::open(&through(&ledger, proxy.port())).await.expect("a ledger");
            let order = format!("{side:?} {number}");
            let call_of = |idem: &Idem| idem.call().tenant("acme").conversation(format!("c {side:?} {number}"));
            proxy.cut(At::Request(number), side);
            let told = pay_outcome(&call_of(&idem), order.clone(), till.clone()).await;
            let reached = !proxy.disarm();
            match &told {
                Outcome::Succeeded(_) => assert_eq!(till.count(&order), 1, "{order}"),
                Outcome::Refused(refusal) => {
                    refusals += 1;
                    assert_eq!(refusal.kind(), &RefusalKind::LedgerUnavailable, "{order}: {refusal:?}");
                    assert_eq!(till.count(&order), 0, "{order}: refused, and run: {refusal:?}");
                }
            }
            let again = pay(&call_of(&idem), order.clone(), till.clone()).await;
            assert_eq!(again.expect("paid by now"), format!("paid {order}"), "{order}");
            until("another process is told so too", async || {
                let call = call_of(&fresh).deadline(Duration::from_mins(1));
                pay_outcome(&call, order.clone(), till.clone()).await.value().map(drop)
            })
            .await;
            assert_eq!(till.count(&order), 1, "{order}");
            if !reached {
                requests[nth] = number - 1;
                break;
            }
        }
    }
    eprintln!("requests of a call: {requests:?}, each cut once; refused: {refusals}");
    assert!(requests.iter().all(|many| *many > 4), "{requests:?}");
}
