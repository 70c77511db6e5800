//! Many callers of one process wait for what another process runs.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use idem_runtime::{
    Idem, OperationId, PostgresStore, Refusal, RefusalKind, Tenant, Timestamp, ToolCall, idempotent,
    ledger::{
        BoxFuture, Command, Detail, Drifted, Find, Found, Listing, Reader, Record, Reply, Store, StoreError, Sweep,
        Swept,
    },
    testing::postgres::Cluster,
};
use idem_tests::{
    timing::{Gate, until},
    world::World,
};
use tokio::task::JoinSet;

const OPERATIONS: usize = 8;
const CALLERS: usize = 64;

#[idempotent(scope = "conversation", key = "args")]
async fn order(call: &ToolCall, #[idem(state)] shop: Shop, what: String) -> Result<String, Refusal> {
    shop.gate.pass().await;
    shop.world.effect(&what);
    Ok(format!("ordered {what}"))
}

/// Whoever is outside, and whoever lets bodies go on.
#[derive(Debug, Clone, Default)]
struct Shop {
    gate: Gate,
    world: World,
}

/// What callers ask the store without changing it: single questions, and how many came together.
#[derive(Debug, Clone, Default)]
struct Questions(Arc<Mutex<(usize, Vec<usize>)>>);

impl Questions {
    fn alone(&self) -> usize {
        self.0.lock().expect("no panic").0
    }

    fn together(&self) -> Vec<usize> {
        self.0.lock().expect("no panic").1.clone()
    }
}

/// A store whose reader counts the questions.
#[derive(Debug)]
struct Asked {
    store: PostgresStore,
    questions: Questions,
}

impl Store for Asked {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        self.store.apply(commands, now)
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(Counting { reader: self.store.reader(), questions: self.questions.clone() })
    }

    idem_tests::behind_but_reader!(store);
}

#[derive(Debug)]
struct Counting {
    reader: Arc<dyn Reader>,
    questions: Questions,
}

impl Reader for Counting {
    fn find<'a>(&'a self, find: Find<'a>) -> BoxFuture<'a, Found> {
        self.questions.0.lock().expect("no panic").0 += 1;
        self.reader.find(find)
    }

    fn find_all<'a>(&'a self, finds: &'a [Find<'a>]) -> BoxFuture<'a, Vec<Found>> {
        self.questions.0.lock().expect("no panic").1.push(finds.len());
        self.reader.find_all(finds)
    }

    fn show<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.reader.show(tenant, operation)
    }

    fn drifted<'a>(&'a self, tenant: &'a Tenant, records_max: u32) -> BoxFuture<'a, Result<Vec<Drifted>, StoreError>> {
        self.reader.drifted(tenant, records_max)
    }

    fn detail<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Detail>, StoreError>> {
        self.reader.detail(tenant, operation)
    }

    fn list<'a>(&'a self, tenant: &'a Tenant, listing: &'a Listing) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        self.reader.list(tenant, listing)
    }

    fn sweep<'a>(&'a self, sweep: &'a Sweep, now: Timestamp) -> BoxFuture<'a, Result<Swept, StoreError>> {
        self.reader.sweep(sweep, now)
    }
}

/// Two processes that share a ledger: one in which the operations run, and one whose questions are counted.
struct Stage {
    _cluster: Cluster,
    runs: Idem,
    waits: Idem,
    questions: Questions,
    shop: Shop,
}

impl Stage {
    async fn set() -> Self {
        let cluster = Cluster::start().expect("a server");
        let address = cluster.ledger().expect("a schema");
        let runs = Idem::open(&address).await.expect("a ledger");
        let questions = Questions::default();
        let store = PostgresStore::open(&address).await.expect("a ledger");
        let waits = Idem::builder().with_store(Asked { store, questions: questions.clone() }).expect("a ledger");
        Self { _cluster: cluster, runs, waits, questions, shop: Shop::default() }
    }

    /// The call of a process, under an id of its own.
    fn call(idem: &Idem, id: impl Into<String>) -> ToolCall {
        idem.call().tenant("acme").conversation("c").turn(1).tool_call_id(id.into())
    }

    /// The operations begin in the one process, and stop at the gate.
    async fn begin(&self) -> JoinSet<Result<String, Refusal>> {
        let mut running = JoinSet::new();
        for nth in 0..OPERATIONS {
            let (call, shop) = (Self::call(&self.runs, format!("runs-{nth}")), self.shop.clone());
            running.spawn(async move { order(&call, shop, format!("order {nth}")).await });
        }
        for _ in 0..OPERATIONS {
            self.shop.gate.arrived().await;
        }
        running
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_query_a_tick_serves_all_who_wait_for_another_process() {
    let stage = Stage::set().await;
    let mut running = stage.begin().await;
    let mut waiting = JoinSet::new();
    for nth in 0..CALLERS {
        let (call, shop) = (Stage::call(&stage.waits, format!("waits-{nth}")), stage.shop.clone());
        waiting.spawn(async move { order(&call, shop, format!("order {}", nth % OPERATIONS)).await });
    }
    // All of them wait, and have come to the longest pause.
    let all = async || stage.questions.together().contains(&CALLERS).then_some(());
    until("one query asks for all", all).await;
    let (alone, before) = (stage.questions.alone(), stage.questions.together().len());
    let more = async || stage.questions.together().get(before..).filter(|more| more.contains(&CALLERS)).map(drop);
    until("another one does", more).await;
    assert_eq!(stage.questions.alone(), alone, "nobody asks alone");
    for _ in 0..OPERATIONS {
        stage.shop.gate.open();
    }
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    while let Some(answer) = waiting.join_next().await {
        *told.entry(answer.expect("no panic").expect("ordered by the other process")).or_default() += 1;
    }
    let all = (0..OPERATIONS).map(|nth| (format!("ordered order {nth}"), CALLERS / OPERATIONS));
    assert_eq!(told, all.collect());
    while let Some(answer) = running.join_next().await {
        answer.expect("no panic").expect("ordered");
    }
    assert_eq!(stage.shop.world.effects().len(), OPERATIONS);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_in_vain_is_told_so_at_the_deadline() {
    let stage = Stage::set().await;
    let mut running = stage.begin().await;
    let call = Stage::call(&stage.waits, "waits").deadline(Duration::from_millis(60));
    let told = order(&call, stage.shop.clone(), "order 0".to_owned()).await.expect_err("it is running elsewhere");
    assert!(matches!(told.kind(), RefusalKind::InProgress { .. }), "{told:?}");
    for _ in 0..OPERATIONS {
        stage.shop.gate.open();
    }
    while let Some(answer) = running.join_next().await {
        answer.expect("no panic").expect("ordered");
    }
    assert_eq!(stage.shop.world.effects().len(), OPERATIONS);
}
