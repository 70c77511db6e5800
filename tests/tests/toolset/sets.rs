//! What a set holds, and under which names.

#![expect(clippy::unused_async, reason = "a tool is an async function, whatever it does")]

use std::sync::Arc;

use idem_runtime::{Effect, ToolSet, tool, tools, toolset::Entry};
use idem_tests::{tools::ToolError, world::World};

use super::stage::{Shop, set};

/// Counts.
#[tool(effect = "read", name = "shop.count")]
async fn count(_shelf: String) -> Result<usize, ToolError> {
    Ok(1)
}

/// Counts, too.
#[tool(effect = "read", name = "shop_count")]
async fn count_again() -> Result<usize, ToolError> {
    Ok(2)
}

#[test]
fn two_tools_of_one_name_are_refused_with_both_places() {
    let error = tools![count, count_again].expect_err("one name");
    let told = error.to_string();
    assert!(told.starts_with("two tools are called `shop_count`, at "), "{told}");
    assert_eq!(told.matches("sets.rs:").count(), 2, "{told}");
    assert!(told.contains("give one of them another `name = "), "{told}");
    assert!(tools![count, count].is_err());
    assert!(tools![count].is_ok() && tools![].is_ok());
}

#[test]
fn a_tool_is_found_as_models_call_it_and_as_it_is_written() {
    let tools = set(&Shop::new(&World::default()));
    let names: Vec<&str> = tools.entries().map(Entry::name).collect();
    let expected = [
        "billing_refund",
        "list_orders",
        "ship",
        "close_account",
        "wait_for_gate",
        "meet",
        "meet_reading",
        "roll",
        "ring",
        "rings",
    ];
    assert_eq!(names, expected, "in the order in which they were given");
    for name in ["billing_refund", "billing.refund"] {
        let entry = tools.get(name).expect("a tool");
        assert_eq!(entry.spec().name(), "billing.refund");
    }
    assert!(tools.get("refund").is_none() && ToolSet::default().get("").is_none());
    let shared = Arc::new(tools);
    assert_eq!(shared.get("list_orders").map(Entry::effect), Some(Effect::Read));
}

#[test]
fn what_is_printed_of_a_set_has_no_state() {
    let shop = Shop::new(&World::default());
    shop.world.effect("a secret of the shop");
    let printed = format!("{:?}", set(&shop));
    assert!(printed.contains("billing_refund") && !printed.contains("secret") && !printed.contains("sk_"), "{printed}");
}
