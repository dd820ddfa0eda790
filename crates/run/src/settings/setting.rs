// SPDX-License-Identifier: GPL-2.0-or-later
//! A setting: what options, arms and messages need to know about it; and settings as lists of changes.

use super::commands::NONE;
use super::{SETTINGS, Settings};
use crate::kernels::Kernel;
use crate::values::{CallCosts, EngineName, Starts, check_feature, tunable_in};
use fairlab_sched::series::KernelSeries;
use fairlab_workload::message::Message;

/// A setting of a run.
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct Setting {
    /// Name in JSON, and as a key of arms and plans.
    pub name: &'static str,
    /// Long option, without dashes.
    pub option: &'static str,
    /// Placeholder of the value in help texts; empty for an option without a value.
    pub value: &'static str,
    /// Rust type of its field of [`Settings`].
    pub value_type: &'static str,
    /// Values other than the default, which are set together; none if no text is a value.
    pub examples: &'static [&'static str],
    pub default_value: Option<&'static str>,
    /// Lines of its description: the first paragraph is the short help.
    pub doc: &'static [&'static str],
    pub names: fn() -> Vec<&'static str>,
    /// Commands that have the option: bits of [`commands`].
    pub commands: u16,
    pub is_change: bool,
    pub is_list: bool,
    /// Key of a study that sets it, for messages.
    pub(crate) in_study: &'static str,
    /// Help of the option of `fairlab study run`, where it differs.
    pub study_help: Option<&'static str>,
    pub(super) read: fn(&mut Settings, &str) -> Result<(), Message>,
    pub(super) texts: fn(&Settings) -> Vec<String>,
    pub(super) copy: fn(&mut Settings, &Settings),
}

/// Value of a setting as text, which its reader has accepted.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone)]
pub struct Change {
    pub setting: &'static Setting,
    pub text: String,
}

impl Setting {
    /// Returns the setting with this name in JSON and arms.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }

    pub(crate) fn from_option(option: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.option == option)
    }

    /// Returns the first paragraph of its description, on one line.
    pub fn summary(&self) -> String {
        let lines = self.doc.iter().map(|line| line.trim()).take_while(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join(" ")
    }

    /// Reads a value and returns the change.
    ///
    /// # Errors
    /// If the value does not exist or is out of range.
    pub fn change(&'static self, text: &str) -> Result<Change, Message> {
        self.read(&mut Settings::default(), text)?;
        Ok(Change { setting: self, text: text.to_owned() })
    }

    /// Reads a value into settings: it replaces a single value and adds to a list.
    ///
    /// # Errors
    /// If the value does not exist or is out of range.
    pub fn read(&self, settings: &mut Settings, text: &str) -> Result<(), Message> {
        (self.read)(settings, text)
    }

    /// Returns the values that differ from the default, as texts that [`Self::read`] accepts.
    pub fn texts(&self, settings: &Settings) -> Vec<String> {
        (self.texts)(settings)
    }

    /// Copies this setting from other settings.
    pub fn copy(&self, to: &mut Settings, from: &Settings) {
        (self.copy)(to, from);
    }
}

impl Change {
    /// Checks a change that must fit the built-in scheduler with the rules of a series, or of any if that is not known yet: it
    /// has the feature or tunable. All other changes fit.
    ///
    /// # Errors
    /// The name that it does not have, with the series that has it or the nearest name.
    pub fn check_built_in(&self, series: Option<KernelSeries>) -> Result<(), Message> {
        let Some(series) = series else {
            let [oldest, others @ ..] = KernelSeries::ALL.map(|series| self.check_built_in(Some(series)));
            return others.into_iter().fold(oldest, Result::or);
        };
        match self.setting.name {
            "features" => self.text.split(',').try_for_each(|word| check_feature(series, word).map(drop)),
            "tunables" => {
                let name = self.text.split('=').next().unwrap_or_default();
                tunable_in(series, name).map(drop)
            }
            _ => Ok(()),
        }
    }
}

impl std::fmt::Debug for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.setting.name, self.text)
    }
}

impl Settings {
    /// Returns the settings of a list of changes, in order.
    pub fn from_changes<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Self {
        Self::default().with_changes(changes)
    }

    /// Returns these settings with changes on top.
    ///
    /// # Panics
    /// Never: a [`Change`] has been read once.
    #[must_use]
    pub fn with_changes<'a>(mut self, changes: impl IntoIterator<Item = &'a Change>) -> Self {
        for Change { setting, text } in changes {
            setting.read(&mut self, text).expect("a change was read once");
        }
        self
    }

    /// Returns the values that differ from the defaults as changes.
    pub fn changes(&self) -> Vec<Change> {
        let changes =
            |setting: &'static Setting| setting.texts(self).into_iter().map(move |text| Change { setting, text });
        SETTINGS.iter().flat_map(changes).collect()
    }

    /// Checks the names of features and tunables for a run with this kernel. A compiled kernel checks its own when the run
    /// starts.
    ///
    /// # Errors
    /// The first name that the built-in scheduler does not have for this kernel, with the nearest one.
    pub fn check_names(&self, kernel: Kernel) -> Result<(), Message> {
        if self.kernel_engine().is_some() {
            return Ok(());
        }
        let named = |change: Change| {
            let with_name = |error: Message| error.about(format!("--{} {}", change.setting.option, change.text));
            change.check_built_in(Some(kernel.series())).map_err(with_name)
        };
        self.changes().into_iter().try_for_each(named)
    }

    /// Returns the settings in which two runs differ.
    pub fn differences<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'static Setting> {
        SETTINGS.iter().filter(|setting| setting.texts(self) != setting.texts(other))
    }

    /// Returns the options of a command that repeat the settings; a setting without an option is left out.
    pub fn command_words(&self) -> Vec<String> {
        let words = |Change { setting, text }| match setting {
            Setting { commands: NONE, .. } => Vec::new(),
            Setting { value: "", option, .. } => vec![format!("--{option}")],
            Setting { default_value: Some(_), option, .. } => vec![format!("--{option}={text}")],
            Setting { option, .. } => vec![format!("--{option}"), text],
        };
        self.changes().into_iter().flat_map(words).collect()
    }

    /// Returns the seed of start times and random run lengths, if these vary.
    pub(crate) fn starts_seed(&self) -> Option<u64> {
        self.seed.filter(|_| self.starts == Starts::Jittered)
    }

    /// Returns the name or path of the machine, as given.
    pub fn machine_name(&self) -> Option<&str> {
        self.machine.as_ref().map(|machine| machine.given.as_str())
    }

    /// Gives the compiled kernels of runs that are compared the costs that they have in common.
    pub fn share_costs<'a>(runs: impl IntoIterator<Item = &'a mut Self>) {
        let runs: Vec<&mut Self> = runs.into_iter().collect();
        let mut engines: Vec<String> = Vec::new();
        for name in runs.iter().filter_map(|run| run.kernel_engine()) {
            if !engines.iter().any(|engine| engine == name) {
                engines.push(name.to_owned());
            }
        }
        runs.into_iter().for_each(|run| run.share_costs_with(&engines));
    }

    /// Sets the compiled kernels with which a run with one of them has its costs in common, unless it names them
    /// itself or there is only one.
    pub fn share_costs_with(&mut self, engines: &[String]) {
        if engines.len() > 1 && self.kernel_engine().is_some() && self.costs == CallCosts::default() {
            self.costs = CallCosts::Common(engines.to_vec());
        }
    }

    /// Returns the name of the compiled-kernel engine; `None` for the built-in scheduler.
    pub fn kernel_engine(&self) -> Option<&str> {
        self.engine.as_ref().and_then(EngineName::kernel)
    }
}
