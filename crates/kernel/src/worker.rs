// SPDX-License-Identifier: GPL-2.0-or-later
//! Worker process of a run with a compiled-kernel engine: a program with [`REPORT_VAR`] in its environment.
//!
//! The messages of the kernel, the reason if kernel code does not end normally, and the worker's answer come
//! back in a file.

use crate::error::{KernelError, io_error_at};
use crate::process;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Environment variable that makes a process a worker, and names its report file.
pub const REPORT_VAR: &str = "FAIRLAB_KERNEL_REPORT";
/// Environment variable with the seconds of CPU time after which a call counts as endless.
pub const LOOP_SECONDS_VAR: &str = "FAIRLAB_KERNEL_LOOP_SECONDS";
/// Default of [`LOOP_SECONDS_VAR`], in seconds of CPU time.
pub const DEFAULT_LOOP_SECONDS: u32 = 10;

/// Line that the kernel has printed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct WorkerLogLine {
    /// Time on the machine's clock, in nanoseconds.
    pub at_ns: u64,
    /// CPU that executed at that time.
    pub cpu: u32,
    pub text: String,
    /// Callers of a warning with their positions in the sources, innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<String>,
}

/// Cause for which kernel code did not end normally. Names in a report are those of `engine/host/host.c`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrashCause {
    /// The kernel called `panic()`.
    Panic,
    /// A lock that is never released, or released without being held.
    Lock,
    /// A function that an engine must not reach.
    Forbidden,
    /// A signal such as SIGSEGV.
    Crash,
    /// A call that used too much CPU time.
    Loop,
    /// A call that yielded too often.
    Endless,
    /// CPUs that wait for each other's runqueue locks.
    Deadlock,
    /// Tasks that are lost or counted wrongly.
    #[serde(rename = "books")]
    Accounting,
    /// A lock, a section or disabled interrupts that a call left behind.
    Context,
    /// A case that fairlab's own part of the engine does not handle.
    #[default]
    Shim,
}

/// Report about kernel code that did not end normally.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CrashReport {
    /// Cause of the end.
    pub why: CrashCause,
    /// Message that belongs to the cause.
    pub text: String,
    /// Time on the machine's clock, in nanoseconds.
    pub at_ns: u64,
    /// CPU that executed at that time.
    pub cpu: u32,
    /// Call of the machine that was running.
    pub during: String,
    /// Functions with their positions in the sources, innermost first.
    pub stack: Vec<String>,
    /// Stack of the position where the cause began: where a held lock was taken, or interrupts were disabled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<String>,
    /// Sections that began in the call, outermost first, one of which has not ended: an RCU read-side
    /// section, or one with preemption disabled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<String>,
    /// CPUs of a deadlock. Each waits for the lock that the CPU before it holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub circle: Vec<Waiter>,
}

impl CrashReport {
    /// Whether the message or a function of the stack contains a text.
    pub fn mentions(&self, text: &str) -> bool {
        self.text.contains(text) || self.stack.iter().any(|function| function.contains(text))
    }
}

/// CPU that holds the lock of a runqueue and waits for that of another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct Waiter {
    pub cpu: u32,
    /// CPU of the runqueue whose lock it holds.
    pub has: u32,
    /// Stack of the position where it took that lock.
    pub taken: Vec<String>,
    /// CPU of the runqueue whose lock it waits for.
    pub wants: u32,
    /// Stack of the position where it waits.
    pub stack: Vec<String>,
}

/// Report of a worker process.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct WorkerReport {
    /// Messages of the kernel, in order.
    pub log: Vec<WorkerLogLine>,
    /// Reason for an abnormal end.
    pub end: Option<CrashReport>,
    /// Answer of the worker, as JSON.
    pub answer: Option<String>,
}

/// Returns the path of the report file if this process is a worker.
pub fn worker_report_path() -> Option<PathBuf> {
    std::env::var_os(REPORT_VAR).map(PathBuf::from)
}

/// Streams of a worker that its parent does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerStreams {
    /// Standard output and standard error are those of this process. A signal of the terminal reaches the worker
    /// too, which ends its run early and reports it.
    Inherited,
    /// Both are captured. The worker is ended when the end of all children is requested.
    Captured,
}

/// Runs a command as a worker, to its end, and returns its output and its report.
///
/// # Errors
/// If the command cannot be started, its report cannot be read, or the end was requested.
pub fn run(
    command: &mut Command,
    object: &Path,
    streams: WorkerStreams,
) -> Result<(Output, WorkerReport), KernelError> {
    let file = tempfile::NamedTempFile::new().map_err(io_error_at(&std::env::temp_dir()))?;
    command.env(REPORT_VAR, file.path());
    let output = match streams {
        WorkerStreams::Captured => process::output(command)?,
        WorkerStreams::Inherited => {
            let program = PathBuf::from(command.get_program());
            command.stdout(Stdio::inherit()).stderr(Stdio::inherit()).output().map_err(io_error_at(&program))?
        }
    };
    let text = fs::read_to_string(file.path()).map_err(io_error_at(file.path()))?;
    let (mut report, places) = parse(&text);
    // The answer of a captured worker has its log already.
    if streams == WorkerStreams::Inherited {
        name_callers(&mut report.log, object);
    }
    if let Some(end) = &mut report.end {
        // A call that is over has no stack any more, a check of the accounting has one of fairlab's own, and
        // in a deadlock each CPU has its own.
        if !matches!(end.why, CrashCause::Context | CrashCause::Accounting | CrashCause::Deadlock) {
            end.stack = symbolise(object, &places.stack);
        }
        end.taken = symbolise(object, &places.taken);
        end.sections = sections(object, &places.sections);
        end.circle = places.circle;
        for waiter in &mut end.circle {
            waiter.taken = symbolise(object, &waiter.taken);
            waiter.stack = symbolise(object, &waiter.stack);
        }
    }
    Ok((output, report))
}

/// Replaces the addresses in the traces of a log by names of functions. Equal traces are resolved once.
pub fn name_callers(log: &mut [WorkerLogLine], object: &Path) {
    let mut known: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for line in log.iter_mut().filter(|line| !line.trace.is_empty()) {
        let addresses = std::mem::take(&mut line.trace);
        line.trace = known.entry(addresses).or_insert_with_key(|addresses| symbolise(object, addresses)).clone();
    }
}

/// Addresses in an object that a report contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrashAddresses {
    /// Stack at the end.
    pub stack: Vec<String>,
    /// Stack of the position where something was taken.
    pub taken: Vec<String>,
    /// Sections that began, outermost first, one of which has not ended.
    pub sections: Vec<String>,
    /// CPUs of a deadlock.
    pub circle: Vec<Waiter>,
}

impl CrashAddresses {
    /// Returns the stack to which the next address belongs: that of a CPU of a deadlock, until the reason for
    /// the end was reported.
    fn stack_mut(&mut self, is_over: bool) -> &mut Vec<String> {
        match self.circle.last_mut() {
            Some(waiter) if !is_over => &mut waiter.stack,
            _ => &mut self.stack,
        }
    }

    fn taken_mut(&mut self) -> &mut Vec<String> {
        self.circle.last_mut().map_or(&mut self.taken, |waiter| &mut waiter.taken)
    }
}

/// Parses a report: the lines that `engine/host/host.c` writes.
pub fn parse(text: &str) -> (WorkerReport, CrashAddresses) {
    let (mut report, mut places) = (WorkerReport::default(), CrashAddresses::default());
    let moment = |rest: &str| {
        let mut words = rest.splitn(3, ' ');
        let at_ns = words.next()?.parse().ok()?;
        let cpu = words.next()?.parse().ok()?;
        Some((at_ns, cpu, words.next().unwrap_or_default().to_owned()))
    };
    for line in text.lines() {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        match kind {
            "log" => report.log.extend(moment(rest).map(|(at_ns, cpu, text)| WorkerLogLine {
                at_ns,
                cpu,
                text,
                trace: Vec::new(),
            })),
            "trace" => report.log.iter_mut().next_back().into_iter().for_each(|line| line.trace.push(rest.to_owned())),
            "stop" => {
                let (why, text) = rest.split_once(' ').unwrap_or((rest, ""));
                let why: Result<_, serde::de::value::Error> = CrashCause::deserialize(why.into_deserializer());
                let why = why.unwrap_or_default();
                report.end = Some(CrashReport { why, text: text.to_owned(), ..CrashReport::default() });
            }
            "during" => {
                if let (Some(end), Some((at_ns, cpu, during))) = (&mut report.end, moment(rest)) {
                    (end.at_ns, end.cpu, end.during) = (at_ns, cpu, during);
                }
            }
            "frame" => places.stack_mut(report.end.is_some()).push(rest.to_owned()),
            "section" => places.sections.push(rest.to_owned()),
            "taken" => places.taken_mut().push(rest.to_owned()),
            "answer" => report.answer = Some(rest.to_owned()),
            "waits" => places.circle.extend(waiter(rest)),
            _ => {}
        }
    }
    (report, places)
}

fn waiter(rest: &str) -> Option<Waiter> {
    let mut cpus = rest.split(' ').map(|word| word.parse().ok());
    Some(Waiter { cpu: cpus.next()??, has: cpus.next()??, wants: cpus.next()??, ..Waiter::default() })
}

/// Files and functions at the top of a stack that are left out: fairlab's own, and those of the kernel that
/// only take or release a lock.
const OWN_FILES: [&str; 5] =
    ["fl-", "arch/fairlab/", "kernel/locking/", "include/linux/spinlock", "include/linux/preempt.h:"];
const OWN_FUNCTIONS: [&str; 6] =
    ["panic", "raw_spin_rq_lock_nested", "raw_spin_rq_lock", "rq_lock", "rq_lock_irq", "rq_lock_irqsave"];

/// Files with which a call begins, and every stack ends.
const OUTER_FILES: [&str; 2] = ["fl-", "arch/fairlab/kernel/"];

/// Whether a line of a stack only shows that fairlab called the kernel.
fn is_outer(line: &str) -> bool {
    let place = line.split_once(" at ").map_or("", |(_, place)| place);
    OUTER_FILES.iter().any(|file| place.starts_with(file))
}

/// Whether a line at the top of a stack is left out, because it is fairlab's own or only takes or releases a
/// lock.
fn is_own(line: &str) -> bool {
    let (function, place) = line.split_once(" at ").unwrap_or((line, ""));
    OWN_FUNCTIONS.contains(&function) || OWN_FILES.iter().any(|file| place.starts_with(file))
}

/// Returns names for addresses in an object, from its debug information. Without addr2line, the addresses
/// themselves.
fn symbolise(object: &Path, frames: &[String]) -> Vec<String> {
    if frames.is_empty() {
        return Vec::new();
    }
    // A frame is the address to which its callee returns; the call lies before it.
    let before = |frame: &String| {
        u64::from_str_radix(frame, 16).map_or_else(|_| frame.clone(), |at| format!("{:x}", at.saturating_sub(1)))
    };
    let mut addr2line = process::tool("addr2line");
    let run = process::output(addr2line.args(["-f", "-i", "-p", "-e"]).arg(object).args(frames.iter().map(before)));
    let Ok(run) = run else { return frames.to_vec() };
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let lines: Vec<String> = text.lines().map(tree_path).collect();
    let own = lines.iter().take_while(|line| is_own(line)).count();
    // A stack with only lines of fairlab is reported unchanged.
    if own == lines.len() {
        return lines;
    }
    let outer = lines.iter().rev().take_while(|line| is_outer(line)).count();
    lines[own..lines.len() - outer].to_vec()
}

/// Largest number of possible sections that a report names.
const MAX_SECTIONS: usize = 3;

/// Returns the positions of sections, each with the functions that were inlined into others. Sections of
/// locks are left out: locks have a position of their own.
fn sections(object: &Path, places: &[String]) -> Vec<String> {
    let of_place = |place: &String| symbolise(object, std::slice::from_ref(place));
    let mut found: Vec<Vec<String>> = Vec::new();
    for lines in places.iter().map(of_place) {
        if lines.first().is_some_and(|line| !is_own(line)) && !found.contains(&lines) {
            found.push(lines);
        }
    }
    found.truncate(MAX_SECTIONS);
    found.concat()
}

/// Returns a line of addr2line without the overlay's folder and without discriminators.
fn tree_path(line: &str) -> String {
    let line = line.split(" (discriminator").next().unwrap_or(line);
    match line.split_once(" at ") {
        Some((function, place)) => {
            let in_work = ["/overlay/", "/build/"].iter().find_map(|part| place.split_once(part));
            let place = in_work.map_or(place, |(_, rest)| rest);
            format!("{} at {place}", function.trim().trim_start_matches("(inlined by) "))
        }
        None => line.trim().to_owned(),
    }
}
