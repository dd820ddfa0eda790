// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of settings, and their parsers: times, features, tunables, kernels, governors, engines, costs.

use crate::input::InputFile;
use crate::kernels::{self, Kernel};
use fairlab_board::{OPERATIONS, preset_names};
use fairlab_sched::features::Feature;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::tunables::{TUNABLES, TunableInfo};
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use fairlab_workload::suggest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

pub use fairlab_workload::time::{parse_micros, parse_moment, parse_time};

/// Returns the kernel of a release.
///
/// # Errors
/// If it is unknown, with the nearest one.
pub fn kernel_from_name(name: &str) -> Result<Kernel, Message> {
    Kernel::from_name(name).ok_or_else(|| {
        let mut parts = name.trim_start_matches(['v', 'V']).split(['.', '-']);
        let release = parts.next().zip(parts.next()).map(|(major, minor)| format!("{major}.{minor}"));
        if let Some(kernel) = release.and_then(|release| Kernel::from_name(&release)) {
            return Message::new("unknown kernel").with_help(format!("did you mean {}?", kernel.name));
        }
        let names: Vec<&str> = kernels::all().map(|kernel| kernel.name).collect();
        let known = names.join(", ");
        Message::new("unknown kernel").with_help(format!(
            "known kernels: {known}; `fairlab kernel add NAME` builds an engine of any other release"
        ))
    })
}

/// Parses `NAME` or `NO_NAME`. Features of compiled kernels are known only to these, so any name of their form is
/// accepted.
///
/// # Errors
/// If no kernel can have a feature of this name, with the nearest name.
pub fn parse_feature(word: &str) -> Result<(String, bool), Message> {
    let (name, on) = word.strip_prefix("NO_").map_or((word, true), |name| (name, false));
    let is_name = name.starts_with(|letter: char| letter.is_ascii_uppercase())
        && name.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_');
    if is_name { Ok((name.to_owned(), on)) } else { Err(unknown_feature(name, on)) }
}

/// Checks that the built-in scheduler has the feature of `NAME` or `NO_NAME` in a series of kernels.
///
/// # Errors
/// If it does not, with the series that has it or the nearest name.
pub fn check_feature(series: KernelSeries, word: &str) -> Result<Feature, Message> {
    let (name, on) = parse_feature(word)?;
    let feature = Feature::from_name(&name).ok_or_else(|| unknown_feature(&name, on))?;
    check_series("feature", series, feature.only_in())?;
    Ok(feature)
}

/// Rejects a feature or tunable (`kind`) that only the other series has.
fn check_series(kind: &str, series: KernelSeries, only_in: Option<KernelSeries>) -> Result<(), Message> {
    match only_in {
        Some(other) if other != series => {
            let message = Message::new(format!("{series} has no such {kind}"));
            Err(message.with_help(format!("`--kernel {other}` has it")))
        }
        _ => Ok(()),
    }
}

fn unknown_feature(name: &str, on: bool) -> Message {
    let names: Vec<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
    let prefix = if on { "" } else { "NO_" };
    let lower = name.to_lowercase();
    // People know the switch under this name; the kernel has it as a file.
    let tunable = if lower == "eas" { "energy_aware" } else { lower.as_str() };
    match suggest::nearest(name, &names) {
        Some(near) => Message::new("unknown feature").with_help(format!("did you mean {prefix}{near}?")),
        None if TUNABLES.iter().any(|info| info.name == tunable) => {
            let value = u8::from(on);
            let help = format!("did you mean {tunable}={value}? (as an option: --set)");
            Message::new("this is a tunable, not a feature").with_help(help)
        }
        None => Message::new("unknown feature").with_help("see `fairlab features`"),
    }
}

/// Parses `TUNABLE=VALUE`. Tunables of compiled kernels are known only to these, so any name of their form is
/// accepted.
///
/// # Errors
/// If no kernel can have a tunable of this name, the value is no number, or the built-in scheduler has the tunable and
/// the value is out of its range.
pub fn parse_setting(word: &str) -> Result<(String, i64), Message> {
    let (name, value) =
        word.split_once('=').ok_or_else(|| Message::new("write TUNABLE=VALUE, such as migration_cost_ns=0"))?;
    let info = match tunable_from_name(name) {
        Ok(info) => info,
        Err(error) => {
            let is_letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
            let number = value.parse().ok().filter(|_| name.contains('_') && name.chars().all(is_letter));
            return number.map(|number| (name.to_owned(), number)).ok_or(error);
        }
    };
    let value = value.parse().ok().filter(|value| info.range.contains(value));
    let range = || {
        let (low, high) = (info.range.start(), info.range.end());
        Message::new(format!("{} is a number from {low} to {high} ({})", info.name, info.unit))
    };
    Ok((name.to_owned(), value.ok_or_else(range)?))
}

/// Returns the built-in scheduler's tunable of this name, if it has the tunable in a series of kernels.
///
/// # Errors
/// If it does not, with the series that has it or the nearest name.
pub fn tunable_in(series: KernelSeries, name: &str) -> Result<&'static TunableInfo, Message> {
    let info = tunable_from_name(name)?;
    check_series("tunable", series, info.only_in)?;
    Ok(info)
}

/// Returns the built-in scheduler's tunable of this name, of whatever kernel.
///
/// # Errors
/// If there is none, with the nearest one.
pub fn tunable_from_name(name: &str) -> Result<&'static TunableInfo, Message> {
    TUNABLES.iter().find(|info| info.name == name).ok_or_else(|| {
        let feature = name.strip_prefix("NO_").unwrap_or(name);
        if let Some(feature) = Feature::from_name(feature) {
            let name = feature.name();
            let help = format!("write {name} or NO_{name}; in a plan, true or false");
            return Message::new(format!("{name} is a feature")).with_help(help);
        }
        if name.eq_ignore_ascii_case("eas") {
            return Message::new("unknown tunable").with_help("energy-aware scheduling is energy_aware");
        }
        let names: Vec<&str> = TUNABLES.iter().map(|info| info.name).collect();
        match suggest::nearest(name, &names) {
            Some(near) => Message::new("unknown tunable").with_help(format!("did you mean {near}?")),
            None => Message::new("unknown tunable").with_help("see `fairlab tunables`"),
        }
    })
}

/// Governor that sets frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GovernorName {
    /// The highest frequency.
    Performance,
    /// The lowest frequency.
    Powersave,
    /// The frequency that suits the utilisation.
    Schedutil,
}

impl GovernorName {
    /// All governors that are modelled.
    pub const ALL: [Self; 3] = [Self::Performance, Self::Powersave, Self::Schedutil];

    /// Name as in the kernel.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Performance => "performance",
            Self::Powersave => "powersave",
            Self::Schedutil => "schedutil",
        }
    }
}

/// Returns the governor of a name; fails if it does not exist or is not modelled.
pub(crate) fn governor_from_name(name: &str) -> Result<GovernorName, Message> {
    GovernorName::ALL.into_iter().find(|governor| governor.name() == name).ok_or_else(|| {
        let message = match name {
            "ondemand" | "conservative" | "userspace" => Message::new(format!("{name} is not modelled")),
            _ => Message::new("unknown governor"),
        };
        message.with_help("use performance, powersave or schedutil")
    })
}

/// Scheduler of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum EngineName {
    /// The scheduler that is part of fairlab.
    BuiltIn,
    /// Scheduler of a kernel tree, by the name under which it was built.
    Kernel(String),
}

impl EngineName {
    /// Returns the name of a compiled-kernel engine.
    pub fn kernel(&self) -> Option<&str> {
        match self {
            Self::BuiltIn => None,
            Self::Kernel(name) => Some(name),
        }
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::Kernel(name) => write!(f, "kernel:{name}"),
        }
    }
}

impl From<EngineName> for String {
    fn from(engine: EngineName) -> Self {
        engine.to_string()
    }
}

impl TryFrom<String> for EngineName {
    type Error = Message;

    fn try_from(text: String) -> Result<Self, Message> {
        parse_engine(&text)
    }
}

/// Parses `built-in` or `kernel:NAME`.
///
/// # Errors
/// If it is neither.
pub fn parse_engine(text: &str) -> Result<EngineName, Message> {
    match text.strip_prefix("kernel:") {
        Some(name) if !name.is_empty() => Ok(EngineName::Kernel(name.to_owned())),
        _ if text == "built-in" => Ok(EngineName::BuiltIn),
        _ => Err(Message::new("an engine is built-in or kernel:NAME").with_help("`fairlab kernel list` has the names")),
    }
}

/// Parts of a machine that `plain` keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Plain {
    /// Only the topology.
    Shape,
    /// The topology, costs and idle states.
    Priced,
}

impl Plain {
    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shape => "shape",
            Self::Priced => "priced",
        }
    }

    /// Parses a name.
    ///
    /// # Errors
    /// If there is no such value.
    pub fn parse(text: &str) -> Result<Self, Message> {
        let all = [Self::Shape, Self::Priced];
        let names = || all.map(Self::name).join(" or ");
        all.into_iter().find(|plain| plain.name() == text).ok_or_else(|| Message::new(format!("use {}", names())))
    }
}

/// Source of the costs of kernel code.
#[expect(missing_docs, reason = "the names describe the items")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CostSource {
    Machine,
    Zero,
    Of(InputFile),
}

/// Calls of a compiled kernel that cost time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum CallCosts {
    /// Calls that these engines have in common, in the order of the command's arms. Without names, the command's
    /// compiled kernels; for a single one, its own calls.
    Common(Vec<String>),
    /// Calls of the functions that each kernel has.
    Counted,
    /// None: kernel code takes no time.
    Zero,
}

impl Default for CallCosts {
    fn default() -> Self {
        Self::Common(Vec::new())
    }
}

impl CallCosts {
    /// Parses `common`, `common:ENGINE:ENGINE`, `counted` or `zero`.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn parse(text: &str) -> Result<Self, Message> {
        match (text, text.strip_prefix("common:")) {
            ("common", _) => Ok(Self::default()),
            ("counted", _) => Ok(Self::Counted),
            ("zero", _) => Ok(Self::Zero),
            (_, Some(engines)) if engines.split(':').all(|engine| !engine.is_empty()) => {
                Ok(Self::Common(engines.split(':').map(str::to_owned).collect()))
            }
            _ => Err(Message::new("use common, counted, zero, or common:ENGINE:ENGINE with names of engines")),
        }
    }

    /// Returns the text from which [`Self::parse`] makes this value.
    pub fn text(&self) -> String {
        match self {
            Self::Common(engines) if engines.is_empty() => "common".to_owned(),
            Self::Common(engines) => format!("common:{}", engines.join(":")),
            Self::Counted => "counted".to_owned(),
            Self::Zero => "zero".to_owned(),
        }
    }
}

impl From<CallCosts> for String {
    fn from(costs: CallCosts) -> Self {
        costs.text()
    }
}

impl TryFrom<String> for CallCosts {
    type Error = Message;

    fn try_from(text: String) -> Result<Self, Message> {
        Self::parse(&text)
    }
}

/// Cost model of kernel code, and costs of single operations that differ from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct CostChoice {
    /// Source; that of the machine if absent.
    pub source: Option<CostSource>,
    /// Costs of operations in picoseconds, by name.
    pub operations: BTreeMap<String, u64>,
}

/// Highest cost of an operation: one second.
const MAX_COST_NS: f64 = 1e9;

impl CostChoice {
    /// Reads `machine`, `zero`, the name or path of a machine, or `OPERATION=NS`.
    ///
    /// # Errors
    /// If the operation does not exist, or its cost is out of range.
    pub fn read(&mut self, text: &str) -> Result<(), Message> {
        match (text, text.split_once('=')) {
            ("machine", _) => self.source = Some(CostSource::Machine),
            ("zero", _) => self.source = Some(CostSource::Zero),
            (_, Some((operation, ns))) => {
                self.operations.insert(operation.to_owned(), parse_cost(operation, ns)?);
            }
            (machine, None) if is_machine(machine) => self.source = Some(CostSource::Of(InputFile::new(machine))),
            _ => return Err(Message::new("use machine, zero, the name or path of a machine, or OPERATION=NS")),
        }
        Ok(())
    }

    /// Returns texts from which [`Self::read`] makes this value.
    pub fn texts(&self) -> Vec<String> {
        let source = self.source.as_ref().map(|source| match source {
            CostSource::Machine => "machine".to_owned(),
            CostSource::Zero => "zero".to_owned(),
            CostSource::Of(machine) => machine.given.clone(),
        });
        let costs = self.operations.iter().map(|(operation, ps)| format!("{operation}={}", *ps as f64 / 1000.0));
        source.into_iter().chain(costs).collect()
    }
}

impl TryFrom<Vec<String>> for CostChoice {
    type Error = Message;

    fn try_from(texts: Vec<String>) -> Result<Self, Message> {
        let mut costs = Self::default();
        texts.iter().try_for_each(|text| costs.read(text))?;
        Ok(costs)
    }
}

impl From<CostChoice> for Vec<String> {
    fn from(costs: CostChoice) -> Self {
        costs.texts()
    }
}

fn is_machine(text: &str) -> bool {
    preset_names().any(|name| name == text) || text.ends_with(".toml") || text.contains('/') || text.starts_with('<')
}

fn parse_cost(operation: &str, value: &str) -> Result<u64, Message> {
    if !OPERATIONS.contains(&operation) {
        return Err(match suggest::nearest(operation, &OPERATIONS) {
            Some(near) => Message::new("unknown operation").with_help(format!("did you mean {near}?")),
            None => Message::new("unknown operation").with_help("see the costs in `fairlab machine show --toml NAME`"),
        });
    }
    let ns = value.parse::<f64>().ok().filter(|ns| (0.0..=MAX_COST_NS).contains(ns));
    let range = || Message::new(format!("{operation} is a number of nanoseconds, from 0 to {MAX_COST_NS:.0}"));
    let ns = ns.ok_or_else(range)?;
    Ok((ns * 1000.0).round() as u64)
}

/// Start times of a workload's tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Starts {
    /// The times of the workload.
    #[default]
    AtOnce,
    /// Later by random times, from the seed; random run lengths of a scenario are drawn from the seed, too.
    Jittered,
}

/// Parses `NAME` or `NO_NAME`, separated by commas; fails if a name has the wrong form, or is switched on and off.
pub(crate) fn parse_features(text: &str) -> Result<Vec<(String, bool)>, Message> {
    let features: Vec<(String, bool)> = text.split(',').map(parse_feature).collect::<Result<_, _>>()?;
    check_changes(&features, &[])?;
    Ok(features)
}

/// Rejects a feature or tunable that one list sets to two different values.
///
/// # Errors
/// Its name and both values.
pub fn check_changes(features: &[(String, bool)], tunables: &[(String, i64)]) -> Result<(), Message> {
    for (place, (feature, on)) in features.iter().enumerate() {
        if features[..place].iter().any(|(other, other_on)| other == feature && other_on != on) {
            let message = Message::new(format!("{feature} is switched on and off"));
            return Err(message.with_help(format!("keep {feature} or NO_{feature}")));
        }
    }
    for (place, (name, value)) in tunables.iter().enumerate() {
        if let Some((_, other)) = tunables[..place].iter().find(|(other, old)| other == name && old != value) {
            let message = Message::new(format!("{name} is set twice"));
            return Err(message.with_help(format!("keep {name}={other} or {name}={value}")));
        }
    }
    Ok(())
}

/// Formats a time as options take it, in the largest unit in which it is a whole number.
pub(crate) fn time_text(time: Nanos) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns")];
    let whole = units.iter().find(|(ns, _)| time.0.is_multiple_of(*ns));
    whole.map_or_else(String::new, |(ns, unit)| format!("{}{unit}", time.0 / ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn features_and_tunables_are_known_or_suggested() {
        assert_eq!(parse_feature("NO_SIS_UTIL"), Ok(("SIS_UTIL".to_owned(), false)));
        let check_feature = |word| check_feature(KernelSeries::V6_1, word);
        assert_eq!(check_feature("NO_SIS_UTIL"), Ok(Feature::SisUtil));
        let in_eevdf = Message::new("6.1 has no such feature").with_help("`--kernel 6.12` has it");
        assert_eq!(check_feature("RUN_TO_PARITY"), Err(in_eevdf));
        assert!(
            tunable_in(KernelSeries::V6_12, "latency_ns").expect_err("of CFS").to_string().contains("--kernel 6.1`")
        );
        assert!(check_feature("NO_SIS_UTL").expect_err("misspelt").to_string().contains("NO_SIS_UTIL"));
        assert_eq!(parse_setting("migration_cost_ns=-1"), Ok(("migration_cost_ns".to_owned(), -1)));
        assert!(tunable_from_name("migration_cost").is_err());
        for (word, expected) in
            [("SIS_UTIL=1", "write SIS_UTIL or NO_SIS_UTIL"), ("NO_SIS_UTIL=0", "SIS_UTIL is a feature")]
        {
            assert!(parse_setting(word).expect_err(word).to_string().contains(expected), "{word}");
        }
        assert!(check_feature("NO_EAS").expect_err("a tunable").to_string().contains("did you mean energy_aware=0?"));
        assert!(
            check_feature("ENERGY_AWARE").expect_err("a tunable").to_string().contains("did you mean energy_aware=1?")
        );
        for name in ["v5.4", "5.4.0", "v5.4.0-rc1"] {
            assert!(kernel_from_name(name).expect_err(name).to_string().contains("did you mean 5.4?"), "{name}");
        }
        assert!(parse_setting("latency_ns=x").expect_err("no number").to_string().contains("from 0"));
    }

    #[test]
    fn names_that_only_a_compiled_kernel_may_have_are_accepted() {
        assert_eq!(parse_feature("NO_RUN_TO_PARITY"), Ok(("RUN_TO_PARITY".to_owned(), false)));
        assert_eq!(parse_setting("base_slice_ns=3000000"), Ok(("base_slice_ns".to_owned(), 3_000_000)));
        for word in ["run_to_parity", "Sis", "", "4X"] {
            assert!(parse_feature(word).is_err(), "{word}");
        }
        for word in ["base_slice_ns=3ms", "RUN_TO=1", "=1"] {
            assert!(parse_setting(word).is_err(), "{word}");
        }
    }
}
