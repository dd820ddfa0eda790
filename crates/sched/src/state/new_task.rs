// SPDX-License-Identifier: GPL-2.0-or-later
//! Creation of tasks in the task table.
//!
//! Models the part of `sched_fork()` that fills in a task (6.1).

use crate::state::State;
use crate::state::entity::{EntityOwner, SchedEntity};
use crate::state::task::{OnRq, Policy, SchedInfo, Task, TaskState, Uclamp};
use crate::types::cpumask::CpuMask;
use crate::types::ids::{CpuId, CpusetId, EntityId, GroupId, TaskId};
use crate::types::units::Nanos;
use crate::types::weight::{LoadWeight, scale_load_down};

/// Attributes of a new task.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// Process id, for display and traces.
    pub pid: i32,
    /// Scheduling policy. Deadline tasks cannot be forked; a task becomes one later.
    pub policy: Policy,
    /// Nice value, -20 to 19.
    pub nice: i8,
    /// Task group of the new task.
    pub group: GroupId,
    /// CPUs that the task may use.
    pub cpus_allowed: CpuMask,
    /// Utilisation clamps, if the task has its own.
    pub uclamp: Option<Uclamp>,
    /// Slice, if the task has its own. Kernels before 6.12 ignore it.
    pub slice: Option<Nanos>,
}

/// Weight of a task: that of its nice value, or of SCHED_IDLE.
pub(crate) fn weight_of(policy: Policy, nice: i8) -> LoadWeight {
    if policy == Policy::Idle { LoadWeight::idle_policy() } else { LoadWeight::from_nice(nice) }
}

impl State {
    /// Creates a task and its fair entity. The task belongs to a CPU but is not queued.
    pub(crate) fn new_task(&mut self, new: NewTask, cpu: CpuId) -> TaskId {
        self.nr_attribute_changes += 1;
        let task = TaskId::from_index(self.tasks.len());
        let entity = EntityId::from_index(self.fair.entities.len());
        let (cfs_rq, parent, depth) = self.fair.place_in_group(new.group, cpu);
        let mut se = SchedEntity::new(EntityOwner::Task(task), cfs_rq);
        (se.parent, se.depth) = (parent, depth);
        se.load = weight_of(new.policy, new.nice);
        // A task counts with its full load at once, but its utilisation is only guessed when it is first enqueued.
        se.avg.load_avg = scale_load_down(se.load.weight);
        self.fair.entities.push(se);
        let nr_cpus_allowed = new.cpus_allowed.weight() as u32;
        self.tasks.push(Task {
            pid: new.pid,
            se: entity,
            cpu,
            wake_cpu: cpu,
            recent_used_cpu: cpu,
            on_rq: OnRq::No,
            on_cpu: false,
            state: TaskState::New,
            class: new.policy.class(),
            policy: new.policy,
            pi_prio: crate::state::prio::NOT_INHERITED,
            pi_top_task: None,
            nice: new.nice,
            cpus_allowed: new.cpus_allowed,
            nr_cpus_allowed,
            max_allowed_capacity: self
                .tasks
                .get(TaskId::from_index(2 * self.rqs.len()))
                .map_or(0, |init| init.max_allowed_capacity),
            cpuset: CpusetId::TOP,
            is_per_cpu_kthread: false,
            group: new.group,
            wakee_flips: 0,
            wakee_flip_decay_ts: 0,
            last_wakee: None,
            remote_wakeup: false,
            reported_throttled_by: None,
            in_wakeup: false,
            in_iowait: false,
            info: SchedInfo::default(),
            uclamp: self.default_clamps.of_new_task(new.uclamp, new.policy.class()),
            has_uclamp: new.uclamp.is_some(),
            uclamp_active: None,
            links: Default::default(),
            rt: crate::state::rt::RtEntity::new(self.tunables.rr_timeslice_ticks(self.tick_ns)),
            dl: crate::state::deadline::DlEntity::new(cpu),
        });
        task
    }
}
