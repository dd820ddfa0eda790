// SPDX-License-Identifier: GPL-2.0-or-later
//! Information that a trace lacks, as counts and as notes.

use crate::import::event::{Recording, TraceEventName};
use fairlab_measure::plural::counted;
use fairlab_sched::units::Nanos;
use serde::Serialize;

/// Counts of information that a trace lacks, and of events that the import used or ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gaps {
    /// Number of lost events, as far as the trace reports it.
    pub lost_events: u64,
    /// Times that events were lost.
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
    /// Stopper threads, which are left out.
    pub stoppers: u64,
    /// Kernel threads that are pinned to the CPU in their names.
    pub per_cpu_threads: u64,
    /// Deadline tasks, which become SCHED_FIFO tasks of the highest priority as their parameters are unknown.
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
        let lacks = |kind: TraceEventName| !counts.contains_key(&kind);
        let (lacks_waking, lacks_wakeup) = (lacks(TraceEventName::SchedWaking), lacks(TraceEventName::SchedWakeup));
        let mut notes = GapNotes::default();
        if self.losses > 0 {
            let (losses, lost) = (counted(self.losses, "time", "times"), counted(self.lost_events, "event", "events"));
            notes.add(format!(
                "events were lost {losses} ({lost} known to be lost); activity in these periods is unknown"
            ));
        }
        if recording.overrun > 0 {
            let overrun = counted(recording.overrun, "event", "events");
            notes.add(format!("the recorder reports {overrun} as overwritten or dropped"));
        }
        if lacks_wakeup && lacks_waking {
            notes.add(
                "the trace has no wake-ups (sched_waking, sched_wakeup): threads sleep until they run, and runqueue latencies are unknown",
            );
        } else if lacks_waking {
            notes.add(
                "the trace has no sched_waking: wakers are taken from sched_wakeup, which may be recorded on the CPU of the woken thread",
            );
        }
        if lacks(TraceEventName::SchedMigrateTask) {
            notes.add("the trace has no sched_migrate_task: migrations are detected only at context switches");
        }
        if !has_machine {
            notes.add(
                "no machine was given: unless a run names one, all CPUs are assumed to be alike and to share one cache",
            );
        }
        if lacks(TraceEventName::CpuFrequency) {
            notes.add("the trace has no cpu_frequency: CPUs are assumed to run at their highest frequency");
        }
        if self.unknown_frequency_ns > 0 {
            notes.add(format!(
                "threads ran for {} before the first cpu_frequency event of their CPU: the highest frequency is assumed",
                Nanos(self.unknown_frequency_ns)
            ));
        }
        notes.add_count(
            self.unknown_runs,
            ["switch leaves", "switches leave"],
            "a thread that is not known to run on its CPU: its run time before is not counted",
        );
        notes.add_count(
            self.unseen_switches,
            ["switch is", "switches are"],
            "missing from the trace, because another thread left the CPU than the one that ran there: the thread is assumed to run until \
             the CPU's last event before that",
        );
        if !(lacks_wakeup && lacks_waking) {
            let noun = ["wake-up is", "wake-ups are"];
            notes.add_count(self.unseen_wakeups, noun, "missing from the trace: the threads sleep until they run");
        }
        if self.wakeups_without_context > 0 {
            notes.add(format!(
                "for {} the trace does not report whether an interrupt caused it: the running thread is assumed to be the waker",
                counted(self.wakeups_without_context, "wake-up", "wake-ups")
            ));
        }
        let noun = ["wake-up came", "wake-ups came"];
        notes.add_count(self.softirq_wakeups, noun, "from softirqs: a device is assumed to be the cause");
        let noun = ["thread existed", "threads existed"];
        notes.add_count(self.there_before, noun, "before the trace: they start on the CPU of their first event");
        let noun = ["thread ran", "threads ran"];
        notes.add_count(
            self.cut_at_the_end,
            noun,
            "or waited for a CPU at the end of the trace: further work is unknown",
        );
        let noun = ["stopper is", "stoppers are"];
        notes.add_count(self.stoppers, noun, "left out (migration/N): the simulated machine has its own");
        let noun = ["kernel thread is", "kernel threads are"];
        notes.add_count(self.per_cpu_threads, noun, "pinned to the CPU in the thread's name");
        notes.add_count(
            self.deadline_threads,
            ["deadline task gets", "deadline tasks get"],
            "SCHED_FIFO with priority 99, because the trace does not contain runtime and period",
        );
        notes.add_count(
            self.attachments,
            ["move to cgroups is", "moves to cgroups are"],
            "kept; all groups have the same weight and no quota, which the trace does not contain; threads that did not move are in the \
             root group",
        );
        notes.add_count(
            self.attachments_unused,
            ["move to cgroups is", "moves to cgroups are"],
            "not used: the thread is not in the trace, or the trace does not report whether its cgroup v1 hierarchy has the cpu controller",
        );
        notes.add(if self.attachments > 0 {
            "affinities and kernel settings are not in the trace: other threads may use all CPUs"
        } else {
            "affinities, cgroups and kernel settings are not in the trace: other threads may use all CPUs, in the root group"
        });
        for (what, problem) in &recording.problems {
            notes.add(format!("{} {what}, first at {}", problem.count, problem.first));
        }
        notes.0
    }
}

#[derive(Default)]
struct GapNotes(Vec<String>);

impl GapNotes {
    fn add(&mut self, text: impl Into<String>) {
        self.0.push(text.into());
    }

    /// Adds a number with its noun and the rest of the sentence, unless the number is 0.
    fn add_count(&mut self, number: u64, [singular, plural]: [&str; 2], rest: &str) {
        if number > 0 {
            self.add(counted(number, singular, plural) + " " + rest);
        }
    }
}
