//! The arguments of a tool as JSON Schema: one object, draft 2020-12, made once.
//!
//! It must not know the dialects of providers.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments on its way.
#[derive(Debug)]
pub struct Schema {
    generator: SchemaGenerator,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl Schema {
    pub(super) fn new() -> Self {
        let generator = SchemaSettings::draft2020_12().into_generator();
        Self { generator, properties: Map::new(), required: Vec::new() }
    }

    /// One argument, with what its documentation says. One whose type takes `null` need not be given.
    #[must_use]
    pub fn argument<T: JsonSchema>(mut self, name: &'static str, description: &str) -> Self {
        let mut schema = self.generator.subschema_for::<T>().to_value();
        if !takes_null(&schema) {
            self.required.push(name.into());
        }
        let description = description.trim();
        if !description.is_empty() {
            if !schema.is_object() {
                schema = json!({});
            }
            schema["description"] = description.into();
        }
        self.properties.insert(name.to_owned(), schema);
        self
    }

    /// The whole. `$defs` hold what is referred to.
    pub(super) fn finish(mut self) -> Value {
        let definitions = self.generator.take_definitions(true);
        let mut whole = json!({
            "type": "object",
            "properties": self.properties,
            "required": self.required,
            "additionalProperties": false,
        });
        if !definitions.is_empty() {
            whole["$defs"] = Value::Object(definitions);
        }
        whole
    }
}

fn takes_null(schema: &Value) -> bool {
    let is_null = |kind: &Value| kind == "null";
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_null),
        Some(kind) => is_null(kind),
        None => ["anyOf", "oneOf"]
            .iter()
            .any(|any| schema.get(any).and_then(Value::as_array).is_some_and(|all| all.iter().any(takes_null))),
    }
}
