// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[arm]]` tables of a study: variants of the scheduler, and of the machine where the arms compare
//! machines.
//!
//! Besides `name` and `meaning`, the keys of an arm are settings of the catalogue ([`fairlab_run::settings`]).

use crate::error::StudyError;
use fairlab_machine::sim::Setup;
use fairlab_run::kernels::Kernel;
use fairlab_run::prepare::apply;
use fairlab_run::settings::{SETTINGS, Settings, commands};
use fairlab_workload::message::Message;
use fairlab_workload::suggest;
use serde::Deserialize;
use toml::{Table, Value};

/// One arm of a study: differences from the kernel and the machine that a run uses by default.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "ArmTable")]
pub struct ArmDefinition {
    /// Short name, unique within the study.
    pub name: String,
    /// Description of the arm for the reports.
    pub meaning: String,
    /// Settings of the arm.
    pub settings: Settings,
}

/// Arm as it is written.
#[derive(Deserialize)]
struct ArmTable {
    /// Checked after the other keys, one of which may be this one misspelt.
    name: Option<String>,
    meaning: Option<String>,
    #[serde(flatten)]
    settings: Table,
}

impl TryFrom<ArmTable> for ArmDefinition {
    type Error = Message;

    fn try_from(ArmTable { name, meaning, settings: table }: ArmTable) -> Result<Self, Message> {
        let mut settings = Settings::default();
        let about_arm = |error: Message| match &name {
            Some(name) => error.about(format!("arm {name}")),
            None => error,
        };
        for (key, value) in &table {
            read_setting(&mut settings, key, value).map_err(about_arm)?;
        }
        for change in settings.changes() {
            let with_key = |error: Message| about_arm(error.about(format!("{}: {}", change.setting.name, change.text)));
            change.check_built_in(settings.kernel.map(Kernel::series)).map_err(with_key)?;
        }
        let missing = |key: &str| {
            about_arm(Message::new(format!("there is no `{key}`")).with_help(format!("add it: {key} = ...")))
        };
        Ok(Self {
            meaning: meaning.ok_or_else(|| missing("meaning"))?,
            name: name.clone().ok_or_else(|| missing("name"))?,
            settings,
        })
    }
}

/// Reads a key of an arm into settings.
fn read_setting(settings: &mut Settings, key: &str, value: &Value) -> Result<(), Message> {
    let known = || SETTINGS.iter().filter(|setting| setting.commands & commands::STUDY_ARM != 0);
    let Some(setting) = known().find(|setting| setting.name == key) else {
        let names: Vec<&str> = known().map(|setting| setting.name).chain(["name", "meaning"]).collect();
        let help = suggest::help(key, "keys here", &names);
        return Err(Message::new(format!("unknown key `{key}`")).with_help(help));
    };
    let texts = texts_of(value);
    for text in texts.ok_or_else(|| Message::new(format!("{key}: a value of this type is not a setting")))? {
        setting.read(settings, &text).map_err(|error| error.about(format!("{key}: {text}")))?;
    }
    Ok(())
}

/// Returns a TOML value as texts that a setting reads; `None` for a type that none has.
///
/// A table has a feature with its state, or a tunable or a cost with its value, in each member.
fn texts_of(value: &Value) -> Option<Vec<String>> {
    let member = |(name, value): (&String, &Value)| match value {
        Value::Boolean(is_on) => Some(format!("{}{name}", if *is_on { "" } else { "NO_" })),
        value => Some(format!("{name}={}", scalar(value)?)),
    };
    match value {
        Value::Table(members) => members.iter().map(member).collect(),
        Value::Array(values) => values.iter().map(scalar).collect(),
        value => scalar(value).map(|text| vec![text]),
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

impl ArmDefinition {
    /// Kernel of the arm, or the default.
    pub(crate) fn kernel(&self) -> Kernel {
        self.settings.kernel.unwrap_or_else(Kernel::default_profile)
    }

    /// Returns a setup for the arm's kernel with the arm's settings.
    ///
    /// # Errors
    /// If a setting does not fit the machine.
    pub(crate) fn applied_to(&self, mut setup: Setup) -> Result<Setup, StudyError> {
        let wrong = |error| StudyError::Measurement(Message::from(error).about(format!("arm {}", self.name)));
        apply(&mut setup, &self.settings, Some(self.kernel())).map_err(wrong)?;
        Ok(setup)
    }

    /// Returns the arm with settings of all runs below its own.
    pub(crate) fn on_top_of(&self, all: &Settings) -> Self {
        Self { settings: all.clone().with_changes(&self.settings.changes()), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::series::KernelSeries;
    use fairlab_workload::scenario;

    #[test]
    fn an_arm_runs_with_the_rules_of_its_kernel() {
        let series = |kernel: &str| {
            let arm: ArmDefinition =
                toml::from_str(&format!("name = 'a'\nmeaning = 'm'\n{kernel}")).expect("the arm is well formed");
            let scenario = scenario::parse("one.scn", "cpus 1\ntask t run 1ms\n", arm.kernel().series());
            let scenario = scenario.expect("the scenario is well formed");
            arm.applied_to(Setup::from_scenario(scenario)).expect("the settings fit").series
        };
        assert_eq!(["kernel = '5.4'", "kernel = '6.1'"].map(series), [KernelSeries::V6_1; 2]);
        assert_eq!(["kernel = '6.12'", ""].map(series), [KernelSeries::V6_12; 2]);
    }
}
