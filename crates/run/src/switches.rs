// SPDX-License-Identifier: GPL-2.0-or-later
//! Every feature and tunable of the scheduler with its canonical scenario: a small file in which the switch
//! makes a difference.
//!
//! `fairlab-sched` declares the switches, each with its scenario. A test runs every scenario with both values
//! of its switch, and the book's page of switches is generated from this module.

use fairlab_sched::features::{Demo, Feature};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::tunables::{TUNABLES, TunableInfo};
use std::fmt::Write;

/// Feature or tunable, with the scenario that shows its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Name as in `--features` or `--set`.
    pub name: &'static str,
    /// Default value as text: `on`, `off` or a number.
    pub default: String,
    /// Effect of the switch, in one phrase.
    pub meaning: &'static str,
    /// Two values of the switch as options of `fairlab run`: an option and its argument.
    pub test_values: [(&'static str, String); 2],
    /// Scenario that shows the effect, and the visible difference.
    pub demo: Demo,
    /// Series of the kernel that alone has the switch; `None` if both have it.
    pub only_in: Option<KernelSeries>,
}

/// Sysctls and debugfs files of 6.1's scheduler that have no switch in fairlab, with the reason.
pub const ABSENT: &[(&str, &str)] = &[
    ("tunable_scaling", "Scaling by the logarithm of the number of CPUs (1), the default, is applied to the defaults."),
    ("preempt", "Always as in a kernel built with full preemption."),
    ("verbose, debug/*", "Debug output; use `fairlab machine show`, `fairlab explain` and traces."),
    ("numa_balancing*, kernel.numa_balancing", "NUMA balancing is not modelled."),
    (
        "kernel.sched_autogroup_enabled",
        "The setting `autogroup` puts tasks of the root group into one group; sessions are not modelled.",
    ),
    ("kernel.sched_schedstats", "Schedstats are always counted."),
    ("kernel.sched_deadline_period_max_us, _min_us", "Fixed at their defaults, 4194304 and 100."),
    ("kernel.sched_util_clamp_max, _min, _min_rt_default", "System-wide uclamp limits are not modelled."),
];

/// Returns all switches: features in the kernel's order, then tunables. Defaults are those of a machine with
/// `nr_cpus` CPUs.
///
/// # Panics
/// If `nr_cpus` is 0.
pub fn all(nr_cpus: usize) -> Vec<Switch> {
    // A tunable of both series has the same default in both.
    let series = |info: &TunableInfo| info.only_in.unwrap_or(KernelSeries::V6_1);
    let of_tunable = |info: &TunableInfo| Switch {
        name: info.name,
        default: info.default.of_machine(series(info), nr_cpus).to_string(),
        meaning: info.meaning,
        test_values: info.test_values.map(|value| ("--set", format!("{}={value}", info.name))),
        demo: info.demo,
        only_in: info.only_in,
    };
    Feature::ALL.iter().map(of_feature).chain(TUNABLES.iter().map(of_tunable)).collect()
}

fn of_feature(feature: &Feature) -> Switch {
    let name = feature.name();
    Switch {
        name,
        default: if feature.default_enabled() { "on" } else { "off" }.to_owned(),
        meaning: feature.meaning(),
        test_values: [("--features", name.to_owned()), ("--features", format!("NO_{name}"))],
        demo: feature.shown(),
        only_in: feature.only_in(),
    }
}

impl Switch {
    /// Returns the demo with the rules of a series; `None` if its kernel does not have the switch.
    pub fn demo_in(&self, series: KernelSeries) -> Option<Demo> {
        let exists = self.only_in.is_none_or(|only| only == series);
        exists.then(|| self.demo.of_series(series))
    }
}

/// Returns the Markdown tables of the book's page of switches.
pub fn page() -> String {
    /// Size of the machine whose default tunables are shown, as in `fairlab tunables`.
    const CPUS: usize = 8;
    let switches = all(CPUS);
    let (features, tunables) = switches.split_at(Feature::ALL.len());
    let mut text = "## Features\n\n".to_owned();
    table(&mut text, features);
    text.push_str("\n## Sysctls, debugfs files and published changes\n\n");
    let _ = writeln!(text, "Defaults are those of a machine with {CPUS} CPUs.\n");
    table(&mut text, tunables);
    text.push_str("\n## Sysctls and debugfs files without a switch\n\n| in 6.1 | in fairlab |\n|---|---|\n");
    for (name, why) in ABSENT {
        let _ = writeln!(text, "| `{name}` | {why} |");
    }
    text
}

fn table(text: &mut String, switches: &[Switch]) {
    text.push_str("| name | kernels | default | effect | scenario that shows it |\n|---|---|---|---|---|\n");
    for switch in switches {
        let shown = demo_text(switch.demo);
        let meaning = switch.meaning.replace('|', "\\|");
        // Writing to a string cannot fail.
        let kernels = switch.only_in.map_or_else(|| "6.1, 6.12".to_owned(), |series| series.to_string());
        let _ = writeln!(text, "| `{}` | {kernels} | {} | {meaning} | {shown} |", switch.name, switch.default);
    }
}

fn demo_text(demo: Demo) -> String {
    match demo {
        Demo::Digest(scenario, effect) => format!("`{scenario}`: {effect}"),
        Demo::Complaints(run, effect) => format!("`{}`: {effect}", run.join(" ")),
        Demo::NoRun(why) => why.to_owned(),
        Demo::BySeries(v6_1, v6_12) => format!("{}; in 6.12: {}", demo_text(*v6_1), demo_text(*v6_12)),
    }
}
