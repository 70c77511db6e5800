//! The server as its hosts run it: a child over stdio, and over HTTP, restarted between a call and the same call again.
//!
//! Refunds are counted in the till. It must not know how the server is written.

use std::{path::Path, process::Stdio};

use rmcp::{
    RoleClient, ServiceExt,
    model::{CallToolRequestParams, CallToolResult, RequestMetaObject},
    service::RunningService,
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

/// The server on files in this folder.
fn server(home: &Path, transport: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_refund-server"));
    command.args(transport).arg("--ledger").arg(home.join("idem.db")).arg("--till").arg(home.join("till.txt"));
    command
}

async fn over_stdio(home: &Path) -> RunningService<RoleClient, ()> {
    let child = TokioChildProcess::new(server(home, &["stdio"])).expect("the server starts");
    ().serve(child).await.expect("it greets")
}

async fn over_http(home: &Path) -> (Child, RunningService<RoleClient, ()>) {
    let mut command = server(home, &["http", "127.0.0.1:0"]);
    let mut child = command.stderr(Stdio::piped()).kill_on_drop(true).spawn().expect("the server starts");
    let mut lines = BufReader::new(child.stderr.take().expect("its stderr")).lines();
    let url = lines.next_line().await.expect("a line").expect("it says where it listens");
    let client = ().serve(StreamableHttpClientTransport::from_uri(url)).await.expect("it greets");
    (child, client)
}

/// A refund of an order, as a host calls for it.
async fn refund(client: &RunningService<RoleClient, ()>, order: &str, id: &str) -> CallToolResult {
    let mut params = CallToolRequestParams::new("send_refund");
    params.arguments = json!({ "order_id": order, "cents": 4_900 }).as_object().cloned();
    let host = json!({ "claudecode/toolUseId": id, "idem/conversation": "c-1" });
    params.meta = host.as_object().cloned().map(RequestMetaObject::from);
    client.call_tool(params).await.expect("a result")
}

fn is_replay(result: &CallToolResult) -> bool {
    result.meta.as_ref().and_then(|meta| meta.0.get("idem/replayed")) == Some(&Value::Bool(true))
}

fn refunds_of(home: &Path, order: &str) -> usize {
    let till = std::fs::read_to_string(home.join("till.txt")).unwrap_or_default();
    till.lines().filter(|line| line.starts_with(&format!("{order} "))).count()
}

#[tokio::test]
async fn a_host_that_restarts_its_server_sends_again_and_pays_once() {
    let home = tempfile::tempdir().expect("a folder");
    let client = over_stdio(home.path()).await;
    let first = refund(&client, "A-1", "toolu_1").await;
    assert!(first.is_error == Some(false) && !is_replay(&first), "{first:?}");
    client.cancel().await.expect("it ends");

    let client = over_stdio(home.path()).await;
    for id in ["toolu_1", "toolu_2"] {
        let again = refund(&client, "A-1", id).await;
        assert!(is_replay(&again), "{again:?}");
        assert_eq!(
            (again.structured_content, again.content),
            (first.structured_content.clone(), first.content.clone())
        );
    }
    assert!(!is_replay(&refund(&client, "A-2", "toolu_3").await));
    assert_eq!((refunds_of(home.path(), "A-1"), refunds_of(home.path(), "A-2")), (1, 1));
    client.cancel().await.expect("it ends");
}

#[tokio::test]
async fn a_call_over_stdio_is_known_to_a_server_over_http() {
    let home = tempfile::tempdir().expect("a folder");
    let client = over_stdio(home.path()).await;
    assert!(!is_replay(&refund(&client, "A-1", "toolu_1").await));
    client.cancel().await.expect("it ends");

    let (mut killed, client) = over_http(home.path()).await;
    assert!(is_replay(&refund(&client, "A-1", "toolu_1").await));
    assert!(!is_replay(&refund(&client, "A-2", "toolu_2").await));
    // Its client goes with it, and is not asked.
    killed.kill().await.expect("it is killed");

    let (_server, client) = over_http(home.path()).await;
    assert!(is_replay(&refund(&client, "A-2", "toolu_2").await));
    assert_eq!((refunds_of(home.path(), "A-1"), refunds_of(home.path(), "A-2")), (1, 1));
    let tools = client.list_all_tools().await.expect("the tools");
    let hints = |name: &str| tools.iter().find(|tool| tool.name == name).and_then(|tool| tool.annotations.clone());
    assert_eq!(hints("send_refund").and_then(|hints| hints.idempotent_hint), None, "its scope is in `_meta`");
    assert_eq!(hints("list_refunds").and_then(|hints| hints.read_only_hint), Some(true));
}
