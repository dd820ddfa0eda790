// SPDX-License-Identifier: GPL-2.0-or-later
//! Evidence of findings, and the sentences that are printed from it.
//!
//! A sentence is printed from its finding alone: from evidence, counts and durations, all of which `--json` contains.
//! Times are in ns from the start of the run.
#![expect(missing_docs, reason = "names of fields describe their content; all times are in ns")]

use super::Finding;
use fairlab_measure::plural::counted;
use fairlab_sched::units::Nanos;
use serde::Serialize;
use std::fmt;

/// Cause why an idle CPU did not take a waiting task, as far as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "cause")]
pub enum IdleCause {
    /// The task waited on the runqueue of the idle CPU.
    OwnRunqueue,
    /// A recorded trace has neither affinities nor decisions of load balancing.
    NotInTrace,
    /// Most frequent result of the idle CPU's last pass at the level of the common domain, over all waits.
    Passes { nr_waits: u64, meaning: &'static str },
    /// Result of the last pass of the idle CPU in that time.
    LastPass { meaning: &'static str },
    /// The idle CPU had no pass in that time.
    NoPass,
}

/// Class of the tasks that ran most of the time on the CPUs of a waiting task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitedBehind {
    IdleTask,
    RealTime,
    Deadline,
}

/// Kind of a long wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitMeasure {
    /// A single wait for a CPU.
    Cpu,
    /// Time on the runqueue after a wake-up.
    WakeupLatency,
    /// As `wakeup-latency`; the limit is the deadline of a deadline task.
    WakeupLatencyOfDeadline,
    /// A single wait for runtime.
    Runtime,
}

/// Facts of a finding beside its counts and durations.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Evidence {
    /// A task waited while a CPU that it may use idled.
    IdleCpu {
        family: String,
        task: String,
        cpu: u32,
        idle_cpu: u32,
        /// Whether a domain contains both CPUs; absent if that is not known: for a trace, and if one has gone offline.
        has_common_domain: Option<bool>,
        /// Lowest such domain.
        common_domain: Option<String>,
        #[serde(flatten)]
        cause: IdleCause,
    },
    /// Tasks of a family waited longer than a limit.
    Wait {
        family: String,
        task: String,
        measure: WaitMeasure,
        limit_ns: u64,
        behind: Option<WaitedBehind>,
    },
    /// Tasks wait for ever: no task can wake them.
    NeverWoken {
        family: String,
        task: String,
        since_ns: u64,
        blocked_on: String,
    },
    /// The scheduler lost the wake-up of tasks.
    LostWakeup {
        family: String,
        task: String,
        since_ns: u64,
    },
    MissedDeadline {
        family: String,
        task: String,
        nr_wakeups: u64,
        deadline_ns: u64,
    },
    /// The fair server ended waits behind tasks of higher classes.
    FairServer {
        family: String,
        task: String,
        cpu: u32,
    },
    PingPong {
        family: String,
        task: String,
        within_ns: u64,
    },
    Misfit {
        cpu: u32,
    },
    LowFrequency {
        cpu: u32,
    },
    WastedKicks {
        nr_kicks: u64,
        nr_with_moves: u64,
    },
    UnfairShare {
        family: String,
        task: String,
        got_ns: u64,
        due_ns: u64,
        window_ns: u64,
    },
    UnfairGroup {
        group: String,
        got_ns: u64,
        due_ns: u64,
        window_ns: u64,
    },
    QuotaExceeded {
        group: String,
    },
    Flapping {
        cpu: u32,
        measured_ns: u64,
    },
    Stretched {
        family: String,
        work_ns: u64,
        ran_ns: u64,
        is_by_frequency: bool,
        /// Share of the CPU time at the most frequent speed.
        percent: u64,
        khz: Option<u64>,
        /// Speed in percent of the highest frequency.
        speed_percent: u64,
        capacity: u64,
    },
    MissedTimers {
        family: String,
        nr_arrivals: u64,
    },
    CutSlices {
        family: String,
        task: String,
        nr_turns: u64,
        average_ns: u64,
        slice_ns: u64,
        /// Task that followed most often; absent for a kernel thread.
        follower: Option<String>,
    },
    LimitedLag {
        family: String,
        task: String,
        kept_ns: i64,
        lag_ns: i64,
    },
}

/// Sentence of the finding, without full stop.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = counted(self.count, "time", "times");
        let (total, worst) = (Nanos(self.total_ns), Nanos(self.worst_ns));
        match &self.evidence {
            Evidence::IdleCpu { family, task, cpu, idle_cpu, has_common_domain, common_domain, cause } => {
                write!(
                    f,
                    "{family} waited {times} ({total} in total) while a CPU that it may use idled; worst: {task} on CPU {cpu} for \
                     {worst} while CPU {idle_cpu} idled"
                )?;
                match (cause, common_domain) {
                    (IdleCause::OwnRunqueue | IdleCause::NotInTrace, _) => {}
                    (_, Some(name)) => write!(f, "; their common domain is {name}")?,
                    (_, None) if *has_common_domain == Some(false) => f.write_str("; they have no common domain")?,
                    (_, None) => {}
                }
                write_idle_cause(f, cause, *idle_cpu)?;
            }
            Evidence::Wait { family, task, measure, limit_ns, behind } => {
                let limit = Nanos(*limit_ns);
                let awaited = self.awaited.as_deref().unwrap_or("a CPU");
                let lasted = if self.is_open { format!("at least {worst}, not ended") } else { worst.to_string() };
                let condition = match measure {
                    WaitMeasure::Cpu => format!("waited for a CPU for more than {limit}"),
                    WaitMeasure::Runtime => format!("waited for {awaited} for more than {limit}"),
                    WaitMeasure::WakeupLatency => format!("had a wake-up latency above {limit}"),
                    WaitMeasure::WakeupLatencyOfDeadline => {
                        format!("had a wake-up latency above the deadline of {limit}")
                    }
                };
                let behind = match behind {
                    Some(WaitedBehind::IdleTask) => ", although its CPU idled",
                    Some(WaitedBehind::RealTime) => ", behind real-time tasks",
                    Some(WaitedBehind::Deadline) => ", behind deadline tasks",
                    None => "",
                };
                write!(f, "{family} {condition} {times}; worst: {task} for {lasted}{behind}")?;
            }
            Evidence::NeverWoken { family, task, since_ns, blocked_on } => {
                let tasks = counted(self.count, "task waits", "tasks wait");
                let them = if self.count == 1 { "it" } else { "them" };
                let since = Nanos(*since_ns);
                write!(
                    f,
                    "{family}: {tasks} for ever, because no task can wake {them} any more; first: {task} since {since}, for \
                     {blocked_on}"
                )?;
            }
            Evidence::LostWakeup { family, task, since_ns } => {
                let (tasks, at) = (counted(self.count, "task", "tasks"), Nanos(*since_ns));
                write!(f, "{family}: the scheduler has lost the wake-up of {tasks}; first: {task} at {at}")?;
            }
            Evidence::MissedDeadline { family, task, nr_wakeups, deadline_ns } => write!(
                f,
                "{family} missed the deadline after {} of {nr_wakeups} wake-ups; worst: {task} by {worst} (deadline {})",
                self.count,
                Nanos(*deadline_ns)
            )?,
            Evidence::FairServer { family, task, cpu } => write!(
                f,
                "{family} starved behind real-time or deadline tasks until the fair server ran them, {times} ({total} in \
                 total); worst: {task} on CPU {cpu} for {worst}"
            )?,
            Evidence::PingPong { family, task, within_ns } => {
                let within = Nanos(*within_ns);
                write!(f, "{family} migrated to another CPU and back within {within} {times}, most recently {task}")?;
            }
            Evidence::Misfit { cpu } => write!(
                f,
                "{times} ({total} in total) a task was too big for its CPU while a bigger one idled; worst: CPU {cpu} for about \
                 {worst}"
            )?,
            Evidence::LowFrequency { cpu } => write!(
                f,
                "{times} ({total} in total) the frequency of a busy CPU was too low for its utilisation, although it has higher \
                 ones; worst: CPU {cpu} for about {worst}"
            )?,
            Evidence::WastedKicks { nr_kicks, nr_with_moves } => write!(
                f,
                "idle CPUs were kicked {} to balance for tickless CPUs; tasks moved after {nr_with_moves} of these kicks",
                counted(*nr_kicks, "time", "times")
            )?,
            Evidence::UnfairShare { family, task, got_ns, due_ns, window_ns } => write!(
                f,
                "{family} got less than half of the CPU time that their weights entitle them to, {times} in a window of {}; worst: \
                 {task} got {} of {}",
                Nanos(*window_ns),
                Nanos(*got_ns),
                Nanos(*due_ns)
            )?,
            Evidence::UnfairGroup { group, got_ns, due_ns, window_ns } => write!(
                f,
                "group {group} got less than half of the CPU time that its weight entitles it to among its siblings, {times} in a \
                 window of {}; worst: {} of {}",
                Nanos(*window_ns),
                Nanos(*got_ns),
                Nanos(*due_ns)
            )?,
            Evidence::QuotaExceeded { group } => write!(
                f,
                "group {group} used more CPU time than its quota allows {times} ({total} in total); worst: {worst} beyond quota, \
                 burst and slices"
            )?,
            Evidence::Flapping { cpu, measured_ns } => write!(
                f,
                "the machine became over-utilised {times}, for {total} of {} in total, which disables energy-aware placement; \
                 longest: {worst} after CPU {cpu} exceeded its capacity",
                Nanos(*measured_ns)
            )?,
            Evidence::Stretched { family, work_ns, ran_ns, is_by_frequency, percent, khz, speed_percent, capacity } => {
                let cause = if *is_by_frequency { "low frequencies" } else { "CPUs of low capacity" };
                let speed = match khz {
                    Some(khz) => format!("{} MHz", khz / 1000),
                    None => format!("{speed_percent} % of the highest frequency"),
                };
                write!(
                    f,
                    "{family}: {} of work took {} of CPU time because of {cause}; {percent} % of it at {speed} on CPUs of capacity \
                     {capacity}",
                    Nanos(*work_ns),
                    Nanos(*ran_ns)
                )?;
            }
            Evidence::MissedTimers { family, nr_arrivals } => {
                write!(f, "{family} missed {} of {nr_arrivals} timer periods", self.count)?;
            }
            Evidence::CutSlices { family, task, nr_turns, average_ns, slice_ns, follower } => write!(
                f,
                "{family} lost the CPU {} of {nr_turns} times before half of the slice had passed, after {} on average; {task} \
                 (slice {}) most often to {}",
                self.count,
                Nanos(*average_ns),
                Nanos(*slice_ns),
                follower.as_deref().unwrap_or("a kernel thread")
            )?,
            Evidence::LimitedLag { family, task, kept_ns, lag_ns } => {
                let (effect, sign) = match lag_ns {
                    0.. => (format!("so that they never get {total} of service that they were due"), '+'),
                    _ => (format!("so that they need not give back {total} of service that they got too much"), '-'),
                };
                write!(
                    f,
                    "{family} left the runqueue {times} with more than twice the lag that they may keep, {effect}; worst: {task} kept \
                     {} of a lag of {sign}{}",
                    Nanos(kept_ns.unsigned_abs()),
                    Nanos(lag_ns.unsigned_abs())
                )?;
            }
        }
        match self.only_in_first_ns {
            Some(first) => write!(f, "; only in the first {}", Nanos(first)),
            None => Ok(()),
        }
    }
}

fn write_idle_cause(f: &mut fmt::Formatter<'_>, cause: &IdleCause, idle_cpu: u32) -> fmt::Result {
    match cause {
        IdleCause::OwnRunqueue => f.write_str("; it waited on the runqueue of this CPU"),
        IdleCause::NotInTrace => {
            f.write_str("; the task's affinity and the load-balance decisions are not in the trace")
        }
        IdleCause::Passes { nr_waits, meaning } => {
            let (waits, meaning) = (counted(*nr_waits, "wait", "waits"), meaning.trim_end_matches('.'));
            write!(f, "; most frequent last result there of the idle CPU, in {waits}: {meaning}")
        }
        IdleCause::LastPass { meaning } => {
            write!(f, "; last pass of CPU {idle_cpu} in that time: {}", meaning.trim_end_matches('.'))
        }
        IdleCause::NoPass => write!(f, "; CPU {idle_cpu} had no pass in that time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::RULE_FOR_TESTS;
    use fairlab_explain::Question;

    /// Returns the sentence of a finding with 2 occurrences, 3 ms in total and 2 ms at most.
    fn sentence(evidence: Evidence) -> String {
        finding(evidence).to_string()
    }

    fn finding(evidence: Evidence) -> Finding {
        let finding = RULE_FOR_TESTS.finding(evidence, Question::Cpu(0));
        Finding { count: 2, total_ns: 3_000_000, worst_ns: 2_000_000, ..finding }
    }

    fn names() -> (String, String) {
        ("f".to_owned(), "f0".to_owned())
    }

    #[test]
    fn a_wait_while_a_cpu_idles_names_both_cpus_and_the_cause() {
        let (family, task) = names();
        let of = |cause, common_domain: Option<&str>| {
            let has_common_domain = Some(common_domain.is_some());
            let (family, task, common_domain) = (family.clone(), task.clone(), common_domain.map(str::to_owned));
            sentence(Evidence::IdleCpu { family, task, cpu: 1, idle_cpu: 2, has_common_domain, common_domain, cause })
        };
        let start = "f waited 2 times (3ms in total) while a CPU that it may use idled; worst: f0 on CPU 1 for 2ms while CPU 2 idled; ";
        let cases = [
            (IdleCause::OwnRunqueue, Some("MC"), "it waited on the runqueue of this CPU"),
            (IdleCause::NotInTrace, None, "the task's affinity and the load-balance decisions are not in the trace"),
            (
                IdleCause::Passes { nr_waits: 1, meaning: "Balanced." },
                Some("MC"),
                "their common domain is MC; most frequent last result there of the idle CPU, in 1 wait: Balanced",
            ),
            (
                IdleCause::LastPass { meaning: "Moved." },
                None,
                "they have no common domain; last pass of CPU 2 in that time: Moved",
            ),
            (IdleCause::NoPass, Some("MC"), "their common domain is MC; CPU 2 had no pass in that time"),
        ];
        for (cause, domain, end) in cases {
            assert_eq!(of(cause, domain), format!("{start}{end}"));
        }
    }

    #[test]
    fn a_long_wait_names_its_limit_its_object_and_the_class_that_ran_meanwhile() {
        let (family, task) = names();
        let of = |measure, behind| Evidence::Wait {
            family: family.clone(),
            task: task.clone(),
            measure,
            limit_ns: 1_000_000,
            behind,
        };
        assert_eq!(
            sentence(of(WaitMeasure::Cpu, Some(WaitedBehind::IdleTask))),
            "f waited for a CPU for more than 1ms 2 times; worst: f0 for 2ms, although its CPU idled"
        );
        assert_eq!(
            sentence(of(WaitMeasure::WakeupLatency, Some(WaitedBehind::RealTime))),
            "f had a wake-up latency above 1ms 2 times; worst: f0 for 2ms, behind real-time tasks"
        );
        assert_eq!(
            sentence(of(WaitMeasure::WakeupLatencyOfDeadline, Some(WaitedBehind::Deadline))),
            "f had a wake-up latency above the deadline of 1ms 2 times; worst: f0 for 2ms, behind deadline tasks"
        );
        let runtime = finding(of(WaitMeasure::Runtime, None));
        let runtime = Finding { is_open: true, awaited: Some("the quota of g".to_owned()), count: 1, ..runtime };
        assert_eq!(
            runtime.to_string(),
            "f waited for the quota of g for more than 1ms 1 time; worst: f0 for at least 2ms, not ended"
        );
    }

    #[test]
    fn findings_about_tasks_print_their_evidence() {
        let (family, task) = names();
        let two = || (family.clone(), task.clone());
        let ((a, b), blocked_on) = (two(), "the semaphore s".to_owned());
        let stuck = finding(Evidence::NeverWoken { family: a, task: b, since_ns: 5_000_000, blocked_on });
        assert_eq!(
            stuck.to_string(),
            "f: 2 tasks wait for ever, because no task can wake them any more; first: f0 since 5ms, for the semaphore s"
        );
        let one = Finding { count: 1, ..stuck };
        assert!(one.to_string().starts_with("f: 1 task waits for ever, because no task can wake it any more"), "{one}");
        let (family, task) = two();
        assert_eq!(
            sentence(Evidence::LostWakeup { family, task, since_ns: 5_000_000 }),
            "f: the scheduler has lost the wake-up of 2 tasks; first: f0 at 5ms"
        );
        let (family, task) = two();
        assert_eq!(
            sentence(Evidence::MissedDeadline { family, task, nr_wakeups: 9, deadline_ns: 7_000_000 }),
            "f missed the deadline after 2 of 9 wake-ups; worst: f0 by 2ms (deadline 7ms)"
        );
        let (family, task) = two();
        assert_eq!(
            sentence(Evidence::FairServer { family, task, cpu: 3 }),
            "f starved behind real-time or deadline tasks until the fair server ran them, 2 times (3ms in total); worst: f0 on CPU 3 \
             for 2ms"
        );
        let (family, task) = two();
        assert_eq!(
            sentence(Evidence::PingPong { family, task, within_ns: 1_000_000 }),
            "f migrated to another CPU and back within 1ms 2 times, most recently f0"
        );
        let (family, task) = two();
        assert_eq!(
            sentence(Evidence::UnfairShare {
                family,
                task,
                got_ns: 10_000_000,
                due_ns: 50_000_000,
                window_ns: 200_000_000
            }),
            "f got less than half of the CPU time that their weights entitle them to, 2 times in a window of 200ms; worst: f0 got \
             10ms of 50ms"
        );
        let (family, _) = two();
        assert_eq!(sentence(Evidence::MissedTimers { family, nr_arrivals: 8 }), "f missed 2 of 8 timer periods");
    }

    #[test]
    fn findings_about_slices_lags_and_speeds_print_their_evidence() {
        let (family, task) = names();
        let cut = |follower: Option<&str>| Evidence::CutSlices {
            family: family.clone(),
            task: task.clone(),
            nr_turns: 9,
            average_ns: 1_000_000,
            slice_ns: 3_000_000,
            follower: follower.map(str::to_owned),
        };
        let start = "f lost the CPU 2 of 9 times before half of the slice had passed, after 1ms on average; f0 (slice 3ms) most often to ";
        assert_eq!(sentence(cut(Some("g0"))), format!("{start}g0"));
        assert_eq!(sentence(cut(None)), format!("{start}a kernel thread"));
        let lag =
            |kept_ns, lag_ns| Evidence::LimitedLag { family: family.clone(), task: task.clone(), kept_ns, lag_ns };
        let start = "f left the runqueue 2 times with more than twice the lag that they may keep, so that they ";
        assert_eq!(
            sentence(lag(1_000_000, 4_000_000)),
            format!("{start}never get 3ms of service that they were due; worst: f0 kept 1ms of a lag of +4ms")
        );
        assert_eq!(
            sentence(lag(-1_000_000, -4_000_000)),
            format!(
                "{start}need not give back 3ms of service that they got too much; worst: f0 kept 1ms of a lag of -4ms"
            )
        );
        let stretched = |is_by_frequency, khz| Evidence::Stretched {
            family: family.clone(),
            work_ns: 1_000_000,
            ran_ns: 5_000_000,
            is_by_frequency,
            percent: 80,
            khz,
            speed_percent: 25,
            capacity: 512,
        };
        assert_eq!(
            sentence(stretched(true, Some(500_000))),
            "f: 1ms of work took 5ms of CPU time because of low frequencies; 80 % of it at 500 MHz on CPUs of capacity 512"
        );
        assert_eq!(
            sentence(stretched(false, None)),
            "f: 1ms of work took 5ms of CPU time because of CPUs of low capacity; 80 % of it at 25 % of the highest frequency on \
             CPUs of capacity 512"
        );
    }

    #[test]
    fn findings_about_cpus_and_groups_print_their_evidence() {
        assert_eq!(
            sentence(Evidence::Misfit { cpu: 3 }),
            "2 times (3ms in total) a task was too big for its CPU while a bigger one idled; worst: CPU 3 for about 2ms"
        );
        assert_eq!(
            sentence(Evidence::LowFrequency { cpu: 3 }),
            "2 times (3ms in total) the frequency of a busy CPU was too low for its utilisation, although it has higher ones; worst: \
             CPU 3 for about 2ms"
        );
        assert_eq!(
            sentence(Evidence::WastedKicks { nr_kicks: 100, nr_with_moves: 1 }),
            "idle CPUs were kicked 100 times to balance for tickless CPUs; tasks moved after 1 of these kicks"
        );
        assert_eq!(
            sentence(Evidence::Flapping { cpu: 3, measured_ns: 9_000_000 }),
            "the machine became over-utilised 2 times, for 3ms of 9ms in total, which disables energy-aware placement; longest: 2ms \
             after CPU 3 exceeded its capacity"
        );
        let group = || "/g".to_owned();
        assert_eq!(
            sentence(Evidence::UnfairGroup {
                group: group(),
                got_ns: 1_000_000,
                due_ns: 4_000_000,
                window_ns: 200_000_000
            }),
            "group /g got less than half of the CPU time that its weight entitles it to among its siblings, 2 times in a window of \
             200ms; worst: 1ms of 4ms"
        );
        let quota = finding(Evidence::QuotaExceeded { group: group() });
        let first = Finding { only_in_first_ns: Some(4_000_000), ..quota };
        assert_eq!(
            first.to_string(),
            "group /g used more CPU time than its quota allows 2 times (3ms in total); worst: 2ms beyond quota, burst and slices; \
             only in the first 4ms"
        );
    }
}
