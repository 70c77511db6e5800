//! An rmcp server with guarded tools, called by real rmcp clients and by raw requests.
//!
//! Effects are counted at the bank, never by calls. What hosts send is written down in the tests, not copied from one.

#[path = "server/bank.rs"]
mod bank;
#[path = "server/calls.rs"]
mod calls;
#[path = "server/hints.rs"]
mod hints;
#[path = "server/http.rs"]
mod http;
#[path = "server/ids.rs"]
mod ids;
#[path = "server/log.rs"]
mod log;
#[path = "server/rounds.rs"]
mod rounds;
#[path = "server/shop.rs"]
mod shop;
#[path = "server/wire.rs"]
mod wire;
