// SPDX-License-Identifier: GPL-2.0-or-later
//! What a runqueue takes out of the state that all CPUs share when it goes offline, and brings back; and sched domains that
//! are built anew.
//!
//! Models `set_rq_offline()` and `set_rq_online()` with their classes' parts, `rq_attach_root()`,
//! `unthrottle_offline_cfs_rqs()` and `update_runtime_enabled()` (6.1).

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::State;
use crate::state::rt::cpupri::CpuLevel;
use crate::state::topology::{BuildParams, build_sched_domains};
use crate::track::capacity::scale_rt_capacity;
use crate::types::ids::{CpuId, GroupId};
use alloc::vec::Vec;

impl Sched {
    /// A runqueue leaves its root domain: nobody pushes tasks to it, and its own are limited by nothing that others share.
    pub(crate) fn set_rq_offline(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if !self.rqs[cpu.index()].online {
            return;
        }
        self.dl_root.overloaded_cpus.clear(cpu);
        self.dl_root.cpudl.clear(cpu, false);
        self.rt_rq_offline(ctx, cpu);
        self.rt_root.cpupri.set(cpu, CpuLevel::INVALID);
        self.unthrottle_offline_cfs_rqs(ctx, cpu);
        self.domains.root.online.clear(cpu);
        self.rqs[cpu.index()].online = false;
    }

    /// A runqueue joins its root domain.
    fn set_rq_online(&mut self, cpu: CpuId) {
        let State { rqs, dl_root, .. } = &mut self.state;
        let rq = &mut rqs[cpu.index()];
        rq.online = true;
        if rq.dl.overloaded {
            dl_root.overloaded_cpus.set(cpu);
        }
        if rq.dl.nr_running > 0 {
            let earliest = rq.dl.earliest_curr;
            dl_root.cpudl.set(cpu, earliest);
        } else {
            dl_root.cpudl.clear(cpu, true);
        }
        self.rt_rq_online(cpu);
        if self.rqs[cpu.index()].dl.nr_running > 0 {
            self.set_cpupri_of_deadline(cpu, true);
        }
        self.update_runtime_enabled(cpu);
        self.domains.root.online.set(cpu);
    }

    /// Builds the sched domains of the active CPUs anew.
    ///
    /// All runqueues leave the old root domain and join the new one, so that it goes for them as for one that goes offline
    /// and comes back: groups are not throttled, and real-time tasks have used no runtime yet. Counters and intervals of
    /// domains begin anew. What CPUs are in the middle of ends at once, in the old domains.
    pub(crate) fn rebuild_sched_domains(&mut self, ctx: &mut Ctx<'_>) {
        for cpu in self.cpu_ids() {
            self.finish_paths(ctx, cpu);
        }
        self.finish_searches(ctx);
        for cpu in self.cpu_ids() {
            self.set_rq_offline(ctx, cpu);
        }
        let params = BuildParams {
            jiffies: self.jiffies,
            hz: self.hz as u32,
            online: Some(self.hotplug.active.clone()),
            working: Some(self.hotplug.online.clone()),
            numa_domains_lost: self.tunables.changes.numa_domains_lost,
            ..BuildParams::default()
        };
        self.domains = build_sched_domains(&self.hotplug.topology, &params)
            .expect("a machine that had domains has them with other CPUs too");
        self.init_group_capacities();
        self.settle_margins();
        self.state.tallies.follow_domains(&self.state.domains);
        self.rt_root.forget_cpus();
        self.dl_root.forget_cpus();
        self.pass_through_default_root();
        self.spread_admitted();
        for cpu in self.cpu_ids() {
            if self.hotplug.active.contains(cpu) {
                self.set_rq_online(cpu);
            }
        }
        self.build_perf_domains();
    }

    /// CPUs leave their old domains one after the other, and join the new ones so.
    fn pass_through_default_root(&mut self) {
        let State { rqs, dl_root, hotplug, .. } = &mut self.state;
        for cpu in hotplug.active.iter() {
            let dl = &rqs[cpu.index()].dl;
            if dl.nr_running > 0 {
                dl_root.default_cpudl.set(cpu, dl.earliest_curr);
            }
        }
        for cpu in hotplug.active.iter() {
            dl_root.default_cpudl.clear(cpu, false);
        }
    }

    /// Capacities of new groups are what CPUs have at present, from the highest CPU to the lowest: `init_sched_groups_capacity()`.
    fn init_group_capacities(&mut self) {
        let active: Vec<_> = self.hotplug.active.iter().collect();
        for cpu in active.into_iter().rev() {
            let chain: Vec<_> = self.domains.chain(cpu).collect();
            if chain.is_empty() {
                let capacity = scale_rt_capacity(&self.rqs[cpu.index()]);
                self.set_cpu_capacity(cpu, capacity);
            }
            for sd in chain {
                if self.domains.groups[self.domains.domains[sd].groups].balance_cpu == cpu {
                    self.update_group_capacity(sd, cpu);
                }
            }
        }
    }

    /// Groups with a quota are not limited on a CPU that goes offline, so that its tasks can leave. The newest group comes
    /// first.
    fn unthrottle_offline_cfs_rqs(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        for group in (1..self.groups.len()).rev().map(GroupId::from_index) {
            let id = self.cfs_rq_of_group(group, cpu);
            let cfs_rq = &mut self.cfs_rqs[id.index()];
            if !cfs_rq.runtime_enabled {
                continue;
            }
            cfs_rq.runtime_remaining = 1;
            cfs_rq.runtime_enabled = false;
            if cfs_rq.throttled {
                let rq = self.rq_lock(cpu);
                self.unthrottle_cfs_rq(ctx, &rq, id);
            }
        }
    }

    fn update_runtime_enabled(&mut self, cpu: CpuId) {
        for group in (1..self.groups.len()).map(GroupId::from_index) {
            let id = self.cfs_rq_of_group(group, cpu);
            self.cfs_rqs[id.index()].runtime_enabled = self.groups[group.index()].bandwidth.limits.quota().is_some();
        }
    }
}
