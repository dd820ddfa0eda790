// SPDX-License-Identifier: GPL-2.0-or-later
//! The list of statements: what each is called, what follows it, what it means and how it is read.
//!
//! There is no other: whoever asks whether a word is a statement, the help about unknown ones and the book's tables follow it.

use super::parse::{Parser, names_for};
use super::tokens::{Token, Tokens};
use crate::error::ParseError;
use fairlab_sched::tunables::SetBy;

/// What a statement is about: the table of the book in which it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The machine.
    Machine,
    /// The scheduler.
    Scheduler,
    /// The run as a whole.
    Run,
    /// What changes while tasks run.
    Change,
    /// Something that the book gives a section of its own.
    Other,
}

/// A statement.
#[derive(Debug)]
pub struct Statement {
    /// The word with which it begins.
    pub keyword: &'static str,
    /// What it is about.
    pub about: About,
    /// What follows the keyword.
    pub syntax: &'static str,
    /// Whether the reference program does not know it.
    pub is_extension: bool,
    /// Whether it also has a place where machine and tasks come from other files.
    pub is_for_any_workload: bool,
    /// What holds without it; empty if there is nothing to say.
    pub default: &'static str,
    meaning: &'static str,
    pub(super) read: StatementReader,
}

/// Reads what follows the keyword.
type StatementReader = for<'a> fn(&mut Parser<'a>, Token<'a>, &mut Tokens<'a>) -> Result<(), ParseError>;

impl Statement {
    /// The statement with a keyword.
    pub fn named(keyword: &str) -> Option<&'static Self> {
        STATEMENTS.iter().find(|statement| statement.keyword == keyword)
    }

    /// What it means. `{tune}` and `{arm}` stand for the names of the tunables that these statements set.
    pub fn meaning(&self) -> String {
        let names = |statement| names_for(statement).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        self.meaning.replace("{tune}", &names(SetBy::Tune)).replace("{arm}", &names(SetBy::Arm))
    }
}

/// All keywords.
pub(super) fn keywords() -> Vec<&'static str> {
    STATEMENTS.iter().map(|statement| statement.keyword).collect()
}

/// Declares the statements: what it is about, the keyword, what follows, whether it is an `extension` and for `any` workload (a change
/// always is), the meaning, the default if there is one to tell, and the reader.
macro_rules! statements {
    ($($about:ident $keyword:literal $syntax:literal $($mark:ident)*: $meaning:literal $(or $default:literal)? => $read:expr;)*) => {
        /// All statements.
        pub const STATEMENTS: &[Statement] = &[$(Statement {
            keyword: $keyword,
            about: About::$about,
            syntax: $syntax,
            is_extension: false $(|| statements!(@extension $mark))*,
            is_for_any_workload: matches!(About::$about, About::Change) $(|| statements!(@any $mark))*,
            default: concat!($($default)?),
            meaning: $meaning,
            read: $read,
        },)*];
    };
    (@extension extension) => { true };
    (@extension any) => { false };
    (@any any) => { true };
    (@any extension) => { false };
}

statements! {
    Machine "machine" "NAME|PATH" extension:
        "the machine of a machine file, in place of `cpus` and all other statements about the machine; the first statement" =>
        |_, keyword, words| Err(words.error(keyword, "`machine` must be the first statement, in place of `cpus`"));
    Machine "cpus" "N": "number of CPUs, 1 to 4096 (the reference program: 256); only once" or "required" =>
        |_, keyword, words| Err(words.error(keyword, "`cpus` only once"));
    Machine "topo" "[smt=A] [cls=B] [llc=C] [pkg=D] [node=E]":
        "CPUs in each core, cluster, last-level cache, package, NUMA node: CPU i is in core i / A, and so on"
        or "every CPU its own core and cluster; one cache, package and node" =>
        |parser, _, words| parser.machine.topo(words);
    Machine "smtmap" "CORE...": "the core of each CPU" =>
        |parser, _, words| parser.machine.smtmap(words);
    Machine "caps" "CAPACITY...": "the capacity of each CPU, 1 to 1024" or "1024" =>
        |parser, _, words| parser.machine.caps(words);
    Machine "levels" "LETTERS":
        "levels of sched domains, lowest first: `S` SMT, `C` cluster, `M` last-level cache, `P` package, `A` all CPUs. A level of all CPUs of a node, and levels between nodes, follow by themselves, as in the kernel, so that `M` alone still balances between caches; levels that add nothing are dropped"
        or "`MA`" =>
        |parser, _, words| parser.machine.levels(words);
    Machine "dist" "N D...": "distances of N nodes, row by row, 10 to 255" or "10 to itself, 20 to others" =>
        |parser, keyword, words| parser.machine.dist(keyword.offset, words);
    Run "end" "T": "the end; what happens at this very time still happens" or "1 s" =>
        |parser, _, words| words.duration("when the scenario ends").map(|value| parser.end = value);
    Run "trace" "0..3": "how much a trace has: see [traces](running.md#traces)" or "3" =>
        |parser, _, words| parser.trace(words);
    Run "tracepelt" "0/1": "every refresh of an average too" or "0" =>
        |parser, _, words| words.flag("0 or 1").map(|value| parser.trace_pelt = value);
    Run "stats" "T": "a snapshot of the whole state every T; 0: none but the last" or "none but the last" =>
        |parser, _, words| parser.stats(words);
    Machine "ipi" "T": "from the sending of an interrupt to another CPU until it is handled" or "0" =>
        |parser, _, words| words.duration("the latency").map(|value| parser.machine.machine.ipi_latency = value);
    Machine "skew" "T": "CPU i ticks i times T later than CPU 0" or "0" =>
        |parser, _, words| words.duration("the skew").map(|value| parser.machine.machine.tick_skew = value);
    Machine "lbcost" "T":
        "each balancing pass of a CPU that runs out of work lets the scheduler's clock run ahead by T until the event ends, so that it measures a price"
        or "0" =>
        |parser, _, words| words.duration("the cost").map(|value| parser.machine.machine.newidle_cost = value);
    Machine "scale" "0/1": "1: `run` is work at full capacity and frequency, longer on slower CPUs; 0: it is time" or "0" =>
        |parser, _, words| words.flag("0 or 1").map(|value| parser.machine.machine.scale_work = value);
    Scheduler "feature" "[T] NAME 0/1" any:
        "switch a feature, after the boot, or at T ¹; names as `fairlab features` lists them. At most 40" =>
        |parser, keyword, words| parser.feature(keyword, words);
    Scheduler "tune" "[T] NAME N" any: "set, after the boot or at T ¹, one of {tune}; nothing is derived anew from it. At most 20" =>
        |parser, keyword, words| parser.tune(keyword, words);
    Scheduler "arm" "NAME N": "set a published change back: {arm}" =>
        |parser, _, words| parser.arm(words);
    Machine "freq" "T CPU PART":
        "at T the CPU gets PART of 1024 of its highest frequency; at most 10 000 of these" or "1024" =>
        |parser, keyword, words| parser.machine.freq(keyword.offset, words);
    Machine "fdom" "LO-HI KHZ[:UW]...":
        "a frequency domain that schedutil drives, frequencies ascending; with powers in microwatts, for all or for none, it has an energy model. At most 16 domains of 16 frequencies, and not together with `freq`"
        or "none" =>
        |parser, keyword, words| parser.machine.fdom(keyword.offset, words);
    Machine "irq" "LO-HI EVERY FOR" any:
        "each of these CPUs loses FOR to an interrupt in every EVERY; the first ends at EVERY" or "none" =>
        |parser, keyword, words| parser.machine.irq(keyword.offset, words, false);
    Machine "steal" "LO-HI EVERY FOR" extension any:
        "the same for a host that takes FOR from these CPUs, which are virtual ones, in every EVERY. As in 6.1 it counts as interrupt time, but what a clock cannot place any more is dropped"
        or "none" =>
        |parser, keyword, words| parser.machine.irq(keyword.offset, words, true);
    Other "packets" "LO-HI EVERY N TASK" extension any:
        "at each of these CPUs N packets arrive from outside in every EVERY, the first after EVERY; each wakes the task, or those of a family in turn, once the softirq of the network has taken it in. That costs `LoopbackSoftirq` of a machine file"
        or "none" =>
        |parser, _, words| parser.packets(words);
    Change "affinity" "T TASK LO-HI": "the task may use these CPUs" =>
        |parser, keyword, words| parser.task_change(keyword, words, |names, words| names.affinity(words));
    Change "nice" "T TASK N": "it has another nice value" =>
        |parser, keyword, words| parser.task_change(keyword, words, |names, words| names.nice(words));
    Change "policy" "T TASK POLICY": "it has another policy, written as in the options" =>
        |parser, keyword, words| parser.task_change(keyword, words, |names, words| names.policy(words));
    Change "clamp" "T TASK MIN MAX": "it has these utilisation clamps" =>
        |parser, keyword, words| parser.task_change(keyword, words, |names, words| names.clamp(words));
    Change "move" "T TASK GROUP": "it goes to another group; `/` is the root group" =>
        |parser, keyword, words| parser.task_change(keyword, words, |names, words| names.move_to(words));
    Change "shares" "T GROUP N": "the group has other shares" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.shares(words));
    Change "quota" "T GROUP Q PERIOD": "the group has another quota, or none if Q is `none`" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.quota(words));
    Change "offline" "T LO-HI" extension: "these CPUs go offline, one after the other" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.hotplug(words, false));
    Change "online" "T LO-HI" extension: "they come back" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.hotplug(words, true));
    Change "attach" "T TASK CPUSET" extension: "the task goes to another cpuset; `/` is the top one" =>
        |parser, keyword, words| parser.task_change(keyword, words, |names, words| names.attach(words));
    Change "setcpus" "T CPUSET LO-HI" extension: "the cpuset has other CPUs" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.set_cpus(words));
    Change "thermal" "T LO-HI PART" extension:
        "heat limits the frequency of these CPUs to PART of 1024 of the highest, and what is lost becomes thermal pressure" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.frequency_limit(words, true));
    Change "maxfreq" "T LO-HI PART" extension: "the user limits it, as by `scaling_max_freq`" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.frequency_limit(words, false));
    Change "cpu_dma_latency" "T LIMIT" extension:
        "somebody holds `/dev/cpu_dma_latency` at LIMIT from then on, in whole microseconds: no idle CPU enters a state that takes longer to leave; `none` lets go" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.cpu_dma_latency(words));
    Change "groupclamp" "T GROUP MIN MAX" extension: "the group has other `umin` and `umax`" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.group_clamps(words));
    Other "cpuset" "NAME cpus=LO-HI" extension: "a cpuset below the top one" =>
        |parser, _, words| parser.cpuset(words);
    Other "group" "NAME [parent=GROUP] [shares=N] [quota=T] [period=T] [burst=T] [idle] [umin=N] [umax=N]": "a task group" =>
        |parser, _, words| parser.group(words);
    Other "task" "NAME [options] PROGRAM": "a task, or several" =>
        |parser, _, words| parser.task(words);
}
