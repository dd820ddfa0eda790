// SPDX-License-Identifier: GPL-2.0-or-later
//! Formulas of operations: sums of rows of a count sheet.
//!
//! Operations of the scheduler come from round trips over a pipe between two CPUs: two wake-ups a round, in which each
//! path runs exactly once. The rows of tasks that block are `read`, those of the woken CPU are `interrupt` and
//! `idle`. System calls of a channel come from tests in which one task writes and reads alone (`pass-pipe`).

use super::sheet::{Row, Sheet};

/// A round trip over a pipe between two CPUs, of two messages and two wake-ups.
const ROUND: &str = "pingpong-pipe-2cpus size=1";
/// A round trip between tasks of a group five levels deep.
const DEEP_ROUND: &str = "pingpong-pipe-2cpus size=1 groups=5";
/// A round trip over futexes between two CPUs.
const FUTEX_ROUND: &str = "pingpong-futex-2cpus size=1";

/// Parts of the scheduler and of what a switch, an interrupt or an idle CPU executes. The cost of a system
/// call does not contain them: the scheduler's own operations are charged for them.
const SCHEDULER: &[&str] = &[
    "switch",
    "pick",
    "newidle",
    "wakeup",
    "select",
    "enqueue",
    "dequeue",
    "load-tracking",
    "groups",
    "preempt",
    "psi",
    "rcu",
    "nohz-kick",
    "nohz-idle",
    "blocked-load",
    "balance",
    "group-stats",
    "migrate",
    "idle",
    "idle-governor",
    "idle-tick",
    "ipi-send",
    "ipi",
    "sched-tick",
    "spin",
];

/// Parts that a sum takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parts {
    All,
    Of(&'static [&'static str]),
    /// All but these.
    Without(&'static [&'static str]),
}

/// A sum over rows of one operation, multiplied by `times` and divided by `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sum {
    operation: &'static str,
    /// Empty: all but that of the guest's own program.
    sides: &'static [&'static str],
    parts: Parts,
    times: i64,
    of: Divisor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Divisor {
    Number(i64),
    /// Calls of a part on the sides of the sum, times a number.
    Calls(&'static str, i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Instructions,
    /// Instructions of a loop that scans CPUs.
    Loop,
    Lines,
    /// Lines that a loop that scans CPUs reads.
    LoopLines,
}

/// How a cost follows from a sheet: sums of rows, or a number of instructions counted elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Formula {
    kind: Kind,
    sums: &'static [Sum],
    /// Instructions that are not in sheets, with their source.
    constant: Option<(i64, &'static str)>,
    /// Multiples of GroupLevel, in halves, that the rows contain and the operation does not; negative if the operation
    /// has more of them than the rows.
    half_levels: i64,
}

impl Formula {
    /// Whether the cost consists of cache lines.
    pub(super) const fn is_lines(&self) -> bool {
        matches!(self.kind, Kind::Lines | Kind::LoopLines)
    }

    /// Whether a loop that scans CPUs executes the instructions or reads the lines.
    pub(super) const fn is_loop(&self) -> bool {
        matches!(self.kind, Kind::Loop | Kind::LoopLines)
    }

    /// Whether the cost is always 0.
    pub(super) const fn is_empty(&self) -> bool {
        self.sums.is_empty() && self.constant.is_none()
    }

    /// Describes the rows.
    pub(super) fn describe(&self) -> String {
        let sum = |sum: &Sum| {
            let sides = if sum.sides.is_empty() { "all sides".to_owned() } else { sum.sides.join("+") };
            let parts = match sum.parts {
                Parts::All => "all parts".to_owned(),
                Parts::Of(parts) => parts.join("+"),
                Parts::Without(parts) if parts == SCHEDULER => "all parts but the scheduler's".to_owned(),
                Parts::Without(parts) => format!("all parts but {}", parts.join("+")),
            };
            let of = match sum.of {
                Divisor::Number(of) => format!("{}/{of}", sum.times),
                Divisor::Calls(part, 1) => format!("{}/calls of {part}", sum.times),
                Divisor::Calls(part, of) => format!("{}/{of} and calls of {part}", sum.times),
            };
            format!("{of} of {} ({sides}: {parts})", sum.operation)
        };
        let mut terms: Vec<String> = self.sums.iter().map(sum).collect();
        terms.extend(self.constant.map(|(instructions, source)| format!("{instructions} ({source})")));
        if self.half_levels != 0 {
            terms.push(format!("{}/2 GroupLevel", -self.half_levels));
        }
        terms.join(" + ")
    }
}

const fn rows(operation: &'static str, sides: &'static [&'static str], parts: Parts, of: i64) -> Sum {
    Sum { operation, sides, parts, times: 1, of: Divisor::Number(of) }
}

const fn minus(sum: Sum) -> Sum {
    Sum { times: -sum.times, ..sum }
}

const fn per_call(operation: &'static str, sides: &'static [&'static str], parts: Parts, part: &'static str) -> Sum {
    Sum { operation, sides, parts, times: 1, of: Divisor::Calls(part, 1) }
}

const fn instructions(sums: &'static [Sum]) -> Formula {
    Formula { kind: Kind::Instructions, sums, constant: None, half_levels: 0 }
}

const fn without_levels(half_levels: i64, sums: &'static [Sum]) -> Formula {
    Formula { kind: Kind::Instructions, sums, constant: None, half_levels }
}

const fn lines(sums: &'static [Sum]) -> Formula {
    Formula { kind: Kind::Lines, sums, constant: None, half_levels: 0 }
}

/// Instructions that no sheet has yet.
const fn counted_elsewhere(number: i64, source: &'static str) -> Formula {
    Formula { kind: Kind::Instructions, sums: &[], constant: Some((number, source)), half_levels: 0 }
}

/// Addition of a level of task groups to each of the three visits of a wake-up: enqueue, dequeue and pick.
const GROUP_LEVEL: Formula = instructions(&[
    rows(DEEP_ROUND, &[], Parts::Without(&["load-tracking"]), 5 * 2 * 3),
    minus(rows(ROUND, &[], Parts::Without(&["load-tracking"]), 5 * 2 * 3)),
]);

/// Passes of newly-idle and of periodic balancing over few and over many CPUs, none of which has a task to pull.
const SMALL_PASS: &str = "newidle cpus=4";
const LARGE_PASS: &str = "newidle cpus=12";
/// Number of CPUs of these passes.
const PASS_CPUS: (i64, i64) = (4, 12);
/// Sides on which passes run.
const PASS_SIDES: &[&str] = &["clock_nanosleep", "softirq"];

/// Statistics of one CPU: the difference between passes over many and over few CPUs.
const STATISTICS: [Sum; 2] = [
    Sum { of: STATISTICS_CALLS, ..rows(LARGE_PASS, PASS_SIDES, Parts::Of(&["group-stats"]), 1) },
    Sum { times: -1, of: STATISTICS_CALLS, ..rows(SMALL_PASS, PASS_SIDES, Parts::Of(&["group-stats"]), 1) },
];
const STATISTICS_CALLS: Divisor = Divisor::Calls("group-stats", PASS_CPUS.1 - PASS_CPUS.0);

/// Wake-ups while few and while many CPUs are busy, each of which a scan samples.
const SMALL_SCAN: &str = "scan cpus=4";
const LARGE_SCAN: &str = "scan cpus=12";

/// Sample of one CPU by a scan for an idle one: the difference between scans of many and of few CPUs.
const SCAN: [Sum; 2] = {
    const fn selection(operation: &'static str) -> Sum {
        Sum { of: SCAN_CALLS, ..rows(operation, &["futex-wake"], Parts::Of(&["select"]), 1) }
    }
    [selection(LARGE_SCAN), minus(selection(SMALL_SCAN))]
};
const SCAN_CALLS: Divisor = Divisor::Calls("select", PASS_CPUS.1 - PASS_CPUS.0);

/// Instructions of one scaling by frequency and capacity.
const PELT_SCALE: i64 = 14;

const REFERENCE: &str = "counted in the reference program";
const ESTIMATED: &str = "estimated";

/// Operations of the scheduler and the machine.
pub(super) const OPERATION_FORMULAS: &[(&str, Formula)] = &[
    // Half of the switches scale the runqueue's clock, which is charged by itself.
    (
        "ContextSwitch",
        Formula {
            constant: Some((-PELT_SCALE / 2, "half of PeltScale")),
            ..instructions(&[rows(ROUND, &["read", "idle"], Parts::Of(&["switch", "rcu"]), 4)])
        },
    ),
    ("Wakeup", instructions(&[rows(ROUND, &["write", "interrupt"], Parts::Of(&["wakeup"]), 2)])),
    (
        "Enqueue",
        without_levels(2, &[rows(ROUND, &["interrupt"], Parts::Of(&["enqueue", "groups", "preempt", "psi"]), 2)]),
    ),
    ("Dequeue", without_levels(2, &[rows(ROUND, &["read"], Parts::Of(&["dequeue", "groups", "psi"]), 2)])),
    // Six averages are updated in a wake-up: those of a task and of its runqueue in enqueue, dequeue and pick.
    ("PeltUpdate", instructions(&[rows(ROUND, &["read", "idle", "interrupt"], Parts::Of(&["load-tracking"]), 12)])),
    ("PeltScale", counted_elsewhere(PELT_SCALE, "counted in fairlab's load tracking")),
    ("GroupLevel", GROUP_LEVEL),
    (
        "PickNext",
        without_levels(
            1,
            &[rows(ROUND, &["read", "idle"], Parts::Of(&["pick"]), 4), rows(ROUND, &["idle"], Parts::Of(&["psi"]), 4)],
        ),
    ),
    (
        "Tick",
        without_levels(
            2,
            &[per_call(
                "tick",
                &["interrupt"],
                Parts::Without(&["load-tracking", "nohz-kick", "timekeeping", "rcu"]),
                "sched-tick",
            )],
        ),
    ),
    ("NohzKick", instructions(&[per_call("tick", &["interrupt"], Parts::Of(&["nohz-kick"]), "nohz-kick")])),
    ("Timekeeping", instructions(&[per_call("tick", &["interrupt"], Parts::Of(&["timekeeping"]), "timekeeping")])),
    ("ScanCpu", Formula { kind: Kind::Loop, ..instructions(&SCAN) }),
    ("ScanCore", Formula { kind: Kind::Loop, ..counted_elsewhere(60, ESTIMATED) }),
    ("BlockedCfsRq", counted_elsewhere(135, REFERENCE)),
    ("GroupStatCpu", instructions(&STATISTICS)),
    ("QueueStatCpu", counted_elsewhere(46, REFERENCE)),
    ("RqLock", counted_elsewhere(40, ESTIMATED)),
    ("DetachScan", counted_elsewhere(97, REFERENCE)),
    ("DetachTask", counted_elsewhere(475, REFERENCE)),
    ("AttachTask", counted_elsewhere(615, REFERENCE)),
    // Statistics of a pass that do not depend on the number of CPUs are part of it.
    (
        "BalancePass",
        instructions(&[
            per_call(LARGE_PASS, PASS_SIDES, Parts::Of(&["balance"]), "group-stats"),
            per_call(LARGE_PASS, PASS_SIDES, Parts::Of(&["group-stats"]), "group-stats"),
            Sum { times: -PASS_CPUS.1, ..STATISTICS[0] },
            Sum { times: PASS_CPUS.1, ..STATISTICS[1] },
        ]),
    ),
    ("NohzExit", counted_elsewhere(120, ESTIMATED)),
    (
        "CpufreqUpdate",
        counted_elsewhere(
            600,
            "counted in the reference program: mean of updates and of requests within the rate limit",
        ),
    ),
    ("TicklessCpu", counted_elsewhere(30, ESTIMATED)),
    ("SoftirqRaise", counted_elsewhere(400, ESTIMATED)),
    ("IpiSend", instructions(&[rows(ROUND, &["write"], Parts::Of(&["ipi-send"]), 2)])),
    (
        "IpiReceive",
        instructions(&[rows(ROUND, &["interrupt"], Parts::Of(&["entry", "interrupt", "ipi", "idle-tick"]), 2)]),
    ),
    (
        "IdleEnter",
        instructions(&[
            rows(ROUND, &["idle"], Parts::Of(&["idle", "idle-tick", "nohz-idle"]), 4),
            rows(ROUND, &["idle"], Parts::Of(&["idle-governor", "timer-wheel"]), 2),
            rows(ROUND, &["read"], Parts::Of(&["newidle"]), 2),
        ]),
    ),
    (
        "IdleExit",
        instructions(&[
            rows(ROUND, &["idle"], Parts::Of(&["idle", "idle-tick", "nohz-idle"]), 4),
            rows(ROUND, &["idle"], Parts::Of(&["ipi"]), 2),
        ]),
    ),
    ("HrtimerProgram", instructions(&[rows("timer-set", &["timerfd_settime"], Parts::Of(&["hrtimer-program"]), 1)])),
    (
        "HrtimerFire",
        instructions(&[per_call("sleep-200us", &["interrupt"], Parts::Of(&["hrtimer-fire"]), "hrtimer-fire")]),
    ),
    (
        "Fork",
        instructions(&[rows(
            "thread",
            &["clone3", "clone", "rt_sigprocmask", "rseq", "set_robust_list", "new-task", "entry"],
            Parts::Without(SCHEDULER),
            1,
        )]),
    ),
    (
        "Exit",
        instructions(&[rows("thread", &["exit", "madvise", "softirq", "futex-wake"], Parts::Without(SCHEDULER), 1)]),
    ),
];

/// Lines of other CPUs that load-balance statistics read, when these CPUs have switched since.
pub(super) const STATISTICS_LINES: Formula = lines(&STATISTICS);

/// Lines of a CPU that a scan for an idle one reads, when the CPU has switched since. In the larger machine, not every
/// CPU has between two rounds.
pub(super) const SCAN_LINES: Formula = Formula {
    kind: Kind::LoopLines,
    ..lines(&[rows(SMALL_SCAN, &["futex-wake"], Parts::Of(&["select"]), PASS_CPUS.0 - 1)])
};

/// Cache lines of a runqueue that a wake-up on another CPU moves.
pub(super) const RQ_LINE: Formula =
    lines(&[rows(ROUND, &["interrupt", "idle"], Parts::Of(&["pick", "switch", "enqueue"]), 4)]);

/// Cache lines of a wake-up on another CPU that are neither the runqueue's nor the channel's.
pub(super) const ENQUEUE_LINES: Formula =
    lines(&[rows(ROUND, &["write", "interrupt"], Parts::Of(&["wakeup", "ipi-send", "ipi"]), 2)]);

/// The part of these lines that moves to the waker, if it queues the wake-up on the other CPU.
pub(super) const WAKER_LINES: Formula = lines(&[rows(ROUND, &["write"], Parts::Of(&["wakeup", "ipi-send"]), 2)]);

/// The part that moves to the other CPU, which enqueues the task.
pub(super) const WOKEN_LINES: Formula =
    lines(&[rows(ROUND, &["interrupt"], Parts::Of(&["wakeup", "ipi", "preempt"]), 2)]);

/// Cache lines of a task that move to another CPU than the one on which it has run last.
///
/// Lines of ticks, which fall into these rounds, are left out.
pub(super) const MIGRATION_LINES: Formula = {
    const fn of(operation: &'static str) -> [Sum; 3] {
        const INTERRUPT: &[&str] = &["enqueue", "load-tracking", "wakeup", "psi", "ipi"];
        [
            rows(operation, &["futex-wake", "futex-wait", "futex", "entry"], Parts::All, 1),
            rows(operation, &["idle"], Parts::Of(&["switch"]), 1),
            rows(operation, &["interrupt"], Parts::Of(INTERRUPT), 1),
        ]
    }
    const SAME: [Sum; 3] = of("wake-up cpu=same");
    const OTHER: [Sum; 3] = of("wake-up cpu=other");
    lines(&[OTHER[0], OTHER[1], OTHER[2], minus(SAME[0]), minus(SAME[1]), minus(SAME[2])])
};

/// Cache lines of a futex that a wake-up on another CPU moves.
pub(super) const FUTEX_LINES: Formula =
    lines(&[rows(FUTEX_ROUND, &["futex-wake", "futex-wait", "futex"], Parts::Without(SCHEDULER), 2)]);

/// System calls without a channel.
pub(super) const CALLS: &[(&str, Formula)] = &[
    (
        "futex-wake",
        instructions(&[
            rows(FUTEX_ROUND, &["futex-wake"], Parts::Without(SCHEDULER), 2),
            rows(FUTEX_ROUND, &["futex", "entry"], Parts::Without(SCHEDULER), 4),
        ]),
    ),
    (
        "futex-wait",
        instructions(&[
            rows(FUTEX_ROUND, &["futex-wait"], Parts::Without(SCHEDULER), 2),
            rows(FUTEX_ROUND, &["futex", "entry"], Parts::Without(SCHEDULER), 4),
        ]),
    ),
    (
        "yield",
        // Less PickNext, which the yield itself is charged for.
        without_levels(
            -1,
            &[
                rows("yield", &[], Parts::All, 1),
                minus(rows(ROUND, &["read", "idle"], Parts::Of(&["pick"]), 4)),
                minus(rows(ROUND, &["idle"], Parts::Of(&["psi"]), 4)),
            ],
        ),
    ),
    (
        "sleep",
        instructions(&[
            rows("sleep-200us", &["clock_nanosleep", "nanosleep", "entry"], Parts::Without(SCHEDULER), 1),
            rows(
                "sleep-200us",
                &["interrupt"],
                Parts::Of(&["hrtimer-fire", "hrtimer-program", "sleep", "interrupt"]),
                1,
            ),
        ]),
    ),
];

/// Formulas of one kind of channel.
pub(super) struct ChannelFormulas {
    pub(super) name: &'static str,
    pub(super) send: Formula,
    pub(super) receive: Formula,
    pub(super) wake: Formula,
    pub(super) wait: Formula,
    pub(super) softirq: Formula,
    pub(super) lines: Formula,
    pub(super) wake_lines: Formula,
    pub(super) bytes: BytesFormulas,
    pub(super) tcp: TcpFormulas,
}

/// Additions for the bytes of a message, by KiB.
pub(super) struct BytesFormulas {
    pub(super) send: Formula,
    pub(super) receive: Formula,
    /// Additions for bytes beyond the first page.
    pub(super) send_pages: Formula,
    pub(super) receive_pages: Formula,
    /// Lines that move if sender and receiver are on different CPUs.
    pub(super) lines: Formula,
}

/// Costs of messages that are acknowledged.
pub(super) struct TcpFormulas {
    /// A packet that only acknowledges.
    pub(super) acknowledge: Formula,
    /// A message that is appended to one that waits.
    pub(super) append: Formula,
    /// Appended messages are sent because an acknowledgement has arrived.
    pub(super) push: Formula,
}

impl ChannelFormulas {
    /// Returns the formulas with their names.
    pub(super) fn named(&self) -> [(&'static str, &Formula); 15] {
        let Self { send, receive, wake, wait, softirq, lines, wake_lines, bytes, tcp, .. } = self;
        [
            ("send", send),
            ("receive", receive),
            ("wake", wake),
            ("wait", wait),
            ("softirq", softirq),
            ("lines", lines),
            ("wake lines", wake_lines),
            ("send, per KiB", &bytes.send),
            ("receive, per KiB", &bytes.receive),
            ("send, per KiB beyond a page", &bytes.send_pages),
            ("receive, per KiB beyond a page", &bytes.receive_pages),
            ("lines, per KiB", &bytes.lines),
            ("acknowledge", &tcp.acknowledge),
            ("append", &tcp.append),
            ("push", &tcp.push),
        ]
    }
}

const NOTHING: Formula = instructions(&[]);
const NO_LINES: Formula = lines(&[]);
const NO_BYTES: BytesFormulas =
    BytesFormulas { send: NOTHING, receive: NOTHING, send_pages: NOTHING, receive_pages: NOTHING, lines: NO_LINES };
const NO_TCP: TcpFormulas = TcpFormulas { acknowledge: NOTHING, append: NOTHING, push: NOTHING };

/// Returns the sums of a difference between two operations.
const fn difference(
    operations: (&'static str, &'static str),
    sides: &'static [&'static str],
    parts: Parts,
    of: i64,
) -> [Sum; 2] {
    [rows(operations.0, sides, parts, of), minus(rows(operations.1, sides, parts, of))]
}

/// Declares the lines of a message's bytes.
///
/// Lines of a copy follow each other, so processors prefetch them. On an EPYC (Zen 4) 3.3 to 4.7 ns were measured for
/// each, half of what the share of other lines gives: each counts as half a line.
macro_rules! lines_of_bytes {
    ($name:literal, $send:literal, $receive:literal) => {
        lines(
            const {
                &difference(
                    (concat!("pass-", $name, "-2cpus size=4096"), concat!("pass-", $name, "-2cpus size=1")),
                    &[$send, $receive, "softirq"],
                    Parts::All,
                    2 * 4,
                )
            },
        )
    };
}

/// Declares the formulas of bytes in which only the copy depends on the first page: a pipe keeps a free page.
const PIPE_BYTES: BytesFormulas = {
    const fn copies(side: &'static [&'static str]) -> [Sum; 2] {
        difference(("pass-pipe size=65536", "pass-pipe size=1"), side, Parts::Of(&["copy"]), 64)
    }
    const fn pages(side: &'static [&'static str]) -> [Sum; 2] {
        difference(("pass-pipe size=65536", "pass-pipe size=1"), side, Parts::Without(&["copy"]), 64 - 4)
    }
    BytesFormulas {
        send: instructions(const { &copies(&["write"]) }),
        receive: instructions(const { &copies(&["read"]) }),
        send_pages: instructions(const { &pages(&["write"]) }),
        receive_pages: instructions(const { &pages(&["read"]) }),
        lines: lines_of_bytes!("pipe", "write", "read"),
    }
};

const UNIX_BYTES: BytesFormulas = {
    const fn bytes(side: &'static [&'static str]) -> [Sum; 2] {
        difference(("pass-unix size=65536", "pass-unix size=1"), side, Parts::All, 64)
    }
    BytesFormulas {
        send: instructions(const { &bytes(&["sendto"]) }),
        receive: instructions(const { &bytes(&["recvfrom"]) }),
        lines: lines_of_bytes!("unix", "sendto", "recvfrom"),
        ..NO_BYTES
    }
};

/// A datagram has fewer than 64 KiB, so these come from 4 KiB.
const UDP_BYTES: BytesFormulas = {
    const fn bytes(side: &'static [&'static str]) -> [Sum; 2] {
        difference(("pass-udp size=4096", "pass-udp size=1"), side, Parts::All, 4)
    }
    BytesFormulas {
        send: instructions(const { &bytes(&["sendto", "softirq"]) }),
        receive: instructions(const { &bytes(&["recvfrom"]) }),
        lines: lines_of_bytes!("udp", "sendto", "recvfrom"),
        ..NO_BYTES
    }
};

/// A thread that sends itself 64 KiB would wait for itself, so these come from round trips.
const TCP_BYTES: BytesFormulas = {
    const fn bytes(side: &'static [&'static str]) -> [Sum; 2] {
        const SIZES: (&str, &str) = ("pingpong-tcp-2cpus size=65536", "pingpong-tcp-2cpus size=1");
        difference(SIZES, side, Parts::Without(SCHEDULER), 2 * 64)
    }
    BytesFormulas {
        send: instructions(const { &bytes(&["sendto", "softirq"]) }),
        receive: instructions(const { &bytes(&["recvfrom"]) }),
        lines: lines_of_bytes!("tcp", "sendto", "recvfrom"),
        ..NO_BYTES
    }
};

/// Declares the formulas of a channel whose messages are passed by these two system calls.
macro_rules! channel {
    ($name:literal, $send:literal, $receive:literal, $bytes:expr) => {
        ChannelFormulas {
            name: $name,
            send: instructions(&[
                rows(concat!("pass-", $name, " size=1"), &[$send], Parts::All, 1),
                rows(concat!("pass-", $name, " size=1"), &["entry"], Parts::All, 2),
            ]),
            receive: instructions(&[
                rows(concat!("pass-", $name, " size=1"), &[$receive], Parts::All, 1),
                rows(concat!("pass-", $name, " size=1"), &["entry"], Parts::All, 2),
            ]),
            wake: instructions(&[
                rows(concat!("pingpong-", $name, "-2cpus size=1"), &[$send, "softirq"], Parts::Without(SCHEDULER), 2),
                minus(rows(concat!("pass-", $name, " size=1"), &[$send, "softirq"], Parts::All, 1)),
            ]),
            wait: instructions(&[
                rows(concat!("pingpong-", $name, "-2cpus size=1"), &[$receive, "entry"], Parts::Without(SCHEDULER), 2),
                minus(rows(concat!("pass-", $name, " size=1"), &[$receive, "entry"], Parts::All, 1)),
            ]),
            softirq: instructions(&[rows(concat!("pass-", $name, " size=1"), &["softirq"], Parts::All, 1)]),
            // Half of the lines move with the send, half with the receive.
            lines: lines(&[rows(
                concat!("pass-", $name, "-2cpus size=1"),
                &[$send, $receive, "softirq"],
                Parts::All,
                2,
            )]),
            wake_lines: lines(&[
                rows(
                    concat!("pingpong-", $name, "-2cpus size=1"),
                    &[$send, $receive, "softirq"],
                    Parts::Without(SCHEDULER),
                    2,
                ),
                minus(rows(concat!("pass-", $name, "-2cpus size=1"), &[$send, $receive, "softirq"], Parts::All, 1)),
            ]),
            bytes: $bytes,
            tcp: NO_TCP,
        }
    };
}

/// Declares the formulas of a TCP connection with a way to receive.
///
/// TCP acknowledges a message that nothing answers with a packet of its own. The formulas of a request and its response
/// are those of most programs, so these come from round trips; their rows contain waking and waiting.
macro_rules! tcp {
    ($name:literal, $receive:expr) => {{
        const ROUND: &str = concat!("pingpong-", $name, "-2cpus size=1");
        const fn call(side: &'static [&'static str]) -> [Sum; 2] {
            [rows(ROUND, side, Parts::Without(SCHEDULER), 2), rows(ROUND, &["entry"], Parts::Without(SCHEDULER), 4)]
        }
        ChannelFormulas {
            name: $name,
            send: instructions(const { &call(&["sendto"]) }),
            receive: instructions(const { &call($receive) }),
            wake: NOTHING,
            wait: NOTHING,
            softirq: instructions(&[rows(ROUND, &["softirq"], Parts::Without(SCHEDULER), 2)]),
            // Half of the lines move with the send, half with the receive.
            lines: lines(&[
                rows(ROUND, &["sendto", "softirq"], Parts::Without(SCHEDULER), 2 * 2),
                rows(ROUND, $receive, Parts::Without(SCHEDULER), 2 * 2),
            ]),
            wake_lines: NO_LINES,
            bytes: TCP_BYTES,
            tcp: TCP,
        }
    }};
}

/// Acknowledgements and batches. A batch is sent without `TCP_NODELAY` and received by the sender itself: the first message
/// is sent at once, its acknowledgement pushes the others, and one more acknowledges these.
const TCP: TcpFormulas = {
    const ROUND: &str = "pingpong-tcp-2cpus size=1";
    const PASS: &str = "pass-tcp size=1";
    const ONE: &str = "pass-tcp-batch size=1 messages=1";
    const TWO: &str = "pass-tcp-batch size=1 messages=2";
    const EIGHT: &str = "pass-tcp-batch size=1 messages=8";
    const SENDS: &[&str] = &["sendto", "softirq"];
    const fn all(operation: &'static str, of: i64) -> Sum {
        rows(operation, &["sendto", "recvfrom", "softirq", "entry"], Parts::All, of)
    }
    TcpFormulas {
        acknowledge: instructions(&[
            all(PASS, 1),
            minus(rows(ROUND, &["sendto", "recvfrom", "softirq", "entry"], Parts::Without(SCHEDULER), 2)),
        ]),
        append: instructions(&[all(EIGHT, 6), minus(all(TWO, 6))]),
        push: instructions(&[
            all(TWO, 1),
            minus(all(ONE, 1)),
            minus(all(EIGHT, 6)),
            all(TWO, 6),
            minus(all(PASS, 1)),
            rows(ROUND, SENDS, Parts::Without(SCHEDULER), 2),
            rows(ROUND, &["entry"], Parts::Without(SCHEDULER), 4),
        ]),
    }
};

/// Channels in the order of [`super::CallCosts::channels`].
pub(super) const CHANNELS: [ChannelFormulas; super::NR_CHANNELS] = [
    channel!("pipe", "write", "read", PIPE_BYTES),
    channel!("unix", "sendto", "recvfrom", UNIX_BYTES),
    tcp!("tcp", &["recvfrom"]),
    channel!("udp", "sendto", "recvfrom", UDP_BYTES),
    channel!("eventfd", "write", "read", NO_BYTES),
    tcp!("tcp-epoll", &["recvfrom", "epoll_wait", "epoll_pwait"]),
];

/// Evaluates formulas for a sheet. Results are in tenths.
pub(super) struct Numbers<'a> {
    sheet: &'a Sheet,
}

impl<'a> Numbers<'a> {
    pub(super) const fn new(sheet: &'a Sheet) -> Self {
        Self { sheet }
    }

    /// Returns the instructions of an operation; never negative.
    pub(super) fn instructions(&self, formula: &Formula) -> i64 {
        let counted: i64 = formula.sums.iter().map(|sum| self.sum(sum, Row::instructions)).sum();
        let constant = formula.constant.map_or(0, |(instructions, _)| instructions * 10);
        let levels =
            if formula.half_levels == 0 { 0 } else { formula.half_levels * self.instructions(&GROUP_LEVEL) / 2 };
        (counted + constant - levels).max(0)
    }

    /// Returns the cache lines of an operation; never negative.
    pub(super) fn lines(&self, formula: &Formula) -> i64 {
        formula.sums.iter().map(|sum| self.sum(sum, Row::lines)).sum::<i64>().max(0)
    }

    fn sum(&self, sum: &Sum, figure: fn(&Row) -> i64) -> i64 {
        let takes_side = |side: &str| if sum.sides.is_empty() { side != "user" } else { sum.sides.contains(&side) };
        let takes_part = |part: &str| match sum.parts {
            Parts::All => true,
            Parts::Of(parts) => parts.contains(&part),
            Parts::Without(parts) => !parts.contains(&part),
        };
        let rows = self.sheet.rows(sum.operation);
        let total: i64 = rows.iter().filter(|row| takes_side(row.side()) && takes_part(row.part())).map(figure).sum();
        match sum.of {
            Divisor::Number(of) => total * sum.times / of,
            Divisor::Calls(called, of) => {
                let of_part = rows.iter().filter(|row| takes_side(row.side()) && row.part() == called);
                let thousandths: i64 = of_part.map(Row::calls).sum();
                if thousandths == 0 { 0 } else { total * sum.times * 1000 / (thousandths * of) }
            }
        }
    }
}
