// SPDX-License-Identifier: GPL-2.0-or-later
//! Parser of the text format of recorded workloads, statement by statement.

use super::{KEYWORD, RecordedOp, RecordedPriority, RecordedTask, RecordedWorkload, VERSION};
use crate::message::Message;
use crate::scenario::policy::parse_policy;
use crate::scenario::tokens::{Token, Tokens};
use crate::source_text::SourceText;
use crate::step::TaskIndex;
use crate::suggest;
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;

/// Largest number of CPUs of a machine.
const MAX_CPUS: u32 = 4096;
/// Longest task name that the kernel keeps.
const MAX_NAME_BYTES: usize = 15;
const STATEMENTS: &[&str] = &["note", "cpus", "caps", "end", "freq", "group", "task", "do"];
/// Options of a task.
const OPTIONS: &[&str] = &[
    "family=", "cpu=", "start=", "forked", "placed", "mask=", "group=", "nice=", "fair", "batch", "idlepol", "fifo=",
    "rr=",
];
/// Operations of a task.
const OPERATIONS: &[&str] = &[
    "run", "sleep", "until", "wait", "wake", "fork", "group", "nice=", "fair", "batch", "idlepol", "fifo=", "rr=",
    "exec", "exit",
];

/// Operation that names a task, which may stand further down.
#[derive(Clone, Copy)]
struct TaskReference<'a> {
    task: TaskIndex,
    op: usize,
    name: Token<'a>,
}

struct RecordedReader<'a> {
    recorded: RecordedWorkload,
    names: BTreeMap<&'a str, TaskIndex>,
    namings: Vec<TaskReference<'a>>,
}

/// Reads the text of a recorded workload; `file` is its name in messages.
///
/// # Errors
/// At the first error, with its location and a remedy.
pub fn parse(file: &str, text: &str) -> Result<RecordedWorkload, Message> {
    let source = SourceText::new(file, text);
    let mut reader =
        RecordedReader { recorded: RecordedWorkload::default(), names: BTreeMap::new(), namings: Vec::new() };
    let (mut offset, mut is_first) = (0, true);
    for line in text.split('\n') {
        let mut words = Tokens::from_line(source, offset, line);
        let start = offset;
        offset += line.len() + 1;
        let Some(keyword) = words.next_optional() else { continue };
        if std::mem::take(&mut is_first) {
            read_header(&mut words, keyword)?;
        } else if keyword.text == "note" {
            let note = line[keyword.offset - start + keyword.text.len()..].trim();
            reader.recorded.notes.push(note.to_owned());
            continue;
        } else {
            reader.statement(keyword, &mut words)?;
        }
        if let Some(word) = words.next_optional() {
            return Err(words
                .error(word, format!("more words than `{}` takes", keyword.text))
                .with_help("one statement per line"));
        }
    }
    reader.finish(source)
}

fn read_header(words: &mut Tokens<'_>, keyword: Token<'_>) -> Result<(), Message> {
    if keyword.text != KEYWORD {
        let message = format!("the first statement must be `{KEYWORD}`");
        return Err(words
            .error(keyword, message)
            .with_help("give a file that `fairlab import TRACE -o FILE` has written"));
    }
    let version = words.word("the version of the format")?;
    if version.text != VERSION.to_string() {
        let message = format!("the format has version {}, and this program supports version {VERSION}", version.text);
        return Err(words.error(version, message).with_help("import the trace again"));
    }
    Ok(())
}

impl<'a> RecordedReader<'a> {
    fn statement(&mut self, keyword: Token<'a>, words: &mut Tokens<'a>) -> Result<(), Message> {
        if keyword.text != "cpus" && self.recorded.nr_cpus == 0 {
            return Err(words.error(keyword, "`cpus N` must stand first").with_help("only notes may stand above it"));
        }
        let nr_cpus = self.recorded.nr_cpus;
        match keyword.text {
            "cpus" => self.recorded.nr_cpus = words.next_small("the number of CPUs", 1..=MAX_CPUS)?,
            "caps" => {
                let capacities =
                    (0..nr_cpus).map(|_| words.next_small("the capacity of each CPU", 1..=1024).map(u64::from));
                self.recorded.capacities = capacities.collect::<Result<_, _>>()?;
            }
            "end" => self.recorded.end = words.duration("the length of the recording")?,
            "freq" => {
                let (at, cpu) = (words.duration("the time of the change")?, words.word("the CPU")?);
                let cpu = words.parse_cpu(cpu, nr_cpus)?;
                let part = words.next_small("the share of the highest frequency, of 1024", 1..=1024)?;
                self.recorded.frequency_steps.push((at, cpu, part.into()));
            }
            "group" => self.group(words)?,
            "task" => self.task(words)?,
            "do" => self.operations(keyword, words)?,
            other => {
                let help = suggest::help(other, "statements", STATEMENTS);
                return Err(words.error(keyword, format!("unknown statement `{other}`")).with_help(help));
            }
        }
        Ok(())
    }

    fn group(&mut self, words: &mut Tokens<'a>) -> Result<(), Message> {
        let path = words.word("the group's path")?;
        let groups = &mut self.recorded.groups;
        let parent = path.text.rsplit_once('/').filter(|(_, own)| !own.is_empty()).map(|(parent, _)| parent);
        if !parent.is_some_and(|parent| parent.is_empty() || groups.iter().any(|own| own == parent)) {
            let help = "groups are paths such as /a and /a/b, and a parent stands before its children";
            return Err(words.error(path, format!("`{}` is not a valid group path here", path.text)).with_help(help));
        }
        if groups.iter().any(|own| own == path.text) {
            return Err(words
                .error(path, format!("two groups have the path `{}`", path.text))
                .with_help("name each once"));
        }
        groups.push(path.text.to_owned());
        Ok(())
    }

    /// Returns the group with a path: `/` is the root group.
    fn group_named(&self, words: &Tokens<'a>, path: Token<'a>) -> Result<Option<usize>, Message> {
        if path.text == "/" {
            return Ok(None);
        }
        let place = self.recorded.groups.iter().position(|own| own == path.text);
        place.map(Some).ok_or_else(|| {
            let help = "`group PATH` must stand above it";
            words.error(path, format!("no group `{}`", path.text)).with_help(help)
        })
    }

    fn task(&mut self, words: &mut Tokens<'a>) -> Result<(), Message> {
        let name = words.name("the task's name", MAX_NAME_BYTES)?;
        if self.names.insert(name.text, self.recorded.tasks.len()).is_some() {
            let message = format!("two tasks have the name `{}`", name.text);
            return Err(words.error(name, message).with_help("give each task a name of its own"));
        }
        let nr_cpus = self.recorded.nr_cpus;
        let mut task = RecordedTask {
            name: name.text.to_owned(),
            family: name.text.to_owned(),
            start_at: Some(Nanos::ZERO),
            ..RecordedTask::default()
        };
        while let Some(word) = words.next_optional() {
            if let Some(value) = word.value_of("family") {
                value.text.clone_into(&mut task.family);
            } else if let Some(value) = word.value_of("cpu") {
                task.cpu = words.parse_cpu(value, nr_cpus)?;
            } else if let Some(value) = word.value_of("start") {
                task.start_at = Some(words.parse_duration(value)?);
            } else if word.text == "forked" {
                task.start_at = None;
            } else if word.text == "placed" {
                task.is_placed = true;
            } else if let Some(value) = word.value_of("mask") {
                task.mask = Some(words.parse_cpus(value, nr_cpus)?.into_inner());
            } else if let Some(path) = word.value_of("group") {
                task.group = self.group_named(words, path)?;
            } else if let Some(priority) = parse_priority(words, word)? {
                task.priority = priority;
            } else {
                return Err(unknown_error(words, word, "options of a task", OPTIONS));
            }
        }
        self.recorded.tasks.push(task);
        Ok(())
    }

    fn operations(&mut self, keyword: Token<'a>, words: &mut Tokens<'a>) -> Result<(), Message> {
        let task =
            self.recorded.tasks.len().checked_sub(1).ok_or_else(|| {
                words.error(keyword, "`do` without a task").with_help("`task NAME` must stand above it")
            })?;
        while let Some(word) = words.next_optional() {
            let op = self.recorded.tasks[task].ops.len();
            let namings = &mut self.namings;
            let mut named = |words: &mut Tokens<'a>| {
                let name = words.name("the name of a task", MAX_NAME_BYTES)?;
                namings.push(TaskReference { task, op, name });
                Ok::<TaskIndex, Message>(0)
            };
            let op = match word.text {
                "run" => RecordedOp::Run(words.duration("the duration")?),
                "sleep" => RecordedOp::Sleep(words.duration("the duration")?),
                "until" => RecordedOp::Until(words.duration("the end of the wait")?),
                "wait" => RecordedOp::Wait,
                "wake" => RecordedOp::Wake(named(words)?),
                "fork" => RecordedOp::Fork(named(words)?),
                "group" => {
                    let path = words.word("the group's path, or /")?;
                    RecordedOp::Group(self.group_named(words, path)?)
                }
                "exec" => RecordedOp::Exec,
                "exit" => RecordedOp::Exit,
                _ => match parse_priority(words, word)? {
                    Some(priority) => RecordedOp::Priority(priority),
                    None => return Err(unknown_error(words, word, "operations", OPERATIONS)),
                },
            };
            self.recorded.tasks[task].ops.push(op);
        }
        Ok(())
    }

    fn finish(mut self, source: SourceText<'a>) -> Result<RecordedWorkload, Message> {
        if self.recorded.nr_cpus == 0 {
            return Err(source.error(source.text.len(), "no `cpus`").with_help("`cpus N` must follow the first line"));
        }
        for TaskReference { task, op, name } in self.namings {
            let Some(&named) = self.names.get(name.text) else {
                let names: Vec<&str> = self.names.keys().copied().collect();
                let error = source.error(name.offset, format!("no task `{}`", name.text));
                return Err(match suggest::nearest(name.text, &names) {
                    Some(near) => error.with_help(format!("did you mean `{near}`?")),
                    None => error.with_help("`task NAME` makes one, above or below"),
                });
            };
            let forks = matches!(self.recorded.tasks[task].ops[op], RecordedOp::Fork(_));
            if forks && self.recorded.tasks[named].start_at.is_some() {
                let error =
                    source.error(name.offset, format!("`{}` has a start time, so no task can fork it", name.text));
                return Err(error.with_help("a task that another one forks has the option `forked`"));
            }
            self.recorded.tasks[task].ops[op] = if forks { RecordedOp::Fork(named) } else { RecordedOp::Wake(named) };
        }
        Ok(self.recorded)
    }
}

fn parse_priority(words: &Tokens<'_>, word: Token<'_>) -> Result<Option<RecordedPriority>, Message> {
    if let Some(value) = word.value_of("nice") {
        let nice = words.parse_number(value, -20..=19)?;
        return Ok(Some(RecordedPriority { policy: Policy::Normal, nice: i8::try_from(nice).expect("a nice value") }));
    }
    let policy = parse_policy(words, word)?;
    if let Some(Policy::Deadline { .. }) = policy {
        let help = "a trace does not contain runtimes and periods; write fifo=99";
        return Err(words.error(word, "a recorded task cannot have a deadline").with_help(help));
    }
    Ok(policy.map(|policy| RecordedPriority { policy, nice: 0 }))
}

fn unknown_error(words: &Tokens<'_>, word: Token<'_>, what: &str, known: &[&str]) -> Message {
    let key = word.text.split_inclusive('=').next().unwrap_or_default();
    words.error(word, format!("unknown word `{}`", word.text)).with_help(suggest::help(key, what, known))
}
