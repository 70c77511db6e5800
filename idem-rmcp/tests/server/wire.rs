//! Clients: rmcp's own, over pipes in this process, and one that writes its requests by hand.
//!
//! It must not know the tools.

use rmcp::{
    ClientHandler, RoleClient, ServerHandler, ServiceExt,
    model::{CallToolRequestParams, CallToolResult, RequestMetaObject},
    service::RunningService,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

/// How much a pipe holds.
const PIPE: usize = 64 * 1024;

/// rmcp's client on a server of its own.
pub(crate) async fn connect<C: ClientHandler>(server: impl ServerHandler, client: C) -> RunningService<RoleClient, C> {
    let (ours, theirs) = tokio::io::duplex(PIPE);
    tokio::spawn(async move {
        // It ends with its client.
        if let Ok(running) = server.serve(theirs).await {
            let _ = running.waiting().await;
        }
    });
    client.serve(ours).await.expect("a client")
}

/// A call with arguments and `_meta`.
pub(crate) fn params(tool: &'static str, arguments: &Value, meta: &Value) -> CallToolRequestParams {
    let mut params = CallToolRequestParams::new(tool);
    params.arguments = arguments.as_object().cloned();
    params.meta = meta.as_object().map(|meta| RequestMetaObject::from(meta.clone()));
    params
}

/// The call's result, which came.
pub(crate) async fn call<C: ClientHandler>(
    client: &RunningService<RoleClient, C>,
    tool: &'static str,
    arguments: &Value,
    meta: &Value,
) -> CallToolResult {
    client.call_tool(params(tool, arguments, meta)).await.expect("a result")
}

/// A field of the result's `_meta`.
pub(crate) fn meta(result: &CallToolResult, key: &str) -> Value {
    result.meta.as_ref().and_then(|meta| meta.0.get(key)).cloned().unwrap_or_default()
}

/// Whether it was told that nothing was done now.
pub(crate) fn is_replay(result: &CallToolResult) -> bool {
    meta(result, "idem/replayed") == true
}

/// Why it has no result.
pub(crate) fn refused(result: &CallToolResult) -> String {
    let outcome = meta(result, "idem/refusal")["outcome"].as_str().unwrap_or_default().to_owned();
    assert!(result.is_error == Some(true) || outcome.is_empty(), "{result:?}");
    outcome
}

/// The result without the marker of a replay.
pub(crate) fn unmarked(mut result: CallToolResult) -> CallToolResult {
    if let Some(meta) = &mut result.meta {
        meta.0.retain(|key, _| !key.starts_with("idem/"));
    }
    result.meta = result.meta.filter(|meta| !meta.0.is_empty());
    result
}

/// A client that writes its requests, ids and all.
pub(crate) struct Raw {
    write: WriteHalf<DuplexStream>,
    read: Lines<BufReader<ReadHalf<DuplexStream>>>,
}

impl Raw {
    /// Connects by the protocol that has sessions.
    pub(crate) async fn connect(server: impl ServerHandler) -> Self {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        tokio::spawn(async move {
            if let Ok(running) = server.serve(theirs).await {
                let _ = running.waiting().await;
            }
        });
        let (read, write) = tokio::io::split(ours);
        let mut raw = Self { write, read: BufReader::new(read).lines() };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "by hand", "version": "1" },
        });
        raw.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello })).await;
        raw.receive().await;
        raw.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        raw
    }

    /// Writes a message.
    pub(crate) async fn send(&mut self, message: &Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.expect("the server reads");
    }

    /// Writes a call.
    pub(crate) async fn call(&mut self, id: u64, tool: &str, arguments: &Value, meta: &Value) {
        self.send(&request(id, tool, arguments, meta)).await;
    }

    /// Reads a message.
    pub(crate) async fn receive(&mut self) -> Value {
        let line = self.read.next_line().await.expect("the server writes").expect("it is there");
        serde_json::from_str(&line).expect("JSON")
    }
}

/// A call as it is written.
pub(crate) fn request(id: u64, tool: &str, arguments: &Value, meta: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}
