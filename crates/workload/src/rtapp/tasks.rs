// SPDX-License-Identifier: GPL-2.0-or-later
//! The section `tasks`: tasks with their attributes and phases.

use super::attributes::{PhaseAttributes, SchedData, unused_deadline_keys};
use super::behaviour::LoopCount;
use super::calibration::Calibration;
use super::events::{Event, EventContext, EventInfo};
use super::fields::{Fields, parse_int};
use super::global::GlobalSection;
use super::groups::Groups;
use super::json::{JsonEntry, JsonValue};
use super::objects::{SharedObjects, Timers};
use super::old::{self, EXAMPLE, LOCK_ORDER};
use super::responses::{EventPlace, POINT, Responses};
use crate::message::Message;
use crate::policy::PolicyKind;
use crate::source_text::SourceText;
use crate::step::Step;
use crate::workload::Affinity;
use fairlab_sched::units::Nanos;

/// Largest number of threads of all tasks together.
const MAX_THREADS: u32 = 20_000;

/// Keys of tasks and phases that are not events.
const ATTRIBUTE_KEYS: &[&str] = &[
    "loop",
    "cpus",
    "nodes_membind",
    "policy",
    "priority",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "util_min",
    "util_max",
    "taskgroup",
    "cgroup",
];

/// Keys of tasks alone. The last three are the old grammar for deadline tasks.
const TASK_KEYS: &[&str] = &["instance", "delay", "phases", "runtime", "period", "deadline"];

/// Returns the prefixes of the keys of events and points.
fn known_prefixes() -> Vec<&'static str> {
    EventInfo::prefixes().into_iter().chain([POINT]).collect()
}

/// Task as the file describes it.
#[derive(Debug)]
pub(super) struct TaskDraft {
    pub(super) name: String,
    /// Byte offset of its key.
    pub(super) at: usize,
    /// 0 for a template.
    pub(super) instances: u32,
    pub(super) delay: Nanos,
    pub(super) loops: LoopCount,
    pub(super) sched: SchedData,
    pub(super) group: Option<Option<usize>>,
    pub(super) phases: Vec<PhaseDraft>,
    pub(super) own_timers: Timers,
}

/// Phase as the file describes it.
#[derive(Debug)]
pub(super) struct PhaseDraft {
    /// Byte offset of its key.
    pub(super) at: usize,
    pub(super) loops: LoopCount,
    pub(super) events: Vec<Event>,
    pub(super) attributes: PhaseAttributes,
}

/// Reader of tasks, which collects the objects that they name.
#[derive(Debug)]
pub(super) struct TaskReader<'a> {
    pub(super) source: SourceText<'a>,
    pub(super) nr_cpus: u32,
    /// Whether the length of the run is given elsewhere ([`super::RtAppOptions::is_duration_given`]).
    pub(super) is_duration_given: bool,
    pub(super) global: GlobalSection,
    pub(super) calibration: Calibration,
    pub(super) shared: SharedObjects,
    pub(super) responses: Responses,
    pub(super) groups: Groups,
    pub(super) warnings: Vec<String>,
}

impl<'a> TaskReader<'a> {
    /// Reads all tasks, of which there must be at least one.
    pub(super) fn tasks(&mut self, fields: Fields<'a>) -> Result<Vec<TaskDraft>, Message> {
        if fields.entries.is_empty() {
            return Err(fields.error(fields.at, "\"tasks\" is empty").with_help(EXAMPLE));
        }
        let mut tasks = Vec::new();
        let mut threads = 0;
        for entry in fields.entries {
            let task = self.task(entry)?;
            threads += task.instances;
            if threads > MAX_THREADS {
                return Err(fields.error(entry.key_at, format!("more than {MAX_THREADS} threads")));
            }
            tasks.push(task);
        }
        Ok(tasks)
    }

    fn task(&mut self, entry: &'a JsonEntry) -> Result<TaskDraft, Message> {
        let fields = Fields::from_node(self.source, &entry.node, &format!("the task \"{}\"", entry.key))?;
        let instances = u32::try_from(fields.count("instance")?.unwrap_or(1)).expect("a number of 31 bits");
        if instances > MAX_THREADS {
            return Err(fields.error(entry.key_at, format!("more than {MAX_THREADS} threads")));
        }
        let sched = SchedData::read(fields, Some(self.global.default_policy))?
            .expect("a task has a default policy and so a default priority");
        self.warnings.extend(unused_deadline_keys(fields, &sched));
        let mut task = TaskDraft {
            name: entry.key.clone(),
            at: entry.key_at,
            instances,
            delay: Nanos::from_micros(fields.count("delay")?.unwrap_or(0)),
            loops: LoopCount::Endless,
            sched,
            group: self.group(fields)?,
            phases: Vec::new(),
            own_timers: Timers::default(),
        };
        let cpus = self.cpus(fields)?;
        self.membind(fields);
        match fields.get("phases") {
            Some(node) => {
                let phases = Fields::from_node(self.source, node, "\"phases\"")?;
                self.phases(&mut task, phases, cpus.as_ref())?;
                task.loops = self.loops(fields, "task")?.unwrap_or(LoopCount::Endless);
                self.check_ignored(fields);
            }
            None => self.single_phase(&mut task, fields, cpus)?,
        }
        if fields.get("taskgroup").is_some() || !self.uses_cgroups(&task, fields) {
            self.check_groups(&task)?;
        }
        self.check_cpusets(&task)?;
        Ok(task)
    }

    fn phases(
        &mut self,
        task: &mut TaskDraft,
        phases: Fields<'a>,
        task_cpus: Option<&Affinity>,
    ) -> Result<(), Message> {
        if phases.entries.is_empty() {
            return Err(phases.error(phases.at, "\"phases\" is empty").with_help(EXAMPLE));
        }
        let mut barriers = Vec::new();
        for entry in phases.entries {
            let what = format!("the phase \"{}\"", entry.key);
            let fields = Fields::from_node(self.source, &entry.node, &what)?;
            self.membind(fields);
            let attributes = PhaseAttributes {
                cpus: self.cpus(fields)?.or_else(|| task_cpus.cloned()).unwrap_or_default(),
                sched: SchedData::read(fields, None)?,
                group: self.group(fields)?,
            };
            let loops = self.loops(fields, "phase")?.unwrap_or(LoopCount::Times(1));
            let events = self.events(task, fields, (&entry.key, entry.key_at), &mut barriers)?;
            self.warnings.extend(fields.unknown(&what, ATTRIBUTE_KEYS, &known_prefixes()));
            task.phases.push(PhaseDraft { at: entry.key_at, loops, events, attributes });
        }
        Ok(())
    }

    /// Reads a task without phases as one phase: `loop` is the phase's, and the thread runs it once if `loop`
    /// is given.
    fn single_phase(
        &mut self,
        task: &mut TaskDraft,
        fields: Fields<'a>,
        cpus: Option<Affinity>,
    ) -> Result<(), Message> {
        let loops = self.loops(fields, "phase")?;
        task.loops = if loops.is_some() { LoopCount::Times(1) } else { LoopCount::Endless };
        let (name, at) = (task.name.clone(), task.at);
        let events = self.events(task, fields, (&name, at), &mut Vec::new())?;
        let known = [ATTRIBUTE_KEYS, TASK_KEYS].concat();
        self.warnings.extend(fields.unknown(&format!("the task \"{}\"", task.name), &known, &known_prefixes()));
        let attributes = PhaseAttributes { cpus: cpus.unwrap_or_default(), sched: None, group: None };
        task.phases.push(PhaseDraft { at: task.at, loops: loops.unwrap_or(LoopCount::Times(1)), events, attributes });
        Ok(())
    }

    fn events(
        &mut self,
        task: &mut TaskDraft,
        fields: Fields<'a>,
        (phase, phase_at): (&str, usize),
        barriers: &mut Vec<usize>,
    ) -> Result<Vec<Event>, Message> {
        let mut scope = EventContext {
            source: self.source,
            shared: &mut self.shared,
            warnings: &mut self.warnings,
            mem_buffer_size: self.global.mem_buffer_size,
            calibration: &self.calibration,
            to_null_device: self.global.to_null_device,
            task: &task.name,
            instances: task.instances,
            own_timers: &mut task.own_timers,
            barriers,
        };
        let mut events = Vec::new();
        let to_event = |point| Event::Resolved(Step::Point(point));
        let place = EventPlace { task: &task.name, phase, is_first_phase: task.phases.is_empty() };
        for entry in fields.entries {
            if let Some(kind) = EventInfo::from_key(&entry.key) {
                let event = scope.event(kind, entry)?;
                let points = self.responses.points_around(place, entry, Some(&event));
                events.extend(points.before.into_iter().map(to_event));
                events.push(event);
                events.extend(points.behind.into_iter().map(to_event));
            } else if entry.key.starts_with(POINT) {
                let points = self.responses.points_around(place, entry, None);
                events.extend(points.before.into_iter().map(to_event));
                events.extend(self.responses.point(place, &entry.key, scope.shared).map(Event::Resolved));
                events.extend(points.behind.into_iter().map(to_event));
            }
        }
        let is_event = |entry: &&JsonEntry| entry.key != LOCK_ORDER && EventInfo::from_key(&entry.key).is_some();
        if !fields.entries.iter().any(|entry| is_event(&entry)) {
            let error = fields.error(phase_at, format!("\"{phase}\" has no events, and rt-app rejects it"));
            let known = [ATTRIBUTE_KEYS, TASK_KEYS].concat();
            return Err(error.with_help(old::help_without_events(fields, &known)));
        }
        Ok(events)
    }

    /// Reads a number of loops. rt-app compares it with a counter that starts at 0, or at 1 after the first
    /// loop of a phase.
    fn loops(&mut self, fields: Fields<'a>, of: &str) -> Result<Option<LoopCount>, Message> {
        let Some(loops) = fields.int("loop")? else { return Ok(None) };
        if let Ok(times @ 1..) = u32::try_from(loops) {
            return Ok(Some(LoopCount::Times(times)));
        }
        let never = loops == 0 && of == "task";
        if loops != -1 {
            let place = fields.source.location(fields.get("loop").map_or(fields.at, |node| node.at));
            let effect = if never { "does nothing at all" } else { "repeats without end" };
            self.warnings.push(format!("{place}: with a loop of {loops} this {of} {effect}, as in rt-app"));
        }
        Ok(Some(if never { LoopCount::Times(0) } else { LoopCount::Endless }))
    }

    fn cpus(&self, fields: Fields<'a>) -> Result<Option<Affinity>, Message> {
        let Some(node) = fields.get("cpus") else { return Ok(None) };
        let JsonValue::Array(nodes) = &node.value else {
            let error = fields.error(node.at, format!("\"cpus\" must be a list, not {}", node.value.kind()));
            return Err(error.with_help("write \"cpus\" : [0, 1]"));
        };
        let mut cpus = Vec::new();
        for node in nodes {
            let cpu = parse_int(self.source, "cpus", node)?;
            let Some(cpu) = u32::try_from(cpu).ok().filter(|cpu| *cpu < self.nr_cpus) else {
                let error = fields.error(node.at, format!("the machine has no CPU {cpu}"));
                let cpus = match self.nr_cpus {
                    1 => "its only CPU is 0".to_owned(),
                    nr_cpus => format!("its {nr_cpus} CPUs are 0 to {}", nr_cpus - 1),
                };
                return Err(error.with_help(format!("{cpus}; choose a larger machine")));
            };
            cpus.push(cpu);
        }
        cpus.sort_unstable();
        cpus.dedup();
        if cpus.is_empty() {
            return Err(fields.error(node.at, "\"cpus\" is empty").with_help("leave it out to allow all CPUs"));
        }
        // All CPUs of the machine are no restriction.
        let is_all = cpus.len() == self.nr_cpus as usize;
        Ok(Some(if is_all { Affinity::All } else { Affinity::Cpus(cpus) }))
    }

    /// Reads the group. `cgroup` is an extension and accepts tasks of all policies; `taskgroup` is rt-app's
    /// key.
    fn group(&mut self, fields: Fields<'a>) -> Result<Option<Option<usize>>, Message> {
        let key = if fields.get("cgroup").is_some() { "cgroup" } else { "taskgroup" };
        let at = fields.get(key).map_or(fields.at, |node| node.at);
        if key == "cgroup" && fields.get("taskgroup").is_some() {
            return Err(fields.error(at, "both \"cgroup\" and \"taskgroup\" are given").with_help("keep one of them"));
        }
        self.groups.intern_path(self.source, at, key, fields.text(key)?.unwrap_or_default())
    }

    /// Rejects a phase that would move its task to another cpuset.
    fn check_cpusets(&self, task: &TaskDraft) -> Result<(), Message> {
        let own = self.groups.cpuset(task.group.flatten());
        let leaves = |phase: &&PhaseDraft| phase.attributes.group.is_some_and(|group| self.groups.cpuset(group) != own);
        match task.phases.iter().find(leaves) {
            None => Ok(()),
            Some(phase) => {
                let message = "a phase cannot move to a cgroup with other \"cpuset.cpus\" than its task's";
                Err(self
                    .source
                    .error(phase.at, message)
                    .with_help("give the phase \"cpus\", or make it a task of its own"))
            }
        }
    }

    /// Whether `cgroup` names the groups of a task. The restriction of rt-app's `taskgroup` does not apply to
    /// it.
    fn uses_cgroups(&self, task: &TaskDraft, fields: Fields<'a>) -> bool {
        let in_phases = fields.get("phases").is_some_and(|node| match &node.value {
            JsonValue::Object(phases) => phases.iter().any(|phase| match &phase.node.value {
                JsonValue::Object(keys) => keys.iter().any(|entry| entry.key == "cgroup"),
                _ => false,
            }),
            _ => false,
        });
        fields.get("cgroup").is_some() || (in_phases && task.group.is_none())
    }

    /// Rejects a task that is in a `taskgroup` while it is not of the fair class, as rt-app does.
    fn check_groups(&self, task: &TaskDraft) -> Result<(), Message> {
        let mut policy = task.sched.policy;
        let mut in_group = task.group.is_some();
        for phase in &task.phases {
            policy = phase.attributes.sched.as_ref().and_then(|sched| sched.policy).or(policy);
            in_group |= phase.attributes.group.is_some();
            if in_group && !policy.is_some_and(PolicyKind::is_fair) {
                let message = format!("\"{}\" has a taskgroup, which rt-app allows for fair tasks only", task.name);
                let help = "leave \"taskgroup\" out, or use SCHED_OTHER, SCHED_BATCH or SCHED_IDLE";
                return Err(self.source.error(phase.at, message).with_help(help));
            }
        }
        Ok(())
    }

    fn membind(&mut self, fields: Fields<'a>) {
        if let Some(node) = fields.get("nodes_membind") {
            let place = self.source.location(node.at);
            self.warnings.push(format!(
                "{place}: \"nodes_membind\" is ignored: fairlab does not model the placement of memory on nodes"
            ));
        }
    }

    /// Warns about events beside phases.
    fn check_ignored(&mut self, fields: Fields<'a>) {
        for entry in fields.entries {
            // The old grammar for deadline tasks has a key that looks like an event.
            if EventInfo::from_key(&entry.key).is_some() && entry.key != "runtime" {
                let (place, key) = (self.source.location(entry.key_at), &entry.key);
                self.warnings.push(format!("{place}: the task has phases, so rt-app ignores \"{key}\" beside them"));
            }
        }
        let known = [ATTRIBUTE_KEYS, TASK_KEYS].concat();
        self.warnings.extend(fields.unknown("a task", &known, &known_prefixes()));
    }
}
