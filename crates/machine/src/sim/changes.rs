// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes at given times during a run: attributes of tasks and groups, hotplug, cpusets, frequency limits,
//! features, tunables and latency requests.
//!
//! The change of a task is executed on the CPU after the task's own; most other changes on the first online
//! CPU. Then all CPUs settle.

use crate::engine::Engine;
use crate::interface::error::SimResult;
use crate::interface::observation::{KernelPath, MachineEvent};
use crate::observer::Observer;
use crate::parts::policy::to_bandwidth;
use crate::state::Machine;
use fairlab_sched::classes::deadline::admission::PolicyError;
use fairlab_sched::ids::{CpuId, CpusetId, GroupId, TaskId};
use fairlab_sched::state::cpufreq::limits::FrequencyLimit;
use fairlab_sched::state::hotplug::HotplugError;
use fairlab_sched::task::Uclamp;
use fairlab_sched::units::{Capacity, Nanos};
use fairlab_workload::workload::{Affinity, Attributes, Change};

/// The kernel's `-EINVAL`.
const EINVAL: i32 = -22;

impl<E: Engine> Machine<E> {
    /// Returns the CPU whose kernel work must be complete before a change is executed.
    ///
    /// A task that is being woken or forked stays locked until it is enqueued, so the waking CPU completes
    /// its path first. A CPU that goes offline or comes back first completes its path.
    pub(crate) fn cpu_of_change(&self, index: usize) -> CpuId {
        match self.workload.changes[index].1 {
            Change::Task { task, .. } | Change::Attach { task, .. } => {
                let Some(id) = self.tasks[task].id else { return self.first_online_cpu() };
                self.sched.waking_cpu(id).unwrap_or_else(|| self.changer_cpu(id))
            }
            Change::Hotplug { ref cpus, .. } => {
                let mut cpus = cpus.iter().map(|&cpu| CpuId(cpu));
                cpus.find(|&cpu| !self.is_between_paths(cpu)).unwrap_or_else(|| self.first_online_cpu())
            }
            _ => self.first_online_cpu(),
        }
    }

    /// Whether a change targets a task that is not forked yet or has ended.
    pub(crate) fn targets_no_task(&self, index: usize) -> bool {
        match self.workload.changes[index].1 {
            Change::Task { task, .. } | Change::Attach { task, .. } => {
                self.tasks[task].is_dead || self.tasks[task].id.is_none()
            }
            _ => false,
        }
    }

    /// Executes a change of the workload.
    pub(crate) fn apply_change(&mut self, observer: &mut dyn Observer<E>, index: usize) -> SimResult {
        let change = self.workload.changes[index].1.clone();
        let made = match change {
            Change::Task { task, attributes } => self.change_task(observer, task, &attributes),
            Change::Attach { task, cpuset } => self.attach_to_cpuset(observer, task, cpuset),
            Change::Hotplug { cpus, online } => return self.hotplug_cpus(observer, &cpus, online),
            Change::FrequencyLimit { cpus, is_thermal, part } => {
                let cpu = self.first_online_cpu();
                let limit = if is_thermal { FrequencyLimit::Thermal } else { FrequencyLimit::User };
                self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
                    for &cpu in &cpus {
                        sched.limit_frequency(ctx, CpuId(cpu), limit, Capacity::from(part));
                    }
                });
                let what = if is_thermal { "thermal" } else { "maxfreq" };
                MachineEvent::Changed { what, task: None, group: None, result: 0 }
            }
            Change::Feature { name, on } => {
                let result = if self.sched.set_feature(&name, on).is_ok() { 0 } else { EINVAL };
                MachineEvent::Changed { what: "feature", task: None, group: None, result }
            }
            Change::Tunable { name, value } => {
                let result = if self.sched.set_tunable(&name, value).is_ok() { 0 } else { EINVAL };
                MachineEvent::Changed { what: "tunable", task: None, group: None, result }
            }
            Change::CpuDmaLatency(latency) => {
                self.request_latency(observer, latency.unwrap_or(Nanos::NEVER));
                let made = MachineEvent::Changed { what: "cpu_dma_latency", task: None, group: None, result: 0 };
                observer.machine_event(self.now, &made);
                // Interrupts wake the other CPUs, which first have to leave their idle states.
                return self.settle(observer, self.first_online_cpu());
            }
            Change::FairServer { cpus, runtime, period } => {
                let set = self.enter(observer, self.first_online_cpu(), KernelPath::Change, |sched, ctx| {
                    cpus.iter().try_for_each(|&cpu| sched.set_fair_server(ctx, CpuId(cpu), runtime, period))
                });
                let result = set.err().unwrap_or(0);
                MachineEvent::Changed { what: "server", task: None, group: None, result }
            }
            Change::GroupClamps { group, min, max } => {
                self.sched.set_group_uclamp(self.groups[group], Uclamp { min, max });
                MachineEvent::Changed { what: "groupclamp", task: None, group: Some(group), result: 0 }
            }
            Change::CpusetCpus { cpuset, cpus } => {
                let (id, mask) = (self.cpusets[cpuset], self.to_mask(&Affinity::Cpus(cpus)));
                let tasks = self.sched.set_cpuset_cpus(id, &mask);
                self.update_task_cpumasks(observer, &tasks);
                MachineEvent::Cpuset { cpuset, result: 0 }
            }
            Change::Shares { group, shares } => {
                let id = self.groups[group];
                let result = self.enter(observer, self.first_online_cpu(), KernelPath::Change, |sched, ctx| {
                    sched.set_group_shares(ctx, id, shares)
                });
                if result.is_ok() {
                    observer.machine_event(self.now, &MachineEvent::Shares { group, shares });
                }
                let result = if result.is_ok() { 0 } else { EINVAL };
                MachineEvent::Changed { what: "shares", task: None, group: Some(group), result }
            }
            Change::Quota { group, quota_us, period_us, burst_us } => {
                let id = self.groups[group];
                // A write to `cpu.max` leaves `cpu.max.burst` as it is, and fails if the burst is longer than the quota.
                let present = || self.sched.bandwidth_snapshot(id).map_or(0, |bandwidth| bandwidth.burst.0 / 1000);
                let bandwidth = to_bandwidth(quota_us, period_us, burst_us.unwrap_or_else(present));
                let result = self.enter(observer, self.first_online_cpu(), KernelPath::Change, |sched, ctx| {
                    bandwidth.and_then(|bandwidth| sched.set_group_bandwidth(ctx, id, bandwidth).map(|()| bandwidth))
                });
                if let Ok(set) = result {
                    let (quota, period) = (set.quota(), set.period());
                    observer.machine_event(self.now, &MachineEvent::Quota { group, quota, period });
                }
                let result = if result.is_ok() { 0 } else { EINVAL };
                MachineEvent::Changed { what: "quota", task: None, group: Some(group), result }
            }
        };
        observer.machine_event(self.now, &made);
        self.settle_all(observer)
    }

    /// Sets the latency request of the scenario; [`Nanos::NEVER`] removes it. Models
    /// `cpu_latency_qos_apply()` (6.1): if the limit changes, all idle CPUs wake up so that their governors
    /// choose again.
    fn request_latency(&mut self, observer: &mut dyn Observer<E>, latency: Nanos) {
        let before = self.cpu_dma_latency.limit();
        self.cpu_dma_latency.change_limit = latency;
        if self.cpu_dma_latency.limit() != before {
            let cpu = self.first_online_cpu();
            self.wake_from_idle_state(cpu);
            self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.wake_up_all_idle_cpus(ctx));
        }
    }

    fn settle_all(&mut self, observer: &mut dyn Observer<E>) -> SimResult {
        for cpu in self.sched.cpu_ids() {
            self.settle(observer, cpu)?;
        }
        Ok(())
    }

    /// Takes CPUs offline or brings them back, one after the other.
    ///
    /// A process on the first remaining CPU requests the change and waits. The first online CPU inherits the
    /// ends of sleeps that began on an offline CPU.
    fn hotplug_cpus(&mut self, observer: &mut dyn Observer<E>, cpus: &[u32], online: bool) -> SimResult {
        for cpu in cpus.iter().map(|&cpu| CpuId(cpu)) {
            let asker = self.sched.active_cpus().any_but(cpu).unwrap_or(cpu);
            let result = self.enter(observer, asker, KernelPath::Change, |sched, ctx| {
                if online {
                    sched.bring_cpu_online(ctx, cpu);
                    Ok(())
                } else {
                    sched.take_cpu_offline(ctx, cpu)
                }
            });
            self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.handle_awaited_stopper(ctx));
            let is_needed = !online && self.sched.active_cpus().contains(cpu);
            let result = result.and(if is_needed { Err(HotplugError::NoBandwidth) } else { Ok(()) });
            let tasks = self.sched.hotplug_update_cpusets();
            self.update_task_cpumasks(observer, &tasks);
            let result = result.map_or_else(HotplugError::errno, |()| 0);
            if result == 0 {
                self.record_frequency(cpu);
                self.account_kernel(cpu);
                self.counters.per_cpu[cpu.index()].set_online(online);
                self.cpus[cpu.index()].idle.set_online(self.now, online);
            }
            observer.machine_event(self.now, &MachineEvent::Hotplug { cpu, online, result });
            self.settle(observer, cpu)?;
            self.settle_all(observer)?;
            let heir = self.first_online_cpu();
            for task in self.tasks.all_mut().iter_mut().filter(|task| !online && task.sleep_cpu == cpu) {
                task.sleep_cpu = heir;
            }
            if !online {
                self.move_sleeps(cpu, heir);
            }
        }
        Ok(())
    }

    /// Applies changed cpusets to their tasks, one after the other. The caller waits for the migration of
    /// each task that runs on a CPU which is no longer allowed.
    fn update_task_cpumasks(&mut self, observer: &mut dyn Observer<E>, tasks: &[TaskId]) {
        for &task in tasks {
            let cpu = self.changer_cpu(task);
            let caller = self.sched.curr(cpu);
            if self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.apply_cpuset(ctx, task, Some(caller))) {
                self.wait_for_stoppers(observer, cpu);
            }
        }
    }

    fn attach_to_cpuset(&mut self, observer: &mut dyn Observer<E>, task: usize, cpuset: Option<usize>) -> MachineEvent {
        let id = self.tasks.id(task);
        let cpuset = cpuset.map_or(CpusetId::TOP, |cpuset| self.cpusets[cpuset]);
        let cpu = self.changer_cpu(id);
        let caller = self.sched.curr(cpu);
        if self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
            sched.attach_to_cpuset(ctx, id, cpuset, Some(caller))
        }) {
            self.wait_for_stoppers(observer, cpu);
        }
        MachineEvent::Changed { what: "cpuset", task: Some(task), group: None, result: 0 }
    }

    /// Returns the CPU of the process that changes a task: the next online CPU after the task's own.
    fn changer_cpu(&self, task: TaskId) -> CpuId {
        let (home, nr_cpus) = (self.sched.task_cpu(task), self.hardware.nr_cpus() as u32);
        let next = |cpu: CpuId| CpuId((cpu.0 + 1) % nr_cpus);
        let mut cpu = next(home);
        while !self.sched.is_online(cpu) {
            cpu = next(cpu);
        }
        cpu
    }

    fn change_task(&mut self, observer: &mut dyn Observer<E>, task: usize, attributes: &Attributes) -> MachineEvent {
        let id = self.tasks.id(task);
        let cpu = self.changer_cpu(id);
        let result = |what, result| MachineEvent::Changed { what, task: Some(task), group: None, result };
        let made = |what| result(what, 0);
        if let Some(affinity) = &attributes.affinity {
            let mask = self.to_mask(affinity);
            let caller = self.sched.curr(cpu);
            let waits = self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
                sched.set_affinity(ctx, id, &mask, Some(caller))
            });
            if waits {
                self.wait_for_stoppers(observer, cpu);
            }
            return made("affinity");
        }
        if let Some(nice) = attributes.nice {
            self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.set_nice(ctx, id, nice));
            return made("nice");
        }
        if let Some(policy) = attributes.policy {
            let set = self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.set_policy(ctx, id, policy));
            if set.is_ok() {
                self.requeue_waiter(observer, cpu, task);
            }
            return result("policy", set.map_or_else(PolicyError::errno, |()| 0));
        }
        if let Some(slice) = attributes.slice {
            let set = self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.set_slice(ctx, id, slice));
            return result("slice", set.err().unwrap_or(0));
        }
        if let Some(group) = attributes.group {
            let target = group.map_or(GroupId::ROOT, |group| self.groups[group]);
            self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.move_to_group(ctx, id, target));
            observer.machine_event(self.now, &MachineEvent::Moved { task, group });
            return MachineEvent::Changed { what: "group", task: Some(task), group, result: 0 };
        }
        let clamps = Uclamp { min: attributes.uclamp_min.unwrap_or(0), max: attributes.uclamp_max.unwrap_or(1024) };
        let set = self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.set_uclamp(ctx, id, clamps));
        if set.is_ok() {
            self.requeue_waiter(observer, cpu, task);
        }
        result("uclamp", set.err().unwrap_or(0))
    }

    /// Lets the caller's CPU wait until the stoppers of the other CPUs have done their work, at the same
    /// instant.
    fn wait_for_stoppers(&mut self, observer: &mut dyn Observer<E>, caller: CpuId) {
        for cpu in self.sched.cpu_ids().filter(|&cpu| cpu != caller) {
            // A CPU in the middle of a path runs its stopper afterwards.
            if !self.is_between_paths(cpu) {
                continue;
            }
            self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.handle_awaited_stopper(ctx));
        }
    }
}
