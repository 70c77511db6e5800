//! The tools as providers want to be told of them: one schema, each provider's dialect.
//!
//! It must not know how calls come back.

use serde_json::{Map, Value, json};

use super::{entry::Entry, set::ToolSet, wire::Wire};
use crate::tool::Effect;

impl ToolSet {
    /// The tools, as a request to this provider names them: the value of its `tools` field (of `toolConfig` for Bedrock, the
    /// result of `tools/list` for MCP).
    pub fn definitions(&self, wire: Wire) -> Value {
        let each = |define: fn(&Entry) -> Value| self.entries().map(define).collect::<Value>();
        match wire {
            Wire::OpenAiChat | Wire::Mistral | Wire::Ollama => {
                each(|entry| json!({ "type": "function", "function": function(entry) }))
            }
            Wire::OpenAiResponses => each(|entry| {
                let mut function = function(entry);
                function["type"] = "function".into();
                // Not set means strict there, and a strict schema makes every argument required.
                function["strict"] = false.into();
                function
            }),
            Wire::Anthropic => each(
                |entry| json!({ "name": entry.name(), "description": entry.description(), "input_schema": entry.schema() }),
            ),
            Wire::Gemini => json!([{ "functionDeclarations": each(declaration) }]),
            Wire::Bedrock => json!({ "tools": each(|entry| {
                let schema = json!({ "json": entry.schema() });
                json!({ "toolSpec": { "name": entry.name(), "description": entry.description(), "inputSchema": schema } })
            }) }),
            Wire::Mcp => json!({ "tools": each(mcp) }),
        }
    }
}

fn function(entry: &Entry) -> Value {
    json!({ "name": entry.name(), "description": entry.description(), "parameters": entry.schema() })
}

fn declaration(entry: &Entry) -> Value {
    let mut declared = json!({ "name": entry.name(), "description": entry.description() });
    // An object without properties is refused there.
    if entry.schema()["properties"].as_object().is_some_and(|all| !all.is_empty()) {
        let definitions = entry.schema().get("$defs").cloned().unwrap_or_default();
        declared["parameters"] = openapi(entry.schema(), &definitions, DEPTH_MAX);
    }
    declared
}

/// Only what is true of every tool is hinted at: whether it changes anything. Whether it may be called again depends on
/// where it is served.
fn mcp(entry: &Entry) -> Value {
    let reads = matches!(entry.effect(), Effect::Read | Effect::AuditedRead);
    json!({
        "name": entry.name(),
        "description": entry.description(),
        "inputSchema": entry.schema(),
        "annotations": { "readOnlyHint": reads },
    })
}

/// Types that contain themselves have no end where nothing can be referred to.
const DEPTH_MAX: u32 = 12;

/// The fields of JSON Schema that Gemini's subset of `OpenAPI` 3.0 has too.
const KEPT: [&str; 14] = [
    "type",
    "title",
    "description",
    "enum",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "minProperties",
    "maxProperties",
    "required",
];

/// Gemini's dialect: no `$ref`, no `additionalProperties`, `nullable` in place of a type of two, formats of its own.
fn openapi(schema: &Value, definitions: &Value, depth: u32) -> Value {
    let Some(schema) = schema.as_object().filter(|_| depth > 0) else {
        return json!({ "type": "object" });
    };
    if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix("#/$defs/")) {
        let mut referred = openapi(definitions.get(name).unwrap_or(&Value::Null), definitions, depth - 1);
        if let Some(description) = schema.get("description") {
            referred["description"] = description.clone();
        }
        return referred;
    }
    let mut plain: Map<String, Value> = schema
        .iter()
        .filter(|(name, _)| KEPT.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if let Some(Value::Array(kinds)) = schema.get("type") {
        let mut others = kinds.iter().filter(|kind| **kind != "null");
        plain.insert("type".to_owned(), others.next().cloned().unwrap_or_else(|| "string".into()));
        plain.insert("nullable".to_owned(), kinds.iter().any(|kind| kind == "null").into());
    }
    if let Some(only) = schema.get("const") {
        plain.insert("enum".to_owned(), json!([only]));
        plain.entry("type").or_insert_with(|| "string".into());
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        let inner = properties.iter().map(|(name, inner)| (name.clone(), openapi(inner, definitions, depth - 1)));
        plain.insert("properties".to_owned(), Value::Object(inner.collect()));
    }
    if let Some(items) = schema.get("items") {
        plain.insert("items".to_owned(), openapi(items, definitions, depth - 1));
    }
    let any = ["anyOf", "oneOf"].into_iter().find_map(|any| schema.get(any)?.as_array());
    if let Some(any) = any {
        let is_null = |one: &&Value| one.get("type").is_some_and(|kind| kind == "null");
        let mut others: Vec<Value> =
            any.iter().filter(|one| !is_null(one)).map(|one| openapi(one, definitions, depth - 1)).collect();
        let nullable = others.len() < any.len();
        if let (1, Some(Value::Object(only))) = (others.len(), others.first_mut()) {
            only.append(&mut plain);
            plain = std::mem::take(only);
        } else {
            plain.insert("anyOf".to_owned(), Value::Array(others));
        }
        if nullable {
            plain.insert("nullable".to_owned(), true.into());
        }
    }
    Value::Object(plain)
}
