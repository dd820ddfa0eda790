// SPDX-License-Identifier: GPL-2.0-or-later
//! Costs of kernel code from counts: instructions of a count sheet divided by a processor's speed, and
//! cache-line transfers multiplied by their latency.
//!
//! [`formulas`] says which rows of a sheet an operation consists of. The same formulas apply to every sheet,
//! machine, workload and arm.

mod formulas;
mod sheet;

use super::distance::ByDistance;
use super::processor::Processor;
use formulas::{
    CALLS, CHANNELS, ENQUEUE_LINES, FUTEX_LINES, Formula, MIGRATION_LINES, Numbers, OPERATION_FORMULAS, RQ_LINE,
    SCAN_LINES, STATISTICS_LINES, WAKER_LINES, WOKEN_LINES,
};
use sheet::{Row, Sheet};

/// Names of the sheets that are part of the program.
pub const SHEETS: [&str; sheet::NR_SHEETS] = sheet::names();

/// Cost of a system call in two halves: what the task executes before the call has its effect (entry, copy
/// in) and after it (return).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCost {
    /// Cost before the effect, in picoseconds.
    pub before_ps: u64,
    /// Cost after the effect, in picoseconds.
    pub after_ps: u64,
}

impl CallCost {
    /// Splits a cost: entry and exit take about the same time.
    pub const fn halves(ps: u64) -> Self {
        Self { before_ps: ps / 2, after_ps: ps - ps / 2 }
    }
}

/// Costs of messages through one kind of channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelCosts {
    /// A message is sent, and no task waits for it.
    pub send: CallCost,
    /// A message is received that is there already.
    pub receive: CallCost,
    /// Added to a send that wakes a receiver, in picoseconds, without the scheduler.
    pub wake_ps: u64,
    /// Added to a receive that waits, in picoseconds, without the scheduler.
    pub wait_ps: u64,
    /// The softirq that delivers a message, in picoseconds.
    pub softirq_ps: u64,
    /// Cache lines of a message that move to another CPU, in picoseconds at any CPU speed.
    pub lines_ps: ByDistance<u64>,
    /// Further lines that move when a send wakes a receiver on another CPU: the wait queue and its entries.
    pub wake_lines_ps: ByDistance<u64>,
    /// Additions for the bytes of a message.
    pub bytes: BytesCosts,
    /// Messages that are acknowledged.
    pub tcp: TcpCosts,
}

/// Additions to the cost of a message for its bytes, in picoseconds per KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BytesCosts {
    /// Sender.
    pub send_ps: u64,
    /// Receiver.
    pub receive_ps: u64,
    /// Sender, for bytes beyond the first page.
    pub send_pages_ps: u64,
    /// Receiver, for bytes beyond the first page.
    pub receive_pages_ps: u64,
    /// Cache lines that move if sender and receiver are on different CPUs, at any CPU speed.
    pub lines_ps: ByDistance<u64>,
}

/// Costs of acknowledgements, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCosts {
    /// The receiver sends a packet that only acknowledges, and the softirq receives it.
    pub acknowledge_ps: u64,
    /// A message is appended to one that waits for an acknowledgement.
    pub append: CallCost,
    /// The acknowledgement sends what has been appended, and the softirq delivers it.
    pub push_ps: u64,
}

/// Number of kinds of channel that have costs.
pub(super) const NR_CHANNELS: usize = 6;

/// Bytes of a page: what a pipe keeps free.
const PAGE_BYTES: u64 = 4096;

impl BytesCosts {
    /// Cost of this many bytes for the sender or the receiver, in picoseconds.
    pub fn call_ps(&self, is_send: bool, bytes: u64) -> u64 {
        let (each, pages) =
            if is_send { (self.send_ps, self.send_pages_ps) } else { (self.receive_ps, self.receive_pages_ps) };
        (bytes * each + bytes.saturating_sub(PAGE_BYTES) * pages) / 1024
    }
}

/// Costs of system calls that a count sheet has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallCosts {
    /// By kind of channel: pipe, socket pair, TCP, UDP, eventfd, TCP with epoll.
    pub channels: [ChannelCosts; NR_CHANNELS],
    /// A futex call that wakes a task.
    pub futex_wake: CallCost,
    /// A futex call that waits.
    pub futex_wait: CallCost,
    /// `sched_yield()`.
    pub sched_yield: CallCost,
    /// A sleep, with its timer.
    pub sleep: CallCost,
    /// Transfer of a runqueue's cache line, in picoseconds at any CPU speed.
    pub rq_line_ps: ByDistance<u64>,
    /// Transfer of the lines that a scan for an idle CPU reads of a CPU, in picoseconds at any CPU speed.
    pub scan_lines_ps: ByDistance<u64>,
    /// Transfer of the lines that load-balance statistics of a CPU need, in picoseconds at any CPU speed.
    pub statistics_lines_ps: ByDistance<u64>,
    /// Transfer of the line of a task group's load, in picoseconds at any CPU speed: its whole latency.
    pub group_line_ps: ByDistance<u64>,
    /// Transfer of the other lines that a remote enqueue needs, in picoseconds at any CPU speed.
    pub enqueue_lines_ps: ByDistance<u64>,
    /// Transfers to the waker when a wake-up is queued on another CPU, in picoseconds at any CPU speed.
    pub waker_lines_ps: ByDistance<u64>,
    /// Transfers to the other CPU, which enqueues the task.
    pub woken_lines_ps: ByDistance<u64>,
    /// Transfer of a task's lines to another CPU than the one on which it has run last, in picoseconds at any CPU speed.
    pub migration_lines_ps: ByDistance<u64>,
    /// Lines of a futex that move when a task on another CPU waits for it: its hash bucket and the waiter's entry.
    pub futex_lines_ps: ByDistance<u64>,
}

/// Names of the operations that are charged by themselves.
pub const OPERATIONS: [&str; OPERATION_FORMULAS.len()] = {
    let mut names = [""; OPERATION_FORMULAS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = OPERATION_FORMULAS[index].0;
        index += 1;
    }
    names
};

/// Costs of a processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedCosts {
    /// Costs of [`OPERATIONS`] in picoseconds, on a CPU of capacity 1024 at its highest frequency.
    pub operations: [u64; OPERATIONS.len()],
    /// Costs of system calls and cache lines.
    pub calls: CallCosts,
}

/// Returns the costs of a processor.
pub(super) fn costs(processor: &Processor) -> CountedCosts {
    let numbers = Numbers::new(Sheet::by_name(processor.sheet()));
    let ps = |formula: &Formula| instructions_ps(processor, formula, numbers.instructions(formula));
    let lines_ps = |formula: &Formula| lines_ps(processor, formula, numbers.lines(formula));
    let call = |name: &str| {
        CallCost::halves(ps(&CALLS.iter().find(|(known, _)| *known == name).expect("a call has a formula").1))
    };
    let channels = CHANNELS.each_ref().map(|channel| ChannelCosts {
        send: CallCost::halves(ps(&channel.send)),
        receive: CallCost::halves(ps(&channel.receive)),
        wake_ps: ps(&channel.wake),
        wait_ps: ps(&channel.wait),
        softirq_ps: ps(&channel.softirq),
        lines_ps: lines_ps(&channel.lines),
        wake_lines_ps: lines_ps(&channel.wake_lines),
        bytes: BytesCosts {
            send_ps: ps(&channel.bytes.send),
            receive_ps: ps(&channel.bytes.receive),
            send_pages_ps: ps(&channel.bytes.send_pages),
            receive_pages_ps: ps(&channel.bytes.receive_pages),
            lines_ps: lines_ps(&channel.bytes.lines),
        },
        tcp: TcpCosts {
            acknowledge_ps: ps(&channel.tcp.acknowledge),
            append: CallCost::halves(ps(&channel.tcp.append)),
            push_ps: ps(&channel.tcp.push),
        },
    });
    CountedCosts {
        operations: std::array::from_fn(|index| ps(&OPERATION_FORMULAS[index].1)),
        calls: CallCosts {
            channels,
            futex_wake: call("futex-wake"),
            futex_wait: call("futex-wait"),
            sched_yield: call("yield"),
            sleep: call("sleep"),
            rq_line_ps: lines_ps(&RQ_LINE),
            scan_lines_ps: lines_ps(&SCAN_LINES),
            statistics_lines_ps: lines_ps(&STATISTICS_LINES),
            group_line_ps: processor.whole_line_ps(),
            enqueue_lines_ps: lines_ps(&ENQUEUE_LINES),
            waker_lines_ps: lines_ps(&WAKER_LINES),
            woken_lines_ps: lines_ps(&WOKEN_LINES),
            migration_lines_ps: lines_ps(&MIGRATION_LINES),
            futex_lines_ps: lines_ps(&FUTEX_LINES),
        },
    }
}

/// Duration of an operation's instructions, given in tenths, in picoseconds.
fn instructions_ps(processor: &Processor, formula: &Formula, tenths: i64) -> u64 {
    if formula.is_loop() { processor.loop_ps(tenths) } else { processor.instructions_ps(tenths) }
}

/// Duration of the transfer of an operation's cache lines, given in tenths, in picoseconds.
fn lines_ps(processor: &Processor, formula: &Formula, tenths: i64) -> ByDistance<u64> {
    if formula.is_loop() { processor.loop_lines_ps(tenths) } else { processor.lines_ps(tenths) }
}

/// Returns the instructions of one round of an operation, with those of its own program. `None` if there is no such
/// sheet or operation.
pub fn counted_instructions(sheet: &str, operation: &str) -> Option<u64> {
    let name = SHEETS.iter().find(|known| **known == sheet)?;
    let rows = Sheet::by_name(name).operation(operation)?.iter().map(Row::instructions).sum::<i64>();
    Some(rows.unsigned_abs() / 10)
}

/// A cost with the count that it follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedCost {
    /// Operation or call.
    pub name: String,
    /// Instructions, in tenths; absent if the cost consists of cache lines.
    pub instructions: Option<i64>,
    /// Cache lines, in tenths; absent if the cost consists of instructions.
    pub lines: Option<i64>,
    /// Cost in picoseconds, for each distance between the CPUs. Instructions do not depend on the distance.
    pub ps: ByDistance<u64>,
    /// Rows of the sheet.
    pub rows: String,
}

/// Returns every cost of a processor with its count.
pub fn counted_costs(processor: &Processor) -> Vec<CountedCost> {
    let numbers = Numbers::new(Sheet::by_name(processor.sheet()));
    let named = |name: String, formula: &Formula| {
        let rows = formula.describe();
        if formula.is_lines() {
            let lines = numbers.lines(formula);
            let ps = lines_ps(processor, formula, lines);
            return CountedCost { name, instructions: None, lines: Some(lines), ps, rows };
        }
        let counted = numbers.instructions(formula);
        let ps = instructions_ps(processor, formula, counted);
        CountedCost { name, instructions: Some(counted), lines: None, ps: ByDistance::from_fn(|_| ps), rows }
    };
    let lines = [
        ("runqueue line", &RQ_LINE),
        ("scan lines", &SCAN_LINES),
        ("statistics lines", &STATISTICS_LINES),
        ("remote enqueue lines", &ENQUEUE_LINES),
        ("queued wake-up lines, waker", &WAKER_LINES),
        ("queued wake-up lines, woken CPU", &WOKEN_LINES),
        ("migration lines", &MIGRATION_LINES),
        ("futex lines", &FUTEX_LINES),
    ];
    let group_line = CountedCost {
        name: "group load line".to_owned(),
        instructions: None,
        lines: Some(10),
        ps: processor.whole_line_ps(),
        rows: "one line, without overlap".to_owned(),
    };
    let operations = OPERATION_FORMULAS.iter().chain(CALLS).map(|(name, formula)| (*name, formula)).chain(lines);
    let operations = operations.map(|(name, formula)| named(name.to_owned(), formula));
    let channels = CHANNELS.iter().flat_map(|channel| {
        let formulas = channel.named().into_iter().filter(|(_, formula)| !formula.is_empty());
        formulas.map(|(what, formula)| named(format!("{} {what}", channel.name), formula))
    });
    operations.chain([group_line]).chain(channels).collect()
}
