//! The runtime reached through another crate, and through a module of one's own.

use idem_facade::{Refusal, ToolCall};

mod house {
    pub(super) mod tools {
        pub(crate) use idem_runtime as runtime;
    }
}

#[idem_facade::idempotent(scope = "conversation", crate = idem_facade::engine)]
async fn through_a_facade(call: &ToolCall, order_id: String) -> Result<String, Refusal> {
    let _ = call;
    Ok(order_id)
}

#[house::tools::runtime::idempotent(scope = "conversation", crate = house::tools::runtime)]
async fn through_a_module(order_id: &str) -> Result<usize, Refusal> {
    Ok(order_id.len())
}

#[house::tools::runtime::idempotent(scope = "conversation", crate = "house::tools::runtime")]
async fn in_quotes(order_id: &str) -> Result<usize, Refusal> {
    Ok(order_id.len())
}

#[test]
fn r122_a_runtime_of_another_name_is_taken() {
    let _ = async |call: &ToolCall| idem_facade::pack_parcel(call, "p-1".to_owned()).await;
    let _ = async |call: &ToolCall| through_a_facade_outcome(call, "A-1".to_owned()).await;
    drop((through_a_module("A-1"), in_quotes("A-1")));
}
