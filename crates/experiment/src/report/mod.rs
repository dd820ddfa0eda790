// SPDX-License-Identifier: GPL-2.0-or-later
//! Report of a comparison: the comparison with its sentences, each printed from a record.

pub mod compared;
pub mod facts;
pub mod notes;
pub mod values;
pub mod verdict;

use crate::comparison::{Comparison, MetricRow};
use crate::work::is_at_equal_work;
use fairlab_measure::missing_addition::MissingAddition;
use fairlab_measure::summary::RunSubject;
use notes::{NeededRuns, Note, RepetitionsNote, Statement, TooFewNote};
use schemars::JsonSchema;
use serde::Serialize;
use verdict::{ArmVerdict, differs};

/// A comparison, with what its sentences need besides.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ComparisonReport {
    /// Names of the arms.
    pub arms: Vec<String>,
    /// Workload, machine and kernel of each arm.
    pub subjects: Vec<RunSubject>,
    /// Additions that the workload of each arm uses and its kernel does not have. The arm runs without them.
    pub missing: Vec<Vec<MissingAddition>>,
    /// The arms beside each other.
    pub comparison: Comparison,
    /// Of an experiment that went on until something was found: how often results were looked at, and whether time was up.
    #[serde(rename = "looks")]
    pub checks: Option<(u32, bool)>,
    /// Whether start times and run lengths vary too, not only the scheduler's random numbers.
    pub is_varied: bool,
    /// The seed of the first repetition; none if there is one run of each, as after a boot.
    pub first_seed: Option<u64>,
    /// The command that repeats it.
    pub command: Vec<String>,
    /// Requested number of repetitions, if a signal ended the experiment; 0 if it had no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_short_of_runs: Option<u64>,
    /// Notes on the runs that do not follow from metrics: assumptions about the workload, arms without costs of kernel
    /// code.
    #[serde(skip)]
    pub facts: Vec<Note>,
    /// Whether the table has the rows of all metrics.
    #[serde(skip)]
    pub has_all_rows: bool,
}

impl ComparisonReport {
    /// Returns the verdict on each arm but the first, with its sentence.
    pub fn verdicts(&self) -> Vec<Statement<ArmVerdict>> {
        (1..self.arms.len()).map(|arm| self.verdict(arm).into()).collect()
    }

    /// Returns all notes with their sentences.
    pub fn statements(&self) -> Vec<Statement<Note>> {
        self.notes().into_iter().map(Statement::from).collect()
    }

    /// Returns the rows of an arm's table, and all others.
    pub fn rows_of(&self, arm: usize) -> (Vec<&MetricRow>, Vec<&MetricRow>) {
        self.comparison.rows.iter().partition(|row| self.has_all_rows || differs(&row.changes[arm - 1]))
    }

    /// Returns the title: workload, machine and kernel.
    pub fn title(&self) -> String {
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

    /// Returns the note for the first line if a signal ended the experiment.
    pub fn stop_note(&self) -> Option<Note> {
        let done = self.comparison.repetitions;
        self.cut_short_of_runs.map(|requested| Note::Stopped { done, requested: (requested > 0).then_some(requested) })
    }

    /// Returns the workload of the first arm.
    pub fn workload(&self) -> &str {
        &self.subjects[0].workload
    }

    fn repetitions(&self) -> RepetitionsNote {
        let Comparison { repetitions, distinct, .. } = self.comparison;
        RepetitionsNote { repetitions, distinct, first_seed: self.first_seed, is_varied: self.is_varied }
    }

    /// Returns a note for each addition that an arm runs without.
    pub fn missing_notes(&self) -> impl Iterator<Item = Note> {
        let arms = self.arms.iter().zip(&self.missing);
        arms.flat_map(|(arm, missing)| {
            missing.iter().map(|missing| Note::MissingAddition { arm: arm.clone(), missing: missing.clone() })
        })
    }

    /// Returns a note for each arm that is the same as the first.
    pub fn identical_arms(&self) -> impl Iterator<Item = Note> {
        (1..self.arms.len()).filter(|arm| self.is_identical(*arm)).map(|arm| {
            let (arm, first) = (self.arms[arm].clone(), self.arms[0].clone());
            Note::IdenticalArms { arm, first }
        })
    }

    /// Whether all runs of an arm are those of the first arm, in every event and metric.
    pub fn is_identical(&self, arm: usize) -> bool {
        self.comparison.identical[arm - 1]
    }

    /// Whether sums are compared at equal work.
    pub fn has_equal_work(&self) -> bool {
        self.comparison.rows.iter().any(|row| is_at_equal_work(&row.metric))
    }

    /// Returns all notes.
    pub fn notes(&self) -> Vec<Note> {
        let comparison = &self.comparison;
        let mut notes: Vec<Note> = self.stop_note().into_iter().collect();
        notes.push(Note::Repetitions(self.repetitions()));
        notes.extend(self.missing_notes());
        notes.extend(self.facts.iter().cloned());
        notes.extend(self.identical_arms());
        notes.extend(comparison.split_runs().into_iter().map(|split| Note::of_split_runs(split, &self.arms)));
        notes.extend(comparison.pair_ends().map(|ends| Note::of_pair_ends(&ends, &self.arms)));
        if comparison.is_per_second {
            notes.push(Note::PerSecond);
        }
        if self.has_equal_work() {
            notes.push(Note::EqualWork { first: self.arms[0].clone() });
        }
        if let Some((nr_times, is_out_of_time)) = self.checks {
            notes.push(Note::RepeatedTests { nr_times, is_out_of_time });
        }
        if comparison.tests > 0 {
            notes.push(Note::Tests {
                nr_tests: comparison.tests,
                level_percent: 100.0 * comparison.level,
                has_abbreviations: self.has_all_rows,
            });
            notes.push(Note::Intervals { method: comparison.interval_method, nr_pairs: comparison.distinct });
            notes.extend(self.too_few().map(Note::TooFew));
            notes.extend(self.needed_repetitions());
        }
        notes.extend(self.partial_note());
        notes
    }

    /// Returns a note with the names of the metrics that some runs lack.
    pub fn partial_note(&self) -> Option<Note> {
        let metrics: Vec<String> = self.comparison.partial.iter().map(|row| row.metric.name.clone()).collect();
        (!metrics.is_empty()).then_some(Note::Partial { metrics })
    }

    /// Returns a note if so few repetitions cannot give a significant result, with the number that could.
    pub fn too_few(&self) -> Option<TooFewNote> {
        let Comparison { repetitions, distinct, tests, enough, level, .. } = self.comparison;
        self.comparison.is_too_few().then_some(TooFewNote {
            distinct,
            has_duplicates: distinct < repetitions,
            nr_tests: tests,
            level_percent: 100.0 * level,
            enough,
        })
    }

    /// Returns the number of repetitions that detect the difference of `--detect`, over all metrics.
    fn needed_repetitions(&self) -> Option<Note> {
        let needed = |row: &MetricRow| {
            let runs = row.changes.iter().filter_map(|change| change.needed).max()?;
            Some(NeededRuns { runs, metric: row.metric.name.clone() })
        };
        let all: Vec<NeededRuns> = self.comparison.rows.iter().filter_map(needed).collect();
        let (least, most) = (all.iter().min()?.clone(), all.iter().max()?.clone());
        Some(Note::NeededRepetitions {
            detect_percent: self.comparison.detect_percent,
            least,
            most,
            nr_metrics: all.len(),
        })
    }
}
