// SPDX-License-Identifier: GPL-2.0-or-later
//! Features of a run that a compiled-kernel engine does not support: a run that needs one is rejected before
//! it starts.

use super::SCAN_COST;
use crate::object::Object;
use fairlab_machine::engine::Capability;
use fairlab_machine::sim::Setup;
use fairlab_sched::state::cpufreq::domain::FrequencyDomain;
use fairlab_sched::tunables::{TunableInfo, Tunables};
use fairlab_workload::workload::Change;

/// Returns the first unsupported feature, with a remedy.
pub(super) fn unsupported(object: &Object, setup: &Setup) -> Option<String> {
    let hardware = &setup.hardware;
    let nr_cpus = hardware.nr_cpus();
    let (most, hz) = object.limits();
    if nr_cpus > most {
        return Some(format!(
            "the machine has {nr_cpus} CPUs, but the engine supports at most {most}\nhelp: build it with --config CONFIG_NR_CPUS={nr_cpus}"
        ));
    }
    if hardware.tick.0 != 1_000_000_000 / hz {
        let wanted = 1_000_000_000 / hardware.tick.0.max(1);
        return Some(format!(
            "the machine has {wanted} ticks per second, the engine {hz}\nhelp: build it with --config CONFIG_HZ_{wanted}=y"
        ));
    }
    if hardware.frequency_domains.iter().any(FrequencyDomain::skips_inefficient) && !object.skips_inefficient() {
        let plain = "`--plain=priced` keeps only the machine's CPUs, caches, costs and idle states; `--plain` only its CPUs and caches";
        return Some(format!("this kernel cannot skip inefficient frequencies\nhelp: {plain}"));
    }
    if let Some(missing) = Capability::first_missing(setup, has) {
        return Some(format!("a compiled-kernel engine does not support {}", missing.name()));
    }
    let groups = &setup.workload.groups;
    let wants_idle = groups.iter().any(|group| group.idle);
    if wants_idle && !object.has_group_file("idle") {
        return Some("this kernel has no idle groups (cpu.idle)".to_owned());
    }
    let wants_burst = groups.iter().any(|group| group.quota.is_some_and(|quota| quota.burst_us > 0));
    if wants_burst && !object.has_group_file("cfs_burst_us") {
        return Some("this kernel has no CFS bandwidth burst (cpu.cfs_burst_us)".to_owned());
    }
    let mut changes = setup.workload.changes.iter().filter_map(|(_, change)| unsupported_change(object, change));
    if let Some(what) = changes.next() {
        return Some(what);
    }
    let mut features = setup.features.iter().filter(|(feature, _)| !object.has_feature(feature.name()));
    if let Some((feature, _)) = features.next() {
        return Some(format!("this kernel has no feature {}", feature.name()));
    }
    unsupported_tunable(object, setup)
}

/// Whether compiled-kernel engines have a capability.
pub(super) fn has(capability: Capability) -> bool {
    !matches!(
        capability,
        Capability::TunablesByCode | Capability::PolicyHooks | Capability::Ksoftirqd | Capability::OtherChanges
    )
}

fn unsupported_change(object: &Object, change: &Change) -> Option<String> {
    match change {
        Change::Feature { name, .. } if !object.has_feature(name) => Some(format!("this kernel has no feature {name}")),
        Change::Tunable { name, .. } if !has_tunable(object, name) => Some(unknown_tunable(name)),
        _ => None,
    }
}

/// Returns the error for a tunable that the tree does not have. Setting such a tunable to its default is
/// allowed.
fn unsupported_tunable(object: &Object, setup: &Setup) -> Option<String> {
    let plain = Tunables::for_cpus(setup.hardware.nr_cpus());
    let is_other = |name: &str, value: i64| TunableInfo::from_name(name).is_none_or(|info| info.get(&plain) != value);
    let lacking = |(name, value): &&(String, i64)| is_other(name, *value) && !has_tunable(object, name);
    let (name, _) = setup.named_tunables.iter().find(lacking)?;
    Some(unknown_tunable(name))
}

/// Whether a tunable can be set. A search that measures its cost exists as long as the feature `SIS_PROP`.
fn has_tunable(object: &Object, name: &str) -> bool {
    object.has_tunable(name) || (name == SCAN_COST && object.has_feature("SIS_PROP"))
}

fn unknown_tunable(name: &str) -> String {
    format!("this kernel has no tunable {name}, or a compiled-kernel engine cannot set it")
}
