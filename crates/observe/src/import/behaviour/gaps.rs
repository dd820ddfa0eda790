// SPDX-License-Identifier: GPL-2.0-or-later
//! Information that a trace lacks, as counts and as notes.

use crate::import::event::{Recording, TraceEventName};
use crate::plural::counted;
use fairlab_sched::units::Nanos;
use serde::Serialize;

/// Counts of information that a trace lacks, and of events that the import used or ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gaps {
    /// Number of lost events, as far as the trace reports it.
    pub lost_events: u64,
    /// Number of times that events were lost.
    pub losses: u64,
    /// Switches from a thread that was not known to run: its run time before is not counted.
    pub unknown_runs: u64,
    /// Missing switches: another thread left the CPU than the one that ran there.
    pub unseen_switches: u64,
    /// Missing wake-ups: the threads sleep until they run.
    pub unseen_wakeups: u64,
    /// Wake-ups from softirqs, whose cause is unknown; a device is assumed.
    pub softirq_wakeups: u64,
    /// Wake-ups without a recorded context; the running thread is assumed to be the waker.
    pub wakeups_without_context: u64,
    /// Threads that ran or waited for a CPU at the end of the trace, whose further work is unknown.
    pub cut_at_the_end: u64,
    /// Threads that existed before the trace.
    pub there_before: u64,
    /// Run time in ns before the first frequency event of a CPU; the highest frequency is assumed.
    pub unknown_frequency_ns: u64,
    /// Number of stopper threads, which are left out.
    pub stoppers: u64,
    /// Kernel threads that are pinned to the CPU in their names.
    pub per_cpu_threads: u64,
    /// Deadline tasks, which become SCHED_FIFO tasks of the highest priority because the trace lacks their
    /// parameters.
    pub deadline_threads: u64,
    /// Moves of threads to cgroups that became moves to task groups.
    pub attachments: u64,
    /// Ignored moves to cgroups: in other hierarchies, or of threads that are not in the trace.
    pub attachments_unused: u64,
    /// Wake-ups by other threads that the workload repeats.
    pub edges: u64,
    /// Sleeps that a timer or a device ended.
    pub sleeps: u64,
    /// Sleeps among them that end with a periodic timer.
    pub timer_sleeps: u64,
}

impl Gaps {
    /// Returns the notes for the workload: the missing information, and the assumption that replaces it.
    pub fn notes(&self, recording: &Recording, has_machine: bool) -> Vec<String> {
        let counts = recording.counts();
        let unsupported = |kind: TraceEventName| !counts.contains_key(&kind);
        let mut notes = Vec::new();
        let mut note = |is_so: bool, text: String| notes.extend(is_so.then_some(text));
        note(
            self.losses > 0,
            format!(
                "events were lost {} ({} known to be lost); activity in these periods is unknown",
                counted(self.losses, "time", "times"),
                counted(self.lost_events, "event", "events")
            ),
        );
        note(
            recording.overrun > 0,
            format!("the recorder reports {} as overwritten or dropped", counted(recording.overrun, "event", "events")),
        );
        note(
            unsupported(TraceEventName::SchedWakeup) && unsupported(TraceEventName::SchedWaking),
            "the trace has no wake-ups (sched_waking, sched_wakeup): threads sleep until they run, and runqueue latencies are unknown".to_owned(),
        );
        note(
            unsupported(TraceEventName::SchedWaking) && !unsupported(TraceEventName::SchedWakeup),
            "the trace has no sched_waking: wakers are taken from sched_wakeup, which may be recorded on the CPU of the woken thread".to_owned(),
        );
        note(
            unsupported(TraceEventName::SchedMigrateTask),
            "the trace has no sched_migrate_task: migrations are detected only at context switches".to_owned(),
        );
        note(!has_machine, "no machine was given: all CPUs are assumed to be alike and to share one cache".to_owned());
        note(
            unsupported(TraceEventName::CpuFrequency),
            "the trace has no cpu_frequency: CPUs are assumed to run at their highest frequency".to_owned(),
        );
        note(
            self.unknown_frequency_ns > 0,
            format!(
                "threads ran for {} before the first cpu_frequency event of their CPU: the highest frequency is assumed",
                Nanos(self.unknown_frequency_ns)
            ),
        );
        note(
            self.unknown_runs > 0,
            format!(
                "{} a thread that is not known to run on its CPU: its run time before is not counted",
                counted(self.unknown_runs, "switch leaves", "switches leave")
            ),
        );
        note(
            self.unseen_switches > 0,
            format!(
                "{} missing from the trace, because another thread left the CPU than the one that ran there: the thread is assumed to run until \
                 the CPU's last event before that",
                counted(self.unseen_switches, "switch is", "switches are")
            ),
        );
        note(
            self.unseen_wakeups > 0
                && !(unsupported(TraceEventName::SchedWakeup) && unsupported(TraceEventName::SchedWaking)),
            format!(
                "{} missing from the trace: the threads sleep until they run",
                counted(self.unseen_wakeups, "wake-up is", "wake-ups are")
            ),
        );
        note(
            self.wakeups_without_context > 0,
            format!(
                "for {} the trace does not report whether an interrupt caused it: the running thread is assumed to be the waker",
                counted(self.wakeups_without_context, "wake-up", "wake-ups")
            ),
        );
        note(
            self.softirq_wakeups > 0,
            format!(
                "{} from softirqs: a device is assumed to be the cause",
                counted(self.softirq_wakeups, "wake-up came", "wake-ups came")
            ),
        );
        note(
            self.there_before > 0,
            format!(
                "{} before the trace: they start on the CPU of their first event",
                counted(self.there_before, "thread existed", "threads existed")
            ),
        );
        note(
            self.cut_at_the_end > 0,
            format!(
                "{} or waited for a CPU at the end of the trace: further work is unknown",
                counted(self.cut_at_the_end, "thread ran", "threads ran")
            ),
        );
        note(
            self.stoppers > 0,
            format!(
                "{} left out (migration/N): the simulated machine has its own",
                counted(self.stoppers, "stopper is", "stoppers are")
            ),
        );
        note(
            self.per_cpu_threads > 0,
            format!(
                "{} pinned to the CPU in the thread's name",
                counted(self.per_cpu_threads, "kernel thread is", "kernel threads are")
            ),
        );
        note(
            self.deadline_threads > 0,
            format!(
                "{} SCHED_FIFO with priority 99, because the trace does not contain runtime and period",
                counted(self.deadline_threads, "deadline task gets", "deadline tasks get")
            ),
        );
        note(
            self.attachments > 0,
            format!(
                "{} kept; all groups have the same weight and no quota, which the trace does not contain; threads that did not move are in the \
                 root group",
                counted(self.attachments, "move to cgroups is", "moves to cgroups are")
            ),
        );
        note(
            self.attachments_unused > 0,
            format!(
                "{} not used: the thread is not in the trace, or the trace does not report whether its cgroup v1 hierarchy has the cpu controller",
                counted(self.attachments_unused, "move to cgroups is", "moves to cgroups are")
            ),
        );
        note(
            self.attachments > 0,
            "affinities and kernel settings are not in the trace: other threads may use all CPUs".to_owned(),
        );
        note(
            self.attachments == 0,
            "affinities, cgroups and kernel settings are not in the trace: other threads may use all CPUs, in the root group".to_owned(),
        );
        for (what, problem) in &recording.problems {
            notes.push(format!("{} {what}, first at {}", problem.count, problem.first));
        }
        notes
    }
}
