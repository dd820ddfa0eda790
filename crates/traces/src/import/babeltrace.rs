// SPDX-License-Identifier: GPL-2.0-or-later
//! Text of babeltrace2: events of an LTTng trace, or of one that `perf data convert --to-ctf` wrote.
//!
//! A line is `[TIME] (+DELTA) HOST EVENT: { CONTEXT }, { FIELDS }`, with `key = value` pairs in the braces. The first
//! context has the CPU (`cpu_id`); the last braces have the fields of the event. LTTng differs from the kernel's
//! own tracepoints in three points:
//! - it names threads by `tid`, and processes by `pid`;
//! - priorities of threads are relative to the kernel's `MAX_RT_PRIO`;
//! - tracepoints of the group `power` have the group as a prefix (`power_cpu_idle`).

use super::error::ReadResult;
use super::event::{Context, Recording, UNKNOWN_PID, state_from_bits};
use super::fields::{self, EventHead, Tracepoint, TracepointFields};
use super::file_order::{PositionUnit, TimeStamp};
use super::text::time_of;
use fairlab_sched::ctx::PrevState;
use std::borrow::Cow;

/// Number of lines that are checked before a text is rejected. babeltrace2 prints warnings before the first event.
const MAX_DETECT_LINES: usize = 2000;
/// The kernel's `MAX_RT_PRIO`, which LTTng subtracts from priorities.
const MAX_RT_PRIO: i64 = 100;
const NS_PER_S: u64 = 1_000_000_000;
const NS_PER_DAY: u64 = 86_400 * NS_PER_S;

/// Whether an early line of a text is an event that babeltrace2 printed.
pub(super) fn is_babeltrace(text: &str) -> bool {
    text.lines().take(MAX_DETECT_LINES).any(|line| line_of(line).is_some())
}

pub(super) fn read(text: &str) -> ReadResult<Recording> {
    let mut recording = Recording { format: "babeltrace2 text", ..Recording::default() };
    recording.order.unit = PositionUnit::Line;
    let mut clock = WallClock::default();
    for (index, line) in text.lines().enumerate() {
        let position = index + 1;
        let place = || format!("line {position}");
        let Some(event) = line_of(line) else {
            if !line.trim().is_empty() {
                recording.record_problem("lines that are no events", place);
            }
            continue;
        };
        let at = clock.time_of(event.time);
        // The name has the prefix of its group: `sched:sched_switch` in perf's traces, `power_cpu_idle` in LTTng's.
        let name = event.name.rsplit(':').next().unwrap_or_default();
        let Some(tracepoint) = Tracepoint::named(name.strip_prefix("power_").unwrap_or(name)) else {
            recording.push_other(at);
            continue;
        };
        let fields = PrettyFields::of(event.fields);
        let Some(cpu) = fields.cpu() else {
            recording.record_problem("events without their CPU", place);
            continue;
        };
        let (pid, context) = (fields.current_pid(), fields.context());
        let head = EventHead { at, cpu, pid, context, position, stamp: TimeStamp::Absolute };
        fields::push(&mut recording, head, tracepoint, &fields);
    }
    if recording.events.is_empty() {
        let help = "record them: lttng enable-event --kernel 'sched_*', or perf sched record";
        return Err(super::no_events(&recording, help));
    }
    Ok(recording)
}

/// Time of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineTime {
    /// Nanoseconds since the clock's start (`--clock-seconds`), or since the first day of the calendar
    /// (`--clock-date`).
    Absolute(u64),
    /// Nanoseconds since midnight, the default.
    OfDay(u64),
}

/// Clock of lines whose times start again at midnight.
#[derive(Default)]
struct WallClock {
    midnight: u64,
    last: u64,
}

impl WallClock {
    fn time_of(&mut self, time: LineTime) -> u64 {
        match time {
            LineTime::Absolute(at) => at,
            LineTime::OfDay(at) => {
                // Lines are sorted by time, so a time that is half a day earlier belongs to the next day.
                if at.saturating_add(NS_PER_DAY / 2) < self.last {
                    self.midnight = self.midnight.saturating_add(NS_PER_DAY);
                }
                self.last = at;
                self.midnight.saturating_add(at)
            }
        }
    }
}

struct EventLine<'a> {
    time: LineTime,
    name: &'a str,
    /// Contexts and fields, in braces.
    fields: &'a str,
}

fn line_of(line: &str) -> Option<EventLine<'_>> {
    let (time, rest) = line.strip_prefix('[')?.split_once(']')?;
    let time = line_time_of(time)?;
    // Neither hosts nor names of events contain braces.
    let (head, _) = rest.split_once(": {")?;
    let name = head.split_whitespace().next_back()?;
    Some(EventLine { time, name, fields: &rest[head.len() + 2..] })
}

/// Parses `SECONDS.DECIMALS`, `HH:MM:SS.DECIMALS` or `YYYY-MM-DD HH:MM:SS.DECIMALS`.
fn line_time_of(text: &str) -> Option<LineTime> {
    let (date, time) = text.split_once(' ').map_or((None, text), |(date, time)| (Some(date), time));
    let Some((hours, rest)) = time.split_once(':') else { return time_of(text).map(LineTime::Absolute) };
    let (minutes, seconds) = rest.split_once(':')?;
    let (hours, minutes): (u64, u64) = (hours.parse().ok()?, minutes.parse().ok()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let at = time_of(seconds)?.checked_add((hours * 60 + minutes) * 60 * NS_PER_S)?;
    Some(match date {
        Some(date) => LineTime::Absolute(days_of(date)?.checked_mul(NS_PER_DAY)?.checked_add(at)?),
        None => LineTime::OfDay(at),
    })
}

/// Returns the number of days from the start of 1970 to a date `YYYY-MM-DD`.
fn days_of(date: &str) -> Option<u64> {
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let february = 28 + u64::from(is_leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let years: u64 = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum();
    Some(years + months[..month as usize - 1].iter().sum::<u64>() + day - 1)
}

/// `key = value` pairs of an event.
struct PrettyFields<'a> {
    contexts: Vec<(&'a str, &'a str)>,
    payload: Vec<(&'a str, &'a str)>,
    /// Whether LTTng recorded the event, so that priorities are relative.
    is_lttng: bool,
}

impl<'a> PrettyFields<'a> {
    fn of(text: &'a str) -> Self {
        let braces = split(text);
        let pairs = |part: &'a str| {
            let inner = part.trim().trim_start_matches('{').trim_end_matches('}');
            let pairs = split(inner).into_iter().filter_map(|pair| pair.split_once('='));
            pairs.map(|(key, value)| (key.trim(), value.trim())).collect::<Vec<_>>()
        };
        let (payload, contexts) =
            braces.split_last().map_or((Vec::new(), &braces[..]), |(last, rest)| (pairs(last), rest));
        let is_lttng = payload.iter().any(|&(key, _)| matches!(key, "tid" | "prev_tid" | "child_tid"));
        Self { contexts: contexts.iter().flat_map(|part| pairs(part)).collect(), payload, is_lttng }
    }

    fn in_contexts(&self, name: &str) -> Option<&'a str> {
        self.contexts.iter().find(|(key, _)| *key == name).map(|&(_, value)| value)
    }

    fn in_payload(&self, name: &str) -> Option<&'a str> {
        self.payload.iter().find(|(key, _)| *key == name).map(|&(_, value)| value)
    }

    /// Returns the CPU on which the event was traced.
    fn cpu(&self) -> Option<u32> {
        let cpu = self.in_contexts("cpu_id").or_else(|| self.in_payload("perf_cpu"))?;
        u32::try_from(number_of(cpu)?).ok()
    }

    /// Returns the thread that ran: LTTng has it only with the context `tid`.
    fn current_pid(&self) -> i32 {
        let pid = self.in_contexts("tid").or_else(|| self.in_payload("common_pid")).and_then(number_of);
        pid.and_then(|pid| i32::try_from(pid).ok()).unwrap_or(UNKNOWN_PID)
    }

    fn context(&self) -> Context {
        let flags = self.in_payload("common_flags").and_then(number_of);
        flags.map_or(Context::Unknown, |flags| Context::from_flags(flags as u8))
    }

    /// Returns a field by the kernel's name, which has `pid` where LTTng has `tid`.
    fn field(&self, name: &str) -> Option<&'a str> {
        let lttng = name.strip_suffix("pid").map(|prefix| format!("{prefix}tid"));
        lttng.and_then(|name| self.in_payload(&name)).or_else(|| self.in_payload(name))
    }
}

impl TracepointFields for PrettyFields<'_> {
    fn number(&self, name: &str) -> Option<i64> {
        let number = number_of(self.field(name)?)?;
        // Wake-ups in traces of LTTng before 2.4 have the kernel's priority.
        let is_relative = self.is_lttng && name.ends_with("prio") && number < MAX_RT_PRIO;
        Some(if is_relative { number.saturating_add(MAX_RT_PRIO) } else { number })
    }

    fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        let value = self.field(name)?;
        let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        Some(if inner.contains('\\') { unescape(inner).into() } else { inner.into() })
    }

    fn state(&self, name: &str) -> Option<PrevState> {
        self.number(name).map(state_from_bits)
    }
}

/// Parses a number, or the number of an enumerator: `( "TASK_RUNNING" : container = 0 )`.
fn number_of(value: &str) -> Option<i64> {
    let number = match value.split_once("container = ") {
        Some((_, number)) => number.trim_end_matches(')').trim(),
        None => value,
    };
    match number.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    }
}

/// Splits at commas outside of quotes and brackets.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut depth, mut in_quotes, mut is_escaped) = (0, 0_u32, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_quotes => is_escaped = true,
            b'"' => in_quotes = !in_quotes,
            _ if in_quotes => {}
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

/// Replaces the escapes of quotes and backslashes.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::event::{ThreadRef, TraceEvent, TraceEventKind};

    fn events(text: &str) -> (Vec<TraceEvent>, Recording) {
        let recording = read(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
        (recording.events.clone(), recording)
    }

    #[test]
    fn switches_of_lttng_and_perf_have_the_kernel_s_pids_and_priorities() {
        for line in [
            r#"[12.000345000] (+0.000001200) board sched_switch: { cpu_id = 2 }, { prev_comm = "a, {b", prev_tid = 17, prev_prio = 20, prev_state = 1, next_comm = "swapper/2", next_tid = 0, next_prio = 20 }"#,
            r#"[12.000345000] (+?.?????????) sched_switch: { cpu_id = 2 }, { pid = 9, tid = 17, procname = "a, {b" }, { prev_comm = "a, {b", prev_tid = 17, prev_prio = 20, prev_state = ( "TASK_INTERRUPTIBLE" : container = 1 ), next_comm = "swapper/2", next_tid = 0, next_prio = 20 }"#,
            r#"[12.000345000] (+0.000016300) sched:sched_switch: { perf_ip = 0x0, perf_tid = 17, perf_pid = 9, perf_cpu = 2, common_type = 59, common_flags = 1, common_pid = 17, prev_comm = "a, {b", prev_pid = 17, prev_prio = 120, prev_state = 1, next_comm = "swapper/2", next_pid = 0, next_prio = 120 }"#,
        ] {
            let (events, recording) = events(line);
            let [TraceEvent { at: 12_000_345_000, cpu: 2, kind: TraceEventKind::Switch { prev, state, next }, .. }] =
                events[..]
            else {
                panic!("{line}: {events:?}")
            };
            let name = |thread_ref: ThreadRef| recording.names.get(thread_ref.comm);
            assert_eq!(
                (name(prev), prev.pid, prev.prio, state),
                ("a, {b", 17, Some(120), PrevState::Blocked),
                "{line}"
            );
            assert_eq!((name(next), next.pid, next.prio), ("swapper/2", 0, Some(120)), "{line}");
        }
    }

    #[test]
    fn the_running_thread_comes_from_a_context_or_perf_s_common_fields() {
        let with = |contexts: &str| {
            format!("[1.5] h sched_waking: {contexts}, {{ comm = \"x\", tid = 5, prio = -2, target_cpu = 1 }}")
        };
        for (line, pid) in
            [(with("{ cpu_id = 0 }"), UNKNOWN_PID), (with("{ cpu_id = 0 }, { procname = \"y\", pid = 8, tid = 9 }"), 9)]
        {
            let (events, _) = events(&line);
            let TraceEventKind::Waking { thread_ref: ThreadRef { pid: 5, prio: Some(98), .. } } = events[0].kind else {
                panic!("{events:?}")
            };
            assert_eq!((events[0].pid, events[0].context), (pid, Context::Unknown));
        }
    }

    #[test]
    fn forks_idle_states_and_lines_of_other_kinds_are_recognised() {
        let text = "11-29 10:26:50.814 1 1 W PLUGIN/CTF: a warning\n\
            [1.1] h sched_process_fork: { cpu_id = 0 }, { parent_comm = \"p\", parent_tid = 7, parent_pid = 6, child_comm = \"p\", \
            child_tid = 8, _vtids_length = 1, vtids = [ [0] = 3 ], child_pid = 6, child_ns_inum = 4026531836 }\n\
            [1.2] h power_cpu_idle: { cpu_id = 0 }, { state = 4294967295, cpu_id = 3 }\n\
            [1.3] h syscall_exit_ioctl: { cpu_id = 0 }, { ret = 0, arg = 0 }\n\
            [1.4] h sched_switch: { cpu_id = 0 }, { prev_comm = \"x\" }\n";
        let (events, recording) = events(text);
        let kinds: Vec<TraceEventKind> = events.iter().map(|event| event.kind).collect();
        let TraceEventKind::Fork { parent: 7, child: ThreadRef { pid: 8, .. } } = kinds[0] else { panic!("{kinds:?}") };
        assert_eq!(kinds[1..], [TraceEventKind::Idle { cpu: 3, state: None }]);
        assert_eq!(recording.others, 1);
        assert_eq!(recording.problems["lines that are no events"].first, "line 1");
        assert_eq!(recording.problems["Switch events without a field that they need"].first, "line 5");
    }

    #[test]
    fn times_of_day_continue_after_midnight_and_dates_count_from_1970() {
        let event = "h sched_process_exec: { cpu_id = 0 }, { filename = \"x\", tid = 5, old_tid = 5 }";
        let text = format!("[23:59:59.5] (+0.1) {event}\n[00:00:00.25] (+0.75) {event}\n");
        let times: Vec<u64> = events(&text).0.iter().map(|event| event.at).collect();
        assert_eq!(times[1] - times[0], 750_000_000);
        let text = format!("[2024-02-29 00:00:01.5] (+0.1) {event}\n");
        // The day is 54 years, 13 leap days among them, and 59 days after the start of 1970.
        assert_eq!(events(&text).0[0].at, ((54 * 365 + 13 + 31 + 28) * 86_400 + 1) * NS_PER_S + NS_PER_S / 2);
        for line in ["[7]", "[x] h a: {", "[24:00:00.0] h a: { }", "[1.5] h a", "[2024-13-01 00:00:00.0] h a: { }"] {
            assert!(line_of(line).is_none(), "{line}");
        }
    }
}
