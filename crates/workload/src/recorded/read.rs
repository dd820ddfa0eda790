// SPDX-License-Identifier: GPL-2.0-or-later
//! The text of a recorded workload, statement by statement.

use super::{KEYWORD, Priority, Recorded, RecordedOp, RecordedTask, VERSION};
use crate::error::{ParseError, Source};
use crate::scenario::policy::policy_of;
use crate::scenario::tokens::{Token, Tokens};
use crate::step::TaskIndex;
use crate::suggest;
use crate::workload::Policy;
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;

/// As many CPUs as a machine may have.
const MAX_CPUS: u32 = 4096;
/// The kernel's limit of names.
const MAX_NAME: usize = 15;
/// Statements.
const STATEMENTS: &[&str] = &["note", "cpus", "caps", "end", "freq", "group", "task", "do"];
/// Options of a task.
const OPTIONS: &[&str] = &[
    "family=", "cpu=", "start=", "forked", "placed", "mask=", "group=", "nice=", "fair", "batch", "idlepol", "fifo=",
    "rr=",
];
/// Operations.
const OPERATIONS: &[&str] = &[
    "run", "sleep", "until", "wait", "wake", "fork", "group", "nice=", "fair", "batch", "idlepol", "fifo=", "rr=",
    "exec", "exit",
];

/// An operation that names a task, which may stand below.
#[derive(Clone, Copy)]
struct Naming<'a> {
    task: TaskIndex,
    op: usize,
    name: Token<'a>,
}

struct RecordedReader<'a> {
    recorded: Recorded,
    names: BTreeMap<&'a str, TaskIndex>,
    namings: Vec<Naming<'a>>,
}

/// Reads the text of a recorded workload; `file` is its name in messages.
///
/// # Errors
/// At the first thing that is wrong, with its place and the way out.
pub fn parse(file: &str, text: &str) -> Result<Recorded, ParseError> {
    let source = Source::new(file, text);
    let mut reader = RecordedReader { recorded: Recorded::default(), names: BTreeMap::new(), namings: Vec::new() };
    let (mut offset, mut is_first) = (0, true);
    for line in text.split('\n') {
        let mut words = Tokens::of_line(source, offset, line);
        let start = offset;
        offset += line.len() + 1;
        let Some(keyword) = words.optional() else { continue };
        if std::mem::take(&mut is_first) {
            begin(&mut words, keyword)?;
        } else if keyword.text == "note" {
            let note = line[keyword.offset - start + keyword.text.len()..].trim();
            reader.recorded.notes.push(note.to_owned());
            continue;
        } else {
            reader.statement(keyword, &mut words)?;
        }
        if let Some(word) = words.optional() {
            return Err(words
                .error(word, format!("more words than `{}` takes", keyword.text))
                .with_help("one statement per line"));
        }
    }
    reader.finish(source)
}

fn begin(words: &mut Tokens<'_>, keyword: Token<'_>) -> Result<(), ParseError> {
    if keyword.text != KEYWORD {
        let message = format!("the first statement must be `{KEYWORD}`");
        return Err(words
            .error(keyword, message)
            .with_help("give a file that `fairlab import TRACE -o FILE` has written"));
    }
    let version = words.word("the version of the form")?;
    if version.text != VERSION.to_string() {
        let message = format!("the form has version {}, and this program knows {VERSION}", version.text);
        return Err(words.error(version, message).with_help("import the trace again"));
    }
    Ok(())
}

impl<'a> RecordedReader<'a> {
    fn statement(&mut self, keyword: Token<'a>, words: &mut Tokens<'a>) -> Result<(), ParseError> {
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
                let (at, cpu) = (words.duration("when")?, words.word("the CPU")?);
                let cpu = words.cpu_of(cpu, nr_cpus)?;
                let part = words.next_small("the part of 1024 of the highest frequency", 1..=1024)?;
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

    fn group(&mut self, words: &mut Tokens<'a>) -> Result<(), ParseError> {
        let path = words.word("the group's path")?;
        let groups = &mut self.recorded.groups;
        let parent = path.text.rsplit_once('/').filter(|(_, own)| !own.is_empty()).map(|(parent, _)| parent);
        if !parent.is_some_and(|parent| parent.is_empty() || groups.iter().any(|own| own == parent)) {
            let help = "groups are paths such as /a and /a/b, and those above them stand before them";
            return Err(words.error(path, format!("no group can be `{}`", path.text)).with_help(help));
        }
        if groups.iter().any(|own| own == path.text) {
            return Err(words.error(path, format!("two groups are `{}`", path.text)).with_help("name each once"));
        }
        groups.push(path.text.to_owned());
        Ok(())
    }

    /// A group that is named: `/` is the root group.
    fn group_named(&self, words: &Tokens<'a>, path: Token<'a>) -> Result<Option<usize>, ParseError> {
        if path.text == "/" {
            return Ok(None);
        }
        let place = self.recorded.groups.iter().position(|own| own == path.text);
        place.map(Some).ok_or_else(|| {
            let help = "`group PATH` must stand above it";
            words.error(path, format!("no group `{}`", path.text)).with_help(help)
        })
    }

    fn task(&mut self, words: &mut Tokens<'a>) -> Result<(), ParseError> {
        let name = words.name("the task's name", MAX_NAME)?;
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
        while let Some(word) = words.optional() {
            if let Some(value) = word.value_of("family") {
                value.text.clone_into(&mut task.family);
            } else if let Some(value) = word.value_of("cpu") {
                task.cpu = words.cpu_of(value, nr_cpus)?;
            } else if let Some(value) = word.value_of("start") {
                task.start_at = Some(words.duration_of(value)?);
            } else if word.text == "forked" {
                task.start_at = None;
            } else if word.text == "placed" {
                task.is_placed = true;
            } else if let Some(value) = word.value_of("mask") {
                task.mask = Some(words.cpus_of(value, nr_cpus)?.into_inner());
            } else if let Some(path) = word.value_of("group") {
                task.group = self.group_named(words, path)?;
            } else if let Some(priority) = priority_of(words, word)? {
                task.priority = priority;
            } else {
                return Err(unknown(words, word, "options of a task", OPTIONS));
            }
        }
        self.recorded.tasks.push(task);
        Ok(())
    }

    fn operations(&mut self, keyword: Token<'a>, words: &mut Tokens<'a>) -> Result<(), ParseError> {
        let task =
            self.recorded.tasks.len().checked_sub(1).ok_or_else(|| {
                words.error(keyword, "`do` without a task").with_help("`task NAME` must stand above it")
            })?;
        while let Some(word) = words.optional() {
            let op = self.recorded.tasks[task].ops.len();
            let namings = &mut self.namings;
            let mut named = |words: &mut Tokens<'a>| {
                let name = words.name("the name of a task", MAX_NAME)?;
                namings.push(Naming { task, op, name });
                Ok::<TaskIndex, ParseError>(0)
            };
            let op = match word.text {
                "run" => RecordedOp::Run(words.duration("how long")?),
                "sleep" => RecordedOp::Sleep(words.duration("how long")?),
                "until" => RecordedOp::Until(words.duration("until when")?),
                "wait" => RecordedOp::Wait,
                "wake" => RecordedOp::Wake(named(words)?),
                "fork" => RecordedOp::Fork(named(words)?),
                "group" => {
                    let path = words.word("the group's path, or /")?;
                    RecordedOp::Group(self.group_named(words, path)?)
                }
                "exec" => RecordedOp::Exec,
                "exit" => RecordedOp::Exit,
                _ => match priority_of(words, word)? {
                    Some(priority) => RecordedOp::Priority(priority),
                    None => return Err(unknown(words, word, "operations", OPERATIONS)),
                },
            };
            self.recorded.tasks[task].ops.push(op);
        }
        Ok(())
    }

    fn finish(mut self, source: Source<'a>) -> Result<Recorded, ParseError> {
        if self.recorded.nr_cpus == 0 {
            return Err(source.error(source.text.len(), "no `cpus`").with_help("`cpus N` must follow the first line"));
        }
        for Naming { task, op, name } in self.namings {
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
                let error = source.error(name.offset, format!("`{}` starts by itself", name.text));
                return Err(error.with_help("a task that another one forks has the option `forked`"));
            }
            self.recorded.tasks[task].ops[op] = if forks { RecordedOp::Fork(named) } else { RecordedOp::Wake(named) };
        }
        Ok(self.recorded)
    }
}

fn priority_of(words: &Tokens<'_>, word: Token<'_>) -> Result<Option<Priority>, ParseError> {
    if let Some(value) = word.value_of("nice") {
        let nice = words.number_in(value, -20..=19)?;
        return Ok(Some(Priority { policy: Policy::Normal, nice: i8::try_from(nice).expect("a nice value") }));
    }
    let policy = policy_of(words, word)?;
    if let Some(Policy::Deadline { .. }) = policy {
        let help = "a trace does not tell runtimes and periods; write fifo=99";
        return Err(words.error(word, "a recorded task cannot have a deadline").with_help(help));
    }
    Ok(policy.map(|policy| Priority { policy, nice: 0 }))
}

fn unknown(words: &Tokens<'_>, word: Token<'_>, what: &str, known: &[&str]) -> ParseError {
    let key = word.text.split_inclusive('=').next().unwrap_or_default();
    words.error(word, format!("unknown word `{}`", word.text)).with_help(suggest::help(key, what, known))
}
