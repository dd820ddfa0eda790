// SPDX-License-Identifier: GPL-2.0-or-later
//! The real-time class: SCHED_FIFO and SCHED_RR.
//!
//! Models of `rt.c` (6.1) the queues by priority, picking, preemption, time slices and the average of running time. It
//! leaves out pushing and pulling tasks between CPUs and the limit of runtime.

use crate::ctx::Ctx;
use crate::ids::{CpuId, TaskId};
use crate::rq::enqueue::{DequeueFlags, EnqueueFlags};
use crate::sched::Sched;
use crate::task::Policy;
use crate::wakeup::WakeFlags;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Number of priorities; 99 is the highest.
const NR_PRIORITIES: usize = 100;

/// State of a task in the real-time class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtEntity {
    /// Ticks that are left of its time slice (SCHED_RR).
    pub time_slice: u64,
}

impl RtEntity {
    /// A task with a whole time slice.
    pub const fn new(time_slice: u64) -> Self {
        Self { time_slice }
    }
}

/// Runnable real-time tasks of a CPU, the running one among them: the kernel's `struct rt_rq`.
#[derive(Clone, Debug, Default)]
pub struct RtRq {
    /// Queues by priority; made when the first task comes.
    queues: Vec<VecDeque<TaskId>>,
    /// Which queues are not empty.
    active: u128,
    /// Number of tasks.
    pub nr_running: u32,
}

impl RtRq {
    fn push(&mut self, priority: u8, task: TaskId, at_head: bool) {
        if self.queues.is_empty() {
            self.queues.resize_with(NR_PRIORITIES, VecDeque::new);
        }
        let queue = &mut self.queues[usize::from(priority)];
        if at_head {
            queue.push_front(task)
        } else {
            queue.push_back(task)
        }
        self.active |= 1 << priority;
    }

    fn remove(&mut self, priority: u8, task: TaskId) {
        let queue = &mut self.queues[usize::from(priority)];
        let place = queue.iter().position(|&other| other == task);
        queue.remove(place.unwrap_or_else(|| panic!("{task:?} is not queued at priority {priority}")));
        if queue.is_empty() {
            self.active &= !(1 << priority);
        }
    }

    fn first(&self) -> Option<TaskId> {
        let highest = self.active.checked_ilog2()?;
        self.queues[highest as usize].front().copied()
    }

    fn is_alone(&self, priority: u8) -> bool {
        self.queues[usize::from(priority)].len() == 1
    }
}

impl Sched {
    fn rt_priority(&self, task: TaskId) -> u8 {
        match self.tasks[task.index()].policy {
            Policy::Fifo(priority) | Policy::RoundRobin(priority) => priority,
            other => unreachable!("not a real-time policy: {other:?}"),
        }
    }

    pub(crate) fn enqueue_task_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, flags: EnqueueFlags) {
        let priority = self.rt_priority(task);
        self.rqs[cpu.index()].rt.push(priority, task, flags.head);
        self.rqs[cpu.index()].rt.nr_running += 1;
        self.add_nr_running(cpu);
        self.cpufreq_update_util(ctx, cpu);
    }

    pub(crate) fn dequeue_task_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId, _flags: DequeueFlags) {
        self.update_curr_rt(cpu);
        let priority = self.rt_priority(task);
        let rq = &mut self.rqs[cpu.index()];
        rq.rt.remove(priority, task);
        rq.rt.nr_running -= 1;
        rq.nr_running -= 1;
        self.cpufreq_update_util(ctx, cpu);
    }

    pub(crate) fn pick_next_task_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId) -> Option<TaskId> {
        let task = self.rqs[cpu.index()].rt.first()?;
        self.set_next_task_rt(ctx, cpu, task);
        let curr = self.rqs[cpu.index()].curr;
        if !matches!(self.tasks[curr.index()].policy, Policy::Fifo(_) | Policy::RoundRobin(_)) {
            let now = self.rq_clock_pelt(cpu);
            self.update_rt_rq_load_avg(ctx, cpu, now, false);
        }
        Some(task)
    }

    pub(crate) fn set_next_task_rt(&mut self, _ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        let se = self.tasks[task.index()].se;
        self.entities[se.index()].exec_start = self.rqs[cpu.index()].clock_task;
    }

    pub(crate) fn put_prev_task_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, _task: TaskId) {
        self.update_curr_rt(cpu);
        let now = self.rq_clock_pelt(cpu);
        self.update_rt_rq_load_avg(ctx, cpu, now, true);
    }

    /// Whether real-time work is there, so that lower classes need not look for any: `balance_rt()`.
    pub(crate) fn balance_rt(&mut self, _ctx: &mut Ctx<'_>, cpu: CpuId, _prev: TaskId) -> bool {
        self.rqs[cpu.index()].rt.nr_running > 0
    }

    pub(crate) fn check_preempt_curr_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        let curr = self.rqs[cpu.index()].curr;
        if self.rt_priority(task) > self.rt_priority(curr) {
            self.resched_curr(ctx, cpu);
        }
    }

    /// The tick of a real-time task. A SCHED_RR task whose slice is used up goes behind the others of its priority.
    pub(crate) fn task_tick_rt(&mut self, ctx: &mut Ctx<'_>, cpu: CpuId, task: TaskId) {
        self.update_curr_rt(cpu);
        let now = self.rq_clock_pelt(cpu);
        self.update_rt_rq_load_avg(ctx, cpu, now, true);
        let Policy::RoundRobin(priority) = self.tasks[task.index()].policy else { return };
        let slice = self.tunables.rr_timeslice_ticks(self.tick_ns);
        let rt = &mut self.tasks[task.index()].rt;
        rt.time_slice = rt.time_slice.saturating_sub(1);
        if rt.time_slice > 0 {
            return;
        }
        rt.time_slice = slice;
        if !self.rqs[cpu.index()].rt.is_alone(priority) {
            self.requeue_rt(cpu, task, priority);
            self.resched_curr(ctx, cpu);
        }
    }

    pub(crate) fn yield_task_rt(&mut self, cpu: CpuId) {
        let curr = self.rqs[cpu.index()].curr;
        self.requeue_rt(cpu, curr, self.rt_priority(curr));
    }

    pub(crate) fn select_task_rq_rt(&mut self, _ctx: &mut Ctx<'_>, _task: TaskId, prev: CpuId, _: WakeFlags) -> CpuId {
        prev
    }

    pub(crate) fn task_woken_rt(&mut self, _ctx: &mut Ctx<'_>, _cpu: CpuId, _task: TaskId) {}

    pub(crate) fn balance_callback_rt(&mut self, _ctx: &mut Ctx<'_>, _cpu: CpuId) {}

    fn requeue_rt(&mut self, cpu: CpuId, task: TaskId, priority: u8) {
        let rt = &mut self.rqs[cpu.index()].rt;
        rt.remove(priority, task);
        rt.push(priority, task, false);
    }

    fn update_curr_rt(&mut self, cpu: CpuId) {
        let rq = &self.rqs[cpu.index()];
        let curr = &self.tasks[rq.curr.index()];
        if !matches!(curr.policy, Policy::Fifo(_) | Policy::RoundRobin(_)) {
            return;
        }
        let se = &mut self.entities[curr.se.index()];
        let delta = rq.clock_task.wrapping_sub(se.exec_start);
        if delta as i64 > 0 {
            se.sum_exec_runtime += delta;
            se.exec_start = rq.clock_task;
        }
    }
}
