// SPDX-License-Identifier: GPL-2.0-or-later
//! The plain keys of a machine file: clocks, latencies and switches of the whole machine.
//!
//! A key is one entry of the list: how it is read, checked and written, its getter and its row in the book follow. The other keys
//! of the file's top level, which need more than a range, are in [`RawMachine`] too, and have modules of their own.

use super::error::DescriptionFault;
use super::raw::{
    OptionalKey, RawCpuType, RawCpus, RawFrequencyDomain, RawFrequencyLimit, RawIdleState, RawInterruptLoad,
    RawLineCount, RawPrice, RawSmt, RawTurbo,
};
use super::read::{MAX_SPAN_NS, number};
use super::{Hz, IdleGovernorKind, MachineDescription};
use fairlab_sched::units::Nanos;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use toml::Spanned;

/// What a plain key may be.
pub(super) trait Value: Copy {
    /// As TOML has it.
    type Raw: DeserializeOwned;
    /// The range, for the book.
    const RANGE: &'static str;
    fn read(raw: &Spanned<Self::Raw>) -> Result<Self, DescriptionFault>;
    fn written(self) -> String;
}

impl Value for bool {
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
impl Value for Nanos {
    type Raw = u64;
    const RANGE: &'static str = "to 10 s";

    fn read(raw: &Spanned<u64>) -> Result<Self, DescriptionFault> {
        number(raw, 0..=MAX_SPAN_NS, "ns").map(Self)
    }

    fn written(self) -> String {
        self.0.to_string()
    }
}

impl Value for Hz {
    type Raw = u64;
    const RANGE: &'static str = "100, 250, 300, 1000";

    fn read(raw: &Spanned<u64>) -> Result<Self, DescriptionFault> {
        Self::new(*raw.get_ref()).ok_or_else(|| {
            let message = format!("a kernel cannot have {} ticks a second", raw.get_ref());
            DescriptionFault::of(raw, message, "write one of 100, 250, 300 and 1000 (CONFIG_HZ)")
        })
    }

    fn written(self) -> String {
        self.get().to_string()
    }
}

impl Value for IdleGovernorKind {
    type Raw = String;
    const RANGE: &'static str = "`menu`, `teo`";

    fn read(raw: &Spanned<String>) -> Result<Self, DescriptionFault> {
        match raw.get_ref().as_str() {
            "menu" => Ok(Self::Menu),
            "teo" => Ok(Self::Teo),
            other => {
                let message = format!("there is no idle governor `{other}`");
                Err(DescriptionFault::of(raw, message, "write \"menu\" or \"teo\""))
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

/// A plain key, for the book.
#[derive(Clone, Debug)]
pub struct KeyInfo {
    /// The key.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Which values it may have.
    pub range: &'static str,
    /// What holds without it.
    pub default: String,
}

/// A list of tables, or that of the base if there is none.
fn or_list<T>(own: Vec<T>, base: Vec<T>) -> Vec<T> {
    if own.is_empty() { base } else { own }
}

/// Entries by name, and those of the base that have other names.
fn or_each<T>(mut own: Entries<T>, base: Entries<T>) -> Entries<T> {
    for (name, value) in base {
        own.entry(name).or_insert(value);
    }
    own
}

/// What a base says of where its figures come from: the machine's own may come from elsewhere.
fn source_of_base(base: &Spanned<String>, source: &Spanned<String>) -> Spanned<String> {
    Spanned::new(source.span(), format!("of its base {}: {}", base.get_ref(), source.get_ref()))
}

/// A table whose keys are names.
type Entries<T> = BTreeMap<Spanned<String>, Spanned<T>>;

/// Declares the plain keys: the key, its getter, type and default, and what it means.
macro_rules! keys {
    ($($key:ident as $getter:ident: $type:ty = $default:expr, $meaning:literal;)*) => {
        /// The file as it stands: names and types of keys are checked, nothing else.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct RawMachine {
            pub(super) name: Spanned<String>,
            pub(super) base: OptionalKey<String>,
            pub(super) description: OptionalKey<String>,
            pub(super) source: OptionalKey<String>,
            pub(super) kernel: OptionalKey<String>,
            $(pub(super) $key: OptionalKey<<$type as Value>::Raw>,)*
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
            #[serde(default)]
            pub(super) prices: BTreeMap<Spanned<String>, Spanned<RawPrice>>,
            #[serde(default)]
            pub(super) channel_lines: BTreeMap<Spanned<String>, Spanned<RawLineCount>>,
        }

        impl RawMachine {
            /// The same where what the file does not say is as in its base.
            pub(super) fn over(self, base: Self) -> Self {
                Self {
                    name: self.name,
                    base: self.base,
                    description: self.description,
                    source: self.source.or(base.source.map(|source| source_of_base(&base.name, &source))),
                    kernel: self.kernel.or(base.kernel),
                    $($key: self.$key.or(base.$key),)*
                    cpus: self.cpus.or(base.cpus),
                    smt: self.smt.or(base.smt),
                    turbo: self.turbo.or(base.turbo),
                    cpu_type: or_list(self.cpu_type, base.cpu_type),
                    frequency_domain: or_list(self.frequency_domain, base.frequency_domain),
                    idle_state: or_list(self.idle_state, base.idle_state),
                    interrupt_load: or_list(self.interrupt_load, base.interrupt_load),
                    steal: or_list(self.steal, base.steal),
                    frequency_limit: or_list(self.frequency_limit, base.frequency_limit),
                    prices: or_each(self.prices, base.prices),
                    channel_lines: or_each(self.channel_lines, base.channel_lines),
                }
            }
        }

        /// What the plain keys say.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(super) struct Keys {
            $(pub(super) $getter: $type,)*
        }

        impl Keys {
            /// What the file says, or else the defaults.
            pub(super) fn read(raw: &RawMachine) -> Result<Self, DescriptionFault> {
                Ok(Self {
                    $($getter: raw.$key.as_ref().map_or(Ok($default), <$type as Value>::read)?,)*
                })
            }

            /// Each key with its value, as a file has them.
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

        /// The plain keys, in the order in which files have them.
        pub fn plain_keys() -> Vec<KeyInfo> {
            vec![$(KeyInfo {
                name: stringify!($key),
                meaning: $meaning,
                range: <$type as Value>::RANGE,
                default: $default.written(),
            },)*]
        }
    };
}

keys! {
    hz as hz: Hz = Hz::DEFAULT, "Ticks per second (`CONFIG_HZ`).";
    tick_skew_ns as tick_skew: Nanos = Nanos::ZERO, "CPU i ticks i times this later than CPU 0; all tick within one period.";
    ipi_ns as ipi_latency: Nanos = Nanos::ZERO, "From the sending of an inter-processor interrupt until the other CPU handles it.";
    polling_idle as polling_idle: bool = false,
        "Idle CPUs monitor the flag that asks them to reschedule, as with x86's MWAIT: a write wakes them, and neither `IpiSend` nor `IpiReceive` is paid.";
    idle_governor as idle_governor: IdleGovernorKind = IdleGovernorKind::Menu, "What chooses idle states (`/sys/devices/system/cpu/cpuidle/current_governor`).";
    scale_work as scale_work: bool = true,
        "Run times of workloads are work at full capacity and the highest frequency, so they take longer on smaller or slower CPUs; `false`: they are time on any CPU.";
}
