// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs of scenarios with all invariants checked, and logs of their events.
#![allow(dead_code, reason = "each test uses a part of it")]

use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_machine::sim::{Machine, START, Setup};
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::task::Task;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use fairlab_workload::scenario::{KernelLookup, ParseContext, SwitchNames, parse_with_context};
use fairlab_workload::step::{Behaviour, Step};
use fairlab_workload::workload::{Affinity, Attributes, TaskSpec};
use std::collections::BTreeMap;

/// Start of a task; `None` for a stopper or the idle task.
#[derive(Clone, Debug)]
pub(crate) struct TaskSwitch {
    pub(crate) ms: f64,
    pub(crate) cpu: CpuId,
    pub(crate) task: Option<usize>,
}

/// Log of a run.
#[derive(Debug, Default)]
pub(crate) struct RunLog {
    pub(crate) switches: Vec<TaskSwitch>,
    /// Time in ms, CPU, whether it came back, and the result.
    pub(crate) hotplug: Vec<(f64, u32, bool, i32)>,
    /// Time in ms, CPU, and fraction of its highest frequency (1024).
    pub(crate) frequencies: Vec<(f64, CpuId, u64)>,
    /// Time in ms, kind of change, and result.
    pub(crate) changes: Vec<(f64, &'static str, i32)>,
    tasks: BTreeMap<TaskId, usize>,
}

impl SchedObserver for RunLog {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        match *event {
            Event::Switch { cpu, next, .. } => {
                self.switches.push(TaskSwitch { ms: since_start(now), cpu, task: self.tasks.get(&next).copied() });
            }
            Event::Frequency { cpu, capacity, .. } => self.frequencies.push((since_start(now), cpu, capacity)),
            _ => {}
        }
    }
}

impl Observer for RunLog {
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        match *event {
            MachineEvent::Forked { task, id, .. } => {
                self.tasks.insert(id, task);
            }
            MachineEvent::Hotplug { cpu, online, result } => {
                self.hotplug.push((since_start(now), cpu.0, online, result));
            }
            MachineEvent::Changed { what, result, .. } => self.changes.push((since_start(now), what, result)),
            _ => {}
        }
    }
}

fn since_start(now: Nanos) -> f64 {
    (now.0 - START.0) as f64 / 1e6
}

pub(crate) struct TestRun {
    pub(crate) machine: Machine,
    pub(crate) log: RunLog,
}

impl TestRun {
    /// Returns the scheduler's state of a task.
    pub(crate) fn task(&self, name: &str) -> &Task {
        let host = self.machine.tasks().iter().find(|task| task.name == name).expect("there is such a task");
        self.machine.sched().task(host.id.expect("it was forked"))
    }

    /// Returns the time in ms that a task ran between two times, on CPUs for which `on` is true.
    pub(crate) fn ran_ms(&self, name: &str, from: f64, to: f64, on: impl Fn(u32) -> bool) -> f64 {
        let index = self.machine.tasks().iter().position(|task| task.name == name).expect("there is such a task");
        let switches = &self.log.switches;
        let end = ms(self.machine.duration().0 as i64);
        let mut sum = 0.0;
        for (place, switch) in switches.iter().enumerate().filter(|(_, s)| s.task == Some(index) && on(s.cpu.0)) {
            let next = switches[place + 1..].iter().find(|next| next.cpu == switch.cpu);
            let until = next.map_or(end, |next| next.ms);
            sum += (until.min(to) - switch.ms.max(from)).max(0.0);
        }
        sum
    }

    /// Returns the CPU time of a task in ms.
    pub(crate) fn runtime_ms(&self, name: &str) -> f64 {
        let host = self.machine.tasks().iter().find(|task| task.name == name).expect("there is such a task");
        ms(host.runtime_ns)
    }
}

/// Converts nanoseconds to milliseconds.
pub(crate) fn ms(ns: i64) -> f64 {
    ns as f64 / 1e6
}

pub(crate) fn run(scenario: &str) -> TestRun {
    run_series(scenario, KernelSeries::V6_1)
}

/// Runs a scenario with the scheduler of a kernel series, also if the file names another kernel.
pub(crate) fn run_series(scenario: &str, series: KernelSeries) -> TestRun {
    let named = &|name: &str| Err(Message::new(format!("the tests have no machine {name}")));
    let kernel: KernelLookup<'_> = &|_| Ok(SwitchNames::BuiltIn(series));
    let parsed = parse_with_context("test.scn", scenario, ParseContext { given: None, named, vary: None, kernel });
    let setup = Setup::from_scenario(parsed.unwrap_or_else(|error| panic!("{error}\n{scenario}")));
    run_machine(Machine::new(setup).expect("a possible machine"), scenario)
}

/// Runs a machine; `repeat` identifies the run in messages.
pub(crate) fn run_machine(mut machine: Machine, repeat: &str) -> TestRun {
    machine.check_every_event(repeat);
    let mut listener = RunLog::default();
    machine.run(&mut listener).unwrap_or_else(|error| panic!("{error}\n{repeat}"));
    TestRun { machine, log: listener }
}

/// Steps that are executed once.
struct StepList(std::vec::IntoIter<Step>);

impl Behaviour for StepList {
    fn next(&mut self) -> Step {
        self.0.next().unwrap_or(Step::Exit)
    }
}

/// Returns a task that starts at a time and executes these steps on one CPU, or on any.
pub(crate) fn task_of_steps(name: &str, cpu: Option<u32>, at_us: u64, steps: Vec<Step>) -> TaskSpec {
    let affinity = cpu.map_or(Affinity::All, |cpu| Affinity::Cpus(vec![cpu]));
    TaskSpec {
        name: name.to_owned(),
        family: name.to_owned(),
        start: Attributes { affinity: Some(affinity), ..Attributes::default() },
        attributes: Vec::new(),
        cpuset: None,
        start_cpu: cpu.unwrap_or(0),
        start_at: Some(Nanos::from_micros(at_us)),
        own_timers: Vec::new(),
        timer_origin: Nanos::ZERO,
        is_from_shell: false,
        is_kthread: false,
        awaits_origin: false,
        behaviour: Box::new(move |_| Box::new(StepList(steps.clone().into_iter()))),
    }
}
