// SPDX-License-Identifier: GPL-2.0-or-later
//! Table of the statements: keyword, syntax, meaning, and the code that reads each.
//!
//! The table is the only list: the lookup of keywords, the help about unknown ones and the tables of the book are
//! derived from it.

use super::parse::Parser;
use super::tokens::{Token, Tokens};
use crate::message::Message;
use fairlab_sched::tunables::{TUNABLES, TunableStatement};

/// Subject of a statement, which decides the table of the book that lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are named after what they mean")]
pub enum StatementTopic {
    Machine,
    Scheduler,
    Run,
    /// Change while tasks run.
    Change,
    /// Statement that has its own section in the book.
    Other,
}

/// Statement of scenario files.
#[derive(Debug)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct Statement {
    /// Word with which the statement begins.
    pub keyword: &'static str,
    pub about: StatementTopic,
    /// Syntax after the keyword.
    pub syntax: &'static str,
    /// Whether the reference does not know the statement.
    pub is_extension: bool,
    /// Whether files without a machine or tasks of their own also accept the statement.
    pub is_for_any_workload: bool,
    /// Value without the statement; empty if there is nothing to document.
    pub default: &'static str,
    meaning: &'static str,
    pub(super) read: StatementReader,
}

/// Reader of the rest of the statement.
type StatementReader = for<'a> fn(&mut Parser<'a>, Token<'a>, &mut Tokens<'a>) -> Result<(), Message>;

impl Statement {
    /// Returns the statement with a keyword.
    pub fn by_keyword(keyword: &str) -> Option<&'static Self> {
        STATEMENTS.iter().find(|statement| statement.keyword == keyword)
    }

    /// Returns the explanation of the statement, for the book. `{tune}` and `{arm}` are replaced by the names
    /// of the tunables that these statements set in some kernel.
    pub fn meaning(&self) -> String {
        let names = |statement| {
            let of_statement = TUNABLES.iter().filter(|info| info.statement == Some(statement));
            of_statement.map(|info| format!("`{}`", info.name)).collect::<Vec<_>>().join(", ")
        };
        self.meaning.replace("{tune}", &names(TunableStatement::Tune)).replace("{arm}", &names(TunableStatement::Arm))
    }
}

/// Returns the keywords of all statements, in the order of the table.
pub(super) fn keywords() -> Vec<&'static str> {
    STATEMENTS.iter().map(|statement| statement.keyword).collect()
}

/// Declares the statements: subject, keyword, syntax, whether it is an `extension` and accepted for `any`
/// workload (a change always is), meaning, default if there is one to document, and reader.
macro_rules! statements {
    ($($about:ident $keyword:literal $syntax:literal $($mark:ident)*: $meaning:literal $(or $default:literal)? => $read:expr;)*) => {
        /// All statements, in the order in which the book lists them.
        pub const STATEMENTS: &[Statement] = &[$(Statement {
            keyword: $keyword,
            about: StatementTopic::$about,
            syntax: $syntax,
            is_extension: false $(|| statements!(@extension $mark))*,
            is_for_any_workload: matches!(StatementTopic::$about, StatementTopic::Change) $(|| statements!(@any $mark))*,
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
    Run "end" "T": "end of the run; events at this time still happen" or "1 s" =>
        |parser, _, words| words.duration("the end of the scenario").map(|value| parser.end = value);
    Run "trace" "0..3": "how much a trace has: see [traces](formats.md#--trace-jsonl)" or "3" =>
        |parser, _, words| parser.trace(words);
    Run "tracepelt" "0/1": "1: the trace also has every update of an average" or "0" =>
        |parser, _, words| words.flag("0 or 1").map(|value| parser.trace_pelt = value);
    Run "tracelag" "0/1": "1: the trace also has virtual times, lags, deadlines and slices (since 6.12)" or "0" =>
        |parser, _, words| words.flag("0 or 1").map(|value| parser.trace_lag = value);
    Run "stats" "T": "a snapshot of the whole state every T; 0: none but the last" or "none but the last" =>
        |parser, _, words| parser.stats(words);
    Machine "ipi" "T": "time from the sending of an inter-processor interrupt to its handling" or "0" =>
        |parser, _, words| words.duration("the latency").map(|value| parser.machine.machine.ipi_latency = value);
    Machine "skew" "T": "CPU i ticks i times T later than CPU 0" or "0" =>
        |parser, _, words| words.duration("the skew").map(|value| parser.machine.machine.tick_skew = value);
    Machine "lbcost" "T":
        "each balancing pass of a CPU that runs out of work lets the scheduler's clock run ahead by T until the event ends, so that it measures a cost"
        or "0" =>
        |parser, _, words| words.duration("the cost").map(|value| parser.machine.machine.newidle_cost = value);
    Machine "scale" "0/1": "1: `run` is work at full capacity and frequency, longer on slower CPUs; 0: it is time" or "0" =>
        |parser, _, words| words.flag("0 or 1").map(|value| parser.machine.machine.scale_work = value);
    Scheduler "kernel" "RELEASE" extension:
        "the kernel of the run, a release that `fairlab kernels` lists; `--kernel` overrides it. Before features, tunables and arms"
        or "that of the machine file, or 6.12" =>
        |parser, keyword, words| parser.kernel(keyword, words);
    Scheduler "feature" "[T] NAME 0/1" any:
        "switch a feature, after the boot, or at T ¹; names as `fairlab features` lists them. At most 40" =>
        |parser, keyword, words| parser.feature(keyword, words);
    Scheduler "tune" "[T] NAME N" any: "set, after the boot or at T ¹, one of {tune}; values derived from it are not recomputed. At most 20" =>
        |parser, keyword, words| parser.tune(keyword, words);
    Scheduler "arm" "NAME N": "restore the behaviour before a published patch: {arm}" =>
        |parser, keyword, words| parser.arm(keyword, words);
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
        "steal time: a hypervisor takes FOR from each of these virtual CPUs in every EVERY. As in 6.1 it counts as interrupt time, but a part that exceeds the time since the last clock update is dropped"
        or "none" =>
        |parser, keyword, words| parser.machine.irq(keyword.offset, words, true);
    Other "response" "NAME from=POINT|TASK.every [to=POINT] [deadline=T]" extension:
        "measure the time from a point of a program, or from each expiry of a task's timers, to another point, or to the last thing that is done for it. At most 64" =>
        |parser, keyword, words| parser.response(keyword, words);
    Other "packets" "LO-HI EVERY N TASK" extension any:
        "at each of these CPUs N packets arrive from outside in every EVERY, the first after EVERY; each wakes the task, or those of a family in turn, once the network softirq has handled it, which costs `LoopbackSoftirq` of a machine file"
        or "none" =>
        |parser, _, words| parser.packets(words);
    Change "affinity" "T TASK LO-HI": "the task may use these CPUs" =>
        |parser, keyword, words| parser.task_change(keyword, words, |names, words| names.affinity(words));
    Change "nice" "T TASK N": "set the task's nice value" =>
        |parser, keyword, words| parser.task_change(keyword, words, |names, words| names.nice(words));
    Change "policy" "T TASK POLICY": "set the task's policy, written as in the options" =>
        |parser, keyword, words| parser.task_change(keyword, words, |names, words| names.policy(words));
    Change "clamp" "T TASK MIN MAX": "set the task's utilisation clamps" =>
        |parser, keyword, words| parser.task_change(keyword, words, |names, words| names.clamp(words));
    Change "move" "T TASK GROUP": "move the task to another group; `/` is the root group" =>
        |parser, keyword, words| parser.task_change(keyword, words, |names, words| names.move_to(words));
    Change "shares" "T GROUP N": "set the group's shares" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.shares(words));
    Change "quota" "T GROUP Q PERIOD [burst=T]":
        "set the group's quota (`cpu.max`), or remove it if Q is `none`, and its burst (`burst=T` ¹). Without `burst=` the burst stays, and a quota below it is rejected; in the reference it becomes 0" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.quota(words));
    Change "slice" "T TASK S":
        "set the task's slice (since 6.12), which the kernel limits to 0.1 to 100 ms; 0 is that of the kernel again, and so is a new policy" =>
        |parser, keyword, words| parser.task_change(keyword, words, |names, words| names.slice(words));
    Change "server" "T LO-HI RUNTIME PERIOD":
        "set runtime and period of the fair servers of these CPUs (since 6.12); a runtime of 0 switches them off" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.fair_server(words));
    Change "offline" "T LO-HI" extension: "these CPUs go offline, one after the other" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.hotplug(words, false));
    Change "online" "T LO-HI" extension: "these CPUs come online, one after the other" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.hotplug(words, true));
    Change "attach" "T TASK CPUSET" extension: "move the task to another cpuset; `/` is the top one" =>
        |parser, keyword, words| parser.task_change(keyword, words, |names, words| names.attach(words));
    Change "setcpus" "T CPUSET LO-HI" extension: "set the cpuset's CPUs" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.set_cpus(words));
    Change "thermal" "T LO-HI PART" extension:
        "cap the frequency of these CPUs at PART of 1024 of the highest; the lost capacity becomes thermal pressure" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.frequency_limit(words, true));
    Change "maxfreq" "T LO-HI PART" extension: "cap the frequency of these CPUs at PART of 1024 of the highest without thermal pressure, as a user does with `scaling_max_freq`" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.frequency_limit(words, false));
    Change "cpu_dma_latency" "T LIMIT" extension:
        "a process holds `/dev/cpu_dma_latency` at LIMIT from then on, in whole microseconds: no idle CPU enters a state with a longer exit latency; `none` ends the request" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.cpu_dma_latency(words));
    Change "groupclamp" "T GROUP MIN MAX" extension: "set the group's `umin` and `umax`" =>
        |parser, keyword, words| parser.change(keyword, words, |names, words| names.group_clamps(words));
    Other "cpuset" "NAME cpus=LO-HI" extension: "a cpuset below the top one" =>
        |parser, _, words| parser.cpuset(words);
    Other "group" "NAME [parent=GROUP] [shares=N] [quota=T] [period=T] [burst=T] [idle] [umin=N] [umax=N]": "a task group" =>
        |parser, _, words| parser.group(words);
    Other "task" "NAME [options] PROGRAM": "a task, or several" =>
        |parser, _, words| parser.task(words);
}
