// SPDX-License-Identifier: GPL-2.0-or-later
//! Response times: how long what people wait for takes, from an event of one task to an event of another one.
//!
//! A workload defines responses ([`fairlab_workload::workload::ResponseSpec`]). What belongs to one response is found
//! by handing on a *context*, as distributed tracing does:
//! - **Start**: a task passes a point, or reaches a timer, whose expiry is the start. A task begins with the origin
//!   of its timer as the first start.
//! - **Holding**: a task holds at most one context of a definition. It keeps the context while it runs, sleeps, is
//!   throttled or waits for a mutex. It lets go when it reaches a timer; and when it reaches a wait for an object, if
//!   it has worked, released anything or passed a point since it last took a context.
//! - **Handing on**: what a task releases carries a copy of its context, and who takes it takes the copy. A copy of the
//!   held context joins it. A unit without a context, or with an older or ended one, leaves the held context. All tasks
//!   that leave a barrier leave with the context of the last arrival.
//! - **End**: the named point; else the last work, take, release or reached timer under the context. Holding a context
//!   without doing anything adds nothing.
//! - **Lost**: the last copy was handed to an object that cannot keep it. **Dropped**: a task took a later context
//!   without work since it took this one. **Open**: not ended at the end of the run.
//!
//! [`tracker`] has the rule, for one definition; this module passes the machine's events to it.

mod summary;

pub mod tracker;

pub use summary::{
    DroppedAt, LongestResponse, ResponseParts, ResponseQuantiles, ResponseSummary, ResponseTimes, WaitedBehindFamily,
};

use self::tracker::{DropPlace, Tracker};
use crate::slot_mut;
use fairlab_machine::engine::Engine;
use fairlab_machine::observer::{Activity, MachineEvent};
use fairlab_machine::sim::Machine;
use fairlab_sched::ids::TaskId;
use fairlab_sched::units::Nanos;

/// Responses of a run.
#[derive(Clone, Debug)]
pub struct ResponseStats {
    trackers: Vec<Tracker>,
    /// Index of the machine's task for each number of the scheduler.
    task_of: Vec<Option<usize>>,
}

impl ResponseStats {
    /// Returns the trackers of a machine that has not started; `None` if its workload defines no responses.
    pub fn new(machine: &Machine<impl Engine>) -> Option<Box<Self>> {
        let workload = machine.workload();
        let tracker = |spec| Tracker::new(spec, workload);
        let trackers: Vec<Tracker> = workload.responses.iter().map(tracker).collect();
        (!trackers.is_empty()).then(|| Box::new(Self { trackers, task_of: Vec::new() }))
    }

    /// Discards what was measured, and responses that began before `at`, the end of the warm-up.
    pub fn reset(&mut self, at: Nanos) {
        for tracker in &mut self.trackers {
            tracker.reset(at);
        }
    }

    pub(crate) fn on_switch(&mut self, now: Nanos, prev: TaskId, next: TaskId) {
        let task_of = |id: TaskId| self.task_of.get(id.index()).copied().flatten();
        if let Some(task) = task_of(prev) {
            self.trackers.iter_mut().for_each(|tracker| tracker.switched_out(task));
        }
        if let Some(task) = task_of(next) {
            self.trackers.iter_mut().for_each(|tracker| tracker.switched_in(now, task, &mut ()));
        }
    }

    pub(crate) fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        match *event {
            MachineEvent::Forked { task, id, spec, .. } => {
                *slot_mut(&mut self.task_of, id.index()) = Some(task);
                self.trackers.iter_mut().for_each(|tracker| tracker.forked(task, spec));
            }
            MachineEvent::Activity(activity) => self.on_activity(now, activity),
            _ => {}
        }
    }

    fn on_activity(&mut self, now: Nanos, activity: Activity) {
        self.trackers.iter_mut().for_each(|tracker| tracker.on_activity(now, activity, &mut ()));
    }

    /// Returns the results at the end of a run, in the order of the definitions.
    pub fn summaries(&self, machine: &Machine<impl Engine>) -> Vec<ResponseSummary> {
        let name_of = |(task, semaphore): DropPlace| DroppedAt {
            task: machine.tasks()[task].name.clone(),
            semaphore: semaphore.map(|id| machine.workload().objects.semaphores[id].clone()),
            count: 0,
        };
        self.trackers.iter().map(|tracker| tracker.summary(machine.now(), name_of)).collect()
    }
}
