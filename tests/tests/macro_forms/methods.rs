//! Methods: whose `self` it was, and which tool.
//!
//! `&self` is state: two selves are told apart only where the scope or the key names something of them.

use std::sync::Arc;

use idem_runtime::{RefusalKind, ToolCall, idempotent, outcome};
use idem_tests::{
    tools::ToolError,
    world::{World, every_store},
};

use crate::{fresh, refused, replayed, told};

/// Refunds of one merchant.
#[derive(Debug)]
struct Refunds {
    merchant: &'static str,
    world: World,
}

impl Refunds {
    fn new(merchant: &'static str, world: &World) -> Self {
        Self { merchant, world: world.clone() }
    }

    fn refund(&self, id: &str) -> String {
        let what = format!("{}: {id}", self.merchant);
        self.world.effect(&what);
        what
    }

    /// Self is state.
    #[idempotent(scope = "conversation")]
    pub(crate) async fn for_anybody(&self, call: &ToolCall, id: &str) -> Result<String, ToolError> {
        Ok(self.refund(id))
    }

    /// The scope tells selves apart.
    #[idempotent(scope = "conversation+{self.merchant}")]
    pub(crate) async fn by_scope(&self, call: &ToolCall, id: &str) -> Result<String, ToolError> {
        Ok(self.refund(id))
    }

    /// The key tells them apart.
    #[idempotent(scope = "conversation", key = "template:{self.merchant}/{id}")]
    pub(crate) async fn by_key(&self, call: &ToolCall, id: &str) -> Result<String, ToolError> {
        Ok(self.refund(id))
    }

    /// Owned by the body.
    #[idempotent(scope = "conversation", detach)]
    pub(crate) async fn owned(self: Arc<Self>, call: &ToolCall, id: String) -> Result<String, ToolError> {
        Ok(self.refund(&id))
    }

    /// Without a self.
    #[idempotent(scope = "conversation")]
    pub(crate) async fn associated(
        call: &ToolCall,
        id: String,
        #[idem(state)] me: Arc<Self>,
    ) -> Result<String, ToolError> {
        Ok(me.refund(&id))
    }

    /// Without a sibling.
    #[idempotent(scope = "conversation", outcome = false)]
    async fn alone(call: &ToolCall, id: String, #[idem(state)] world: World) -> Result<String, ToolError> {
        world.effect(&id);
        Ok(id)
    }
}

#[tokio::test]
async fn self_is_state_where_nothing_names_it() {
    for setup in every_store().await {
        let (a, b) = (Refunds::new("A", &setup.world), Refunds::new("B", &setup.world));
        assert_eq!(fresh(a.for_anybody_outcome(&setup.call_as("call_1", 1), "r-1").await), "A: r-1");
        assert_eq!(replayed(b.for_anybody_outcome(&setup.call_as("call_1", 1), "r-1").await).0, "A: r-1");
        assert_eq!(setup.world.effects(), ["A: r-1"], "{}", setup.name());
    }
}

#[tokio::test]
async fn r015_selves_that_the_scope_names_never_share_a_result() {
    for setup in every_store().await {
        let (a, b) = (Refunds::new("A", &setup.world), Refunds::new("B", &setup.world));
        // The same id in the same turn, twice each: only the merchant differs.
        for _ in 0..2 {
            let call = setup.call_as("call_1", 1);
            assert_eq!(a.by_scope(&call, "r-1").await.expect("a result"), "A: r-1");
            assert_eq!(b.by_scope(&call, "r-1").await.expect("a result"), "B: r-1");
        }
        assert_eq!(setup.world.effects(), ["A: r-1", "B: r-1"], "{}", setup.name());
    }
}

#[tokio::test]
async fn r015_selves_that_the_key_names_never_share_a_result() {
    for setup in every_store().await {
        let (a, b) = (Refunds::new("A", &setup.world), Refunds::new("B", &setup.world));
        for turn in 1..3 {
            let call = setup.call_as("call_1", turn);
            assert_eq!(a.by_key(&call, "r-1").await.expect("a result"), "A: r-1");
            assert_eq!(b.by_key(&call, "r-1").await.expect("a result"), "B: r-1");
        }
        assert_eq!(setup.world.effects(), ["A: r-1", "B: r-1"], "{}", setup.name());
    }
}

#[tokio::test]
async fn a_self_that_the_body_owns_is_guarded() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let mine = Arc::new(Refunds::new("A", &setup.world));
        assert_eq!(fresh(Arc::clone(&mine).owned_outcome(&call, "r-1".to_owned()).await), "A: r-1");
        assert_eq!(replayed(mine.owned_outcome(&call, "r-1".to_owned()).await).0, "A: r-1");
        assert_eq!(setup.world.effects(), ["A: r-1"], "{}", setup.name());
    }
}

#[tokio::test]
async fn functions_without_a_self_in_an_impl_block_are_guarded() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let me = Arc::new(Refunds::new("A", &setup.world));
        assert_eq!(fresh(Refunds::associated_outcome(&call, "r-1".to_owned(), Arc::clone(&me)).await), "A: r-1");
        assert_eq!(replayed(Refunds::associated_outcome(&call, "r-1".to_owned(), me).await).0, "A: r-1");
        let alone = || outcome(Refunds::alone(&call, "r-2".to_owned(), setup.world.clone()));
        assert_eq!(fresh(alone().await), "r-2");
        assert_eq!(replayed(alone().await).0, "r-2");
        assert_eq!(setup.world.effects(), ["A: r-1", "r-2"], "{}", setup.name());
    }
}

/// Two modules with a tool of one name, and two types with a method of one.
mod billing {
    use super::{Refunds, ToolCall, ToolError, World, idempotent};

    #[idempotent(scope = "conversation")]
    pub(super) async fn send(call: &ToolCall, id: String, #[idem(state)] world: World) -> Result<String, ToolError> {
        world.effect("billing");
        Ok(format!("billing {id}"))
    }

    pub(super) struct Credits(pub(super) World);

    impl Credits {
        #[idempotent(scope = "conversation")]
        pub(super) async fn send(&self, call: &ToolCall, id: String) -> Result<String, ToolError> {
            self.0.effect("credit");
            Ok(format!("credit {id}"))
        }
    }

    impl Refunds {
        #[idempotent(scope = "conversation")]
        pub(super) async fn send(&self, call: &ToolCall, id: String) -> Result<String, ToolError> {
            self.world.effect("refund");
            Ok(format!("refund {id}"))
        }
    }
}

mod mail {
    use super::{ToolCall, ToolError, World, idempotent};

    #[idempotent(scope = "conversation")]
    pub(super) async fn send(call: &ToolCall, id: String, #[idem(state)] world: World) -> Result<String, ToolError> {
        world.effect("mail");
        Ok(format!("mail {id}"))
    }
}

#[tokio::test]
async fn r012_functions_and_methods_of_one_name_are_tools_of_their_own() {
    for setup in every_store().await {
        let (call, world) = (setup.call_as("call_1", 1), &setup.world);
        let id = || "1".to_owned();
        let outcomes = [
            billing::send_outcome(&call, id(), world.clone()).await,
            mail::send_outcome(&call, id(), world.clone()).await,
            billing::Credits(world.clone()).send_outcome(&call, id()).await,
            Refunds::new("A", world).send_outcome(&call, id()).await,
        ];
        let (values, tools): (Vec<_>, Vec<_>) = outcomes
            .into_iter()
            .map(|outcome| {
                let (value, told) = told(outcome);
                (value, told.record.tool().to_owned())
            })
            .unzip();
        assert_eq!(values, ["billing 1", "mail 1", "credit 1", "refund 1"]);
        let here = module_path!();
        let names = ["billing::send", "mail::send", "billing::Credits::send", "billing::Refunds::send"];
        assert_eq!(tools, names.map(|name| format!("{here}::{name}")));
        assert_eq!(world.effects(), ["billing", "mail", "credit", "refund"], "{}", setup.name());
    }
}

/// Tools that somebody gave one name.
mod namesakes {
    use super::{ToolCall, ToolError, World, idempotent};

    #[idempotent(scope = "conversation", name = "billing.pay")]
    pub(super) async fn pay(call: &ToolCall, id: u64, #[idem(state)] world: World) -> Result<u64, ToolError> {
        world.effect("pay");
        Ok(id)
    }

    #[idempotent(scope = "conversation", name = "billing.pay")]
    pub(super) async fn pay_again(call: &ToolCall, id: u64, #[idem(state)] world: World) -> Result<u64, ToolError> {
        world.effect("pay again");
        Ok(id)
    }
}

#[tokio::test]
async fn r012_a_name_that_is_given_twice_is_refused() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let (value, told) = told(namesakes::pay_outcome(&call, 1, setup.world.clone()).await);
        assert_eq!((value, told.record.tool()), (1, "billing.pay"));
        let refusal = refused(namesakes::pay_again_outcome(&call, 1, setup.world.clone()).await);
        assert_eq!(*refusal.kind(), RefusalKind::Invalid);
        assert!(refusal.to_model_text().contains("`billing.pay`"), "{}", refusal.to_model_text());
        assert_eq!(setup.world.effects(), ["pay"], "{}", setup.name());
    }
}

/// What a tool set of traits looks like.
trait Sends {
    fn send(&self, call: &ToolCall, id: u64) -> impl Future<Output = Result<u64, ToolError>> + Send;
}

struct Plain(World);

impl Sends for Plain {
    #[idempotent(scope = "conversation")]
    async fn send(&self, call: &ToolCall, id: u64) -> Result<u64, ToolError> {
        self.0.effect(format!("plain {id}"));
        Ok(id)
    }
}

#[async_trait::async_trait]
trait SendsBoxed: Sync {
    async fn send_boxed(&self, call: &ToolCall, pair: (u64, u64)) -> Result<u64, ToolError>;
}

/// The other attribute above: it has boxed the future before ours sees it.
#[async_trait::async_trait]
impl SendsBoxed for Plain {
    #[idempotent(scope = "conversation")]
    async fn send_boxed(&self, call: &ToolCall, (mut id, more): (u64, u64)) -> Result<u64, ToolError> {
        id += more;
        self.0.effect(format!("boxed {id}"));
        Ok(id)
    }
}

#[tokio::test]
async fn methods_of_trait_impls_tell_their_outcome() {
    for setup in every_store().await {
        let tool = Plain(setup.world.clone());
        let boxed: Box<dyn SendsBoxed> = Box::new(Plain(setup.world.clone()));
        let call = setup.call_as("call_1", 1);
        assert_eq!(fresh(outcome(tool.send(&call, 1)).await), 1);
        assert_eq!(replayed(outcome(tool.send(&call, 1)).await), (1, "args"));
        assert_eq!(fresh(outcome(boxed.send_boxed(&call, (2, 3))).await), 5);
        assert_eq!(replayed(outcome(boxed.send_boxed(&call, (2, 3))).await), (5, "args"));
        // A new intent: the parts of the pair are arguments.
        assert_eq!(fresh(outcome(boxed.send_boxed(&setup.call_as("call_2", 2), (3, 2))).await), 5);
        assert_eq!(setup.world.effects(), ["plain 1", "boxed 5", "boxed 5"], "{}", setup.name());
    }
}
