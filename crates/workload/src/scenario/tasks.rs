// SPDX-License-Identifier: GPL-2.0-or-later
//! Statements about task groups, tasks, and what changes while they run.
//!
//! Names are resolved at the end of the file: a task may wake one that stands below it, and one line makes several tasks.

use super::changes::{ChangeDraft, ChangeNames};
use super::machine::check_room;
use super::parse::find_group;
use super::policy::policy_of;
use super::program::{Program, ProgramCursor, ProgramOp};
use super::tokens::{Token, Tokens};
use crate::error::{ParseError, Source};
use crate::policy::PolicyKind;
use crate::step::{Behaviour, TaskIndex};
use crate::suggest;
use crate::workload::{Affinity, Attributes, TaskSpec, Workload};
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Limits of the grammar.
pub(super) const MAX_NAME: usize = 15;
const MAX_TASKS: usize = 100_000;
const MAX_OPS: usize = 64;

/// An operation whose target, if it has one, is still a name.
#[derive(Clone, Debug)]
enum OpDraft<'a> {
    Known(ProgramOp),
    Wake { target: Token<'a>, sync: bool },
}

/// An operation: its word, and how what follows is read.
struct OperationSpec {
    word: &'static str,
    read: for<'a> fn(&mut Tokens<'a>) -> Result<OpDraft<'a>, ParseError>,
}

/// All operations of a program.
const OPERATIONS: &[OperationSpec] = &[
    OperationSpec { word: "run", read: |words| Ok(OpDraft::Known(ProgramOp::Run(words.duration("how long")?))) },
    OperationSpec { word: "runr", read: |words| Ok(OpDraft::Known(ProgramOp::RunRandom(random_range(words)?))) },
    OperationSpec { word: "sleep", read: |words| Ok(OpDraft::Known(ProgramOp::Sleep(words.duration("how long")?))) },
    OperationSpec { word: "sleepr", read: |words| Ok(OpDraft::Known(ProgramOp::SleepRandom(random_range(words)?))) },
    OperationSpec {
        word: "runx",
        read: |words| Ok(OpDraft::Known(ProgramOp::RunExponential(words.duration("how long on average")?))),
    },
    OperationSpec {
        word: "sleepx",
        read: |words| Ok(OpDraft::Known(ProgramOp::SleepExponential(words.duration("how long on average")?))),
    },
    OperationSpec { word: "every", read: every },
    OperationSpec { word: "wake", read: |words| wake(words, false) },
    OperationSpec { word: "wakesync", read: |words| wake(words, true) },
    OperationSpec { word: "wait", read: |_| Ok(OpDraft::Known(ProgramOp::Wait)) },
    OperationSpec { word: "yield", read: |_| Ok(OpDraft::Known(ProgramOp::Yield)) },
    OperationSpec { word: "exit", read: |_| Ok(OpDraft::Known(ProgramOp::Exit)) },
];

/// A timer of the task's own, with a grid that begins with the task.
fn every<'a>(words: &mut Tokens<'a>) -> Result<OpDraft<'a>, ParseError> {
    let word = words.word("the period of the timer")?;
    match words.duration_of(word)? {
        Nanos::ZERO => Err(words.error(word, "a timer needs a period")),
        period => Ok(OpDraft::Known(ProgramOp::Every { timer: 0, period })),
    }
}

fn wake<'a>(words: &mut Tokens<'a>, sync: bool) -> Result<OpDraft<'a>, ParseError> {
    Ok(OpDraft::Wake { target: words.name("whom to wake", MAX_NAME)?, sync })
}

/// An option of a task: `key=` if it has a value, and how that is read.
struct TaskOption {
    word: &'static str,
    read: for<'a> fn(&mut TaskLine<'a>, &Tokens<'a>, Token<'a>, &ChangeNames<'_>) -> Result<(), ParseError>,
}

/// All options but the policies.
const OPTIONS: &[TaskOption] = &[
    TaskOption {
        word: "n=",
        read: |line, words, value, _| words.small(value, 1..=MAX_TASKS as u32).map(|n| line.count = n),
    },
    TaskOption {
        word: "nice=",
        read: |line, words, value, _| nice_of(words, value).map(|nice| line.start.nice = Some(nice)),
    },
    TaskOption {
        word: "cpu=",
        read: |line, words, value, names| words.cpu_of(value, names.nr_cpus).map(|cpu| line.start_cpu = cpu),
    },
    TaskOption { word: "start=", read: |line, words, value, _| words.duration_of(value).map(|at| line.start_at = at) },
    TaskOption {
        word: "mask=",
        read: |line, words, value, names| {
            let cpus = words.cpus_of(value, names.nr_cpus)?;
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
    // Both clamps are set if either is given.
    TaskOption {
        word: "umin=",
        read: |line, words, value, _| {
            line.start.uclamp_min = Some(words.small(value, 0..=1024)?);
            line.start.uclamp_max.get_or_insert(1024);
            Ok(())
        },
    },
    TaskOption {
        word: "umax=",
        read: |line, words, value, _| {
            line.start.uclamp_max = Some(words.small(value, 0..=1024)?);
            line.start.uclamp_min.get_or_insert(0);
            Ok(())
        },
    },
];

/// What a `task` line says, and which of the tasks of it this is.
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

/// The tasks as far as the file has described them.
#[derive(Debug, Default)]
pub(super) struct TaskDrafts<'a> {
    lines: Vec<TaskLine<'a>>,
    /// Name, line and place in it of each task.
    tasks: Vec<(String, usize)>,
}

impl<'a> TaskDrafts<'a> {
    /// Reads what follows `task`; groups and cpusets must stand above.
    pub(super) fn task(&mut self, words: &mut Tokens<'a>, names: &ChangeNames<'_>) -> Result<(), ParseError> {
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
        while let Some(word) = words.optional() {
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

    fn add(&mut self, words: &Tokens<'a>, line: TaskLine<'a>) -> Result<(), ParseError> {
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
            check_room(words, line.base.offset, self.tasks.len(), MAX_TASKS)?;
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

    /// Resolves the names of tasks and adds tasks and changes to the workload.
    pub(super) fn finish(
        self,
        source: Source<'a>,
        changes: Vec<ChangeDraft<'a>>,
        vary: Option<u64>,
        workload: &mut Workload,
    ) -> Result<(), ParseError> {
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
        for (index, (name, line)) in self.tasks.iter().enumerate() {
            workload.tasks.push(self.lines[*line].spec(source, name, (index, vary), &by_name)?);
        }
        for ChangeDraft { at, task, change } in changes {
            let index =
                |word: Token<'_>| by_name.get(word.text).ok_or_else(|| no_task(source, word, "to change", &by_name));
            let change = match task {
                Some(word) => change.of_task(*index(word)?),
                None => change,
            };
            workload.changes.push((at, change));
        }
        Ok(())
    }
}

impl<'a> TaskLine<'a> {
    /// Reads an option; the answer names it, so that none is given twice.
    fn option(
        &mut self,
        words: &Tokens<'a>,
        word: Token<'a>,
        names: &ChangeNames<'_>,
    ) -> Result<Option<&'static str>, ParseError> {
        if let Some(policy) = policy_of(words, word)? {
            self.start.policy = Some(policy);
            return Ok(Some("policy"));
        }
        let named = OPTIONS.iter().find_map(|option| Some((option, word.option(option.word)?)));
        let Some((option, value)) = named else { return Ok(None) };
        (option.read)(self, words, value, names)?;
        Ok(Some(option.word))
    }

    fn operation(&mut self, words: &mut Tokens<'a>, word: Token<'a>) -> Result<(), ParseError> {
        let Some(operation) = OPERATIONS.iter().find(|operation| operation.word == word.text) else {
            return Err(unknown_word(words, word));
        };
        check_room(words, word.offset, self.ops.len(), MAX_OPS)?;
        self.ops.push((operation.read)(words)?);
        Ok(())
    }

    /// One of the tasks of the line.
    fn spec(
        &self,
        source: Source<'_>,
        name: &str,
        (index, vary): (TaskIndex, Option<u64>),
        by_name: &BTreeMap<&str, TaskIndex>,
    ) -> Result<TaskSpec, ParseError> {
        let mut nr_timers = 0;
        let mut resolve = |op: &OpDraft<'_>| match op {
            OpDraft::Known(ProgramOp::Every { period, .. }) => {
                nr_timers += 1;
                Ok(ProgramOp::Every { timer: nr_timers - 1, period: *period })
            }
            OpDraft::Known(op) => Ok(op.clone()),
            OpDraft::Wake { target, sync } => {
                Ok(ProgramOp::Wake { target: wake_target(source, name, *target, by_name)?, sync: *sync })
            }
        };
        let ops = self.ops.iter().map(&mut resolve).collect::<Result<Vec<_>, _>>()?;
        let program = Arc::new(Program { ops, loop_start: self.loop_start.unwrap_or(0) });
        Ok(TaskSpec {
            name: name.to_owned(),
            family: self.base.text.to_owned(),
            start: self.start.clone(),
            attributes: Vec::new(),
            cpuset: self.cpuset,
            start_cpu: self.start_cpu,
            start_at: Some(self.start_at),
            own_timers: vec!["every".to_owned(); nr_timers],
            timer_origin: self.start_at,
            is_kthread: false,
            awaits_origin: false,
            behaviour: Box::new(move |_| -> Box<dyn Behaviour> {
                Box::new(ProgramCursor::new(Arc::clone(&program), index, vary))
            }),
        })
    }
}

/// A nice value.
pub(super) fn nice_of(words: &Tokens<'_>, word: Token<'_>) -> Result<i8, ParseError> {
    words.number_in(word, -20..=19).map(|nice| i8::try_from(nice).expect("a nice value"))
}

fn random_range(words: &mut Tokens<'_>) -> Result<RangeInclusive<u64>, ParseError> {
    let shortest = words.duration("the shortest duration")?;
    let word = words.word("the longest duration")?;
    let longest = words.duration_of(word)?;
    if longest < shortest {
        return Err(words.error(word, "the longest duration is shorter than the shortest"));
    }
    Ok(shortest.0..=longest.0)
}

/// Whom a task wakes: the task of that name, or else the one whose number is the waker's own, which is what stands in the
/// waker's name from its first digit on.
fn wake_target(
    source: Source<'_>,
    waker: &str,
    target: Token<'_>,
    by_name: &BTreeMap<&str, TaskIndex>,
) -> Result<TaskIndex, ParseError> {
    if let Some(index) = by_name.get(target.text) {
        return Ok(*index);
    }
    let digits = waker.find(|c: char| c.is_ascii_digit()).map_or("", |first| &waker[first..]);
    let numbered = format!("{}{digits}", target.text);
    by_name.get(numbered.as_str()).copied().ok_or_else(|| no_task(source, target, "to wake", by_name))
}

fn no_task(source: Source<'_>, word: Token<'_>, what: &str, by_name: &BTreeMap<&str, TaskIndex>) -> ParseError {
    let error = source.error(word.offset, format!("no task `{}` {what}", word.text));
    let names: Vec<&str> = by_name.keys().copied().collect();
    match suggest::nearest(word.text, &names) {
        Some(name) => error.with_help(format!("did you mean `{name}`?")),
        None => error,
    }
}

fn unknown_word(words: &Tokens<'_>, word: Token<'_>) -> ParseError {
    let error = words.error(word, format!("unknown word `{}`", word.text));
    let key = word.text.split_inclusive('=').next().unwrap_or_default();
    let ops: Vec<&str> = OPERATIONS.iter().map(|operation| operation.word).chain(["loop"]).collect();
    let policies = PolicyKind::ALL.iter().map(|kind| kind.word());
    let options: Vec<&str> = OPTIONS.iter().map(|option| option.word).chain(policies).collect();
    match suggest::nearest(key, &[&ops[..], &options].concat()) {
        Some(name) => error.with_help(format!("did you mean `{name}`?")),
        None => error.with_help(format!("operations: {}; options: {}", ops.join(", "), options.join(", "))),
    }
}
