//! Whose operation it is: functions and methods of one name, instances, traits.

use idem_runtime::{ToolCall, idempotent};
use idem_tests::{
    tools::ToolError,
    world::{World, every_store},
};

mod billing {
    use super::*;

    #[idempotent(scope = "conversation", key = "args")]
    pub(super) async fn send(call: &ToolCall, id: u32, #[idem(state)] world: World) -> Result<usize, ToolError> {
        Ok(world.effect(format!("bill {id}")))
    }
}

mod mail {
    use super::*;

    #[idempotent(scope = "conversation", key = "args")]
    pub(super) async fn send(call: &ToolCall, id: u32, #[idem(state)] world: World) -> Result<usize, ToolError> {
        Ok(world.effect(format!("mail {id}")))
    }
}

struct Refunds(World);

struct Credits(World);

impl Refunds {
    #[idempotent(scope = "conversation", key = "args")]
    async fn send(&self, call: &ToolCall, id: u32) -> Result<usize, ToolError> {
        Ok(self.0.effect(format!("refund {id}")))
    }
}

impl Credits {
    #[idempotent(scope = "conversation", key = "args")]
    async fn send(&self, call: &ToolCall, id: u32) -> Result<usize, ToolError> {
        Ok(self.0.effect(format!("credit {id}")))
    }
}

#[tokio::test]
async fn r012_functions_and_methods_of_one_name_are_two_tools() {
    for setup in every_store().await {
        let (call, world) = (setup.call(), &setup.world);
        let (refunds, credits) = (Refunds(world.clone()), Credits(world.clone()));
        for _ in 0..2 {
            billing::send(&call, 1, world.clone()).await.expect("sent");
            mail::send(&call, 1, world.clone()).await.expect("sent");
            refunds.send(&call, 1).await.expect("sent");
            credits.send(&call, 1).await.expect("sent");
        }
        assert_eq!(world.effects(), ["bill 1", "mail 1", "refund 1", "credit 1"], "{}", setup.name());
        if let Some(home) = &setup.home {
            let mut tools: Vec<String> =
                home.column("select t.name from idem_operations o join idem_tools t on t.tool = o.tool");
            tools.sort();
            let expected = ["Credits::send", "Refunds::send", "billing::send", "mail::send"];
            assert_eq!(tools, expected.map(|name| format!("{}::{name}", module_path!())));
        }
    }
}

#[derive(Debug, Clone)]
struct RefundTool {
    merchant: &'static str,
    world: World,
}

impl RefundTool {
    #[idempotent(scope = "conversation+{self.merchant}", key = "args", name = "test.merchant_scope")]
    async fn refund(&self, call: &ToolCall, id: u32) -> Result<String, ToolError> {
        self.world.effect(format!("{} {id}", self.merchant));
        Ok(self.merchant.to_owned())
    }

    #[idempotent(scope = "conversation", key = "template:{self.merchant}:{id}", name = "test.merchant_key")]
    async fn credit(&self, call: &ToolCall, id: u32) -> Result<String, ToolError> {
        self.world.effect(format!("credit {} {id}", self.merchant));
        Ok(self.merchant.to_owned())
    }
}

// R-S2
#[tokio::test]
async fn r015_two_instances_that_scope_or_key_names_share_nothing() {
    for setup in every_store().await {
        let tool = |merchant| RefundTool { merchant, world: setup.world.clone() };
        let (a, b) = (tool("A"), tool("B"));
        for _ in 0..2 {
            assert_eq!(a.refund(&setup.call(), 1).await.expect("refunded"), "A");
            assert_eq!(b.refund(&setup.call(), 1).await.expect("refunded"), "B");
            assert_eq!(a.credit(&setup.call(), 1).await.expect("credited"), "A");
            assert_eq!(b.credit(&setup.call(), 1).await.expect("credited"), "B");
        }
        assert_eq!(setup.world.effects(), ["A 1", "B 1", "credit A 1", "credit B 1"], "{}", setup.name());
    }
}
