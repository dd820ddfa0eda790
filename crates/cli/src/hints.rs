// SPDX-License-Identifier: GPL-2.0-or-later
//! Values that shells complete: names of machines, kernels, governors, features, tunables, formats, studies.
//!
//! A value is read by its own parser, which takes more than the names (paths, lists, numbers) and has its own errors. So names are told only
//! while a completion script is being written; helps and errors stay as short as they are.

use crate::cmd::schema;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use fairlab_machine::description::preset_names;
use fairlab_observe::export::FORMATS;
use fairlab_sched::features::Feature;
use fairlab_sched::tunables::TUNABLES;
use fairlab_study::kernels;
use std::ffi::OsStr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a completion script is being written.
static IS_COMPLETING: AtomicBool = AtomicBool::new(false);

/// Does something while parsers tell the names that they know.
pub(crate) fn completing<T>(what: impl FnOnce() -> T) -> T {
    IS_COMPLETING.store(true, Ordering::Relaxed);
    let done = what();
    IS_COMPLETING.store(false, Ordering::Relaxed);
    done
}

/// A parser, and names that are among what it takes.
#[derive(Clone)]
pub(crate) struct ValueHint<P> {
    parser: P,
    names: fn() -> Vec<&'static str>,
}

impl<P: TypedValueParser> TypedValueParser for ValueHint<P> {
    type Value = P::Value;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<P::Value, Error> {
        self.parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let is_told = IS_COMPLETING.load(Ordering::Relaxed);
        is_told.then(|| Box::new((self.names)().into_iter().map(PossibleValue::new)) as _)
    }
}

/// A parser with names.
pub(crate) const fn hinted<P: TypedValueParser>(parser: P, names: fn() -> Vec<&'static str>) -> ValueHint<P> {
    ValueHint { parser, names }
}

/// Any text, with names: of a machine or a study there may be a path as well, to which shells turn where no name fits. An argument that says so
/// itself (`value_hint`) would lose the names in bash.
pub(crate) fn text(names: fn() -> Vec<&'static str>) -> impl TypedValueParser<Value = String> {
    hinted(clap::builder::StringValueParser::new(), names)
}

/// Machines that come with fairlab.
pub(crate) fn machines() -> Vec<&'static str> {
    preset_names().collect()
}

/// Named kernels.
pub(crate) fn releases() -> Vec<&'static str> {
    kernels::all().map(|kernel| kernel.name).collect()
}

/// Governors that are modelled.
pub(crate) fn governors() -> Vec<&'static str> {
    crate::values::GovernorName::ALL.iter().map(|governor| governor.name()).collect()
}

/// Features, on and off.
pub(crate) fn features() -> Vec<&'static str> {
    static OFF: LazyLock<Vec<String>> =
        LazyLock::new(|| Feature::ALL.iter().map(|feature| format!("NO_{}", feature.name())).collect());
    Feature::ALL.iter().map(|feature| feature.name()).chain(OFF.iter().map(String::as_str)).collect()
}

/// The names of features alone.
pub(crate) fn feature_names() -> Vec<&'static str> {
    Feature::ALL.iter().map(|feature| feature.name()).collect()
}

/// The names of tunables alone.
pub(crate) fn tunable_names() -> Vec<&'static str> {
    TUNABLES.iter().map(|info| info.name).collect()
}

/// Tunables, up to the value.
pub(crate) fn tunables() -> Vec<&'static str> {
    static KEYS: LazyLock<Vec<String>> =
        LazyLock::new(|| TUNABLES.iter().map(|info| format!("{}=", info.name)).collect());
    KEYS.iter().map(String::as_str).collect()
}

/// What changes of arms begin with.
pub(crate) fn changes() -> Vec<&'static str> {
    static KEYS: LazyLock<Vec<String>> =
        LazyLock::new(|| crate::arms::KEYS.iter().map(|key| format!("{key}=")).collect());
    let keys = KEYS.iter().map(String::as_str);
    std::iter::once(crate::arms::UNCHANGED).chain(features()).chain(tunables()).chain(keys).collect()
}

/// Formats of traces.
pub(crate) fn formats() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).collect()
}

/// The same, up to the file.
pub(crate) fn exports() -> Vec<&'static str> {
    static KEYS: LazyLock<Vec<String>> =
        LazyLock::new(|| FORMATS.iter().map(|format| format!("{}=", format.name)).collect());
    KEYS.iter().map(String::as_str).collect()
}

/// Groups of events.
pub(crate) fn groups() -> Vec<&'static str> {
    use fairlab_observe::export::record::Group;
    Group::ALL.iter().map(|group| group.name()).chain(["all"]).collect()
}

/// Studies that come with fairlab.
pub(crate) fn studies() -> Vec<&'static str> {
    fairlab_study::names().collect()
}

/// Forms of JSON output.
pub(crate) fn forms() -> Vec<&'static str> {
    schema::names()
}

/// Engines, up to the name.
pub(crate) fn engines() -> Vec<&'static str> {
    vec!["built-in", "kernel:"]
}
