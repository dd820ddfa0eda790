// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks of a workload on the machine: their programs, their work, and the time that it takes.

use super::residency::Residency;
use super::sync::ResumeAction;
use super::units::FULL_SPEED;
use crate::base::clock::START;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::units::Nanos;
use fairlab_workload::scenario::FIRST_PID;
use fairlab_workload::step::{Behaviour, ObjectId, Step};
use fairlab_workload::workload::TaskSpec;
use std::ops::{Index, IndexMut};

/// Rest of a step that receives bytes with several system calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BytesToReceive {
    /// Bytes that are not received yet.
    pub(crate) left: u32,
    /// Maximum number of bytes of a call.
    pub(crate) buffer: u32,
    /// Work of the program between two calls.
    pub(crate) between: Nanos,
}

/// State of a task on the simulated machine.
pub struct SimTask {
    /// Name, unique among the tasks of a run.
    pub name: String,
    /// Process ID, as traces show it.
    pub pid: i32,
    /// Index of the task or of its template in the workload.
    pub spec: usize,
    /// Number of the task in the scheduler; `None` until it is forked.
    pub id: Option<TaskId>,
    /// CPU time of the task in ns; excludes time that interrupts took.
    pub runtime_ns: i64,
    /// Share of `runtime_ns` that its CPU spent in kernel code; 0 without a cost model.
    pub kernel_ns: i64,
    /// Whether the task has ended.
    pub is_dead: bool,
    /// Time on each kind of CPU and at each operating point.
    pub residency: Residency,
    pub(crate) behaviour: Box<dyn Behaviour>,
    pub(crate) step: Step,
    /// Remaining work of the step, including kernel work that precedes it.
    pub(crate) work_left: u128,
    /// Whether a wake-up came while the task was not waiting.
    pub(crate) is_wake_pending: bool,
    /// Version of the event that ends the sleep.
    pub(crate) sleep_version: u32,
    pub(crate) running: bool,
    pub(crate) cpu: CpuId,
    /// Mutex that the task waits for, if the owner inherits its priority.
    pub(crate) blocked_on: Option<ObjectId>,
    /// CPU whose timer ends the sleep.
    pub(crate) sleep_cpu: CpuId,
    pub(crate) accounted_until: Nanos,
    /// Version of the planned completion.
    pub(crate) completion_version: u32,
    /// Start of a step that lasts for wall time.
    pub(crate) wall_start: Option<Nanos>,
    /// Whether the cost that precedes the step has been charged.
    pub(crate) has_charged: bool,
    /// Cost that follows the step's system call, in picoseconds.
    pub(crate) after_call_ps: u64,
    /// Whether the message being sent is left to the softirq of its CPU.
    pub(crate) defers_message: bool,
    /// Whether the message being sent was to be appended when its cost was charged.
    pub(crate) appends_message: bool,
    /// Bytes that the step has yet to receive; `None` if it receives a message.
    pub(crate) receives: Option<BytesToReceive>,
    /// Whether the block is queued but not yet executed.
    pub(crate) will_block: bool,
    /// Whether the task is about to block in I/O wait.
    pub(crate) waits_for_io: bool,
    /// Start of the block, while the task is blocked.
    pub(crate) blocked_since: Option<Nanos>,
    /// Time of the last wake-up that the scheduler has accepted.
    pub(crate) woken_at: Option<Nanos>,
    /// End of the sleep, if the block ends at a time.
    pub(crate) sleeps_until: Option<Nanos>,
    /// Whether the task was woken between the decision to block and the block.
    pub(crate) is_woken_early: bool,
    /// Work of the next step, while the rest of the previous step is not done.
    pub(crate) deferred_work: u128,
    /// Futexes taken from a list and not posted yet, in reverse order.
    pub(crate) to_post: Vec<ObjectId>,
    /// CPU whose per-CPU lock the task holds.
    pub(crate) locked_cpu: Option<CpuId>,
    /// Rest of a step that has blocked the task; done first when the task resumes.
    pub(crate) resume: ResumeAction,
    /// Last expiry of each of the task's own timers.
    pub(crate) own_timers: Vec<Option<Nanos>>,
}

impl SimTask {
    /// Ends the block: the scheduler has accepted a wake-up.
    #[inline]
    pub(crate) fn unblock(&mut self, now: Nanos) {
        self.blocked_since = None;
        self.woken_at = Some(now);
    }

    /// Returns the work of the present step.
    #[inline]
    pub(crate) fn step_work(&self) -> u128 {
        match self.step {
            Step::Run(work) => u128::from(work.0) * u128::from(FULL_SPEED),
            _ => 0,
        }
    }

    /// Advances to the next step. The work of a run step counts from now on.
    #[inline]
    pub(crate) fn next_step(&mut self) {
        self.step = self.behaviour.next();
        self.wall_start = None;
        self.has_charged = false;
        self.work_left = self.step_work();
    }

    /// Makes the planned completion stale.
    #[inline]
    pub(crate) fn cancel_completion(&mut self) {
        self.completion_version = self.completion_version.wrapping_add(1);
    }

    /// Makes the planned end of the sleep stale.
    #[inline]
    pub(crate) fn cancel_sleep(&mut self) {
        self.sleep_version = self.sleep_version.wrapping_add(1);
    }

    /// Charges own work for a time at a speed.
    #[inline]
    pub(crate) fn do_work(&mut self, time: u64, speed: u64) {
        // Nearly all amounts of work fit into 64 bits.
        self.work_left = match (u64::try_from(self.work_left), time.checked_mul(speed)) {
            (Ok(left), Some(done)) => u128::from(left.saturating_sub(done)),
            _ => self.work_left.saturating_sub(u128::from(time) * u128::from(speed)),
        };
    }

    /// Returns the time that the remaining work takes at a speed; `None` if no run is that long. The work of a
    /// step that spins for wall time is computed first.
    #[inline]
    pub(crate) fn time_left(&mut self, now: Nanos, speed: u64) -> Option<u64> {
        if let (Step::Spin(time), Some(start), ResumeAction::Nothing) = (self.step, self.wall_start, self.resume) {
            let left = (start + time).0.saturating_sub(now.0);
            self.work_left = u128::from(left) * u128::from(speed);
        }
        match u64::try_from(self.work_left) {
            Ok(work) if speed == FULL_SPEED => Some(work.div_ceil(FULL_SPEED)),
            Ok(work) => Some(work.div_ceil(speed)),
            Err(_) => u64::try_from(self.work_left.div_ceil(u128::from(speed))).ok(),
        }
    }

    /// Handles a wake-up while the task is awake. A task that is about to block does not block; for others the
    /// wake-up may be remembered.
    #[inline]
    pub(crate) fn handle_already_awake(&mut self, is_remembered: bool) {
        if self.will_block {
            self.is_woken_early = true;
        } else if is_remembered {
            self.is_wake_pending = true;
        }
    }
}

/// Returns the name of an instance of a task or template. Instances are counted from 0 in the order of their
/// forks.
pub fn instance_name(name: &str, family: &str, instance: u32) -> String {
    if instance == 0 { name.to_owned() } else { format!("{family}-{instance}") }
}

/// Tasks of a run, by their index.
#[derive(Default)]
pub(crate) struct TaskTable {
    tasks: Vec<SimTask>,
    /// Index in `tasks` for each task number of the scheduler.
    index_of: Vec<Option<u32>>,
}

impl TaskTable {
    /// Returns an empty table for a scheduler with `nr_ids` tasks.
    pub(crate) fn new(nr_ids: usize) -> Self {
        Self { tasks: Vec::new(), index_of: vec![None; nr_ids] }
    }

    /// All tasks.
    #[inline]
    pub(crate) fn all(&self) -> &[SimTask] {
        &self.tasks
    }

    /// All tasks, to change them.
    pub(crate) fn all_mut(&mut self) -> &mut [SimTask] {
        &mut self.tasks
    }

    /// Number of tasks.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.tasks.len()
    }

    /// Adds an instance of a task or template, which is entry `spec` of the workload. Returns its index.
    pub(crate) fn add(&mut self, spec: usize, task: &TaskSpec, instance: u32, residency: Residency) -> usize {
        let place = self.tasks.len();
        let name = instance_name(&task.name, &task.family, instance);
        self.tasks.push(SimTask {
            name,
            pid: FIRST_PID as i32 + place as i32,
            spec,
            id: None,
            runtime_ns: 0,
            kernel_ns: 0,
            is_dead: false,
            residency,
            behaviour: (task.behaviour)(instance),
            step: Step::Yield,
            work_left: 0,
            is_wake_pending: false,
            sleep_version: 0,
            running: false,
            cpu: CpuId(task.start_cpu),
            blocked_on: None,
            sleep_cpu: CpuId(task.start_cpu),
            accounted_until: START,
            completion_version: 0,
            wall_start: None,
            has_charged: false,
            after_call_ps: 0,
            defers_message: false,
            appends_message: false,
            receives: None,
            will_block: false,
            waits_for_io: false,
            blocked_since: None,
            woken_at: None,
            sleeps_until: None,
            is_woken_early: false,
            deferred_work: 0,
            to_post: Vec::new(),
            locked_cpu: None,
            resume: ResumeAction::Nothing,
            own_timers: vec![None; task.own_timers.len()],
        });
        place
    }

    /// Records the scheduler's number of a task.
    pub(crate) fn set_id(&mut self, task: usize, id: TaskId) {
        self.tasks[task].id = Some(id);
        if self.index_of.len() <= id.index() {
            self.index_of.resize(id.index() + 1, None);
        }
        self.index_of[id.index()] = Some(task as u32);
    }

    /// Returns the index of a task of the scheduler; `None` for tasks that are not of the workload.
    #[inline]
    pub(crate) fn index_of(&self, id: TaskId) -> Option<usize> {
        self.index_of.get(id.index()).copied().flatten().map(|task| task as usize)
    }

    /// Returns the scheduler's number of a task.
    ///
    /// # Panics
    /// If the task was not forked.
    #[inline]
    pub(crate) fn id(&self, task: usize) -> TaskId {
        self.tasks[task].id.expect("the task was forked")
    }
}

impl Index<usize> for TaskTable {
    type Output = SimTask;

    #[inline]
    fn index(&self, task: usize) -> &SimTask {
        &self.tasks[task]
    }
}

impl IndexMut<usize> for TaskTable {
    #[inline]
    fn index_mut(&mut self, task: usize) -> &mut SimTask {
        &mut self.tasks[task]
    }
}
