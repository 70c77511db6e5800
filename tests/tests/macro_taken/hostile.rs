//! A module in which every name that generated code could want means something else.

#![allow(dead_code, unused_macros, unused_imports, reason = "hostile on purpose")]

use idem_runtime::{ToolCall, idempotent};

mod core {}
mod std {}
mod serde_json {}
mod __private {}
struct Box;
struct Vec;
struct String;
struct Error;
struct Guard;
struct Arguments;
struct Outcome;
type Result<T> = ::core::result::Result<T, Error>;

enum Odd {
    Ok,
    Some,
    None,
    Err,
}
use Odd::{Err, None, Ok, Some};

trait Future {}
trait From {}
trait Into {}

const fn drop() {}
const fn outcome() {}
const fn current() {}

macro_rules! policy {
    () => {};
}
macro_rules! module_path {
    () => {};
}
macro_rules! concat {
    () => {};
}

impl ::core::convert::From<idem_runtime::Refusal> for Error {
    fn from(_: idem_runtime::Refusal) -> Self {
        Self
    }
}

#[derive(serde::Serialize)]
struct A {
    b: u8,
}

#[expect(clippy::unused_async, reason = "a check that has nothing to ask")]
async fn check(_: &u8) -> Result<()> {
    Result::Ok(())
}

#[idempotent(scope = "conversation", key = "tool_call_id|template:x-{a.b}|args(a)", content = "note")]
async fn of_our_names(
    call: &ToolCall,
    a: A,
    __idem_args: u8,
    __idem_call: u8,
    __idem_arg1: u8,
    note: u8,
) -> Result<u8> {
    let _ = call;
    Result::Ok(a.b + __idem_args + __idem_call + __idem_arg1 + note)
}

#[idempotent(scope = "conversation", validate = check)]
async fn checked(a: u8) -> Result<u8> {
    Result::Ok(a)
}

struct Own;

impl Own {
    /// Named like the methods of the guard.
    #[idempotent(scope = "conversation", name = "own.in_place", version = 2)]
    async fn in_place(&self, call: ToolCall, a: u8) -> Result<u8> {
        let _ = call;
        Result::Ok(a)
    }
}

#[test]
fn r121_hostile_names_are_taken() {
    // The calls are never polled.
    let _ = async |call: &ToolCall| of_our_names(call, A { b: 1 }, 2, 3, 4, 5).await;
    let _ = async |call: ToolCall| Own.in_place(call, 1).await;
    let _ = async || checked(1).await;
}
