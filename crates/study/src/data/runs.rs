// SPDX-License-Identifier: GPL-2.0-or-later
//! `[[run]]`: a workload, its machine, length and seeds; expanded to one case for each combination of its
//! parameters' values.

use super::span::TimeSpan;
use super::tasks::TaskFamily;
use crate::options::StudyOptions;
use fairlab_experiment::parameter::ParameterValue;
use fairlab_run::settings::Settings;
use fairlab_run::values::GovernorName;
use fairlab_run::warmup::Warmup;
use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Default number of seeds of a run.
const SEEDS: u64 = 3;

/// Definition of a run in a study's file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunDefinition {
    /// Name, with `{parameter}` in the place of each parameter's value.
    pub name: String,
    /// Path of an rt-app file or a scenario, relative to the study's file.
    pub file: Option<String>,
    /// Text of an rt-app file.
    pub rtapp: Option<String>,
    /// Text of a scenario.
    pub scenario: Option<String>,
    /// Benchmark command line, as after `fairlab bench`.
    pub bench: Option<String>,
    /// Families of tasks whose times are drawn by seed.
    #[serde(default)]
    pub tasks: Vec<TaskFamily>,
    /// Machine that replaces the study's: the name of a preset or a file.
    pub machine: Option<String>,
    /// Parameters with their values; each combination of values is a case.
    #[serde(default)]
    pub with: BTreeMap<String, Vec<ParameterValue>>,
    /// Number of nested task groups around the tasks of a benchmark, which must have no groups of its own.
    #[serde(default)]
    pub groups: u32,
    /// Frequency governor if the arm sets none; by default that of the machine's file.
    pub governor: Option<GovernorName>,
    /// Number of idle states to use if the arm sets none, counted from the shallowest.
    pub idle_states: Option<u64>,
    /// Start time of the workload; by default the start of the run.
    pub start: Option<StartTimes>,
    /// Length of the measured time.
    pub span: Option<TimeSpan>,
    /// Simulated time before the measurement, or `settled`.
    pub warm_up: Option<Warmup>,
    /// Number of seeds; each is one run.
    pub seeds: Option<u64>,
    /// First seed; 1 by default.
    pub first_seed: Option<u64>,
    /// Whether the random draws of newly-idle balancing depend on the seed (the default); otherwise each run
    /// has those that follow a boot.
    pub dice: Option<bool>,
    /// Whether each seed has its own order of simultaneous events.
    pub permute: Option<bool>,
    /// Amount of work, for figures with the path `count`.
    pub count: Option<f64>,
    /// Settings that are replaced with `--quick`.
    #[serde(default)]
    pub quick: QuickOverrides,
}

/// Settings of a run that are replaced with `--quick`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuickOverrides {
    /// Benchmark command line, as after `fairlab bench`.
    pub bench: Option<String>,
    /// Length of the measured time.
    pub span: Option<TimeSpan>,
    /// Simulated time before the measurement, or `settled`.
    pub warm_up: Option<Warmup>,
    /// Number of seeds; each is one run.
    pub seeds: Option<u64>,
    /// Amount of work, for figures with the path `count`.
    pub count: Option<f64>,
}

/// Start time of a workload, relative to the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartTimes {
    /// Earliest start time, that of seed 0.
    pub at: Option<TimeSpan>,
    /// Additional delay for each seed: seed n starts n times this later.
    pub every: Option<TimeSpan>,
    /// Bound of the additional delay, which wraps around to 0 there.
    pub within: Option<TimeSpan>,
}

/// Run with one value for each parameter, after `--quick` and other options.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunCase {
    pub(crate) name: String,
    /// Name of the run, with parameters in braces.
    pub(crate) run: String,
    pub(crate) source: WorkloadSource,
    pub(crate) machine: Option<String>,
    pub(crate) groups: u32,
    /// Governor and idle states, if the arm sets none.
    pub(crate) settings: Settings,
    pub(crate) start: StartTimes,
    pub(crate) span: Option<Nanos>,
    pub(crate) warm_up: Option<Warmup>,
    pub(crate) seeds: u64,
    pub(crate) first_seed: u64,
    pub(crate) dice: bool,
    pub(crate) permute: bool,
    pub(crate) count: Option<f64>,
}

/// Source of a workload: a path, a text, a command line or families of tasks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WorkloadSource {
    File(String),
    RtApp(String),
    Scenario(String),
    Bench(String),
    Tasks(Vec<TaskFamily>),
}

impl StartTimes {
    /// Returns the start time of the workload with a seed.
    pub(crate) fn of_seed(&self, seed: u64) -> Nanos {
        let ns = |span: Option<TimeSpan>| span.map_or(0, |span| span.0.0);
        let later = ns(self.every).wrapping_mul(seed);
        let later = self.within.map_or(later, |within| later % within.0.0.max(1));
        Nanos(ns(self.at) + later)
    }
}

impl RunDefinition {
    /// Returns the first error that the run has on its own.
    pub(crate) fn validation_error(&self) -> Option<Message> {
        let given = [
            ("file", self.file.is_some()),
            ("rtapp", self.rtapp.is_some()),
            ("scenario", self.scenario.is_some()),
            ("bench", self.bench.is_some()),
            ("tasks", !self.tasks.is_empty()),
        ];
        let sources: Vec<&str> = given.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| *name).collect();
        if sources.len() != 1 {
            let problem = if sources.is_empty() { "nothing is run".to_owned() } else { sources.join(" and ") };
            return Some(Message::new(problem).with_help("say one of file, rtapp, scenario, bench, tasks"));
        }
        let without_bench = [("quick.bench", self.quick.bench.is_some()), ("groups", self.groups > 0)];
        if let Some((key, _)) = without_bench.iter().find(|(_, is_given)| *is_given && self.bench.is_none()) {
            return Some(Message::new(format!("`{key}` without a `bench`")).with_help("leave it out"));
        }
        if !self.tasks.is_empty() && self.span.is_none() {
            return Some(Message::new("`tasks` without a `span`").with_help("say how long: span = '2s'"));
        }
        if let Some((name, _)) = self.with.iter().find(|(_, values)| values.is_empty()) {
            let error = Message::new(format!("the parameter {name} has no value"));
            return Some(error.with_help("leave it out, or give it some"));
        }
        let unused = self.with.keys().find(|name| self.with[*name].len() > 1 && !self.name.contains(&braced(name)));
        if let Some(name) = unused {
            let error = Message::new(format!("the parameter {name} is not in the run's name"));
            return Some(error.with_help(format!("write it with {{{name}}}, so that each has its own")));
        }
        if self.seeds == Some(0) || self.quick.seeds == Some(0) {
            return Some(Message::new("`seeds` is 0").with_help("at least one run is needed"));
        }
        self.tasks.iter().find_map(TaskFamily::validation_error)
    }

    /// Returns a case for each combination of the parameters' values; the first parameter by name changes
    /// slowest.
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
            machine: choices.settings.machine_name().map(str::to_owned).or_else(|| self.machine.as_ref().map(fill)),
            groups: self.groups,
            settings: Settings { governor: self.governor, idle_states: self.idle_states, ..Settings::default() },
            start: self.start.unwrap_or_default(),
            // `--span` applies only to runs with a length: a benchmark that runs to its end has none to
            // change.
            span: span.map(|span| choices.settings.duration.unwrap_or(span.0)),
            warm_up,
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
    use crate::options::StudyLength;

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
        let settings = Settings { duration: Some(Nanos::from_secs(3)), ..Settings::default() };
        let choices = StudyOptions { options: quick, seeds: Some(4), settings, ..StudyOptions::default() };
        assert_eq!(case(choices), (Some(Nanos::from_secs(3)), 4));
    }

    #[test]
    fn a_warm_up_is_a_time_or_lasts_until_the_run_has_settled() {
        let warm_up = |text: &str| {
            run(&format!("name = 'a'\nfile = 'a'\nspan = '1s'\n{text}")).cases(None, &StudyOptions::default())[0]
                .warm_up
        };
        let limit = Nanos::from_millis(500);
        assert_eq!(warm_up("warm_up = 'settled:500ms'"), Some(Warmup::Settled { limit }));
        assert_eq!(warm_up("warm_up = '500ms'"), Some(Warmup::After(limit)));
        assert_eq!(warm_up(""), None);
        let error = toml::from_str::<RunDefinition>("name = 'a'\nwarm_up = 'setled'").expect_err("misspelt");
        assert!(error.to_string().contains("or settled"), "{error}");
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
    fn an_invalid_run_is_rejected_with_a_hint() {
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
            let message = run(text).validation_error().expect(text).text;
            assert!(message.contains(expected), "{text}: {message}");
        }
        assert_eq!(run("name = 'a'\nbench = 'b'").validation_error(), None);
    }
}
