//! What came of a run: the provider's books beside the ledger, and beside what callers were told.

use idem_runtime::{
    Idem, Operator, Tenant,
    ledger::{Listing, Record, State},
};
use idem_tests::{timing::until, world::TENANT};
use tokio::task::JoinSet;

use super::{
    provider::Provider,
    run::Heard,
    tools::{Banks, Tool, bound, config, order},
};

/// How many questions are asked at the same time.
const AT_ONCE: usize = 32;

/// What a run came to, to be printed.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) operations: u64,
    pub(crate) effects: u64,
    /// Effects beyond the first of an order.
    pub(crate) duplicates: u64,
    pub(crate) unknown: u64,
    /// Unknown operations that are settled.
    pub(crate) settled: u64,
    /// Those that only a person can settle.
    pub(crate) left: u64,
    pub(crate) stuck: u64,
}

/// Sees to the rest, and looks at everything.
pub(crate) async fn audit(address: &str, provider: &Provider, heard: &mut Heard) -> Report {
    provider.calm();
    let banks = Banks::at(provider.keyed, provider.plain);
    let idem = Idem::builder().config(config()).open(address).await.expect("a ledger");
    let operator = idem.operator(&Tenant::new(TENANT).expect("a tenant"), "mia").expect("a name");
    settles(&idem, &banks, &operator).await;
    let mut report = Report::default();
    comes_again(&idem, &banks, heard, &mut report).await;
    looks(&idem, &banks, &operator, heard.orders, &mut report).await;
    counts(provider, heard, &mut report);
    report
}

/// Waits until nothing is under way or unknown that a reconciler can see to. What it waits for is the ends of leases and
/// `settles_in`; every look is a question to the ledger.
async fn settles(idem: &Idem, banks: &Banks, operator: &Operator) {
    let mut reconciler = idem.reconciler(bound(banks));
    until("every lease has ended, and everything is settled", async || {
        let seen = reconciler.run_once().await.expect("a walk");
        assert_eq!(seen.to_operators, 0, "{seen:?}");
        open(operator).await.is_empty().then_some(())
    })
    .await;
}

/// Operations that are neither finished nor left alone.
async fn open(operator: &Operator) -> Vec<Record> {
    let states = vec![State::InProgress, State::OutcomeUnknown, State::Reconciling];
    let page = operator.list(&Listing { states, records_max: 10_000, ..Listing::default() }).await.expect("a page");
    let ours = |record: &Record| Tool::named(&record.tool.name) != Some(Tool::Alone);
    page.records.into_iter().filter(ours).collect()
}

/// Every order is called once more, by somebody who was not there. Its answer counts as told.
async fn comes_again(idem: &Idem, banks: &Banks, heard: &mut Heard, report: &mut Report) {
    let told = each(heard.orders, |number| {
        let (idem, banks) = (idem.clone(), banks.clone());
        async move { Tool::of(number).refund(&idem, &banks, number).await }
    });
    for (number, outcome) in told.await {
        if let Some(refund) = outcome.value() {
            *(if outcome.is_replay() { &mut heard.replays } else { &mut heard.ran }) += 1;
            heard.successes.entry(number).or_default().insert(refund.id.clone());
            continue;
        }
        let name = outcome.to_json()["outcome"].as_str().map(str::to_owned);
        assert_eq!(name.as_deref(), Some("unknown_requires_reconciliation"), "{}: {outcome:?}", order(number));
        assert_eq!(Tool::of(number), Tool::Alone, "{} is stuck: {outcome:?}", order(number));
        report.left += 1;
    }
}

/// What the ledger has of every order.
async fn looks(idem: &Idem, banks: &Banks, operator: &Operator, orders: u64, report: &mut Report) {
    let found = each(orders, |number| {
        let (idem, banks, operator) = (idem.clone(), banks.clone(), operator.clone());
        async move {
            let operation = Tool::of(number).operation(&idem, &banks, number).await;
            let detail = operator.show(operation).await.expect("an answer").expect("a record");
            (detail.record.state, detail.history.iter().any(|it| it.state == State::OutcomeUnknown))
        }
    });
    for (number, (state, was_unknown)) in found.await {
        report.operations += 1;
        report.unknown += u64::from(was_unknown || state == State::OutcomeUnknown);
        report.settled += u64::from(was_unknown && state == State::Succeeded);
        let left = state == State::OutcomeUnknown && Tool::of(number) == Tool::Alone;
        report.stuck += u64::from(state != State::Succeeded && !left);
    }
}

/// Does `with` every order, so many at a time.
async fn each<T, F>(orders: u64, with: impl Fn(u64) -> F) -> Vec<(u64, T)>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let (mut under_way, mut done) = (JoinSet::new(), Vec::new());
    for number in 0..orders {
        if under_way.len() >= AT_ONCE {
            done.extend(under_way.join_next().await.map(|ended| ended.expect("an end")));
        }
        let done = with(number);
        under_way.spawn(async move { (number, done.await) });
    }
    done.extend(under_way.join_all().await);
    done
}

/// The provider's own count, beside what callers were told.
pub(crate) fn counts(provider: &Provider, heard: &Heard, report: &mut Report) {
    for number in 0..heard.orders {
        let effects = provider.effects(&order(number));
        report.effects += effects.len() as u64;
        report.duplicates += effects.len().saturating_sub(1) as u64;
        for told in heard.successes.get(&number).into_iter().flatten() {
            assert!(effects.contains(told), "{}: {told} was told, {effects:?} happened", order(number));
        }
    }
}
