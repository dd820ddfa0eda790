// SPDX-License-Identifier: GPL-2.0-or-later
//! A plan: what is run at each point, and which points there are.
//!
//! Points are all combinations of a grid's values, of the rows of a list, of the draws of a sample, and of seeds; what a plan does not have
//! counts as one. Keys are whatever can be set; a key that stands in braces in the benchmark's line or the workload's name is put in there.

use crate::data::runs::ParameterValue;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A plan has no more points than this.
const MAX_POINTS: u64 = 10_000_000;

/// A plan, as its file says it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepPlan {
    /// A workload file, from where the plan is.
    pub workload: Option<String>,
    /// Or the line of a benchmark, as behind `fairlab bench`.
    pub bench: Option<String>,
    /// How long is measured.
    #[serde(rename = "for")]
    pub duration: Option<String>,
    /// How long is simulated before.
    pub warmup: Option<String>,
    /// How many seeds each point has.
    pub seeds: Option<u64>,
    /// The first of them.
    pub first_seed: Option<u64>,
    /// Whether starts and random lengths vary with the seed.
    #[serde(default)]
    pub vary: bool,
    /// What is measured; everything that is known if this is empty.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Settings of all points.
    #[serde(default)]
    pub base: BTreeMap<String, SettingValue>,
    /// Values of which each is combined with each of the others.
    #[serde(default)]
    pub grid: BTreeMap<String, Vec<SettingValue>>,
    /// Settings that belong together.
    #[serde(default)]
    pub list: Vec<BTreeMap<String, SettingValue>>,
    /// Settings that are drawn.
    pub sample: Option<SampledSettings>,
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// A switch.
    Switch(bool),
    /// A number or a word.
    Word(ParameterValue),
}

/// Settings that are drawn, each from its range, evenly or evenly in its logarithm.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SampledSettings {
    /// How many draws.
    pub draws: u64,
    /// The seed of the draws.
    #[serde(default)]
    pub seed: u64,
    /// What is drawn.
    #[serde(flatten)]
    pub ranges: BTreeMap<String, SettingRange>,
}

/// From where to where whole numbers are drawn, both among them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingRange {
    /// The least.
    pub from: i64,
    /// The greatest.
    pub to: i64,
    /// As many between 1 and 10 as between 10 and 100.
    #[serde(default)]
    pub log: bool,
}

/// A point: settings as words, and a seed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SweepPoint {
    /// Settings, without those of the base.
    pub settings: BTreeMap<String, String>,
    /// The seed.
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
    /// Reads a plan.
    ///
    /// # Errors
    /// What is wrong, with the file, the place and the way out.
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        let plan: Self = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
            let message = error.message().replace('\n', " ");
            format!("{file}: line {line}: {message}\nhelp: `fairlab sweep --help` shows a plan")
        })?;
        match plan.validation_error() {
            Some((what, help)) => Err(format!("{file}: {what}\nhelp: {help}")),
            None => Ok(plan),
        }
    }

    fn validation_error(&self) -> Option<(String, String)> {
        let told = |what: String, help: &str| Some((what, help.to_owned()));
        let keys = || self.keys_of_points();
        match (&self.workload, &self.bench) {
            (Some(_), Some(_)) => return told("both a workload and a bench".to_owned(), "say one of them"),
            (None, None) if !keys().any(|key| key == "workload" || key == "bench") => {
                return told("nothing is run".to_owned(), "say workload = 'FILE' or bench = 'LINE'");
            }
            _ => {}
        }
        if let Some((key, _)) = self.grid.iter().find(|(_, values)| values.is_empty()) {
            return told(format!("grid: {key} has no value"), "give it some, or leave it out");
        }
        if self.seeds == Some(0) {
            return told("`seeds` is 0".to_owned(), "each point needs one");
        }
        if let Some(sample) = &self.sample {
            if sample.draws == 0 || sample.ranges.is_empty() {
                return told("sample: nothing is drawn".to_owned(), "say draws = N, and KEY = { from = A, to = B }");
            }
            let is_wrong = |range: &SettingRange| range.from > range.to || (range.log && range.from < 1);
            if let Some((key, _)) = sample.ranges.iter().find(|(_, range)| is_wrong(range)) {
                return told(
                    format!("sample: the range of {key} is none"),
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
                return told(format!("{key} is set twice: by two of grid, list and sample"), "keep one of them");
            }
            seen.push(key);
        }
        if let Some(row) = self.list.iter().find(|row| row.keys().ne(self.list[0].keys())) {
            let keys: Vec<&str> = row.keys().map(String::as_str).collect();
            return told(
                format!("list: a row sets {}, the first one other keys", keys.join(", ")),
                "let all set the same",
            );
        }
        let number = self.nr_points();
        (number.is_none_or(|number| number > MAX_POINTS))
            .then(|| (format!("more than {MAX_POINTS} points"), "leave some out: each is a run".to_owned()))
    }

    fn keys_of_points(&self) -> impl Iterator<Item = &String> {
        let of_list = self.list.iter().flat_map(BTreeMap::keys);
        self.base.keys().chain(self.grid.keys()).chain(of_list)
    }

    /// How many points there are, if that can be counted.
    fn nr_points(&self) -> Option<u64> {
        let mut number = self.seeds.unwrap_or(1);
        for values in self.grid.values() {
            number = number.checked_mul(values.len() as u64)?;
        }
        number = number.checked_mul(self.list.len().max(1) as u64)?;
        number.checked_mul(self.sample.as_ref().map_or(1, |sample| sample.draws))
    }

    /// All points, in an order that depends on nothing but the plan: the grid's first key changes slowest, then the list, the sample, and
    /// the seed.
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

/// Each of these with each of those.
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
    /// A draw: each key has numbers of its own, so that another key or another draw shifts none.
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
    /// The number at a place of 2^64.
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
