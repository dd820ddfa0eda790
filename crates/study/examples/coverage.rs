// SPDX-License-Identifier: GPL-2.0-or-later
//! Measures how often the intervals of a comparison contain the true change, and how often its verdict names a
//! difference. The changes of pairs come from five known distributions.
//!
//! ```sh
//! cargo run --release -p fairlab-study --example coverage -- --trials 4000
//! ```
//!
//! Each line of output has one distribution and one number of pairs. The distributions were fixed before the
//! first measurement; all values are changes in percent:
//!
//! | Name | Change of a pair |
//! |---|---|
//! | `normal` | normal with a standard deviation of 2 |
//! | `log-normal` | 10 (exp(0.5 Z) - 1), Z standard normal |
//! | `contaminated` | 90 %: normal with a standard deviation of 0.1; 10 %: plus 10 |
//! | `student-2` | 2 T, T of Student's distribution with 2 degrees of freedom |
//! | `pareto-2.1` | Pareto's distribution with minimum 1 and exponent 2.1 |
//!
//! The band after the table is that of 95 % coverage: two standard deviations of a frequency in so many
//! trials. Trials depend on their number only, so results do not depend on the host.

#![allow(clippy::print_stdout, reason = "results of a measurement")]

use fairlab_experiment::Observation;
use fairlab_experiment::comparison::{ChangeVerdict, ComparisonRules, compare};
use fairlab_experiment::metrics::{Metric, MetricDirection};
use fairlab_experiment::statistics::Statistic;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Numbers of pairs that are measured.
const PAIRS: [u64; 4] = [5, 10, 20, 40];
/// Number of draws that determine a true value without a closed form.
const NR_TRUTH_DRAWS: usize = 4_000_000;

/// Distribution of the changes of pairs, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Changes {
    Normal,
    LogNormal,
    Contaminated,
    Student,
    Pareto,
}

impl Changes {
    const ALL: [(&'static str, Self); 5] = [
        ("normal", Self::Normal),
        ("log-normal", Self::LogNormal),
        ("contaminated", Self::Contaminated),
        ("student-2", Self::Student),
        ("pareto-2.1", Self::Pareto),
    ];

    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Normal => 2.0 * random.normal(),
            Self::LogNormal => 10.0 * ((0.5 * random.normal()).exp() - 1.0),
            Self::Contaminated => 0.1 * random.normal() + if random.part() < 0.1 { 10.0 } else { 0.0 },
            // The quantile function of two degrees of freedom has a closed form.
            Self::Student => {
                let part = random.part();
                2.0 * (2.0 * part - 1.0) * (2.0 * part * (1.0 - part)).sqrt().recip()
            }
            Self::Pareto => random.part().powf(-1.0 / 2.1),
        }
    }

    fn mean(self) -> f64 {
        match self {
            Self::Normal | Self::Student => 0.0,
            Self::LogNormal => 10.0 * (0.125_f64.exp() - 1.0),
            Self::Contaminated => 1.0,
            Self::Pareto => 2.1 / 1.1,
        }
    }

    fn median(self) -> f64 {
        match self {
            Self::Normal | Self::Student | Self::LogNormal => 0.0,
            // 0.1 times the normal quantile of 0.5 / 0.9; the shifted tenth is beyond it.
            Self::Contaminated => 0.1 * 0.139_710_3,
            Self::Pareto => 2.0_f64.powf(1.0 / 2.1),
        }
    }

    /// Returns the median of the mean of two independent changes, which signed ranks test.
    fn pseudomedian(self) -> f64 {
        let mut random = Random::new(u64::MAX);
        let mut means: Vec<f64> =
            (0..NR_TRUTH_DRAWS).map(|_| self.draw(&mut random).midpoint(self.draw(&mut random))).collect();
        *means.select_nth_unstable_by(NR_TRUTH_DRAWS / 2, f64::total_cmp).1
    }
}

struct Random(Pcg64Mcg);

impl Random {
    fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Returns a number of the uniform distribution between 0 and 1, without both ends.
    fn part(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.part().ln()).sqrt() * (std::f64::consts::TAU * self.part()).cos()
    }
}

/// Returns the pairs of a trial: the first arm is always 100.
fn pairs(changes: Changes, trial: u64, nr_pairs: u64) -> Vec<Vec<Observation>> {
    let mut random = Random::new(trial << 8 | nr_pairs);
    let run = |digest: String, value: f64| {
        let metric =
            Metric { name: "m".to_owned(), unit: "/s".to_owned(), better: MetricDirection::Less, ..Metric::default() };
        Observation { digest, metrics: vec![(metric, value)], measured_s: None, ..Observation::default() }
    };
    let pair = |place: u64| {
        let after = 100.0 + changes.draw(&mut random);
        vec![run(format!("{place} a"), 100.0), run(format!("{place} b"), after)]
    };
    (0..nr_pairs).map(pair).collect()
}

/// Counts of one cell of the table.
#[derive(Default)]
struct Counts {
    absent: u64,
    covered: u64,
    found: u64,
    contradictions: u64,
    length: f64,
}

fn count(changes: Changes, nr_pairs: u64, trials: u64, statistic: Statistic) -> Counts {
    let truth = if statistic == Statistic::Mean { changes.mean() } else { changes.median() };
    let rules = ComparisonRules { statistic, matters_percent: 0.0, ..ComparisonRules::default() };
    let mut counts = Counts::default();
    for trial in 0..trials {
        let comparison = compare(&pairs(changes, trial, nr_pairs), rules);
        let change = &comparison.rows[0].changes[0];
        let is_found = matches!(change.verdict, ChangeVerdict::Better | ChangeVerdict::Worse);
        counts.found += u64::from(is_found);
        let Some([low, high]) = change.percent_interval else {
            counts.absent += 1;
            continue;
        };
        counts.covered += u64::from((low..=high).contains(&truth));
        counts.contradictions += u64::from(is_found && low <= 0.0 && high >= 0.0);
        counts.length += high - low;
    }
    counts
}

/// Returns the exact interval of the signed rank test: ordered means of two changes (Walsh averages).
fn signed_rank_interval(values: &[f64]) -> Option<[f64; 2]> {
    let nr_values = values.len();
    let nr_sums = nr_values * (nr_values + 1) / 2;
    let mut ways = vec![0.0; nr_sums + 1];
    ways[0] = 1.0;
    for rank in 1..=nr_values {
        for sum in (0..=nr_sums).rev() {
            ways[sum] = (ways[sum] + if sum >= rank { ways[sum - rank] } else { 0.0 }) / 2.0;
        }
    }
    let mut tail = 0.0;
    let outside = ways
        .iter()
        .take_while(|part| {
            tail += **part;
            tail <= 0.025
        })
        .count();
    let mut means: Vec<f64> =
        (0..nr_values).flat_map(|one| (one..nr_values).map(move |other| values[one].midpoint(values[other]))).collect();
    means.sort_by(f64::total_cmp);
    (outside > 0).then(|| [means[outside - 1], means[nr_sums - outside]])
}

/// Returns the coverage of the interval of the signed rank test, in percent.
fn signed_rank_coverage(changes: Changes, nr_pairs: u64, trials: u64, truth: f64) -> Option<f64> {
    let mut covered = 0;
    for trial in 0..trials {
        let mut random = Random::new(trial << 8 | nr_pairs);
        let values: Vec<f64> = (0..nr_pairs).map(|_| changes.draw(&mut random)).collect();
        let [low, high] = signed_rank_interval(&values)?;
        covered += u64::from((low..=high).contains(&truth));
    }
    Some(100.0 * covered as f64 / trials as f64)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let trials: u64 = match words.as_slice() {
        [] => 4000,
        [option, number] if option == "--trials" => number.parse().expect("--trials takes a number"),
        _ => panic!("usage: coverage [--trials N]"),
    };
    println!(
        "distribution  pairs | mean: coverage  length  verdicts | median: coverage  length  verdicts  contradictions | signed-rank coverage"
    );
    for (name, changes) in Changes::ALL {
        let pseudomedian = changes.pseudomedian();
        for nr_pairs in PAIRS {
            let cell = |statistic: Statistic| {
                let counts = count(changes, nr_pairs, trials, statistic);
                let with_interval = trials - counts.absent;
                let percent = |number: u64, of: u64| 100.0 * number as f64 / of as f64;
                let interval = if with_interval == 0 {
                    format!("{:>8}  {:>7}", "absent", "")
                } else {
                    let length = counts.length / with_interval as f64;
                    format!("{:>7.1}%  {length:>7.3}", percent(counts.covered, with_interval))
                };
                let verdicts = percent(counts.found, trials);
                format!("{interval}  {verdicts:>7.1}%  {:>4}", counts.contradictions)
            };
            let ranks = signed_rank_coverage(changes, nr_pairs, trials, pseudomedian);
            let ranks = ranks.map_or_else(|| "absent".to_owned(), |percent| format!("{percent:.1}%"));
            println!(
                "{name:<12}  {nr_pairs:>5} | {} | {} | {ranks:>7}",
                cell(Statistic::Mean),
                cell(Statistic::Median)
            );
        }
    }
    let band = 200.0 * (0.95 * 0.05 / trials as f64).sqrt();
    println!("{trials} trials; 95 % coverage is measured as {:.1} to {:.1} %", 95.0 - band, 95.0 + band);
}
