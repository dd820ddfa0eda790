// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of the command line: times, features, tunables, kernels.

use fairlab_sched::features::Feature;
use fairlab_sched::tunables::{TUNABLES, TunableInfo};
use fairlab_sched::units::Nanos;
use fairlab_study::kernels::{self, Kernel};
use fairlab_workload::suggest;

/// Units of times, longest name first where one ends like another. A number alone is seconds.
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
/// The longest run: 10^18 ns, as in scenarios.
const MAX_TIME: u64 = 1_000_000_000_000_000_000;

/// A length such as `5s`, `1.5ms` or `5m`, exact to the nanosecond; not nothing.
pub(crate) fn time_of(text: &str) -> Result<Nanos, String> {
    match moment_of(text)? {
        Nanos::ZERO => Err("a run must be longer than nothing".to_owned()),
        time => Ok(time),
    }
}

/// A time from the start of a run.
pub(crate) fn moment_of(text: &str) -> Result<Nanos, String> {
    let wrong = || {
        "a time is a number with a unit: 5s, 300ms, 1.5ms, 20us, 100ns, 2m, 1h; without one it is seconds".to_owned()
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

/// A time in whole microseconds, such as 20us or 0, as the kernel takes it. Other times are seconds without a unit; what goes into this one
/// is a number of microseconds on a real machine, so that none would be a guess.
pub(crate) fn micros_of(text: &str) -> Result<Nanos, String> {
    let is_bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_bare && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) {
        return Err(format!("it needs a unit; the kernel's is the microsecond: write {text}us"));
    }
    let time = moment_of(text)?;
    let is_whole = time.0.is_multiple_of(1000);
    if is_whole { Ok(time) } else { Err("the kernel takes whole microseconds, such as 20us or 0".to_owned()) }
}

pub(crate) fn kernel_of(name: &str) -> Result<Kernel, String> {
    Kernel::from_name(name).ok_or_else(|| {
        let mut parts = name.trim_start_matches(['v', 'V']).split(['.', '-']);
        let release = parts.next().zip(parts.next()).map(|(major, minor)| format!("{major}.{minor}"));
        if let Some(kernel) = release.and_then(|release| Kernel::from_name(&release)) {
            return format!("there is no such kernel; did you mean {}?", kernel.name);
        }
        let names: Vec<&str> = kernels::all().map(|kernel| kernel.name).collect();
        format!("there is no such kernel; known are {}", names.join(", "))
    })
}

pub(crate) fn feature_of(word: &str) -> Result<(Feature, bool), String> {
    let (name, on) = word.strip_prefix("NO_").map_or((word, true), |name| (name, false));
    let feature = Feature::from_name(name);
    feature.map(|feature| (feature, on)).ok_or_else(|| unknown_feature(name, on))
}

fn unknown_feature(name: &str, on: bool) -> String {
    let names: Vec<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
    let prefix = if on { "" } else { "NO_" };
    let lower = name.to_lowercase();
    // What people call the switch that the kernel has as a file.
    let tunable = if lower == "eas" { "energy_aware" } else { lower.as_str() };
    match suggest::nearest(name, &names) {
        Some(near) => format!("there is no such feature; did you mean {prefix}{near}?"),
        None if TUNABLES.iter().any(|info| info.name == tunable) => {
            let value = u8::from(on);
            format!("there is no such feature, but a tunable; did you mean {tunable}={value}? (as an option: --set)")
        }
        None => "there is none of that name; see `fairlab features`".to_owned(),
    }
}

pub(crate) fn setting_of(word: &str) -> Result<(String, i64), String> {
    let (name, value) = word.split_once('=').ok_or("write TUNABLE=VALUE, such as migration_cost_ns=0")?;
    let info = tunable_of(name)?;
    let range =
        format!("{} is a number from {} to {} ({})", info.name, info.range.start(), info.range.end(), info.unit);
    let value: i64 = value.parse().map_err(|_| range.clone())?;
    if !info.range.contains(&value) {
        return Err(range);
    }
    Ok((name.to_owned(), value))
}

/// The tunable of a name.
pub(crate) fn tunable_of(name: &str) -> Result<&'static TunableInfo, String> {
    TUNABLES.iter().find(|info| info.name == name).ok_or_else(|| {
        if let Some(feature) = Feature::from_name(name.strip_prefix("NO_").unwrap_or(name)) {
            let name = feature.name();
            return format!("{name} is a feature: write {name} or NO_{name}; in a plan, true or false");
        }
        if name.eq_ignore_ascii_case("eas") {
            return "there is no such tunable; placement by energy is energy_aware".to_owned();
        }
        let names: Vec<&str> = TUNABLES.iter().map(|info| info.name).collect();
        match suggest::nearest(name, &names) {
            Some(near) => format!("there is no such tunable; did you mean {near}?"),
            None => "there is no such tunable; see `fairlab tunables`".to_owned(),
        }
    })
}

/// The feature of a name, without a switch.
pub(crate) fn feature_name_of(name: &str) -> Result<Feature, String> {
    feature_of(name).map(|(feature, _)| feature)
}

/// What drives frequencies.
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

/// Who decides on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EngineName {
    /// The scheduler of this project.
    BuiltIn,
    /// That of a kernel tree, by the name under which it was built.
    Kernel(String),
}

impl EngineName {
    /// The engine of a kernel.
    pub(crate) fn of_kernel(name: &str) -> Self {
        Self::Kernel(name.to_owned())
    }

    /// The name of a kernel's engine.
    pub(crate) fn kernel(&self) -> Option<&str> {
        match self {
            Self::BuiltIn => None,
            Self::Kernel(name) => Some(name),
        }
    }
}

/// Reads `built-in` or `kernel:NAME`.
pub(crate) fn engine_of(text: &str) -> Result<EngineName, String> {
    match text.strip_prefix("kernel:") {
        Some(name) if !name.is_empty() => Ok(EngineName::Kernel(name.to_owned())),
        _ if text == "built-in" => Ok(EngineName::BuiltIn),
        _ => Err("an engine is built-in or kernel:NAME; `fairlab kernel list` has the names".to_owned()),
    }
}

pub(crate) fn governor_of(name: &str) -> Result<GovernorName, String> {
    GovernorName::ALL.into_iter().find(|governor| governor.name() == name).ok_or_else(|| match name {
        "ondemand" | "conservative" | "userspace" => {
            format!("{name} is not modelled; there are performance, powersave and schedutil")
        }
        _ => "governors are performance, powersave and schedutil".to_owned(),
    })
}

/// What one option says of features.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FeatureList(pub(crate) Vec<(Feature, bool)>);

/// Features that are switched by one option.
pub(crate) fn features_of(text: &str) -> Result<FeatureList, String> {
    let features: Vec<(Feature, bool)> = text.split(',').map(feature_of).collect::<Result<_, _>>()?;
    check_changes(&features, &[])?;
    Ok(FeatureList(features))
}

/// Refuses what one list gives twice with different values: to take one of them would be a guess.
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
            assert_eq!(time_of(text), Ok(Nanos(ns)), "{text}");
        }
        assert_eq!(moment_of("0"), Ok(Nanos::ZERO));
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
            assert!(time_of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_exit_latency_is_in_whole_microseconds_and_may_be_nothing() {
        assert_eq!((micros_of("0us"), micros_of("1.5ms")), (Ok(Nanos::ZERO), Ok(Nanos::from_micros(1500))));
        assert_eq!((micros_of("0"), micros_of("20us")), (Ok(Nanos::ZERO), Ok(Nanos::from_micros(20))));
        for bare in ["20", "1.5"] {
            let error = micros_of(bare).expect_err("20 seconds are meant by nobody");
            assert!(error.contains(&format!("write {bare}us")), "{error}");
        }
        assert!(micros_of("20ns").expect_err("too fine").contains("whole microseconds"));
        let arm = crate::arms::arm_of("cpu_dma_latency=20us,NO_SIS_UTIL").expect("an arm");
        assert_eq!((arm.cpu_dma_latency, arm.features.len()), (Some(Nanos::from_micros(20)), 1));
    }

    #[test]
    fn features_and_tunables_are_known_or_suggested() {
        assert_eq!(feature_of("NO_SIS_UTIL"), Ok((Feature::SisUtil, false)));
        assert!(feature_of("NO_SIS_UTL").expect_err("misspelt").contains("NO_SIS_UTIL"));
        assert_eq!(setting_of("migration_cost_ns=-1"), Ok(("migration_cost_ns".to_owned(), -1)));
        assert!(setting_of("migration_cost=1").is_err());
        for (word, expected) in
            [("SIS_UTIL=1", "write SIS_UTIL or NO_SIS_UTIL"), ("NO_SIS_UTIL=0", "SIS_UTIL is a feature")]
        {
            assert!(setting_of(word).expect_err(word).contains(expected), "{word}");
        }
        assert!(feature_of("NO_EAS").expect_err("a tunable").contains("did you mean energy_aware=0?"));
        assert!(feature_of("ENERGY_AWARE").expect_err("a tunable").contains("did you mean energy_aware=1?"));
        for name in ["v5.4", "5.4.0", "v5.4.0-rc1"] {
            assert!(kernel_of(name).expect_err(name).contains("did you mean 5.4?"), "{name}");
        }
        assert!(setting_of("latency_ns=x").expect_err("no number").contains("from 0"));
    }
}
