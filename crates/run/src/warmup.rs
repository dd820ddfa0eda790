// SPDX-License-Identifier: GPL-2.0-or-later
//! The warm-up of a run: a fixed time, or the time until the run has settled.
//!
//! A run has settled when its rates no longer change. The counts are the machine's own, which every run has and which no
//! observer changes: context switches, wake-ups and migrations. Wake-ups grow with the progress of tasks that exchange
//! messages; migrations show whether such tasks stay where they are. Rules, in order:
//! 1. From the last start on, the counts are read every [`WINDOW`].
//! 2. At each reading, the counts of the last [`BLOCK`] are compared with those of the block before.
//! 3. The run has settled if each count differs by at most [`TOLERANCE_PERCENT`] of the larger one, and two for each task:
//!    one cycle of a periodic task may be in either block.
//! 4. The last reading before the limit ends the warm-up in any case.

use crate::values::time_text;
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_measure::summary::Settling;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use fairlab_workload::time::parse_time;
use fairlab_workload::workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Simulated time between two readings of the counts.
pub const WINDOW: Nanos = Nanos::from_millis(20);
/// Simulated time whose counts are compared.
pub const BLOCK: Nanos = Nanos(BLOCK_WINDOWS as u64 * WINDOW.0);
/// Number of windows in a block.
const BLOCK_WINDOWS: usize = 5;
/// Largest difference between two blocks of a run that has settled, in percent of the larger count.
pub const TOLERANCE_PERCENT: u64 = 5;
/// Latest end of a warm-up, from the last start.
const DEFAULT_LIMIT: Nanos = Nanos::from_secs(2);
/// Shortest limit: a comparison takes two blocks.
const MIN_LIMIT: Nanos = Nanos(2 * BLOCK.0);
/// Value of the setting.
const SETTLED: &str = "settled";

/// End of a run's warm-up, counted from its last start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Warmup {
    /// This time.
    After(Nanos),
    /// When the run has settled, at the latest after the limit.
    Settled {
        /// Latest end.
        limit: Nanos,
    },
}

impl Warmup {
    /// Parses a time, `settled` or `settled:LIMIT`.
    ///
    /// # Errors
    /// If the text is none of these, or the limit is too short for a comparison.
    pub fn parse(text: &str) -> Result<Self, Message> {
        let Some(rest) = text.strip_prefix(SETTLED) else {
            return parse_time(text).map(Self::After).map_err(|error| {
                let help = error.help.as_deref().map_or_else(String::new, |help| format!("{help}; or "));
                Message { help: Some(format!("{help}settled, settled:LIMIT")), ..error }
            });
        };
        let limit = match rest.strip_prefix(':') {
            None if rest.is_empty() => DEFAULT_LIMIT,
            None => return Err(Message::new("write settled, or settled:LIMIT, such as settled:500ms")),
            Some(limit) => parse_time(limit)?,
        };
        if limit < MIN_LIMIT {
            return Err(Message::new(format!(
                "whether a run has settled is known after {} at the earliest",
                time_text(MIN_LIMIT)
            )));
        }
        Ok(Self::Settled { limit })
    }

    /// Returns the earliest end, from the last start.
    pub const fn earliest(self) -> Nanos {
        match self {
            Self::After(time) => time,
            Self::Settled { .. } => MIN_LIMIT,
        }
    }

    /// Returns the latest end, from the last start.
    pub const fn latest(self) -> Nanos {
        match self {
            Self::After(time) | Self::Settled { limit: time } => time,
        }
    }
}

impl std::fmt::Display for Warmup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::After(time) => f.write_str(&time_text(time)),
            Self::Settled { limit: DEFAULT_LIMIT } => f.write_str(SETTLED),
            Self::Settled { limit } => write!(f, "{SETTLED}:{}", time_text(limit)),
        }
    }
}

impl TryFrom<String> for Warmup {
    type Error = Message;

    fn try_from(text: String) -> Result<Self, Message> {
        Self::parse(&text)
    }
}

impl From<Warmup> for String {
    fn from(warmup: Warmup) -> Self {
        warmup.to_string()
    }
}

/// Time before the measured part of a run: the starts of its programs, and the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmupPlan {
    /// Time of the last start, from the start of the run.
    starts: Nanos,
    /// The rest; nothing is discarded if there is neither.
    warmup: Option<Warmup>,
}

impl WarmupPlan {
    /// Plan of a run that is measured from its start.
    pub const NONE: Self = Self { starts: Nanos::ZERO, warmup: None };

    /// Creates the plan of a workload that has been moved to begin `begin` after the start of the run.
    ///
    /// A fixed warm-up counts from the last start of a benchmark's program. Tasks of files may start at any time; only a run
    /// that has to settle waits for the last of them.
    pub fn new(warmup: Option<Warmup>, begin: Nanos, workload: &Workload) -> Self {
        let of_tasks = workload.tasks.iter().filter_map(|task| task.start_at).max().unwrap_or_default();
        let starts = match warmup {
            Some(Warmup::Settled { .. }) => (begin + workload.starts).max(of_tasks),
            None if workload.starts == Nanos::ZERO => return Self::NONE,
            Some(Warmup::After(_)) | None => begin + workload.starts,
        };
        Self { starts, warmup }
    }

    /// Returns the time from the start of the run to the latest begin of the measured part.
    pub fn latest(self) -> Nanos {
        let warmup = self.warmup.map_or(Nanos::ZERO, Warmup::latest);
        Nanos(self.starts.0.saturating_add(warmup.0))
    }

    /// Returns the time from the start of the run to the measured part of a run that has ended.
    pub fn length(self, settling: Option<&Settling>) -> Nanos {
        settling.map_or_else(|| self.latest(), |settling| self.starts + Nanos(settling.after_ns))
    }

    /// Returns the detector of a run that has to settle.
    pub(crate) fn detector(self) -> Option<SettleDetector> {
        let Some(Warmup::Settled { limit }) = self.warmup else { return None };
        Some(SettleDetector { limit, next: self.starts, starts: self.starts, readings: VecDeque::new() })
    }
}

/// Counts of a machine since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ActivityCounts {
    switches: u64,
    wakeups: u64,
    migrations: u64,
}

impl ActivityCounts {
    fn since(self, earlier: Self) -> [u64; 3] {
        [self.switches - earlier.switches, self.wakeups - earlier.wakeups, self.migrations - earlier.migrations]
    }
}

/// Comparison of a run's last two blocks, window by window.
#[derive(Clone, Debug)]
pub(crate) struct SettleDetector {
    starts: Nanos,
    limit: Nanos,
    /// Time of the next reading, from the start of the run.
    next: Nanos,
    /// The readings of the last two blocks, the oldest first.
    readings: VecDeque<ActivityCounts>,
}

impl SettleDetector {
    /// Returns the time of the next reading, from the start of the run.
    pub(crate) const fn next(&self) -> Nanos {
        self.next
    }

    /// Reads the counts at the time of the next reading. Returns the result with which the warm-up ends.
    pub(crate) fn read<E: Engine>(&mut self, machine: &Machine<E>) -> Option<Settling> {
        let counters = machine.counters();
        let counts =
            ActivityCounts { switches: counters.switches, wakeups: counters.wakeups, migrations: counters.migrations };
        self.add(counts, machine.tasks().len() as u64)
    }

    fn add(&mut self, counts: ActivityCounts, nr_tasks: u64) -> Option<Settling> {
        self.readings.push_back(counts);
        if self.readings.len() > 2 * BLOCK_WINDOWS + 1 {
            self.readings.pop_front();
        }
        let after = self.next - self.starts;
        let has_settled = self.readings.len() == 2 * BLOCK_WINDOWS + 1 && {
            let [first, middle, last] = [0, BLOCK_WINDOWS, 2 * BLOCK_WINDOWS].map(|index| self.readings[index]);
            let blocks = last.since(middle).into_iter().zip(middle.since(first));
            blocks.into_iter().all(|(count, before)| are_close(count, before, nr_tasks))
        };
        if has_settled || after + WINDOW > self.limit {
            return Some(Settling { after_ns: after.0, has_settled });
        }
        self.next += WINDOW;
        None
    }
}

/// Whether two counts differ by no more than the tolerance.
fn are_close(count: u64, before: u64, nr_tasks: u64) -> bool {
    count.abs_diff(before) <= count.max(before) * TOLERANCE_PERCENT / 100 + 2 * nr_tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result for a machine with a task, whose windows have these numbers of migrations.
    fn settle(limit: Nanos, migrations: impl Iterator<Item = u64>) -> Settling {
        let starts = Nanos::from_millis(7);
        let mut detector =
            WarmupPlan { starts, warmup: Some(Warmup::Settled { limit }) }.detector().expect("it has to settle");
        assert_eq!(detector.next(), starts);
        let mut counts = ActivityCounts::default();
        for window in migrations {
            if let Some(settling) = detector.add(counts, 1) {
                return settling;
            }
            counts.switches += 1000;
            counts.wakeups += 500;
            counts.migrations += window;
        }
        panic!("the limit ends every warm-up");
    }

    fn after(ms: u64, has_settled: bool) -> Settling {
        Settling { after_ns: ms * 1_000_000, has_settled }
    }

    #[test]
    fn a_steady_run_settles_after_two_blocks() {
        assert_eq!(settle(DEFAULT_LIMIT, std::iter::repeat(100)), after(200, true));
        // The tolerance of 528 migrations in the second block is 26, and two for the task.
        let with_tenth = |tenth| (0..).map(move |window| if window == 9 { tenth } else { 100 });
        assert_eq!(settle(DEFAULT_LIMIT, with_tenth(128)), after(200, true));
        assert_eq!(settle(DEFAULT_LIMIT, with_tenth(129)), after(400, true));
    }

    #[test]
    fn a_change_of_state_delays_the_end_until_both_blocks_are_in_the_new_state() {
        // At 180 ms the tasks stop to migrate: the last block with migrations begins before.
        let changes = |at: usize| (0..).map(move |window: usize| if window < at { 100 } else { 0 });
        assert_eq!(settle(DEFAULT_LIMIT, changes(9)), after(380, true));
    }

    #[test]
    fn a_run_that_does_not_settle_ends_its_warm_up_at_the_limit() {
        let grows = (0..).map(|window| 1 << (window / 4));
        assert_eq!(settle(Nanos::from_millis(259), grows), after(240, false));
    }

    #[test]
    fn a_warm_up_is_a_time_or_settled() {
        let settled = |ms| Warmup::Settled { limit: Nanos::from_millis(ms) };
        for (text, warmup) in [
            ("500ms", Warmup::After(Nanos::from_millis(500))),
            ("settled", settled(2000)),
            ("settled:200ms", settled(200)),
        ] {
            assert_eq!((Warmup::parse(text), warmup.to_string()), (Ok(warmup), text.to_owned()));
        }
        for (text, expected) in [
            ("settle", "or settled"),
            ("settled:", "a time is a number"),
            ("settled:199ms", "after 200ms at the earliest"),
            ("settled 1s", "settled:LIMIT"),
            ("0s", "greater than 0"),
        ] {
            let error = Warmup::parse(text).expect_err(text);
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }
}
