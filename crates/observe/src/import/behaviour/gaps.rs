// SPDX-License-Identifier: GPL-2.0-or-later
//! What a trace does not tell, in numbers and in words.

use crate::import::event::{Recording, TraceEventName};
use fairlab_sched::units::Nanos;
use serde::Serialize;

/// What a trace does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gaps {
    /// Events that were lost, as far as their number is known.
    pub lost_events: u64,
    /// How often events were lost.
    pub losses: u64,
    /// Switches from a thread of which nobody knew that it runs there: its time before is not counted.
    pub unknown_runs: u64,
    /// Threads that came to a CPU which another one left: their own switch is not in the trace.
    pub unseen_switches: u64,
    /// Threads that ran without anybody having told that they woke up: they slept until they ran.
    pub unseen_wakeups: u64,
    /// Wake-ups in softirqs, whose cause is not known: they count as a device's.
    pub softirq_wakeups: u64,
    /// Wake-ups of which the trace does not tell whether they happened in an interrupt: they count as those of the running thread.
    pub wakeups_without_context: u64,
    /// Threads that ran or waited for a CPU at the end: the rest of their work is not known.
    pub cut_at_the_end: u64,
    /// Threads that were there before the trace.
    pub there_before: u64,
    /// Time in nanoseconds that threads ran at a frequency which the trace told only later: taken as the highest.
    pub unknown_frequency_ns: u64,
    /// Stoppers, which are left out.
    pub stoppers: u64,
    /// Threads of the kernel that are kept on the CPU that their names tell.
    pub per_cpu_threads: u64,
    /// Threads of a priority that no policy of ours has: deadline tasks, which count as real-time tasks of the highest priority.
    pub deadline_threads: u64,
    /// Moves of threads to cgroups, kept as task groups.
    pub attachments: u64,
    /// Moves to cgroups of other hierarchies, or of threads that are not in the trace: not used.
    pub attachments_unused: u64,
    /// Wake-ups by other threads, kept as such.
    pub edges: u64,
    /// Sleeps that a timer or a device ended.
    pub sleeps: u64,
    /// Those among them that are a periodic timer's.
    pub timer_sleeps: u64,
}

impl Gaps {
    /// In words, for the workload's notes: what is missing, and what was taken for granted.
    pub fn notes(&self, recording: &Recording, has_machine: bool) -> Vec<String> {
        let counts = recording.counts();
        let unsupported = |kind: TraceEventName| !counts.contains_key(&kind);
        let mut notes = Vec::new();
        let mut note = |is_so: bool, text: String| notes.extend(is_so.then_some(text));
        note(
            self.losses > 0,
            format!(
                "events were lost {} times ({} known to be gone); what happened then is not known",
                self.losses, self.lost_events
            ),
        );
        note(
            recording.overrun > 0,
            format!("the recorder says that {} events were overwritten or dropped", recording.overrun),
        );
        note(
            unsupported(TraceEventName::SchedWakeup) && unsupported(TraceEventName::SchedWaking),
            "the trace has no wake-ups (sched_waking, sched_wakeup): threads sleep until they run, and how long they waited is not known".to_owned(),
        );
        note(
            unsupported(TraceEventName::SchedWaking) && !unsupported(TraceEventName::SchedWakeup),
            "the trace has no sched_waking: who woke whom is taken from sched_wakeup, which may come on the CPU of the woken".to_owned(),
        );
        note(
            unsupported(TraceEventName::SchedMigrateTask),
            "the trace has no sched_migrate_task: migrations are seen at switches only".to_owned(),
        );
        note(!has_machine, "no machine was given: all CPUs count alike, and share one cache".to_owned());
        note(
            unsupported(TraceEventName::CpuFrequency),
            "the trace has no cpu_frequency: CPUs count as running at their highest frequency".to_owned(),
        );
        note(
            self.unknown_frequency_ns > 0,
            format!(
                "threads ran for {} before the trace told the frequency of their CPU: taken as the highest",
                Nanos(self.unknown_frequency_ns)
            ),
        );
        note(
            self.unknown_runs > 0,
            format!(
                "{} switches left a thread of which the trace did not tell that it ran there: its time is not counted",
                self.unknown_runs
            ),
        );
        note(
            self.unseen_switches > 0,
            format!(
                "{} times another thread left a CPU than the one that had come to it: when that one left is not in the trace, and it counts until the last event before",
                self.unseen_switches
            ),
        );
        note(
            self.unseen_wakeups > 0
                && !(unsupported(TraceEventName::SchedWakeup) && unsupported(TraceEventName::SchedWaking)),
            format!("{} wake-ups are not in the trace: these threads sleep until they run", self.unseen_wakeups),
        );
        note(
            self.wakeups_without_context > 0,
            format!(
                "of {} wake-ups the trace does not tell whether an interrupt made them: they count as made by who ran there",
                self.wakeups_without_context
            ),
        );
        note(
            self.softirq_wakeups > 0,
            format!("{} wake-ups came from softirqs: they count as a device's", self.softirq_wakeups),
        );
        note(
            self.there_before > 0,
            format!(
                "{} threads were there before the trace: they begin on the CPU where they are seen first",
                self.there_before
            ),
        );
        note(
            self.cut_at_the_end > 0,
            format!(
                "{} threads ran or waited for a CPU at the end of the trace: the rest of their work is not known",
                self.cut_at_the_end
            ),
        );
        note(
            self.stoppers > 0,
            format!("{} stoppers (migration/N) are left out: the simulated machine has its own", self.stoppers),
        );
        note(
            self.per_cpu_threads > 0,
            format!("{} threads of the kernel stay on the CPU that their names tell", self.per_cpu_threads),
        );
        note(
            self.deadline_threads > 0,
            format!(
                "{} deadline tasks, whose runtime and period the trace does not tell, have SCHED_FIFO with priority 99",
                self.deadline_threads
            ),
        );
        note(
            self.attachments > 0,
            format!(
                "{} moves to cgroups are kept; all groups have the same weight and no quota, as the trace does not tell these, nor the cgroups of other \
                 threads, which are in the root group",
                self.attachments
            ),
        );
        note(
            self.attachments_unused > 0,
            format!(
                "{} moves to cgroups are not used: of threads that are not in the trace, or of hierarchies of cgroup v1 of which it does not tell \
                 whether they have the cpu controller",
                self.attachments_unused
            ),
        );
        note(
            self.attachments > 0,
            "affinities and the kernel's settings are not in the trace: other threads may use all CPUs".to_owned(),
        );
        note(self.attachments == 0, "affinities, cgroups and the kernel's settings are not in the trace: other threads may use all CPUs, in the root group".to_owned());
        for (what, problem) in &recording.problems {
            notes.push(format!("{} {what}, first at {}", problem.count, problem.first));
        }
        notes
    }
}
