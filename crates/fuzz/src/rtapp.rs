// SPDX-License-Identifier: GPL-2.0-or-later
//! Conversion of a fuzz case for a real machine: rt-app files and a shell script that runs them.
//!
//! There is one file per task group, because threads of a process share their group. The script sets up what
//! a file cannot express: cgroup v2 groups (shares become `cpu.weight`, quotas `cpu.max`), features in
//! debugfs, and a CPU limit with `taskset`. The topology and tunables without a file are only printed.

use super::case::{CaseGroup, CaseMachine, CasePolicy, CaseProgram, FuzzCase, TaskSet};
use super::scenario::{group_name, partner_name, task_name};
use std::fmt::Write as _;

/// File to write: its name and contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtAppFile {
    /// File name without a directory.
    pub name: String,
    /// Contents of the file.
    pub text: String,
}

/// Returns the rt-app files: `case.json` for the root group, others with the name of their group.
pub fn files(case: &FuzzCase) -> Vec<RtAppFile> {
    places(case)
        .map(|place| {
            let stem = stem(place);
            RtAppFile { name: format!("{stem}.json"), text: file(case, place, &stem) }
        })
        .collect()
}

/// Returns the groups that have tasks; `None` is the root group.
fn places(case: &FuzzCase) -> impl Iterator<Item = Option<usize>> {
    let all = std::iter::once(None).chain((0..case.groups.len()).map(Some));
    all.filter(|place| case.tasks.iter().any(|set| set.group == *place))
}

fn stem(place: Option<usize>) -> String {
    place.map_or_else(|| "case".to_owned(), |place| format!("case-{}", group_name(place)))
}

fn file(case: &FuzzCase, place: Option<usize>, stem: &str) -> String {
    let sets = case.tasks.iter().enumerate().filter(|(_, set)| set.group == place);
    let tasks: Vec<String> = sets.flat_map(|(at, set)| tasks(at, set)).collect();
    let seconds = case.end_ms.div_ceil(1000);
    format!(
        "{{\n    \"global\": {{\"duration\": {seconds}, \"calibration\": \"CPU0\", \"default_policy\": \"SCHED_OTHER\", \"pi_enabled\": false, \
         \"lock_pages\": false, \"logdir\": \"./\", \"log_basename\": \"{stem}\"}},\n    \"tasks\": {{\n{}\n    }}\n}}\n",
        tasks.join(",\n")
    )
}

/// Returns the tasks of a set. Equal tasks are instances of one entry, but each waker has its own partner.
fn tasks(at: usize, set: &TaskSet) -> Vec<String> {
    let name = task_name(at, set.program);
    let task = |name: &str, number: u32, events: &str| {
        let mut text = format!("        \"{name}\": {{\"instance\": {number}, \"loop\": -1");
        let policy = match set.class {
            CasePolicy::Normal => "SCHED_OTHER",
            CasePolicy::Batch => "SCHED_BATCH",
            CasePolicy::Idle => "SCHED_IDLE",
            CasePolicy::Fifo => "SCHED_FIFO",
        };
        let priority = if set.class == CasePolicy::Fifo { 10 } else { set.nice };
        write!(text, ", \"policy\": \"{policy}\", \"priority\": {priority}").expect("text can be written");
        if let Some((first, last)) = set.mask {
            let cpus: Vec<String> = (first..=last).map(|cpu| cpu.to_string()).collect();
            write!(text, ", \"cpus\": [{}]", cpus.join(", ")).expect("text can be written");
        }
        if set.start_ms > 0 {
            write!(text, ", \"delay\": {}", set.start_ms * 1000).expect("text can be written");
        }
        write!(text, ", {events}}}").expect("text can be written");
        text
    };
    match set.program {
        CaseProgram::Hog => vec![task(&name, set.number, "\"run\": 10000")],
        CaseProgram::Sleeper { run_us, sleep_us } => {
            vec![task(&name, set.number, &format!("\"run\": {run_us}, \"sleep\": {sleep_us}"))]
        }
        CaseProgram::Waker { run_us, sleep_us } => (0..set.number)
            .flat_map(|number| {
                let partner = format!("{}{number}", partner_name(at));
                let wakes = format!("\"run\": {run_us}, \"resume\": \"{partner}\", \"sleep\": {sleep_us}");
                let is_woken = format!("\"suspend\": \"{partner}\", \"run\": {run_us}");
                [task(&partner, 1, &is_woken), task(&format!("{name}{number}"), 1, &wakes)]
            })
            .collect(),
    }
}

/// Converts shares to `cpu.weight`, rounded to the closest value as in `cpu_weight_read_u64()` (6.1).
fn weight(group: &CaseGroup) -> u32 {
    ((group.shares * 100 + 512) / 1024).clamp(1, 10_000)
}

/// Returns the shell script that runs the files on a real machine, with the lines of `about` as comments at
/// its beginning.
pub fn script(case: &FuzzCase, about: &[String]) -> String {
    let mut text = "#!/bin/sh\n".to_owned();
    let mut line = |line: &str| writeln!(text, "{line}").expect("text can be written");
    about.iter().for_each(|about| line(&format!("# {about}")));
    let nr_cpus = case.machine.nr_cpus();
    match &case.machine {
        CaseMachine::Named(name, _) => line(&format!("# The machine of the case: {name}, {nr_cpus} CPUs.")),
        CaseMachine::Shape(shape) => line(&format!(
            "# The machine of the case: {nr_cpus} CPUs, {} in a core, {} behind a last-level cache, {} in a node, {} of them little.",
            shape.smt, shape.llc, shape.node, shape.nr_little
        )),
    }
    line(
        "# Needs rt-app; groups, features and real-time policies need root. Set TRACE=1 to record a trace with trace-cmd.",
    );
    let policies = newer_policies(case);
    if !policies.is_empty() {
        line(&format!(
            "# rt-app 1.0, which distributions have, does not support {policies}: this needs a newer one, from\n\
             # https://github.com/scheduler-tools/rt-app. That one ignores nice values, so differences that depend on them do not appear."
        ));
    }
    line("set -eu");
    line("cd \"$(dirname \"$0\")\"");
    let source = match policies.as_str() {
        "" => "apt-get install rt-app".to_owned(),
        _ => format!("{policies} needs one that is newer than 1.0, from https://github.com/scheduler-tools/rt-app"),
    };
    line(&format!("command -v rt-app >/dev/null || {{ echo 'rt-app is missing: {source}' >&2; exit 2; }}"));
    if case.tasks.iter().any(|set| set.group.is_some()) {
        line("if [ ! -f /sys/fs/cgroup/cgroup.controllers ]; then");
        line("    echo 'the groups of this case need cgroup v2 at /sys/fs/cgroup, which is not there' >&2; exit 2");
        line("fi");
    }
    line(&format!("if [ \"$(nproc --all)\" -lt {nr_cpus} ]; then"));
    line(&format!("    echo \"this machine has $(nproc --all) CPUs, the case {nr_cpus}: results will differ\" >&2"));
    line("fi");
    line(&format!("cpus=0-$(( $(nproc --all) < {nr_cpus} ? $(nproc --all) - 1 : {} ))", nr_cpus - 1));
    for (feature, is_on) in &case.features {
        let name = format!("{}{}", if *is_on { "" } else { "NO_" }, feature.name());
        line(&format!("echo {name} > /sys/kernel/debug/sched/features"));
    }
    for (name, value) in &case.tunables {
        line(&format!("echo 'set the tunable {name} to {value} by hand: its file differs by release' >&2"));
    }
    line("if [ \"${TRACE:-0}\" = 1 ]; then");
    line("    trace-cmd start -e sched_switch -e sched_waking -e sched_migrate_task || {");
    line("        echo 'no trace: trace-cmd cannot start one here' >&2; TRACE=0; }");
    line("fi");
    line("pids=");
    for place in places(case) {
        let stem = stem(place);
        let run = format!("exec taskset -c \"$cpus\" rt-app {stem}.json");
        match place.map(|place| (group_name(place), &case.groups[place])) {
            None => line(&format!("( {run} ) & pids=\"$pids $!\"")),
            Some((name, group)) => {
                let path = format!("/sys/fs/cgroup/fairlab-{name}");
                line(
                    "grep -qw cpu /sys/fs/cgroup/cgroup.subtree_control || echo +cpu > /sys/fs/cgroup/cgroup.subtree_control",
                );
                line(&format!("mkdir -p {path}"));
                line(&format!("echo {} > {path}/cpu.weight", weight(group)));
                if let Some(quota) = group.quota_ms {
                    line(&format!("echo {} 100000 > {path}/cpu.max", quota * 1000));
                }
                line(&format!("( sh -c 'echo $PPID' > {path}/cgroup.procs; {run} ) & pids=\"$pids $!\""));
            }
        }
    }
    line("status=0");
    line("for pid in $pids; do wait \"$pid\" || status=$?; done");
    line("if [ \"${TRACE:-0}\" = 1 ]; then");
    line("    trace-cmd stop; trace-cmd extract -o trace.dat");
    line("fi");
    for (place, _) in case.groups.iter().enumerate() {
        line(&format!("rmdir /sys/fs/cgroup/fairlab-{} 2>/dev/null || true", group_name(place)));
    }
    if !policies.is_empty() {
        line(&format!(
            "[ $status = 0 ] || echo 'rt-app ended with '$status': rt-app 1.0 does not support {policies}' >&2"
        ));
    }
    line("exit $status");
    text
}

/// Names the policies of a case that older releases of rt-app do not support.
fn newer_policies(case: &FuzzCase) -> String {
    let has = |class: CasePolicy| case.tasks.iter().any(|set| set.class == class);
    let names = [(CasePolicy::Idle, "SCHED_IDLE"), (CasePolicy::Batch, "SCHED_BATCH")];
    let names: Vec<&str> = names.iter().filter(|(class, _)| has(*class)).map(|(_, name)| *name).collect();
    names.join(" and ")
}
