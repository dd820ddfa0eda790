// SPDX-License-Identifier: GPL-2.0-or-later
//! The section `responses`: what people wait for, from an event of one task to an event of another one. An
//! extension: rt-app ignores the section, and the events `point` that it can name.
//!
//! `"responses": {"frame": {"from": "ui.timer", "to": "gpu.done", "deadline": 8333}}` names events by their task
//! and key. An event is found by `TASK.KEY`, or by `TASK.PHASE.KEY` in one phase; names with dots stand in
//! quotes. An event `point` with a string as its value is also found by this string.
//!
//! A named event gets a point ([`Step::Point`]) before it, where a response begins, or behind it, where a response
//! ends. A timer gets both before it: a response ends when the task reaches the timer, and begins at the expiry. A
//! point gets both behind it.

use super::events::Event;
use super::fields::{Fields, parse_count, parse_text};
use super::json::{JsonEntry, JsonValue};
use super::objects::SharedObjects;
use super::tasks::TaskDraft;
use crate::message::Message;
use crate::source_text::SourceText;
use crate::step::{ObjectId, Step, TaskIndex, TimerMode, TimerRef};
use crate::suggest;
use crate::workload::{ResponseSpec, ResponseStart, TaskSpec};
use fairlab_sched::units::Nanos;

/// Prefix of the keys of points.
pub(super) const POINT: &str = "point";

const EXAMPLE: &str = "write \"responses\" : { \"frame\" : { \"from\" : \"ui.timer\", \"deadline\" : 8333 } }";
const PATH_HELP: &str = "write TASK.EVENT, such as \"ui.timer\", or TASK.PHASE.EVENT; names with dots stand in quotes";
const KEYS: &[&str] = &["from", "to", "deadline"];

/// Event as a response names it.
#[derive(Debug)]
struct EventPath {
    /// Byte offset of the text.
    at: usize,
    text: String,
    task: String,
    phase: Option<String>,
    event: String,
}

/// Response as the file describes it, and what is known of its events.
#[derive(Debug)]
struct ResponseDraft {
    name: String,
    from: EventPath,
    to: Option<EventPath>,
    deadline: Option<Nanos>,
    start_point: ObjectId,
    end_point: Option<ObjectId>,
    /// Timer at which responses begin; the task is known by its name.
    timer: Option<TimerRef>,
    /// Whether the timer stands in the first phase of its task.
    is_first_phase: bool,
    is_from_found: bool,
    is_to_found: bool,
}

/// Event of a task, for suggestions.
#[derive(Debug)]
struct NamedEvent {
    task: String,
    phase: String,
    key: String,
    /// Name of a point.
    name: Option<String>,
}

impl NamedEvent {
    fn is_meant_by(&self, path: &EventPath) -> bool {
        let Self { task, phase, key, name } = self;
        let is_event = path.event == *key || name.as_ref() == Some(&path.event);
        *task == path.task && path.phase.as_ref().is_none_or(|wanted| wanted == phase) && is_event
    }
}

/// Responses of a file.
#[derive(Debug, Default)]
pub(super) struct Responses {
    drafts: Vec<ResponseDraft>,
    events: Vec<NamedEvent>,
}

/// Phase of a task whose events are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventPlace<'t> {
    pub(super) task: &'t str,
    pub(super) phase: &'t str,
    pub(super) is_first_phase: bool,
}

/// Points around an event.
#[derive(Debug, Default)]
pub(super) struct EventPoints {
    pub(super) before: Vec<ObjectId>,
    pub(super) behind: Vec<ObjectId>,
}

impl Responses {
    /// Reads the section.
    pub(super) fn read(fields: Fields<'_>, shared: &mut SharedObjects) -> Result<Self, Message> {
        let drafts = fields.entries.iter().map(|entry| ResponseDraft::read(fields.source, entry, shared));
        let drafts: Vec<_> = drafts.collect::<Result<_, _>>()?;
        if drafts.is_empty() {
            return Err(fields.error(fields.at, "\"responses\" is empty").with_help(EXAMPLE));
        }
        Ok(Self { drafts, events: Vec::new() })
    }

    /// Returns the step of an event `point`; `None` if the file has no responses, for which alone points exist.
    pub(super) fn point(&self, place: EventPlace<'_>, key: &str, shared: &mut SharedObjects) -> Option<Step> {
        let EventPlace { task, phase, .. } = place;
        let name = || if phase == task { format!("{task}.{key}") } else { format!("{task}.{phase}.{key}") };
        (!self.drafts.is_empty()).then(|| Step::Point(shared.points.id(&name())))
    }

    /// Returns the points around an event that responses name. `event` is `None` for a point.
    pub(super) fn points_around(
        &mut self,
        place: EventPlace<'_>,
        entry: &JsonEntry,
        event: Option<&Event>,
    ) -> EventPoints {
        let mut points = EventPoints::default();
        if self.drafts.is_empty() {
            return points;
        }
        let name = match &entry.node.value {
            JsonValue::Text(text) if event.is_none() => Some(text.clone()),
            _ => None,
        };
        let named =
            NamedEvent { task: place.task.to_owned(), phase: place.phase.to_owned(), key: entry.key.clone(), name };
        let timer = if let Some(Event::Timer { timer, .. }) = event { Some(*timer) } else { None };
        for draft in &mut self.drafts {
            if let (Some(to), Some(point)) = (&draft.to, draft.end_point)
                && named.is_meant_by(to)
            {
                draft.is_to_found = true;
                if timer.is_some() { &mut points.before } else { &mut points.behind }.push(point);
            }
        }
        for draft in self.drafts.iter_mut().filter(|draft| named.is_meant_by(&draft.from)) {
            draft.is_first_phase |= !draft.is_from_found && place.is_first_phase;
            draft.is_from_found = true;
            draft.timer = draft.timer.or(timer);
            if event.is_some() { &mut points.before } else { &mut points.behind }.push(draft.start_point);
        }
        self.events.push(named);
        points
    }

    /// Returns the definitions, once all tasks are known.
    pub(super) fn specs(
        &self,
        source: SourceText<'_>,
        drafts: &[TaskDraft],
        tasks: &[TaskSpec],
    ) -> Result<Vec<ResponseSpec>, Message> {
        let spec = |draft: &ResponseDraft| {
            if !draft.is_from_found {
                return Err(self.unknown_event(source, &draft.from, drafts));
            }
            if let Some(to) = draft.to.as_ref().filter(|_| !draft.is_to_found) {
                return Err(self.unknown_event(source, to, drafts));
            }
            Ok(draft.spec(tasks))
        };
        self.drafts.iter().map(spec).collect()
    }

    fn unknown_event(&self, source: SourceText<'_>, path: &EventPath, drafts: &[TaskDraft]) -> Message {
        let tasks: Vec<&str> = drafts.iter().map(|draft| draft.name.as_str()).collect();
        if !tasks.contains(&path.task.as_str()) {
            let message = format!("\"{}\" names no task of this file: \"{}\"", path.text, path.task);
            return source.error(path.at, message).with_help(suggest::help(&path.task, "tasks", &tasks));
        }
        let of_task = self.events.iter().filter(|event| event.task == path.task);
        let phases: Vec<&str> = of_task.clone().map(|event| event.phase.as_str()).collect();
        if let Some(phase) = path.phase.as_ref().filter(|phase| !phases.contains(&phase.as_str())) {
            let message = format!("the task \"{}\" has no phase \"{phase}\" with events", path.task);
            return source.error(path.at, message).with_help(suggest::help(phase, "phases", &phases));
        }
        let names = of_task.flat_map(|event| [Some(event.key.as_str()), event.name.as_deref()]).flatten();
        let names: Vec<&str> = names.collect();
        let message = format!("the task \"{}\" has no event \"{}\"", path.task, path.event);
        source.error(path.at, message).with_help(suggest::help(&path.event, "its events", &names))
    }

    /// Returns sentences about what the definitions leave out, for the user.
    pub(super) fn assumptions(&self, shared: &SharedObjects, drafts: &[TaskDraft]) -> Vec<String> {
        let of_draft = |draft: &ResponseDraft| {
            let task = drafts.iter().find(|task| task.name == draft.from.task)?;
            let mode = match draft.timer? {
                TimerRef::Shared(timer) => shared.timers.mode(timer),
                TimerRef::Own(timer) => task.own_timers.mode(timer),
            };
            (mode == TimerMode::Relative).then(|| {
                format!(
                    "the timer at which the response \"{}\" begins is relative: its grid begins again when \"{}\" is \
                     late, so periods that pass meanwhile are not counted",
                    draft.name, draft.from.task
                )
            })
        };
        self.drafts.iter().filter_map(of_draft).collect()
    }

    /// Returns warnings about definitions whose results mean something else than expected.
    pub(super) fn warnings(&self, source: SourceText<'_>, shared: &SharedObjects, drafts: &[TaskDraft]) -> Vec<String> {
        let of_draft = |draft: &ResponseDraft| {
            let task = drafts.iter().find(|task| task.name == draft.from.task && task.instances > 1)?;
            let mut steps = task.phases.iter().flat_map(|phase| &phase.events);
            let semaphore = steps.find_map(|event| match event {
                Event::Resolved(Step::SemWait(semaphore)) => Some(&shared.semaphores.list()[*semaphore]),
                _ => None,
            })?;
            Some(format!(
                "{}: the replies of the response \"{}\" are not addressed: {} threads of \"{}\" take from the semaphore \
                 \"{semaphore}\", and a response belongs to its request in any case; give each thread a \
                 task and a semaphore of its own",
                source.location(draft.from.at),
                draft.name,
                task.instances,
                task.name
            ))
        };
        self.drafts.iter().filter_map(of_draft).collect()
    }
}

impl ResponseDraft {
    fn read(source: SourceText<'_>, entry: &JsonEntry, shared: &mut SharedObjects) -> Result<Self, Message> {
        let name = entry.key.clone();
        let what = format!("the response \"{name}\"");
        let fields = Fields::from_node(source, &entry.node, &what)?;
        if let Some(unknown) = fields.entries.iter().find(|field| !KEYS.contains(&field.key.as_str())) {
            let message = format!("{what} has no key \"{}\"", unknown.key);
            return Err(source.error(unknown.key_at, message).with_help(suggest::help(&unknown.key, "its keys", KEYS)));
        }
        let Some(from) = EventPath::read(fields, "from")? else {
            return Err(source.error(entry.node.at, format!("{what} needs a \"from\"")).with_help(EXAMPLE));
        };
        let to = EventPath::read(fields, "to")?;
        let deadline = match fields.get("deadline") {
            None => None,
            Some(node) => match parse_count(source, "deadline", node)? {
                0 => return Err(source.error(node.at, "\"deadline\" must be at least 1 us")),
                us => Some(Nanos::from_micros(us)),
            },
        };
        let start_point = shared.points.id(&format!("start of {name}"));
        let end_point = to.as_ref().map(|_| shared.points.id(&format!("end of {name}")));
        Ok(Self {
            name,
            from,
            to,
            deadline,
            start_point,
            end_point,
            timer: None,
            is_first_phase: false,
            is_from_found: false,
            is_to_found: false,
        })
    }

    fn spec(&self, tasks: &[TaskSpec]) -> ResponseSpec {
        let start = match self.timer {
            None => ResponseStart::Point(self.start_point),
            Some(_) => {
                // The origin of a forked thread lies before its fork.
                let is_first =
                    |task: &TaskSpec| self.is_first_phase && task.family == self.from.task && task.start_at.is_some();
                let first = tasks.iter().enumerate().filter(|(_, task)| is_first(task));
                let from_origin: Vec<TaskIndex> = first.map(|(index, _)| index).collect();
                ResponseStart::Timer { point: self.start_point, from_origin }
            }
        };
        ResponseSpec { name: self.name.clone(), start, end: self.end_point, deadline: self.deadline }
    }
}

impl EventPath {
    fn read(fields: Fields<'_>, key: &str) -> Result<Option<Self>, Message> {
        let Some(node) = fields.get(key) else { return Ok(None) };
        let text = parse_text(fields.source, key, node)?;
        let mut names = split_at_dots(text).unwrap_or_default().into_iter();
        let path = match (names.next(), names.next(), names.next(), names.next()) {
            (Some(task), Some(event), None, None) => (task, None, event),
            (Some(task), Some(phase), Some(event), None) => (task, Some(phase), event),
            _ => {
                let message = format!("\"{key}\" names no event: \"{text}\"");
                return Err(fields.error(node.at, message).with_help(PATH_HELP));
            }
        };
        let (task, phase, event) = path;
        Ok(Some(Self { at: node.at, text: text.to_owned(), task, phase, event }))
    }
}

/// Splits a text at its dots, except in quotes, which may stand around a name. Returns `None` if a name is empty or a
/// quote is not closed.
fn split_at_dots(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        let (name, behind) = match rest.chars().next()? {
            quote @ ('"' | '\'') => rest[1..].split_once(quote)?,
            _ => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        if name.is_empty() {
            return None;
        }
        names.push(name.to_owned());
        match behind.strip_prefix('.') {
            Some(behind) => rest = behind,
            None => return behind.is_empty().then_some(names),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::message::Message;
    use crate::rtapp::{RtAppOptions, parse};
    use crate::step::Step;
    use crate::workload::{ResponseSpec, ResponseStart, Workload};
    use fairlab_sched::series::KernelSeries;
    use fairlab_sched::units::Nanos;

    fn parsed(responses: &str) -> Result<Workload, Message> {
        let text = format!(
            r#"{{ "tasks": {{
                "ui": {{ "instance": 2, "run": 1000, "sem_post": "drawn", "sem_wait": "shown",
                         "timer": {{ "ref": "unique", "period": 8333, "mode": "absolute" }} }},
                "my.gpu": {{ "phases": {{ "first": {{ "run": 10 }},
                                          "draw": {{ "sem_wait": "drawn", "run": 300, "point1": "done", "sem_post": "shown" }} }} }}
              }}, "global": {{ "duration": 1 }}{responses} }}"#
        );
        parse("frames.json", &text, RtAppOptions::for_cpus(KernelSeries::V6_12, 4))
    }

    fn steps(workload: &Workload, task: usize, count: usize) -> Vec<Step> {
        let mut behaviour = (workload.tasks[task].behaviour)(0);
        (0..count).map(|_| behaviour.next()).collect()
    }

    #[test]
    fn events_get_points_where_responses_begin_and_end() {
        let workload = parsed(
            r#", "responses": { "frame": { "from": "ui.timer", "to": "'my.gpu'.draw.done", "deadline": 8333 },
                               "draw": { "from": "'my.gpu'.sem_wait" } }"#,
        );
        let workload = workload.expect("it is a file of rt-app");
        let frame = ResponseSpec {
            name: "frame".to_owned(),
            start: ResponseStart::Timer { point: 0, from_origin: vec![0, 1] },
            end: Some(1),
            deadline: Some(Nanos::from_micros(8333)),
        };
        let draw = ResponseSpec { name: "draw".to_owned(), start: ResponseStart::Point(2), end: None, deadline: None };
        assert_eq!(workload.responses, [frame, draw]);
        assert_eq!(workload.objects.points, ["start of frame", "end of frame", "start of draw", "my.gpu.draw.point1"]);
        let steps_of_ui = steps(&workload, 0, 8);
        assert!(matches!(steps_of_ui[6..], [Step::Point(0), Step::Timer { .. }]), "{steps_of_ui:?}");
        let steps_of_gpu = steps(&workload, 2, 12);
        let drawing = &steps_of_gpu[5..];
        assert!(
            matches!(
                drawing,
                [Step::Point(2), Step::SemWait(0), Step::Run(_), Step::Point(3), Step::Point(1), Step::SemPost(1), ..]
            ),
            "{steps_of_gpu:?}"
        );
        let unaddressed: Vec<_> = workload.warnings.iter().filter(|warning| warning.contains("addressed")).collect();
        assert_eq!(unaddressed.len(), 1, "{:?}", workload.warnings);
    }

    #[test]
    fn without_responses_a_point_is_no_step() {
        let workload = parsed("").expect("it is a file of rt-app");
        assert_eq!((workload.responses.len(), workload.objects.points.len()), (0, 0));
        assert!(!steps(&workload, 2, 12).iter().any(|step| matches!(step, Step::Point(_))));
        assert!(workload.warnings.iter().all(|warning| !warning.contains("point")), "{:?}", workload.warnings);
    }

    #[test]
    fn definitions_without_an_event_are_rejected_with_the_remedy() {
        let rejected = |definition: &str| {
            let responses = format!(", \"responses\": {{ {definition} }}");
            parsed(&responses).expect_err(definition).to_string()
        };
        let task = rejected(r#""f": { "from": "uu.timer" }"#);
        assert!(task.contains("names no task") && task.contains("did you mean `ui`?"), "{task}");
        let event = rejected(r#""f": { "from": "ui.timer", "to": "ui.sem_past" }"#);
        assert!(event.contains("no event \"sem_past\"") && event.contains("did you mean `sem_post`?"), "{event}");
        let phase = rejected(r#""f": { "from": "'my.gpu'.drow.run" }"#);
        assert!(phase.contains("no phase \"drow\"") && phase.contains("did you mean `draw`?"), "{phase}");
        assert!(rejected(r#""f": { "from": "ui" }"#).contains("write TASK.EVENT"));
        assert!(rejected(r#""f": { "from": "ui..run" }"#).contains("write TASK.EVENT"));
        assert!(rejected(r#""f": { "from": "'ui.run" }"#).contains("write TASK.EVENT"));
        assert!(rejected(r#""f": { "to": "ui.run" }"#).contains("needs a \"from\""));
        assert!(rejected(r#""f": { "from": "ui.run", "til": "ui.run" }"#).contains("no key \"til\""));
        assert!(rejected(r#""f": { "from": "ui.run", "deadline": 0 }"#).contains("at least 1 us"));
        assert!(rejected("").contains("\"responses\" is empty"));
    }
}
