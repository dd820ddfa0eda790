// SPDX-License-Identifier: GPL-2.0-or-later
//! States of tasks and CPUs over time, for as long as responses need them.

use fairlab_machine::engine::Engine;
use fairlab_machine::observer::{Activity, MachineEvent};
use fairlab_machine::sim::Machine;
use fairlab_measure::slot_mut;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::Event;
use fairlab_sched::units::Nanos;
use std::collections::VecDeque;

/// Subject of a block, as far as the task's last activity says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BlockReason {
    /// A unit, a condition, a wake-up, a resume or a barrier.
    #[default]
    Object,
    Mutex,
    Sleep,
    Timer,
}

/// State of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TaskState {
    #[default]
    New,
    Running(CpuId),
    /// Runnable on the runqueue of a CPU.
    Waiting(CpuId),
    /// Runnable without runtime, on the runqueue of a CPU.
    Throttled(CpuId),
    /// Blocked, on its last CPU.
    Blocked(BlockReason, CpuId),
    Ended,
}

/// Current task of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CpuUse {
    Idle,
    /// Task of the machine.
    Task(usize),
    /// Task that is not of the workload, such as a stopper.
    Other,
}

/// Values that hold from a time to the next one.
#[derive(Clone, Debug)]
struct Steps<T> {
    list: VecDeque<(Nanos, T)>,
}

impl<T> Default for Steps<T> {
    fn default() -> Self {
        Self { list: VecDeque::new() }
    }
}

impl<T: Copy + PartialEq> Steps<T> {
    fn set(&mut self, now: Nanos, value: T) {
        match self.list.back_mut() {
            Some((_, last)) if *last == value => {}
            Some((at, last)) if *at == now => *last = value,
            _ => self.list.push_back((now, value)),
        }
    }

    fn last(&self) -> Option<T> {
        self.list.back().map(|&(_, value)| value)
    }

    /// Returns the parts of an interval with their values; without a value before the first step.
    fn within(&self, from: Nanos, to: Nanos) -> impl Iterator<Item = (Nanos, Nanos, Option<T>)> {
        let first = self.list.partition_point(|&(at, _)| at <= from);
        let before = first.checked_sub(1).map(|index| self.list[index].1);
        let starts = core::iter::once((from, before))
            .chain(self.list.range(first..).take_while(move |&&(at, _)| at < to).map(|&(at, value)| (at, Some(value))));
        let ends = self.list.range(first..).map(|&(at, _)| at).take_while(move |&at| at < to).chain([to]);
        starts.zip(ends).map(|((start, value), end)| (start, end, value)).filter(|(start, end, _)| end > start)
    }

    /// Removes what ended before a time.
    fn forget_before(&mut self, time: Nanos) {
        while self.list.get(1).is_some_and(|&(at, _)| at <= time) {
            self.list.pop_front();
        }
    }
}

/// Intervals in which a CPU does not execute its task, in order.
#[derive(Clone, Debug, Default)]
struct Gaps {
    list: VecDeque<(Nanos, Nanos)>,
    since: Option<Nanos>,
}

impl Gaps {
    fn begin(&mut self, now: Nanos) {
        self.since.get_or_insert(now);
    }

    fn end(&mut self, now: Nanos) {
        if let Some(since) = self.since.take() {
            self.add(since, now);
        }
    }

    fn add(&mut self, from: Nanos, to: Nanos) {
        if to > from {
            self.list.push_back((from, to));
        }
    }

    /// Returns the parts of an interval that lie in gaps.
    fn within(&self, from: Nanos, to: Nanos) -> impl Iterator<Item = (Nanos, Nanos)> {
        let first = self.list.partition_point(|&(_, end)| end <= from);
        let open = self.since.map(|since| (since, to));
        let gaps = self.list.range(first..).copied().chain(open);
        gaps.map(move |(start, end)| (start.max(from), end.min(to))).filter(|(start, end)| end > start)
    }
}

#[derive(Clone, Debug, Default)]
struct TaskTimeline {
    states: Steps<TaskState>,
    is_throttled: bool,
    reason: BlockReason,
}

#[derive(Clone, Debug, Default)]
struct CpuTimeline {
    uses: Steps<CpuUse>,
    /// Phases of kernel code.
    kernel: Gaps,
    /// Interrupts of devices, and time that a hypervisor took.
    lost: Gaps,
    /// Speed in 1024ths of the fastest CPU at its highest frequency.
    speeds: Steps<u64>,
}

/// Time that a task ran, by what its CPU did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RunningTime {
    pub(super) own: Nanos,
    /// Time that the own work would have taken at full speed.
    pub(super) at_full_speed: Nanos,
    pub(super) kernel: Nanos,
    pub(super) lost: Nanos,
}

/// Timelines of all tasks and CPUs.
#[derive(Clone, Debug, Default)]
pub(super) struct Timelines {
    tasks: Vec<TaskTimeline>,
    cpus: Vec<CpuTimeline>,
    /// Index of the machine's task for each number of the scheduler.
    task_of: Vec<Option<usize>>,
    /// Capacity of each CPU at its highest frequency, if work scales with it.
    capacities: Vec<u64>,
}

impl Timelines {
    /// Returns the timelines of a machine that has not started.
    pub(super) fn new(machine: &Machine<impl Engine>) -> Self {
        let hardware = machine.hardware();
        let cpu = |index| {
            let mut cpu = CpuTimeline::default();
            cpu.uses.set(Nanos::ZERO, CpuUse::Idle);
            cpu.speeds.set(Nanos::ZERO, machine.frequency(CpuId::from_index(index)).part());
            cpu
        };
        let capacities = if hardware.scale_work { hardware.topology.capacity.clone() } else { Vec::new() };
        Self { cpus: (0..hardware.nr_cpus()).map(cpu).collect(), capacities, ..Self::default() }
    }

    /// Index of the machine's task for a number of the scheduler.
    pub(super) fn task_of(&self, id: TaskId) -> Option<usize> {
        self.task_of.get(id.index()).copied().flatten()
    }

    fn cpu_use(&self, id: TaskId) -> CpuUse {
        match self.task_of(id) {
            Some(task) => CpuUse::Task(task),
            None if id.index() < self.cpus.len() => CpuUse::Idle,
            None => CpuUse::Other,
        }
    }

    pub(super) fn event(&mut self, now: Nanos, event: &Event<'_>) {
        match *event {
            Event::Wakeup { task, cpu, .. } => {
                if let Some(task) = self.task_of(task) {
                    self.become_runnable(now, task, cpu);
                }
            }
            Event::Switch { cpu, prev, next, prev_state } => {
                if let Some(task) = self.task_of(prev) {
                    let timeline = &mut self.tasks[task];
                    match prev_state {
                        PrevState::Runnable => self.wait(now, task, cpu),
                        PrevState::Blocked => timeline.states.set(now, TaskState::Blocked(timeline.reason, cpu)),
                        PrevState::Dead => timeline.states.set(now, TaskState::Ended),
                    }
                }
                if let Some(task) = self.task_of(next) {
                    self.tasks[task].states.set(now, TaskState::Running(cpu));
                }
                let cpu_use = self.cpu_use(next);
                self.cpus[cpu.index()].uses.set(now, cpu_use);
            }
            Event::Migrate { task, to, .. } => {
                let Some(task) = self.task_of(task) else { return };
                match self.tasks[task].states.last() {
                    Some(TaskState::Waiting(_)) => self.tasks[task].states.set(now, TaskState::Waiting(to)),
                    Some(TaskState::Throttled(_)) => self.tasks[task].states.set(now, TaskState::Throttled(to)),
                    _ => {}
                }
            }
            Event::Throttling { task, limit } => {
                if let Some(task) = self.task_of(task) {
                    self.set_throttled(now, task, limit.is_some());
                }
            }
            _ => {}
        }
    }

    pub(super) fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        match *event {
            MachineEvent::Forked { task, id, .. } => {
                *slot_mut(&mut self.task_of, id.index()) = Some(task);
                slot_mut(&mut self.tasks, task).states.set(now, TaskState::New);
            }
            MachineEvent::KernelEnter { cpu } => self.cpus[cpu.index()].kernel.begin(now),
            MachineEvent::KernelExit { cpu } => self.cpus[cpu.index()].kernel.end(now),
            MachineEvent::LostTime { cpu, took, .. } => self.cpus[cpu.index()].lost.add(now - took, now),
            MachineEvent::Speed { cpu, part, .. } => {
                self.cpus[cpu.index()].speeds.set(now, part);
            }
            MachineEvent::Activity(activity) => self.on_activity(activity),
            _ => {}
        }
    }

    fn on_activity(&mut self, activity: Activity) {
        let (task, reason) = match activity {
            Activity::ReachedWait { task } | Activity::Arrived { task, is_last: false } => (task, BlockReason::Object),
            Activity::ReachedLock { task } => (task, BlockReason::Mutex),
            Activity::ReachedSleep { task } => (task, BlockReason::Sleep),
            Activity::ReachedTimer { task, .. } | Activity::ReachedOrigin { task, .. } => (task, BlockReason::Timer),
            _ => return,
        };
        slot_mut(&mut self.tasks, task).reason = reason;
    }

    fn become_runnable(&mut self, now: Nanos, task: usize, cpu: CpuId) {
        let is_runnable = matches!(
            self.tasks[task].states.last(),
            Some(TaskState::Running(_) | TaskState::Waiting(_) | TaskState::Throttled(_))
        );
        if !is_runnable {
            self.wait(now, task, cpu);
        }
    }

    fn wait(&mut self, now: Nanos, task: usize, cpu: CpuId) {
        let timeline = &mut self.tasks[task];
        let state = if timeline.is_throttled { TaskState::Throttled(cpu) } else { TaskState::Waiting(cpu) };
        timeline.states.set(now, state);
    }

    fn set_throttled(&mut self, now: Nanos, task: usize, is_throttled: bool) {
        let timeline = &mut self.tasks[task];
        timeline.is_throttled = is_throttled;
        match timeline.states.last() {
            Some(TaskState::Waiting(cpu)) if is_throttled => timeline.states.set(now, TaskState::Throttled(cpu)),
            Some(TaskState::Throttled(cpu)) if !is_throttled => timeline.states.set(now, TaskState::Waiting(cpu)),
            _ => {}
        }
    }

    /// Returns the states of a task in an interval.
    pub(super) fn states(
        &self,
        task: usize,
        from: Nanos,
        to: Nanos,
    ) -> impl Iterator<Item = (Nanos, Nanos, TaskState)> {
        self.tasks[task].states.within(from, to).map(|(start, end, state)| (start, end, state.unwrap_or_default()))
    }

    /// Returns what a CPU ran in an interval.
    pub(super) fn uses(&self, cpu: CpuId, from: Nanos, to: Nanos) -> impl Iterator<Item = (Nanos, Nanos, CpuUse)> {
        let uses = self.cpus[cpu.index()].uses.within(from, to);
        uses.map(|(start, end, cpu_use)| (start, end, cpu_use.unwrap_or(CpuUse::Idle)))
    }

    /// Returns how a CPU spent an interval in which it ran a task.
    pub(super) fn running(&self, cpu: CpuId, from: Nanos, to: Nanos) -> RunningTime {
        let CpuTimeline { kernel, lost, speeds, .. } = &self.cpus[cpu.index()];
        let sum = |gaps: &mut dyn Iterator<Item = (Nanos, Nanos)>| {
            gaps.fold(Nanos::ZERO, |sum, (start, end)| sum + (end - start))
        };
        let lost_time = sum(&mut lost.within(from, to));
        let in_kernel = sum(&mut kernel.within(from, to));
        let both = sum(&mut kernel.within(from, to).flat_map(|(start, end)| lost.within(start, end)));
        let kernel_time = in_kernel - both;
        let own = (to - from) - lost_time - kernel_time;
        let capacity = self.capacities.get(cpu.index()).copied();
        let at_full_speed = capacity.map_or(own, |capacity| {
            let work = speeds.within(from, to).map(|(start, end, part)| {
                let away = sum(&mut lost.within(start, end)) + sum(&mut kernel.within(start, end))
                    - sum(&mut kernel.within(start, end).flat_map(|(start, end)| lost.within(start, end)));
                let own = (end - start) - away;
                u128::from(own.0) * u128::from(part.unwrap_or(1024)) * u128::from(capacity)
            });
            // A core in turbo is faster than full speed.
            Nanos((work.sum::<u128>() >> 20) as u64).min(own)
        });
        RunningTime { own, at_full_speed, kernel: kernel_time, lost: lost_time }
    }

    /// Removes what ended before a time.
    pub(super) fn forget_before(&mut self, time: Nanos) {
        for task in &mut self.tasks {
            task.states.forget_before(time);
        }
        for cpu in &mut self.cpus {
            cpu.uses.forget_before(time);
            cpu.speeds.forget_before(time);
            for gaps in [&mut cpu.kernel, &mut cpu.lost] {
                while gaps.list.front().is_some_and(|&(_, end)| end <= time) {
                    gaps.list.pop_front();
                }
            }
        }
    }
}
