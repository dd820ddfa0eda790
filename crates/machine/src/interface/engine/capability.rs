// SPDX-License-Identifier: GPL-2.0-or-later
//! Features of a run that an engine may lack.

use crate::interface::setup::Setup;
use fairlab_sched::state::cpufreq::domain::FrequencyDomain;
use fairlab_workload::workload::Change;

/// Generates the enum from one list: variants, names, and the setups that need them.
macro_rules! capabilities {
    ($($(#[$meta:meta])* $variant:ident, $name:literal, $needs:expr;)*) => {
        /// A feature of runs that an engine may lack. An engine states which ones it has
        /// ([`Engine::has`](super::Engine::has)). From that follow the runs that are rejected
        /// ([`Capability::first_missing`]) and the methods that panic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Capability {
            $($(#[$meta])* $variant,)*
        }

        impl Capability {
            /// All capabilities, in the order in which a run is checked for them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the name of the capability in messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Whether a run needs the capability.
            pub fn is_needed(self, setup: &Setup) -> bool {
                let needs: fn(&Setup) -> bool = match self {
                    $(Self::$variant => $needs,)*
                };
                needs(setup)
            }
        }
    };
}

capabilities! {
    /// Custom policies.
    PolicyHooks, "policy hooks", |setup| setup.policy.is_some();
    /// CPUs that go offline and come back.
    Hotplug, "hotplug", |setup| changes(setup, |change| matches!(change, Change::Hotplug { .. }));
    /// Cpusets of tasks.
    Cpusets, "cpusets", |setup| !setup.workload.cpusets.is_empty();
    /// Mutexes whose owners inherit the priority of waiters.
    PriorityInheritance, "priority inheritance", |setup| setup.workload.objects.priority_inheritance;
    /// Time that a hypervisor takes from CPUs.
    StealTime, "steal time", |setup| {
        let of_workload = setup.workload.irqs.iter().any(|load| load.is_stolen);
        of_workload || setup.hardware.interrupts.iter().any(|load| load.is_stolen)
    };
    /// PM QoS latency requests that change during the run.
    PmQos, "PM QoS", |setup| changes(setup, |change| matches!(change, Change::CpuDmaLatency(_)));
    /// CPUs that change their frequency together.
    FrequencyDomains, "frequency domains", |setup| !setup.hardware.frequency_domains.is_empty();
    /// Frequency limits that change during the run.
    FrequencyLimits, "frequency limits", |setup| {
        let limits = |change: &Change| matches!(change, Change::FrequencyLimit { .. });
        !setup.hardware.frequency_limits.is_empty() || changes(setup, limits)
    };
    /// Threads of schedutil governors.
    GovernorThreads, "governor threads", |setup| {
        setup.hardware.frequency_domains.iter().any(FrequencyDomain::has_governor_thread)
    };
    /// Uclamp values of groups.
    GroupUclamp, "group uclamp", |setup| {
        let clamps = |change: &Change| matches!(change, Change::GroupClamps { .. });
        setup.workload.groups.iter().any(|group| group.uclamp.is_some()) || changes(setup, clamps)
    };
    /// Changes during the run that only the built-in scheduler has. A new kind of change is one of them, so an
    /// engine rejects it until the kind has a capability of its own or is listed in `every_engine_has()`.
    OtherChanges, "a change of this kind during the run", |setup| changes(setup, |change| !every_engine_has(change));
    /// `sched_exec()`. Which steps a program has is known only during the run, so no run is rejected.
    Exec, "exec", |_| false;
    /// Kernel threads that have slept since the boot, and softirqs that are left to ksoftirqd if they take too
    /// long. No run needs it: without it softirqs run where they were raised, and a thread is forked when it is
    /// first needed.
    Ksoftirqd, "ksoftirqd", |_| false;
}

impl Capability {
    /// Returns the first capability that a run needs and for which `has` does not hold.
    pub fn first_missing(setup: &Setup, has: impl Fn(Self) -> bool) -> Option<Self> {
        Self::ALL.iter().copied().find(|&capability| !has(capability) && capability.is_needed(setup))
    }

    /// Panics because a machine called a method of an engine that lacks the capability. [`Engine::unsupported`]
    /// must reject such runs.
    ///
    /// [`Engine::unsupported`]: super::Engine::unsupported
    pub(super) fn unsupported_call(self) -> ! {
        let name = self.name();
        panic!("the engine does not support {name}; Engine::unsupported() should have rejected the run")
    }
}

/// Whether all engines have a kind of change, or another capability is about it.
const fn every_engine_has(change: &Change) -> bool {
    use Change::{Attach, CpuDmaLatency, CpusetCpus, FairServer, Feature, FrequencyLimit, GroupClamps, Hotplug};
    use Change::{Quota, Shares, Task, Tunable};
    matches!(
        change,
        Task { .. }
            | Shares { .. }
            | Quota { .. }
            | Feature { .. }
            | Tunable { .. }
            | FairServer { .. }
            | Attach { .. }
            | CpusetCpus { .. }
            | Hotplug { .. }
            | FrequencyLimit { .. }
            | CpuDmaLatency(_)
            | GroupClamps { .. }
    )
}

/// Whether a change of the workload is of a kind.
fn changes(setup: &Setup, is_of_kind: impl Fn(&Change) -> bool) -> bool {
    setup.workload.changes.iter().any(|(_, change)| is_of_kind(change))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_sched::series::KernelSeries;
    use fairlab_workload::scenario;

    /// Returns the capabilities that a scenario needs.
    fn needed(text: &str) -> Vec<Capability> {
        let scenario = scenario::parse("test.scn", text, KernelSeries::V6_1).expect("a well-formed scenario");
        let setup = Setup::from_scenario(scenario);
        Capability::ALL.iter().copied().filter(|capability| capability.is_needed(&setup)).collect()
    }

    #[test]
    fn a_setup_needs_the_capabilities_of_its_statements() {
        let plain = "cpus 4\nend 10ms\ngroup g\ntask a run 1ms sleep 1ms\n";
        assert_eq!(needed(plain), []);
        assert_eq!(needed(&format!("{plain}offline 5ms 3\n")), [Capability::Hotplug]);
        assert_eq!(needed(&format!("{plain}groupclamp 5ms g 100 200\n")), [Capability::GroupUclamp]);
    }

    #[test]
    fn the_first_missing_capability_is_one_that_the_run_needs_and_the_engine_lacks() {
        let scenario =
            scenario::parse("test.scn", "cpus 4\nend 10ms\ntask a run 1ms\n", KernelSeries::V6_1).expect("well-formed");
        let mut setup = Setup::from_scenario(scenario);
        assert_eq!(Capability::first_missing(&setup, |_| false), None);
        setup.workload.objects.priority_inheritance = true;
        assert_eq!(Capability::first_missing(&setup, |_| false), Some(Capability::PriorityInheritance));
        assert_eq!(Capability::first_missing(&setup, |_| true), None);
    }
}
