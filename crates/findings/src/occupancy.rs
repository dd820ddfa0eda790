// SPDX-License-Identifier: GPL-2.0-or-later
//! Occupancy of CPUs: for how long tasks of each class have run on them.
//!
//! A wait is described by the classes that ran on its CPUs meanwhile, so the times are sums from which a wait takes
//! differences.

use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::units::Nanos;

/// Class of the current task of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RunClass {
    /// The idle task.
    #[default]
    Idle,
    Fair,
    RealTime,
    Deadline,
    Stop,
}

impl RunClass {
    const ALL: [Self; 5] = [Self::Idle, Self::Fair, Self::RealTime, Self::Deadline, Self::Stop];

    /// Returns the class of a task with a priority of the kernel.
    pub(crate) const fn from_prio(prio: i32) -> Self {
        match prio {
            ..0 => Self::Deadline,
            0..100 => Self::RealTime,
            100.. => Self::Fair,
        }
    }
}

/// Time by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassTimes([Nanos; RunClass::ALL.len()]);

impl ClassTimes {
    pub(crate) const fn of(&self, class: RunClass) -> Nanos {
        self.0[class as usize]
    }

    #[cfg(test)]
    pub(crate) const fn of_real_time(time: Nanos) -> Self {
        Self([Nanos::ZERO, Nanos::ZERO, time, Nanos::ZERO, Nanos::ZERO])
    }

    /// Time of tasks that no fair task preempts.
    pub(crate) fn of_higher_classes(&self) -> Nanos {
        self.of(RunClass::RealTime) + self.of(RunClass::Deadline) + self.of(RunClass::Stop)
    }

    #[inline]
    fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|class| self.0[class] - earlier.0[class]))
    }

    #[inline]
    fn sum(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|class| self.0[class] + other.0[class]))
    }

    /// Returns the class that ran for more than half of the time; `None` if there is none.
    pub(crate) fn most(&self) -> Option<RunClass> {
        let whole: u64 = self.0.iter().map(|time| time.0).sum();
        RunClass::ALL.into_iter().find(|class| self.of(*class).0 * 2 > whole)
    }
}

/// Largest number of changes that a CPU remembers.
const MAX_CHANGES: usize = 256;

/// Change of the class that runs on a CPU, with the times by class before it.
#[derive(Clone, Copy, Debug)]
struct ClassChange {
    at: Nanos,
    class: RunClass,
    times: ClassTimes,
}

impl ClassChange {
    /// Returns the times by class up to a later time at which this class still runs.
    fn times_at(&self, at: Nanos) -> ClassTimes {
        let mut times = self.times;
        times.0[self.class as usize] += at - self.at;
        times
    }
}

/// Last changes of a CPU, in a ring.
#[derive(Clone, Debug)]
struct CpuChanges {
    /// At most [`MAX_CHANGES`].
    ring: Vec<ClassChange>,
    /// Index of the oldest change; 0 until the ring is full.
    oldest: usize,
}

impl CpuChanges {
    /// Returns the last change.
    #[inline]
    fn last(&self) -> &ClassChange {
        &self.ring[self.oldest.wrapping_sub(1).min(self.ring.len() - 1)]
    }

    #[inline]
    fn push(&mut self, change: ClassChange) {
        if self.ring.len() < MAX_CHANGES {
            self.ring.push(change);
        } else {
            self.ring[self.oldest] = change;
            self.oldest = (self.oldest + 1) % MAX_CHANGES;
        }
    }

    /// Returns the last change up to a time, else the oldest one.
    fn up_to(&self, at: Nanos) -> &ClassChange {
        let (newer, older) = self.ring.split_at(self.oldest);
        let part = if newer.first().is_some_and(|first| first.at <= at) { newer } else { older };
        &part[part.partition_point(|change| change.at <= at).saturating_sub(1)]
    }
}

/// Changes of the classes that run on CPUs, from the switches of a run or a trace. A CPU forgets old changes: the times
/// of a wait that began before them are those since then.
#[derive(Clone, Debug)]
pub(crate) struct Occupancy {
    /// Present class of each CPU.
    classes: Vec<RunClass>,
    changes: Vec<CpuChanges>,
}

impl Occupancy {
    pub(crate) fn new(nr_cpus: usize, start: Nanos) -> Self {
        let first = ClassChange { at: start, class: RunClass::Idle, times: ClassTimes::default() };
        Self {
            classes: vec![RunClass::Idle; nr_cpus],
            changes: vec![CpuChanges { ring: vec![first], oldest: 0 }; nr_cpus],
        }
    }

    /// Records that a task of a class runs on a CPU from now on.
    #[inline]
    pub(crate) fn switch(&mut self, now: Nanos, cpu: CpuId, class: RunClass) {
        if self.classes[cpu.index()] != class {
            self.change(now, cpu, class);
        }
    }

    fn change(&mut self, now: Nanos, cpu: CpuId, class: RunClass) {
        self.classes[cpu.index()] = class;
        let changes = &mut self.changes[cpu.index()];
        let times = changes.last().times_at(now);
        changes.push(ClassChange { at: now, class, times });
    }

    /// Returns the times by class on a CPU from one time to another.
    pub(crate) fn between(&self, cpu: CpuId, from: Nanos, to: Nanos) -> ClassTimes {
        let changes = &self.changes[cpu.index()];
        let up_to = |at: Nanos| {
            let change = changes.up_to(at);
            change.times_at(at.max(change.at))
        };
        up_to(to).since(&up_to(from))
    }
}

/// Times by class on the CPUs that a waiting task has left.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WaitOccupancy {
    before: ClassTimes,
    /// Time from which the task has been on its present CPU; `None` if it has not migrated.
    since: Option<Nanos>,
}

impl WaitOccupancy {
    /// Records that the waiting task migrates. `since` is the start of the wait.
    pub(crate) fn migrate(&mut self, occupancy: &Occupancy, since: Nanos, now: Nanos, from: CpuId) {
        *self = Self { before: self.up_to(occupancy, since, now, from), since: Some(now) };
    }

    /// Returns the times by class since the wait began, given the task's present CPU.
    pub(crate) fn up_to(&self, occupancy: &Occupancy, since: Nanos, now: Nanos, cpu: CpuId) -> ClassTimes {
        self.before.sum(&occupancy.between(cpu, self.since.unwrap_or(since), now))
    }
}

/// Classes of the tasks, from their priorities. Idle tasks have the first IDs, followed by the stoppers.
#[derive(Clone, Debug)]
pub(crate) struct TaskClasses {
    nr_cpus: usize,
    classes: Vec<RunClass>,
}

impl TaskClasses {
    pub(crate) const fn new(nr_cpus: usize) -> Self {
        Self { nr_cpus, classes: Vec::new() }
    }

    pub(crate) fn set_prio(&mut self, task: TaskId, prio: i32) {
        if self.classes.len() <= task.index() {
            self.classes.resize(task.index() + 1, RunClass::Fair);
        }
        self.classes[task.index()] = RunClass::from_prio(prio);
    }

    #[inline]
    pub(crate) fn of(&self, task: TaskId) -> RunClass {
        if task.index() < self.nr_cpus {
            RunClass::Idle
        } else if task.index() < 2 * self.nr_cpus {
            RunClass::Stop
        } else {
            self.classes.get(task.index()).copied().unwrap_or(RunClass::Fair)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_has_the_classes_that_ran_on_its_cpus_meanwhile() {
        let mut occupancy = Occupancy::new(2, Nanos(0));
        occupancy.switch(Nanos(10), CpuId(0), RunClass::RealTime);
        let mut wait = WaitOccupancy::default();
        occupancy.switch(Nanos(45), CpuId(0), RunClass::Fair);
        wait.migrate(&occupancy, Nanos(15), Nanos(50), CpuId(0));
        occupancy.switch(Nanos(60), CpuId(0), RunClass::Deadline);
        let ran = wait.up_to(&occupancy, Nanos(15), Nanos(70), CpuId(1));
        assert_eq!(ran, ClassTimes([20, 5, 30, 0, 0].map(Nanos)), "idle time of CPU 1 comes last");
        assert_eq!((ran.of_higher_classes(), ran.most()), (Nanos(30), Some(RunClass::RealTime)));
        assert_eq!(ClassTimes([5, 5, 0, 0, 0].map(Nanos)).most(), None, "half is not most");
    }

    #[test]
    fn changes_that_are_forgotten_do_not_count() {
        let mut occupancy = Occupancy::new(1, Nanos(0));
        let classes = [RunClass::Fair, RunClass::RealTime];
        (1..=2 * MAX_CHANGES as u64).for_each(|at| {
            occupancy.switch(Nanos(at), CpuId(0), classes[at as usize % 2]);
        });
        let ran = occupancy.between(CpuId(0), Nanos(0), Nanos(2 * MAX_CHANGES as u64));
        assert_eq!(ran.of(RunClass::Fair) + ran.of(RunClass::RealTime), Nanos(MAX_CHANGES as u64 - 1));
    }

    #[test]
    fn a_class_follows_from_the_priority_and_that_of_per_cpu_threads_is_fixed() {
        let mut classes = TaskClasses::new(2);
        [(4, -1), (5, 98), (6, 120)].into_iter().for_each(|(task, prio)| classes.set_prio(TaskId(task), prio));
        let of = [0, 3, 4, 5, 6, 9].map(|task| classes.of(TaskId(task)));
        use RunClass::{Deadline, Fair, Idle, RealTime, Stop};
        assert_eq!(of, [Idle, Stop, Deadline, RealTime, Fair, Fair]);
    }
}
