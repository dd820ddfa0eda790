// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab schema`: JSON formats as JSON Schema, generated from the types that are written, and the format
//! of traces.

use super::kernel::{bisect as kernel_bisect, regressions};
use super::run::RunOutput;
use super::{bench, check, explain, findings, lab, patch};
use crate::args::SchemaArgs;
use crate::output::error::{self, ErrorOutput};
use crate::output::table::Table;
use crate::output::{Output, experiment};
use crate::values::error::CliError;
use crate::values::hints;
use fairlab_lab::lessons::{ANSWERS_SCHEMA, SavedAnswers};
use fairlab_measure::summary;
use fairlab_native::record::{self, Calibration};
use fairlab_run::manifest::{self, Manifest, SpecFile};
use fairlab_run::spec;
use fairlab_study::report::{self, StudyReport};
use fairlab_study::sensitivity::{self, SensitivityReport};
use fairlab_traces::conformance::record::{self as conformance, ConformanceRecord};
use fairlab_traces::trace_jsonl;
use fairlab_validation::Validation;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

/// JSON format with a schema.
#[derive(Debug)]
pub(crate) struct SchemaEntry {
    /// Name and version, as the field `schema` of an output holds them.
    version: &'static str,
    /// Command or file that writes the format.
    what: &'static str,
    make: fn() -> Value,
}

/// All formats with a schema.
const SCHEMAS: &[SchemaEntry] = &[
    SchemaEntry { version: summary::SCHEMA, what: "fairlab run --json; summary.json", make: schema_of::<RunOutput> },
    SchemaEntry { version: manifest::SCHEMA, what: "manifest.json of a run directory", make: schema_of::<Manifest> },
    SchemaEntry { version: spec::SCHEMA, what: "a spec: the file of fairlab run", make: schema_of::<SpecFile> },
    SchemaEntry {
        version: experiment::report::SCHEMA,
        what: "fairlab compare --json",
        make: schema_of::<experiment::report::ExperimentDocument<'static>>,
    },
    SchemaEntry {
        version: bench::SCHEMA,
        what: "fairlab bench NAME --json",
        make: schema_of::<bench::BenchOutput<'static>>,
    },
    SchemaEntry {
        version: check::SCHEMA,
        what: "fairlab check --json",
        make: schema_of::<check::CheckOutput<'static>>,
    },
    SchemaEntry { version: explain::SCHEMA, what: "fairlab explain --json", make: schema_of::<explain::ExplainOutput> },
    SchemaEntry {
        version: findings::SCHEMA,
        what: "fairlab findings --json",
        make: schema_of::<Vec<findings::FindingOutput>>,
    },
    SchemaEntry { version: report::SCHEMA, what: "fairlab study run --json", make: schema_of::<StudyReport> },
    SchemaEntry {
        version: sensitivity::SCHEMA,
        what: "fairlab study sensitivity --json",
        make: schema_of::<SensitivityReport>,
    },
    SchemaEntry {
        version: patch::SCHEMA,
        what: "fairlab patch --json",
        make: schema_of::<patch::report::PatchReport<'static>>,
    },
    SchemaEntry {
        version: kernel_bisect::SCHEMA,
        what: "fairlab kernel bisect --json",
        make: schema_of::<kernel_bisect::KernelBisectOutput<'static>>,
    },
    SchemaEntry {
        version: regressions::SCHEMA,
        what: "fairlab kernel regressions --json",
        make: schema_of::<regressions::RegressionsOutput<'static>>,
    },
    SchemaEntry {
        version: record::SCHEMA,
        what: "fairlab machine calibrate --json; its file",
        make: schema_of::<Calibration>,
    },
    SchemaEntry {
        version: fairlab_validation::SCHEMA,
        what: "fairlab machine validate --json",
        make: schema_of::<Validation>,
    },
    SchemaEntry {
        version: conformance::SCHEMA,
        what: "a line of fairlab conformance",
        make: schema_of::<ConformanceRecord>,
    },
    SchemaEntry {
        version: lab::SCHEMA,
        what: "fairlab lab --check-answers --json",
        make: schema_of::<lab::LessonsOutput<'static>>,
    },
    SchemaEntry {
        version: ANSWERS_SCHEMA,
        what: "answers that the page of fairlab lab saves",
        make: schema_of::<SavedAnswers>,
    },
    SchemaEntry { version: error::SCHEMA, what: "an error with --json", make: schema_of::<ErrorOutput<'static>> },
    SchemaEntry { version: "trace/1", what: "a line of --trace-jsonl", make: trace_schema },
];

impl SchemaEntry {
    /// Returns the name without the version.
    fn name(&self) -> &'static str {
        self.version.split_once('/').map_or(self.version, |(name, _)| name)
    }

    /// Returns the format with a given name.
    fn from_name(name: &str) -> Result<&'static Self, CliError> {
        SCHEMAS.iter().find(|form| form.name() == name).ok_or_else(|| {
            let help = format!("known formats: {}", hints::schemas().join(", "));
            CliError::with_help(format!("there is no format {name}"), help)
        })
    }

    fn schema(&self) -> Value {
        let mut schema = (self.make)();
        if let Value::Object(keys) = &mut schema {
            keys.insert("$id".to_owned(), Value::from(format!("urn:fairlab:{}", self.version.replace('/', ":"))));
        }
        schema
    }
}

fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value()
}

fn trace_schema() -> Value {
    serde_json::from_str(trace_jsonl::SCHEMA).expect("the schema is JSON")
}

/// Returns the schema of the format with a given name.
pub(super) fn by_name(name: &str) -> Result<Value, CliError> {
    Ok(SchemaEntry::from_name(name)?.schema())
}

pub(crate) fn schema(output: &mut Output, args: &SchemaArgs) -> Result<(), CliError> {
    if let Some(form) = &args.form {
        return output.json(&by_name(form)?);
    }
    let versions: Vec<&str> = SCHEMAS.iter().map(|form| form.version).collect();
    output.json_or_text(&versions, |styles| {
        let mut table = Table::default().left(["schema", "written by"]);
        SCHEMAS.iter().for_each(|form| table.text_row([form.version, form.what]));
        table.render(styles)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_complete_the_names_of_all_formats() {
        assert_eq!(SCHEMAS.iter().map(SchemaEntry::name).collect::<Vec<_>>(), hints::schemas());
    }
}
