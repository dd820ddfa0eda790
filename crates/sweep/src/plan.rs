// SPDX-License-Identifier: GPL-2.0-or-later
//! Plan of a sweep: the workload or benchmark, and the points to run.
//!
//! The points are all combinations of the values of a grid, the rows of a list, the draws of a sample, and
//! the seeds; an absent part counts as one. Keys are setting names. A key that occurs in braces in the
//! benchmark line or workload name is replaced there by its value.

use fairlab_experiment::parameter::ParameterValue;
use fairlab_experiment::toml_error::toml_error;
use fairlab_workload::message::Message;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Largest number of points in a plan.
const MAX_POINTS: u64 = 10_000_000;

/// Contents of a plan's TOML file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepPlan {
    /// Path of a workload file, relative to the plan.
    pub workload: Option<String>,
    /// Benchmark command line, as after `fairlab bench`; instead of `workload`.
    pub bench: Option<String>,
    /// Length of the measured time.
    #[serde(rename = "for")]
    pub duration: Option<String>,
    /// Simulated time before the measurement, or `settled`.
    pub warmup: Option<String>,
    /// Number of seeds of each point; 1 by default.
    pub seeds: Option<u64>,
    /// First seed; 1 by default.
    pub first_seed: Option<u64>,
    /// Whether start times and random run lengths depend on the seed.
    #[serde(default)]
    pub vary: bool,
    /// Metrics to record; all known metrics if empty.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Settings of all points.
    #[serde(default)]
    pub base: BTreeMap<String, SettingValue>,
    /// Values of settings that are combined with each other.
    #[serde(default)]
    pub grid: BTreeMap<String, Vec<SettingValue>>,
    /// Rows of settings that belong together.
    #[serde(default)]
    pub list: Vec<BTreeMap<String, SettingValue>>,
    /// Settings whose values are drawn at random.
    pub sample: Option<SampledSettings>,
}

/// Value of a setting.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// Value of a feature or another option with two states.
    Switch(bool),
    /// Number or text, as in the settings of a run.
    Word(ParameterValue),
}

/// Type of a setting's values in a plan, and so of its column in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingType {
    /// `true` or `false`.
    Switch,
    /// Integers.
    Integer,
    /// Numbers, at least one of which has a decimal point.
    Number,
    /// Texts, or values of several types.
    Text,
}

impl SettingType {
    const fn of(value: &SettingValue) -> Self {
        match value {
            SettingValue::Switch(_) => Self::Switch,
            SettingValue::Word(ParameterValue::Number(_)) => Self::Integer,
            SettingValue::Word(ParameterValue::Real(_)) => Self::Number,
            SettingValue::Word(ParameterValue::Text(_)) => Self::Text,
        }
    }

    /// Returns the type of a column with values of both types.
    const fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Switch, Self::Switch) => Self::Switch,
            (Self::Integer, Self::Integer) => Self::Integer,
            (Self::Integer | Self::Number, Self::Integer | Self::Number) => Self::Number,
            _ => Self::Text,
        }
    }
}

/// Settings that are drawn at random, each from its own range.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SampledSettings {
    /// Number of draws, each of which sets all ranges.
    pub draws: u64,
    /// Seed of the draws.
    #[serde(default)]
    pub seed: u64,
    /// Range of each drawn setting, by name.
    #[serde(flatten)]
    pub ranges: BTreeMap<String, SettingRange>,
}

/// Range of integers, including both bounds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingRange {
    /// Smallest value that can be drawn.
    pub from: i64,
    /// Largest value that can be drawn.
    pub to: i64,
    /// Whether the logarithm of the value is distributed evenly, so that values from 1 to 10 are as frequent
    /// as from 10 to 100.
    #[serde(default)]
    pub log: bool,
}

/// Point of a sweep: settings as text, and a seed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SweepPoint {
    /// Settings that differ between points, without those of `base`.
    pub settings: BTreeMap<String, String>,
    /// Seed of the run, from `first_seed` on.
    pub seed: u64,
}

impl std::fmt::Display for SettingValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Switch(is_on) => write!(f, "{is_on}"),
            Self::Word(word) => write!(f, "{word}"),
        }
    }
}

impl SweepPlan {
    /// Parses and checks a plan.
    ///
    /// # Errors
    /// The first error, with its place and a remedy.
    pub fn parse(file: &str, text: &str) -> Result<Self, Message> {
        let plan: Self = toml::from_str(text)
            .map_err(|error| toml_error(file, text, &error, "`fairlab sweep --help` shows a plan"))?;
        match plan.validation_error() {
            Some(error) => Err(error.with_file(file)),
            None => Ok(plan),
        }
    }

    fn validation_error(&self) -> Option<Message> {
        let problem = |text: String, help: &str| Some(Message::new(text).with_help(help));
        let keys = || self.keys_of_points();
        match (&self.workload, &self.bench) {
            (Some(_), Some(_)) => return problem("both a workload and a bench".to_owned(), "say one of them"),
            (None, None) if !keys().any(|key| key == "workload" || key == "bench") => {
                return problem("nothing is run".to_owned(), "say workload = 'FILE' or bench = 'LINE'");
            }
            _ => {}
        }
        if let Some((key, _)) = self.grid.iter().find(|(_, values)| values.is_empty()) {
            return problem(format!("grid: {key} has no value"), "give it some, or leave it out");
        }
        if self.seeds == Some(0) {
            return problem("`seeds` is 0".to_owned(), "each point needs one");
        }
        if let Some(sample) = &self.sample {
            if sample.draws == 0 || sample.ranges.is_empty() {
                return problem("sample: nothing is drawn".to_owned(), "say draws = N, and KEY = { from = A, to = B }");
            }
            let is_wrong = |range: &SettingRange| range.from > range.to || (range.log && range.from < 1);
            if let Some((key, _)) = sample.ranges.iter().find(|(_, range)| is_wrong(range)) {
                return problem(
                    format!("sample: the range of {key} is empty"),
                    "say from and to, the lesser first; with log both are at least 1",
                );
            }
        }
        let mut seen: Vec<&String> = Vec::new();
        let parts: [Vec<&String>; 3] = [
            self.grid.keys().collect(),
            self.list.first().into_iter().flat_map(BTreeMap::keys).collect(),
            self.sample.iter().flat_map(|sample| sample.ranges.keys()).collect(),
        ];
        for key in parts.into_iter().flatten() {
            if seen.contains(&key) {
                return problem(format!("{key} is set twice: by two of grid, list and sample"), "keep one of them");
            }
            seen.push(key);
        }
        if let Some(row) = self.list.iter().find(|row| row.keys().ne(self.list[0].keys())) {
            let keys: Vec<&str> = row.keys().map(String::as_str).collect();
            return problem(
                format!("list: a row sets {}, but the first one sets other keys", keys.join(", ")),
                "let all set the same",
            );
        }
        let number = self.nr_points();
        (number.is_none_or(|number| number > MAX_POINTS))
            .then(|| Message::new(format!("more than {MAX_POINTS} points")).with_help("leave some out: each is a run"))
    }

    fn keys_of_points(&self) -> impl Iterator<Item = &String> {
        let of_list = self.list.iter().flat_map(BTreeMap::keys);
        self.base.keys().chain(self.grid.keys()).chain(of_list)
    }

    /// Returns the types of the settings that differ between points.
    pub fn setting_types(&self) -> BTreeMap<&str, SettingType> {
        let of_grid = self.grid.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value)));
        let of_list = self.list.iter().flatten();
        let given = of_grid.chain(of_list).map(|(key, value)| (key, SettingType::of(value)));
        let drawn = self.sample.iter().flat_map(|sample| sample.ranges.keys()).map(|key| (key, SettingType::Integer));
        let mut types = BTreeMap::new();
        for (key, kind) in given.chain(drawn) {
            types.entry(key.as_str()).and_modify(|known: &mut SettingType| *known = known.with(kind)).or_insert(kind);
        }
        types
    }

    /// Returns the number of points, or `None` if it does not fit 64 bits.
    fn nr_points(&self) -> Option<u64> {
        let mut number = self.seeds.unwrap_or(1);
        for values in self.grid.values() {
            number = number.checked_mul(values.len() as u64)?;
        }
        number = number.checked_mul(self.list.len().max(1) as u64)?;
        number.checked_mul(self.sample.as_ref().map_or(1, |sample| sample.draws))
    }

    /// Returns all points in an order that depends only on the plan: the first key of the grid changes
    /// slowest, followed by the list, the sample and the seed.
    pub fn points(&self) -> Vec<SweepPoint> {
        let mut all: Vec<BTreeMap<String, String>> = vec![BTreeMap::new()];
        for (key, values) in &self.grid {
            all = with_each(&all, values.iter().map(|value| BTreeMap::from([(key.clone(), value.to_string())])));
        }
        if !self.list.is_empty() {
            let words = |row: &BTreeMap<String, SettingValue>| {
                row.iter().map(|(key, value)| (key.clone(), value.to_string())).collect::<BTreeMap<_, _>>()
            };
            all = with_each(&all, self.list.iter().map(words));
        }
        if let Some(sample) = &self.sample {
            all = with_each(&all, (0..sample.draws).map(|draw| sample.draw(draw)));
        }
        let first = self.first_seed.unwrap_or(1);
        let seeds = first..first + self.seeds.unwrap_or(1);
        let with_seed = |settings: &BTreeMap<String, String>| {
            let settings = settings.clone();
            seeds.clone().map(move |seed| SweepPoint { settings: settings.clone(), seed })
        };
        all.iter().flat_map(with_seed).collect()
    }
}

/// Returns the union of each map of `all` with each map of `more`.
fn with_each(
    all: &[BTreeMap<String, String>],
    more: impl Iterator<Item = BTreeMap<String, String>> + Clone,
) -> Vec<BTreeMap<String, String>> {
    let join = |one: &BTreeMap<String, String>| {
        let one = one.clone();
        more.clone().map(move |other| one.clone().into_iter().chain(other).collect())
    };
    all.iter().flat_map(join).collect()
}

impl SampledSettings {
    /// Returns the draw with this number. Each key has its own random numbers, so that another key or draw
    /// changes no value.
    fn draw(&self, number: u64) -> BTreeMap<String, String> {
        let of = |(key, range): (&String, &SettingRange)| {
            let name = key.bytes().fold(0_u64, |hash, byte| hash.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte));
            let mut random = Pcg64Mcg::seed_from_u64(self.seed ^ name ^ number.rotate_left(32));
            (key.clone(), range.at(random.next_u64()).to_string())
        };
        self.ranges.iter().map(of).collect()
    }
}

impl SettingRange {
    /// Maps a random number of 64 bits to a value of the range.
    fn at(self, place: u64) -> i64 {
        if self.log {
            let part = place as f64 / 2.0_f64.powi(64);
            let (from, to) = ((self.from as f64).ln(), (self.to as f64 + 1.0).ln());
            return ((from + part * (to - from)).exp() as i64).clamp(self.from, self.to);
        }
        let width = self.to.wrapping_sub(self.from) as u64 as u128 + 1;
        self.from.wrapping_add(((u128::from(place) * width) >> 64) as i64)
    }
}
