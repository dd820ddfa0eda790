// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks whether a scenario breaks a property: by the rules of findings, or by comparing two arms.

use crate::execution::execute::refuse_engine;
use crate::execution::trial::Trial;
use crate::values::arms::{Arm, parse_arm};
use crate::values::error::CliError;
use fairlab_experiment::comparison::{ChangeVerdict, ComparisonRules, MetricRow, compare};
use fairlab_experiment::metrics::RequestedMetric;
use fairlab_experiment::{Arms, Observation, repeat};
use fairlab_findings::{Finding, Limits};
use fairlab_fuzz::{FuzzCase, PropertyCheck, Violation, scenario};
use fairlab_run::drive::find;
use fairlab_run::explain::explain_moment;
use fairlab_run::input::InputFile;
use fairlab_run::prepare::{ReadyRun, prepare};
use fairlab_run::settings::Settings;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_run::values::Starts;
use fairlab_sched::sched::Sched;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};

/// Number of repetitions of a comparison: the minimum for signed ranks of two dozen metrics at
/// [`SIGNIFICANCE_LEVEL`].
const NR_RUNS: u64 = 14;
/// Number of repetitions after which a small difference ends the comparison.
const NR_FIRST_RUNS: u64 = 2;
/// Probability of a false difference per case. It is low because a search has many cases.
const SIGNIFICANCE_LEVEL: f64 = 0.01;

/// Property that a fuzz search checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FuzzCheck {
    /// Findings of these rules.
    Rules { rules: Vec<String>, idle_ns: u64, latency_ns: u64, starvation_ns: u64 },
    /// A metric that is worse by this percentage.
    Worse { from: String, to: String, metric: Option<String>, by_percent: f64 },
}

/// Runs scenarios and checks the property.
pub(super) struct CaseChecker {
    pub(super) settings: Settings,
    pub(super) looked: FuzzCheck,
}

impl CaseChecker {
    /// Returns the violations of a scenario.
    pub(super) fn check_case(&self, text: String) -> Result<Vec<Violation>, CliError> {
        let spec = self.spec(text);
        match &self.looked {
            FuzzCheck::Rules { rules, idle_ns, latency_ns, starvation_ns } => {
                let mut run = ready(&spec)?;
                let limits = Limits {
                    idle: Nanos(*idle_ns),
                    latency: Nanos(*latency_ns),
                    starvation: Nanos(*starvation_ns),
                    ..Limits::of(&run.machine)
                };
                let found = find(&mut run, limits, &mut |_| ()).map_err(CliError::run)?;
                Ok(worst_of_each(rules, found))
            }
            FuzzCheck::Worse { from, to, metric, by_percent } => {
                let asked = metric.as_deref().map(RequestedMetric::parse).transpose().map_err(CliError::Input)?;
                let arms = [from, to].map(|arm| parse_arm(arm));
                let [Ok(from), Ok(to)] = arms else {
                    return Err(CliError::Input(Message::new("the finding's arms cannot be read")));
                };
                self.compare_arms(&spec, [&from, &to], asked, *by_percent)
            }
        }
    }

    /// Returns the run of a scenario.
    fn spec(&self, text: String) -> RunSpec {
        let workload = WorkloadSpec::File(InputFile::new("case.scn").with_text(text));
        RunSpec { workload, settings: self.settings.clone() }
    }

    fn compare_arms(
        &self,
        spec: &RunSpec,
        arms: [&Arm; 2],
        asked: Option<RequestedMetric>,
        by_percent: f64,
    ) -> Result<Vec<Violation>, CliError> {
        let trial = |arm: &Arm| {
            let mut spec = spec.clone().with_changes(&arm.changes);
            spec.settings.starts = Starts::Jittered;
            Trial { spec }
        };
        let pair = ArmPair { trials: arms.map(trial), asked: asked.into_iter().collect() };
        let wanted = pair.asked.first().map(|asked| asked.text().to_owned());
        let is_wanted = |name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
        let mut repetitions = repeat(&pair, 1..1 + NR_FIRST_RUNS, &|| true)?;
        let first = compare(&repetitions, ComparisonRules::default());
        let is_far =
            |row: &&MetricRow| row.changes.iter().any(|change| change.percent.is_some_and(|p| p.abs() >= by_percent));
        if !first.rows.iter().filter(|row| is_wanted(&row.metric.name)).any(|row| is_far(&row)) {
            return Ok(Vec::new());
        }
        repetitions.extend(repeat(&pair, 1 + NR_FIRST_RUNS..1 + NR_RUNS, &|| true)?);
        let comparison =
            compare(&repetitions, ComparisonRules { level: SIGNIFICANCE_LEVEL, ..ComparisonRules::default() });
        let rows = comparison.rows.iter().filter(|row| is_wanted(&row.metric.name));
        let worse = rows.filter_map(|row| {
            let change = row.changes.first().filter(|change| change.verdict == ChangeVerdict::Worse)?;
            let percent = change.percent?.abs();
            (percent >= by_percent).then(|| Violation {
                property: format!("worse: {}", metric_kind(&row.metric.name)),
                worst: percent,
                sentence: format!("{} is worse by {percent:.0} % ({NR_RUNS} repetitions)", row.metric.name),
                at_ns: 0,
                question: None,
            })
        });
        // Only the worst violation of each kind is reported.
        let mut found: Vec<Violation> = Vec::new();
        for broken in worse {
            match found.iter_mut().find(|known| known.property == broken.property) {
                Some(known) if known.worst >= broken.worst => {}
                Some(known) => *known = broken,
                None => found.push(broken),
            }
        }
        Ok(found)
    }

    /// Returns the explanation of the worst moment, as `explain` gives it.
    pub(super) fn explain_violation(&self, text: String, broken: &Violation) -> Result<Vec<String>, CliError> {
        let Some(question) = &broken.question else { return Ok(Vec::new()) };
        let mut machine = ready(&self.spec(text))?.machine;
        let explanation = explain_moment(&mut machine, question, Nanos(broken.at_ns))?;
        Ok(explanation.sentences().map(str::to_owned).collect())
    }
}

impl PropertyCheck for CaseChecker {
    type Error = CliError;

    fn violations(&self, case: &FuzzCase) -> Result<Vec<Violation>, CliError> {
        self.check_case(scenario::text(case, &[], None))
    }
}

fn ready(spec: &RunSpec) -> Result<ReadyRun<Sched>, CliError> {
    refuse_engine(&spec.settings)?;
    Ok(prepare(spec)?.boot()?)
}

/// Returns a metric's name without its task family: a smaller case may lack the family.
fn metric_kind(metric: &str) -> &str {
    metric.split_once(": ").map_or(metric, |(_, kind)| kind)
}

/// Returns the worst finding of each rule.
fn worst_of_each(rules: &[String], found: Vec<Finding>) -> Vec<Violation> {
    let of_rule = |rule: &String| {
        let of_rule = found.iter().filter(|finding| finding.rule == rule);
        let finding = of_rule.max_by_key(|finding| finding.worst_ns)?;
        Some(Violation {
            property: rule.clone(),
            worst: finding.worst_ns as f64,
            sentence: finding.sentence.clone(),
            at_ns: finding.at_ns,
            question: (finding.at_ns > 0).then(|| finding.question.clone()),
        })
    };
    rules.iter().filter_map(of_rule).collect()
}

/// Two arms of a case.
struct ArmPair {
    trials: [Trial; 2],
    asked: Vec<RequestedMetric>,
}

impl Arms for ArmPair {
    type Error = CliError;

    fn nr_arms(&self) -> usize {
        self.trials.len()
    }

    fn run(&self, arm: usize, seed: u64) -> Result<Option<Observation>, CliError> {
        let result = self.trials[arm].run(Some(seed), &mut |_, _| ())?;
        // A case may lack the family of a metric.
        let observation = Observation::from_available(&result.json(), &self.asked);
        Ok(Some(Observation { measured_s: None, ..observation }))
    }
}
