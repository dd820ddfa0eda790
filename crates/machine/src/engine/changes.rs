// SPDX-License-Identifier: GPL-2.0-or-later
//! What others change while tasks run: attributes of tasks and of groups, at given times.
//!
//! The change of a task is made on the CPU after its own, that of a group on CPU 0. Then all CPUs settle.

use super::setup::to_bandwidth;
use super::tasks::to_policy;
use super::{Machine, RunError};
use crate::observer::{MachineEvent, Observer};
use fairlab_sched::classes::deadline::PolicyError;
use fairlab_sched::ids::{CpuId, GroupId};
use fairlab_sched::task::Uclamp;
use fairlab_workload::workload::{Attributes, Change};

/// The kernel's EINVAL.
const EINVAL: i32 = -22;

impl Machine {
    pub(super) fn make_change(&mut self, observer: &mut dyn Observer, index: usize) -> Result<(), RunError> {
        let change = self.workload.changes[index].1.clone();
        let made = match change {
            Change::Task { task, attributes } => {
                if self.tasks[task].dead || self.tasks[task].id.is_none() {
                    return Ok(());
                }
                self.change_task(observer, task, &attributes)
            }
            Change::Shares { group, shares } => {
                let id = self.groups[group];
                let result = self.enter(observer, CpuId(0), |sched, ctx| sched.set_group_shares(ctx, id, shares));
                let result = if result.is_ok() { 0 } else { EINVAL };
                MachineEvent::Changed { what: "shares", task: None, group: Some(group), result }
            }
            Change::Quota { group, quota_us, period_us } => {
                let id = self.groups[group];
                let bandwidth = to_bandwidth(quota_us, period_us, 0);
                let result = self.enter(observer, CpuId(0), |sched, ctx| {
                    bandwidth.and_then(|bandwidth| sched.set_group_bandwidth(ctx, id, bandwidth))
                });
                let result = if result.is_ok() { 0 } else { EINVAL };
                MachineEvent::Changed { what: "quota", task: None, group: Some(group), result }
            }
        };
        observer.machine_event(self.now, &made);
        for cpu in self.sched.cpu_ids() {
            self.settle(observer, cpu)?;
        }
        Ok(())
    }

    fn change_task(&mut self, observer: &mut dyn Observer, task: usize, attributes: &Attributes) -> MachineEvent {
        let id = self.tasks[task].id.expect("checked by the caller");
        let home = self.sched.task(id).cpu;
        let cpu = CpuId((home.0 + 1) % self.hardware.nr_cpus() as u32);
        let result = |what, result| MachineEvent::Changed { what, task: Some(task), group: None, result };
        let made = |what| result(what, 0);
        if let Some(affinity) = &attributes.affinity {
            let mask = self.to_mask(affinity);
            let caller = self.sched.curr(cpu);
            let waits = self.enter(observer, cpu, |sched, ctx| sched.set_affinity(ctx, id, &mask, Some(caller)));
            if waits {
                self.wait_for_stoppers(observer, cpu);
            }
            return made("affinity");
        }
        if let Some(nice) = attributes.nice {
            self.enter(observer, cpu, |sched, ctx| sched.set_nice(ctx, id, nice));
            return made("nice");
        }
        if let Some(policy) = attributes.policy {
            let set = self.enter(observer, cpu, |sched, ctx| sched.set_policy(ctx, id, to_policy(policy)));
            return result("policy", set.map_or_else(PolicyError::errno, |()| 0));
        }
        if let Some(group) = attributes.group {
            let target = group.map_or(GroupId::ROOT, |group| self.groups[group]);
            self.enter(observer, cpu, |sched, ctx| sched.move_to_group(ctx, id, target));
            return MachineEvent::Changed { what: "group", task: Some(task), group, result: 0 };
        }
        let clamps = Uclamp { min: attributes.uclamp_min.unwrap_or(0), max: attributes.uclamp_max.unwrap_or(1024) };
        self.enter(observer, cpu, |sched, ctx| sched.set_uclamp(ctx, id, clamps));
        made("uclamp")
    }

    /// Whoever runs on a CPU waits until the stoppers of the others have done their work, at the same instant.
    fn wait_for_stoppers(&mut self, observer: &mut dyn Observer, caller: CpuId) {
        for cpu in self.sched.cpu_ids().filter(|&cpu| cpu != caller) {
            self.enter(observer, cpu, |sched, ctx| sched.handle_awaited_stopper(ctx));
        }
    }
}
