// SPDX-License-Identifier: GPL-2.0-or-later
//! Observer that writes the records of a conformance case.
//!
//! The scheduler reports the virtual times of entities after the wake-up or the switch that they belong to. A record
//! is therefore completed, and written, when the next event arrives.

use super::cases::title_of;
use super::record::{
    CaseGroup, CaseHeader, CaseTask, ConformanceRecord, DelayedStep, QueuedEntity, SCHEMA, SwitchedState, SwitchedTask,
};
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::{Interest, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, START};
use fairlab_sched::ctx::PrevState;
use fairlab_sched::ids::TaskId;
use fairlab_sched::probe::{EevdfEvent, Event, LagMoment, SchedObserver};
use fairlab_sched::units::Nanos;
use fairlab_workload::policy::policy_word;
use std::io::{self, Write};

/// Writer of the records of a run.
pub struct ConformanceRecorder<W: Write> {
    out: W,
    /// First error of `out`. No record follows it.
    error: Option<io::Error>,
    /// Record whose entities may still arrive.
    pending: Option<ConformanceRecord>,
    /// Names of the workload's tasks, by their index in it.
    names: Vec<String>,
    /// Names of the workload's groups.
    groups: Vec<String>,
    /// Names of the scheduler's tasks, by their number; `None` for an idle task.
    tasks: Vec<Option<String>>,
    /// Numbers of the machine's tasks in the scheduler.
    ids: Vec<TaskId>,
}

impl<W: Write> ConformanceRecorder<W> {
    /// Begins the case of a machine that has not started. `kernel` is the release whose behaviour the run has, and
    /// `scenario` the text from which the machine was made.
    pub fn new(out: W, machine: &Machine<impl Engine>, name: &str, kernel: &str, scenario: &str) -> Self {
        let workload = machine.workload();
        let nr_cpus = machine.hardware().nr_cpus();
        let stoppers = (0..nr_cpus).map(|cpu| Some(format!("migration/{cpu}")));
        let mut recorder = Self {
            out,
            error: None,
            pending: None,
            names: workload.tasks.iter().map(|task| task.name.clone()).collect(),
            groups: workload.groups.iter().map(|group| group.name.clone()).collect(),
            tasks: std::iter::repeat_n(None, nr_cpus).chain(stoppers).collect(),
            ids: Vec::new(),
        };
        let header = recorder.header(machine, name, kernel, title_of(scenario));
        recorder.begin(ConformanceRecord::Case { case: Box::new(header) });
        recorder
    }

    /// Writes the last record.
    ///
    /// # Errors
    /// If a record could not be written, now or earlier.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_pending();
        self.error.map_or_else(|| self.out.flush(), Err)
    }

    fn header(&self, machine: &Machine<impl Engine>, name: &str, kernel: &str, title: &str) -> CaseHeader {
        let (workload, engine) = (machine.workload(), machine.sched());
        let group_name = |group: Option<usize>| group.map(|group| self.groups[group].clone());
        let tasks = workload.tasks.iter().map(|task| CaseTask {
            name: task.name.clone(),
            policy: policy_word(task.start.policy.unwrap_or_default()),
            nice: task.start.nice.unwrap_or(0),
            slice_ns: task.start.slice.map(|slice| slice.0),
            group: group_name(task.start.group.flatten()),
        });
        let groups = workload.groups.iter().map(|group| CaseGroup {
            name: group.name.clone(),
            parent: group_name(group.parent),
            shares: group.shares,
            is_idle: group.idle,
        });
        CaseHeader {
            schema: SCHEMA,
            name: name.to_owned(),
            title: title.to_owned(),
            kernel: kernel.to_owned(),
            nr_cpus: machine.hardware().nr_cpus() as u32,
            tick_ns: machine.hardware().tick.0,
            features: engine.feature_states().into_iter().map(|feature| (feature.name, feature.is_on)).collect(),
            tunables: engine.tunable_states().into_iter().map(|tunable| (tunable.name, tunable.value)).collect(),
            tasks: tasks.collect(),
            groups: groups.collect(),
        }
    }

    fn begin(&mut self, record: ConformanceRecord) {
        self.write_pending();
        self.pending = Some(record);
    }

    fn write_pending(&mut self) {
        let Some(record) = self.pending.take() else { return };
        if self.error.is_none() {
            let line = serde_json::to_string(&record).expect("a record has only text keys");
            self.error = writeln!(self.out, "{line}").err();
        }
    }

    fn name(&self, task: TaskId) -> Option<String> {
        self.tasks[task.index()].clone()
    }

    fn switched(&self, task: TaskId, state: SwitchedState) -> SwitchedTask {
        SwitchedTask { task: self.name(task), state, entities: Vec::new() }
    }

    fn add_entity(&mut self, moment: LagMoment, entity: QueuedEntity) {
        match (moment, &mut self.pending) {
            (LagMoment::Wakeup, Some(ConformanceRecord::Runnable { entities, .. })) => entities.push(entity),
            (LagMoment::SwitchFrom, Some(ConformanceRecord::Switch { prev, .. })) => prev.entities.push(entity),
            (LagMoment::SwitchTo, Some(ConformanceRecord::Switch { next, .. })) => next.entities.push(entity),
            _ => {}
        }
    }
}

impl<W: Write> SchedObserver for ConformanceRecorder<W> {
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        let at_ns = (now - START).0;
        let named = |name: Option<String>| name.expect("only a task of the workload wakes up or moves");
        match *event {
            Event::Wakeup { task, cpu, is_new, .. } => {
                let task = named(self.name(task));
                self.begin(ConformanceRecord::Runnable { at_ns, cpu: cpu.0, task, is_new, entities: Vec::new() });
            }
            Event::Switch { cpu, prev, next, prev_state } => {
                let state = match prev_state {
                    PrevState::Runnable => SwitchedState::Runnable,
                    PrevState::Blocked => SwitchedState::Sleeping,
                    PrevState::Dead => SwitchedState::Exited,
                };
                let (prev, next) = (self.switched(prev, state), self.switched(next, SwitchedState::Running));
                self.begin(ConformanceRecord::Switch { at_ns, cpu: cpu.0, prev, next });
            }
            Event::Migrate { task, from, to, .. } => {
                let task = named(self.name(task));
                self.begin(ConformanceRecord::Migration { at_ns, task, from: from.0, to: to.0 });
            }
            Event::Lag { moment, entity, queue } => self.add_entity(moment, QueuedEntity::new(entity, queue)),
            Event::Eevdf(EevdfEvent::DelayedDequeue(delayed)) => {
                let (entity, cpu) = (QueuedEntity::new(&delayed.entity, &delayed.queue), delayed.entity.cpu.0);
                let task = delayed.entity.task.and_then(|task| self.name(task));
                let step = DelayedStep::from(delayed.step);
                self.begin(ConformanceRecord::DelayedDequeue { at_ns, cpu, step, task, entity });
            }
            _ => {}
        }
    }
}

impl<E: Engine, W: Write> Observer<E> for ConformanceRecorder<W> {
    fn wants(&self) -> Interest {
        Interest { events: true, lags: true, ..Interest::NONE }
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        let at_ns = now.saturating_since(START).0;
        match *event {
            MachineEvent::Forked { task, id, spec, .. } => {
                self.tasks.resize(id.index() + 1, None);
                self.tasks[id.index()] = Some(self.names[spec].clone());
                self.ids.resize(task + 1, id);
                self.ids[task] = id;
            }
            MachineEvent::Tick { cpu } => self.begin(ConformanceRecord::Tick { at_ns, cpu: cpu.0 }),
            MachineEvent::Changed { what, task, group, result: 0 } => {
                let task = task.and_then(|task| self.ids.get(task).copied()).and_then(|id| self.name(id));
                let group = group.map(|group| self.groups[group].clone());
                self.begin(ConformanceRecord::Change { at_ns, statement: what.to_owned(), task, group });
            }
            _ => {}
        }
    }
}
