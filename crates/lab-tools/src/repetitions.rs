// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs of arms that were repeated, in any order.

use fairlab_experiment::Observation;
use fairlab_experiment::comparison::{ComparisonRules, compare};
use fairlab_experiment::report::ComparisonReport;
use fairlab_experiment::report::facts::RunFacts;
use fairlab_measure::measured_run::MeasuredRun;
use fairlab_measure::missing_addition::MissingAddition;
use fairlab_measure::summary::RunSubject;
use fairlab_workload::message::Message;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Answer of `fairlab-lab` to its request `measure`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EngineAnswer {
    #[serde(rename = "run")]
    _run: Option<u32>,
    measured: Option<MeasuredRun<Value>>,
    error: Option<Message>,
}

/// Runs of one arm.
#[derive(Debug, Default)]
struct ArmRuns {
    facts: RunFacts,
    /// Subject and missing additions of the arm, which are those of each of its runs.
    about: Option<(RunSubject, Vec<MissingAddition>)>,
    /// Observations by repetition.
    observations: BTreeMap<usize, Observation>,
}

/// Runs of all arms.
#[derive(Debug, Default)]
pub(crate) struct Repetitions {
    arms: BTreeMap<usize, ArmRuns>,
}

impl Repetitions {
    /// Adds a run of an arm.
    pub(crate) fn add(&mut self, arm: usize, repetition: usize, answer: &[u8]) -> Result<(), Message> {
        let wrong = |error: serde_json::Error| Message::new(error.to_string()).about("answer of a run");
        let EngineAnswer { measured, error, .. } = serde_json::from_slice(answer).map_err(wrong)?;
        if let Some(error) = error {
            return Err(error);
        }
        let measured = measured.ok_or_else(|| Message::new("the answer has no result").about("answer of a run"))?;
        let runs = self.arms.entry(arm).or_default();
        runs.about.get_or_insert_with(|| (measured.subject.clone(), measured.missing.clone()));
        let has_zero_costs = measured.has_zero_costs;
        let result = measured.into_result();
        runs.facts.add(&result, has_zero_costs);
        runs.observations.insert(repetition, Observation::from_result(&result, &[])?);
        Ok(())
    }

    /// Compares the arms with the rules that `fairlab compare` has by default.
    pub(crate) fn compare(
        self,
        arms: Vec<String>,
        first_seed: u64,
        command: Vec<String>,
    ) -> Result<ComparisonReport, Message> {
        let numbers = |of: &BTreeMap<usize, Observation>| of.keys().copied().collect::<Vec<usize>>();
        let first = self.arms.get(&0).map_or_else(Vec::new, |runs| numbers(&runs.observations));
        let is_whole = !first.is_empty()
            && first.iter().copied().eq(0..first.len())
            && self.arms.keys().copied().eq(0..arms.len())
            && self.arms.values().all(|runs| numbers(&runs.observations) == first);
        if !is_whole {
            return Err(Message::new("some runs are missing").with_help("add a run of each arm for each repetition"));
        }
        let mut of_arms: Vec<ArmRuns> = self.arms.into_values().collect();
        let facts: Vec<(&str, &RunFacts)> =
            arms.iter().zip(&of_arms).map(|(name, runs)| (name.as_str(), &runs.facts)).collect();
        let facts = RunFacts::notes(&facts);
        let about = of_arms.iter_mut().map(|runs| runs.about.take().expect("each arm has a run"));
        let (subjects, missing) = about.unzip();
        let repetition =
            |number| of_arms.iter_mut().filter_map(|runs| runs.observations.remove(&number)).collect::<Vec<_>>();
        let repetitions: Vec<Vec<Observation>> = first.into_iter().map(repetition).collect();
        Ok(ComparisonReport {
            arms,
            subjects,
            missing,
            comparison: compare(&repetitions, ComparisonRules::default()),
            checks: None,
            is_varied: true,
            first_seed: Some(first_seed),
            command,
            cut_short_of_runs: None,
            facts,
            has_all_rows: false,
        })
    }
}
