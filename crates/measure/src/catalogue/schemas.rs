// SPDX-License-Identifier: GPL-2.0-or-later
//! Schemas of results, with the paths and descriptions of their numbers.

use crate::bench;
use crate::summary::RunSummary;
use schemars::schema_for;
use serde_json::Value;

/// Returns the schemas of the summary and of all benchmarks, each with the start of its paths in the result of a run. Findings
/// have a schema of their own.
pub fn results() -> Vec<(&'static str, Value)> {
    let summary = ("", schema_for!(RunSummary).to_value());
    std::iter::once(summary).chain(bench::schemas().into_iter().map(|schema| ("bench.", schema.to_value()))).collect()
}

/// Returns the paths of all numbers of a JSON schema, each with its description.
pub fn numbers_of(schema: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect_numbers(schema, schema, String::new(), "", &mut found);
    found.sort();
    found.dedup_by(|one, other| one.0 == other.0);
    found
}

fn collect_numbers(schema: &Value, root: &Value, path: String, description: &str, found: &mut Vec<(String, String)>) {
    let description = schema["description"].as_str().unwrap_or(description);
    if let Some(target) = schema["$ref"].as_str().and_then(|target| root.pointer(target.strip_prefix('#')?)) {
        collect_numbers(target, root, path, description, found);
        return;
    }
    let is_number = |kind: &Value| kind == "integer" || kind == "number";
    let kind = &schema["type"];
    if is_number(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is_number)) {
        found.push((path.clone(), description.to_owned()));
    }
    let elements = |key: &str| schema[key].as_array().into_iter().flatten();
    for part in ["anyOf", "oneOf", "allOf"].into_iter().flat_map(elements) {
        collect_numbers(part, root, path.clone(), description, found);
    }
    for (key, part) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        collect_numbers(part, root, path, "", found);
    }
    for part in elements("prefixItems").chain(schema.get("items").filter(|items| items.is_object())) {
        collect_numbers(part, root, format!("{path}[]"), description, found);
    }
    if let Some(part) = schema.get("additionalProperties").filter(|part| part.is_object()) {
        collect_numbers(part, root, format!("{path}{{}}"), description, found);
    }
}
