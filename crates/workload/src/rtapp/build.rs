// SPDX-License-Identifier: GPL-2.0-or-later
//! Builds threads from tasks: the last step of reading a file, when everything that it names is known.

use super::attributes::{AttributeChanges, attribute_changes};
use super::behaviour::{LoopCount, RtAppCursor, RtAppPhase, ThreadProgram};
use super::events::{Event, takes_time};
use super::objects::Timers;
use super::tasks::{TaskDraft, TaskReader};
use crate::message::Message;
use crate::responses::ResponseTasks;
use crate::step::{ObjectId, Step, TaskIndex, TimerRef};
use crate::suggest;
use crate::workload::{Attributes, TaskSpec, Workload};
use fairlab_sched::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Number of forks of one task after which rt-app stops.
pub const FORK_LIMIT: u32 = 1024;

/// Longest task name that the kernel keeps (`TASK_COMM_LEN - 1`).
const MAX_NAME_BYTES: usize = 15;

/// Returns the name of a forked thread: the name of its template, the number of the thread over all threads,
/// and the number of the fork of this template, both from 0.
pub fn fork_name(template: &str, thread: u32, nth_fork: u32) -> String {
    cut(&format!("{template}-{thread}-{nth_fork:04}"))
}

fn cut(name: &str) -> String {
    name[..name.floor_char_boundary(MAX_NAME_BYTES)].to_owned()
}

/// Builds the workload from the drafts of its tasks.
pub(super) fn workload(mut reader: TaskReader<'_>, drafts: Vec<TaskDraft>) -> Result<Workload, Message> {
    let templates = templates(&reader, &drafts)?;
    let template_of: BTreeMap<&str, TaskIndex> =
        templates.iter().map(|(i, at)| (drafts[*i].name.as_str(), *at)).collect();
    let mut workload = Workload::default();
    let mut template_specs = Vec::new();
    let mut endless = false;
    let start = StartBarrier::new(&reader, &drafts);
    for (i, draft) in drafts.iter().enumerate() {
        let task = RtAppTask::new(&mut reader, draft, &template_of, &start)?;
        endless |= draft.instances > 0 && task.is_endless();
        for _ in 0..draft.instances {
            let name = format!("{}-{}", draft.name, workload.tasks.len());
            workload.tasks.push(task.spec(cut(&name), Some(Nanos::ZERO)));
        }
        if templates.contains_key(&i) {
            template_specs.push(task.spec(cut(&draft.name), None));
        }
    }
    workload.tasks.append(&mut template_specs);
    warn(&mut reader, endless);
    warn_endless_waits(&mut reader, &drafts);
    warn_unused_templates(&mut reader, &drafts);
    workload.responses = reader.responses.specs(reader.source, &drafts, &workload.tasks)?;
    workload.assumptions.extend(reader.responses.assumptions(&reader.shared, &drafts));
    let unaddressed = reader.responses.warnings(reader.source, &reader.shared, &drafts);
    reader.warnings.extend(unaddressed);
    workload.groups = reader.groups.specs;
    workload.cpusets = reader.groups.cpusets;
    workload.objects = reader.shared.into_objects(reader.global.priority_inheritance);
    workload.objects.untaken_semaphores = untaken_semaphores(workload.objects.semaphores.len(), &drafts);
    if start.threads > 1 {
        workload.objects.barriers.push(("of the start".to_owned(), start.threads));
        workload.objects.start_barrier = Some(start.id);
    }
    workload.fork_limit = Some(FORK_LIMIT);
    workload.duration = reader.global.duration;
    workload.assumptions.extend(reader.calibration.assumption);
    workload.warnings = reader.warnings;
    workload.warnings.extend(ResponseTasks::new(&workload).warnings(&workload));
    Ok(workload)
}

/// Returns the semaphores for which no task waits.
fn untaken_semaphores(nr_semaphores: usize, drafts: &[TaskDraft]) -> Vec<ObjectId> {
    let events = || drafts.iter().flat_map(|draft| &draft.phases).flat_map(|phase| &phase.events);
    let is_taken = |id| events().any(|event| matches!(event, Event::Resolved(Step::SemWait(taken)) if *taken == id));
    (0..nr_semaphores).filter(|&id| !is_taken(id)).collect()
}

/// Returns the templates, each with its index in the workload's tasks: tasks without instances and tasks that
/// are forked.
fn templates(reader: &TaskReader<'_>, drafts: &[TaskDraft]) -> Result<BTreeMap<usize, TaskIndex>, Message> {
    let mut is_template: Vec<bool> = drafts.iter().map(|draft| draft.instances == 0).collect();
    for event in drafts.iter().flat_map(|draft| &draft.phases).flat_map(|phase| &phase.events) {
        let Event::Fork { task, at } = event else { continue };
        let Some(forked) = drafts.iter().position(|draft| draft.name == *task) else {
            let names: Vec<&str> = drafts.iter().map(|draft| draft.name.as_str()).collect();
            let help = suggest::help(task, "tasks", &names);
            return Err(reader.source.error(*at, format!("no task \"{task}\" to fork")).with_help(help));
        };
        is_template[forked] = true;
    }
    let threads: u32 = drafts.iter().map(|draft| draft.instances).sum();
    let indices = drafts.iter().enumerate().filter(|(i, _)| is_template[*i]).map(|(i, _)| i);
    Ok(indices.zip(threads as TaskIndex..).collect())
}

/// Records warnings about the workload as a whole.
fn warn(reader: &mut TaskReader<'_>, endless: bool) {
    let file = reader.source.file;
    for name in reader.shared.cond_and_suspend_names() {
        reader.warnings.push(format!(
            "{file}: \"{name}\" is both a condition and a name under which tasks suspend; in rt-app they are one object, \
             and each wakes the other's waiters; in fairlab they are two objects"
        ));
    }
    for name in reader.shared.barriers.without_participants() {
        reader.warnings.push(format!(
            "{file}: only templates name the barrier \"{name}\"; rt-app does not count forked threads, so it never opens"
        ));
    }
    if endless && reader.global.duration.is_none() && !reader.is_duration_given {
        let text = match reader.global.given_duration {
            Some(seconds) => format!("a \"duration\" of {seconds} means no end"),
            None => "\"global\" has no \"duration\"".to_owned(),
        };
        reader
            .warnings
            .push(format!("{file}: some tasks repeat without end, and {text}; set the length of the run with --for"));
    }
    warn_suspend_names(reader);
}

/// Records warnings about tasks without instances that no task forks.
fn warn_unused_templates(reader: &mut TaskReader<'_>, drafts: &[TaskDraft]) {
    let events = || drafts.iter().flat_map(|draft| &draft.phases).flat_map(|phase| &phase.events);
    let is_forked = |name: &str| events().any(|event| matches!(event, Event::Fork { task, .. } if task == name));
    for draft in drafts.iter().filter(|draft| draft.instances == 0 && !is_forked(&draft.name)) {
        let (place, name) = (reader.source.location(draft.at), &draft.name);
        reader.warnings.push(format!("{place}: \"{name}\" has no instances and no task forks it, so it never runs"));
    }
}

/// Records one warning about tasks that suspend under a name other than their key, where versions of rt-app
/// differ.
fn warn_suspend_names(reader: &mut TaskReader<'_>) {
    let suspended_as = &reader.shared.suspended_as;
    let Some((at, task, name)) = suspended_as.first() else { return };
    let others = match suspended_as.len() - 1 {
        0 => String::new(),
        1 => " (and 1 more event like it)".to_owned(),
        many => format!(" (and {many} more events like it)"),
    };
    let place = reader.source.location(*at);
    reader.warnings.push(format!(
        "{place}: \"{task}\" suspends as \"{name}\"{others}: rt-app honoured the name until June 2025, and fairlab does. Newer \
         versions ignore it and use the task's own key: for them a \"resume\" must name \"{task}\""
    ));
}

/// Records warnings about semaphores, conditions and suspensions that tasks wait for and no task provides.
fn warn_endless_waits(reader: &mut TaskReader<'_>, drafts: &[TaskDraft]) {
    let steps = || {
        let events = drafts.iter().flat_map(|draft| &draft.phases).flat_map(|phase| &phase.events);
        events.filter_map(|event| if let Event::Resolved(step) = event { Some(*step) } else { None })
    };
    let waits = |step: Step| match step {
        Step::SemWait(id) => Some((WakeSource::Semaphore, id)),
        Step::CondWait { cond, .. } | Step::CondSync { cond, .. } => Some((WakeSource::Cond, cond)),
        Step::Suspend(id) => Some((WakeSource::Resume, id)),
        _ => None,
    };
    let gives = |step: Step| match step {
        Step::SemPost(id) => Some((WakeSource::Semaphore, id)),
        Step::CondSignal(cond) | Step::CondBroadcast(cond) | Step::CondSync { cond, .. } => {
            Some((WakeSource::Cond, cond))
        }
        Step::Resume(id) => Some((WakeSource::Resume, id)),
        _ => None,
    };
    let given: BTreeSet<(WakeSource, usize)> = steps().filter_map(gives).collect();
    let waited: BTreeSet<(WakeSource, usize)> = steps().filter_map(waits).collect();
    let file = reader.source.file;
    for &(gift, id) in waited.difference(&given) {
        reader.warnings.push(match gift {
            WakeSource::Semaphore => {
                let name = &reader.shared.semaphores.list()[id];
                format!("{file}: tasks wait for the semaphore \"{name}\", which no task posts")
            }
            WakeSource::Cond => {
                let name = &reader.shared.conds.list()[id];
                format!("{file}: tasks wait for the condition \"{name}\", which no task signals")
            }
            WakeSource::Resume => {
                let name = &reader.shared.suspends.list()[id];
                format!("{file}: tasks suspend as \"{name}\", which no task resumes")
            }
        });
    }
}

/// Kind of wakeup that one task gives to a task that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WakeSource {
    Semaphore,
    Cond,
    Resume,
}

/// Data that all threads of a task share.
struct RtAppTask<'d> {
    draft: &'d TaskDraft,
    plan: Arc<ThreadProgram>,
    own_timers: Vec<String>,
    attributes: Vec<Attributes>,
    cpuset: Option<usize>,
    /// Barrier at which threads that are not forked meet first.
    start_barrier: Option<Step>,
}

/// Barrier at which rt-app's threads meet before they begin: all but those that are forked.
struct StartBarrier {
    id: ObjectId,
    threads: u32,
}

impl StartBarrier {
    /// Returns the barrier after those that the file names, all of which are known.
    fn new(reader: &TaskReader<'_>, drafts: &[TaskDraft]) -> Self {
        Self { id: reader.shared.barriers.len(), threads: drafts.iter().map(|draft| draft.instances).sum() }
    }
}

impl<'d> RtAppTask<'d> {
    fn new(
        reader: &mut TaskReader<'_>,
        draft: &'d TaskDraft,
        template_of: &BTreeMap<&str, TaskIndex>,
        start: &StartBarrier,
    ) -> Result<Self, Message> {
        let phase_attributes: Vec<_> = draft.phases.iter().map(|phase| phase.attributes.clone()).collect();
        let AttributeChanges { sets, first, later, warnings } =
            attribute_changes(reader.source, &draft.sched, draft.group, &phase_attributes)?;
        reader.warnings.extend(warnings);
        let phases = draft.phases.iter().zip(first.into_iter().zip(later)).map(|(phase, (first, later))| RtAppPhase {
            steps: phase.events.iter().flat_map(|event| steps(event, reader, &draft.own_timers, template_of)).collect(),
            loops: phase.loops,
            first_attributes: first,
            later_attributes: later,
        });
        let plan = ThreadProgram { phases: phases.collect(), loops: draft.loops };
        check_progress(reader, draft, &plan)?;
        let own_timers = draft.own_timers.names.list().to_vec();
        let meeting = (start.threads > 1).then_some(Step::Barrier(start.id));
        let cpuset = reader.groups.cpuset(draft.group.flatten());
        Ok(Self { cpuset, draft, plan: Arc::new(plan), own_timers, attributes: sets, start_barrier: meeting })
    }

    /// Whether a thread of the task never ends.
    fn is_endless(&self) -> bool {
        self.plan.loops == LoopCount::Endless || self.plan.phases.iter().any(|phase| phase.loops == LoopCount::Endless)
    }

    /// Returns a thread that is forked at `start_at`, or the template.
    fn spec(&self, name: String, start_at: Option<Nanos>) -> TaskSpec {
        let plan = Arc::clone(&self.plan);
        // The delay counts from the start of the run for all threads.
        let prologue = [self.start_barrier.filter(|_| start_at.is_some()), Some(Step::AwaitOrigin)];
        // rt-app's main thread, on the first CPU, starts all others.
        TaskSpec {
            attributes: self.attributes.clone(),
            cpuset: self.cpuset,
            start_at,
            own_timers: self.own_timers.clone(),
            timer_origin: self.draft.delay,
            is_from_shell: true,
            awaits_origin: true,
            ..TaskSpec::new(name, &self.draft.name, move |_| RtAppCursor::new(Arc::clone(&plan), prologue))
        }
    }
}

/// Returns the steps of an event: one, or two.
fn steps(
    event: &Event,
    reader: &TaskReader<'_>,
    own: &Timers,
    template_of: &BTreeMap<&str, TaskIndex>,
) -> impl Iterator<Item = Step> {
    let mut wait_after = None;
    let step = match event {
        Event::Resolved(step) => *step,
        Event::Write { work, wait } => {
            wait_after = Some(Step::WaitIo(*wait));
            Step::Run(*work)
        }
        Event::Timer { timer, period } => {
            let mode = match timer {
                TimerRef::Shared(id) => reader.shared.timers.mode(*id),
                TimerRef::Own(id) => own.mode(*id),
            };
            Step::Timer { timer: *timer, period: *period, mode }
        }
        Event::Fork { task, .. } => Step::Fork(template_of[task.as_str()]),
    };
    core::iter::once(step).chain(wait_after)
}

/// Rejects a loop without end in which no time passes: rt-app spins there, but a simulation would make no
/// progress.
fn check_progress(reader: &TaskReader<'_>, draft: &TaskDraft, plan: &ThreadProgram) -> Result<(), Message> {
    let participants = |barrier| reader.shared.barriers.participants(barrier);
    let stands_still = |phase: &RtAppPhase| !phase.steps.iter().any(|step| takes_time(step, participants));
    let endless = plan.phases.iter().position(|phase| phase.loops == LoopCount::Endless && stands_still(phase));
    let at = match endless {
        Some(phase) => draft.phases[phase].at,
        None if plan.loops == LoopCount::Endless && plan.phases.iter().all(stands_still) => draft.at,
        None => return Ok(()),
    };
    let message =
        format!("\"{}\" repeats without end and takes no time: it neither uses CPU time nor blocks", draft.name);
    Err(reader.source.error(at, message).with_help("add a run, sleep or timer event, or a number of loops"))
}
