// SPDX-License-Identifier: GPL-2.0-or-later
//! Values that the machine sets before a run, or that its hardware changes: they cause no decision at once.

use super::sched::Sched;
use crate::state::cpuset::Cpuset;
use crate::state::uclamp::DefaultClamps;
use crate::types::cpumask::CpuMask;
use crate::types::features::FeatureSet;
use crate::types::ids::{CpuId, CpusetId, TaskId};
use crate::types::tunables::Tunables;
use crate::types::units::{Capacity, Nanos};

impl Sched {
    /// Records that a jiffy has begun. The number never decreases.
    pub fn handle_jiffy(&mut self, jiffies: u64) {
        self.jiffies = self.jiffies.max(jiffies);
    }

    /// Sets the frequency of a CPU, as a share of 1024 of its highest one.
    ///
    /// Load tracking applies it to all the time since the CPU's last update.
    pub fn handle_frequency(&mut self, cpu: CpuId, capacity: Capacity) {
        self.rqs[cpu].freq_capacity = capacity;
    }

    /// Adds time that interrupts have taken from a CPU.
    pub fn handle_irq_time(&mut self, cpu: CpuId, time: Nanos) {
        self.rqs[cpu].irq_time += time.0;
    }

    /// Adds steal time of a virtual CPU, in which its host ran something else: `paravirt_steal_clock()`
    /// advances.
    pub fn handle_steal_time(&mut self, cpu: CpuId, time: Nanos) {
        self.rqs[cpu].steal_time += time.0;
    }

    /// Scheduler features, to switch them. Marks the cached load-balance statistics of all CPUs dirty.
    pub fn features_mut(&mut self) -> &mut FeatureSet {
        // UTIL_EST decides whether utilisation includes the estimate.
        self.lb_cache.mark_all_dirty();
        &mut self.features
    }

    /// Tunables, to set them. Values that were derived from them before are not recomputed.
    pub fn tunables_mut(&mut self) -> &mut Tunables {
        &mut self.tunables
    }

    /// Seeds the random-number generator of a CPU (`sched_rnd_state`). Words below 128 are raised, because
    /// the generator needs higher bits.
    pub fn seed_random(&mut self, cpu: CpuId, words: [u32; 4]) {
        self.rqs[cpu].rnd_state = words.map(|word| if word < 128 { word + 128 } else { word });
    }

    /// Sets whether idle CPUs monitor TIF_NEED_RESCHED (TIF_POLLING_NRFLAG), as x86 does with MWAIT in every
    /// idle state.
    ///
    /// A remote CPU then notifies an idle one by a write, which costs no interrupt on either side. The
    /// request still arrives.
    pub fn set_polling_idle(&mut self, polls: bool) {
        self.polling_idle = polls;
    }

    /// Sets the shortest interval by which timers are forwarded (`hrtimer_resolution`): 1 ns with
    /// high-resolution timers, which is the default, and a tick without them.
    pub fn set_timer_resolution(&mut self, resolution: Nanos) {
        self.timer_resolution_ns = resolution.0;
    }

    /// Sets the default clamps of tasks and groups that are created from now on.
    pub fn set_default_clamps(&mut self, first: DefaultClamps) {
        self.default_clamps = first;
    }

    /// Sets whether averages of thermal pressure are tracked (CONFIG_SCHED_THERMAL_PRESSURE, since 6.10
    /// CONFIG_SCHED_HW_PRESSURE), which thermal limits need. An update can call the frequency governor.
    pub fn set_thermal_tracking(&mut self, tracks: bool) {
        self.tracks_thermal = tracks;
    }

    /// Records the cpuset of a new task. The CPUs of the task are not changed; they were limited before.
    pub fn record_cpuset(&mut self, task: TaskId, id: CpusetId) {
        self.tasks[task].cpuset = id;
    }

    /// Creates a cpuset that requests these CPUs.
    pub fn create_cpuset(&mut self, cpus: &CpuMask) -> CpusetId {
        let id = CpusetId::from_index(self.cpusets.len());
        let effective_cpus = self.hotplug.effective_cpus(cpus);
        self.cpusets.push(Cpuset { cpus_allowed: cpus.clone(), effective_cpus });
        id
    }

    /// Sets whether a task reclaims unused bandwidth with its next deadline policy. Later policies do not.
    pub fn set_reclaims(&mut self, task: TaskId, reclaims: bool) {
        self.tasks[task].dl.next_reclaims = reclaims;
    }

    /// Marks a task as the thread of a governor (`SCHED_FLAG_SUGOV`). Once it has its deadline policy, no
    /// bandwidth is admitted or charged for it.
    pub fn set_dl_special(&mut self, task: TaskId) {
        self.tasks[task].dl.is_special = true;
    }
}
