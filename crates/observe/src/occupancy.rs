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

#[derive(Clone, Copy, Debug)]
struct CpuTimes {
    class: RunClass,
    since: Nanos,
    times: ClassTimes,
}

/// Times of all CPUs by class, from the switches of a run or a trace.
#[derive(Clone, Debug)]
pub(crate) struct Occupancy {
    cpus: Vec<CpuTimes>,
}

impl Occupancy {
    pub(crate) fn new(nr_cpus: usize, start: Nanos) -> Self {
        let cpu = CpuTimes { class: RunClass::Idle, since: start, times: ClassTimes::default() };
        Self { cpus: vec![cpu; nr_cpus] }
    }

    /// Records that a task of a class runs on a CPU from now on.
    #[inline]
    pub(crate) fn switch(&mut self, now: Nanos, cpu: CpuId, class: RunClass) {
        let cpu = &mut self.cpus[cpu.index()];
        cpu.times.0[cpu.class as usize] += now - cpu.since;
        (cpu.class, cpu.since) = (class, now);
    }

    /// Returns the times of a CPU up to now.
    #[inline]
    fn times(&self, now: Nanos, cpu: CpuId) -> ClassTimes {
        let cpu = &self.cpus[cpu.index()];
        let mut times = cpu.times;
        times.0[cpu.class as usize] += now - cpu.since;
        times
    }
}

/// Times by class on the CPUs of a waiting task.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WaitOccupancy {
    /// Times of the present CPU when the wait began there.
    from: ClassTimes,
    /// Times on CPUs that the task has left.
    before: ClassTimes,
}

impl WaitOccupancy {
    /// Returns the occupancy of a wait that begins on a CPU.
    #[inline]
    pub(crate) fn begin(occupancy: &Occupancy, now: Nanos, cpu: CpuId) -> Self {
        Self { from: occupancy.times(now, cpu), before: ClassTimes::default() }
    }

    /// Records that the waiting task migrates.
    pub(crate) fn migrate(&mut self, occupancy: &Occupancy, now: Nanos, from: CpuId, to: CpuId) {
        *self = Self { before: self.up_to(occupancy, now, from), from: occupancy.times(now, to) };
    }

    /// Returns the times by class since the wait began, given the task's present CPU.
    pub(crate) fn up_to(&self, occupancy: &Occupancy, now: Nanos, cpu: CpuId) -> ClassTimes {
        self.before.sum(&occupancy.times(now, cpu).since(&self.from))
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
        let mut wait = WaitOccupancy::begin(&occupancy, Nanos(15), CpuId(0));
        occupancy.switch(Nanos(45), CpuId(0), RunClass::Fair);
        wait.migrate(&occupancy, Nanos(50), CpuId(0), CpuId(1));
        occupancy.switch(Nanos(60), CpuId(0), RunClass::Deadline);
        let ran = wait.up_to(&occupancy, Nanos(70), CpuId(1));
        assert_eq!(ran, ClassTimes([20, 5, 30, 0, 0].map(Nanos)), "idle time of CPU 1 comes last");
        assert_eq!((ran.of_higher_classes(), ran.most()), (Nanos(30), Some(RunClass::RealTime)));
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
