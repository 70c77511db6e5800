//! Tenants, scopes and principals: nothing crosses them, whatever is guessed, and nothing runs without them.

use std::time::{Duration, Instant};

use idem_runtime::{
    Idem, OperationId, Outcome, Refusal, RefusalKind, Tenant, ToolCall, ToolCallSource, idempotent, prepare,
};
use idem_tests::{
    tools::ToolError,
    world::{Setup, TENANT, World, every_store, lasting_with},
};

#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn refund(call: &ToolCall, order: String, #[idem(state)] world: World) -> Result<String, ToolError> {
    Ok(format!("refund {} of {order}", world.effect(order.clone())))
}

fn of(setup: &Setup, tenant: &str) -> ToolCall {
    setup.idem.call().tenant(tenant).conversation("c-1").tool_call_id("call_1").turn(1)
}

async fn told(setup: &Setup, call: &ToolCall, order: &str) -> Outcome<String> {
    refund_outcome(call, order.into(), setup.world.clone()).await
}

fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

// R-S3
#[tokio::test]
async fn r030_two_tenants_with_equal_calls_are_two_operations() {
    for setup in every_store().await {
        let first = told(&setup, &of(&setup, "T1"), "A-1").await;
        let second = told(&setup, &of(&setup, "T2"), "A-1").await;
        assert_eq!(setup.world.effects(), ["A-1", "A-1"], "{}", setup.name());
        assert_eq!(setup.operations().await, 2);
        assert_eq!(first.value().map(String::as_str), Some("refund 1 of A-1"));
        assert_eq!(second.value().map(String::as_str), Some("refund 2 of A-1"));
        let again = told(&setup, &of(&setup, "T2"), "A-1").await;
        assert!(again.is_replay());
        assert_eq!(again.value().map(String::as_str), Some("refund 2 of A-1"));
        if let Some(home) = &setup.home {
            // In the file the unique index is over a scope, and a scope is one tenant's by its own; in the server every key
            // begins with the tenant.
            let first_of_key = |table: &str| -> String {
                let columns: Vec<String> = home.column(&if home.place().is_server() {
                    format!(
                        "select a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid
                         and a.attnum = i.indkey[0] where i.indisprimary and i.indrelid = '{table}'::regclass"
                    )
                } else if table == "idem_scopes" {
                    "select name from pragma_index_info('sqlite_autoindex_idem_scopes_1') where seqno = 0".to_owned()
                } else {
                    format!("select name from pragma_table_info('{table}') where pk = 1")
                });
                columns.concat()
            };
            assert_eq!(first_of_key("idem_scopes"), "tenant");
            assert_eq!(first_of_key("idem_identities"), if home.place().is_server() { "tenant" } else { "scope" });
            assert_eq!(home.column::<i64>("select count(distinct tenant) from idem_scopes"), [2]);
        }
    }
}

// R-X1
#[tokio::test]
async fn r031_another_tenant_s_key_and_id_reveal_nothing() {
    for setup in every_store().await {
        let first = told(&setup, &of(&setup, "T1"), "A-1").await;
        let Outcome::Succeeded(success) = &first else { panic!("{first:?}") };
        let operation = success.told.operation;
        // The stored key's text, in every form there is of it, as an id of another tenant.
        for text in success.told.record.key().into_iter().chain([operation.to_string()]) {
            let crafted =
                setup.idem.call().tenant("T2").conversation("c-1").tool_call_id(&*text).turn(1).operation_id(&*text);
            let fresh = told(&setup, &crafted, &format!("by {text}")).await;
            assert!(matches!(&fresh, Outcome::Succeeded(it) if it.told.replay.is_none()), "{fresh:?}");
        }
        // The record itself, stolen.
        let stolen = setup.idem.call().tenant("T2").conversation("c-1").resume(success.told.record.clone());
        let foreign = refusal(told(&setup, &stolen, "A-1").await);
        assert_eq!((foreign.kind(), foreign.operation()), (&RefusalKind::Invalid, None));
        assert!(!foreign.to_string().contains("refund 1"), "{foreign}");
        // Reading by id: not found, as for an id that nobody has, and not slower or faster by much.
        let tenants = ["T2", "T3"].map(|name| Tenant::new(name).expect("a tenant"));
        let random = OperationId::from_bytes(*b"0123456789abcdefghij");
        let mut spans = [Vec::new(), Vec::new()];
        for _ in 0..501 {
            for (id, spans) in [operation, random].into_iter().zip(&mut spans) {
                let asked = Instant::now();
                assert_eq!(setup.idem.show(&tenants[0], id).await.expect("readable"), None, "{}", setup.name());
                spans.push(asked.elapsed());
            }
        }
        let [of_theirs, of_nobody] = spans.map(|mut spans| {
            spans.sort();
            spans[spans.len() / 2]
        });
        let (slow, fast) = (of_theirs.max(of_nobody), of_theirs.min(of_nobody));
        assert!(slow <= fast * 3 + Duration::from_micros(50), "{of_theirs:?} and {of_nobody:?}");
        assert_eq!(setup.idem.show(&tenants[1], operation).await.expect("readable"), None);
        let owner = Tenant::new("T1").expect("a tenant");
        assert!(setup.idem.show(&owner, operation).await.expect("readable").is_some());
        assert_eq!(setup.idem.drifted(&tenants[0], 10).await.expect("a list"), []);
    }
}

/// What an application hands its tools.
#[derive(Debug, Clone)]
struct Context {
    call: ToolCall,
}

impl ToolCallSource for Context {
    fn tool_call(&self) -> Option<ToolCall> {
        Some(self.call.clone())
    }
}

#[idempotent(scope = "conversation", key = "args", ctx = context)]
async fn answer(context: Context, question: String, #[idem(state)] world: World) -> Result<usize, ToolError> {
    let _ = context;
    Ok(world.effect(question))
}

// R-S3
#[tokio::test]
async fn r033_the_context_is_no_argument_and_its_tenant_counts() {
    for setup in every_store().await {
        let context = |tenant| Context { call: of(&setup, tenant) };
        let told = async |tenant| answer_outcome(context(tenant), "q".into(), setup.world.clone()).await;
        let (acme, evil) = (told("acme").await, told("evil").await);
        assert!(!acme.is_replay() && !evil.is_replay(), "{}", setup.name());
        assert_eq!((acme.value(), evil.value()), (Some(&1), Some(&2)));
        assert_eq!(setup.world.count("q"), 2);
        assert_eq!((told("acme").await.value(), told("evil").await.value()), (Some(&1), Some(&2)));
        assert_eq!(setup.world.count("q"), 2);
    }
}

macro_rules! scoped {
    ($($name:ident = $scope:literal),+ $(,)?) => {
        $(#[idempotent(scope = $scope, key = "args")]
        async fn $name(call: &ToolCall, a: u8, #[idem(state)] world: World) -> Result<usize, ToolError> {
            let _ = a;
            Ok(world.effect(stringify!($name)))
        })+
    };
}

scoped! {
    in_conversation = "conversation",
    in_workflow = "workflow",
    for_user = "user",
    in_tenant = "tenant",
    anywhere = "global",
    in_cart = "named:cart",
}

#[tokio::test]
async fn r_s2_each_scope_separates_and_joins_as_it_says() {
    for setup in every_store().await {
        let world = || setup.world.clone();
        let call = |at: &str| {
            let call = setup.idem.call().tenant(TENANT).conversation(at).workflow(at);
            call.user(at).scope("cart", at)
        };
        for at in ["x", "y", "x"] {
            let call = call(at);
            in_conversation(&call, 1, world()).await.expect("once each");
            in_workflow(&call, 1, world()).await.expect("once each");
            for_user(&call, 1, world()).await.expect("once each");
            in_cart(&call, 1, world()).await.expect("once each");
            in_tenant(&call, 1, world()).await.expect("once");
            anywhere(&call, 1, world()).await.expect("once");
        }
        for (name, count) in [
            ("in_conversation", 2),
            ("in_workflow", 2),
            ("for_user", 2),
            ("in_cart", 2),
            ("in_tenant", 1),
            ("anywhere", 1),
        ] {
            assert_eq!(setup.world.count(name), count, "{name} on {}", setup.name());
        }
        // A name of the application's own is not a kind of ours that is called so.
        let named = prepare(in_cart(&call("x"), 1, world())).await.expect("a record");
        assert_ne!(named.key(), prepare(in_workflow(&call("x"), 1, world())).await.expect("a record").key());
    }
}

#[tokio::test]
async fn r_s3_the_tenant_takes_part_in_every_scope_and_is_required() {
    for setup in every_store().await {
        let world = || setup.world.clone();
        for tenant in ["T1", "T2"] {
            let call = setup.idem.call().tenant(tenant);
            in_tenant(&call, 1, world()).await.expect("run");
            anywhere(&call, 1, world()).await.expect("run");
        }
        assert_eq!((setup.world.count("in_tenant"), setup.world.count("anywhere")), (2, 2), "{}", setup.name());
        let before = setup.operations().await;
        for call in [setup.idem.call(), setup.idem.call().tenant(""), setup.idem.call().tenant(" \t")] {
            let refusal = refusal(in_tenant_outcome(&call, 1, world()).await);
            assert_eq!(refusal.kind(), &RefusalKind::Invalid);
            assert!(refusal.to_string().contains("tenant"), "{refusal}");
        }
        assert_eq!(setup.operations().await, before);
    }
    for single in lasting_with(|| Idem::builder().single_tenant("only")).await {
        in_tenant(&single.idem.call(), 1, single.world.clone())
            .await
            .expect("an application with one tenant says so once");
    }
    assert!(Idem::builder().single_tenant(" ").open("memory:").await.is_err());
}

// R-X3
#[tokio::test]
async fn r_s4_a_call_without_its_tool_s_scope_is_refused_before_anything() {
    for setup in every_store().await {
        let world = || setup.world.clone();
        let bare = setup.idem.call().tenant(TENANT).tool_call_id("call_1").turn(1);
        let calls =
            [bare.clone(), bare.clone().conversation(""), bare.clone().conversation(" "), bare.scope("cart", "")];
        for call in calls {
            for refusal in [
                refusal(in_conversation_outcome(&call, 1, world()).await),
                refusal(in_workflow_outcome(&call, 1, world()).await),
                refusal(for_user_outcome(&call, 1, world()).await),
                refusal(in_cart_outcome(&call, 1, world()).await),
            ] {
                assert_eq!((refusal.kind(), refusal.operation()), (&RefusalKind::Invalid, None));
            }
        }
        let told = refusal(in_cart_outcome(&setup.idem.call().tenant(TENANT), 1, world()).await);
        assert!(told.to_string().contains("`cart`"), "names the scope: {told}");
        assert_eq!(setup.operations().await, 0, "{}", setup.name());
        assert_eq!(setup.world.effects(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn r_s4_a_tool_that_no_call_reaches_is_not_run_unguarded() {
    #[idempotent(scope = "tenant", key = "args")]
    async fn alone(a: u8, #[idem(state)] world: World) -> Result<usize, ToolError> {
        let _ = a;
        Ok(world.effect("alone"))
    }
    for setup in every_store().await {
        let refusal = refusal(alone_outcome(1, setup.world.clone()).await);
        assert_eq!(refusal.kind(), &RefusalKind::Invalid);
        assert_eq!((setup.operations().await, setup.world.effects().len()), (0, 0), "{}", setup.name());
        let call = setup.idem.call().tenant(TENANT);
        idem_runtime::scope(call, alone(1, setup.world.clone())).await.expect("with the task's call");
        assert_eq!(setup.world.effects(), ["alone"]);
    }
}

#[tokio::test]
async fn r_s5_two_different_calls_both_happen_and_one_call_twice_happens_once() {
    for setup in every_store().await {
        for (id, order) in
            [("call_1", "A-1"), ("call_2", "A-2"), ("call_1", "A-1"), ("call_3", "A-1"), ("call_2", "A-2")]
        {
            told(&setup, &setup.call_as(id, 1), order).await.into_result().expect("an answer");
        }
        assert_eq!(setup.world.effects(), ["A-1", "A-2"], "{}", setup.name());
        assert_eq!(setup.operations().await, 2);
    }
}

#[tokio::test]
async fn r_l2_another_principal_s_reuse_is_refused() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let (alice, bob) = (call.clone().principal("alice/refunds"), call.clone().principal("bob/refunds"));
        let first = told(&setup, &alice, "A-1").await;
        for stranger in [&bob, &call] {
            let refusal = refusal(told(&setup, stranger, "A-1").await);
            assert_eq!(refusal.kind(), &RefusalKind::OtherPrincipal, "{}", setup.name());
            assert_eq!((refusal.operation(), refusal.kind().name()), (first.operation(), "rejected_key_conflict"));
            assert!(!refusal.to_model_text().contains("alice"), "{}", refusal.to_model_text());
        }
        let Outcome::Succeeded(success) = &first else { panic!("{first:?}") };
        let resumed = bob.resume(success.told.record.clone());
        assert_eq!(refusal(told(&setup, &resumed, "A-1").await).kind(), &RefusalKind::Invalid);
        assert!(told(&setup, &alice, "A-1").await.is_replay());
        assert_eq!(setup.world.effects(), ["A-1"]);
        let record = setup.record(success.told.operation).await;
        assert_eq!(record.principal.map(|it| it.to_string()).as_deref(), Some("alice/refunds"));
    }
}

// R-L2 R-K1
#[tokio::test]
async fn r_l2_two_attempts_are_two_attempts_of_one_record() {
    #[idempotent(scope = "conversation", key = "args", classify = idem_tests::tools::classify)]
    async fn second_time_lucky(call: &ToolCall, a: u8, #[idem(state)] world: World) -> Result<u32, ToolError> {
        let _ = a;
        if call.number() == 1 {
            return Err(ToolError::Busy);
        }
        world.effect("done");
        call.reference("rf_1");
        Ok(call.number())
    }
    for setup in every_store().await {
        let call = setup.call();
        let busy = refusal(second_time_lucky_outcome(&call, 1, setup.world.clone()).await);
        assert_eq!(busy.kind(), &RefusalKind::FailedRetryable);
        let done = second_time_lucky_outcome(&call, 1, setup.world.clone()).await;
        assert_eq!((done.value(), done.operation()), (Some(&2), busy.operation()));
        let record = setup.record(done.operation().expect("an operation")).await;
        assert_eq!((record.attempt, record.tool.version, record.reference.as_deref()), (2, 1, Some("rf_1")));
        assert_eq!(setup.operations().await, 1, "{}", setup.name());
        if let Some(home) = &setup.home {
            // The first attempt's token is the record's own handle; later ones have rows.
            assert_eq!(home.column::<i64>("select id from idem_operations"), [record.row]);
            assert_eq!(home.column::<i64>("select attempt from idem_attempts where fence > operation"), [2]);
            assert_eq!(home.column::<i64>("select fence from idem_attempts"), [record.fence]);
            let events: Vec<String> = home.column("select event from idem_history order by version");
            assert_eq!(events, ["settle_retryable", "reserve", "settle_ok"]);
        }
    }
}
