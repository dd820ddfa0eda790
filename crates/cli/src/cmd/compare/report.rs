// SPDX-License-Identifier: GPL-2.0-or-later
//! What an experiment amounts to, for all forms: arms, comparison, and what is to be said about how it was done.

use fairlab_observe::summary::RunSubject;
use fairlab_study::experiment::comparison::Comparison;
use schemars::JsonSchema;
use serde::Serialize;

/// The form of what is written as JSON.
pub(crate) const SCHEMA: &str = "experiment/1";

/// An experiment that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExperimentReport {
    /// The form of this.
    pub(crate) schema: &'static str,
    /// Names of the arms.
    pub(crate) arms: Vec<String>,
    /// What each of them is run on.
    pub(crate) subjects: Vec<RunSubject>,
    /// The arms beside each other.
    pub(crate) comparison: Comparison,
    /// Of an experiment that went on until something was found: how often results were looked at, and whether time was up.
    pub(crate) looks: Option<(u32, bool)>,
    /// Whether more than the dice varies.
    pub(crate) is_varied: bool,
    /// The seed of the first repetition; none if there is one run of each, as after a boot.
    pub(crate) first_seed: Option<u64>,
    /// The command that repeats it.
    pub(crate) command: Vec<String>,
    /// How many repetitions there were to be, if a signal has cut it short; 0 if nobody had said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cut_short_of_runs: Option<u64>,
}

impl ExperimentReport {
    /// What was run, where.
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

    /// What is to be said before all else if a signal has ended it.
    pub(crate) fn stopped(&self) -> Option<String> {
        let done = self.comparison.repetitions;
        self.cut_short_of_runs.map(|whole| {
            let of = if whole > 0 { format!(" of {whole}") } else { String::new() };
            format!("STOPPED before its end, after {done}{of} repetitions: the figures are of those")
        })
    }

    /// The title without where it ran.
    pub(crate) fn workload(&self) -> &str {
        &self.subjects[0].workload
    }

    /// What differs between repetitions, and how many of them there are.
    pub(crate) fn repetitions(&self) -> String {
        let Comparison { repetitions, distinct, .. } = self.comparison;
        if repetitions == 1 {
            return "one run of each arm: nothing tells an effect from an accident; add --runs 20".to_owned();
        }
        let seeds =
            self.first_seed.map_or_else(String::new, |first| format!(" {first} to {}", first + repetitions as u64 - 1));
        let what = if self.is_varied {
            "its own seed, in all arms the same, which draws when the workload starts against the tick, when each task starts, random lengths, and the scheduler's dice"
        } else {
            "its own seed, in all arms the same, which draws the scheduler's dice and nothing else"
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

    /// Arms that did the same as the first.
    pub(crate) fn identical(&self) -> Vec<String> {
        let same = |(place, _): (usize, &bool)| {
            let (arm, first) = (&self.arms[place + 1], &self.arms[0]);
            format!("`{arm}` made no difference: every run is identical to that of `{first}` in every event")
        };
        self.comparison.identical.iter().enumerate().filter(|(_, is_same)| **is_same).map(same).collect()
    }

    /// Everything that is to be said below a table.
    pub(crate) fn notes(&self) -> Vec<String> {
        let comparison = &self.comparison;
        let mut notes: Vec<String> = self.stopped().into_iter().collect();
        notes.push(self.repetitions());
        notes.extend(self.identical());
        if let Some((looks, is_out_of_time)) = self.looks {
            let looked = if looks == 1 { "once".to_owned() } else { format!("{looks} times") };
            let end = if is_out_of_time { "; then the time was up" } else { "" };
            notes.push(format!(
                "results were looked at {looked}{end}; each look has half of what the ones before left of the level"
            ));
        }
        if comparison.tests > 0 {
            notes.push(format!(
                "{} (Wilcoxon's signed ranks of pairs) at {} % together (Holm); none: no difference found; shows: the smallest one, in %, that so many repetitions find in four experiments of five",
                tests_of(comparison.tests),
                100.0 * comparison.level
            ));
            notes.extend(self.too_few());
            if let Some(needed) = self.needed() {
                notes.push(needed);
            }
        }
        if !comparison.partial.is_empty() {
            notes.push(format!("not in all runs, and left out: {}", comparison.partial.join(", ")));
        }
        notes
    }

    /// That so few repetitions can find nothing, and how many could.
    pub(crate) fn too_few(&self) -> Option<String> {
        let Comparison { repetitions, distinct, tests, enough, level, .. } = self.comparison;
        self.comparison.is_too_few().then(|| {
            let those = if distinct < repetitions { " that differ" } else { "" };
            let tests = tests_of(tests);
            let percent = 100.0 * level;
            format!(
                "too few: {distinct} repetitions{those} cannot find any difference in {tests} at {percent} %, however large it is; at least {enough} could (--runs {enough}), or fewer tests (--metric NAME, fewer arms)"
            )
        })
    }

    /// How many repetitions would show the difference that was asked about, of all metrics.
    fn needed(&self) -> Option<String> {
        let changes = |row: &fairlab_study::experiment::comparison::MetricRow| {
            row.changes.iter().filter_map(|change| change.needed).max().map(|runs| (runs, row.metric.name.clone()))
        };
        let all: Vec<(usize, String)> = self.comparison.rows.iter().filter_map(changes).collect();
        let (most, of) = all.iter().max()?;
        let (least, easy) = all.iter().min()?;
        let percent = self.comparison.detect_percent;
        Some(if all.len() == 1 {
            format!("to show {percent} %: {most} repetitions")
        } else {
            format!("to show {percent} %: from {least} repetitions ({easy}) to {most} ({of})")
        })
    }
}

/// So many tests, in words.
pub(crate) fn tests_of(number: usize) -> String {
    format!("{number} test{}", if number == 1 { "" } else { "s" })
}
