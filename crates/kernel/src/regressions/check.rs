// SPDX-License-Identifier: GPL-2.0-or-later
//! What tells a kernel with a bug from one without: a figure of a run, and a bound. Beyond the bound the bug has been seen.

use crate::worker::WorkerReport;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// A run begins at this time of the machine's clock, in nanoseconds.
const START_NS: u64 = 1_000_000_000;

/// A figure, and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CheckDefinition")]
pub struct Check {
    /// The figure.
    pub figure: Figure,
    /// Beyond which it says that the bug is there.
    pub bound: Bound,
}

/// A bound of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The bug is there above it.
    Above(u64),
    /// The bug is there below it.
    Below(u64),
}

/// Something of a run that is a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Figure {
    /// Of events, as lines of a trace.
    Events {
        /// Which.
        which: FigurePick,
        /// The largest of a value of theirs, instead of how many there are.
        most: Option<String>,
    },
    /// CPU time of a task or family, in nanoseconds.
    Runtime {
        /// Its name.
        task: String,
        /// Of the one that has the least, instead of all together.
        is_least: bool,
    },
    /// The longest time from a wake-up of a task until it ran, in nanoseconds.
    Latency(String),
    /// How many lines the kernel prints that have a text.
    Log(String),
    /// How often kernel code does one of the operations that are counted.
    Work(String),
    /// A figure of a CPU or task at a time.
    State {
        /// When, in nanoseconds from the run's start.
        at_ns: u64,
        /// Whose.
        whose: FigureOwner,
        /// Its name.
        name: String,
    },
}

/// Who has a figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum FigureOwner {
    /// A CPU.
    Cpu(usize),
    /// A task.
    Task(String),
}

/// Which events: those with all of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigurePick {
    /// Their kind.
    pub e: String,
    /// The name of their task or of its family.
    pub task: Option<String>,
    /// CPUs; where a task wakes up, or an interrupt goes.
    pub cpu: Option<Vec<u64>>,
    /// CPUs to which a task migrates.
    pub to: Option<Vec<u64>>,
    /// A counter of balancing.
    pub counter: Option<String>,
    /// Not before this time.
    pub after: Option<String>,
    /// Not behind it.
    pub until: Option<String>,
}

/// A check as files tell it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckDefinition {
    events: Option<FigurePick>,
    most: Option<String>,
    runtime: Option<String>,
    least_runtime: Option<String>,
    latency: Option<String>,
    log: Option<String>,
    work: Option<String>,
    at: Option<String>,
    cpu: Option<usize>,
    task: Option<String>,
    figure: Option<String>,
    above: Option<Value>,
    below: Option<Value>,
}

/// A time such as `5ms`, in nanoseconds.
fn time(text: &str) -> Result<u64, String> {
    let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", START_NS)];
    let found = units.iter().find_map(|(unit, ns)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(number * ns)
    });
    found.ok_or_else(|| format!("{text}: not a time, such as 5ms"))
}

/// A number, or a time in nanoseconds.
fn amount(value: &Value) -> Result<u64, String> {
    match (value.as_u64(), value.as_str()) {
        (Some(number), _) => Ok(number),
        (_, Some(text)) => time(text),
        _ => Err(format!("{value}: not a number or a time")),
    }
}

impl TryFrom<CheckDefinition> for Check {
    type Error = String;

    fn try_from(told: CheckDefinition) -> Result<Self, String> {
        let bound = match (&told.above, &told.below) {
            (Some(above), None) => Bound::Above(amount(above)?),
            (None, Some(below)) => Bound::Below(amount(below)?),
            _ => return Err("a check has either `above` or `below`".to_owned()),
        };
        let mut figures = Vec::new();
        if let Some(which) = told.events {
            for text in [&which.after, &which.until].into_iter().flatten() {
                time(text)?;
            }
            figures.push(Figure::Events { which, most: told.most });
        }
        figures.extend(told.runtime.map(|task| Figure::Runtime { task, is_least: false }));
        figures.extend(told.least_runtime.map(|task| Figure::Runtime { task, is_least: true }));
        figures.extend(told.latency.map(Figure::Latency));
        figures.extend(told.log.map(Figure::Log));
        figures.extend(told.work.map(Figure::Work));
        if let (Some(at), Some(name)) = (told.at, told.figure) {
            let whose = match (told.cpu, told.task) {
                (Some(cpu), None) => FigureOwner::Cpu(cpu),
                (None, Some(task)) => FigureOwner::Task(task),
                _ => return Err("a figure is of a `cpu` or a `task`".to_owned()),
            };
            figures.push(Figure::State { at_ns: time(&at)?, whose, name });
        }
        match (figures.pop(), figures.pop()) {
            (Some(figure), None) => Ok(Self { figure, bound }),
            _ => Err("a check has one of `events`, `runtime`, `least_runtime`, `latency`, `log`, `work`, or `at` and `figure`".to_owned()),
        }
    }
}

/// How a run is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BugCheck {
    /// Event by event: its trace.
    Trace,
    /// At its end: its summary.
    Summary,
    /// At a time of the machine's clock, in nanoseconds: its state.
    State(u64),
}

/// What was seen of a run.
#[derive(Clone, Debug, Default)]
pub struct BugReport {
    /// Lines of its trace, or what else was asked for.
    pub told: Vec<Value>,
    /// What the kernel said.
    pub report: WorkerReport,
}

impl fmt::Display for Figure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events { which, most } => {
                let what = which.counter.as_deref().unwrap_or(&which.e);
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
            Self::Work(operation) => write!(out, "{operation}"),
            Self::State { whose: FigureOwner::Cpu(cpu), name, .. } => write!(out, "{name} of CPU {cpu}"),
            Self::State { whose: FigureOwner::Task(task), name, .. } => write!(out, "{name} of {task}"),
        }
    }
}

impl Check {
    /// How a run is to be looked at for its figure.
    pub fn check_bug(&self) -> BugCheck {
        match self.figure {
            Figure::State { at_ns, .. } => BugCheck::State(START_NS + at_ns),
            Figure::Work(_) => BugCheck::Summary,
            _ => BugCheck::Trace,
        }
    }

    /// Whether its figure is a time, in nanoseconds.
    pub fn is_time(&self) -> bool {
        matches!(self.figure, Figure::Runtime { .. } | Figure::Latency(_))
    }

    /// The figure in a run. A run that has not got that far has none.
    pub fn figure(&self, seen: &BugReport) -> Option<u64> {
        if seen.report.end.is_some() {
            return None;
        }
        match &self.figure {
            Figure::Events { which, most } => {
                let names = names(&seen.told);
                let picked = seen.told.iter().filter(|event| which.has(event, &names));
                Some(match most {
                    Some(key) => picked.filter_map(|event| event[key].as_u64()).max().unwrap_or(0),
                    None => picked.count() as u64,
                })
            }
            Figure::Runtime { task, is_least } => {
                let of_task = |event: &&Value| event["e"] == "task" && is_of(event["name"].as_str(), task);
                let times = seen.told.iter().filter(of_task).filter_map(|event| event["runtime"].as_i64());
                let times = times.map(|time| u64::try_from(time).unwrap_or(0));
                if *is_least { times.min() } else { Some(times.sum()) }
            }
            Figure::Latency(task) => Some(latency(&seen.told, task)),
            Figure::Log(text) => Some(seen.report.log.iter().filter(|line| line.text.contains(text)).count() as u64),
            Figure::Work(operation) => Some(seen.told.first()?["work"][operation].as_u64().unwrap_or(0)),
            Figure::State { whose, name, .. } => {
                let state = seen.told.first()?;
                let its = match whose {
                    FigureOwner::Cpu(cpu) => &state["cpus"][*cpu],
                    FigureOwner::Task(task) => {
                        state["tasks"].as_array()?.iter().find(|its| its["task"] == task.as_str())?
                    }
                };
                its[name].as_u64()
            }
        }
    }

    /// Whether a figure says that the bug is there.
    pub fn is_buggy_output(&self, figure: u64) -> bool {
        match self.bound {
            Bound::Above(bound) => figure > bound,
            Bound::Below(bound) => figure < bound,
        }
    }
}

/// Names of tasks, by their pids: a trace ends with them.
fn names(events: &[Value]) -> BTreeMap<i64, &str> {
    let totals = events.iter().filter(|event| event["e"] == "task");
    totals.filter_map(|event| Some((event["pid"].as_i64()?, event["name"].as_str()?))).collect()
}

/// Whether a name is that of a task, or of one of its family.
fn is_of(name: Option<&str>, task: &str) -> bool {
    let number = name.and_then(|name| name.strip_prefix(task));
    number.is_some_and(|number| number.bytes().all(|letter| letter.is_ascii_digit()))
}

impl FigurePick {
    fn has(&self, event: &Value, names: &BTreeMap<i64, &str>) -> bool {
        let is_in = |cpus: &Option<Vec<u64>>, key: &str| {
            cpus.as_ref().is_none_or(|cpus| event[key].as_u64().is_some_and(|cpu| cpus.contains(&cpu)))
        };
        let ns = |text: &Option<String>| text.as_deref().and_then(|text| time(text).ok()).map(|ns| START_NS + ns);
        let at = event["t"].as_u64().unwrap_or(0);
        let name = || event["pid"].as_i64().and_then(|pid| names.get(&pid).copied());
        event["e"] == self.e.as_str()
            && self.task.as_ref().is_none_or(|task| is_of(name(), task))
            && is_in(&self.cpu, "cpu")
            && is_in(&self.to, "to")
            && self.counter.as_ref().is_none_or(|counter| event["c"] == counter.as_str())
            && ns(&self.after).is_none_or(|after| at >= after)
            && ns(&self.until).is_none_or(|until| at <= until)
    }
}

/// The longest time from a wake-up until the task ran.
fn latency(events: &[Value], task: &str) -> u64 {
    let names = names(events);
    let (mut woken, mut longest) = (BTreeMap::new(), 0);
    for event in events {
        let at = event["t"].as_u64().unwrap_or(0);
        match event["e"].as_str() {
            Some("wakeup") => {
                let pid = event["pid"].as_i64().unwrap_or(0);
                if is_of(names.get(&pid).copied(), task) {
                    woken.insert(pid, at);
                }
            }
            Some("switch") => {
                if let Some(since) = event["next"].as_i64().and_then(|pid| woken.remove(&pid)) {
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
    use crate::worker::{CrashReport, WorkerLine};
    use serde_json::json;

    fn check(told: &str) -> Check {
        toml::from_str(told).unwrap_or_else(|error| panic!("{told}: {error}"))
    }

    fn is_detected() -> BugReport {
        let events = vec![
            json!({ "t": 1_000_000_000_u64, "e": "wakeup", "pid": 1000, "cpu": 1, "new": true, "on": 0 }),
            json!({ "t": 1_001_000_000_u64, "e": "switch", "cpu": 1, "prev": 0, "next": 1000, "st": 0 }),
            json!({ "t": 1_002_000_000_u64, "e": "migrate", "pid": 1001, "from": 1, "to": 2, "on": 0 }),
            json!({ "t": 1_003_000_000_u64, "e": "lb", "on": 0, "cpu": 0, "lvl": 1, "c": "lb_gained", "idle": "busy", "n": 4 }),
            json!({ "e": "task", "pid": 1000, "name": "hog0", "runtime": 7 }),
            json!({ "e": "task", "pid": 1001, "name": "hog1", "runtime": 3 }),
            json!({ "e": "task", "pid": 1002, "name": "hogshead", "runtime": 99 }),
        ];
        let log = vec![WorkerLine { at_ns: 1, cpu: 0, text: "WARNING: something".to_owned() }];
        BugReport { told: events, report: WorkerReport { log, end: None } }
    }

    fn figure(told: &str) -> Option<u64> {
        check(told).figure(&is_detected())
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
        assert_eq!(of_cpu.check_bug(), BugCheck::State(1_005_000_000));
        let state =
            json!({ "cpus": [{ "util_avg": 1 }, { "util_avg": 20 }], "tasks": [{ "task": "x", "util_avg": 3 }] });
        let seen = BugReport { told: vec![state], ..is_detected() };
        assert_eq!(of_cpu.figure(&seen), Some(20));
        assert!(!of_cpu.is_buggy_output(20) && of_cpu.is_buggy_output(9));
        assert_eq!(check("at = \"5ms\"\ntask = \"x\"\nfigure = \"util_avg\"\nbelow = 10").figure(&seen), Some(3));
    }

    #[test]
    fn operations_are_counted_in_a_summary() {
        let of_work = check("work = \"DetachScan\"\nabove = 5");
        assert_eq!(of_work.check_bug(), BugCheck::Summary);
        let seen = BugReport { told: vec![json!({ "work": { "DetachScan": 7 } })], ..BugReport::default() };
        assert_eq!(of_work.figure(&seen), Some(7));
    }

    #[test]
    fn a_run_that_did_not_come_back_has_no_figure() {
        let report = WorkerReport { end: Some(CrashReport::default()), ..WorkerReport::default() };
        assert_eq!(check("log = \"x\"\nabove = 0").figure(&BugReport { report, ..BugReport::default() }), None);
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
