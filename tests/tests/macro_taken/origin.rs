//! Tools that `macro_rules!` writes: whose `self`, whose names and whose literals they are must not get lost.

use idem_runtime::{Refusal, ToolCall, idempotent};

macro_rules! refunds {
    ($name:ident, $x:ident: $t:ty, $scope:literal, $body:expr) => {
        struct $name {
            inner: $t,
        }

        impl $name {
            #[idempotent(scope = $scope, key = "tool_call_id|template:{self.inner}-{x}")]
            async fn go(&self, call: &ToolCall, x: $t, $x: $t) -> Result<$t, Refusal> {
                macro_rules! inner {
                    ($me:ident) => {
                        $me.inner
                    };
                }
                call.reference("go");
                let body: $t = $body;
                Ok(inner!(self) + self.inner + x + $x + body)
            }
        }

        #[idempotent(scope = $scope)]
        async fn free(x: $t, mut $x: $t) -> Result<$t, Refusal> {
            $x += x;
            Ok($x)
        }
    };
}

refunds!(Refunds, y: u8, "conversation", 3);

macro_rules! method {
    ($($method:tt)*) => {
        impl Refunds {
            $($method)*
        }
    };
}

method! {
    #[idempotent(scope = "conversation+{self.inner}")]
    async fn passed_through(&self, (a, b): (u8, u8)) -> Result<u8, Refusal> {
        Ok(self.inner + a + b)
    }
}

#[test]
fn r118_a_tool_from_macro_rules_is_taken() {
    let refunds = Refunds { inner: 1 };
    drop((refunds.passed_through((1, 2)), free(1, 2)));
    let _ = async |call: &ToolCall| refunds.go(call, 1, 2).await;
}
