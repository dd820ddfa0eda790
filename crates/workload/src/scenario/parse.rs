// SPDX-License-Identifier: GPL-2.0-or-later
//! Parser of the statements of a scenario, line by line.

mod groups;

pub(super) use groups::find_group;

use super::Scenario;
use super::changes::{ChangeDraft, ChangeNames, ChangeReader};
use super::machine::{MachineDraft, check_limit};
use super::responses::{MAX_RESPONSES, ResponseDrafts};
use super::statements::{STATEMENTS, Statement, StatementTopic, keywords};
use super::tasks::{MAX_NAME, TaskDrafts};
use super::tokens::{Token, Tokens};
use crate::message::Message;
use crate::source_text::SourceText;
use crate::step::TaskIndex;
use crate::suggest;
use crate::tunable_name::TunableName;
use crate::workload::{Change, CpusetSpec, GroupSpec, PacketLoad, TaskSpec, Workload};
use fairlab_sched::features::Feature;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::tunables::{TUNABLES, TunableInfo, TunableStatement};
use fairlab_sched::units::Nanos;

/// Limits of the grammar.
const MAX_FEATURES: usize = 40;
const MAX_TUNABLES: usize = 20;
const MAX_CHANGES: usize = 1000;
const MAX_PACKET_LOADS: usize = 256;
/// Largest number of packets that fit into the queue of a CPU (`net.core.netdev_max_backlog`).
const MAX_PACKETS: u32 = 1000;

/// Reads a scenario. Its run follows the rules of `series` if the file does not name a kernel.
///
/// # Errors
/// At the first violation of the grammar.
pub fn parse(file: &str, text: &str, series: KernelSeries) -> Result<Scenario, Message> {
    let named = &|_: &str| Err(Message::new("machine files are not available here"));
    let kernel: KernelLookup<'_> = &|name| {
        let series = name.map_or(Some(series), series_from_name);
        series.map(SwitchNames::BuiltIn).ok_or_else(|| Message::new("unknown kernel"))
    };
    parse_with_context(file, text, ParseContext { given: None, named, vary: None, kernel })
}

/// Returns the series of a release in the form `major.minor`.
fn series_from_name(name: &str) -> Option<KernelSeries> {
    let (major, minor) = name.split_once('.')?;
    Some(KernelSeries::of_release((major.parse().ok()?, minor.parse().ok()?)))
}

/// Kernel whose names of features and tunables a file may use, with the series whose rules the run follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchNames {
    /// The built-in scheduler: the parser checks the names.
    BuiltIn(KernelSeries),
    /// A scheduler that checks the names when the run starts. A compiled kernel has rules of its own and ignores the series.
    CompiledKernel(KernelSeries),
}

impl SwitchNames {
    /// Series whose rules the run follows.
    pub const fn series(self) -> KernelSeries {
        match self {
            Self::BuiltIn(series) | Self::CompiledKernel(series) => series,
        }
    }

    /// Whether a file may set the tunable.
    fn has_tunable(self, info: &TunableInfo) -> bool {
        match self {
            Self::BuiltIn(series) => info.exists_in(series),
            Self::CompiledKernel(_) => true,
        }
    }
}

/// Machine and seed of a scenario, beside the settings in its file.
#[derive(Clone, Copy)]
pub struct ParseContext<'m> {
    /// Number of CPUs of a machine that was given to take the place of the file's own.
    pub given: Option<u32>,
    /// Lookup of the number of CPUs of a machine that the file names.
    pub named: &'m dyn Fn(&str) -> Result<u32, Message>,
    /// Seed of random lengths; `None` for those that the grammar fixes.
    pub vary: Option<u64>,
    /// Lookup of the run's kernel, given the one that the file names. It is called once.
    pub kernel: KernelLookup<'m>,
}

/// Function that returns the kernel of a run, given the one that its file names, or why there is no such kernel.
pub type KernelLookup<'m> = &'m dyn Fn(Option<&str>) -> Result<SwitchNames, Message>;

/// Reads a scenario that may run on a machine other than its own.
///
/// # Errors
/// At the first violation of the grammar, or the first reference to a CPU that the machine does not have.
pub fn parse_with_context(file: &str, text: &str, on: ParseContext<'_>) -> Result<Scenario, Message> {
    let source = SourceText::new(file, text);
    let mut parser: Option<Parser<'_>> = None;
    let mut offset = 0;
    for line in text.split('\n') {
        let mut words = Tokens::from_line(source, offset, line);
        offset += line.len() + 1;
        let Some(keyword) = words.next_optional() else { continue };
        match &mut parser {
            None if keyword.text == "cpus" => parser = Some(Parser::new(MachineDraft::new(&mut words)?, on)),
            None if keyword.text == "machine" => parser = Some(Parser::with_named_machine(&mut words, on)?),
            None => return Err(before_cpus_error(&words, keyword)),
            Some(parser) => parser.statement(keyword, &mut words)?,
        }
        if let Some(word) = words.next_optional() {
            let message = format!("more words than `{}` takes", keyword.text);
            return Err(words.error(word, message).with_help("one statement per line; # starts a comment"));
        }
    }
    let no_cpus = || source.error(0, "no `cpus`: the file has no statement").with_help("begin with `cpus N`");
    parser.ok_or_else(no_cpus)?.finish(source)
}

/// Reads statements about changes while tasks run, for a workload from another kind of file. Its groups,
/// cpusets and tasks are known, tasks also by their families. Each statement has its byte offset in the
/// source.
pub(crate) fn parse_changes(
    source: SourceText<'_>,
    statements: &[(usize, &str)],
    nr_cpus: u32,
    switch_names: SwitchNames,
    workload: &mut Workload,
) -> Result<(), Message> {
    let named = &|_: &str| Err(Message::new("a statement names no machine"));
    let kernel: KernelLookup<'_> = &|_| Ok(switch_names);
    let context = ParseContext { given: None, named, vary: None, kernel };
    let mut parser = Parser {
        groups: workload.groups.clone(),
        cpusets: workload.cpusets.clone(),
        longest_name: usize::MAX,
        ..Parser::new(MachineDraft::symmetric(nr_cpus), context)
    };
    for &(offset, statement) in statements {
        let mut words = Tokens::from_line(source, offset, statement);
        let Some(keyword) = words.next_optional() else { continue };
        if Statement::by_keyword(keyword.text).is_none_or(|statement| !statement.is_for_any_workload) {
            let message = match Statement::by_keyword(keyword.text) {
                Some(statement) => format!("`{}` is a statement of scenarios only", statement.keyword),
                None => format!("unknown statement `{}`", keyword.text),
            };
            let help = suggest::help(keyword.text, "statements in this file", &portable_keywords());
            return Err(words.error(keyword, message).with_help(help));
        }
        parser.statement(keyword, &mut words)?;
        if let Some(word) = words.next_optional() {
            let message = format!("more words than `{}` takes", keyword.text);
            return Err(words.error(word, message).with_help("one statement in each string"));
        }
        if !parser.features.is_empty() || !parser.tunables.is_empty() {
            let error = words.error(keyword, format!("`{}` without a time", keyword.text));
            let help = "write the time of the change, as in `feature 100ms SIS_UTIL 0`; for the whole run use --features and --set";
            return Err(error.with_help(help));
        }
    }
    parser.finish_into(source, workload)
}

/// Returns the keywords of the statements that other kinds of files accept.
fn portable_keywords() -> Vec<&'static str> {
    STATEMENTS.iter().filter(|statement| statement.is_for_any_workload).map(|statement| statement.keyword).collect()
}

fn before_cpus_error(words: &Tokens<'_>, keyword: Token<'_>) -> Message {
    let error = words.error(keyword, "the first statement must be `cpus`");
    if Statement::by_keyword(keyword.text).is_some() {
        return error.with_help("begin with `cpus N`, the number of CPUs, or with `machine NAME`");
    }
    error.with_help(format!("`{}` is not a statement; a scenario begins with `cpus N` or `machine NAME`", keyword.text))
}

/// State of the parser: everything that the file has described so far.
pub(super) struct Parser<'a> {
    pub(super) machine: MachineDraft,
    named_machine: Option<String>,
    /// Number of CPUs of the machine on which the tasks run.
    nr_cpus: u32,
    is_replaced: bool,
    vary: Option<u64>,
    kernel_lookup: KernelLookup<'a>,
    /// `None` until the file names its kernel, or the first feature or tunable.
    switch_names: Option<SwitchNames>,
    kernel: Option<String>,
    tasks: TaskDrafts<'a>,
    changes: Vec<ChangeDraft<'a>>,
    packets: Vec<(PacketLoad, Token<'a>)>,
    responses: ResponseDrafts<'a>,
    /// End of the run, 1 s by default.
    pub(super) end: Nanos,
    trace: Option<u8>,
    pub(super) trace_pelt: bool,
    pub(super) trace_lag: bool,
    stats: Option<Nanos>,
    features: Vec<(String, bool)>,
    tunables: Vec<(TunableName, i64)>,
    arms: Vec<(TunableName, i64)>,
    groups: Vec<GroupSpec>,
    cpusets: Vec<CpusetSpec>,
    /// Largest number of bytes in a task's name.
    longest_name: usize,
}

impl<'a> Parser<'a> {
    /// Returns a parser for the machine that the file names, or for the one that was given in its place.
    fn with_named_machine(words: &mut Tokens<'_>, on: ParseContext<'a>) -> Result<Self, Message> {
        let name = words.word("a machine's name or path")?;
        let nr_cpus = match on.given {
            Some(nr_cpus) => nr_cpus,
            None => (on.named)(name.text).map_err(|why| words.locate(name, why))?,
        };
        let parser = Self::new(MachineDraft::symmetric(nr_cpus), ParseContext { given: None, ..on });
        Ok(Self { named_machine: Some(name.text.to_owned()), is_replaced: on.given.is_some(), ..parser })
    }

    fn new(machine: MachineDraft, on: ParseContext<'a>) -> Self {
        Self {
            nr_cpus: on.given.unwrap_or(machine.machine.nr_cpus),
            named_machine: None,
            is_replaced: on.given.is_some(),
            vary: on.vary,
            kernel_lookup: on.kernel,
            switch_names: None,
            kernel: None,
            machine,
            tasks: TaskDrafts::default(),
            changes: Vec::new(),
            packets: Vec::new(),
            responses: ResponseDrafts::default(),
            end: Nanos::from_secs(1),
            trace: None,
            trace_pelt: false,
            trace_lag: false,
            stats: None,
            features: Vec::new(),
            tunables: Vec::new(),
            arms: Vec::new(),
            groups: Vec::new(),
            cpusets: Vec::new(),
            longest_name: MAX_NAME,
        }
    }

    fn statement(&mut self, keyword: Token<'a>, words: &mut Tokens<'a>) -> Result<(), Message> {
        if let Some(statement) = Statement::by_keyword(keyword.text) {
            let is_about_machine = statement.about == StatementTopic::Machine;
            if let Some(name) = self.named_machine.as_deref().filter(|_| is_about_machine) {
                let help = format!("write a machine file with `base = \"{name}\"` that lists the differences");
                let message = format!("the machine is `{name}`, which has a file; `{}` cannot change it", keyword.text);
                return Err(words.error(keyword, message).with_help(help));
            }
            return (statement.read)(self, keyword, words);
        }
        let help = suggest::help(keyword.text, "statements", &keywords());
        Err(words.error(keyword, format!("unknown statement `{}`", keyword.text)).with_help(help))
    }

    pub(super) fn response(&mut self, keyword: Token<'a>, words: &mut Tokens<'a>) -> Result<(), Message> {
        check_limit(words, keyword.offset, self.responses.count(), MAX_RESPONSES)?;
        self.responses.statement(words)
    }

    pub(super) fn trace(&mut self, words: &mut Tokens<'a>) -> Result<(), Message> {
        let level = words.next_small("the level, 0 to 3", 0..=3)?;
        self.trace = Some(u8::try_from(level).expect("a level up to 3"));
        Ok(())
    }

    pub(super) fn stats(&mut self, words: &mut Tokens<'a>) -> Result<(), Message> {
        self.stats = Some(words.duration("the time between two snapshots")?).filter(|every| every.0 > 0);
        Ok(())
    }

    pub(super) fn feature(&mut self, keyword: Token<'a>, words: &mut Tokens<'a>) -> Result<(), Message> {
        let when = optional_time(words)?;
        let names = Feature::of_series(self.switch_names(keyword, words)?.series()).map(Feature::name);
        let name = self.switch_name(words, "feature", names)?;
        let on = words.flag("0 or 1")?;
        if let Some(at) = when {
            return self.add_change(
                words,
                keyword,
                ChangeDraft { at, task: None, change: Change::Feature { name, on } },
            );
        }
        check_limit(words, keyword.offset, self.features.len(), MAX_FEATURES)?;
        self.features.push((name, on));
        Ok(())
    }

    pub(super) fn tune(&mut self, keyword: Token<'a>, words: &mut Tokens<'a>) -> Result<(), Message> {
        let when = optional_time(words)?;
        let names = tunable_names(self.switch_names(keyword, words)?, TunableStatement::Tune);
        let name = self.switch_name(words, "tunable", names)?;
        let value = i64::from(words.next_small("a value", 0..=4_000_000_000)?);
        if let Some(at) = when {
            let change = Change::Tunable { name: name.into(), value };
            return self.add_change(words, keyword, ChangeDraft { at, task: None, change });
        }
        check_limit(words, keyword.offset, self.tunables.len(), MAX_TUNABLES)?;
        self.tunables.push((name.into(), value));
        Ok(())
    }

    /// Returns the names of the kernel's features and tunables.
    fn switch_names(&mut self, keyword: Token<'a>, words: &Tokens<'a>) -> Result<SwitchNames, Message> {
        if let Some(names) = self.switch_names {
            return Ok(names);
        }
        let names = (self.kernel_lookup)(None).map_err(|why| words.locate(keyword, why))?;
        self.switch_names = Some(names);
        Ok(names)
    }

    pub(super) fn kernel(&mut self, keyword: Token<'a>, words: &mut Tokens<'a>) -> Result<(), Message> {
        if self.kernel.is_some() {
            return Err(words.error(keyword, "`kernel` only once"));
        }
        if self.switch_names.is_some() {
            let error = words.error(keyword, "`kernel` must come before features, tunables and arms");
            return Err(error.with_help("move it up: their names depend on the kernel"));
        }
        let name = words.word("a release, such as 6.1")?;
        let names = (self.kernel_lookup)(Some(name.text)).map_err(|why| words.locate(name, why))?;
        (self.switch_names, self.kernel) = (Some(names), Some(name.text.to_owned()));
        Ok(())
    }

    /// Reads the name of a feature or tunable.
    fn switch_name(
        &self,
        words: &mut Tokens<'a>,
        kind: &str,
        known: impl Iterator<Item = &'static str>,
    ) -> Result<String, Message> {
        match self.switch_names.expect("`known` follows from it") {
            SwitchNames::BuiltIn(series) => known_name(words, kind, &format!("{kind}s of {series}"), known),
            SwitchNames::CompiledKernel(_) => Ok(words.word("a name and a value")?.text.to_owned()),
        }
    }

    pub(super) fn arm(&mut self, keyword: Token<'a>, words: &mut Tokens<'a>) -> Result<(), Message> {
        let names = tunable_names(self.switch_names(keyword, words)?, TunableStatement::Arm);
        let name = known_name(words, "arm", "arms", names)?;
        self.arms.push((name.into(), words.number("a value", -1..=1_000_000)?));
        Ok(())
    }

    pub(super) fn task(&mut self, words: &mut Tokens<'a>) -> Result<(), Message> {
        // `names()` would borrow the tasks too.
        let nr_cpus = self.nr_cpus;
        self.tasks.task(words, &ChangeNames { groups: &self.groups, cpusets: &self.cpusets, nr_cpus })
    }

    /// Reads a change of a group, a cpuset or CPUs.
    pub(super) fn change(
        &mut self,
        keyword: Token<'a>,
        words: &mut Tokens<'a>,
        read: ChangeReader,
    ) -> Result<(), Message> {
        check_limit(words, keyword.offset, self.changes.len(), MAX_CHANGES)?;
        let at = words.duration("the time of the change")?;
        let change = read(&self.names(), words)?;
        self.changes.push(ChangeDraft { at, task: None, change });
        Ok(())
    }

    /// Reads a change of a task.
    pub(super) fn task_change(
        &mut self,
        keyword: Token<'a>,
        words: &mut Tokens<'a>,
        read: ChangeReader,
    ) -> Result<(), Message> {
        check_limit(words, keyword.offset, self.changes.len(), MAX_CHANGES)?;
        let at = words.duration("the time of the change")?;
        let task = Some(words.name("the task's name", self.longest_name)?);
        let change = read(&self.names(), words)?;
        self.changes.push(ChangeDraft { at, task, change });
        Ok(())
    }

    /// Reads packets from outside the machine. The tasks that they wake are resolved at the end of the file.
    pub(super) fn packets(&mut self, words: &mut Tokens<'a>) -> Result<(), Message> {
        let word = words.word("the CPUs")?;
        let cpus = words.parse_cpus(word, self.nr_cpus)?;
        let every = words.duration("the time between two arrivals")?;
        if every == Nanos::ZERO {
            return Err(words
                .error(word, "the time between two arrivals of packets must not be 0")
                .with_help("packets LO-HI EVERY N TASK"));
        }
        let count = words.next_small("the number of packets per arrival", 1..=MAX_PACKETS)?;
        let task = words.name("the task's name", self.longest_name)?;
        for cpu in cpus {
            check_limit(words, word.offset, self.packets.len(), MAX_PACKET_LOADS)?;
            self.packets.push((PacketLoad { cpu, every, count, targets: Vec::new() }, task));
        }
        Ok(())
    }

    fn add_change(&mut self, words: &Tokens<'a>, keyword: Token<'a>, change: ChangeDraft<'a>) -> Result<(), Message> {
        check_limit(words, keyword.offset, self.changes.len(), MAX_CHANGES)?;
        self.changes.push(change);
        Ok(())
    }

    fn names(&self) -> ChangeNames<'_> {
        ChangeNames { groups: &self.groups, cpusets: &self.cpusets, nr_cpus: self.nr_cpus }
    }

    /// Adds the changes, packets and interrupts to a workload, one change for each task that a statement
    /// names.
    fn finish_into(self, source: SourceText<'a>, workload: &mut Workload) -> Result<(), Message> {
        for ChangeDraft { at, task, change } in self.changes {
            let Some(word) = task else {
                workload.changes.push((at, change));
                continue;
            };
            let named = find_tasks(source, workload, word, "to change")?;
            workload.changes.extend(named.into_iter().map(|task| (at, change.clone().with_task(task))));
        }
        add_packets(source, self.packets, workload)?;
        workload.irqs = self.machine.machine.irqs;
        Ok(())
    }

    fn finish(self, source: SourceText<'a>) -> Result<Scenario, Message> {
        let series = self.switch_names.map_or_else(|| (self.kernel_lookup)(None), Ok)?.series();
        let mut workload =
            Workload { groups: self.groups, cpusets: self.cpusets, duration: Some(self.end), ..Workload::default() };
        self.tasks.finish(source, self.changes, self.responses, self.vary, &mut workload)?;
        add_packets(source, self.packets, &mut workload)?;
        Ok(Scenario {
            machine: self.machine.finish(source)?,
            named_machine: self.named_machine,
            is_replaced: self.is_replaced,
            kernel: self.kernel,
            series,
            end: self.end,
            trace: self.trace,
            trace_pelt: self.trace_pelt,
            trace_lag: self.trace_lag,
            stats: self.stats,
            features: self.features,
            tunables: self.tunables,
            arms: self.arms,
            workload,
        })
    }
}

/// Adds packets to the workload, whose tasks are known now.
fn add_packets(
    source: SourceText<'_>,
    packets: Vec<(PacketLoad, Token<'_>)>,
    workload: &mut Workload,
) -> Result<(), Message> {
    for (load, word) in packets {
        let targets = find_tasks(source, workload, word, "to wake")?;
        workload.packets.push(PacketLoad { targets, ..load });
    }
    Ok(())
}

/// Returns the tasks with this name or family, without templates.
fn find_tasks(
    source: SourceText<'_>,
    workload: &Workload,
    word: Token<'_>,
    what_for: &str,
) -> Result<Vec<TaskIndex>, Message> {
    let tasks = workload.tasks.iter().enumerate().filter(|(_, task)| task.start_at.is_some());
    let is_named = |task: &TaskSpec| task.name == word.text || task.family == word.text;
    let named: Vec<TaskIndex> = tasks.clone().filter(|(_, task)| is_named(task)).map(|(index, _)| index).collect();
    if named.is_empty() {
        let names: Vec<&str> = tasks.flat_map(|(_, task)| [task.name.as_str(), &task.family]).collect();
        let help = suggest::help(word.text, "tasks", &names);
        return Err(source.error(word.offset, format!("no task `{}` {what_for}", word.text)).with_help(help));
    }
    Ok(named)
}

/// Reads the time at which a feature or tunable is set, if the statement has one before the name.
fn optional_time(words: &mut Tokens<'_>) -> Result<Option<Nanos>, Message> {
    if words.peek().is_some_and(|word| word.text.starts_with(|c: char| c.is_ascii_digit())) {
        return words.duration("the time of the change").map(Some);
    }
    Ok(None)
}

/// Returns the names of the tunables that a statement sets.
fn tunable_names(names: SwitchNames, statement: TunableStatement) -> impl Iterator<Item = &'static str> {
    let is_named = move |info: &&TunableInfo| info.statement == Some(statement) && names.has_tunable(info);
    TUNABLES.iter().filter(is_named).map(|info| info.name)
}

fn known_name(
    words: &mut Tokens<'_>,
    kind: &str,
    what: &str,
    known: impl Iterator<Item = &'static str>,
) -> Result<String, Message> {
    let word = words.word("a name and a value")?;
    let known: Vec<&str> = known.collect();
    if known.contains(&word.text) {
        return Ok(word.text.to_owned());
    }
    let help = suggest::help(word.text, what, &known);
    Err(words.error(word, format!("unknown {kind} `{}`", word.text)).with_help(help))
}
