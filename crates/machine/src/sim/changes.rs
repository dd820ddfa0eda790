// SPDX-License-Identifier: GPL-2.0-or-later
//! What others change while tasks run: attributes of tasks and of groups, at given times.
//!
//! The change of a task is made on the CPU after its own, that of a group on CPU 0. Then all CPUs settle.

use super::setup::to_bandwidth;
use super::tasks::to_policy;
use super::{Machine, RunError};
use crate::engine::Engine;
use crate::observer::{KernelPath, MachineEvent, Observer};
use fairlab_sched::classes::deadline::admission::PolicyError;
use fairlab_sched::features::Feature;
use fairlab_sched::ids::{CpuId, CpusetId, GroupId, TaskId};
use fairlab_sched::state::cpufreq::limits::FrequencyLimit;
use fairlab_sched::state::hotplug::HotplugError;
use fairlab_sched::task::Uclamp;
use fairlab_sched::units::{Capacity, Nanos};
use fairlab_workload::workload::{Affinity, Attributes, Change};

/// The kernel's EINVAL.
const EINVAL: i32 = -22;

impl<E: Engine> Machine<E> {
    /// The CPU on which a change is made, which has to be through with what it does in the kernel.
    ///
    /// The lock of a task that is being woken or forked is held until it is enqueued, so its waker comes first. A CPU that goes
    /// offline or comes back first ends what it does.
    pub(super) fn cpu_of_change(&self, index: usize) -> CpuId {
        match self.workload.changes[index].1 {
            Change::Task { task, .. } | Change::Attach { task, .. } => {
                let Some(id) = self.tasks[task].id else { return self.first_online() };
                self.sched.waking_cpu(id).unwrap_or_else(|| self.cpu_of_changer(id))
            }
            Change::Hotplug { ref cpus, .. } => {
                let mut cpus = cpus.iter().map(|&cpu| CpuId(cpu));
                cpus.find(|&cpu| !self.is_between_paths(cpu)).unwrap_or_else(|| self.first_online())
            }
            _ => self.first_online(),
        }
    }

    /// Whether a change is that of a task that was not forked yet, or has ended.
    pub(super) fn changes_nobody(&self, index: usize) -> bool {
        match self.workload.changes[index].1 {
            Change::Task { task, .. } | Change::Attach { task, .. } => {
                self.tasks[task].dead || self.tasks[task].id.is_none()
            }
            _ => false,
        }
    }

    pub(super) fn make_change(&mut self, observer: &mut dyn Observer<E>, index: usize) -> Result<(), RunError> {
        let change = self.workload.changes[index].1.clone();
        let made = match change {
            Change::Task { task, attributes } => self.change_task(observer, task, &attributes),
            Change::Attach { task, cpuset } => self.attach(observer, task, cpuset),
            Change::Hotplug { cpus, online } => return self.plug(observer, &cpus, online),
            Change::FrequencyLimit { cpus, is_thermal, part } => {
                let cpu = self.first_online();
                let limit = if is_thermal { FrequencyLimit::Thermal } else { FrequencyLimit::User };
                self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
                    for cpu in cpus {
                        sched.limit_frequency(ctx, CpuId(cpu), limit, Capacity::from(part));
                    }
                });
                let what = if is_thermal { "thermal" } else { "maxfreq" };
                MachineEvent::Changed { what, task: None, group: None, result: 0 }
            }
            Change::Feature { name, on } => {
                let feature = Feature::from_name(&name).expect("the reader of scenarios knows the names of features");
                self.sched.set_feature(feature, on);
                MachineEvent::Changed { what: "feature", task: None, group: None, result: 0 }
            }
            Change::Tunable { name, value } => {
                let mut wanted = self.sched.tunables().clone();
                let set = wanted.set(&name, value as i64);
                self.sched.set_tunables(wanted);
                let result = if set.is_ok() { 0 } else { EINVAL };
                MachineEvent::Changed { what: "tunable", task: None, group: None, result }
            }
            Change::CpuDmaLatency(latency) => {
                self.request_latency(observer, latency.unwrap_or(Nanos::NEVER));
                let made = MachineEvent::Changed { what: "cpu_dma_latency", task: None, group: None, result: 0 };
                observer.machine_event(self.now, &made);
                // Interrupts tell the others, which have to come out of their idle states for them.
                return self.settle(observer, self.first_online());
            }
            Change::GroupClamps { group, min, max } => {
                self.sched.set_group_uclamp(self.groups[group], Uclamp { min, max });
                MachineEvent::Changed { what: "groupclamp", task: None, group: Some(group), result: 0 }
            }
            Change::CpusetCpus { cpuset, cpus } => {
                let (id, mask) = (self.cpusets[cpuset], self.to_mask(&Affinity::Cpus(cpus)));
                let tasks = self.sched.set_cpuset_cpus(id, &mask);
                self.follow_cpusets(observer, &tasks);
                MachineEvent::Cpuset { cpuset, result: 0 }
            }
            Change::Shares { group, shares } => {
                let id = self.groups[group];
                let result = self.enter(observer, self.first_online(), KernelPath::Change, |sched, ctx| {
                    sched.set_group_shares(ctx, id, shares)
                });
                let result = if result.is_ok() { 0 } else { EINVAL };
                MachineEvent::Changed { what: "shares", task: None, group: Some(group), result }
            }
            Change::Quota { group, quota_us, period_us } => {
                let id = self.groups[group];
                let bandwidth = to_bandwidth(quota_us, period_us, 0);
                let result = self.enter(observer, self.first_online(), KernelPath::Change, |sched, ctx| {
                    bandwidth.and_then(|bandwidth| sched.set_group_bandwidth(ctx, id, bandwidth))
                });
                let result = if result.is_ok() { 0 } else { EINVAL };
                MachineEvent::Changed { what: "quota", task: None, group: Some(group), result }
            }
        };
        observer.machine_event(self.now, &made);
        self.settle_all(observer)
    }

    fn settle_all(&mut self, observer: &mut dyn Observer<E>) -> Result<(), RunError> {
        for cpu in self.sched.cpu_ids() {
            self.settle(observer, cpu)?;
        }
        Ok(())
    }

    /// CPUs go offline or come back, one after the other.
    ///
    /// Somebody on the first CPU that stays asks for it and waits. What the machine does for a CPU that is gone, the first
    /// one does from then on: the ends of sleeps that began there.
    fn plug(&mut self, observer: &mut dyn Observer<E>, cpus: &[u32], online: bool) -> Result<(), RunError> {
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
            let tasks = self.sched.cpusets_follow_hotplug();
            self.follow_cpusets(observer, &tasks);
            let result = result.map_or_else(HotplugError::errno, |()| 0);
            observer.machine_event(self.now, &MachineEvent::Hotplug { cpu, online, result });
            self.settle(observer, cpu)?;
            self.settle_all(observer)?;
            let heir = self.first_online();
            for task in self.tasks.iter_mut().filter(|task| !online && task.sleep_cpu == cpu) {
                task.sleep_cpu = heir;
            }
            if !online {
                self.move_sleeps(cpu, heir);
            }
        }
        Ok(())
    }

    /// Tasks whose cpusets have other CPUs now get them, one after the other. Somebody waits for each that runs where it must not any more.
    fn follow_cpusets(&mut self, observer: &mut dyn Observer<E>, tasks: &[TaskId]) {
        for &task in tasks {
            let cpu = self.cpu_of_changer(task);
            let caller = self.sched.curr(cpu);
            if self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.follow_cpuset(ctx, task, Some(caller)))
            {
                self.wait_for_stoppers(observer, cpu);
            }
        }
    }

    fn attach(&mut self, observer: &mut dyn Observer<E>, task: usize, cpuset: Option<usize>) -> MachineEvent {
        let id = self.tasks[task].id.expect("checked by the caller");
        let cpuset = cpuset.map_or(CpusetId::TOP, |cpuset| self.cpusets[cpuset]);
        let cpu = self.cpu_of_changer(id);
        let caller = self.sched.curr(cpu);
        if self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
            sched.attach_to_cpuset(ctx, id, cpuset, Some(caller))
        }) {
            self.wait_for_stoppers(observer, cpu);
        }
        MachineEvent::Changed { what: "cpuset", task: Some(task), group: None, result: 0 }
    }

    /// Who changes something of a task: somebody on the next CPU.
    fn cpu_of_changer(&self, task: TaskId) -> CpuId {
        let (home, nr_cpus) = (self.sched.task_cpu(task), self.hardware.nr_cpus() as u32);
        let next = |cpu: CpuId| CpuId((cpu.0 + 1) % nr_cpus);
        let mut cpu = next(home);
        while !self.sched.is_online(cpu) {
            cpu = next(cpu);
        }
        cpu
    }

    /// The first CPU that works.
    pub(super) fn first_online(&self) -> CpuId {
        self.sched.active_cpus().first().expect("the last CPU does not go offline")
    }

    fn change_task(&mut self, observer: &mut dyn Observer<E>, task: usize, attributes: &Attributes) -> MachineEvent {
        let id = self.tasks[task].id.expect("checked by the caller");
        let cpu = self.cpu_of_changer(id);
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
            let set = self
                .enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.set_policy(ctx, id, to_policy(policy)));
            return result("policy", set.map_or_else(PolicyError::errno, |()| 0));
        }
        if let Some(group) = attributes.group {
            let target = group.map_or(GroupId::ROOT, |group| self.groups[group]);
            self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.move_to_group(ctx, id, target));
            return MachineEvent::Changed { what: "group", task: Some(task), group, result: 0 };
        }
        let clamps = Uclamp { min: attributes.uclamp_min.unwrap_or(0), max: attributes.uclamp_max.unwrap_or(1024) };
        self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.set_uclamp(ctx, id, clamps));
        made("uclamp")
    }

    /// Whoever runs on a CPU waits until the stoppers of the others have done their work, at the same instant.
    fn wait_for_stoppers(&mut self, observer: &mut dyn Observer<E>, caller: CpuId) {
        for cpu in self.sched.cpu_ids().filter(|&cpu| cpu != caller) {
            // One that is in the middle of something comes to its stopper by itself.
            if !self.is_between_paths(cpu) {
                continue;
            }
            self.enter(observer, cpu, KernelPath::Change, |sched, ctx| sched.handle_awaited_stopper(ctx));
        }
    }
}
