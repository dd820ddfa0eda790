// SPDX-License-Identifier: GPL-2.0-or-later
//! Parsers of command-line values: times, features, tunables, kernels, governors, engines.

use fairlab_sched::features::Feature;
use fairlab_sched::tunables::{TUNABLES, TunableInfo};
use fairlab_sched::units::Nanos;
use fairlab_study::kernels::{self, Kernel};
use fairlab_workload::suggest;

/// Units of times. A name that is the end of another one comes after it. A number without a unit is in
/// seconds.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("", 1_000_000_000),
];
/// Longest run, in nanoseconds, as in scenarios.
const MAX_TIME: u64 = 1_000_000_000_000_000_000;

/// Parses a duration such as `5s`, `1.5ms` or `5m`, exact to the nanosecond. Zero is rejected.
pub(crate) fn parse_time(text: &str) -> Result<Nanos, String> {
    match parse_moment(text)? {
        Nanos::ZERO => Err("a duration must be greater than 0".to_owned()),
        time => Ok(time),
    }
}

/// Parses a time from the start of a run.
pub(crate) fn parse_moment(text: &str) -> Result<Nanos, String> {
    let wrong = || {
        "a time is a number with a unit: 5s, 300ms, 1.5ms, 20us, 100ns, 2m, 1h; the default unit is seconds".to_owned()
    };
    let (number, unit) = UNITS.iter().find_map(|(name, ns)| Some((text.strip_suffix(name)?, *ns))).ok_or_else(wrong)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) || (number.contains('.') && fraction.is_empty()) {
        return Err(wrong());
    }
    let too_long = || "the longest time is 1000000000s".to_owned();
    let mut time = whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(unit)).ok_or_else(too_long)?;
    let mut place = unit;
    for digit in fraction.bytes() {
        place /= 10;
        time = time.saturating_add(u64::from(digit - b'0') * place);
    }
    if time > MAX_TIME { Err(too_long()) } else { Ok(Nanos(time)) }
}

/// Parses a time in whole microseconds, such as 20us or 0, as the kernel takes it. A number without a unit is
/// rejected: other times are then in seconds, but on a real machine this value is in microseconds.
pub(crate) fn parse_micros(text: &str) -> Result<Nanos, String> {
    let is_bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_bare && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) {
        return Err(format!("a unit is missing; the kernel's is the microsecond: write {text}us"));
    }
    let time = parse_moment(text)?;
    let is_whole = time.0.is_multiple_of(1000);
    if is_whole { Ok(time) } else { Err("the time must be in whole microseconds, such as 20us or 0".to_owned()) }
}

pub(crate) fn kernel_from_name(name: &str) -> Result<Kernel, String> {
    Kernel::from_name(name).ok_or_else(|| {
        let mut parts = name.trim_start_matches(['v', 'V']).split(['.', '-']);
        let release = parts.next().zip(parts.next()).map(|(major, minor)| format!("{major}.{minor}"));
        if let Some(kernel) = release.and_then(|release| Kernel::from_name(&release)) {
            return format!("unknown kernel; did you mean {}?", kernel.name);
        }
        let names: Vec<&str> = kernels::all().map(|kernel| kernel.name).collect();
        format!("unknown kernel; known kernels: {}", names.join(", "))
    })
}

pub(crate) fn parse_feature(word: &str) -> Result<(Feature, bool), String> {
    let (name, on) = word.strip_prefix("NO_").map_or((word, true), |name| (name, false));
    let feature = Feature::from_name(name);
    feature.map(|feature| (feature, on)).ok_or_else(|| unknown_feature(name, on))
}

fn unknown_feature(name: &str, on: bool) -> String {
    let names: Vec<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
    let prefix = if on { "" } else { "NO_" };
    let lower = name.to_lowercase();
    // People know the switch under this name; the kernel has it as a file.
    let tunable = if lower == "eas" { "energy_aware" } else { lower.as_str() };
    match suggest::nearest(name, &names) {
        Some(near) => format!("unknown feature; did you mean {prefix}{near}?"),
        None if TUNABLES.iter().any(|info| info.name == tunable) => {
            let value = u8::from(on);
            format!("this is a tunable, not a feature; did you mean {tunable}={value}? (as an option: --set)")
        }
        None => "unknown feature; see `fairlab features`".to_owned(),
    }
}

pub(crate) fn parse_setting(word: &str) -> Result<(String, i64), String> {
    let (name, value) = word.split_once('=').ok_or("write TUNABLE=VALUE, such as migration_cost_ns=0")?;
    let info = tunable_from_name(name)?;
    let range =
        format!("{} is a number from {} to {} ({})", info.name, info.range.start(), info.range.end(), info.unit);
    let value: i64 = value.parse().map_err(|_| range.clone())?;
    if !info.range.contains(&value) {
        return Err(range);
    }
    Ok((name.to_owned(), value))
}

/// Returns the tunable with a given name.
pub(crate) fn tunable_from_name(name: &str) -> Result<&'static TunableInfo, String> {
    TUNABLES.iter().find(|info| info.name == name).ok_or_else(|| {
        if let Some(feature) = Feature::from_name(name.strip_prefix("NO_").unwrap_or(name)) {
            let name = feature.name();
            return format!("{name} is a feature: write {name} or NO_{name}; in a plan, true or false");
        }
        if name.eq_ignore_ascii_case("eas") {
            return "unknown tunable; energy-aware scheduling is energy_aware".to_owned();
        }
        let names: Vec<&str> = TUNABLES.iter().map(|info| info.name).collect();
        match suggest::nearest(name, &names) {
            Some(near) => format!("unknown tunable; did you mean {near}?"),
            None => "unknown tunable; see `fairlab tunables`".to_owned(),
        }
    })
}

/// Returns the feature with a given name. `NO_` is accepted and ignored.
pub(crate) fn feature_from_name(name: &str) -> Result<Feature, String> {
    parse_feature(name).map(|(feature, _)| feature)
}

/// Governor that sets frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GovernorName {
    Performance,
    Powersave,
    Schedutil,
}

impl GovernorName {
    pub(crate) const ALL: [Self; 3] = [Self::Performance, Self::Powersave, Self::Schedutil];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Performance => "performance",
            Self::Powersave => "powersave",
            Self::Schedutil => "schedutil",
        }
    }
}

/// Engine of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EngineName {
    /// The scheduler that is part of fairlab.
    BuiltIn,
    /// Scheduler of a kernel tree, by the name under which it was built.
    Kernel(String),
}

impl EngineName {
    /// Returns the compiled-kernel engine with a given name.
    pub(crate) fn from_kernel(name: &str) -> Self {
        Self::Kernel(name.to_owned())
    }

    /// Returns the name of a compiled-kernel engine.
    pub(crate) fn kernel(&self) -> Option<&str> {
        match self {
            Self::BuiltIn => None,
            Self::Kernel(name) => Some(name),
        }
    }
}

/// Parses `built-in` or `kernel:NAME`.
pub(crate) fn parse_engine(text: &str) -> Result<EngineName, String> {
    match text.strip_prefix("kernel:") {
        Some(name) if !name.is_empty() => Ok(EngineName::Kernel(name.to_owned())),
        _ if text == "built-in" => Ok(EngineName::BuiltIn),
        _ => Err("an engine is built-in or kernel:NAME; see `fairlab kernel list` for names".to_owned()),
    }
}

pub(crate) fn governor_from_name(name: &str) -> Result<GovernorName, String> {
    GovernorName::ALL.into_iter().find(|governor| governor.name() == name).ok_or_else(|| match name {
        "ondemand" | "conservative" | "userspace" => {
            format!("{name} is not modelled; use performance, powersave or schedutil")
        }
        _ => "unknown governor; use performance, powersave or schedutil".to_owned(),
    })
}

/// Features of one option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FeatureList(pub(crate) Vec<(Feature, bool)>);

/// Parses the features of one option.
pub(crate) fn parse_features(text: &str) -> Result<FeatureList, String> {
    let features: Vec<(Feature, bool)> = text.split(',').map(parse_feature).collect::<Result<_, _>>()?;
    check_changes(&features, &[])?;
    Ok(FeatureList(features))
}

/// Rejects a feature or tunable that one list sets to two different values.
pub(crate) fn check_changes(features: &[(Feature, bool)], set: &[(String, i64)]) -> Result<(), String> {
    for (place, (feature, on)) in features.iter().enumerate() {
        if features[..place].iter().any(|(other, other_on)| other == feature && other_on != on) {
            let name = feature.name();
            return Err(format!("{name} is switched on and off; keep {name} or NO_{name}"));
        }
    }
    for (place, (name, value)) in set.iter().enumerate() {
        if let Some((_, other)) = set[..place].iter().find(|(other, old)| other == name && old != value) {
            return Err(format!("{name} is set twice; keep {name}={other} or {name}={value}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn times_are_exact() {
        for (text, ns) in
            [("5s", 5_000_000_000), ("1.5ms", 1_500_000), ("20us", 20_000), ("7ns", 7), ("0.25s", 250_000_000)]
                .into_iter()
                .chain([
                    ("5m", 300_000_000_000),
                    ("2min", 120_000_000_000),
                    ("1h", 3_600_000_000_000),
                    ("10", 10_000_000_000),
                ])
        {
            assert_eq!(parse_time(text), Ok(Nanos(ns)), "{text}");
        }
        assert_eq!(parse_moment("0"), Ok(Nanos::ZERO));
        for text in [
            "",
            "s",
            "5 s",
            "5 m",
            "5d",
            "-5s",
            "1.s",
            ".5s",
            "1e3s",
            "0s",
            "99999999999s",
            "18446744073709551616ns",
            "18446744073.9s",
        ] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_exit_latency_is_in_whole_microseconds_and_may_be_nothing() {
        assert_eq!((parse_micros("0us"), parse_micros("1.5ms")), (Ok(Nanos::ZERO), Ok(Nanos::from_micros(1500))));
        assert_eq!((parse_micros("0"), parse_micros("20us")), (Ok(Nanos::ZERO), Ok(Nanos::from_micros(20))));
        for bare in ["20", "1.5"] {
            let error = parse_micros(bare).expect_err("a number without a unit is rejected");
            assert!(error.contains(&format!("write {bare}us")), "{error}");
        }
        assert!(parse_micros("20ns").expect_err("too fine").contains("whole microseconds"));
        let arm = crate::arms::parse_arm("cpu_dma_latency=20us,NO_SIS_UTIL").expect("an arm");
        assert_eq!((arm.cpu_dma_latency, arm.features.len()), (Some(Nanos::from_micros(20)), 1));
    }

    #[test]
    fn features_and_tunables_are_known_or_suggested() {
        assert_eq!(parse_feature("NO_SIS_UTIL"), Ok((Feature::SisUtil, false)));
        assert!(parse_feature("NO_SIS_UTL").expect_err("misspelt").contains("NO_SIS_UTIL"));
        assert_eq!(parse_setting("migration_cost_ns=-1"), Ok(("migration_cost_ns".to_owned(), -1)));
        assert!(parse_setting("migration_cost=1").is_err());
        for (word, expected) in
            [("SIS_UTIL=1", "write SIS_UTIL or NO_SIS_UTIL"), ("NO_SIS_UTIL=0", "SIS_UTIL is a feature")]
        {
            assert!(parse_setting(word).expect_err(word).contains(expected), "{word}");
        }
        assert!(parse_feature("NO_EAS").expect_err("a tunable").contains("did you mean energy_aware=0?"));
        assert!(parse_feature("ENERGY_AWARE").expect_err("a tunable").contains("did you mean energy_aware=1?"));
        for name in ["v5.4", "5.4.0", "v5.4.0-rc1"] {
            assert!(kernel_from_name(name).expect_err(name).contains("did you mean 5.4?"), "{name}");
        }
        assert!(parse_setting("latency_ns=x").expect_err("no number").contains("from 0"));
    }
}
