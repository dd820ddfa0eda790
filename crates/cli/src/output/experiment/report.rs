// SPDX-License-Identifier: GPL-2.0-or-later
//! Report of an experiment, for all output formats: arms, comparison, and notes about the method.

use crate::output::figures::counted;
use fairlab_observe::summary::{RunSubject, RunSummary};
use fairlab_run::kernels::additions::MissingAddition;
use fairlab_study::experiment::comparison::Comparison;
use fairlab_study::experiment::intervals::{IntervalMethod, MIN_PAIRS_OF_INTERVAL};
use fairlab_study::experiment::states::{PairEnds, RunState, SplitRuns};
use fairlab_study::experiment::work::is_at_equal_work;
use schemars::JsonSchema;
use serde::Serialize;

/// The form of what is written as JSON.
pub(crate) const SCHEMA: &str = "experiment/3";

/// An experiment that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExperimentReport {
    /// The form of this.
    pub(crate) schema: &'static str,
    /// Names of the arms.
    pub(crate) arms: Vec<String>,
    /// Workload, machine and kernel of each arm.
    pub(crate) subjects: Vec<RunSubject>,
    /// Additions that the workload of each arm uses and its kernel does not have. The arm runs without them.
    pub(crate) missing: Vec<Vec<MissingAddition>>,
    /// The arms beside each other.
    pub(crate) comparison: Comparison,
    /// Of an experiment that went on until something was found: how often results were looked at, and whether time was up.
    pub(crate) looks: Option<(u32, bool)>,
    /// Whether start times and run lengths vary too, not only the scheduler's random numbers.
    pub(crate) is_varied: bool,
    /// The seed of the first repetition; none if there is one run of each, as after a boot.
    pub(crate) first_seed: Option<u64>,
    /// The command that repeats it.
    pub(crate) command: Vec<String>,
    /// Requested number of repetitions, if a signal ended the experiment; 0 if it had no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cut_short_of_runs: Option<u64>,
    /// Facts about the runs that are not metrics: assumptions about the workload, arms without costs of kernel code.
    pub(crate) facts: Vec<String>,
    /// Summary of each arm's run, if each arm ran once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) results: Vec<RunSummary>,
    /// Whether text output has the rows of all metrics.
    #[serde(skip)]
    pub(crate) has_all_rows: bool,
}

impl ExperimentReport {
    /// Returns the title: workload, machine and kernel.
    pub(crate) fn title(&self) -> String {
        let same = |what: fn(&RunSubject) -> &str| {
            let first = what(&self.subjects[0]);
            self.subjects.iter().all(|subject| what(subject) == first).then(|| first.to_owned())
        };
        let workload = same(|subject| &subject.workload).unwrap_or_else(|| "several workloads".to_owned());
        let machine = match same(|subject| &subject.machine).as_deref() {
            None => "several machines".to_owned(),
            Some("scenario") => "its own machine".to_owned(),
            Some(machine) => machine.to_owned(),
        };
        let kernel =
            same(|subject| &subject.kernel).map_or_else(|| "several kernels".to_owned(), |one| format!("kernel {one}"));
        format!("{workload}: on {machine}, {kernel}")
    }

    /// Returns a note for the first line if a signal ended the experiment.
    pub(crate) fn stop_note(&self) -> Option<String> {
        let done = self.comparison.repetitions;
        self.cut_short_of_runs.map(|whole| {
            let done = if whole > 0 { format!("{done} of {whole} repetitions") } else { counted(done, "repetition") };
            format!("stopped before the end, after {done}; the metrics cover only these")
        })
    }

    /// The title without where it ran.
    pub(crate) fn workload(&self) -> &str {
        &self.subjects[0].workload
    }

    /// Returns a sentence about the number of repetitions and what varies between them.
    pub(crate) fn repetitions(&self) -> String {
        let Comparison { repetitions, distinct, .. } = self.comparison;
        if repetitions == 1 {
            return "one run of each arm: an effect cannot be distinguished from chance; add --runs 20".to_owned();
        }
        let seeds =
            self.first_seed.map_or_else(String::new, |first| format!(" {first} to {}", first + repetitions as u64 - 1));
        let what = if self.is_varied {
            "its own seed, equal in all arms, for the start of the workload against the tick, the start of each task, random run lengths, and the scheduler's random numbers"
        } else {
            "its own seed, equal in all arms, for the scheduler's random numbers only"
        };
        let mut text = format!("{repetitions} repetitions (seeds{seeds}): each has {what}");
        if distinct == 1 {
            text.push_str(
                ". All of them are the same run, event for event: the difference is what it is, and has no spread and no test",
            );
            if !self.is_varied {
                text.push_str("; without --hold-still they would differ");
            }
        } else if distinct < repetitions {
            text.push_str(&format!(". Only {distinct} of them differ, event for event; the others are left out"));
        }
        text
    }

    /// Returns a note for each addition that an arm runs without.
    pub(crate) fn missing_notes(&self) -> Vec<String> {
        let arms = self.arms.iter().zip(&self.missing);
        arms.flat_map(|(arm, missing)| missing.iter().map(move |missing| format!("`{arm}` {}", missing.warning())))
            .collect()
    }

    pub(crate) fn identical_arms(&self) -> Vec<String> {
        (1..self.arms.len()).filter_map(|arm| self.identical_note(arm)).collect()
    }

    pub(crate) fn identical_note(&self, arm: usize) -> Option<String> {
        let (name, first) = (&self.arms[arm], &self.arms[0]);
        self.comparison.identical[arm - 1].then(|| {
            format!(
                "`{name}` made no difference: every run is identical to that of `{first}` in every event and metric"
            )
        })
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        let comparison = &self.comparison;
        let mut notes: Vec<String> = self.stop_note().into_iter().collect();
        notes.push(self.repetitions());
        notes.extend(self.missing_notes());
        notes.extend(self.facts.iter().cloned());
        notes.extend(self.identical_arms());
        notes.extend(comparison.split_runs().iter().map(|split| self.split_note(split)));
        notes.extend(comparison.pair_ends().map(|ends| self.pair_note(&ends)));
        if comparison.is_per_second {
            notes.push("the runs of the arms have different lengths: counts, times and energies that add up over a run are per second".to_owned());
        }
        if comparison.rows.iter().any(|row| is_at_equal_work(&row.metric)) {
            let first = &self.arms[0];
            notes.push(format!(
                "at equal work: as if each task family had done the work of `{first}`, with its own time and energy per loop, activation or second at full speed"
            ));
        }
        if let Some((looks, is_out_of_time)) = self.looks {
            let tested = counted(looks, "time");
            let end = if is_out_of_time { "; then the time was up" } else { "" };
            notes.push(format!(
                "results were tested {tested}{end}; each test has half of the significance level that the tests before left"
            ));
        }
        if comparison.tests > 0 {
            let effect = if self.has_all_rows { "n.s.: not significant; MDE, " } else { "" };
            notes.push(format!(
                "{} (Wilcoxon's signed ranks of pairs) at {} % together (Holm); {effect}minimum detectable effect: found in four experiments of five",
                counted(comparison.tests, "test"),
                100.0 * comparison.level
            ));
            notes.push(self.interval_note());
            notes.extend(self.too_few_note());
            if let Some(needed) = self.needed_repetitions() {
                notes.push(needed);
            }
        }
        notes.extend(self.partial_note());
        notes
    }

    /// Returns a note with the names of the metrics that some runs lack.
    pub(crate) fn partial_note(&self) -> Option<String> {
        let names: Vec<&str> = self.comparison.partial.iter().map(|row| row.metric.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("not in all runs, and not compared: {}", names.join(", ")))
    }

    /// Returns a note about runs of an arm that end in two states.
    fn split_note(&self, split: &SplitRuns) -> String {
        let [low, high] = split.states;
        let (name, unit) = &split.metric;
        let state = |state: RunState| format!("{} at {:.4e} {unit}", counted(state.nr_runs, "run"), state.mean);
        format!(
            "the runs of `{}` end in two states ({name}: {}, {}): their start decides which one, and a mean describes neither",
            self.arms[split.arm],
            state(low),
            state(high)
        )
    }

    /// Returns a note about the states in which pairs end.
    fn pair_note(&self, ends: &PairEnds) -> String {
        let share = |(arm, share): (&String, &f64)| format!("{:.0} % in `{arm}`", 100.0 * share);
        let shares: Vec<String> = self.arms.iter().zip(&ends.shares).map(share).collect();
        let shares = format!("transactions on one CPU: {}", shares.join(", "));
        if ends.are_apart { format!("the arms end in different states ({shares})") } else { shares }
    }

    fn interval_note(&self) -> String {
        let Comparison { interval_method, distinct, .. } = self.comparison;
        match interval_method {
            IntervalMethod::OrderStatistics if distinct < MIN_PAIRS_OF_INTERVAL => format!(
                "change: median of the pairs' changes; fewer than {MIN_PAIRS_OF_INTERVAL} pairs have no 95 % interval"
            ),
            IntervalMethod::OrderStatistics => {
                "change: median of the pairs' changes; 95 % interval for any distribution (order statistics)".to_owned()
            }
            IntervalMethod::Bootstrap => {
                "change: of means; the 95 % interval (bootstrap) is too narrow if a few runs differ widely".to_owned()
            }
        }
    }

    /// Returns a note if so few repetitions cannot give a significant result, with the number that could.
    pub(crate) fn too_few_note(&self) -> Option<String> {
        let Comparison { repetitions, distinct, tests, enough, level, .. } = self.comparison;
        self.comparison.is_too_few().then(|| {
            let those = if distinct < repetitions { " that differ" } else { "" };
            let tests = counted(tests, "test");
            let percent = 100.0 * level;
            format!(
                "too few: {distinct} repetitions{those} cannot find any difference in {tests} at {percent} %, however large it is; at least {enough} could (--runs {enough}), or fewer tests (--metric NAME, fewer arms)"
            )
        })
    }

    /// Returns the number of repetitions that detect the difference of `--detect`, over all metrics.
    fn needed_repetitions(&self) -> Option<String> {
        let changes = |row: &fairlab_study::experiment::comparison::MetricRow| {
            row.changes.iter().filter_map(|change| change.needed).max().map(|runs| (runs, row.metric.name.clone()))
        };
        let all: Vec<(usize, String)> = self.comparison.rows.iter().filter_map(changes).collect();
        let (most, of) = all.iter().max()?;
        let (least, easy) = all.iter().min()?;
        let percent = self.comparison.detect_percent;
        Some(if all.len() == 1 {
            format!("to detect {percent} %: {most} repetitions")
        } else {
            format!("to detect {percent} %: {least} repetitions ({easy}) to {most} ({of})")
        })
    }
}
