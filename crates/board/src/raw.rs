// SPDX-License-Identifier: GPL-2.0-or-later
//! Raw tables of a machine file: only names and types of keys are checked.

use serde::Deserialize;
use toml::Spanned;

/// An optional key: the value with its position.
pub(super) type OptionalKey<T> = Option<Spanned<T>>;
/// An array with the positions of its entries.
pub(super) type List<T> = Spanned<Vec<Spanned<T>>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCpus {
    pub(super) count: Spanned<u64>,
    pub(super) threads_per_core: OptionalKey<u64>,
    pub(super) numbering: OptionalKey<RawNumbering>,
    pub(super) cores_per_cluster: OptionalKey<u64>,
    pub(super) cores_per_llc: OptionalKey<u64>,
    pub(super) cores_per_package: OptionalKey<u64>,
    pub(super) cores_per_node: OptionalKey<u64>,
    pub(super) core: Option<List<u64>>,
    pub(super) cluster: Option<List<u64>>,
    pub(super) llc: Option<List<u64>>,
    pub(super) package: Option<List<u64>>,
    pub(super) node: Option<List<u64>>,
    pub(super) levels: Option<List<RawLevel>>,
    pub(super) distances: Option<Spanned<Vec<List<u64>>>>,
}

/// Order in which the kernel numbered the threads of cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawNumbering {
    CoreMajor,
    ThreadsLast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawLevel {
    Smt,
    Cluster,
    Mc,
    Package,
    All,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCpuType {
    pub(super) name: Spanned<String>,
    pub(super) cpus: Spanned<String>,
    pub(super) capacity: Spanned<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFrequencyDomain {
    pub(super) cpus: Spanned<String>,
    pub(super) khz: List<u64>,
    pub(super) power_uw: Option<List<u64>>,
    pub(super) governor: OptionalKey<RawGovernor>,
    pub(super) fixed_khz: OptionalKey<u64>,
    pub(super) rate_limit_us: OptionalKey<u64>,
    pub(super) transition_latency_ns: OptionalKey<u64>,
    pub(super) fast_switch: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawGovernor {
    Performance,
    Powersave,
    Schedutil,
    Fixed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawIdleState {
    pub(super) name: Spanned<String>,
    pub(super) cpus: OptionalKey<String>,
    pub(super) exit_latency_ns: Spanned<u64>,
    pub(super) exit_typical_ns: OptionalKey<u64>,
    pub(super) entry_latency_ns: OptionalKey<u64>,
    pub(super) target_residency_ns: Spanned<u64>,
    pub(super) polls: OptionalKey<bool>,
    pub(super) power_uw: OptionalKey<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSmt {
    pub(super) throughput_percent: List<u64>,
    pub(super) source: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTurbo {
    pub(super) base_khz: Spanned<u64>,
    pub(super) busy_cores: List<u64>,
    pub(super) khz: List<u64>,
    pub(super) enabled: Option<bool>,
    pub(super) scale_invariant: Option<bool>,
    pub(super) reference_khz: OptionalKey<u64>,
    pub(super) evaluation_ns: OptionalKey<u64>,
    pub(super) source: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawInterruptLoad {
    pub(super) name: Spanned<String>,
    pub(super) cpus: OptionalKey<String>,
    pub(super) period_ns: Spanned<u64>,
    pub(super) duration_ns: Spanned<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFrequencyLimit {
    pub(super) at_ns: Spanned<u64>,
    pub(super) cpus: OptionalKey<String>,
    pub(super) reason: RawLimitReason,
    pub(super) part: Spanned<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawLimitReason {
    User,
    Thermal,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFact {
    pub(super) value: Spanned<u64>,
    pub(super) min: OptionalKey<u64>,
    pub(super) max: OptionalKey<u64>,
    pub(super) source: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProcessor {
    pub(super) sheet: Spanned<String>,
    pub(super) instructions_per_us: Spanned<RawFact>,
    pub(super) loop_speed_percent: OptionalKey<RawFact>,
    pub(super) line_share_percent: Spanned<RawFact>,
    pub(super) loop_line_share_percent: OptionalKey<RawFact>,
    pub(super) line_ns: Spanned<RawLineLatencies>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLineLatencies {
    pub(super) core: OptionalKey<RawFact>,
    pub(super) cluster: OptionalKey<RawFact>,
    pub(super) llc: OptionalKey<RawFact>,
    pub(super) package: OptionalKey<RawFact>,
    pub(super) system: OptionalKey<RawFact>,
}
