// SPDX-License-Identifier: GPL-2.0-or-later
//! Runqueues that leave and join the root domain during hotplug, and the rebuild of sched domains.
//!
//! Models `set_rq_offline()` and `set_rq_online()` with their classes' parts, `rq_attach_root()`,
//! `unthrottle_offline_cfs_rqs()` and `update_runtime_enabled()` (6.1), and `clear_tg_offline_cfs_rqs()` (6.12).

use crate::interface::ctx::Ctx;
use crate::paths::sched::Sched;
use crate::state::State;
use crate::state::hotplug::Hotplug;
use crate::state::nohz::WiderDomains;
use crate::state::rt::cpupri::CpuLevel;
use crate::state::topology::{BuildParams, SchedGroup, build_sched_domains};
use crate::track::capacity::scale_rt_capacity;
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpuId, GroupId};
use alloc::vec::Vec;

impl Sched {
    /// Removes a runqueue from its root domain: no CPU pushes tasks to it, and no shared limit throttles its
    /// tasks. In 6.12 its clock is updated first, and the loads of groups lose its share last.
    pub(crate) fn set_rq_offline(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        if !self.rqs[cpu].online {
            return;
        }
        if self.rules.clocks_detached_rqs {
            let _rq = self.rq_lock_clocked(ctx, cpu);
        }
        self.dl_root.overloaded_cpus.clear(cpu);
        self.dl_root.cpudl.clear(cpu, false);
        self.rt_rq_offline(ctx, cpu);
        self.rt_root.cpupri.set(cpu, CpuLevel::INVALID);
        self.unthrottle_offline_cfs_rqs(ctx, cpu);
        if self.rules.clears_offline_group_load {
            self.clear_tg_offline_cfs_rqs(ctx, cpu);
        }
        self.domains.root.online.clear(cpu);
        self.rqs[cpu].online = false;
    }

    /// Adds a runqueue to its root domain.
    pub(crate) fn set_rq_online(&mut self, cpu: CpuId) {
        let State { rqs, dl_root, rt_root, .. } = &mut self.state;
        let rq = &mut rqs[cpu];
        rq.online = true;
        rq.dl_online(dl_root);
        // Its priority is that of its real-time tasks, also beside deadline tasks, until the first of these is queued.
        rq.rt_online(rt_root);
        self.update_runtime_enabled(cpu);
        self.domains.root.online.set(cpu);
    }

    /// Rebuilds the sched domains of the active CPUs.
    ///
    /// All runqueues leave the old root domain and join the new one, as if they went offline and came back:
    /// groups are unthrottled, and real-time tasks have used no runtime yet. In 6.12 the loads of groups also start
    /// again from 0, so that a busy CPU contributes when its averages are next updated, at least 1 ms later.
    /// Counters and intervals of domains are reset. Yielded paths are completed first, in the old domains.
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
            working: Some(self.working_cpus()),
            numa_domains_lost: self.tunables.changes.numa_domains_lost,
            ..BuildParams::new(self.rules)
        };
        self.domains = build_sched_domains(&self.hotplug.topology, &params)
            .expect("domains that were built at boot can be rebuilt for other CPUs");
        self.init_group_capacities();
        self.state.domains.apply_wide_imbalance(&self.state.tunables);
        self.state.lb_cache.rebuild(&self.state.domains);
        self.nohz.cpus.iter_mut().for_each(|of| of.wider = WiderDomains::UNKNOWN);
        self.rt_root.clear_cpus();
        let State { rqs, tasks, dl_root, hotplug, .. } = &mut self.state;
        dl_root.clear_cpus();
        dl_root.attach_default_root(rqs, &hotplug.active);
        dl_root.attach_servers(tasks, &hotplug.active);
        dl_root.spread_admitted(tasks, &hotplug.active);
        for cpu in self.cpu_ids() {
            if self.hotplug.active.contains(cpu) {
                self.set_rq_online(cpu);
            }
        }
        self.build_perf_domains();
    }

    /// Returns the CPUs that sched domains count when they are rebuilt.
    ///
    /// 6.12 rebuilds them in `sched_cpu_deactivate()`, when the CPU that goes offline still works. 6.1 leaves this to a
    /// worker, which waits for the end of the hotplug operation.
    pub(crate) fn working_cpus(&self) -> CpuMask {
        let Hotplug { active, online, .. } = &self.hotplug;
        if self.rules.rebuilds_before_offline { online.clone() } else { active.clone() }
    }

    /// Sets the capacities of new groups from the present CPU capacities, from the highest CPU to the lowest
    /// (`init_sched_groups_capacity()`).
    ///
    /// The capacity of a group is set for its balance CPU. If the domain of that CPU was removed because it is like the
    /// one below, its group remains in the domains of other CPUs.
    fn init_group_capacities(&mut self) {
        let active: Vec<_> = self.hotplug.active.iter().collect();
        let mut is_set = alloc::vec![false; self.domains.capacities.len()];
        for cpu in active.into_iter().rev() {
            let chain: Vec<_> = self.domains.chain(cpu).collect();
            if chain.is_empty() {
                let State { rqs, lb_cache, rules, .. } = &mut self.state;
                let capacity = scale_rt_capacity(&rqs[cpu], *rules);
                rqs[cpu].set_cpu_capacity(lb_cache, capacity);
            }
            for sd in chain {
                let group = &self.domains.groups[self.domains.domains[sd].groups];
                if group.balance_cpu == cpu {
                    is_set[group.capacity.index()] = true;
                    self.update_group_capacity(sd, cpu);
                }
            }
            let is_left = |group: &&SchedGroup| group.balance_cpu == cpu && !is_set[group.capacity.index()];
            let left: Vec<SchedGroup> = self.domains.groups.iter().filter(is_left).cloned().collect();
            for group in left {
                is_set[group.capacity.index()] = true;
                self.sum_group_capacity(&group);
            }
        }
    }

    /// Unthrottles the groups with a quota on a CPU that goes offline, so that its tasks can be moved. The
    /// newest group comes first.
    fn unthrottle_offline_cfs_rqs(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        for group in (1..self.fair.groups.len()).rev().map(GroupId::from_index) {
            let id = self.fair.cfs_rq_of_group(group, cpu);
            let cfs_rq = &mut self.fair.cfs_rqs[id];
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

    /// Removes a CPU from the loads of all groups.
    fn clear_tg_offline_cfs_rqs(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) {
        for group in (1..self.fair.groups.len()).map(GroupId::from_index) {
            let id = self.fair.cfs_rq_of_group(group, cpu);
            self.fair.clear_tg_load_avg(ctx, id);
        }
    }

    fn update_runtime_enabled(&mut self, cpu: CpuId) {
        for group in (1..self.fair.groups.len()).map(GroupId::from_index) {
            let id = self.fair.cfs_rq_of_group(group, cpu);
            self.fair.cfs_rqs[id].runtime_enabled = self.fair.groups[group].bandwidth.limits.quota().is_some();
        }
    }
}
