// SPDX-License-Identifier: GPL-2.0-or-later
//! Features of a run that a compiled-kernel engine does not support: a run that needs one is rejected before
//! it starts.

use crate::object::Object;
use fairlab_machine::engine::Capability;
use fairlab_machine::sim::Setup;
use fairlab_sched::state::cpufreq::domain::FrequencyDomain;
use fairlab_workload::message::Message;
use fairlab_workload::workload::Change;

/// Returns the first unsupported feature, with a remedy.
pub(super) fn unsupported(object: &Object, setup: &Setup) -> Option<Message> {
    let hardware = &setup.hardware;
    let nr_cpus = hardware.nr_cpus();
    let (most, hz) = object.limits();
    if nr_cpus > most {
        return Some(
            Message::new(format!("the machine has {nr_cpus} CPUs, but the engine supports at most {most}"))
                .with_help(format!("build it with --config CONFIG_NR_CPUS={nr_cpus}")),
        );
    }
    if hardware.tick.0 != 1_000_000_000 / hz {
        let wanted = 1_000_000_000 / hardware.tick.0.max(1);
        return Some(
            Message::new(format!("the machine has {wanted} ticks per second, the engine {hz}"))
                .with_help(format!("build it with --config CONFIG_HZ_{wanted}=y")),
        );
    }
    if hardware.frequency_domains.iter().any(FrequencyDomain::skips_inefficient) && !object.skips_inefficient() {
        let plain = "`--plain=priced` keeps only the machine's CPUs, caches, costs and idle states; `--plain` only its CPUs and caches";
        return Some(Message::new("this kernel cannot skip inefficient frequencies").with_help(plain));
    }
    if let Some(missing) = Capability::first_missing(setup, has) {
        return Some(Message::new(format!("a compiled-kernel engine does not support {}", missing.name())));
    }
    let groups = &setup.workload.groups;
    let wants_idle = groups.iter().any(|group| group.idle);
    if wants_idle && !object.has_group_file("idle") {
        return Some(Message::new("this kernel has no idle groups (cpu.idle)"));
    }
    let has_burst = groups.iter().any(|group| group.quota.is_some_and(|quota| quota.burst_us > 0));
    let sets_burst = |change: &Change| matches!(change, Change::Quota { burst_us: Some(1..), .. });
    let changes_burst = setup.workload.changes.iter().any(|(_, change)| sets_burst(change));
    if (has_burst || changes_burst) && !object.has_group_file("cfs_burst_us") {
        return Some(Message::new("this kernel has no CFS bandwidth burst (cpu.cfs_burst_us)"));
    }
    None
}

/// Whether compiled-kernel engines have a capability.
pub(super) fn has(capability: Capability) -> bool {
    !matches!(capability, Capability::PolicyHooks | Capability::Ksoftirqd | Capability::OtherChanges)
}
