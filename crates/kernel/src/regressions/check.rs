// SPDX-License-Identifier: GPL-2.0-or-later
//! Check that distinguishes a kernel with a bug from one without: a metric of a run, and a bound. Beyond the
//! bound the bug is detected.

use crate::trace_line::{TraceKind, TraceLine};
use crate::worker::WorkerReport;
use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Time of the machine's clock at which a run begins, in nanoseconds.
const START_NS: u64 = 1_000_000_000;

/// Metric of a run with a bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CheckDefinition")]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct Check {
    pub figure: CheckMetric,
    /// Bound beyond which the metric indicates the bug.
    pub bound: Bound,
}

/// Bound of a metric, in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The bug is present above this value.
    Above(u64),
    /// The bug is present below this value.
    Below(u64),
}

/// Metric of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the variants and fields are named after what they hold")]
pub enum CheckMetric {
    /// Events, which are lines of a trace.
    Events {
        which: EventFilter,
        /// Key whose largest value is the metric; `None` for the number of events.
        most: Option<String>,
    },
    /// CPU time of a task or family, in nanoseconds.
    Runtime {
        /// Name of the task or family.
        task: String,
        /// Whether the metric is that of the task with the least CPU time, instead of the sum.
        is_least: bool,
    },
    /// Longest time from a wake-up of a task until it ran, in nanoseconds.
    Latency(String),
    /// Number of lines of the kernel log that contain a text.
    Log(String),
    /// Number of crashes with a text in their message or stack: 0 or 1, since a crash ends the run.
    Crash(String),
    /// Number of times that kernel code does a counted operation.
    Work(String),
    /// Metric of a CPU or task at a given time.
    State {
        /// Time from the start of the run, in nanoseconds.
        at_ns: u64,
        owner: MetricOwner,
        /// Name of the metric.
        name: String,
    },
}

/// CPU or task whose metric it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum MetricOwner {
    /// CPU by its number.
    Cpu(usize),
    /// Task by its name.
    Task(String),
}

/// Filter of events: an event must meet all conditions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventFilter {
    /// Kind of the event (`e` in the trace).
    pub e: TraceKind,
    /// Name of its task, or of the family of the task.
    pub task: Option<String>,
    /// CPUs of the event: where a task wakes up, or an interrupt is sent.
    pub cpu: Option<Vec<u64>>,
    /// CPUs to which a task migrates.
    pub to: Option<Vec<u64>>,
    /// Name of a load-balancing counter.
    pub counter: Option<String>,
    /// Earliest time, from the start of the run, such as `5ms`.
    pub after: Option<String>,
    /// Latest time, from the start of the run.
    pub until: Option<String>,
}

/// Check in the format of its file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckDefinition {
    events: Option<EventFilter>,
    most: Option<String>,
    runtime: Option<String>,
    least_runtime: Option<String>,
    latency: Option<String>,
    log: Option<String>,
    crash: Option<String>,
    work: Option<String>,
    at: Option<String>,
    cpu: Option<usize>,
    task: Option<String>,
    figure: Option<String>,
    above: Option<Value>,
    below: Option<Value>,
}

/// Parses a time such as `5ms`. Returns nanoseconds.
fn parse_time(text: &str) -> Result<u64, Message> {
    let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", START_NS)];
    let found = units.iter().find_map(|(unit, ns)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(number * ns)
    });
    found.ok_or_else(|| Message::new(format!("{text}: not a time, such as 5ms")))
}

/// Parses a number, or a time in nanoseconds.
fn parse_amount(value: &Value) -> Result<u64, Message> {
    match (value.as_u64(), value.as_str()) {
        (Some(number), _) => Ok(number),
        (_, Some(text)) => parse_time(text),
        _ => Err(Message::new(format!("{value}: not a number or a time"))),
    }
}

impl TryFrom<CheckDefinition> for Check {
    type Error = Message;

    fn try_from(definition: CheckDefinition) -> Result<Self, Message> {
        let bound = match (&definition.above, &definition.below) {
            (Some(above), None) => Bound::Above(parse_amount(above)?),
            (None, Some(below)) => Bound::Below(parse_amount(below)?),
            _ => return Err(Message::new("a check has either `above` or `below`")),
        };
        let mut figures = Vec::new();
        if let Some(which) = definition.events {
            for text in [&which.after, &which.until].into_iter().flatten() {
                parse_time(text)?;
            }
            figures.push(CheckMetric::Events { which, most: definition.most });
        }
        figures.extend(definition.runtime.map(|task| CheckMetric::Runtime { task, is_least: false }));
        figures.extend(definition.least_runtime.map(|task| CheckMetric::Runtime { task, is_least: true }));
        figures.extend(definition.latency.map(CheckMetric::Latency));
        figures.extend(definition.log.map(CheckMetric::Log));
        figures.extend(definition.crash.map(CheckMetric::Crash));
        figures.extend(definition.work.map(CheckMetric::Work));
        if let (Some(at), Some(name)) = (definition.at, definition.figure) {
            let owner = match (definition.cpu, definition.task) {
                (Some(cpu), None) => MetricOwner::Cpu(cpu),
                (None, Some(task)) => MetricOwner::Task(task),
                _ => return Err(Message::new("a figure is of a `cpu` or a `task`")),
            };
            figures.push(CheckMetric::State { at_ns: parse_time(&at)?, owner, name });
        }
        match (figures.pop(), figures.pop()) {
            (Some(figure), None) => Ok(Self { figure, bound }),
            _ => Err(Message::new(
                "a check has one of `events`, `runtime`, `least_runtime`, `latency`, `log`, `crash`, `work`, or `at` and `figure`",
            )),
        }
    }
}

/// Output of a run that a check needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutput {
    /// Trace, event by event.
    Trace,
    /// Summary at the end of the run.
    Summary,
    /// State at a time of the machine's clock, in nanoseconds.
    State(u64),
}

/// Output of a run that a check evaluates.
#[derive(Clone, Debug, Default)]
pub struct ObservedRun {
    /// Lines of its trace, if the check needs them.
    pub trace: Vec<TraceLine>,
    /// Summary or state, if the check needs one of them.
    pub output: Value,
    /// Messages of the kernel, and its end if that was abnormal.
    pub report: WorkerReport,
}

impl fmt::Display for CheckMetric {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events { which, most } => {
                let kind = serde_json::to_value(which.e).expect("a kind has a name");
                let what = which.counter.as_deref().or(kind.as_str()).unwrap_or_default();
                match (most, &which.task) {
                    (Some(key), _) => write!(out, "most {what} ({key})"),
                    (None, Some(task)) => write!(out, "{what} of {task}"),
                    (None, None) => write!(out, "{what}"),
                }
            }
            Self::Runtime { task, is_least: false } => write!(out, "CPU time of {task}"),
            Self::Runtime { task, is_least: true } => write!(out, "least CPU time of a {task}"),
            Self::Latency(task) => write!(out, "longest wait of {task}"),
            Self::Log(text) => write!(out, "warnings of {text}"),
            Self::Crash(text) => write!(out, "crashes in {text}"),
            Self::Work(operation) => write!(out, "{operation}"),
            Self::State { owner: MetricOwner::Cpu(cpu), name, .. } => write!(out, "{name} of CPU {cpu}"),
            Self::State { owner: MetricOwner::Task(task), name, .. } => write!(out, "{name} of {task}"),
        }
    }
}

impl Check {
    /// Returns the output of a run that the metric needs.
    pub fn required_output(&self) -> RunOutput {
        match self.figure {
            CheckMetric::State { at_ns, .. } => RunOutput::State(START_NS + at_ns),
            CheckMetric::Work(_) => RunOutput::Summary,
            _ => RunOutput::Trace,
        }
    }

    /// Whether the metric is a time, in nanoseconds.
    pub fn is_time(&self) -> bool {
        matches!(self.figure, CheckMetric::Runtime { .. } | CheckMetric::Latency(_))
    }

    /// Returns the metric of a run; `None` for a run that did not end normally, except with the expected crash.
    pub fn figure(&self, seen: &ObservedRun) -> Option<u64> {
        if let Some(crash) = &seen.report.end {
            let CheckMetric::Crash(text) = &self.figure else { return None };
            return crash.mentions(text).then_some(1);
        }
        match &self.figure {
            CheckMetric::Events { which, most } => {
                let names = names(&seen.trace);
                let picked = seen.trace.iter().filter(|line| which.matches(line, &names));
                Some(match most {
                    Some(key) => picked.filter_map(|line| line.number(key)).max().unwrap_or(0),
                    None => picked.count() as u64,
                })
            }
            CheckMetric::Runtime { task, is_least } => {
                let of_task =
                    |line: &&TraceLine| line.kind() == TraceKind::Task && is_task_or_family(line.text("name"), task);
                let times = seen.trace.iter().filter(of_task).map(|line| line.number("runtime").unwrap_or(0));
                if *is_least { times.min() } else { Some(times.sum()) }
            }
            CheckMetric::Latency(task) => Some(latency(&seen.trace, task)),
            CheckMetric::Log(text) => {
                Some(seen.report.log.iter().filter(|line| line.text.contains(text)).count() as u64)
            }
            CheckMetric::Crash(_) => Some(0),
            CheckMetric::Work(operation) => {
                seen.output.as_object().map(|output| output["work"][operation].as_u64().unwrap_or(0))
            }
            CheckMetric::State { owner, name, .. } => {
                let state = &seen.output;
                let values = match owner {
                    MetricOwner::Cpu(cpu) => &state["cpus"][*cpu],
                    MetricOwner::Task(task) => {
                        state["tasks"].as_array()?.iter().find(|values| values["task"] == task.as_str())?
                    }
                };
                values[name].as_u64()
            }
        }
    }

    /// Whether a value of the metric indicates the bug.
    pub fn indicates_bug(&self, figure: u64) -> bool {
        match self.bound {
            Bound::Above(bound) => figure > bound,
            Bound::Below(bound) => figure < bound,
        }
    }
}

/// Returns the names of tasks by their pids, which are at the end of a trace.
fn names(trace: &[TraceLine]) -> BTreeMap<i64, &str> {
    let totals = trace.iter().filter(|line| line.kind() == TraceKind::Task);
    totals.filter_map(|line| Some((line.pid("pid")?, line.text("name")?))).collect()
}

/// Whether a name is that of a task, or of a member of its family: the name with a number.
fn is_task_or_family(name: Option<&str>, task: &str) -> bool {
    let number = name.and_then(|name| name.strip_prefix(task));
    number.is_some_and(|number| number.bytes().all(|letter| letter.is_ascii_digit()))
}

impl EventFilter {
    fn matches(&self, line: &TraceLine, names: &BTreeMap<i64, &str>) -> bool {
        let is_in = |cpus: &Option<Vec<u64>>, key: &str| {
            cpus.as_ref().is_none_or(|cpus| line.number(key).is_some_and(|cpu| cpus.contains(&cpu)))
        };
        let ns = |text: &Option<String>| text.as_deref().and_then(|text| parse_time(text).ok()).map(|ns| START_NS + ns);
        let at = line.time_ns().unwrap_or(0);
        let name = || line.pid("pid").and_then(|pid| names.get(&pid).copied());
        line.kind() == self.e
            && self.task.as_ref().is_none_or(|task| is_task_or_family(name(), task))
            && is_in(&self.cpu, "cpu")
            && is_in(&self.to, "to")
            && self.counter.as_ref().is_none_or(|counter| line.text("c") == Some(counter))
            && ns(&self.after).is_none_or(|after| at >= after)
            && ns(&self.until).is_none_or(|until| at <= until)
    }
}

/// Returns the longest time from a wake-up until the task ran, in nanoseconds.
fn latency(trace: &[TraceLine], task: &str) -> u64 {
    let names = names(trace);
    let (mut woken, mut longest) = (BTreeMap::new(), 0);
    for line in trace {
        let at = line.time_ns().unwrap_or(0);
        match line.kind() {
            TraceKind::Wakeup => {
                let pid = line.pid("pid").unwrap_or(0);
                if is_task_or_family(names.get(&pid).copied(), task) {
                    woken.insert(pid, at);
                }
            }
            TraceKind::Switch => {
                if let Some(since) = line.pid("next").and_then(|pid| woken.remove(&pid)) {
                    longest = longest.max(at - since);
                }
            }
            _ => {}
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::{CrashReport, WorkerLogLine};
    use serde_json::json;

    fn check(text: &str) -> Check {
        toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn observed_run() -> ObservedRun {
        let events = vec![
            json!({ "t": 1_000_000_000_u64, "e": "wakeup", "pid": 1000, "cpu": 1, "new": true, "on": 0 }),
            json!({ "t": 1_001_000_000_u64, "e": "switch", "cpu": 1, "prev": 0, "next": 1000, "st": 0 }),
            json!({ "t": 1_002_000_000_u64, "e": "migrate", "pid": 1001, "from": 1, "to": 2, "on": 0 }),
            json!({ "t": 1_003_000_000_u64, "e": "lb", "on": 0, "cpu": 0, "lvl": 1, "c": "lb_gained", "idle": "busy", "n": 4 }),
            json!({ "e": "task", "pid": 1000, "name": "hog0", "runtime": 7 }),
            json!({ "e": "task", "pid": 1001, "name": "hog1", "runtime": 3 }),
            json!({ "e": "task", "pid": 1002, "name": "hogshead", "runtime": 99 }),
        ];
        let log = vec![WorkerLogLine { at_ns: 1, cpu: 0, text: "WARNING: something".to_owned(), trace: Vec::new() }];
        let trace = events.into_iter().map(|event| TraceLine::try_from(event).expect("a line")).collect();
        ObservedRun { trace, report: WorkerReport { log, ..WorkerReport::default() }, ..ObservedRun::default() }
    }

    fn figure(text: &str) -> Option<u64> {
        check(text).figure(&observed_run())
    }

    #[test]
    fn events_are_picked_by_what_they_have_and_when_they_are() {
        assert_eq!(figure("events = { e = \"wakeup\", task = \"hog\", cpu = [1, 2] }\nabove = 0"), Some(1));
        assert_eq!(figure("events = { e = \"wakeup\", task = \"hog\", cpu = [2] }\nabove = 0"), Some(0));
        assert_eq!(figure("events = { e = \"migrate\", task = \"hog1\", to = [2] }\nabove = 0"), Some(1));
        assert_eq!(figure("events = { e = \"migrate\", after = \"3ms\" }\nabove = 0"), Some(0));
        assert_eq!(figure("events = { e = \"migrate\", until = \"1999us\" }\nabove = 0"), Some(0));
        assert_eq!(figure("events = { e = \"lb\", counter = \"lb_gained\" }\nmost = \"n\"\nabove = 0"), Some(4));
    }

    #[test]
    fn a_family_is_its_name_with_numbers() {
        assert_eq!(figure("runtime = \"hog\"\nbelow = 1"), Some(10));
        assert_eq!(figure("least_runtime = \"hog\"\nbelow = 1"), Some(3));
        assert_eq!(figure("latency = \"hog\"\nabove = \"5ms\""), Some(1_000_000));
    }

    #[test]
    fn lines_of_the_log_are_counted_and_a_state_is_looked_into() {
        assert_eq!(figure("log = \"WARNING\"\nabove = 0"), Some(1));
        let of_cpu = check("at = \"5ms\"\ncpu = 1\nfigure = \"util_avg\"\nbelow = 10");
        assert_eq!(of_cpu.required_output(), RunOutput::State(1_005_000_000));
        let state =
            json!({ "cpus": [{ "util_avg": 1 }, { "util_avg": 20 }], "tasks": [{ "task": "x", "util_avg": 3 }] });
        let seen = ObservedRun { output: state, ..observed_run() };
        assert_eq!(of_cpu.figure(&seen), Some(20));
        assert!(!of_cpu.indicates_bug(20) && of_cpu.indicates_bug(9));
        assert_eq!(check("at = \"5ms\"\ntask = \"x\"\nfigure = \"util_avg\"\nbelow = 10").figure(&seen), Some(3));
    }

    #[test]
    fn operations_are_counted_in_a_summary() {
        let of_work = check("work = \"DetachScan\"\nabove = 5");
        assert_eq!(of_work.required_output(), RunOutput::Summary);
        let seen = ObservedRun { output: json!({ "work": { "DetachScan": 7 } }), ..ObservedRun::default() };
        assert_eq!(of_work.figure(&seen), Some(7));
    }

    #[test]
    fn a_run_that_did_not_come_back_has_no_figure() {
        let report = WorkerReport { end: Some(CrashReport::default()), ..WorkerReport::default() };
        assert_eq!(check("log = \"x\"\nabove = 0").figure(&ObservedRun { report, ..ObservedRun::default() }), None);
    }

    #[test]
    fn a_crash_is_counted_if_its_stack_or_message_has_the_text() {
        let of_crash = check("crash = \"pick_next\"\nabove = 0");
        assert_eq!(of_crash.figure(&observed_run()), Some(0));
        let crashed = |stack: &str| {
            let end = CrashReport { stack: vec!["schedule".to_owned(), stack.to_owned()], ..CrashReport::default() };
            of_crash.figure(&ObservedRun {
                report: WorkerReport { end: Some(end), ..WorkerReport::default() },
                ..ObservedRun::default()
            })
        };
        assert_eq!(crashed("pick_next_entity at kernel/sched/fair.c:1"), Some(1));
        assert_eq!(crashed("enqueue_entity at kernel/sched/fair.c:1"), None, "a different crash is not the bug");
    }

    #[test]
    fn a_check_is_one_figure_and_one_bound() {
        for wrong in [
            "log = \"x\"",
            "log = \"x\"\nabove = 1\nbelow = 2",
            "above = 1",
            "log = \"x\"\nruntime = \"y\"\nabove = 1",
            "at = \"1ms\"\nfigure = \"util_avg\"\nabove = 1",
            "runtime = \"y\"\nabove = \"soon\"",
            "events = { e = \"x\", after = \"soon\" }\nabove = 1",
            "events = { f = \"x\" }\nabove = 1",
        ] {
            assert!(toml::from_str::<Check>(wrong).is_err(), "{wrong}");
        }
    }
}
