// SPDX-License-Identifier: GPL-2.0-or-later
//! Plain keys of a machine file: clocks, latencies and switches of the whole machine.
//!
//! A plain key is one entry of the list at the end, which generates its reader, check, writer, getter and row
//! in the book. The other top-level keys need more than a range; they are fields of [`RawMachine`] too and
//! have modules of their own.

use super::error::DescriptionFault;
use super::hz::Hz;
use super::idle::IdleGovernorKind;
use super::machine::MachineDescription;
use super::preemption::Preemption;
use super::raw::{
    OptionalKey, RawCpuType, RawCpus, RawFrequencyDomain, RawFrequencyLimit, RawIdleState, RawInterruptLoad,
    RawProcessor, RawSmt, RawTurbo,
};
use super::values::{MAX_SPAN_NS, number};
use fairlab_sched::units::Nanos;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use toml::Spanned;

/// Type of a plain key.
pub(super) trait KeyValue: Copy {
    /// Type of the value in TOML.
    type Raw: DeserializeOwned;
    /// Range for the book.
    const RANGE: &'static str;
    fn read(raw: &Spanned<Self::Raw>) -> Result<Self, DescriptionFault>;
    fn written(self) -> String;
}

impl KeyValue for bool {
    type Raw = Self;
    const RANGE: &'static str = "`true`, `false`";

    fn read(raw: &Spanned<Self>) -> Result<Self, DescriptionFault> {
        Ok(*raw.get_ref())
    }

    fn written(self) -> String {
        self.to_string()
    }
}

/// In nanoseconds, up to ten seconds.
impl KeyValue for Nanos {
    type Raw = u64;
    const RANGE: &'static str = "to 10 s";

    fn read(raw: &Spanned<u64>) -> Result<Self, DescriptionFault> {
        number(raw, 0..=MAX_SPAN_NS, "ns").map(Self)
    }

    fn written(self) -> String {
        self.0.to_string()
    }
}

impl KeyValue for Hz {
    type Raw = u64;
    const RANGE: &'static str = "100, 250, 300, 1000";

    fn read(raw: &Spanned<u64>) -> Result<Self, DescriptionFault> {
        Self::new(*raw.get_ref()).ok_or_else(|| {
            let message = format!("a kernel cannot have {} ticks a second", raw.get_ref());
            DescriptionFault::from_value(raw, message, "write one of 100, 250, 300 and 1000 (CONFIG_HZ)")
        })
    }

    fn written(self) -> String {
        self.get().to_string()
    }
}

impl KeyValue for IdleGovernorKind {
    type Raw = String;
    const RANGE: &'static str = "`menu`, `teo`";

    fn read(raw: &Spanned<String>) -> Result<Self, DescriptionFault> {
        match raw.get_ref().as_str() {
            "menu" => Ok(Self::Menu),
            "teo" => Ok(Self::Teo),
            other => {
                let message = format!("there is no idle governor `{other}`");
                Err(DescriptionFault::from_value(raw, message, "write \"menu\" or \"teo\""))
            }
        }
    }

    fn written(self) -> String {
        match self {
            Self::Menu => "\"menu\"".to_owned(),
            Self::Teo => "\"teo\"".to_owned(),
        }
    }
}

/// Documentation of a plain key for the book.
#[derive(Clone, Debug)]
pub struct KeyInfo {
    /// Name of the key.
    pub name: &'static str,
    /// Meaning of the value.
    pub meaning: &'static str,
    /// Permitted values, as shown in the documentation.
    pub range: &'static str,
    /// Value that applies without the key.
    pub default: String,
}

/// Returns the list of tables, or that of the base if the list is empty.
fn or_base_list<T>(own: Vec<T>, base: Vec<T>) -> Vec<T> {
    if own.is_empty() { base } else { own }
}

/// Returns the source text of a base, marked as such, because the machine's own numbers may have another
/// source.
fn base_source(base: &Spanned<String>, source: &Spanned<String>) -> Spanned<String> {
    Spanned::new(source.span(), format!("of its base {}: {}", base.get_ref(), source.get_ref()))
}

/// Declares the plain keys: key, getter, type, default and meaning.
macro_rules! keys {
    ($($key:ident as $getter:ident: $type:ty = $default:expr, $meaning:literal;)*) => {
        /// Raw content of a file: only names and types of keys are checked.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct RawMachine {
            pub(super) name: Spanned<String>,
            pub(super) base: OptionalKey<String>,
            pub(super) description: OptionalKey<String>,
            pub(super) source: OptionalKey<String>,
            pub(super) kernel: OptionalKey<String>,
            $(pub(super) $key: OptionalKey<<$type as KeyValue>::Raw>,)*
            pub(super) cpus: OptionalKey<RawCpus>,
            pub(super) smt: OptionalKey<RawSmt>,
            pub(super) turbo: OptionalKey<RawTurbo>,
            #[serde(default)]
            pub(super) cpu_type: Vec<Spanned<RawCpuType>>,
            #[serde(default)]
            pub(super) frequency_domain: Vec<Spanned<RawFrequencyDomain>>,
            #[serde(default)]
            pub(super) idle_state: Vec<Spanned<RawIdleState>>,
            #[serde(default)]
            pub(super) interrupt_load: Vec<Spanned<RawInterruptLoad>>,
            #[serde(default)]
            pub(super) steal: Vec<Spanned<RawInterruptLoad>>,
            #[serde(default)]
            pub(super) frequency_limit: Vec<Spanned<RawFrequencyLimit>>,
            pub(super) processor: OptionalKey<RawProcessor>,
            pub(super) prices: OptionalKey<IgnoredAny>,
            pub(super) channel_lines: OptionalKey<IgnoredAny>,
        }

        impl RawMachine {
            /// Returns the file with missing keys taken from its base.
            pub(super) fn over(self, base: Self) -> Self {
                Self {
                    name: self.name,
                    base: self.base,
                    description: self.description,
                    source: self.source.or(base.source.map(|source| base_source(&base.name, &source))),
                    kernel: self.kernel.or(base.kernel),
                    $($key: self.$key.or(base.$key),)*
                    cpus: self.cpus.or(base.cpus),
                    smt: self.smt.or(base.smt),
                    turbo: self.turbo.or(base.turbo),
                    cpu_type: or_base_list(self.cpu_type, base.cpu_type),
                    frequency_domain: or_base_list(self.frequency_domain, base.frequency_domain),
                    idle_state: or_base_list(self.idle_state, base.idle_state),
                    interrupt_load: or_base_list(self.interrupt_load, base.interrupt_load),
                    steal: or_base_list(self.steal, base.steal),
                    frequency_limit: or_base_list(self.frequency_limit, base.frequency_limit),
                    prices: self.prices.or(base.prices),
                    channel_lines: self.channel_lines.or(base.channel_lines),
                    processor: self.processor.or(base.processor),
                }
            }
        }

        /// Values of the plain keys.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(super) struct PlainKeys {
            $(pub(super) $getter: $type,)*
        }

        impl PlainKeys {
            /// Reads the plain keys, with defaults for missing ones.
            pub(super) fn read(raw: &RawMachine) -> Result<Self, DescriptionFault> {
                Ok(Self {
                    $($getter: raw.$key.as_ref().map_or(Ok($default), <$type as KeyValue>::read)?,)*
                })
            }

            /// Returns each key with its value in TOML.
            pub(super) fn written(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($key), self.$getter.written()),)*]
            }
        }

        impl MachineDescription {
            $(
                #[doc = $meaning]
                pub const fn $getter(&self) -> $type {
                    self.keys.$getter
                }
            )*
        }

        /// Returns the plain keys in the order in which files list them.
        pub fn plain_keys() -> Vec<KeyInfo> {
            vec![$(KeyInfo {
                name: stringify!($key),
                meaning: $meaning,
                range: <$type as KeyValue>::RANGE,
                default: $default.written(),
            },)*]
        }
    };
}

keys! {
    hz as hz: Hz = Hz::DEFAULT, "Ticks per second (`CONFIG_HZ`).";
    tick_skew_ns as tick_skew: Nanos = Nanos::ZERO, "Offset between the ticks of CPU i and of CPU i + 1. All CPUs tick within one period.";
    ipi_ns as ipi_latency: Nanos = Nanos::ZERO, "Time from the sending of an inter-processor interrupt to its handling.";
    timer_slack_ns as timer_slack: Nanos = Nanos::ZERO,
        "Timer slack of tasks (`PR_SET_TIMERSLACK`; Linux's default is 50000): a sleep of a task without a real-time policy ends this much later.";
    preemption as preemption: Preemption = Preemption::Full,
        "Preemption of a task in a system call (`preempt=` of the kernel's command line): only when the call returns, or anywhere. Matters with `[processor]`.";
    autogroup as autogroup: bool = false,
        "Tasks that a shell starts are in a task group of their own (`sched_autogroup_enabled`). Matters with `[processor]`.";
    background as background: bool = false,
        "Kernel threads that timers of a booted kernel wake run beside the workload, as counted in sheets/programs/background.tsv. Matters with `[processor]`.";
    polling_idle as polling_idle: bool = false,
        "Idle CPUs monitor `TIF_NEED_RESCHED`, as with x86's MWAIT: a write wakes them, and neither `IpiSend` nor `IpiReceive` is charged.";
    idle_governor as idle_governor: IdleGovernorKind = IdleGovernorKind::Menu, "Idle governor (`/sys/devices/system/cpu/cpuidle/current_governor`).";
    scale_work as scale_work: bool = true,
        "Run times of workloads are work at full capacity and the highest frequency, so they take longer on smaller or slower CPUs. With `false`, they are time on any CPU.";
}
