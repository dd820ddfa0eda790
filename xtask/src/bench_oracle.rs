// SPDX-License-Identifier: GPL-2.0-or-later
//! Speed of whole runs, compared with the reference program and with published speeds of a sched_ext
//! simulator.
//!
//! All programs run in turn, round by round, so that other load on the machine affects all of them. A ratio
//! is the median of the rounds' ratios.

use crate::programs::{self, RunInput, SummaryJson};
use crate::{mixes, oracle, table};
use anyhow::{Context, Result, bail};
use clap::Args as ClapArgs;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

#[derive(ClapArgs)]
pub(crate) struct BenchOracleArgs {
    /// Number of rounds, in each of which every program runs once.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Kernel of the reference and of fairlab.
    #[arg(long, value_name = "RELEASE", default_value = "6.1", value_parser = ["6.1", "6.12"])]
    kernel: String,
    /// Second fairlab to time beside the plain release build.
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Only scenarios with NAME in their names.
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,
    /// Simulated seconds of each scenario, instead of its own.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// Write results as JSON.
    #[arg(long)]
    json: bool,
}

/// Simulated seconds per second of a published user-space simulator of sched_ext schedulers, with the light
/// mix, by number of CPUs. It takes 1.6 to 1.9 us for a context switch.
const PUBLISHED: [(u64, f64); 4] = [(4, 430.0), (16, 92.0), (64, 27.0), (112, 13.0)];
/// Sizes of the light mix: the published ones, and the reference program's largest machine.
const LIGHT: [u64; 5] = [4, 16, 64, 112, 256];
const LIGHT_SECONDS: u64 = 60;
/// Sizes and seconds of the mix that keeps all CPUs busy.
const CROWDED: [(u64, u64); 3] = [(16, 20), (64, 10), (256, 2)];

/// Scenario whose whole runs are timed.
struct TimedScenario {
    name: String,
    seconds: u64,
    text: String,
    /// Published speed, in simulated seconds per second.
    published: Option<f64>,
}

/// Program that is timed, with its results.
struct TimedProgram {
    name: &'static str,
    command: Vec<String>,
    seconds: Vec<f64>,
}

impl TimedProgram {
    fn new(name: &'static str, binary: &Path, arguments: &[&str]) -> Self {
        let words = arguments.iter().map(|word| (*word).to_owned());
        let command = std::iter::once(binary.display().to_string()).chain(words).collect();
        Self { name, command, seconds: Vec::new() }
    }

    fn run(&mut self, scenario: &Path) -> Result<()> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).arg(scenario).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let status = command.status().with_context(|| format!("{} cannot be started", self.command[0]))?;
        if !status.success() {
            bail!("{command:?} fails");
        }
        self.seconds.push(start.elapsed().as_secs_f64());
        Ok(())
    }

    fn fastest(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn median(&self) -> f64 {
        median(self.seconds.clone())
    }

    /// Returns the ratio of times to those of another program that ran in the same rounds.
    fn ratio(&self, other: &Self) -> f64 {
        median(self.seconds.iter().zip(&other.seconds).map(|(own, other)| own / other).collect())
    }
}

/// Returns the median of at least one number; for an even number of them, the mean of the middle two.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    if numbers.len().is_multiple_of(2) { f64::midpoint(numbers[middle - 1], numbers[middle]) } else { numbers[middle] }
}

pub(crate) fn bench(root: &Path, args: &BenchOracleArgs) -> Result<()> {
    let Some(oracle) = oracle::find_or_skip(root, false)? else { return Ok(()) };
    let Some(reference) = oracle::build_or_skip(&oracle, &args.kernel, false)? else { return Ok(()) };
    let plain = programs::build_program(root)?;
    let folder = programs::target(root).join("bench-oracle");
    fs::create_dir_all(&folder)?;
    let scenarios = scenarios(&oracle, args)?;
    let kernel = ["--kernel", &args.kernel];
    let traced_run = ["run", "--kernel", &args.kernel, "--trace-jsonl", "-"];
    let (mut rows, mut results) = (Vec::new(), Vec::new());
    for (index, scenario) in scenarios.iter().enumerate() {
        eprintln!("{} of {}: {}, {} s", index + 1, scenarios.len(), scenario.name, scenario.seconds);
        let path = folder.join(format!("{index}.scn"));
        fs::write(&path, &scenario.text)?;
        let switches = SummaryJson::from_run(&plain, root, &kernel, &RunInput::Text(scenario.text.clone()))?
            .whole("/totals/switches")?;
        let mut programs =
            vec![TimedProgram::new("reference", &reference, &[]), TimedProgram::new("plain", &plain, &traced_run)];
        programs.extend(args.binary.iter().map(|path| TimedProgram::new("other", path, &traced_run)));
        for _ in 0..args.runs {
            programs.iter_mut().try_for_each(|program| program.run(&path))?;
        }
        // Printed at once, so that an interrupted command does not lose it.
        let ratio = |program: &TimedProgram| format!("{} {:.3}", program.name, program.ratio(&programs[0]));
        eprintln!("  {}", programs.iter().skip(1).map(ratio).collect::<Vec<_>>().join(", "));
        for program in &programs {
            rows.push(row(scenario, program, &programs[0], switches));
            results.push(result(scenario, program, &programs[0], switches));
        }
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&json!({ "rounds": args.runs, "results": results }))?);
        return Ok(());
    }
    let header = ["scenario", "program", "least s", "median s", "ratio", "sim s/s", "published", "ns/switch"];
    print!("{}", table::render(2, &header, &rows));
    println!(
        "{} rounds; whole processes; ratio: time divided by the reference's, median of the rounds; sim s/s and ns/switch: from the median time;\n\
         published: sim s/s of a simulator of sched_ext schedulers in user space, which takes 1600 to 1900 ns for a switch",
        args.runs
    );
    Ok(())
}

fn row(scenario: &TimedScenario, program: &TimedProgram, reference: &TimedProgram, switches: u64) -> Vec<String> {
    let median = program.median();
    vec![
        format!("{}, {} s", scenario.name, scenario.seconds),
        program.name.to_owned(),
        format!("{:.3}", program.fastest()),
        format!("{median:.3}"),
        format!("{:.3}", program.ratio(reference)),
        format!("{:.1}", scenario.seconds as f64 / median),
        scenario.published.map(|speed| format!("{speed:.0}")).unwrap_or_default(),
        format!("{:.0}", median * 1e9 / switches.max(1) as f64),
    ]
}

fn result(scenario: &TimedScenario, program: &TimedProgram, reference: &TimedProgram, switches: u64) -> Value {
    json!({
        "scenario": scenario.name,
        "simulated_s": scenario.seconds,
        "program": program.name,
        "least_s": program.fastest(),
        "median_s": program.median(),
        "ratio": program.ratio(reference),
        "switches": switches,
        "published_simulated_per_s": scenario.published,
        "rounds_s": program.seconds,
    })
}

/// Returns the selected scenarios.
fn scenarios(oracle: &Path, args: &BenchOracleArgs) -> Result<Vec<TimedScenario>> {
    let seconds = |own: u64| args.seconds.unwrap_or(own);
    let mut all = Vec::new();
    let one_cpu = Command::new(oracle.join("gen_scen.py")).args(["3", "--profile", "one-cpu-groups"]).output()?;
    all.push(reference_scenario("one-cpu-groups", &String::from_utf8(one_cpu.stdout)?, seconds(120)));
    for (name, own) in [("pinned16", 30), ("mix16", 20)] {
        let text = fs::read_to_string(oracle.join("scen").join(format!("{name}.txt")))?;
        all.push(reference_scenario(name, &text, seconds(own)));
    }
    for (nr_cpus, own) in CROWDED {
        let seconds = seconds(own);
        let text = mixes::crowded(nr_cpus, &format!("{seconds}s"));
        all.push(TimedScenario { name: format!("crowded, {nr_cpus} CPUs"), seconds, text, published: None });
    }
    for nr_cpus in LIGHT {
        let seconds = seconds(LIGHT_SECONDS);
        let text = mixes::light(nr_cpus, &format!("{seconds}s"));
        let published = PUBLISHED.iter().find(|(size, _)| *size == nr_cpus).map(|(_, speed)| *speed);
        all.push(TimedScenario { name: format!("light, {nr_cpus} CPUs"), seconds, text, published });
    }
    let names: Vec<String> = all.iter().map(|scenario| format!("`{}`", scenario.name)).collect();
    if let Some(part) = &args.filter {
        all.retain(|scenario| scenario.name.contains(part));
    }
    if all.is_empty() {
        bail!("no scenario has this text in its name; scenarios: {}", names.join(", "));
    }
    Ok(all)
}

/// Takes a scenario of the reference program with a different length, without snapshots and trace.
fn reference_scenario(name: &str, text: &str, seconds: u64) -> TimedScenario {
    let kept = text.lines().filter(|line| !["end ", "stats ", "trace "].iter().any(|word| line.starts_with(word)));
    let text = format!("{}\nend {seconds}s\ntrace 0\n", kept.collect::<Vec<_>>().join("\n"));
    TimedScenario { name: name.to_owned(), seconds, text, published: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(seconds: &[f64]) -> TimedProgram {
        TimedProgram { name: "a", command: Vec::new(), seconds: seconds.to_vec() }
    }

    #[test]
    fn ratios_are_of_rounds_so_that_a_slow_round_counts_for_both() {
        let (own, other) = (timed(&[1.0, 10.0, 1.2]), timed(&[2.0, 20.0, 2.4]));
        assert!((own.ratio(&other) - 0.5).abs() < 1e-12);
        assert!((own.median() - 1.2).abs() < 1e-12);
        assert!((own.fastest() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert!((median(vec![4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
    }

    #[test]
    fn a_scenario_gets_another_length_and_no_snapshots() {
        let text = reference_scenario("a", "cpus 1\nend 1s\nstats 1ms\ntask t run 1s", 7).text;
        assert_eq!(text, "cpus 1\ntask t run 1s\nend 7s\ntrace 0\n");
    }
}
