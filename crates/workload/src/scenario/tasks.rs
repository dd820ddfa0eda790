// SPDX-License-Identifier: GPL-2.0-or-later
//! Statement `task`: the options and the program of tasks.
//!
//! Names are resolved at the end of the file: a task may wake a task that stands further down, and one line
//! can define several tasks.

use super::changes::{ChangeDraft, ChangeNames};
use super::machine::check_limit;
use super::parse::find_group;
use super::policy::parse_policy;
use super::program::{Program, ProgramCursor, ProgramOp};
use super::responses::ResponseDrafts;
use super::tokens::{Token, Tokens};
use crate::message::Message;
use crate::object_names::ObjectNames;
use crate::policy::PolicyKind;
use crate::responses::ResponseTasks;
use crate::source_text::SourceText;
use crate::step::{ObjectId, TaskIndex};
use crate::suggest;
use crate::workload::{Affinity, Attributes, TaskSpec, Workload};
use fairlab_sched::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Limits of the grammar.
pub(super) const MAX_NAME: usize = 15;
const MAX_TASKS: usize = 100_000;
const MAX_OPS: usize = 64;

const MUTEX: &str = "the name of the mutex";
const SEMAPHORE: &str = "the name of the semaphore";
const POINT: &str = "the name of the point";

/// Operation whose target, if it has one, is still a name.
#[derive(Clone, Debug)]
enum OpDraft<'a> {
    Resolved(ProgramOp),
    Wake { target: Token<'a>, sync: bool },
    Lock(Token<'a>),
    Unlock(Token<'a>),
    Post(Token<'a>),
    Take(Token<'a>),
    Point(Token<'a>),
}

/// Objects that programs name.
#[derive(Debug, Default)]
struct ProgramObjects {
    mutexes: ObjectNames,
    semaphores: ObjectNames,
    /// Semaphores from which a task takes.
    taken: BTreeSet<ObjectId>,
}

/// Operation: its keyword, and the reader of its arguments.
struct OperationSpec {
    word: &'static str,
    read: for<'a> fn(&mut Tokens<'a>) -> Result<OpDraft<'a>, Message>,
}

/// All operations of a program.
const OPERATIONS: &[OperationSpec] = &[
    OperationSpec { word: "run", read: |words| Ok(OpDraft::Resolved(ProgramOp::Run(words.duration("the duration")?))) },
    OperationSpec { word: "runr", read: |words| Ok(OpDraft::Resolved(ProgramOp::RunRandom(random_range(words)?))) },
    OperationSpec {
        word: "sleep",
        read: |words| Ok(OpDraft::Resolved(ProgramOp::Sleep(words.duration("the duration")?))),
    },
    OperationSpec { word: "sleepr", read: |words| Ok(OpDraft::Resolved(ProgramOp::SleepRandom(random_range(words)?))) },
    OperationSpec {
        word: "runx",
        read: |words| Ok(OpDraft::Resolved(ProgramOp::RunExponential(words.duration("the mean duration")?))),
    },
    OperationSpec {
        word: "sleepx",
        read: |words| Ok(OpDraft::Resolved(ProgramOp::SleepExponential(words.duration("the mean duration")?))),
    },
    OperationSpec { word: "every", read: every },
    OperationSpec { word: "wake", read: |words| wake(words, false) },
    OperationSpec { word: "wakesync", read: |words| wake(words, true) },
    OperationSpec { word: "wait", read: |_| Ok(OpDraft::Resolved(ProgramOp::Wait)) },
    OperationSpec { word: "lock", read: |words| Ok(OpDraft::Lock(words.name(MUTEX, MAX_NAME)?)) },
    OperationSpec { word: "unlock", read: |words| Ok(OpDraft::Unlock(words.name(MUTEX, MAX_NAME)?)) },
    OperationSpec { word: "post", read: |words| Ok(OpDraft::Post(words.name(SEMAPHORE, MAX_NAME)?)) },
    OperationSpec { word: "take", read: |words| Ok(OpDraft::Take(words.name(SEMAPHORE, MAX_NAME)?)) },
    OperationSpec { word: "point", read: |words| Ok(OpDraft::Point(words.name(POINT, MAX_NAME)?)) },
    OperationSpec { word: "yield", read: |_| Ok(OpDraft::Resolved(ProgramOp::Yield)) },
    OperationSpec { word: "exit", read: |_| Ok(OpDraft::Resolved(ProgramOp::Exit)) },
];

/// Returns the words with which the operations of a program begin.
pub fn operation_keywords() -> Vec<&'static str> {
    OPERATIONS.iter().map(|operation| operation.word).collect()
}

/// Reads a timer of the task's own, whose grid begins with the task.
fn every<'a>(words: &mut Tokens<'a>) -> Result<OpDraft<'a>, Message> {
    let word = words.word("the period of the timer")?;
    match words.parse_duration(word)? {
        Nanos::ZERO => Err(words.error(word, "a timer needs a period")),
        period => Ok(OpDraft::Resolved(ProgramOp::Every { timer: 0, period })),
    }
}

fn wake<'a>(words: &mut Tokens<'a>, sync: bool) -> Result<OpDraft<'a>, Message> {
    Ok(OpDraft::Wake { target: words.name("the name of the task to wake", MAX_NAME)?, sync })
}

/// Option of a task: `key=` if it has a value, and the reader of the value.
struct TaskOption {
    word: &'static str,
    read: for<'a> fn(&mut TaskLine<'a>, &Tokens<'a>, Token<'a>, &ChangeNames<'_>) -> Result<(), Message>,
}

/// All options except the policies.
const OPTIONS: &[TaskOption] = &[
    TaskOption {
        word: "n=",
        read: |line, words, value, _| words.parse_small(value, 1..=MAX_TASKS as u32).map(|n| line.count = n),
    },
    TaskOption {
        word: "nice=",
        read: |line, words, value, _| parse_nice(words, value).map(|nice| line.start.nice = Some(nice)),
    },
    TaskOption {
        word: "cpu=",
        read: |line, words, value, names| words.parse_cpu(value, names.nr_cpus).map(|cpu| line.start_cpu = cpu),
    },
    TaskOption {
        word: "start=",
        read: |line, words, value, _| words.parse_duration(value).map(|at| line.start_at = at),
    },
    TaskOption {
        word: "mask=",
        read: |line, words, value, names| {
            let cpus = words.parse_cpus(value, names.nr_cpus)?;
            line.start.affinity = Some(Affinity::Cpus(cpus.collect()));
            Ok(())
        },
    },
    TaskOption {
        word: "group=",
        read: |line, words, value, names| {
            line.start.group = Some(Some(find_group(names.groups, words, value)?));
            Ok(())
        },
    },
    TaskOption {
        word: "cpuset=",
        read: |line, words, value, names| names.find_cpuset(words, value).map(|cpuset| line.cpuset = Some(cpuset)),
    },
    TaskOption {
        word: "reclaim",
        read: |line, _, _, _| {
            line.start.reclaims = true;
            Ok(())
        },
    },
    TaskOption {
        word: "slice=",
        read: |line, words, value, _| words.parse_duration(value).map(|slice| line.start.slice = Some(slice)),
    },
    // Both clamps are set if either is given.
    TaskOption {
        word: "umin=",
        read: |line, words, value, _| {
            line.start.uclamp_min = Some(words.parse_small(value, 0..=1024)?);
            line.start.uclamp_max.get_or_insert(1024);
            Ok(())
        },
    },
    TaskOption {
        word: "umax=",
        read: |line, words, value, _| {
            line.start.uclamp_max = Some(words.parse_small(value, 0..=1024)?);
            line.start.uclamp_min.get_or_insert(0);
            Ok(())
        },
    },
];

/// Content of a `task` line, which defines one task or several.
#[derive(Debug)]
struct TaskLine<'a> {
    base: Token<'a>,
    count: u32,
    start: Attributes,
    cpuset: Option<usize>,
    start_cpu: u32,
    start_at: Nanos,
    ops: Vec<OpDraft<'a>>,
    loop_start: Option<usize>,
}

/// Tasks as far as the file has described them.
#[derive(Debug, Default)]
pub(super) struct TaskDrafts<'a> {
    lines: Vec<TaskLine<'a>>,
    /// Name of each task, and the index of its line.
    tasks: Vec<(String, usize)>,
}

impl<'a> TaskDrafts<'a> {
    /// Reads the rest of a `task` line; groups and cpusets must be defined above it.
    pub(super) fn task(&mut self, words: &mut Tokens<'a>, names: &ChangeNames<'_>) -> Result<(), Message> {
        let base = words.name("the task's name", MAX_NAME)?;
        let mut line = TaskLine {
            base,
            count: 1,
            start: Attributes::default(),
            cpuset: None,
            start_cpu: 0,
            start_at: Nanos::ZERO,
            ops: Vec::new(),
            loop_start: None,
        };
        let mut seen: Vec<&str> = Vec::new();
        while let Some(word) = words.next_optional() {
            if word.text == "loop" {
                if line.loop_start.is_some() {
                    return Err(words.error(word, "a second `loop`"));
                }
                line.loop_start = Some(line.ops.len());
            } else if let Some(option) = line.option(words, word, names)? {
                if seen.contains(&option) {
                    let help = if option == "policy" { "a task has one policy" } else { "each option only once" };
                    return Err(words.error(word, format!("`{}` is given twice", word.text)).with_help(help));
                }
                seen.push(option);
            } else {
                line.operation(words, word)?;
            }
        }
        self.add(words, line)
    }

    fn add(&mut self, words: &Tokens<'a>, line: TaskLine<'a>) -> Result<(), Message> {
        if line.loop_start.unwrap_or(0) >= line.ops.len() {
            let message = format!("the program of task `{}` is empty", line.base.text);
            let help = if line.ops.is_empty() {
                "add operations such as `run 1ms sleep 10ms`"
            } else {
                "operations must follow `loop`"
            };
            return Err(words.error(line.base, message).with_help(help));
        }
        if let (Some(min), Some(max)) = (line.start.uclamp_min, line.start.uclamp_max)
            && min > max
        {
            return Err(words.error(line.base, format!("umin={min} is above umax={max}")));
        }
        for i in 0..line.count {
            check_limit(words, line.base.offset, self.tasks.len(), MAX_TASKS)?;
            let name = if line.count > 1 { format!("{}{i}", line.base.text) } else { line.base.text.to_owned() };
            if name.len() > MAX_NAME {
                let message = format!("the name `{name}` is too long: at most {MAX_NAME} characters");
                return Err(words.error(line.base, message).with_help("the number of the task counts"));
            }
            self.tasks.push((name, self.lines.len()));
        }
        self.lines.push(line);
        Ok(())
    }

    /// Resolves the names of tasks, and adds tasks and changes to the workload.
    pub(super) fn finish(
        self,
        source: SourceText<'a>,
        changes: Vec<ChangeDraft<'a>>,
        mut responses: ResponseDrafts<'a>,
        vary: Option<u64>,
        workload: &mut Workload,
    ) -> Result<(), Message> {
        let mut by_name: BTreeMap<&str, TaskIndex> = BTreeMap::new();
        let mut twice = None;
        for (index, (name, line)) in self.tasks.iter().enumerate() {
            if by_name.insert(name, index).is_some() {
                twice.get_or_insert((name, line));
            }
        }
        if let Some((name, line)) = twice {
            let base = self.lines[*line].base;
            return Err(source.error(base.offset, format!("two tasks have the name `{name}`")));
        }
        let mut objects = ProgramObjects::default();
        for (index, (name, line)) in self.tasks.iter().enumerate() {
            let line = &self.lines[*line];
            workload.tasks.push(line.spec(source, name, (index, vary), &by_name, &mut objects, &mut responses)?);
        }
        workload.responses = responses.specs(source, &workload.tasks)?;
        workload.objects.mutexes = objects.mutexes.into_list();
        workload.objects.semaphores = objects.semaphores.into_list();
        let is_untaken = |semaphore: &ObjectId| !objects.taken.contains(semaphore);
        workload.objects.untaken_semaphores = (0..workload.objects.semaphores.len()).filter(is_untaken).collect();
        workload.objects.points = responses.points.into_list();
        workload.objects.priority_inheritance = !workload.objects.mutexes.is_empty();
        let unreachable = ResponseTasks::new(workload).warnings(workload);
        workload.warnings.extend(unreachable);
        for ChangeDraft { at, task, change } in changes {
            let index = |word: Token<'_>| {
                by_name.get(word.text).ok_or_else(|| unknown_task_error(source, word, "to change", &by_name))
            };
            let change = match task {
                Some(word) => change.with_task(*index(word)?),
                None => change,
            };
            workload.changes.push((at, change));
        }
        Ok(())
    }
}

impl<'a> TaskLine<'a> {
    /// Reads an option and returns its name, so that the caller can reject a repeated option.
    fn option(
        &mut self,
        words: &Tokens<'a>,
        word: Token<'a>,
        names: &ChangeNames<'_>,
    ) -> Result<Option<&'static str>, Message> {
        if let Some(policy) = parse_policy(words, word)? {
            self.start.policy = Some(policy);
            return Ok(Some("policy"));
        }
        let named = OPTIONS.iter().find_map(|option| Some((option, word.option(option.word)?)));
        let Some((option, value)) = named else { return Ok(None) };
        (option.read)(self, words, value, names)?;
        Ok(Some(option.word))
    }

    fn operation(&mut self, words: &mut Tokens<'a>, word: Token<'a>) -> Result<(), Message> {
        let Some(operation) = OPERATIONS.iter().find(|operation| operation.word == word.text) else {
            return Err(unknown_word_error(words, word));
        };
        check_limit(words, word.offset, self.ops.len(), MAX_OPS)?;
        self.ops.push((operation.read)(words)?);
        Ok(())
    }

    /// Returns the task with this name and index.
    fn spec(
        &self,
        source: SourceText<'_>,
        name: &str,
        (index, vary): (TaskIndex, Option<u64>),
        by_name: &BTreeMap<&str, TaskIndex>,
        objects: &mut ProgramObjects,
        responses: &mut ResponseDrafts<'_>,
    ) -> Result<TaskSpec, Message> {
        let mut nr_timers = 0;
        let mut resolve = |op: &OpDraft<'_>| match op {
            OpDraft::Resolved(ProgramOp::Every { period, .. }) => {
                nr_timers += 1;
                Ok(ProgramOp::Every { timer: nr_timers - 1, period: *period })
            }
            OpDraft::Resolved(op) => Ok(op.clone()),
            OpDraft::Wake { target, sync } => {
                Ok(ProgramOp::Wake { target: wake_target(source, name, *target, by_name)?, sync: *sync })
            }
            OpDraft::Lock(mutex) => Ok(ProgramOp::Lock(objects.mutexes.id(mutex.text))),
            OpDraft::Unlock(mutex) => Ok(ProgramOp::Unlock(objects.mutexes.id(mutex.text))),
            OpDraft::Post(semaphore) => Ok(ProgramOp::Post(objects.semaphores.id(semaphore.text))),
            OpDraft::Take(semaphore) => {
                let semaphore = objects.semaphores.id(semaphore.text);
                objects.taken.insert(semaphore);
                Ok(ProgramOp::Take(semaphore))
            }
            OpDraft::Point(point) => Ok(ProgramOp::Point(responses.points.id(point.text))),
        };
        let resolved = self.ops.iter().map(&mut resolve).collect::<Result<Vec<_>, _>>()?;
        let mut ops = Vec::with_capacity(resolved.len());
        let mut loop_start = 0;
        for (index, (op, draft)) in resolved.into_iter().zip(&self.ops).enumerate() {
            if self.loop_start == Some(index) {
                loop_start = ops.len();
            }
            let point = if let OpDraft::Point(point) = draft { Some(point.text) } else { None };
            ops.extend(responses.with_points(self.base.text, op, point));
        }
        let program = Arc::new(Program { ops, loop_start });
        let behaviour = move |_| ProgramCursor::new(Arc::clone(&program), index, vary);
        Ok(TaskSpec {
            start: self.start.clone(),
            cpuset: self.cpuset,
            start_cpu: self.start_cpu,
            start_at: Some(self.start_at),
            own_timers: vec!["every".to_owned(); nr_timers],
            timer_origin: self.start_at,
            ..TaskSpec::new(name.to_owned(), self.base.text, behaviour)
        })
    }
}

/// Reads a nice value, -20 to 19.
pub(super) fn parse_nice(words: &Tokens<'_>, word: Token<'_>) -> Result<i8, Message> {
    words.parse_number(word, -20..=19).map(|nice| i8::try_from(nice).expect("a nice value"))
}

fn random_range(words: &mut Tokens<'_>) -> Result<RangeInclusive<u64>, Message> {
    let shortest = words.duration("the shortest duration")?;
    let word = words.word("the longest duration")?;
    let longest = words.parse_duration(word)?;
    if longest < shortest {
        return Err(words.error(word, "the longest duration is shorter than the shortest"));
    }
    Ok(shortest.0..=longest.0)
}

/// Returns the task that a `wake` names: the task of that name, or else the one with the waker's number
/// appended. The number is the part of the waker's name from its first digit on.
fn wake_target(
    source: SourceText<'_>,
    waker: &str,
    target: Token<'_>,
    by_name: &BTreeMap<&str, TaskIndex>,
) -> Result<TaskIndex, Message> {
    if let Some(index) = by_name.get(target.text) {
        return Ok(*index);
    }
    let digits = waker.find(|c: char| c.is_ascii_digit()).map_or("", |first| &waker[first..]);
    let numbered = format!("{}{digits}", target.text);
    by_name.get(numbered.as_str()).copied().ok_or_else(|| unknown_task_error(source, target, "to wake", by_name))
}

fn unknown_task_error(
    source: SourceText<'_>,
    word: Token<'_>,
    what: &str,
    by_name: &BTreeMap<&str, TaskIndex>,
) -> Message {
    let error = source.error(word.offset, format!("no task `{}` {what}", word.text));
    let names: Vec<&str> = by_name.keys().copied().collect();
    match suggest::nearest(word.text, &names) {
        Some(name) => error.with_help(format!("did you mean `{name}`?")),
        None => error,
    }
}

fn unknown_word_error(words: &Tokens<'_>, word: Token<'_>) -> Message {
    let error = words.error(word, format!("unknown word `{}`", word.text));
    let key = word.text.split_inclusive('=').next().unwrap_or_default();
    let ops: Vec<&str> = OPERATIONS.iter().map(|operation| operation.word).chain(["loop"]).collect();
    let policies = PolicyKind::ALL.iter().map(|kind| kind.keyword());
    let options: Vec<&str> = OPTIONS.iter().map(|option| option.word).chain(policies).collect();
    match suggest::nearest(key, &[&ops[..], &options].concat()) {
        Some(name) => error.with_help(format!("did you mean `{name}`?")),
        None => error.with_help(format!("operations: {}; options: {}", ops.join(", "), options.join(", "))),
    }
}
