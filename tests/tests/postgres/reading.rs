//! Many callers look for what the database holds.
//!
//! Statements are counted by the server: whatever looks for a tenant's number takes a number of a sequence.

use std::sync::Arc;

use idem_runtime::{
    Idem, OperationId, PostgresStore, Refusal, Source, Tenant, ToolCall, idempotent,
    ledger::{Alias, BoxFuture, Find, Found, Identity, Listing, Reader, Store},
    testing::postgres::Cluster,
};
use idem_tests::world::{World, config};
use tokio::task::JoinSet;

const CALLERS: usize = 64;
const TENANTS: usize = 7;
const ROUNDS: u64 = 10;

#[idempotent(scope = "conversation", key = "args")]
async fn order(call: &ToolCall, #[idem(state)] world: World, what: String) -> Result<String, Refusal> {
    world.effect(&what);
    Ok(format!("ordered {what}"))
}

/// A ledger with an operation for every caller, in a process that remembers nothing: each replay is read from the database.
struct Stage {
    cluster: Cluster,
    schema: String,
    idem: Idem,
    reader: Arc<dyn Reader>,
    world: World,
}

/// An operation as the store is asked for it.
struct Asked {
    tenant: Tenant,
    scope: [u8; 32],
    identities: Vec<Identity>,
    operation: OperationId,
}

impl Asked {
    fn find(&self) -> Find<'_> {
        Find { tenant: &self.tenant, scope: &self.scope, identities: &self.identities }
    }

    /// Whether this is its answer.
    fn is(&self, found: Found) -> bool {
        let found = found.expect("an answer").pop().flatten().expect("a record");
        found.record.operation == self.operation && found.record.stored.is_some()
    }
}

impl Stage {
    async fn set() -> Self {
        Self::on(Cluster::start().expect("a server")).await
    }

    async fn on(cluster: Cluster) -> Self {
        let address = cluster.ledger().expect("a schema");
        let builder = Idem::builder().config(config(|config| config.cache_bytes = 0));
        let idem = builder.open(&address).await.expect("a ledger");
        let reader = PostgresStore::open(&address).await.expect("a ledger").reader();
        let schema = address.rsplit("%3D").next().expect("a schema").to_owned();
        let stage = Self { cluster, schema, idem, reader, world: World::default() };
        stage.round(0).await;
        assert_eq!(stage.world.effects().len(), CALLERS);
        stage
    }

    /// Every caller calls at once, under ids of their own.
    async fn round(&self, turn: u64) {
        let mut calls = JoinSet::new();
        for nth in 0..CALLERS {
            let call = self.idem.call().tenant(format!("tenant {}", nth % TENANTS)).conversation("c").turn(turn);
            let (call, world) = (call.tool_call_id(format!("{turn}-{nth}")), self.world.clone());
            calls.spawn(async move { order(&call, world, format!("order {nth}")).await });
        }
        for told in calls.join_all().await {
            assert!(told.expect("ordered").starts_with("ordered order "));
        }
    }

    /// Everything that was ordered.
    async fn all(&self) -> Vec<Asked> {
        let mut all = Vec::new();
        for nth in 0..TENANTS {
            let tenant = Tenant::new(format!("tenant {nth}")).expect("a tenant");
            let listing = Listing { records_max: 100, ..Default::default() };
            for record in self.reader.list(&tenant, &listing).await.expect("records") {
                let detail = self.reader.detail(&tenant, record.operation).await.expect("read").expect("a detail");
                let by_args = detail.identities.into_iter().filter(|identity| identity.source == Source::Args);
                let identity = |it: Alias| Identity { source: it.source, digest: it.digest, generation: None };
                all.push(Asked {
                    tenant: tenant.clone(),
                    scope: detail.scope,
                    identities: by_args.map(identity).collect(),
                    operation: record.operation,
                });
            }
        }
        assert_eq!(all.len(), CALLERS);
        all
    }

    fn say(&self, statements: &str) {
        self.cluster.say(&format!("set search_path = {}; {statements}", self.schema)).expect("carried out");
    }

    /// From here on statements that look for a tenant's number are counted.
    fn count(&self) {
        self.say(
            "create sequence statements; alter table idem_tenants rename to tenants;
             create view idem_tenants as
             select tenant, name from tenants where (select nextval('statements')) > 0",
        );
    }

    /// There were as many as this says.
    fn counted(&self, so_many: &str) {
        self.say(&format!(
            "do $$ declare statements bigint := (select last_value * is_called::int from statements);
             begin
                 if not statements {so_many} then raise exception 'there were % statements', statements; end if;
             end $$"
        ));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_that_are_asked_together_are_one_statement() {
    let stage = Stage::set().await;
    let all = stage.all().await;
    stage.count();
    let finds: Vec<Find<'_>> = all.iter().map(Asked::find).collect();
    for (asked, found) in all.iter().zip(stage.reader.find_all(&finds).await) {
        assert!(asked.is(found));
    }
    stage.counted("= 1");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_waits_for_a_connection_is_one_statement() {
    let stage = Stage::set().await;
    let all = stage.all().await;
    stage.count();
    // All ask before the first is answered: that takes a way to the server and back.
    let asking: Vec<BoxFuture<'_, Found>> = all.iter().map(|asked| stage.reader.find(asked.find())).collect();
    for (asked, found) in all.iter().zip(asking) {
        assert!(asked.is(found.await));
    }
    stage.counted("between 1 and 16");
}

#[tokio::test(flavor = "multi_thread")]
async fn replays_of_many_callers_come_with_few_statements() {
    let stage = Stage::set().await;
    stage.count();
    for turn in 1..=ROUNDS {
        stage.round(turn).await;
    }
    assert_eq!(stage.world.effects().len(), CALLERS);
    // As many as replays, if each were asked alone.
    stage.counted("between 10 and 160");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_row_fails_its_own_question_only() {
    let stage = Stage::set().await;
    let all = stage.all().await;
    let damaged = &all[CALLERS / 2];
    let row = stage.reader.show(&damaged.tenant, damaged.operation).await.expect("read").expect("a record").row;
    stage.say(&format!(
        "alter table idem_results rename to results;
         create view idem_results as
         select tenant, operation, kind / (case operation when {row} then 0 else 1 end)::smallint as kind, bytes
         from results"
    ));
    let finds: Vec<Find<'_>> = all.iter().map(Asked::find).collect();
    for (asked, found) in all.iter().zip(stage.reader.find_all(&finds).await) {
        if asked.operation == damaged.operation {
            found.expect_err("it cannot be read");
        } else {
            assert!(asked.is(found));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_vanishes_leaves_the_others_their_answers() {
    let stage = Stage::set().await;
    let all = stage.all().await;
    let mut asking: Vec<_> = all.iter().map(|asked| Some(stage.reader.find(asked.find()))).collect();
    for vanished in asking.iter_mut().step_by(2) {
        *vanished = None;
    }
    for (asked, found) in all.iter().zip(asking) {
        if let Some(found) = found {
            assert!(asked.is(found.await));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_connection_is_made_anew_for_all_who_ask() {
    let stage = Stage::on(Cluster::own().expect("a server")).await;
    let all = stage.all().await;
    for _ in 0..2 {
        let finds: Vec<Find<'_>> = all.iter().map(Asked::find).collect();
        for (asked, found) in all.iter().zip(stage.reader.find_all(&finds).await) {
            assert!(asked.is(found));
        }
        stage.say("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'idem'");
    }
}
