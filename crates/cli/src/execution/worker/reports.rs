// SPDX-License-Identifier: GPL-2.0-or-later
//! Reports of kernels that crashed, panicked, deadlocked or did not return.

use fairlab_kernel::store::{Store, StoreEntry, changed_folder};
use fairlab_kernel::worker::{CrashCause, CrashReport, LOOP_SECONDS_VAR, Waiter};
use fairlab_machine::sim::START;
use fairlab_workload::message::Message;
use std::fmt::Write as _;
use std::path::Path;

/// Largest number of lines of patched files that are shown.
const MOST_LINES: usize = 3;

/// Converts a time of the machine's clock, which is one second when a run begins, to a time of the run.
pub(super) fn on_runs_clock(at_ns: u64) -> String {
    format!("{:.6} ms", (at_ns as f64 - START.0 as f64) / 1e6)
}

/// Returns the report. `command` repeats the run if it is not the command that was given.
pub(super) fn message(store: &Store, entry: &StoreEntry, end: &CrashReport, command: Option<&str>) -> Message {
    let what = match end.why {
        CrashCause::Panic => "the kernel has panicked",
        CrashCause::Crash => "the kernel has crashed",
        CrashCause::Loop | CrashCause::Endless => "kernel code does not return",
        CrashCause::Lock => "a lock is misused",
        CrashCause::Deadlock => "CPUs are in a deadlock",
        CrashCause::Forbidden => "the kernel has called a function that an engine does not provide",
        CrashCause::Accounting => "the scheduler's accounting is wrong, as checked at a tick",
        CrashCause::Context => "a kernel call has not restored its context",
        CrashCause::Shim => "the engine is misused",
    };
    let mut text = format!("kernel:{} (Linux {}): {what}: {}\n", entry.name, entry.version, end.text);
    let (at, cpu, during) = (on_runs_clock(end.at_ns), end.cpu, &end.during);
    let mut say = |line: String| writeln!(text, "{line}").expect("a string takes text");
    say(format!("  at {at} (on the kernel's clock {} ns) on CPU {cpu}, in: {during}", end.at_ns));
    let object = store.object_path(&entry.key);
    let mut shown = 0;
    let mut parts = vec![
        (String::new(), &end.stack),
        ("  the lock was taken here:".to_owned(), &end.taken),
        ("  the section began at one of these places:".to_owned(), &end.sections),
    ];
    for Waiter { cpu, has, taken, wants, stack } in &end.circle {
        let own =
            |other: &u32| if other == cpu { "its own runqueue".to_owned() } else { format!("CPU {other}'s runqueue") };
        parts.push((format!("  CPU {cpu} holds the lock of {}, taken here:", own(has)), taken));
        parts.push((format!("  CPU {cpu} waits for the lock of {} here:", own(wants)), stack));
    }
    for (heading, stack) in parts {
        if !heading.is_empty() && !stack.is_empty() {
            say(heading);
        }
        for frame in stack {
            say(format!("    {frame}{}", as_patched(&object, frame, &mut shown)));
        }
    }
    let again = command.map_or_else(
        || "repeat the command to reproduce it".to_owned(),
        |command| format!("this command reproduces it: {command}"),
    );
    if shown > 0 {
        let name = |path: &String| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        let by: Vec<String> = entry.patches.iter().filter_map(name).chain(entry.bugs.iter().cloned()).collect();
        let line = format!("  (patched): the file is patched by {}\n", by.join(", "));
        text.push_str(&line);
    }
    let mut help = format!("the run is deterministic; {again}");
    if end.why == CrashCause::Loop {
        let more = format!("; {LOOP_SECONDS_VAR}=60 allows a call a minute of CPU time, 0 removes the limit");
        help.push_str(&more);
    }
    Message::new(text.trim_end()).with_help(help)
}

/// Returns a mark and the source line for a location in a patched file, since the line in the tree differs.
fn as_patched(object: &Path, frame: &str, shown: &mut usize) -> String {
    let place = frame.split_once(" at ").and_then(|(_, place)| place.rsplit_once(':'));
    let Some((file, line)) = place else { return String::new() };
    let Ok(text) = std::fs::read_to_string(changed_folder(object).join(file)) else { return String::new() };
    *shown += 1;
    let line = line.parse::<usize>().ok().and_then(|line| text.lines().nth(line.saturating_sub(1)));
    let line = line.filter(|line| *shown <= MOST_LINES && !line.trim().is_empty());
    let line = line.map_or_else(String::new, |line| format!("\n        {}", line.trim()));
    format!(" (patched){line}")
}
