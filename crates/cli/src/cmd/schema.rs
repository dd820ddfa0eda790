// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab schema`: the forms of JSON output as JSON Schema, made from the types that are written, and the form of traces.

use super::{bench, check, compare, explain, findings, kernel_bisect, patch, regressions};
use crate::args::SchemaArgs;
use crate::error::CliError;
use crate::output::Output;
use crate::output::table::{Align, Table};
use fairlab_observe::manifest::{self, Manifest};
use fairlab_observe::summary::{self, RunSummary};
use fairlab_observe::trace_jsonl;
use fairlab_study::report::{self, StudyReport};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

/// A form of output.
#[derive(Debug)]
pub(crate) struct SchemaEntry {
    /// Its name and version, as outputs have it in `schema`.
    version: &'static str,
    /// Where it is met.
    what: &'static str,
    make: fn() -> Value,
}

/// All forms with a schema.
const FORMS: &[SchemaEntry] = &[
    SchemaEntry { version: summary::SCHEMA, what: "fairlab run --json; summary.json", make: of::<RunSummary> },
    SchemaEntry { version: manifest::SCHEMA, what: "manifest.json of a run directory", make: of::<Manifest> },
    SchemaEntry {
        version: compare::once::SCHEMA,
        what: "fairlab compare --json",
        make: of::<Vec<compare::once::ArmOutcome<'static>>>,
    },
    SchemaEntry {
        version: compare::report::SCHEMA,
        what: "fairlab compare --runs N --json",
        make: of::<compare::report::ExperimentReport>,
    },
    SchemaEntry { version: bench::SCHEMA, what: "fairlab bench NAME --json", make: of::<bench::BenchOutput> },
    SchemaEntry { version: check::SCHEMA, what: "fairlab check --json", make: of::<check::CheckVerdict<'static>> },
    SchemaEntry { version: explain::SCHEMA, what: "fairlab explain --json", make: of::<explain::ExplainOutput> },
    SchemaEntry {
        version: findings::SCHEMA,
        what: "fairlab findings --json",
        make: of::<Vec<findings::FindingOutput>>,
    },
    SchemaEntry { version: report::SCHEMA, what: "fairlab study run --json", make: of::<StudyReport> },
    SchemaEntry {
        version: patch::SCHEMA,
        what: "fairlab patch --json",
        make: of::<patch::report::PatchReport<'static>>,
    },
    SchemaEntry {
        version: kernel_bisect::SCHEMA,
        what: "fairlab kernel bisect --json",
        make: of::<kernel_bisect::KernelBisectOutput<'static>>,
    },
    SchemaEntry {
        version: regressions::SCHEMA,
        what: "fairlab kernel regressions --json",
        make: of::<regressions::RegressionsOutput<'static>>,
    },
    SchemaEntry { version: "trace/1", what: "a line of --trace-jsonl", make: of_trace },
];

/// Names of all forms.
pub(crate) fn names() -> Vec<&'static str> {
    FORMS.iter().map(SchemaEntry::name).collect()
}

impl SchemaEntry {
    /// Its name.
    fn name(&self) -> &'static str {
        self.version.split_once('/').map_or(self.version, |(name, _)| name)
    }

    /// The form of a name.
    pub(crate) fn named(name: &str) -> Result<&'static Self, String> {
        FORMS
            .iter()
            .find(|form| form.name() == name)
            .ok_or_else(|| format!("there is no such form; known are {}", names().join(", ")))
    }

    fn schema(&self) -> Value {
        let mut schema = (self.make)();
        if let Value::Object(keys) = &mut schema {
            keys.insert("$id".to_owned(), Value::from(format!("urn:fairlab:{}", self.version.replace('/', ":"))));
        }
        schema
    }
}

fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value()
}

fn of_trace() -> Value {
    serde_json::from_str(trace_jsonl::SCHEMA).expect("the schema is JSON")
}

/// Runs the command.
pub(crate) fn schema(output: &mut Output, args: &SchemaArgs) -> Result<(), CliError> {
    if let Some(form) = args.form {
        return output.json(&form.schema());
    }
    if output.is_json() {
        return output.json(&FORMS.iter().map(|form| form.version).collect::<Vec<_>>());
    }
    let mut table = Table::new(&[("schema", Align::Left), ("what has it", Align::Left)]);
    for form in FORMS {
        table.row(vec![form.version.into(), form.what.into()]);
    }
    let text = table.render(output.styles());
    output.text(&text)
}
