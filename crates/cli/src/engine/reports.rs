// SPDX-License-Identifier: GPL-2.0-or-later
//! What somebody has to know whose kernel did not come back.

use fairlab_kernel::store::{Store, StoreEntry, patched};
use fairlab_kernel::worker::{CrashReport, LOOP_SECONDS, Waiter};
use fairlab_machine::sim::START;
use std::fmt::Write as _;
use std::path::Path;

/// So many lines of a patched file are shown.
const MOST_LINES: usize = 3;

/// A time of the machine's clock, which stands at a second when a run begins, as runs tell it.
pub(super) fn on_runs_clock(at_ns: u64) -> String {
    format!("{:.6} ms", (at_ns as f64 - START.0 as f64) / 1e6)
}

/// The report. A command is named that repeats the run, if it was not the one that was given.
pub(super) fn sentences(store: &Store, entry: &StoreEntry, end: &CrashReport, command: Option<&str>) -> String {
    let what = match end.why.as_str() {
        "panic" => "the kernel has panicked",
        "crash" => "the kernel has crashed",
        "loop" | "endless" => "kernel code does not end",
        "lock" => "a lock is not used as it must be",
        "deadlock" => "CPUs wait for each other for ever",
        "forbidden" => "the kernel has called what an engine does not have",
        "books" => "the scheduler's books are wrong, as seen at a tick",
        "context" => "a call of the kernel has not put back what it took",
        _ => "the engine is used as it cannot be",
    };
    let mut text = format!("kernel:{} (Linux {}): {what}: {}\n", entry.name, entry.version, end.text);
    let (at, cpu, during) = (on_runs_clock(end.at_ns), end.cpu, &end.during);
    let mut say = |line: String| writeln!(text, "{line}").expect("a string takes text");
    say(format!("  at {at} (on the kernel's clock {} ns) on CPU {cpu}, in: {during}", end.at_ns));
    let object = store.object(&entry.key);
    let mut shown = 0;
    let mut parts = vec![
        (String::new(), &end.stack),
        ("  it was taken here:".to_owned(), &end.taken),
        ("  it began here, or as one of those that follow:".to_owned(), &end.sections),
    ];
    for Waiter { cpu, has, taken, wants, stack } in &end.circle {
        let own =
            |other: &u32| if other == cpu { "its own runqueue".to_owned() } else { format!("CPU {other}'s runqueue") };
        parts.push((format!("  CPU {cpu} has the lock of {}, taken here:", own(has)), taken));
        parts.push((format!("  CPU {cpu} waits for that of {} here:", own(wants)), stack));
    }
    for (heading, stack) in parts {
        if !heading.is_empty() && !stack.is_empty() {
            say(heading);
        }
        for frame in stack {
            say(format!("    {frame}{}", as_patched(&object, frame, &mut shown)));
        }
    }
    let again = command.map_or_else(|| "the same command repeats it".to_owned(), |it| format!("this repeats it: {it}"));
    if shown > 0 {
        let name = |path: &String| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        let by: Vec<String> = entry.patches.iter().filter_map(name).chain(entry.bugs.iter().cloned()).collect();
        let line = format!("  (patched): a line of the file as patched by {}\n", by.join(", "));
        text.push_str(&line);
    }
    text.push_str("help: the run is the same each time: ");
    text.push_str(&again);
    if end.why == "loop" {
        let more = format!("; {LOOP_SECONDS}=60 lets a call take a minute of CPU time, 0 any time");
        text.push_str(&more);
    }
    text
}

/// Of a place in a file that a patch has changed: that it is, and the line, since the tree has another one there.
fn as_patched(object: &Path, frame: &str, shown: &mut usize) -> String {
    let place = frame.split_once(" at ").and_then(|(_, place)| place.rsplit_once(':'));
    let Some((file, line)) = place else { return String::new() };
    let Ok(text) = std::fs::read_to_string(patched(object).join(file)) else { return String::new() };
    *shown += 1;
    let line = line.parse::<usize>().ok().and_then(|line| text.lines().nth(line.saturating_sub(1)));
    let line = line.filter(|line| *shown <= MOST_LINES && !line.trim().is_empty());
    let line = line.map_or_else(String::new, |line| format!("\n        {}", line.trim()));
    format!(" (patched){line}")
}
