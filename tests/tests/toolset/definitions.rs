//! The tools as providers want to be told of them: one source, and nothing in it that is not the model's to say.

use idem_runtime::Wire;
use idem_tests::world::World;
use serde_json::{Value, json};

use super::stage::{Shop, TOKEN, set};

/// The list of definitions, each with name, description and schema.
fn found(wire: Wire, definitions: &Value) -> Vec<(String, String, Option<Value>)> {
    let (list, inside, schema) = match wire {
        Wire::OpenAiChat | Wire::Mistral | Wire::Ollama => (definitions, Some("function"), "parameters"),
        Wire::OpenAiResponses => (definitions, None, "parameters"),
        Wire::Anthropic => (definitions, None, "input_schema"),
        Wire::Gemini => (&definitions[0]["functionDeclarations"], None, "parameters"),
        Wire::Bedrock => (&definitions["tools"], Some("toolSpec"), "inputSchema"),
        Wire::Mcp => (&definitions["tools"], None, "inputSchema"),
        other => panic!("{} is not read here", other.name()),
    };
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text in {definitions}")).to_owned();
    let one = |tool: &Value| {
        let tool = inside.map_or(tool, |inside| &tool[inside]);
        let schema = tool.get(schema).map(|schema| schema.get("json").unwrap_or(schema).clone());
        (text(&tool["name"]), text(&tool["description"]), schema)
    };
    list.as_array().unwrap_or_else(|| panic!("no list in {definitions}")).iter().map(one).collect()
}

#[test]
fn every_provider_is_told_the_same_tools() {
    let tools = set(&Shop::new(&World::default()));
    for wire in Wire::ALL {
        let found = found(wire, &tools.definitions(wire));
        assert_eq!(found.len(), tools.entries().len(), "{}", wire.name());
        for ((name, description, schema), entry) in found.iter().zip(tools.entries()) {
            assert_eq!((name.as_str(), description), (entry.name(), &entry.description()), "{}", wire.name());
            // What every provider takes in a name.
            assert!(name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter)), "{name}");
            match (wire, schema) {
                // Its dialect has no object without fields.
                (Wire::Gemini, None) => assert_eq!(entry.schema()["properties"], json!({}), "{name}"),
                (Wire::Gemini, Some(_)) => {}
                (_, schema) => assert_eq!(schema.as_ref(), Some(entry.schema()), "{name}"),
            }
        }
    }
}

#[test]
fn a_definition_is_the_attribute_s_words_and_the_parameters() {
    let tools = set(&Shop::new(&World::default()));
    let (name, description, schema) = found(Wire::Anthropic, &tools.definitions(Wire::Anthropic)).swap_remove(0);
    assert_eq!((&*name, &*description), ("billing_refund", "Gives a customer money back.\n\nOne call is one refund."));
    let expected = json!({
        "type": "object",
        "properties": {
            "order_id": { "type": "string", "description": "The order, as the customer knows it." },
            "cents": { "type": "integer", "format": "uint64", "minimum": 0, "description": "How much, in cents." },
            "reason": { "type": ["string", "null"] },
        },
        "required": ["order_id", "cents"],
        "additionalProperties": false,
    });
    assert_eq!(schema, Some(expected));
}

#[test]
fn no_state_secret_or_context_is_told() {
    let tools = set(&Shop::new(&World::default()));
    for wire in Wire::ALL {
        let definitions = tools.definitions(wire).to_string();
        for hidden in ["shop", "token", "\"call\"", "_call", "ToolCall", "this", TOKEN, "world", "gate"] {
            let told = definitions.replace("wait_for_gate", "").replace("the gate", "").contains(hidden);
            assert!(!told, "{} tells `{hidden}`: {definitions}", wire.name());
        }
        // What it does tell is found in the same way.
        assert!(definitions.contains("order_id") && definitions.contains("street"), "{}", wire.name());
    }
}

#[test]
fn the_dialect_of_gemini_refers_to_nothing() {
    let tools = set(&Shop::new(&World::default()));
    let declared = tools.definitions(Wire::Gemini);
    let ship =
        declared[0]["functionDeclarations"].as_array().expect("a list").iter().find(|tool| tool["name"] == "ship");
    let expected = json!({
        "type": "object",
        "properties": {
            "to": {
                "type": "object",
                "description": "Where a parcel goes.",
                "properties": { "street": { "type": "string" }, "floor": { "type": "integer", "nullable": true } },
                "required": ["street"],
            },
            "items": { "type": "array", "items": { "type": "integer", "minimum": 0 } },
            "speed": { "type": "string", "description": "How it travels.", "enum": ["slow", "fast"] },
            "kilos": { "type": "number" },
        },
        "required": ["to", "items", "speed", "kilos"],
    });
    assert_eq!(ship.expect("a tool")["parameters"], expected);
    for word in ["$ref", "$defs", "$schema", "additionalProperties", "const", "oneOf", "\"null\"", "uint64"] {
        assert!(!declared.to_string().contains(word), "{word}: {declared}");
    }
    // The source has what the dialect lacks: the look-out above is not blind.
    let ship = tools.get("ship").expect("a tool").schema().to_string();
    assert!(["$ref", "$defs", "additionalProperties", "\"null\""].iter().all(|word| ship.contains(word)), "{ship}");
}

#[test]
fn the_model_context_protocol_is_told_what_only_reads() {
    let tools = set(&Shop::new(&World::default()));
    let told = tools.definitions(Wire::Mcp);
    let readers: Vec<&str> = told["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|tool| tool["annotations"]["readOnlyHint"] == true)
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(readers, ["list_orders", "meet_reading", "rings"]);
    assert!(!told.to_string().contains("idempotentHint"), "that depends on where a tool is served");
}
