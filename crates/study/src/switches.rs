// SPDX-License-Identifier: GPL-2.0-or-later
//! Every switch of the scheduler with its canonical scenario: a small file in which the switch makes a difference.
//!
//! The switches are declared in `fairlab-sched`, each with where it shows. A test runs every scenario with its switch in both
//! positions, and the book's page of switches is generated from here.

use fairlab_sched::features::{Demo, Feature};
use fairlab_sched::tunables::{TUNABLES, TunableInfo};
use std::fmt::Write;

/// A switch and where it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Its name.
    pub name: &'static str,
    /// Its default, as it is written.
    pub default: String,
    /// What it does.
    pub meaning: &'static str,
    /// Its two positions, as options of `fairlab run`: an option and its value.
    pub test_values: [(&'static str, String); 2],
    /// Where it shows, and what is to be seen there.
    pub demo: Demo,
}

/// Sysctls and debugfs files of 6.1's scheduler that are no switches here, and why.
pub const ABSENT: &[(&str, &str)] = &[
    ("tunable_scaling", "Scaling by the logarithm of the number of CPUs (1), the default, is applied to the defaults."),
    ("preempt", "As a kernel that was built with full preemption."),
    ("verbose, debug/*", "They print; `fairlab machine show`, `fairlab explain` and traces do that."),
    ("numa_balancing*, kernel.numa_balancing", "NUMA balancing is not modelled."),
    ("kernel.sched_autogroup_enabled", "Autogroup is not modelled."),
    ("kernel.sched_schedstats", "What it switches on is always counted."),
    ("kernel.sched_deadline_period_max_us, _min_us", "Fixed at their defaults, 4194304 and 100."),
    ("kernel.sched_util_clamp_max, _min, _min_rt_default", "Machine-wide limits of clamps are not modelled."),
];

/// All switches: features in the kernel's order, then tunables. Defaults are those of a machine with `nr_cpus` CPUs.
///
/// # Panics
/// If there is no CPU.
pub fn all(nr_cpus: usize) -> Vec<Switch> {
    let of_tunable = |info: &TunableInfo| Switch {
        name: info.name,
        default: info.default.on(nr_cpus).to_string(),
        meaning: info.meaning,
        test_values: info.test_values.map(|value| ("--set", format!("{}={value}", info.name))),
        demo: info.shown,
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
    }
}

/// The tables of the book's page of switches.
pub fn page() -> String {
    /// Tunables are shown with the defaults of a machine of this size, as by `fairlab tunables`.
    const CPUS: usize = 8;
    let switches = all(CPUS);
    let (features, tunables) = switches.split_at(Feature::ALL.len());
    let mut text = "## Features\n\n".to_owned();
    table(&mut text, features);
    text.push_str("\n## Sysctls, debugfs files and published changes\n\n");
    let _ = writeln!(text, "Defaults are those of a machine with {CPUS} CPUs.\n");
    table(&mut text, tunables);
    text.push_str("\n## What is no switch here\n\n| in 6.1 | here |\n|---|---|\n");
    for (name, why) in ABSENT {
        let _ = writeln!(text, "| `{name}` | {why} |");
    }
    text
}

fn table(text: &mut String, switches: &[Switch]) {
    text.push_str("| name | default | what it does | where it shows |\n|---|---|---|---|\n");
    for switch in switches {
        let shown = match switch.demo {
            Demo::Digest(scenario, effect) => format!("`{scenario}`: {effect}"),
            Demo::Complaints(run, effect) => format!("`{}`: {effect}", run.join(" ")),
            Demo::NoRun(why) => why.to_owned(),
        };
        let meaning = switch.meaning.replace('|', "\\|");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{}` | {} | {meaning} | {shown} |", switch.name, switch.default);
    }
}
