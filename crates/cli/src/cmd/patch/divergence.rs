// SPDX-License-Identifier: GPL-2.0-or-later
//! First difference between two kernels in a run: the first line in which their event traces differ.
//!
//! Runs are deterministic, so both are repeated for the state just before that event and for the functions
//! that are entered then ([`super::calls`]).

use super::calls::{self, CallDifference};
use crate::execution::trial::Trial;
use crate::execution::worker;
use crate::execution::worker::state::{CpuState, EngineState, TaskState};
use crate::values::error::CliError;
use crate::values::interrupt;
use fairlab_kernel::functions;
use fairlab_kernel::object::TracedCall;
use fairlab_kernel::store::Store;
use fairlab_kernel::trace_line::{TraceKind, TraceLine};
use fairlab_machine::sim::START;
use fairlab_run::job::Job;
use fairlab_run::spec::RunSpec;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, BufReader};

/// Text in the place of an event after the end of a run.
const END: &str = "the run ends";

/// First difference between two kernels in a run.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Divergence {
    /// Time of the event in the base kernel's run, in nanoseconds.
    pub(crate) at_ns: u64,
    /// Number of equal events before.
    pub(crate) same_events: u64,
    /// Time of the event in the patched kernel's run, in nanoseconds, if it differs.
    pub(crate) patched_at_ns: Option<u64>,
    /// Last equal events of that time.
    pub(crate) before: Vec<String>,
    /// Decision that differs; null if both enter equal functions.
    pub(crate) decision: Option<CallDifference>,
    /// Event in the base kernel.
    pub(crate) base: String,
    /// Event in the patched kernel.
    pub(crate) patched: String,
    /// Next events at that time, in the base and in the patched kernel.
    pub(crate) then: [Vec<String>; 2],
    /// CPUs of the two events, with their state in the base kernel just before.
    pub(crate) cpus: Vec<CpuState>,
    /// Tasks of the two events, with their state in the base kernel just before.
    pub(crate) tasks: Vec<TaskState>,
    /// Fields in which the two events differ, if their descriptions are equal.
    pub(crate) fields: Vec<String>,
    /// State that differs just before without a differing event: place, value in the base kernel, value in
    /// the patched kernel.
    pub(crate) hidden: Vec<String>,
}

/// Finds the first difference in a run with a seed.
///
/// # Errors
/// If a run cannot be started.
pub(crate) fn find_first(base: &Trial, patched: &Trial, seed: u64) -> Result<Option<Divergence>, CliError> {
    let trace = |spec| Job::Trace { spec };
    let (one, _one_report) = start_worker(base, seed, trace)?;
    let (other, _other_report) = start_worker(patched, seed, trace)?;
    let (mut one, mut other) = (WorkerLines::from_child(one), WorkerLines::from_child(other));
    let (mut same_events, mut last) = (0, VecDeque::new());
    let (line, beside) = loop {
        interrupt::check()?;
        match (one.next(), other.next()) {
            (None, None) => return Ok(None),
            (line, beside) if line == beside => {
                same_events += 1;
                last.extend(line);
                if last.len() > MAX_EVENTS_BEFORE {
                    last.pop_front();
                }
            }
            (line, beside) => break (line, beside),
        }
    };
    let parsed = |line: &Option<String>| line.as_deref().and_then(TraceLine::parse);
    let (line, beside) = (parsed(&line), parsed(&beside));
    let time = |event: &Option<TraceLine>| event.as_ref().and_then(TraceLine::time_ns);
    let (one_at, other_at) = (time(&line), time(&beside));
    let mut then = [(); 2].map(|()| Vec::new());
    for ((lines, first_at), then) in [(&mut one, one_at), (&mut other, other_at)].into_iter().zip(&mut then) {
        let next = std::iter::from_fn(|| parsed(&lines.next()));
        then.extend(next.take_while(|event| event.time_ns() == first_at).take(MAX_EVENTS_AFTER));
    }
    drop((one, other));
    let at = one_at.into_iter().chain(other_at).min().unwrap_or(START.0);
    let (decision, decided_at) = first_decision(base, patched, seed, at)?;
    let until_ns = decided_at.saturating_sub(1);
    let states = [state_before(base, seed, until_ns)?, state_before(patched, seed, until_ns)?];
    let describe = |event: &Option<TraceLine>| {
        event.as_ref().map_or_else(|| END.to_owned(), |event| event_text(event, &states[0]))
    };
    let is_then = |event: &TraceLine| event.time_ns() == Some(at);
    let equal = last.iter().filter_map(|line| TraceLine::parse(line)).filter(is_then);
    let equal: Vec<String> = equal.map(|event| event_text(&event, &states[0])).collect();
    let events = || [&line, &beside].into_iter().flatten().chain(then.iter().flatten());
    let mut concerned: BTreeSet<u64> = events().flat_map(TraceLine::cpus).collect();
    concerned.extend(decision.iter().map(|decision| u64::from(decision.cpu)));
    let pids: BTreeSet<i64> = events().flat_map(TraceLine::pids).collect();
    let is_named = |task: &&TaskState| pids.contains(&i64::from(task.pid));
    let fields = if describe(&line) == describe(&beside) { differing_fields(&line, &beside) } else { Vec::new() };
    let is_concerned = |cpu: &&CpuState| concerned.contains(&u64::from(cpu.cpu));
    Ok(Some(Divergence {
        at_ns: one_at.unwrap_or(at).saturating_sub(START.0),
        patched_at_ns: other_at.filter(|at| one_at.is_some_and(|one| one != *at)).map(|at| at.saturating_sub(START.0)),
        same_events,
        before: equal,
        decision,
        base: describe(&line),
        patched: describe(&beside),
        then: then.each_ref().map(|events| events.iter().map(|event| event_text(event, &states[0])).collect()),
        cpus: states[0].cpus.iter().filter(is_concerned).cloned().collect(),
        tasks: states[0].tasks.iter().filter(is_named).cloned().collect(),
        fields,
        hidden: hidden_differences(&states),
    }))
}

fn engine_name(trial: &Trial) -> &str {
    trial.spec.settings.kernel_engine().expect("both are engines")
}

fn start_worker(
    trial: &Trial,
    seed: u64,
    job: impl FnOnce(RunSpec) -> Job,
) -> Result<(std::process::Child, tempfile::NamedTempFile), CliError> {
    worker::spawn(engine_name(trial), &job(portable_spec(trial, seed)?))
}

fn portable_spec(trial: &Trial, seed: u64) -> Result<RunSpec, CliError> {
    worker::portable(&trial.with_seed(Some(seed)))
}

/// Returns a worker's answer; the default if its run ended before, or its kernel did not return.
fn answer_or_default<T: DeserializeOwned + Default>(
    trial: &Trial,
    seed: u64,
    job: impl FnOnce(RunSpec) -> Job,
) -> Result<T, CliError> {
    let job = job(portable_spec(trial, seed)?);
    Ok(worker::run_captured(engine_name(trial), &job, None).unwrap_or_default())
}

/// Largest number of equal events that are reported.
const MAX_EVENTS_BEFORE: usize = 4;

/// Largest number of later events that are reported.
const MAX_EVENTS_AFTER: usize = 3;

/// Returns the first decision that differs, and its time: that of the first differing event, or an earlier
/// call if the calls at that time have different reasons.
fn first_decision(
    base: &Trial,
    patched: &Trial,
    seed: u64,
    at: u64,
) -> Result<(Option<CallDifference>, u64), CliError> {
    let then = decision_at(base, patched, seed, at)?;
    if then.as_ref().is_some_and(|decision| decision.is_of_both && !decision.is_another_call) {
        return Ok((then, at));
    }
    let Some(earlier) = first_differing_call(base, patched, seed, at)?.filter(|earlier| *earlier < at) else {
        return Ok((then, at));
    };
    let before = decision_at(base, patched, seed, earlier)?;
    let before = before.map(|decision| CallDifference { at_ns: Some(earlier.saturating_sub(START.0)), ..decision });
    Ok(if before.is_some() { (before, earlier) } else { (then, at) })
}

/// Returns the time of the first call in which the kernels enter different functions, among those that both
/// have.
fn first_differing_call(base: &Trial, patched: &Trial, seed: u64, until: u64) -> Result<Option<u64>, CliError> {
    let lines = |trial: &Trial, beside: &Trial| {
        let beside = engine_name(beside).to_owned();
        start_worker(trial, seed, |spec| Job::CallHashes { spec, until_ns: until, beside })
    };
    let ((one, _one_report), (other, _other_report)) = (lines(base, patched)?, lines(patched, base)?);
    let (mut one, mut other) = (WorkerLines::from_child(one), WorkerLines::from_child(other));
    let time = |line: Option<String>| line.and_then(|line| line.split_once(' ').and_then(|(at, _)| at.parse().ok()));
    loop {
        interrupt::check()?;
        match (one.next(), other.next()) {
            (None, None) => return Ok(None),
            (line, beside) if line == beside => {}
            (line, beside) => return Ok(time(line).into_iter().chain(time(beside)).min()),
        }
    }
}

/// Returns the first difference in the functions that both enter at a given time.
fn decision_at(base: &Trial, patched: &Trial, seed: u64, at: u64) -> Result<Option<CallDifference>, CliError> {
    let store = Store::for_user()?;
    let mut both = Vec::new();
    for trial in [base, patched] {
        let calls: Vec<TracedCall> = answer_or_default(trial, seed, |spec| Job::Calls { spec, at_ns: at })?;
        let object = functions::traced_object(&store.object_path(&store.get(engine_name(trial))?.key));
        let names = functions::names_by_address(&object)?;
        both.push((calls::with_function_names(calls, &names), names));
    }
    let known = |which: usize| both[which].1.values().map(String::as_str).collect::<BTreeSet<_>>();
    let (base_functions, patched_functions) = (known(0), known(1));
    Ok(calls::first_difference(&both[0].0, &both[1].0, [&base_functions, &patched_functions]))
}

/// Returns the fields in which two events differ; times are those of the run.
fn differing_fields(one: &Option<TraceLine>, other: &Option<TraceLine>) -> Vec<String> {
    let fields = |line: &Option<TraceLine>| line.as_ref().and_then(|line| line.fields().as_object().cloned());
    let (Some(one), Some(other)) = (fields(one), fields(other)) else { return Vec::new() };
    let time = |value: &Value| value.as_u64().map_or(0, |at| at.saturating_sub(START.0));
    let describe = |key: &str, one: &Value, other: &Value| match key {
        "t" => format!("time: {} ns, {} ns", time(one), time(other)),
        key => format!("{key}: {one}, {other}"),
    };
    let nothing = Value::Null;
    let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let values =
        keys.into_iter().map(|key| (key, one.get(key).unwrap_or(&nothing), other.get(key).unwrap_or(&nothing)));
    values.filter(|(_, one, other)| one != other).map(|(key, one, other)| describe(key, one, other)).collect()
}

/// Returns the state of an engine at a given time; empty if its run ended before.
fn state_before(trial: &Trial, seed: u64, until_ns: u64) -> Result<EngineState, CliError> {
    answer_or_default(trial, seed, |spec| Job::State { spec, until_ns })
}

/// Output lines of a worker, which is killed when the reader is dropped.
struct WorkerLines {
    child: std::process::Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl WorkerLines {
    fn from_child(mut child: std::process::Child) -> Self {
        let out = child.stdout.take().expect("it is a pipe");
        Self { child, lines: BufReader::new(out).lines() }
    }

    fn next(&mut self) -> Option<String> {
        self.lines.next().and_then(Result::ok)
    }
}

impl Drop for WorkerLines {
    fn drop(&mut self) {
        // The worker may have ended already; no other error is possible.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

fn event_text(event: &TraceLine, state: &EngineState) -> String {
    let number = |key: &str| event.number(key).unwrap_or(0);
    let task = |key: &str| {
        let pid = event.pid(key).unwrap_or(0);
        let found = state.tasks.iter().find(|task| i64::from(task.pid) == pid);
        match found {
            Some(found) => format!("{} (pid {pid})", found.task),
            None if pid == 0 => "the idle task".to_owned(),
            None => format!("pid {pid}"),
        }
    };
    match event.kind() {
        TraceKind::Wakeup => {
            let what = if event.is_set("new") { "starts" } else { "wakes up" };
            format!("{} {what} on CPU {}, by CPU {}", task("pid"), number("cpu"), number("on"))
        }
        TraceKind::Switch => format!("CPU {} switches from {} to {}", number("cpu"), task("prev"), task("next")),
        TraceKind::Migrate => {
            let (from, to, on) = (number("from"), number("to"), number("on"));
            format!("{} migrates from CPU {from} to CPU {to}, by CPU {on}", task("pid"))
        }
        TraceKind::Ipi => format!("CPU {} interrupts CPU {}", number("on"), number("cpu")),
        TraceKind::Lb => {
            let word = |key: &str| event.text(key).unwrap_or("-");
            let when = if word("idle") == "-" { String::new() } else { format!(", {}", word("idle")) };
            let (on, cpu, level) = (number("on"), number("cpu"), number("lvl"));
            let cpu_state = state.cpus.iter().find(|cpu_state| u64::from(cpu_state.cpu) == cpu);
            let domain = cpu_state
                .and_then(|cpu_state| cpu_state.domains.iter().find(|domain| u64::from(domain.level) == level));
            let name = domain.map_or_else(String::new, |domain| format!(" ({})", domain.name));
            format!(
                "CPU {on} balances for CPU {cpu} at level {level}{name}{when}: {} grows by {}",
                word("c"),
                number("n")
            )
        }
        // Snapshot records differ although no event does.
        kind if kind.is_snapshot() => format!("no event differs; the state is: {}", event.fields()),
        _ => event.fields().to_string(),
    }
}

/// Largest number of differing values that are reported.
const MAX_HIDDEN: usize = 8;

fn hidden_differences(states: &[EngineState; 2]) -> Vec<String> {
    let [one, other] = states;
    let mut found = Vec::new();
    for (cpu, beside) in one.cpus.iter().zip(&other.cpus) {
        let figures = [
            ("nr_running", u64::from(cpu.nr_running), u64::from(beside.nr_running)),
            ("util_avg", cpu.util_avg, beside.util_avg),
            ("load_avg", cpu.load_avg, beside.load_avg),
            ("runnable_avg", cpu.runnable_avg, beside.runnable_avg),
            ("cpu_capacity", cpu.cpu_capacity, beside.cpu_capacity),
        ];
        let differ = figures.iter().filter(|(_, one, other)| one != other);
        found.extend(differ.map(|(name, one, other)| format!("CPU {} {name}: {one}, {other}", cpu.cpu)));
        for (domain, other) in cpu.domains.iter().zip(&beside.domains) {
            let figures = [
                ("nr_balance_failed", domain.nr_balance_failed, other.nr_balance_failed),
                ("cache_nice_tries", domain.cache_nice_tries, other.cache_nice_tries),
                ("imbalance_pct", domain.imbalance_pct, other.imbalance_pct),
                ("balance_interval", domain.balance_interval, other.balance_interval),
            ];
            let differ = figures.iter().filter(|(_, one, other)| one != other);
            let describe = |(name, one, other): &(&str, u32, u32)| {
                format!("CPU {} domain {} {name}: {one}, {other}", cpu.cpu, domain.name)
            };
            found.extend(differ.map(describe));
        }
    }
    for (task, beside) in one.tasks.iter().zip(&other.tasks) {
        let figures = [
            ("util_avg", i128::from(task.util_avg), i128::from(beside.util_avg)),
            ("vruntime", task.vruntime.into(), beside.vruntime.into()),
        ];
        let differ = figures.iter().filter(|(_, one, other)| one != other);
        found.extend(differ.map(|(name, one, other)| format!("{} {name}: {one}, {other}", task.task)));
    }
    let more = found.len().saturating_sub(MAX_HIDDEN);
    found.truncate(MAX_HIDDEN);
    if more > 0 {
        found.push(format!("and {more} more"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::worker::state::TaskState;
    use serde_json::json;

    fn state(util_avg: u64, vruntime: i64) -> EngineState {
        let cpu = CpuState {
            cpu: 3,
            nr_running: 1,
            h_nr_running: 1,
            curr: "ui".to_owned(),
            util_avg,
            load_avg: 1024,
            runnable_avg: 500,
            cpu_capacity: 1024,
            avg_idle: 0,
            domains: Vec::new(),
            queued: Vec::new(),
        };
        let task = TaskState { task: "ui".to_owned(), pid: 1001, cpu: 3, util_avg: 77, vruntime };
        EngineState { cpus: vec![cpu], tasks: vec![task] }
    }

    #[test]
    fn events_are_described_in_words_with_the_names_of_tasks() {
        let describe = |event: Value| event_text(&TraceLine::try_from(event).expect("a line"), &state(1, 1));
        let wakeup = json!({ "t": 5, "e": "wakeup", "pid": 1001, "cpu": 3, "new": 0, "on": 5 });
        assert_eq!(describe(wakeup), "ui (pid 1001) wakes up on CPU 3, by CPU 5");
        let switch = json!({ "t": 5, "e": "switch", "cpu": 3, "prev": 0, "next": 1001, "st": 0 });
        assert_eq!(describe(switch), "CPU 3 switches from the idle task to ui (pid 1001)");
        let pass =
            json!({ "t": 5, "e": "lb", "on": 1, "cpu": 1, "lvl": 2, "c": "lb_gained", "idle": "newidle", "n": 3 });
        assert_eq!(describe(pass), "CPU 1 balances for CPU 1 at level 2, newidle: lb_gained grows by 3");
        let migrate = json!({ "t": 5, "e": "migrate", "pid": 1002, "from": 1, "to": 3, "on": 0 });
        assert_eq!(describe(migrate), "pid 1002 migrates from CPU 1 to CPU 3, by CPU 0");
    }

    #[test]
    fn where_words_are_the_same_the_fields_that_differ_are_named() {
        let event = |t: u64, n: u64| TraceLine::try_from(json!({ "t": t, "e": "lb", "n": n })).ok();
        assert_eq!(differing_fields(&event(1_000_000_005, 1), &event(1_000_000_006, 1)), ["time: 5 ns, 6 ns"]);
        assert_eq!(differing_fields(&event(1_000_000_005, 1), &event(1_000_000_005, 2)), ["n: 1, 2"]);
    }

    #[test]
    fn a_difference_before_the_first_event_is_reported_with_its_place() {
        assert!(hidden_differences(&[state(1, 1), state(1, 1)]).is_empty());
        assert_eq!(hidden_differences(&[state(1, -7), state(2, 8)]), ["CPU 3 util_avg: 1, 2", "ui vruntime: -7, 8"]);
    }
}
