// SPDX-License-Identifier: GPL-2.0-or-later
//! Everything that a user can set on a run besides its workload: one entry in [`SETTINGS`] each.
//!
//! An entry says the name, the reader of values, help and units, and where the setting may be given. From it
//! follow options of commands, changes of arms, keys of plans, switches of bisections, refusals, JSON and the
//! book's table. [`crate::prepare`] says what each changes.

mod setting;

pub use setting::{Change, Setting};

use crate::facts::{FactValue, parse_fact};
use crate::input::InputFile;
use crate::kernels::{self, Kernel};
use crate::policies::{NamedPolicy, policy_from_name};
use crate::values::{
    CallCosts, CostChoice, EngineName, GovernorName, Plain, Starts, governor_from_name, kernel_from_name, parse_engine,
    parse_features, parse_micros, parse_setting, parse_time, time_text,
};
use crate::warmup::Warmup;
use fairlab_board::{FactKey, preset_names};
use fairlab_sched::features::Feature;
use fairlab_sched::tunables::TUNABLES;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Groups of commands, as bits: where a setting is an option.
#[expect(missing_docs, reason = "the names describe the items")]
pub mod commands {
    pub const RUN: u16 = 1;
    pub const BENCH: u16 = 2;
    /// `fairlab compare` and `fairlab bisect`, which repeat a workload.
    pub const REPEAT: u16 = 4;
    pub const CHECK: u16 = 8;
    /// `fairlab replay`, which has a workload of its own.
    pub const REPLAY: u16 = 16;
    /// `fairlab fuzz`, which has workloads of its own and no compiled-kernel engines.
    pub const FUZZ: u16 = 512;
    /// No command: the setting is a value that only specs and arms can have.
    pub const NONE: u16 = 0;
    pub const STUDY: u16 = 32;
    /// No command: arms of a study's file.
    pub const STUDY_ARM: u16 = 64;
    /// `fairlab machine validate`.
    pub const VALIDATE: u16 = 128;
    /// `fairlab patch`, which has workloads and machines of its own.
    pub const PATCH: u16 = 256;
    /// `fairlab lab`, whose page runs the built-in scheduler.
    pub const LAB: u16 = 1024;
    /// All commands with a run or a comparison of their own, which excludes studies.
    pub const ALL: u16 = RUN | BENCH | REPEAT | CHECK | REPLAY | FUZZ | VALIDATE | LAB;
}

/// Declares each setting once: its field of [`Settings`], and its entry of [`SETTINGS`].
macro_rules! settings {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident: $type:ty {
            option: $option:literal $value:literal,
            examples: [$($example:literal),*],
            $(default_value: $default:literal,)?
            commands: $commands:expr,
            $(change: $change:literal,)?
            $(list: $list:literal,)?
            $(names: $names:expr,)?
            in_study: $in_study:literal,
            $(study_help: $study_help:literal,)?
            $(serde: $serde:meta,)?
            $(schema: $schema:meta,)?
            read: $read:expr,
            texts: $texts:expr,
        }
    )+) => {
        /// Values of all settings of a run; absent ones have the default of the kernel, the machine or the
        /// workload.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct Settings {
            $(
                $(#[doc = $doc])+
                #[serde(skip_serializing_if = "is_default")]
                $(#[$serde])?
                $(#[$schema])?
                pub $name: $type,
            )+
        }

        /// All settings, in the order in which help texts list them.
        pub static SETTINGS: &[Setting] = &[$(Setting {
            name: stringify!($name),
            option: $option,
            value: $value,
            value_type: stringify!($type),
            examples: &[$($example),*],
            default_value: { let none: Option<&str> = None; $(let _ = none; let none = Some($default);)? none },
            doc: &[$($doc),+],
            names: { let none: fn() -> Vec<&'static str> = Vec::new; $(let _ = none; let none = $names;)? none },
            commands: $commands,
            is_change: { let no = false; $(let _ = no; let no = $change;)? no },
            is_list: { let no = false; $(let _ = no; let no = $list;)? no },
            in_study: $in_study,
            study_help: { let none: Option<&str> = None; $(let _ = none; let none = Some($study_help);)? none },
            read: |settings, text| {
                let read: fn(&mut $type, &str) -> Result<(), Message> = $read;
                read(&mut settings.$name, text)
            },
            texts: |settings| {
                let texts: fn(&$type) -> Vec<String> = $texts;
                texts(&settings.$name)
            },
            copy: |to, from| to.$name.clone_from(&from.$name),
        },)+];
    };
}

settings! {
    /// Machine: a name (see `fairlab machine list`) or a TOML file [default: hikey960]
    ///
    /// A scenario describes a machine itself; this option replaces it. The default is the board for which
    /// most published rt-app files were written: four little and four big CPUs with schedutil.
    machine: Option<InputFile> {
        option: "machine" "NAME|PATH",
        examples: ["hikey"],
        commands: commands::ALL | commands::STUDY | commands::STUDY_ARM,
        change: true,
        names: || preset_names().collect(),
        in_study: "`machine` of a run",
        study_help: "Machine of all runs, except those of arms that name one",
        read: |value, text| set(value, Ok(InputFile::new(text))),
        texts: |value| value.iter().map(|file| file.given.clone()).collect(),
    }

    /// Kernel release: 6.12, 6.1, or an older release's features and tunables (see `fairlab kernels`) [default: that
    /// of the scenario or the machine, or 6.12]
    kernel: Option<Kernel> {
        option: "kernel" "RELEASE",
        examples: ["5.4"],
        commands: commands::ALL | commands::STUDY_ARM,
        change: true,
        names: || kernels::all().map(|kernel| kernel.name).collect(),
        in_study: "`kernel` of an arm",
        schema: schemars(with = "Option<String>"),
        read: |value, text| set(value, kernel_from_name(text)),
        texts: |value| value.iter().map(|kernel| kernel.name.to_owned()).collect(),
    }

    /// Scheduler of a kernel tree instead of the built-in one, as built by `fairlab kernel add NAME`
    ///
    /// A compiled-kernel engine runs in a process of its own and records no reasons of decisions.
    /// `--plain=priced` leaves out the parts of a machine that it does not support.
    engine: Option<EngineName> {
        option: "engine" "kernel:NAME",
        examples: ["kernel:6.12"],
        commands: (commands::ALL & !commands::FUZZ & !commands::LAB) | commands::STUDY,
        change: true,
        list: true,
        names: || vec!["built-in", "kernel:"],
        in_study: "`engine=` of an arm of fairlab compare",
        study_help: "Scheduler of a kernel tree instead of the built-in one; no row is then evidence for the model",
        schema: schemars(with = "Option<String>"),
        read: |value, text| set(value, parse_engine(text)),
        texts: |value| value.iter().map(ToString::to_string).collect(),
    }

    /// Switch scheduler features: NAME on, NO_NAME off (see `fairlab features`); later options override
    /// earlier ones
    features: BTreeMap<String, bool> {
        option: "features" "A,NO_B",
        examples: ["NO_SIS_UTIL,TTWU_QUEUE"],
        commands: commands::ALL | commands::STUDY_ARM | commands::PATCH,
        change: true,
        list: true,
        names: feature_changes,
        in_study: "`features` of an arm",
        read: |value, text| parse_features(text).map(|features| value.extend(features)),
        texts: |value| value.iter().map(|(name, on)| format!("{}{name}", if *on { "" } else { "NO_" })).collect(),
    }

    /// Set a tunable; may be repeated (see `fairlab tunables`)
    tunables: BTreeMap<String, i64> {
        option: "set" "TUNABLE=VALUE",
        examples: ["migration_cost_ns=-1"],
        commands: commands::ALL | commands::STUDY_ARM | commands::PATCH,
        change: true,
        list: true,
        names: || leaked(TUNABLES.iter().map(|info| format!("{}=", info.name))),
        in_study: "`tunables` of an arm",
        read: |value, text| parse_setting(text).map(|(name, number)| { value.insert(name, number); }),
        texts: |value| value.iter().map(|(name, number)| format!("{name}={number}")).collect(),
    }

    /// Frequency governor of all domains: performance, powersave, schedutil; others are not modelled
    /// [default: the machine's]
    governor: Option<GovernorName> {
        option: "governor" "NAME",
        examples: ["schedutil"],
        commands: commands::ALL | commands::STUDY_ARM,
        change: true,
        names: || GovernorName::ALL.iter().map(|governor| governor.name()).collect(),
        in_study: "`governor` of a run or an arm",
        read: |value, text| set(value, governor_from_name(text)),
        texts: |value| value.iter().map(|governor| governor.name().to_owned()).collect(),
    }

    /// Exit latency that /dev/cpu_dma_latency allows, such as 20us: idle CPUs enter no state with a longer
    /// one. 0: only the shallowest state
    cpu_dma_latency: Option<Nanos> {
        option: "cpu-dma-latency" "TIME",
        examples: ["20us"],
        commands: commands::ALL | commands::STUDY_ARM,
        change: true,
        in_study: "`cpu_dma_latency` of an arm",
        serde: serde(with = "latency_text"),
        schema: schemars(with = "Option<String>"),
        read: |value, text| set(value, parse_micros(text)),
        texts: |value| value.iter().map(|time| time_text(*time)).collect(),
    }

    /// Number of idle states that each CPU may use, counted from the shallowest [default: all]
    idle_states: Option<u64> {
        option: "idle-states" "N",
        examples: ["1"],
        commands: commands::ALL | commands::STUDY_ARM,
        change: true,
        in_study: "`idle_states` of a run or an arm",
        read: |value, text| set(value, number(text)),
        texts: |value| value.iter().map(ToString::to_string).collect(),
    }

    /// Whether tasks of the root group run in a group of their own, as those of a session do with
    /// sched_autogroup_enabled: on, off [default: the machine's, for tasks that a shell starts]
    ///
    /// A shell starts benchmarks and rt-app. Without costs of kernel code the default is off.
    autogroup: Option<bool> {
        option: "autogroup" "on|off",
        examples: ["on"],
        commands: commands::RUN | commands::BENCH | commands::REPEAT | commands::STUDY_ARM,
        change: true,
        names: || vec!["on", "off"],
        in_study: "`autogroup` of an arm",
        read: |value, text| set(value, switch(text)),
        texts: |value| value.iter().map(|is_on| if *is_on { "on" } else { "off" }.to_owned()).collect(),
    }

    /// Whether kernel threads that timers of a booted kernel wake run beside the workload: on, off [default: the
    /// machine's]
    ///
    /// Without costs of kernel code there are none. The default is off for scenarios and recorded runs.
    background: Option<bool> {
        option: "background" "on|off",
        examples: ["on"],
        commands: commands::RUN | commands::BENCH | commands::REPEAT | commands::STUDY_ARM,
        change: true,
        names: || vec!["on", "off"],
        in_study: "`background` of an arm",
        read: |value, text| set(value, switch(text)),
        texts: |value| value.iter().map(|is_on| if *is_on { "on" } else { "off" }.to_owned()).collect(),
    }

    /// Cost model of kernel code: machine (costs of the machine's file), zero, the name or path of a second
    /// machine; OPERATION=NS sets one cost [default: machine; zero for a scenario]
    prices: CostChoice {
        option: "prices" "machine|zero",
        examples: ["zero", "ScanCpu=17.5"],
        commands: commands::ALL | commands::STUDY_ARM,
        change: true,
        list: true,
        names: || vec!["machine", "zero"],
        in_study: "`prices` of an arm",
        schema: schemars(with = "Vec<String>"),
        read: CostChoice::read,
        texts: CostChoice::texts,
    }

    /// Calls of a compiled kernel that cost time: common (those that all compiled kernels of the command have),
    /// counted (those that each of them has), zero (none) [default: common]
    ///
    /// With common, the cost of a function that only one kernel has goes to the closest caller that all have.
    /// common:A:B names the engines with which a run is compared.
    costs: CallCosts {
        option: "costs" "common|counted|zero",
        examples: ["common:base:patched"],
        commands: commands::ALL | commands::STUDY_ARM | commands::PATCH,
        change: true,
        names: || vec!["common", "counted", "zero"],
        in_study: "`costs` of an arm",
        schema: schemars(with = "String"),
        read: |value, text| { *value = CallCosts::parse(text)?; Ok(()) },
        texts: |value| (*value != CallCosts::default()).then(|| value.text()).into_iter().collect(),
    }

    /// Set a fact of the processor, from which all costs follow: a number, or least or greatest of its range; may be
    /// repeated
    ///
    /// `fairlab machine show NAME` lists facts with their ranges. With --prices NAME the facts are those of that
    /// machine.
    facts: BTreeMap<String, FactValue> {
        option: "fact" "KEY=VALUE",
        examples: ["line_ns.llc=40", "line_ns.system=greatest"],
        commands: commands::ALL | commands::STUDY | commands::STUDY_ARM,
        change: true,
        list: true,
        names: || leaked(FactKey::ALL.iter().map(|key| format!("{}=", key.name()))),
        in_study: "`facts` of an arm",
        study_help: "Set a fact of the processor in all runs: a number, least or greatest; may be repeated",
        read: |value, text| parse_fact(text).map(|(name, number)| { value.insert(name, number); }),
        texts: |value| value.iter().map(|(name, number)| format!("{name}={number}")).collect(),
    }

    /// Use only the topology of a machine: no costs, idle states, frequencies or turbo. `--plain=priced` keeps
    /// costs and idle states
    plain: Option<Plain> {
        option: "plain" "shape|priced",
        examples: ["priced"],
        default_value: "shape",
        commands: commands::ALL | commands::STUDY,
        change: true,
        names: || vec!["shape", "priced"],
        in_study: "--plain of `fairlab study run`",
        read: |value, text| set(value, Plain::parse(text)),
        texts: |value| value.iter().map(|plain| plain.name().to_owned()).collect(),
    }

    /// Policy of the embedding program that replaces the kernel's CPU selection at wake-ups.
    policy: Option<NamedPolicy> {
        option: "policy" "NAME",
        examples: [],
        commands: commands::NONE,
        change: true,
        in_study: "nothing: studies have no policies",
        schema: schemars(with = "Option<String>"),
        read: |value, text| set(value, policy_from_name(text)),
        texts: |value| value.iter().map(|policy| policy.name.clone()).collect(),
    }

    /// Seed of all random numbers of the scheduler, of idle states and of benchmarks [default: the state of a
    /// kernel after boot]
    ///
    /// The scheduler draws random numbers only for the feature NI_RANDOM (newly-idle balancing), the hardware
    /// only for idle states. With --vary the seed also randomises start times and random run lengths.
    seed: Option<u64> {
        option: "seed" "N",
        examples: ["7"],
        commands: commands::RUN | commands::BENCH,
        in_study: "`first_seed` of a run",
        read: |value, text| set(value, number(text)),
        texts: |value| value.iter().map(ToString::to_string).collect(),
    }

    /// Also randomise start times and random run lengths, from the seed
    ///
    /// All tasks start up to one tick later, and each task up to 10 ms more; the tasks of a benchmark that
    /// measures the time until they have ended start together. Random run lengths of a scenario are drawn from
    /// the seed.
    starts: Starts {
        option: "vary" "",
        examples: [""],
        commands: commands::RUN | commands::BENCH,
        in_study: "`start` of a run",
        read: |value, _| { *value = Starts::Jittered; Ok(()) },
        texts: |value| (*value == Starts::Jittered).then(String::new).into_iter().collect(),
    }

    /// Permute simultaneous events, differently for each N; results that change depend only on the order of
    /// simultaneous events
    perturb: Option<u64> {
        option: "perturb" "N",
        examples: ["3"],
        commands: commands::RUN | commands::BENCH | commands::STUDY,
        in_study: "--perturb of `fairlab study run`",
        read: |value, text| set(value, number(text)),
        texts: |value| value.iter().map(ToString::to_string).collect(),
    }

    /// Keep all members with equal keys in an object of an rt-app file; rt-app keeps the last one
    keep_duplicate_keys: bool {
        option: "keep-duplicate-keys" "",
        examples: [""],
        commands: commands::RUN | commands::CHECK,
        in_study: "nothing: studies read rt-app files as rt-app does",
        read: |value, _| { *value = true; Ok(()) },
        texts: |value| value.then(String::new).into_iter().collect(),
    }

    /// Simulated time: 5s, 300ms, ... [default: that of the file or the benchmark's options, or 5s]
    duration: Option<Nanos> {
        option: "for" "TIME",
        examples: ["1.5ms"],
        commands: commands::RUN | commands::BENCH | commands::REPEAT | commands::LAB,
        in_study: "`span` of a run",
        serde: serde(with = "duration_text"),
        schema: schemars(with = "Option<String>"),
        read: |value, text| set(value, parse_time(text)),
        texts: |value| value.iter().map(|time| time_text(*time)).collect(),
    }

    /// Simulated time before anything is measured: 500ms, ..., or settled; --for is counted after it, and the duration of a file includes it
    ///
    /// A machine that has just started is not in its steady state: the first periodic balancing sets search
    /// limits, and averages take some hundred milliseconds. `settled` ends the warm-up once context switches,
    /// wake-ups and migrations of 100 ms differ by at most 5 % from those of the 100 ms before, at the latest 2 s
    /// after the last start; `settled:LIMIT` sets another limit.
    warmup: Option<Warmup> {
        option: "warmup" "TIME|settled",
        examples: ["settled:1s"],
        commands: commands::RUN | commands::BENCH | commands::REPEAT,
        in_study: "`warm_up` of a run",
        schema: schemars(with = "Option<String>"),
        read: |value, text| set(value, Warmup::parse(text)),
        texts: |value| value.iter().map(ToString::to_string).collect(),
    }
}

fn set<T>(value: &mut Option<T>, read: Result<T, Message>) -> Result<(), Message> {
    *value = Some(read?);
    Ok(())
}

fn switch(text: &str) -> Result<bool, Message> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(Message::new("use on or off")),
    }
}

fn number(text: &str) -> Result<u64, Message> {
    text.parse().map_err(|_| Message::new(format!("a whole number from 0 to {} is needed", u64::MAX)))
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn feature_changes() -> Vec<&'static str> {
    let names = Feature::ALL.iter().map(|feature| feature.name());
    names.clone().chain(leaked(names.map(|name| format!("NO_{name}")))).collect()
}

/// Returns texts that live as long as the program, for completion.
fn leaked(texts: impl Iterator<Item = String>) -> Vec<&'static str> {
    texts.map(|text| &*Box::leak(text.into_boxed_str())).collect()
}

/// Declares the serialisation of an optional time as the text that its option takes.
macro_rules! time_as_text {
    ($module:ident, $read:ident) => {
        mod $module {
            use crate::values::{time_text, $read};
            use fairlab_sched::units::Nanos;
            use serde::de::Error;
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            pub(super) fn serialize<S: Serializer>(time: &Option<Nanos>, serializer: S) -> Result<S::Ok, S::Error> {
                time.map(time_text).serialize(serializer)
            }

            pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Nanos>, D::Error> {
                let text = Option::<String>::deserialize(deserializer)?;
                text.map(|text| $read(&text).map_err(D::Error::custom)).transpose()
            }
        }
    };
}

time_as_text!(duration_text, parse_time);
time_as_text!(latency_text, parse_micros);

#[cfg(test)]
mod tests;
