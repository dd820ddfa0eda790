// SPDX-License-Identifier: GPL-2.0-or-later
//! A run with a kernel engine happens in a process of its own: the same command once more, with [`REPORT`] in its environment. What the kernel
//! says, and how it ends if it does not end well, comes back in a file.

use crate::error::{KernelError, at};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The variable that makes a process the worker, and names the file of its report.
pub const REPORT: &str = "FAIRLAB_KERNEL_REPORT";
/// The variable that says after how many seconds of CPU time a call counts as endless.
pub const LOOP_SECONDS: &str = "FAIRLAB_KERNEL_LOOP_SECONDS";
/// As many, unless it says otherwise.
pub const DEFAULT_LOOP_SECONDS: u32 = 10;

/// A line that the kernel has printed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct WorkerLine {
    /// When, on the machine's clock.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// What.
    pub text: String,
}

/// How kernel code ended that did not return.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CrashReport {
    /// `panic`, `lock`, `forbidden`, `crash`, `loop`, `books`: tasks that are lost or counted wrongly, `context`: something is held at the end of a
    /// call that was not held before, or `shim`: something that fairlab's own part of the engine does not do.
    pub why: String,
    /// What it said.
    pub text: String,
    /// When, on the machine's clock.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// What the machine had called.
    pub during: String,
    /// Functions and their places in the sources, innermost first.
    pub stack: Vec<String>,
    /// The same of where what it is about was taken: a lock that is held, a section that was not ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<String>,
    /// Sections that began in the call, outermost first, one of which has not ended: an RCU reader's, or one without preemption.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<String>,
    /// CPUs each of which waits for the lock that the one before it has, if that is why it ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub circle: Vec<Waiter>,
}

/// A CPU that has the lock of a runqueue and waits for that of another.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Waiter {
    /// The CPU.
    pub cpu: u32,
    /// The CPU whose runqueue's lock it has.
    pub has: u32,
    /// Where it has taken that, as in a stack.
    pub taken: Vec<String>,
    /// The CPU whose runqueue's lock it wants.
    pub wants: u32,
    /// Where it waits for that.
    pub stack: Vec<String>,
}

/// What a worker has reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct WorkerReport {
    /// What the kernel printed.
    pub log: Vec<WorkerLine>,
    /// How it ended, if not by itself.
    pub end: Option<CrashReport>,
}

/// Whether this process is a worker; then, where it reports to.
pub fn report_of_worker() -> Option<PathBuf> {
    std::env::var_os(REPORT).map(PathBuf::from)
}

/// Runs a command as a worker, to its end. What it writes is in the result, but for what the command lets through.
///
/// # Errors
/// If it cannot be started, or its report not be read.
pub fn run(command: &mut Command, object: &Path) -> Result<(Output, WorkerReport), KernelError> {
    let file = tempfile::NamedTempFile::new().map_err(at(&std::env::temp_dir()))?;
    let program = PathBuf::from(command.get_program());
    let output = command.env(REPORT, file.path()).output().map_err(at(&program))?;
    let text = fs::read_to_string(file.path()).map_err(at(file.path()))?;
    let (mut report, places) = parse(&text);
    if let Some(end) = &mut report.end {
        // A call that is over has no stack any more, who reads the books has one of the laboratory, and of CPUs that wait for each other each has its own.
        if !["context", "books", "deadlock"].contains(&end.why.as_str()) {
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

/// Places in an object that a report names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrashPlaces {
    /// Of its stack.
    pub stack: Vec<String>,
    /// Of where something was taken.
    pub taken: Vec<String>,
    /// Of sections that began, outermost first, one of which has not ended.
    pub sections: Vec<String>,
    /// Of CPUs that wait for each other.
    pub circle: Vec<Waiter>,
}

impl CrashPlaces {
    /// Where the next place of a stack belongs: what CPUs that wait for each other say comes before the end.
    fn stack_for(&mut self, is_over: bool) -> &mut Vec<String> {
        match self.circle.last_mut() {
            Some(waiter) if !is_over => &mut waiter.stack,
            _ => &mut self.stack,
        }
    }

    fn describe_crash(&mut self) -> &mut Vec<String> {
        self.circle.last_mut().map_or(&mut self.taken, |waiter| &mut waiter.taken)
    }
}

/// Reads a report: the lines that `engine/host/host.c` writes.
pub fn parse(text: &str) -> (WorkerReport, CrashPlaces) {
    let (mut report, mut places) = (WorkerReport::default(), CrashPlaces::default());
    let moment = |rest: &str| {
        let mut words = rest.splitn(3, ' ');
        let at_ns = words.next()?.parse().ok()?;
        let cpu = words.next()?.parse().ok()?;
        Some((at_ns, cpu, words.next().unwrap_or_default().to_owned()))
    };
    for line in text.lines() {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        match kind {
            "log" => report.log.extend(moment(rest).map(|(at_ns, cpu, text)| WorkerLine { at_ns, cpu, text })),
            "stop" => {
                let (why, text) = rest.split_once(' ').unwrap_or((rest, ""));
                report.end = Some(CrashReport { why: why.to_owned(), text: text.to_owned(), ..CrashReport::default() });
            }
            "during" => {
                if let (Some(end), Some((at_ns, cpu, during))) = (&mut report.end, moment(rest)) {
                    (end.at_ns, end.cpu, end.during) = (at_ns, cpu, during);
                }
            }
            "frame" => places.stack_for(report.end.is_some()).push(rest.to_owned()),
            "section" => places.sections.push(rest.to_owned()),
            "taken" => places.describe_crash().push(rest.to_owned()),
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

/// The laboratory's own files and functions, in which a report begins, and the kernel's that only take a lock or give it back.
const OWN_FILES: [&str; 5] =
    ["fl-", "arch/fairlab/", "kernel/locking/", "include/linux/spinlock", "include/linux/preempt.h:"];
const OWN_FUNCTIONS: [&str; 6] =
    ["panic", "raw_spin_rq_lock_nested", "raw_spin_rq_lock", "rq_lock", "rq_lock_irq", "rq_lock_irqsave"];

/// What begins a call, in which each stack ends.
const OUTER_FILES: [&str; 2] = ["fl-", "arch/fairlab/kernel/"];

/// Whether a line of a stack says nothing but that the laboratory has called.
fn is_outer(line: &str) -> bool {
    let place = line.split_once(" at ").map_or("", |(_, place)| place);
    OUTER_FILES.iter().any(|file| place.starts_with(file))
}

/// Whether somebody who reads a report wants to begin below this line.
fn is_own(line: &str) -> bool {
    let (function, place) = line.split_once(" at ").unwrap_or((line, ""));
    OWN_FUNCTIONS.contains(&function) || OWN_FILES.iter().any(|file| place.starts_with(file))
}

/// Names for places in an object, from its debug information. Where there is no addr2line the places stay numbers.
fn symbolise(object: &Path, frames: &[String]) -> Vec<String> {
    if frames.is_empty() {
        return Vec::new();
    }
    // A frame is where its callee returns to: the call is what lies before.
    let before = |frame: &String| {
        u64::from_str_radix(frame, 16).map_or_else(|_| frame.clone(), |at| format!("{:x}", at.saturating_sub(1)))
    };
    let run =
        Command::new("addr2line").args(["-f", "-i", "-p", "-e"]).arg(object).args(frames.iter().map(before)).output();
    let Ok(run) = run else { return frames.to_vec() };
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let lines: Vec<String> = text.lines().map(tree_path).collect();
    let own = lines.iter().take_while(|line| is_own(line)).count();
    // What only the laboratory has called is told as it is.
    if own == lines.len() {
        return lines;
    }
    let outer = lines.iter().rev().take_while(|line| is_outer(line)).count();
    lines[own..lines.len() - outer].to_vec()
}

/// So many sections are told that may be meant.
const MOST_SECTIONS: usize = 3;

/// Places of sections, each with the functions that became a part of another; locks have places of their own.
fn sections(object: &Path, places: &[String]) -> Vec<String> {
    let of_place = |place: &String| symbolise(object, std::slice::from_ref(place));
    let mut told: Vec<Vec<String>> = Vec::new();
    for lines in places.iter().map(of_place) {
        if lines.first().is_some_and(|line| !is_own(line)) && !told.contains(&lines) {
            told.push(lines);
        }
    }
    told.truncate(MOST_SECTIONS);
    told.concat()
}

/// A place without the overlay's folder, and without what addr2line says of the code's discriminators.
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
