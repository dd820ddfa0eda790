// SPDX-License-Identifier: GPL-2.0-or-later
//! Sensitivity of a study's headline: its value with each uncertain fact of the processor, one at a time, at both ends of
//! the fact's range.
//!
//! The noise of seeds is known from the 95 % interval of the headline with unchanged facts. Both values of a change have
//! about that interval, so a change of at most half its width times the root of two is within noise. Facts that act
//! together, and a wrong range, are not found.

use crate::definition::FigureValue;
use crate::error::StudyError;
use crate::loaded::LoadedStudy;
use crate::options::StudyOptions;
use crate::progress::{ProgressReporter, ProgressSum};
use crate::report::ReportRow;
use fairlab_board::{FactKey, MachineDescription};
use fairlab_experiment::pool;
use fairlab_run::facts::FactValue;
use serde::Serialize;
use std::f64::consts::SQRT_2;

/// Version of the JSON form.
pub const SCHEMA: &str = "sensitivity/1";
/// Number of facts that the answer names.
const NAMED: usize = 3;

/// Sensitivity of a study's headline to the facts of the processor.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SensitivityReport {
    /// Version of this JSON form: `sensitivity/1`.
    pub schema: &'static str,
    /// Name of the study.
    pub study: String,
    /// The measured quantity in words.
    pub headline: String,
    /// Names of the machines whose facts are varied.
    pub machines: Vec<String>,
    /// Unit of the headline.
    pub unit: String,
    /// Whether the headline is a change between two arms.
    pub is_change: bool,
    /// Value with unchanged facts.
    pub value: f64,
    /// Bounds of the 95 % interval over the seeds; absent for fewer than three seeds.
    pub interval: Option<[f64; 2]>,
    /// Published value, if it is a number.
    pub published: Option<f64>,
    /// Effects of facts, largest first.
    pub facts: Vec<FactEffect>,
}

/// Effect of one fact on a headline.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FactEffect {
    /// Key in `[processor]`.
    pub fact: String,
    /// Unit of the fact.
    pub unit: String,
    /// Value in the machine's file.
    pub value: u64,
    /// Least value of the range, with the headline there.
    pub least: FactEnd,
    /// Greatest value of the range, with the headline there.
    pub greatest: FactEnd,
    /// Change of the headline at the end that moves it more; absent if no end has a value.
    pub largest_change: Option<f64>,
    /// Whether the change is within the noise of seeds; absent without an interval.
    pub is_within_noise: Option<bool>,
}

/// End of a fact's range, and the headline with the fact there.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FactEnd {
    /// Value of the fact.
    pub fact: u64,
    /// Value of the headline; absent if the runs do not have one.
    pub headline: Option<f64>,
}

/// Uncertain fact with its value and its range on the first machine that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UncertainFact {
    key: FactKey,
    value: u64,
    range: (u64, u64),
}

/// Returns the facts that all machines have and that are uncertain on one of them.
fn uncertain_facts(machines: &[MachineDescription]) -> Vec<UncertainFact> {
    let of = |key: FactKey| {
        let facts: Option<Vec<_>> = machines.iter().map(|machine| machine.processor()?.fact(key)).collect();
        let fact = facts?.into_iter().find(|fact| fact.is_uncertain())?;
        Some(UncertainFact { key, value: fact.value, range: fact.range })
    };
    if machines.is_empty() { Vec::new() } else { FactKey::ALL.into_iter().filter_map(of).collect() }
}

impl LoadedStudy {
    /// Measures the headline with unchanged facts, and with each uncertain fact at both ends of its range.
    ///
    /// # Errors
    /// If the study has no headline or cannot be run with these options, or if a run fails. A run that has no value with a
    /// changed fact is a result, not an error.
    pub fn sensitivity(
        &self,
        choices: &StudyOptions,
        progress: &dyn ProgressReporter,
    ) -> Result<SensitivityReport, StudyError> {
        let headline = self.headline()?;
        let machines = self.headline_machines(choices)?;
        let facts = uncertain_facts(&machines);
        let is_changed = |fact: &UncertainFact, value: &FactValue| match value {
            FactValue::Least => fact.range.0 != fact.value,
            _ => fact.range.1 != fact.value,
        };
        let ends = |fact: &UncertainFact| {
            let ends = [FactValue::Least, FactValue::Greatest].into_iter().filter(|end| is_changed(fact, end));
            ends.map(|end| Some((fact.key, end))).collect::<Vec<_>>()
        };
        let cases: Vec<Option<(FactKey, FactValue)>> =
            std::iter::once(None).chain(facts.iter().flat_map(ends)).collect();
        let (tally, share) = (ProgressSum::new(progress), 1.0 / cases.len() as f64);
        let measured = pool::all(cases.clone(), |case| {
            let mut choices = choices.clone();
            let mut step = "unchanged facts".to_owned();
            if let Some((key, end)) = case {
                choices.settings.facts.insert(key.name().to_owned(), end);
                step = format!("{} {end}", key.name());
            }
            let row = match (self.headline_row(&choices), case) {
                (Err(StudyError::Measurement(_)), Some(_)) => None,
                (row, _) => Some(row?),
            };
            tally.add(&step, share);
            Ok::<_, StudyError>(row)
        })?;
        let base = measured.first().and_then(Option::as_ref).expect("the first case has no changed fact");
        let value = number(base)
            .ok_or_else(|| StudyError::measurement(format!("the headline is not a number: {}", base.value)))?;
        let at = |fact: &UncertainFact, end: FactValue, number_of_fact: u64| {
            let case = cases.iter().position(|case| *case == Some((fact.key, end)));
            let headline = case.map_or(Some(value), |case| measured[case].as_ref().and_then(number));
            FactEnd { fact: number_of_fact, headline }
        };
        let effect = |fact: &UncertainFact| {
            let least = at(fact, FactValue::Least, fact.range.0);
            let greatest = at(fact, FactValue::Greatest, fact.range.1);
            FactEffect::new(fact, [least, greatest], value, base.interval)
        };
        let mut facts: Vec<FactEffect> = facts.iter().map(effect).collect();
        sort(&mut facts);
        Ok(SensitivityReport {
            schema: SCHEMA,
            study: self.definition.name.clone(),
            headline: headline.name.clone(),
            machines: machines.iter().map(|machine| machine.name().to_owned()).collect(),
            unit: base.unit.clone(),
            is_change: headline.from.is_some() || self.definition.table(&headline.table).reports_changes(),
            value,
            interval: base.interval,
            published: base.published.as_ref().and_then(FigureValue::number),
            facts,
        })
    }
}

fn number(row: &ReportRow) -> Option<f64> {
    row.value.number().filter(|number| number.is_finite())
}

/// Sorts effects by size, largest first. Effects of equal size keep their order; those without a value come last.
fn sort(facts: &mut [FactEffect]) {
    let size = |effect: &FactEffect| effect.largest_change.map_or(-1.0, f64::abs);
    facts.sort_by(|one, other| size(other).total_cmp(&size(one)));
}

impl FactEffect {
    fn new(fact: &UncertainFact, [least, greatest]: [FactEnd; 2], value: f64, interval: Option<[f64; 2]>) -> Self {
        let values: Vec<f64> = [&least, &greatest].into_iter().filter_map(|end| end.headline).collect();
        let changes = values.iter().map(|at_end| at_end - value);
        let largest_change = changes.max_by(|one, other| one.abs().total_cmp(&other.abs()));
        let size = largest_change.filter(|_| values.len() == 2).map_or(f64::INFINITY, f64::abs);
        Self {
            fact: fact.key.name().to_owned(),
            unit: fact.key.unit().to_owned(),
            value: fact.value,
            least,
            greatest,
            largest_change,
            is_within_noise: interval.map(|[low, high]| size <= (high - low) / 2.0 * SQRT_2),
        }
    }
}

impl SensitivityReport {
    /// Formats a value of the headline; a change has a sign.
    pub fn number(&self, value: f64) -> String {
        let sign = if self.is_change && value > 0.0 { "+" } else { "" };
        format!("{sign}{}", FigureValue::Number(value))
    }

    /// Returns the answer in one paragraph: the headline, and the facts that move it most.
    pub fn answer(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let mut text = format!("{}: {}{unit}", self.headline, self.number(self.value));
        if let Some([low, high]) = self.interval {
            text += &format!(" (95 % interval over the seeds: {} to {})", self.number(low), self.number(high));
        }
        if let Some(published) = self.published {
            text += &format!("; published: {}{unit}", self.number(published));
        }
        text += ". ";
        if self.facts.is_empty() {
            return text + "No fact of the processor is uncertain.";
        }
        let end = |end: &FactEnd| end.headline.map_or_else(|| "no value".to_owned(), |value| self.number(value));
        let moves = |effect: &&FactEffect| effect.is_within_noise != Some(true) && effect.largest_change != Some(0.0);
        let named = self.facts.iter().filter(moves).take(NAMED);
        let named: Vec<String> = named
            .map(|effect| format!("{} ({} to {}{unit})", effect.fact, end(&effect.least), end(&effect.greatest)))
            .collect();
        match (named.as_slice(), self.interval) {
            ([], Some(_)) => text += "No fact moves it beyond noise.",
            ([], None) => text += "No fact moves it.",
            (named, _) => text += &format!("Moved most by {}.", named.join(", ")),
        }
        if self.interval.is_none() {
            text += " Fewer than three seeds: the noise is unknown.";
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_board::{Distance, preset};

    const SPEED: UncertainFact = UncertainFact { key: FactKey::InstructionsPerUs, value: 2000, range: (1000, 3000) };
    const LINE: UncertainFact = UncertainFact { key: FactKey::LineNs(Distance::Cache), value: 40, range: (30, 60) };
    const SHARE: UncertainFact = UncertainFact { key: FactKey::LineSharePercent, value: 20, range: (10, 30) };

    fn effect(fact: &UncertainFact, ends: [Option<f64>; 2], interval: Option<[f64; 2]>) -> FactEffect {
        let [least, greatest] = ends;
        let ends =
            [FactEnd { fact: fact.range.0, headline: least }, FactEnd { fact: fact.range.1, headline: greatest }];
        FactEffect::new(fact, ends, 58.0, interval)
    }

    fn report(facts: Vec<FactEffect>, interval: Option<[f64; 2]>) -> SensitivityReport {
        SensitivityReport {
            schema: SCHEMA,
            study: "s".to_owned(),
            headline: "change of throughput".to_owned(),
            machines: vec!["m".to_owned()],
            unit: "%".to_owned(),
            is_change: true,
            value: 58.0,
            interval,
            published: Some(197.3),
            facts,
        }
    }

    #[test]
    fn facts_are_sorted_by_the_larger_of_their_two_effects() {
        let mut facts = vec![
            effect(&LINE, [None, None], None),
            effect(&SHARE, [Some(58.0), Some(61.0)], None),
            effect(&SPEED, [Some(12.0), Some(71.0)], None),
        ];
        sort(&mut facts);
        let order: Vec<(&str, Option<f64>)> =
            facts.iter().map(|effect| (effect.fact.as_str(), effect.largest_change)).collect();
        let expected = [("instructions_per_us", Some(-46.0)), ("line_share_percent", Some(3.0)), ("line_ns.llc", None)];
        assert_eq!(order, expected);
    }

    #[test]
    fn the_answer_names_the_headline_and_the_facts_beyond_noise() {
        let interval = Some([55.0, 62.0]);
        let facts = vec![
            effect(&SPEED, [Some(12.0), Some(71.0)], interval),
            effect(&LINE, [Some(59.0), None], interval),
            effect(&SHARE, [Some(53.1), Some(62.9)], interval),
        ];
        let noise: Vec<Option<bool>> = facts.iter().map(|effect| effect.is_within_noise).collect();
        assert_eq!(noise, [Some(false), Some(false), Some(true)]);
        let beyond = effect(&SHARE, [Some(53.0), Some(58.0)], interval);
        assert_eq!(beyond.is_within_noise, Some(false), "half the interval is 3.5, and 1.414 times that 4.95");
        assert_eq!(
            report(facts, interval).answer(),
            "change of throughput: +58 % (95 % interval over the seeds: +55 to +62); published: +197.3 %. Moved most by \
             instructions_per_us (+12 to +71 %), line_ns.llc (+59 to no value %)."
        );
        let silent = report(vec![effect(&SHARE, [Some(57.0), Some(61.0)], interval)], interval);
        assert!(silent.answer().ends_with("No fact moves it beyond noise."), "{}", silent.answer());
        let one_seed = report(vec![effect(&SHARE, [Some(58.0), Some(58.0)], None)], None);
        assert!(
            one_seed.answer().ends_with("No fact moves it. Fewer than three seeds: the noise is unknown."),
            "{}",
            one_seed.answer()
        );
        assert!(report(Vec::new(), interval).answer().ends_with("No fact of the processor is uncertain."));
    }

    #[test]
    fn facts_of_all_machines_with_a_range_are_varied() {
        let machine = |name: &str| preset(name).expect("it is a preset");
        let keys = |machines: &[MachineDescription]| -> Vec<&str> {
            uncertain_facts(machines).iter().map(|fact| fact.key.name()).collect()
        };
        let one_socket = keys(&[machine("xeon-1s-112")]);
        assert!(one_socket.contains(&"instructions_per_us"), "{one_socket:?}");
        let two_sockets = keys(&[machine("xeon-2s-104")]);
        assert!(two_sockets.contains(&"line_ns.system"), "{two_sockets:?}");
        let both = keys(&[machine("xeon-2s-104"), machine("xeon-1s-112")]);
        assert!(both.contains(&"instructions_per_us") && !both.contains(&"line_ns.system"), "{both:?}");
        assert_eq!(keys(&[machine("xeon-1s-112"), machine("laptop-8")]), Vec::<&str>::new());
        assert_eq!(keys(&[]), Vec::<&str>::new());
    }
}
