// SPDX-License-Identifier: GPL-2.0-or-later
//! Steps that fork tasks or change the task's own attributes.

use crate::engine::Engine;
use crate::interface::error::{RunError, SimResult};
use crate::interface::observation::{KernelPath, MachineEvent};
use crate::observer::Observer;
use crate::state::Machine;
use fairlab_sched::ids::{CpuId, GroupId};
use fairlab_sched::task::Uclamp;

impl<E: Engine> Machine<E> {
    /// Executes a fork step: forks the next instance of a template.
    pub(crate) fn fork_template(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        template: usize,
    ) -> SimResult<usize> {
        let instance = self.tasks.all().iter().filter(|task| task.spec == template && task.id.is_some()).count() as u32;
        if let Some(limit) = self.workload.fork_limit.filter(|&limit| instance >= limit) {
            return Err(Box::new(RunError::ForkLimit { task: self.workload.tasks[template].name.clone(), limit }));
        }
        let task = self.add_task(template, instance);
        self.fork(observer, cpu, task);
        Ok(task)
    }

    /// Executes the system calls by which a running task changes its own attributes.
    pub(crate) fn set_attributes(
        &mut self,
        observer: &mut dyn Observer<E>,
        cpu: CpuId,
        task: usize,
        set: usize,
    ) -> SimResult {
        let attributes = self.workload.tasks[self.tasks[task].spec].attributes[set].clone();
        let id = self.tasks.id(task);
        let mask = attributes.affinity.as_ref().map(|affinity| self.to_mask(affinity));
        let group = attributes.group.map(|group| group.map_or(GroupId::ROOT, |group| self.groups[group]));
        let policy = attributes.policy;
        let set = self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
            policy.map_or(Ok(()), |policy| {
                sched.check_deadline_affinity(id, policy)?;
                sched.set_policy(ctx, id, policy)
            })
        });
        set.map_err(|why| self.policy_error(task, why))?;
        self.enter(observer, cpu, KernelPath::Change, |sched, ctx| {
            if let Some(nice) = attributes.nice {
                sched.set_nice(ctx, id, nice);
            }
            if let Some(slice) = attributes.slice {
                // A policy without slices was set by the same step.
                let _refused = sched.set_slice(ctx, id, slice).is_err();
            }
            if attributes.uclamp_min.is_some() || attributes.uclamp_max.is_some() {
                let old = sched.task_uclamp(id);
                let min = attributes.uclamp_min.unwrap_or(old.min);
                let clamps = Uclamp { min, max: attributes.uclamp_max.unwrap_or(old.max) };
                // A task that inherits a deadline keeps its clamps.
                let _refused = sched.set_uclamp(ctx, id, clamps).is_err();
            }
            if let Some(group) = group {
                sched.move_to_group(ctx, id, group);
            }
            if let Some(mask) = &mask
                && sched.set_affinity(ctx, id, mask, Some(id))
            {
                sched.handle_block(ctx);
            }
        });
        if let Some(group) = attributes.group {
            observer.machine_event(self.now, &MachineEvent::Moved { task, group });
        }
        Ok(())
    }
}
