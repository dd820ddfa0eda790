// SPDX-License-Identifier: GPL-2.0-or-later
//! Times of the responses of one definition, and their summary.

use super::tracker::DropPlace;
use crate::each_field;
use fairlab_sched::units::Nanos;
use fairlab_workload::workload::ResponseSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Times of the responses of one definition, all of them.
#[derive(Clone, Debug, Default)]
pub struct ResponseTimes {
    /// Response times in nanoseconds, in the order in which they ended.
    done: Vec<u64>,
    /// Ages of open responses, in nanoseconds.
    open: Vec<u64>,
    /// Starts of responses that were lost.
    lost: Vec<Nanos>,
    /// Starts of responses that were dropped.
    dropped: Vec<Nanos>,
    dropped_at: BTreeMap<DropPlace, u64>,
    /// Number of ended and open responses that are late.
    nr_late: u64,
}

/// Place at which responses were dropped: a task took a later one, without work since it had taken the dropped one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DroppedAt {
    /// Name of the task.
    pub task: String,
    /// Semaphore from which the task took the later response; absent if it was woken for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semaphore: Option<String>,
    /// Number of responses that were dropped there.
    pub count: u64,
}

/// Responses of one definition in a run.
///
/// Open responses count with their age. Lost and dropped ones rank after all others, so that a quantile among them does
/// not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ResponseSummary {
    /// Name of the definition.
    pub name: String,
    /// Number of responses, including open, lost and dropped ones.
    pub count: u64,
    /// Number of responses that had not ended at the end of the run.
    pub open: u64,
    /// Number of responses of which nothing remained before they had ended, because a wake-up or a signal met no waiter.
    pub lost: u64,
    /// Number of responses that a task gave up for a later one before it had worked for them.
    pub dropped: u64,
    /// Places at which responses were dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped_at: Vec<DroppedAt>,
    /// Deadline in nanoseconds, from the start of a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
    /// Number of responses that were later than the deadline. Open, lost and dropped ones count once it has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
    /// Statistics of the response times.
    pub time: ResponseQuantiles,
    /// Parts of the time of all ended responses, along their critical paths; absent if none has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<ResponseParts>,
    /// Parts of the time of late responses that have ended; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_parts: Option<ResponseParts>,
    /// Task families behind which late responses waited for a CPU, the longest wait first; without a deadline, those of all
    /// responses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<WaitedBehindFamily>,
    /// Response that took longest, of those that have ended; `fairlab explain --response` has its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<LongestResponse>,
}

/// Response that took longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LongestResponse {
    /// Number of its activation, from 1; activations for which nothing was done and those of a warm-up have numbers too.
    pub number: u64,
    /// Start in nanoseconds, from the start of the run.
    pub start_ns: u64,
    /// Response time in nanoseconds.
    pub ns: u64,
}

/// Waits of responses for a CPU that tasks of a family had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WaitedBehindFamily {
    /// Name of the family; empty for tasks that are not of the workload, such as stoppers.
    pub family: String,
    /// Sum of the waits, in nanoseconds.
    pub ns: u64,
    /// CPUs on which responses waited.
    pub cpus: Vec<u32>,
}

/// Parts of response times, in nanoseconds, along the critical path. They add up to the response times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ResponseParts {
    /// Time that the work of tasks takes at full speed. Sharing a core with a sibling thread counts as full speed.
    pub running_ns: u64,
    /// Time by which the work took longer, on smaller or slower CPUs.
    pub slow_ns: u64,
    /// Waits for a CPU that another task had.
    pub cpu_ns: u64,
    /// Waits for an idle CPU: exits of idle states, and interrupts that wake it.
    pub idle_exit_ns: u64,
    /// Waits for runtime of a quota or of another limit.
    pub quota_ns: u64,
    /// Waits for a mutex.
    pub mutex_ns: u64,
    /// Waits for an object without work of this response on its way to it.
    pub object_ns: u64,
    /// Time in an object, or after the expiry of a timer, because the task that takes it was busy with other work.
    pub queue_ns: u64,
    /// Sleeps and waits for devices.
    pub sleep_ns: u64,
    /// Interrupts of devices and steal time, while a task of the response had the CPU.
    pub interrupt_ns: u64,
    /// Kernel code of tasks of the response, and of those that wake them.
    pub kernel_ns: u64,
    /// Time without a known reason.
    pub other_ns: u64,
}

impl ResponseParts {
    /// Returns the parts with the names of their members.
    pub const fn named(&self) -> [(&'static str, u64); 12] {
        [
            ("running_ns", self.running_ns),
            ("slow_ns", self.slow_ns),
            ("cpu_ns", self.cpu_ns),
            ("idle_exit_ns", self.idle_exit_ns),
            ("quota_ns", self.quota_ns),
            ("mutex_ns", self.mutex_ns),
            ("object_ns", self.object_ns),
            ("queue_ns", self.queue_ns),
            ("sleep_ns", self.sleep_ns),
            ("interrupt_ns", self.interrupt_ns),
            ("kernel_ns", self.kernel_ns),
            ("other_ns", self.other_ns),
        ]
    }

    /// Returns the sum of all parts.
    pub fn total(&self) -> u64 {
        self.named().iter().map(|(_, ns)| ns).sum()
    }

    /// Adds the parts of another sum.
    pub fn add(&mut self, other: &Self) {
        each_field!(self += other: running_ns slow_ns cpu_ns idle_exit_ns quota_ns mutex_ns object_ns queue_ns sleep_ns
            interrupt_ns kernel_ns other_ns);
    }
}

/// Statistics of response times, in nanoseconds. All values are exact. A value is null if there is no response, or if the
/// response of its rank was lost or dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ResponseQuantiles {
    /// Shortest response time, in nanoseconds.
    pub min_ns: Option<u64>,
    /// Mean in nanoseconds, rounded down; null with lost or dropped responses.
    pub mean_ns: Option<u64>,
    /// Median (50th percentile), in nanoseconds.
    pub p50_ns: Option<u64>,
    /// 90th percentile, in nanoseconds.
    pub p90_ns: Option<u64>,
    /// 99th percentile, in nanoseconds.
    pub p99_ns: Option<u64>,
    /// Longest response time, in nanoseconds.
    pub max_ns: Option<u64>,
    /// Names of the members above whose values are lower bounds, because the response of their rank was open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lower_bounds: Vec<String>,
}

impl ResponseTimes {
    /// Records the time of a response that has ended. Returns whether it is late.
    pub(super) fn record(&mut self, time: Nanos, deadline: Option<Nanos>) -> bool {
        let is_late = deadline.is_some_and(|deadline| time > deadline);
        self.done.push(time.0);
        self.nr_late += u64::from(is_late);
        is_late
    }

    pub(super) fn record_open(&mut self, age: Nanos, deadline: Option<Nanos>) {
        self.open.push(age.0);
        self.nr_late += u64::from(deadline.is_some_and(|deadline| age > deadline));
    }

    pub(super) fn record_lost(&mut self, start: Nanos) {
        self.lost.push(start);
    }

    pub(super) fn record_dropped(&mut self, start: Nanos, place: DropPlace) {
        self.dropped.push(start);
        *self.dropped_at.entry(place).or_default() += 1;
    }

    /// Returns the summary at the end of a run.
    pub(super) fn summary(
        &self,
        spec: &ResponseSpec,
        now: Nanos,
        name_of: impl Fn(DropPlace) -> DroppedAt,
    ) -> ResponseSummary {
        // Open responses rank after ended ones of equal length.
        let mut ranked: Vec<(u64, bool)> = self.done.iter().map(|&ns| (ns, false)).collect();
        ranked.extend(self.open.iter().map(|&ns| (ns, true)));
        ranked.sort_unstable();
        let nr_gone = self.lost.len() + self.dropped.len();
        let count = ranked.len() + nr_gone;
        let at_rank = |rank: usize| ranked.get(rank.max(1) - 1).copied();
        let [min, p50, p90, p99, max] =
            [1, count.div_ceil(2), (count * 9).div_ceil(10), (count * 99).div_ceil(100), count].map(at_rank);
        let sum: u128 = ranked.iter().map(|&(ns, _)| u128::from(ns)).sum();
        let mean = (nr_gone == 0 && count > 0).then(|| (sum / count as u128) as u64);
        let members = [("min_ns", min), ("p50_ns", p50), ("p90_ns", p90), ("p99_ns", p99), ("max_ns", max)];
        let is_open = |value: &Option<(u64, bool)>| value.is_some_and(|(_, is_open)| is_open);
        let mut lower_bounds: Vec<String> =
            members.iter().filter(|(_, value)| is_open(value)).map(|(name, _)| (*name).to_owned()).collect();
        if mean.is_some() && !self.open.is_empty() {
            lower_bounds.push("mean_ns".to_owned());
        }
        let late = spec.deadline.map(|deadline| {
            let has_passed = |start: &&Nanos| **start + deadline < now;
            self.nr_late + self.lost.iter().chain(&self.dropped).filter(has_passed).count() as u64
        });
        let dropped_at = self.dropped_at.iter().map(|(&place, &count)| DroppedAt { count, ..name_of(place) }).collect();
        let ns = |value: Option<(u64, bool)>| value.map(|(ns, _)| ns);
        ResponseSummary {
            name: spec.name.clone(),
            count: count as u64,
            open: self.open.len() as u64,
            lost: self.lost.len() as u64,
            dropped: self.dropped.len() as u64,
            dropped_at,
            deadline_ns: spec.deadline.map(|deadline| deadline.0),
            late,
            time: ResponseQuantiles {
                min_ns: ns(min),
                mean_ns: mean,
                p50_ns: ns(p50),
                p90_ns: ns(p90),
                p99_ns: ns(p99),
                max_ns: ns(max),
                lower_bounds,
            },
            parts: None,
            late_parts: None,
            behind: Vec::new(),
            longest: None,
        }
    }
}
