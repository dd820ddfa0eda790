// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[run]]`: what is run, where, how long and how often; and one of them for each value of its parameters.

use super::span::TimeSpan;
use super::tasks::TaskFamily;
use crate::StudyOptions;
use crate::arms::GovernorName;
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Runs of an arm unless the data say otherwise.
const SEEDS: u64 = 3;

/// A run, as the data say it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunDefinition {
    /// Its name, with `{parameter}` for what differs.
    pub name: String,
    /// An rt-app file or a scenario, beside the study's file.
    pub file: Option<String>,
    /// The text of an rt-app file.
    pub rtapp: Option<String>,
    /// The text of a scenario.
    pub scenario: Option<String>,
    /// The line of a benchmark, as behind `fairlab bench`.
    pub bench: Option<String>,
    /// Families of tasks whose times are drawn.
    #[serde(default)]
    pub tasks: Vec<TaskFamily>,
    /// The machine, if it is not the study's: a name or a file.
    pub machine: Option<String>,
    /// Parameters: each of their values is a run.
    #[serde(default)]
    pub with: BTreeMap<String, Vec<ParameterValue>>,
    /// How many task groups are around the tasks of a benchmark that has no groups of its own.
    #[serde(default)]
    pub groups: u32,
    /// Who chooses frequencies, if no arm says it and not whom the machine's file says.
    pub governor: Option<GovernorName>,
    /// Only the first so many idle states are used, if no arm says it.
    pub idle_states: Option<usize>,
    /// When the workload begins.
    pub start: Option<StartTimes>,
    /// How long is measured.
    pub span: Option<TimeSpan>,
    /// How long is simulated before.
    pub warm_up: Option<TimeSpan>,
    /// How often it is run, each time with another seed.
    pub seeds: Option<u64>,
    /// The first seed.
    pub first_seed: Option<u64>,
    /// Whether the dice of newly-idle balancing fall by the seed; otherwise as after a boot.
    pub dice: Option<bool>,
    /// Whether each seed has its own order of what happens at one instant.
    pub permute: Option<bool>,
    /// How much there is to do, for figures: `count`.
    pub count: Option<f64>,
    /// What is different with `--quick`.
    #[serde(default)]
    pub quick: QuickOverrides,
}

/// What is different with `--quick`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuickOverrides {
    /// The line of a benchmark.
    pub bench: Option<String>,
    /// How long is measured.
    pub span: Option<TimeSpan>,
    /// How long is simulated before.
    pub warm_up: Option<TimeSpan>,
    /// How often it is run.
    pub seeds: Option<u64>,
    /// How much there is to do.
    pub count: Option<f64>,
}

/// When a workload begins, from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartTimes {
    /// Not before.
    pub at: Option<TimeSpan>,
    /// So much later with each seed.
    pub every: Option<TimeSpan>,
    /// But no later than this after `at`: what is more begins anew at 0.
    pub within: Option<TimeSpan>,
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParameterValue {
    /// A whole number.
    Number(i64),
    /// A number.
    Real(f64),
    /// A word.
    Text(String),
}

/// A run with a value for each parameter, as long as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunCase {
    pub(crate) name: String,
    /// The name of its run, with parameters as they are written.
    pub(crate) run: String,
    pub(crate) source: WorkloadSource,
    pub(crate) machine: Option<String>,
    pub(crate) groups: u32,
    pub(crate) governor: Option<GovernorName>,
    pub(crate) idle_states: Option<usize>,
    pub(crate) start: StartTimes,
    pub(crate) span: Option<Nanos>,
    pub(crate) warm_up: Nanos,
    pub(crate) seeds: u64,
    pub(crate) first_seed: u64,
    pub(crate) dice: bool,
    pub(crate) permute: bool,
    pub(crate) count: Option<f64>,
}

/// Where a workload comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WorkloadSource {
    File(String),
    RtApp(String),
    Scenario(String),
    Bench(String),
    Tasks(Vec<TaskFamily>),
}

impl std::fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Real(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl StartTimes {
    /// When the workload of a seed begins.
    pub(crate) fn of_seed(&self, seed: u64) -> Nanos {
        let ns = |span: Option<TimeSpan>| span.map_or(0, |span| span.0.0);
        let later = ns(self.every).wrapping_mul(seed);
        let later = self.within.map_or(later, |within| later % within.0.0.max(1));
        Nanos(ns(self.at) + later)
    }
}

impl RunDefinition {
    /// What is wrong with it on its own, and the way out.
    pub(crate) fn validation_error(&self) -> Option<(String, String)> {
        let given = [
            ("file", self.file.is_some()),
            ("rtapp", self.rtapp.is_some()),
            ("scenario", self.scenario.is_some()),
            ("bench", self.bench.is_some()),
            ("tasks", !self.tasks.is_empty()),
        ];
        let sources: Vec<&str> = given.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| *name).collect();
        if sources.len() != 1 {
            let told = if sources.is_empty() { "nothing is run".to_owned() } else { sources.join(" and ") };
            let help = "say one of file, rtapp, scenario, bench, tasks".to_owned();
            return Some((told, help));
        }
        let without_bench = [("quick.bench", self.quick.bench.is_some()), ("groups", self.groups > 0)];
        if let Some((key, _)) = without_bench.iter().find(|(_, is_given)| *is_given && self.bench.is_none()) {
            return Some((format!("`{key}` without a `bench`"), "leave it out".to_owned()));
        }
        if !self.tasks.is_empty() && self.span.is_none() {
            return Some(("`tasks` without a `span`".to_owned(), "say how long: span = '2s'".to_owned()));
        }
        if let Some((name, _)) = self.with.iter().find(|(_, values)| values.is_empty()) {
            return Some((format!("the parameter {name} has no value"), "leave it out, or give it some".to_owned()));
        }
        let unused = self.with.keys().find(|name| self.with[*name].len() > 1 && !self.name.contains(&braced(name)));
        if let Some(name) = unused {
            let help = format!("write it with {{{name}}}, so that each has its own");
            return Some((format!("the parameter {name} is not in the run's name"), help));
        }
        if self.seeds == Some(0) || self.quick.seeds == Some(0) {
            return Some(("`seeds` is 0".to_owned(), "at least one run is needed".to_owned()));
        }
        self.tasks.iter().find_map(TaskFamily::validation_error)
    }

    /// One of it for each combination of its parameters' values, the first parameter by name changing slowest.
    pub(crate) fn cases(&self, default_seeds: Option<u64>, choices: &StudyOptions) -> Vec<RunCase> {
        let mut chosen: Vec<Vec<(&str, &ParameterValue)>> = vec![Vec::new()];
        for (name, values) in &self.with {
            let mut longer = Vec::new();
            for before in &chosen {
                longer.extend(values.iter().map(|value| [before.as_slice(), &[(name.as_str(), value)]].concat()));
            }
            chosen = longer;
        }
        chosen.iter().map(|values| self.case(values, default_seeds, choices)).collect()
    }

    fn case(&self, values: &[(&str, &ParameterValue)], default_seeds: Option<u64>, choices: &StudyOptions) -> RunCase {
        let fill = |text: &String| {
            values.iter().fold(text.clone(), |text, (name, value)| text.replace(&braced(name), &value.to_string()))
        };
        let quick = |given: bool| choices.options.quick && given;
        let bench = if quick(self.quick.bench.is_some()) { &self.quick.bench } else { &self.bench };
        let sources = [
            self.file.as_ref().map(|file| WorkloadSource::File(fill(file))),
            self.rtapp.as_ref().map(|text| WorkloadSource::RtApp(fill(text))),
            self.scenario.as_ref().map(|text| WorkloadSource::Scenario(fill(text))),
            bench.as_ref().map(|line| WorkloadSource::Bench(fill(line))),
        ];
        let span = if quick(self.quick.span.is_some()) { self.quick.span } else { self.span };
        let warm_up = if quick(self.quick.warm_up.is_some()) { self.quick.warm_up } else { self.warm_up };
        let seeds = if quick(self.quick.seeds.is_some()) { self.quick.seeds } else { self.seeds };
        RunCase {
            name: fill(&self.name),
            run: self.name.clone(),
            source: sources.into_iter().flatten().next().unwrap_or_else(|| WorkloadSource::Tasks(self.tasks.clone())),
            machine: choices.machine.clone().or_else(|| self.machine.as_ref().map(fill)),
            groups: self.groups,
            governor: self.governor,
            idle_states: self.idle_states,
            start: self.start.unwrap_or_default(),
            // A benchmark that runs until it is done has no length that could be another one.
            span: span.map(|span| choices.span.unwrap_or(span.0)),
            warm_up: warm_up.map_or(Nanos::ZERO, |span| span.0),
            seeds: choices.seeds.or(seeds).or(default_seeds).unwrap_or(SEEDS),
            first_seed: self.first_seed.unwrap_or(1),
            dice: self.dice.unwrap_or(true),
            permute: self.permute.unwrap_or(false),
            count: if quick(self.quick.count.is_some()) { self.quick.count } else { self.count },
        }
    }
}

fn braced(name: &str) -> String {
    format!("{{{name}}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StudyLength;

    fn run(text: &str) -> RunDefinition {
        toml::from_str(text).expect("it is a run")
    }

    #[test]
    fn each_value_of_each_parameter_is_a_run() {
        let run = run(
            "name = '{n} groups, {kind}'\nbench = 'hackbench -g {n} --{kind}'\nwith = { n = [1, 16], kind = ['pipe', 'sockets'] }",
        );
        let cases = run.cases(None, &StudyOptions::default());
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["1 groups, pipe", "16 groups, pipe", "1 groups, sockets", "16 groups, sockets"]);
        assert_eq!(cases[1].source, WorkloadSource::Bench("hackbench -g 16 --pipe".to_owned()));
    }

    #[test]
    fn what_is_asked_for_comes_before_the_quick_form_and_that_before_the_full_one() {
        let run = run("name = 'a'\nfile = 'a.json'\nspan = '5s'\nseeds = 9\nquick = { span = '1s', seeds = 2 }");
        let case = |choices: StudyOptions| {
            let case = &run.cases(Some(7), &choices)[0];
            (case.span, case.seeds)
        };
        let quick = StudyLength { quick: true };
        assert_eq!(case(StudyOptions::default()), (Some(Nanos::from_secs(5)), 9));
        assert_eq!(case(StudyOptions { options: quick, ..StudyOptions::default() }), (Some(Nanos::from_secs(1)), 2));
        let choices =
            StudyOptions { options: quick, seeds: Some(4), span: Some(Nanos::from_secs(3)), ..StudyOptions::default() };
        assert_eq!(case(choices), (Some(Nanos::from_secs(3)), 4));
    }

    #[test]
    fn a_workload_begins_later_with_each_seed_and_no_later_than_was_said() {
        let run = run("name = 'a'\nfile = 'a'\nstart = { at = '2s', every = '317us', within = '4ms' }");
        let start = run.start.expect("it has one");
        assert_eq!(start.of_seed(0), Nanos::from_secs(2));
        assert_eq!(start.of_seed(13), Nanos(2_000_000_000 + 13 * 317_000 - 4_000_000));
        assert_eq!(StartTimes::default().of_seed(5), Nanos::ZERO);
    }

    #[test]
    fn a_run_that_cannot_be_one_is_told_with_the_way_out() {
        let cases = [
            ("name = 'a'", "nothing is run"),
            ("name = 'a'\nfile = 'a'\nbench = 'b'", "file and bench"),
            ("name = 'a'\nfile = 'a'\ngroups = 1", "`groups` without a `bench`"),
            ("name = 'a'\nbench = 'b {n}'\nwith = { n = [1, 2] }", "not in the run's name"),
            ("name = 'a'\nbench = 'b'\nwith = { n = [] }", "has no value"),
            ("name = 'a'\nbench = 'b'\nseeds = 0", "`seeds` is 0"),
            ("name = 'a'\ntasks = [{ name = 't', run_us = 1, sleep_us = 1 }]", "`tasks` without a `span`"),
        ];
        for (text, expected) in cases {
            let (told, _) = run(text).validation_error().expect(text);
            assert!(told.contains(expected), "{text}: {told}");
        }
        assert_eq!(run("name = 'a'\nbench = 'b'").validation_error(), None);
    }
}
