// SPDX-License-Identifier: GPL-2.0-or-later
//! What a run may ask for and a kernel engine does not have yet: it is refused, by its name, before anything runs.

use super::SCAN_COST;
use crate::object::Object;
use fairlab_machine::sim::Setup;
use fairlab_sched::state::cpufreq::domain::FrequencyDomain;
use fairlab_sched::tunables::{TunableInfo, Tunables};
use fairlab_workload::workload::Change;

/// The first thing that is lacking, with the way out.
pub(super) fn unsupported(object: &Object, setup: &Setup) -> Option<String> {
    let hardware = &setup.hardware;
    let nr_cpus = hardware.nr_cpus();
    let (most, hz) = object.limits();
    if nr_cpus > most {
        return Some(format!(
            "the machine has {nr_cpus} CPUs, the engine room for {most}\nhelp: build it with --config CONFIG_NR_CPUS={nr_cpus}"
        ));
    }
    if hardware.tick.0 != 1_000_000_000 / hz {
        let wanted = 1_000_000_000 / hardware.tick.0.max(1);
        return Some(format!(
            "the machine ticks {wanted} times in a second, the engine {hz} times\nhelp: build it with --config CONFIG_HZ_{wanted}=y"
        ));
    }
    if hardware.frequency_domains.iter().any(FrequencyDomain::skips_inefficient) && !object.skips_inefficient() {
        let plain = "--plain=priced takes the machine's CPUs, caches, prices and idle states alone; --plain its CPUs and caches";
        return Some(format!("this kernel does not leave out inefficient frequencies\nhelp: {plain}"));
    }
    let of_run = [
        (!setup.tunables.is_empty(), "tunables that are set by code"),
        (setup.policy.is_some(), "policies of one's own"),
    ];
    if let Some((_, what)) = of_run.iter().find(|(is_wanted, _)| *is_wanted) {
        return Some(not_yet(what));
    }
    let groups = &setup.workload.groups;
    let wants_idle = groups.iter().any(|group| group.idle);
    if wants_idle && !object.has_group_file("idle") {
        return Some("this kernel has no idle groups (cpu.idle)".to_owned());
    }
    let wants_burst = groups.iter().any(|group| group.quota.is_some_and(|quota| quota.burst_us > 0));
    if wants_burst && !object.has_group_file("cfs_burst_us") {
        return Some("this kernel has no bursts of quotas (cpu.cfs_burst_us)".to_owned());
    }
    let mut changes = setup.workload.changes.iter().filter_map(|(_, change)| change_lacks(object, change));
    if let Some(what) = changes.next() {
        return Some(what);
    }
    let mut features = setup.features.iter().filter(|(feature, _)| !object.has_feature(feature.name()));
    if let Some((feature, _)) = features.next() {
        return Some(format!("this kernel has no feature {}", feature.name()));
    }
    tunables_lack(object, setup)
}

fn not_yet(what: &str) -> String {
    format!("kernel engines do not have yet: {what}")
}

fn change_lacks(object: &Object, change: &Change) -> Option<String> {
    match change {
        Change::Feature { name, .. } if !object.has_feature(name) => Some(format!("this kernel has no feature {name}")),
        Change::Tunable { name, .. } if !has_tunable(object, name) => Some(no_tunable(name)),
        _ => None,
    }
}

/// A tunable that the tree does not have may be named if it is as it always is.
fn tunables_lack(object: &Object, setup: &Setup) -> Option<String> {
    let plain = Tunables::for_cpus(setup.hardware.nr_cpus());
    let is_other = |name: &str, value: i64| TunableInfo::named(name).is_none_or(|info| info.get(&plain) != value);
    let lacking = |(name, value): &&(String, i64)| is_other(name, *value) && !has_tunable(object, name);
    let (name, _) = setup.named_tunables.iter().find(lacking)?;
    Some(no_tunable(name))
}

/// A search that measures what it costs is there as long as the feature is that uses it.
fn has_tunable(object: &Object, name: &str) -> bool {
    object.has_tunable(name) || (name == SCAN_COST && object.has_feature("SIS_PROP"))
}

fn no_tunable(name: &str) -> String {
    format!("this kernel has no tunable {name}, or a kernel engine cannot set it yet")
}
