// SPDX-License-Identifier: GPL-2.0-or-later
//! Values that shells complete: names of machines, kernels, governors, features, tunables, formats, studies.
//!
//! Each value has its own parser, which accepts more than these names (paths, lists, numbers) and has its own
//! errors. The names are therefore visible only while a completion script is written, so that help and errors
//! stay short.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use fairlab_board::preset_names;
use fairlab_run::kernels;
use fairlab_run::settings::Setting;
use fairlab_sched::features::Feature;
use fairlab_sched::tunables::TUNABLES;
use fairlab_traces::export::FORMATS;
use std::ffi::OsStr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_COMPLETING: AtomicBool = AtomicBool::new(false);

/// Runs a function while parsers report the names that they accept.
pub(crate) fn with_completion<T>(what: impl FnOnce() -> T) -> T {
    IS_COMPLETING.store(true, Ordering::Relaxed);
    let done = what();
    IS_COMPLETING.store(false, Ordering::Relaxed);
    done
}

/// A parser with names that it accepts, for completion.
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

/// Adds names for completion to a parser.
pub(crate) const fn with_hints<P: TypedValueParser>(parser: P, names: fn() -> Vec<&'static str>) -> ValueHint<P> {
    ValueHint { parser, names }
}

/// Returns a parser for any text, with names for completion. A machine or a study may also be a path, to
/// which shells turn where no name fits; with a `value_hint` on the argument, bash would lose the names.
pub(crate) fn text(names: fn() -> Vec<&'static str>) -> impl TypedValueParser<Value = String> {
    with_hints(clap::builder::StringValueParser::new(), names)
}

/// Returns the machines that come with fairlab.
pub(crate) fn machines() -> Vec<&'static str> {
    preset_names().collect()
}

/// Returns the named kernels.
pub(crate) fn releases() -> Vec<&'static str> {
    kernels::all().map(|kernel| kernel.name).collect()
}

/// Returns the names of features without `NO_`.
pub(crate) fn feature_names() -> Vec<&'static str> {
    Feature::ALL.iter().map(|feature| feature.name()).collect()
}

/// Returns the names of tunables.
pub(crate) fn tunable_names() -> Vec<&'static str> {
    TUNABLES.iter().map(|info| info.name).collect()
}

/// Returns the beginnings of changes in an arm.
pub(crate) fn changes() -> Vec<&'static str> {
    static KEYS: LazyLock<Vec<String>> =
        LazyLock::new(|| crate::values::arms::keys().iter().map(|key| format!("{key}=")).collect());
    let switches = ["features", "tunables"].into_iter().filter_map(Setting::from_name);
    let switches = switches.flat_map(|setting| (setting.names)());
    std::iter::once(crate::values::arms::UNCHANGED).chain(switches).chain(KEYS.iter().map(String::as_str)).collect()
}

/// Returns the formats of traces.
pub(crate) fn formats() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).collect()
}

/// Returns the formats of traces, each with `=`.
pub(crate) fn exports() -> Vec<&'static str> {
    static KEYS: LazyLock<Vec<String>> =
        LazyLock::new(|| FORMATS.iter().map(|format| format!("{}=", format.name)).collect());
    KEYS.iter().map(String::as_str).collect()
}

/// Returns the groups of events.
pub(crate) fn groups() -> Vec<&'static str> {
    use fairlab_traces::export::record::Group;
    Group::ALL.iter().map(|group| group.name()).chain(["all"]).collect()
}

/// Returns the studies that come with fairlab.
pub(crate) fn studies() -> Vec<&'static str> {
    fairlab_study::names().collect()
}

/// Returns the names of JSON formats.
pub(crate) fn schemas() -> Vec<&'static str> {
    vec![
        "run",
        "manifest",
        "spec",
        "experiment",
        "bench",
        "check",
        "explain",
        "findings",
        "study",
        "sensitivity",
        "patch",
        "kernel-bisect",
        "regressions",
        "calibration",
        "validation",
        "conformance",
        "lessons",
        "answers",
        "error",
        "trace",
    ]
}
