// SPDX-License-Identifier: GPL-2.0-or-later
//! Options of commands for the settings of a run, from the catalogue [`fairlab_run::settings`].

use crate::values::error::CliError;
use crate::values::hints::with_hints;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use fairlab_run::settings::commands::STUDY;
use fairlab_run::settings::{Change, SETTINGS, Setting, Settings};
use fairlab_run::values::{EngineName, parse_engine};

/// Settings that a command has as options; `COMMAND` is a bit of [`fairlab_run::settings::commands`].
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingArgs<const COMMAND: u16> {
    /// Options in the order of the catalogue, repeated ones in the order of the command line.
    pub(crate) changes: Vec<Change>,
}

impl<const COMMAND: u16> SettingArgs<COMMAND> {
    /// Returns the settings; of several engines the last one.
    pub(crate) fn settings(&self) -> Settings {
        Settings::from_changes(&self.changes)
    }

    /// Returns all engines that were given.
    pub(crate) fn engines(&self) -> Vec<EngineName> {
        let engines = self.changes.iter().filter(|change| change.setting.name == "engine");
        engines.map(|change| parse_engine(&change.text).expect("the option was parsed")).collect()
    }

    /// Rejects several engines for a command that takes one.
    pub(crate) fn refuse_several_engines(&self) -> Result<(), CliError> {
        let number = self.engines().len();
        if number < 2 {
            return Ok(());
        }
        let help = "give one engine; `fairlab compare` takes several";
        Err(CliError::with_help(format!("--engine is given {number} times"), help))
    }
}

fn settings_of(command: u16) -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(move |setting| setting.commands & command != 0)
}

/// Returns the paragraphs of a setting's description.
fn paragraphs(setting: &Setting) -> Vec<String> {
    let mut paragraphs = vec![Vec::new()];
    for line in setting.doc.iter().map(|line| line.trim()) {
        match line {
            "" => paragraphs.push(Vec::new()),
            _ => paragraphs.last_mut().expect("there is a first one").push(line),
        }
    }
    paragraphs.into_iter().map(|lines| lines.join(" ")).collect()
}

fn arg_of(setting: &'static Setting, command: u16) -> Arg {
    let paragraphs = match setting.study_help.filter(|_| command == STUDY) {
        Some(help) => vec![help.to_owned()],
        None => paragraphs(setting),
    };
    let help = paragraphs[0].trim_end_matches('.').to_owned();
    let mut arg = Arg::new(setting.name).long(setting.option).help(help.clone());
    if paragraphs.len() > 1 {
        arg = arg.long_help(std::iter::once(&help).chain(&paragraphs[1..]).cloned().collect::<Vec<_>>().join("\n\n"));
    }
    if setting.option == "vary" && settings_of(command).any(|setting| setting.name == "seed") {
        arg = arg.requires("seed");
    }
    if setting.value.is_empty() {
        return arg.action(ArgAction::SetTrue);
    }
    let parser = move |text: &str| setting.change(text);
    arg = arg.value_name(setting.value).value_parser(with_hints(parser, setting.names)).allow_hyphen_values(true);
    arg = arg.action(if setting.is_list { ArgAction::Append } else { ArgAction::Set });
    match setting.default_value {
        Some(default) => arg.num_args(0..=1).require_equals(true).default_missing_value(default),
        None => arg,
    }
}

impl<const COMMAND: u16> Args for SettingArgs<COMMAND> {
    fn augment_args(command: Command) -> Command {
        settings_of(COMMAND).fold(command, |command, setting| command.arg(arg_of(setting, COMMAND)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const COMMAND: u16> FromArgMatches for SettingArgs<COMMAND> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut changes = Vec::new();
        for setting in settings_of(COMMAND) {
            if !setting.value.is_empty() {
                changes.extend(matches.get_many::<Change>(setting.name).into_iter().flatten().cloned());
            } else if matches.get_flag(setting.name) {
                changes.push(setting.change("").map_err(|error| invalid(setting, &error.to_string()))?);
            }
        }
        Ok(Self { changes })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn invalid(setting: &Setting, error: &str) -> Error {
    let mut invalid = Error::new(ErrorKind::InvalidValue);
    invalid.insert(ContextKind::InvalidArg, ContextValue::String(format!("--{}", setting.option)));
    invalid.insert(ContextKind::InvalidValue, ContextValue::String(error.to_owned()));
    invalid
}
