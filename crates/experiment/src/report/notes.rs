// SPDX-License-Identifier: GPL-2.0-or-later
//! Notes of a comparison: records from which their sentences are printed.
//!
//! A sentence is printed from its note alone, so it cannot contain what the note does not. `--format json` has the notes
//! with their sentences, and the audit recomputes their fields.

use crate::intervals::{IntervalMethod, MIN_PAIRS_OF_INTERVAL};
use crate::states::{PairEnds, RunState, SplitRuns};
use fairlab_measure::missing_addition::MissingAddition;
use fairlab_measure::plural::counted_regular as counted;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// Note on the method or the runs of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Note {
    /// A signal ended the experiment.
    Stopped {
        /// Number of repetitions that were done.
        done: usize,
        /// Requested number; null if none was requested.
        requested: Option<u64>,
    },
    /// Repetitions, and what varies between them.
    Repetitions(RepetitionsNote),
    /// An arm runs without something that its kernel does not have.
    MissingAddition {
        /// Name of the arm.
        arm: String,
        /// Addition, its users and the kernel.
        #[serde(flatten)]
        missing: MissingAddition,
    },
    /// Assumption about the workload, by its definition.
    Assumption {
        /// Sentence of the definition.
        assumption: String,
    },
    /// Kernel code takes no time.
    ZeroCosts {
        /// Names of the arms in which kernel code takes no time.
        arms: Vec<String>,
        /// Whether these are all arms.
        is_everywhere: bool,
    },
    /// The machine has no power values of idle states.
    NoIdleEnergy,
    /// All runs of two arms are the same, in every event and metric.
    IdenticalArms {
        /// Name of the arm.
        arm: String,
        /// Name of the first arm.
        first: String,
    },
    /// Runs of an arm end in two states.
    SplitRuns {
        /// Name of the arm.
        arm: String,
        /// Metric whose values have the gap.
        metric: String,
        /// Unit of the metric.
        unit: String,
        /// Runs with the lower and with the higher values.
        states: [RunState; 2],
    },
    /// States in which pairs of netperf end.
    PairEnds {
        /// Share of transactions on one CPU, by arm.
        shares: Vec<ArmShare>,
        /// Whether arms end in different states.
        are_apart: bool,
    },
    /// The arms' runs have different lengths, so metrics that add up over a run are per second.
    PerSecond,
    /// The arms did different amounts of work, so some metrics are compared at equal work.
    EqualWork {
        /// Name of the first arm, whose amounts of work are used.
        first: String,
    },
    /// Results were tested repeatedly until something was found.
    RepeatedTests {
        /// Number of times that results were tested.
        nr_times: u32,
        /// Whether the time was up before something was found.
        is_out_of_time: bool,
    },
    /// Significance tests.
    Tests {
        /// Number of tests.
        nr_tests: usize,
        /// Significance level of all tests together, in percent.
        level_percent: f64,
        /// Whether the table has the abbreviations n.s. and MDE.
        has_abbreviations: bool,
    },
    /// Changes and their intervals.
    Intervals {
        /// Method of the intervals.
        method: IntervalMethod,
        /// Number of distinct pairs of runs.
        nr_pairs: usize,
    },
    /// So few repetitions cannot give a significant result.
    TooFew(TooFewNote),
    /// Number of repetitions that detect the difference of `--detect`.
    NeededRepetitions {
        /// Difference to detect, in percent.
        detect_percent: f64,
        /// Metric that needs the smallest number.
        least: NeededRuns,
        /// Metric that needs the largest number.
        most: NeededRuns,
        /// Number of metrics with a number.
        nr_metrics: usize,
    },
    /// Metrics that are not compared because some runs lack them.
    Partial {
        /// Names of the metrics.
        metrics: Vec<String>,
    },
}

/// Repetitions of a comparison.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RepetitionsNote {
    pub repetitions: usize,
    /// Repetitions that differ, event for event.
    pub distinct: usize,
    /// Seed of the first repetition; the next one has the next number. Null if no seed was set.
    pub first_seed: Option<u64>,
    /// Whether start times and run lengths vary, and not only the scheduler's random numbers.
    pub is_varied: bool,
}

/// Number of repetitions that is too small.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TooFewNote {
    /// Repetitions that differ.
    pub distinct: usize,
    /// Whether other repetitions are the same, event for event.
    pub has_duplicates: bool,
    /// Number of significance tests.
    pub nr_tests: usize,
    /// Significance level of all tests together, in percent.
    pub level_percent: f64,
    /// Smallest number of repetitions that could give a significant result.
    pub enough: usize,
}

/// Share of transactions on one CPU in an arm.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ArmShare {
    pub arm: String,
    /// From 0 to 1.
    pub share: f64,
}

/// Number of repetitions that a metric needs.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct NeededRuns {
    pub runs: usize,
    pub metric: String,
}

/// Record with its sentence.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Statement")]
pub struct Statement<T> {
    /// Content of the sentence.
    #[serde(flatten)]
    record: T,
    /// Sentence, printed from the record.
    text: String,
}

impl<T: fmt::Display> From<T> for Statement<T> {
    fn from(record: T) -> Self {
        let text = record.to_string();
        Self { record, text }
    }
}

impl Note {
    /// Creates the note on runs that end in two states.
    pub(crate) fn of_split_runs(split: SplitRuns, arms: &[String]) -> Self {
        let (metric, unit) = split.metric;
        Self::SplitRuns { arm: arms[split.arm].clone(), metric, unit, states: split.states }
    }

    /// Creates the note on the states in which pairs end.
    pub(crate) fn of_pair_ends(ends: &PairEnds, arms: &[String]) -> Self {
        let share = |(arm, share): (&String, &f64)| ArmShare { arm: arm.clone(), share: *share };
        Self::PairEnds { shares: arms.iter().zip(&ends.shares).map(share).collect(), are_apart: ends.are_apart }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped { done, requested } => {
                let done = match requested {
                    Some(requested) => format!("{done} of {requested} repetitions"),
                    None => counted(*done, "repetition"),
                };
                write!(f, "stopped before the end, after {done}; the metrics cover only these")
            }
            Self::Repetitions(note) => note.fmt(f),
            Self::MissingAddition { arm, missing } => write!(f, "`{arm}` {}", missing.warning()),
            Self::Assumption { assumption } => f.write_str(assumption),
            Self::ZeroCosts { is_everywhere: true, .. } => f.write_str("zero-cost kernel code"),
            Self::ZeroCosts { arms, .. } => write!(f, "zero-cost kernel code in `{}`", arms.join("`, `")),
            Self::NoIdleEnergy => f.write_str(
                "energy of idle CPUs is not modelled: the machine does not say what its idle states draw",
            ),
            Self::IdenticalArms { arm, first } => {
                write!(f, "`{arm}` made no difference: every run is identical to that of `{first}` in every event and metric")
            }
            Self::SplitRuns { arm, metric, unit, states: [low, high] } => {
                let state = |state: &RunState| format!("{} at {:.4e} {unit}", counted(state.nr_runs, "run"), state.mean);
                write!(
                    f,
                    "the runs of `{arm}` end in two states ({metric}: {}, {}): their start decides which one, and a mean describes neither",
                    state(low),
                    state(high)
                )
            }
            Self::PairEnds { shares, are_apart } => {
                let share = |of: &ArmShare| format!("{:.0} % in `{}`", 100.0 * of.share, of.arm);
                let shares = shares.iter().map(share).collect::<Vec<_>>().join(", ");
                match are_apart {
                    true => write!(f, "the arms end in different states (transactions on one CPU: {shares})"),
                    false => write!(f, "transactions on one CPU: {shares}"),
                }
            }
            Self::PerSecond => f.write_str("the runs of the arms have different lengths: counts, times and energies that add up over a run are per second"),
            Self::EqualWork { first } => write!(
                f,
                "at equal work: as if each task family had done the work of `{first}`, with its own time and energy per loop, activation or second at full speed"
            ),
            Self::RepeatedTests { nr_times, is_out_of_time } => {
                let end = if *is_out_of_time { "; then the time was up" } else { "" };
                write!(
                    f,
                    "results were tested {}{end}; each test has half of the significance level that the tests before left",
                    counted(*nr_times, "time")
                )
            }
            Self::Tests { nr_tests, level_percent, has_abbreviations } => {
                let effect = if *has_abbreviations { "n.s.: not significant; MDE, " } else { "" };
                write!(
                    f,
                    "{} (Wilcoxon's signed ranks of pairs) at {level_percent} % together (Holm); {effect}minimum detectable effect: found in four experiments of five",
                    counted(*nr_tests, "test")
                )
            }
            Self::Intervals { method: IntervalMethod::OrderStatistics, nr_pairs } if *nr_pairs < MIN_PAIRS_OF_INTERVAL => write!(
                f,
                "change: median of the pairs' changes; fewer than {MIN_PAIRS_OF_INTERVAL} pairs have no 95 % interval"
            ),
            Self::Intervals { method: IntervalMethod::OrderStatistics, .. } => f.write_str(
                "change: median of the pairs' changes; 95 % interval for any distribution (order statistics)",
            ),
            Self::Intervals { method: IntervalMethod::Bootstrap, .. } => f.write_str(
                "change: of means; the 95 % interval (bootstrap) is too narrow if a few runs differ widely",
            ),
            Self::TooFew(note) => write!(f, "too few: {note}"),
            Self::NeededRepetitions { detect_percent, least, most, nr_metrics } => {
                write!(f, "to detect {detect_percent} %: {} repetitions", least.runs)?;
                if *nr_metrics > 1 {
                    write!(f, " ({}) to {} ({})", least.metric, most.runs, most.metric)?;
                }
                Ok(())
            }
            Self::Partial { metrics } => write!(f, "not in all runs, and not compared: {}", metrics.join(", ")),
        }
    }
}

impl fmt::Display for RepetitionsNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { repetitions, distinct, first_seed, is_varied } = *self;
        if repetitions == 1 {
            return f.write_str("one run of each arm: an effect cannot be distinguished from chance; add --runs 20");
        }
        write!(f, "{repetitions} repetitions (seeds")?;
        if let Some(first) = first_seed {
            write!(f, " {first} to {}", first + repetitions as u64 - 1)?;
        }
        f.write_str("): each has its own seed, equal in all arms, for ")?;
        f.write_str(if is_varied {
            "the start of the workload against the tick, the start of each task, random run lengths, and the scheduler's random numbers"
        } else {
            "the scheduler's random numbers only"
        })?;
        if distinct == 1 {
            f.write_str(
                ". All of them are the same run, event for event: the difference is what it is, and has no spread and no test",
            )?;
            if !is_varied {
                f.write_str("; without --hold-still they would differ")?;
            }
        } else if distinct < repetitions {
            write!(f, ". Only {distinct} of them differ, event for event; the others are left out")?;
        }
        Ok(())
    }
}

impl fmt::Display for TooFewNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { distinct, has_duplicates, nr_tests, level_percent, enough } = self;
        let those = if *has_duplicates { " that differ" } else { "" };
        let tests = counted(*nr_tests, "test");
        write!(
            f,
            "{distinct} repetitions{those} cannot find any difference in {tests} at {level_percent} %, however large it is; at least {enough} could (--runs {enough}), or fewer tests (--metric NAME, fewer arms)"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(note: Note, expected: &str) {
        assert_eq!(note.to_string(), expected);
    }

    fn names<const N: usize>(names: [&str; N]) -> Vec<String> {
        names.map(str::to_owned).to_vec()
    }

    fn repetitions(distinct: usize, is_varied: bool) -> Note {
        Note::Repetitions(RepetitionsNote { repetitions: 12, distinct, first_seed: Some(3), is_varied })
    }

    #[test]
    fn repetitions_are_printed_with_what_varies_and_with_duplicates() {
        let varied = "12 repetitions (seeds 3 to 14): each has its own seed, equal in all arms, for the start of the workload against the tick, the start of each task, random run lengths, and the scheduler's random numbers";
        check(repetitions(12, true), varied);
        check(
            repetitions(5, true),
            &format!("{varied}. Only 5 of them differ, event for event; the others are left out"),
        );
        let same = ". All of them are the same run, event for event: the difference is what it is, and has no spread and no test";
        check(repetitions(1, true), &format!("{varied}{same}"));
        let still = "12 repetitions (seeds 3 to 14): each has its own seed, equal in all arms, for the scheduler's random numbers only";
        check(repetitions(12, false), still);
        check(repetitions(1, false), &format!("{still}{same}; without --hold-still they would differ"));
        check(
            Note::Repetitions(RepetitionsNote { repetitions: 1, distinct: 1, first_seed: None, is_varied: true }),
            "one run of each arm: an effect cannot be distinguished from chance; add --runs 20",
        );
        let stopped = "stopped before the end, after";
        check(
            Note::Stopped { done: 3, requested: Some(20) },
            &format!("{stopped} 3 of 20 repetitions; the metrics cover only these"),
        );
        check(
            Note::Stopped { done: 1, requested: None },
            &format!("{stopped} 1 repetition; the metrics cover only these"),
        );
    }

    #[test]
    fn notes_on_runs_name_their_arms() {
        let missing = MissingAddition {
            name: "cpu.max.burst".to_owned(),
            users: names(["/pod"]),
            since: "5.14".to_owned(),
            kernel: "5.10".to_owned(),
        };
        check(
            Note::MissingAddition { arm: "old".to_owned(), missing },
            "`old` runs without cpu.max.burst of /pod: kernels have it since 5.14, this is 5.10",
        );
        check(Note::Assumption { assumption: "packets take no time".to_owned() }, "packets take no time");
        let zero = |is_everywhere| Note::ZeroCosts { arms: names(["a", "b"]), is_everywhere };
        check(zero(true), "zero-cost kernel code");
        check(zero(false), "zero-cost kernel code in `a`, `b`");
        check(
            Note::NoIdleEnergy,
            "energy of idle CPUs is not modelled: the machine does not say what its idle states draw",
        );
        check(
            Note::IdenticalArms { arm: "b".to_owned(), first: "a".to_owned() },
            "`b` made no difference: every run is identical to that of `a` in every event and metric",
        );
        let states = [RunState { nr_runs: 1, mean: 3500.0 }, RunState { nr_runs: 6, mean: 8500.0 }];
        check(
            Note::SplitRuns { arm: "b".to_owned(), metric: "loops".to_owned(), unit: "/s".to_owned(), states },
            "the runs of `b` end in two states (loops: 1 run at 3.5000e3 /s, 6 runs at 8.5000e3 /s): their start decides which one, and a mean describes neither",
        );
        let ends =
            |are_apart| Note::of_pair_ends(&PairEnds { shares: vec![0.02, 0.991], are_apart }, &names(["a", "b"]));
        check(ends(false), "transactions on one CPU: 2 % in `a`, 99 % in `b`");
        check(ends(true), "the arms end in different states (transactions on one CPU: 2 % in `a`, 99 % in `b`)");
    }

    #[test]
    fn notes_on_the_method_have_their_numbers() {
        check(
            Note::PerSecond,
            "the runs of the arms have different lengths: counts, times and energies that add up over a run are per second",
        );
        check(
            Note::EqualWork { first: "a".to_owned() },
            "at equal work: as if each task family had done the work of `a`, with its own time and energy per loop, activation or second at full speed",
        );
        let half = "; each test has half of the significance level that the tests before left";
        check(Note::RepeatedTests { nr_times: 1, is_out_of_time: false }, &format!("results were tested 1 time{half}"));
        check(
            Note::RepeatedTests { nr_times: 2, is_out_of_time: true },
            &format!("results were tested 2 times; then the time was up{half}"),
        );
        let tests = |has_abbreviations| Note::Tests { nr_tests: 7, level_percent: 5.0, has_abbreviations };
        check(
            tests(false),
            "7 tests (Wilcoxon's signed ranks of pairs) at 5 % together (Holm); minimum detectable effect: found in four experiments of five",
        );
        check(
            tests(true),
            "7 tests (Wilcoxon's signed ranks of pairs) at 5 % together (Holm); n.s.: not significant; MDE, minimum detectable effect: found in four experiments of five",
        );
        let intervals = |method, nr_pairs| Note::Intervals { method, nr_pairs };
        check(
            intervals(IntervalMethod::OrderStatistics, 5),
            "change: median of the pairs' changes; fewer than 6 pairs have no 95 % interval",
        );
        check(
            intervals(IntervalMethod::OrderStatistics, 6),
            "change: median of the pairs' changes; 95 % interval for any distribution (order statistics)",
        );
        check(
            intervals(IntervalMethod::Bootstrap, 5),
            "change: of means; the 95 % interval (bootstrap) is too narrow if a few runs differ widely",
        );
        let too_few = |has_duplicates| {
            Note::TooFew(TooFewNote { distinct: 5, has_duplicates, nr_tests: 2, level_percent: 5.0, enough: 7 })
        };
        let cannot = "cannot find any difference in 2 tests at 5 %, however large it is; at least 7 could (--runs 7), or fewer tests (--metric NAME, fewer arms)";
        check(too_few(false), &format!("too few: 5 repetitions {cannot}"));
        check(too_few(true), &format!("too few: 5 repetitions that differ {cannot}"));
        let runs = |runs, metric: &str| NeededRuns { runs, metric: metric.to_owned() };
        let needed = |nr_metrics| Note::NeededRepetitions {
            detect_percent: 1.0,
            least: runs(8, "a"),
            most: runs(90, "b"),
            nr_metrics,
        };
        check(needed(1), "to detect 1 %: 8 repetitions");
        check(needed(2), "to detect 1 %: 8 repetitions (a) to 90 (b)");
        check(Note::Partial { metrics: names(["a", "b"]) }, "not in all runs, and not compared: a, b");
    }
}
