// SPDX-License-Identifier: GPL-2.0-or-later
//! Events as text: the kernel's `trace` file, `trace-cmd report`, `perf script`, and the text in systrace
//! pages.
//!
//! A line is `TASK-PID [CPU] FLAGS TIME: EVENT: FIELDS`. Fields are `key=value`, whose values may contain
//! blanks, as thread names do. The output of trace-cmd's plugins (`comm:pid [prio] state ==> comm:pid
//! [prio]`) is read too.

use super::error::ReadResult;
use super::event::{Context, MAX_CPUS, Recording, state_from_text};
use super::fields::{self, EventHead, LACKS_FIELD, Tracepoint, TracepointFields};
use super::file_order::{PositionUnit, TimeStamp};
use fairlab_sched::ctx::PrevState;
use std::borrow::Cow;

/// Number of lines that are checked before a text is rejected as not a trace.
const MAX_DETECT_LINES: usize = 2000;

/// Whether a text is a trace: an early line is an event or the kernel's header.
pub(super) fn is_text_trace(text: &str) -> bool {
    text.lines().take(MAX_DETECT_LINES).any(|line| line.starts_with("# tracer:") || line_of(line, 0).is_some())
}

/// Reads a text. `first_line` is the number of its first line in the file.
pub(super) fn read(text: &str, first_line: usize, format: &'static str) -> ReadResult<Recording> {
    let mut recording = Recording { format, ..Recording::default() };
    recording.order.unit = PositionUnit::Line;
    // Reports of lost events (position, CPU, number) get the time of the next event.
    let mut lost = Vec::new();
    let mut last = 0;
    let mut tracer = None;
    let push_lost = |recording: &mut Recording, lost: &mut Vec<(usize, u32, Option<u64>)>, at| {
        let reports = lost.drain(..);
        reports.for_each(|(position, cpu, nr)| recording.push_lost(at, cpu, nr, position, TimeStamp::Borrowed));
    };
    for (index, line) in text.lines().enumerate() {
        let position = first_line + index;
        let place = || format!("line {position}");
        if let Some(event) = line_of(line, position) {
            last = event.head.at;
            push_lost(&mut recording, &mut lost, last);
            take(&mut recording, &event);
        } else if let Some((cpu, nr)) = lost_of(line) {
            lost.push((position, cpu, nr));
        } else if let Some(nr) = nr_cpus_of(line) {
            recording.nr_cpus = recording.nr_cpus.max(nr);
        } else if let Some(name) = line.strip_prefix("# tracer:").map(str::trim).filter(|name| *name != "nop") {
            recording.record_problem(&format!("output of the tracer `{name}`, which is no events"), place);
            tracer = Some(name);
        } else if !is_about_the_trace(line) {
            recording.record_problem("lines that are no events", place);
        }
    }
    push_lost(&mut recording, &mut lost, last);
    if recording.events.is_empty() {
        let help = match tracer {
            Some(_) => "record events without a tracer: echo nop >current_tracer, or trace-cmd record without -p",
            None if recording.problems.keys().any(|what| what.ends_with(LACKS_FIELD)) => {
                "print the fields too: perf script -F comm,pid,tid,cpu,time,event,trace"
            }
            None => super::RECORD_EVENTS,
        };
        return Err(super::no_events(&recording, help));
    }
    Ok(recording)
}

/// Whether a line that is not an event belongs to the header of a trace.
fn is_about_the_trace(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || line.starts_with('#')
        || line == "TRACE:"
        || line.starts_with("capturing trace...")
        || line.starts_with("version = ")
        || line.ends_with(" is empty")
}

fn take(recording: &mut Recording, event: &EventLine<'_>) {
    // perf prints the event's group too: `sched:sched_switch`.
    let name = event.name.rsplit(':').next().unwrap_or_default();
    match Tracepoint::named(name) {
        Some(tracepoint) => {
            fields::push(recording, event.head, tracepoint, &TextFields::of(tracepoint, event.fields));
        }
        None => recording.push_other(event.head.at),
    }
}

struct EventLine<'a> {
    head: EventHead,
    name: &'a str,
    fields: &'a str,
}

fn line_of(line: &str, position: usize) -> Option<EventLine<'_>> {
    // The CPU in brackets is the reliable anchor: thread names may contain blanks, dashes and brackets.
    line.match_indices('[').find_map(|(open, _)| line_with(line, open, position))
}

fn line_with(line: &str, open: usize, position: usize) -> Option<EventLine<'_>> {
    let (cpu, rest) = line[open + 1..].split_once(']')?;
    if cpu.is_empty() || cpu.len() > 5 || !cpu.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let pid = pid_of(&line[..open])?;
    let rest = rest.trim_start();
    // Flags are optional; the time ends with a colon.
    let (first, after) = rest.split_once(char::is_whitespace)?;
    let (flags, time, rest) = match first.strip_suffix(':').and_then(time_of) {
        Some(time) => ("", time, after),
        None => {
            let (second, after) = after.trim_start().split_once(char::is_whitespace)?;
            (first, second.strip_suffix(':').and_then(time_of)?, after)
        }
    };
    // `trace-cmd report --ts-diff` prints the time since the previous event: `(+12)`.
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("(+").and_then(|rest| Some(rest.split_once(')')?.1)).unwrap_or(rest).trim_start();
    // The name ends with a colon; in perf's text the group precedes it.
    let (name, fields) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let context = context_of(flags);
    let head = EventHead { at: time, cpu: cpu.parse().ok()?, pid, context, position, stamp: TimeStamp::Absolute };
    Some(EventLine { head, name: name.strip_suffix(':')?, fields: fields.trim() })
}

/// Parses the pid at the end of `TASK-PID`, `TASK-PID (TGID)`, or perf's `TASK PID` and `TASK PID/TID`.
fn pid_of(text: &str) -> Option<i32> {
    let mut text = text.trim_end();
    if let Some(inner) = text.strip_suffix(')') {
        text = inner[..inner.rfind('(')?].trim_end();
    }
    let start = text.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    let is_marked = start > 0 && matches!(text.as_bytes()[start - 1], b'-' | b' ' | b'\t' | b'/');
    is_marked.then(|| text[start..].parse().ok())?
}

/// Parses seconds with decimals. Returns nanoseconds.
pub(super) fn time_of(text: &str) -> Option<u64> {
    let (seconds, decimals) = text.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(seconds) || !digits(decimals) || decimals.len() > 9 {
        return None;
    }
    let ns = decimals.parse::<u64>().ok()? * 10_u64.pow(9 - decimals.len() as u32);
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns)
}

/// Returns the context in the third of at least four flags: `h` and `z` for interrupts, `s` for softirqs, `H`
/// and `Z` for an interrupt during a softirq.
fn context_of(flags: &str) -> Context {
    match flags.as_bytes() {
        [_, _, b'h' | b'H' | b'z' | b'Z', _, ..] => Context::Interrupt,
        [_, _, b's', _, ..] => Context::Softirq,
        [_, _, b'.', _, ..] => Context::Thread,
        _ => Context::Unknown,
    }
}

/// Parses the kernel's `CPU:2 [LOST 12 EVENTS]`, or trace-cmd's `CPU:2 [12 EVENTS DROPPED]`.
fn lost_of(line: &str) -> Option<(u32, Option<u64>)> {
    let (_, rest) = line.split_once("CPU:")?;
    let (cpu, rest) = rest.trim_start().split_once(' ')?;
    if !rest.contains("EVENTS") {
        return None;
    }
    let nr = rest.split(|c: char| !c.is_ascii_digit()).find_map(|word| word.parse().ok());
    Some((cpu.trim_end().parse().ok()?, nr))
}

/// Parses the number of CPUs: trace-cmd's `cpus=6`, or `#P:8` in the kernel's header.
fn nr_cpus_of(line: &str) -> Option<u32> {
    let number = line.strip_prefix("cpus=").or_else(|| Some(line.strip_prefix('#')?.split_once("#P:")?.1))?;
    number.trim().parse().ok().filter(|nr| (1..=MAX_CPUS).contains(nr))
}

enum TextFields<'a> {
    /// `key=value` fields, where the part after `==>` repeats keys.
    Keys(&'a str),
    /// Output of trace-cmd's plugin: `comm:pid [prio] state ==> comm:pid [prio]`.
    Plugin { first: PluginThread<'a>, second: Option<PluginThread<'a>>, cpu: Option<i64>, success: Option<i64> },
}

struct PluginThread<'a> {
    comm: &'a str,
    pid: i64,
    prio: i64,
    state: Option<PrevState>,
}

impl<'a> TextFields<'a> {
    fn of(tracepoint: Tracepoint, text: &'a str) -> Self {
        let has_plugin =
            matches!(tracepoint, Tracepoint::Switch | Tracepoint::Waking | Tracepoint::Wakeup | Tracepoint::WakeupNew);
        let plugin = if has_plugin && !text.contains("comm=") { Self::plugin(text) } else { None };
        plugin.unwrap_or(Self::Keys(text))
    }

    fn plugin(text: &'a str) -> Option<Self> {
        let (left, right) = text.split_once(" ==> ").map_or((text, None), |(left, right)| (left, Some(right)));
        let (first, rest) = thread_of(left)?;
        let number = |key: &str| rest.split_once(key)?.1.split_whitespace().next()?.parse().ok();
        let second = match right {
            Some(right) => Some(thread_of(right)?.0),
            None => None,
        };
        Some(Self::Plugin { first, second, cpu: number("CPU:"), success: number("success=") })
    }
}

/// Parses `comm:pid [prio]`. Returns the thread and the rest of the text.
fn thread_of(text: &str) -> Option<(PluginThread<'_>, &str)> {
    let open = text.find(" [")?;
    let (prio, rest) = text[open + 2..].split_once(']')?;
    let (comm, pid) = text[..open].rsplit_once(':')?;
    let (pid, prio) = (pid.parse().ok()?, prio.trim().parse().ok()?);
    let state = rest.split_whitespace().next().and_then(state_from_text);
    Some((PluginThread { comm: comm.trim_start(), pid, prio, state }, rest))
}

impl TextFields<'_> {
    /// Returns the value of a key. The value extends to the next key, because it may contain blanks.
    fn value(&self, name: &str) -> Option<&str> {
        let Self::Keys(text) = self else { return None };
        let mut from = 0;
        let start = loop {
            let at = text[from..].find(name)? + from;
            let end = at + name.len();
            let begins = at == 0 || text.as_bytes()[at - 1].is_ascii_whitespace();
            if begins && text.as_bytes().get(end) == Some(&b'=') {
                break end + 1;
            }
            from = at + 1;
            if !text.is_char_boundary(from) {
                return None;
            }
        };
        let rest = &text[start..];
        // The value ends before the next word that is a known key and an equals sign.
        let mut blanks = rest.match_indices(char::is_whitespace).map(|(blank, _)| blank);
        let end = blanks.find(|&blank| {
            let word = rest[blank..].split_whitespace().next().unwrap_or_default();
            word == "==>" || word.split_once('=').is_some_and(|(key, _)| KEYS.iter().any(|keys| keys.contains(&key)))
        });
        Some(rest[..end.unwrap_or(rest.len())].trim_end())
    }
}

/// Keys that end a value. Others do not, because thread names may contain equals signs too.
const KEYS: &[&[&str]] = &[
    &["prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"],
    &["comm", "pid", "prio", "success", "target_cpu", "orig_cpu", "dest_cpu"],
    &["parent_comm", "parent_pid", "child_comm", "child_pid", "filename", "old_pid"],
    &["oldcomm", "newcomm", "oom_score_adj", "state", "cpu_id"],
    &["dst_root", "dst_id", "dst_level", "dst_path"],
];

impl TracepointFields for TextFields<'_> {
    fn number(&self, name: &str) -> Option<i64> {
        match self {
            Self::Keys(_) => self.value(name)?.split_whitespace().next()?.parse().ok(),
            Self::Plugin { first, second, cpu, success } => match name {
                "pid" | "prev_pid" => Some(first.pid),
                "prio" | "prev_prio" => Some(first.prio),
                "next_pid" => second.as_ref().map(|thread_ref| thread_ref.pid),
                "next_prio" => second.as_ref().map(|thread_ref| thread_ref.prio),
                "target_cpu" => *cpu,
                "success" => *success,
                _ => None,
            },
        }
    }

    fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        match self {
            Self::Keys(_) => self.value(name).map(Cow::Borrowed),
            Self::Plugin { first, second, .. } => match name {
                "comm" | "prev_comm" => Some(first.comm.into()),
                "next_comm" => second.as_ref().map(|thread_ref| thread_ref.comm.into()),
                _ => None,
            },
        }
    }

    fn state(&self, name: &str) -> Option<PrevState> {
        match self {
            Self::Keys(_) => state_from_text(self.value(name)?),
            Self::Plugin { first, .. } => first.state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::event::{ThreadRef, TraceEvent, TraceEventKind};

    fn parse_line(line: &str) -> (TraceEvent, Recording) {
        let recording = read(line, 1, "text").unwrap_or_else(|fault| panic!("{line}: {fault:?}"));
        (recording.events[0], recording)
    }

    #[test]
    fn lines_of_all_tools_give_the_same_switch() {
        let fields =
            "prev_comm=a b=c prev_pid=17 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120";
        for line in [
            format!("   a b=c-17   [001] d..2.    12.000345: sched_switch: {fields}"),
            format!("   a b=c-17   (     9) [001] d..2    12.000345: sched_switch: {fields}"),
            format!("   a b=c-17   [001]    12.000345000: sched_switch:         {fields}"),
            format!("   a b=c-17   [001]    12.000345: (+12)     sched_switch:         {fields}"),
            format!("a b=c    17 [001]    12.000345: sched:sched_switch: {fields}"),
            format!("a b=c    9/17 [001]    12.000345:      sched:sched_switch: {fields}"),
            "   x [2] y-17  [001]    12.000345: sched_switch:  a b=c:17 [120] S ==> swapper/1:0 [120]".to_owned(),
        ] {
            let (event, recording) = parse_line(&line);
            assert_eq!((event.at, event.cpu, event.pid), (12_000_345_000, 1, 17), "{line}");
            let TraceEventKind::Switch { prev, state, next } = event.kind else { panic!("{line}: {event:?}") };
            assert_eq!(
                (recording.names.get(prev.comm), prev.pid, prev.prio, state),
                ("a b=c", 17, Some(120), PrevState::Blocked),
                "{line}"
            );
            assert_eq!((recording.names.get(next.comm), next.pid), ("swapper/1", 0), "{line}");
        }
    }

    #[test]
    fn the_context_is_the_third_of_the_flags() {
        for (flags, context) in [
            ("d.h1.", Context::Interrupt),
            ("..s2", Context::Softirq),
            (".....", Context::Thread),
            ("", Context::Unknown),
        ] {
            let (event, recording) =
                parse_line(&format!("a-1 [000] {flags} 1.000001: sched_waking: comm=x y pid=5 prio=98 target_cpu=003"));
            assert_eq!(event.context, context);
            let TraceEventKind::Waking { thread_ref: ThreadRef { pid: 5, comm, prio: Some(98) } } = event.kind else {
                panic!("{event:?}")
            };
            assert_eq!(recording.names.get(comm), "x y");
        }
    }

    #[test]
    fn lost_events_and_other_lines_are_counted() {
        let text = "version = 6\ncpus=4\nCPU:1 [LOST 12 EVENTS]\nCPU:2 [7 EVENTS DROPPED]\nnonsense\n\
                    a-1 [000] ..... 1.5: cpu_idle: state=4294967295 cpu_id=3\na-1 [000] ..... 1.6: other: x\n";
        let recording = read(text, 10, "text").expect("one event");
        let lost: Vec<(u32, TraceEventKind)> = recording.events.iter().map(|event| (event.cpu, event.kind)).collect();
        assert_eq!(lost[..2], [(1, TraceEventKind::Lost { nr: Some(12) }), (2, TraceEventKind::Lost { nr: Some(7) })]);
        assert_eq!(lost[2].1, TraceEventKind::Idle { cpu: 3, state: None });
        assert_eq!((recording.nr_cpus, recording.others), (4, 1));
        assert_eq!(recording.problems["lines that are no events"].first, "line 14");
    }
}
