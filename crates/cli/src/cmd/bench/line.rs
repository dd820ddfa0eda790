// SPDX-License-Identifier: GPL-2.0-or-later
//! Benchmark lines in studies and experiments: read like the arguments of `fairlab bench`, without options
//! that the study or command sets.

use super::args::{Bench, On};
use super::models::Model;
use crate::args::VariantArgs;
use crate::exports::ExportArgs;
use clap::Parser;
use fairlab_study::data::workloads;
use fairlab_study::data::workloads::BenchReader;

/// Reads benchmark lines of studies.
pub(crate) struct BenchLineReader;

#[derive(Debug, Parser)]
#[command(name = "bench", disable_help_flag = true, disable_help_subcommand = true)]
struct BenchLine {
    #[command(subcommand)]
    bench: Bench,
}

impl BenchReader for BenchLineReader {
    fn read(&self, line: &str, nr_cpus: u32, seed: u64) -> Result<workloads::BenchSetup, String> {
        let words = std::iter::once("bench").chain(line.split_whitespace());
        let given = BenchLine::try_parse_from(words.clone()).map_err(|error| usage_error(line, &error))?;
        if let Some((option, key)) = fairlab_option(given.bench.run_options()) {
            return Err(format!(
                "{line}: {option} is set by the study\nhelp: omit it, and set {key} in the study's data"
            ));
        }
        let seed = seed.to_string();
        let seeded = words.chain(["--seed", seed.as_str()]);
        let seeded = BenchLine::try_parse_from(seeded).map_err(|error| usage_error(line, &error))?;
        let Model { workload, meter, .. } = seeded.bench.model(nr_cpus).map_err(|error| format!("{line}: {error}"))?;
        Ok(workloads::BenchSetup { workload, meter })
    }
}

/// Parses a line, with a seed if one is given. Options of fairlab are rejected; `behind` names the command
/// that takes them.
pub(crate) fn parse(line: &str, seed: Option<u64>, behind: &str) -> Result<Bench, String> {
    let words = || std::iter::once("bench").chain(line.split_whitespace());
    let given = BenchLine::try_parse_from(words()).map_err(|error| usage_error(line, &error))?;
    if let Some((option, _)) = fairlab_option(given.bench.run_options()) {
        return Err(format!("{line}: {option} is not an option of the benchmark\nhelp: give it to `{behind}`"));
    }
    let Some(seed) = seed.map(|seed| seed.to_string()) else { return Ok(given.bench) };
    let seeded = BenchLine::try_parse_from(words().chain(["--seed", seed.as_str()]))
        .map_err(|error| usage_error(line, &error))?;
    Ok(seeded.bench)
}

/// Returns clap's message for a line, with its tip as the remedy.
fn usage_error(line: &str, error: &clap::Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let what = lines.next().unwrap_or_default().trim_start_matches("error: ");
    let tip = lines.find_map(|line| line.strip_prefix("tip: ")).unwrap_or("see `fairlab bench --help`");
    format!("{line}: {what}\nhelp: {tip}")
}

/// Returns an option of fairlab on the line, and the key that stands for it in a study.
fn fairlab_option(on: &On) -> Option<(&'static str, &'static str)> {
    // Without `..`, so that an option that is missing here does not compile.
    let On { variant, seed, vary, perturb, duration, warmup, exports, engine_trial } = on;
    let ExportArgs { export, events, task: _ } = exports;
    let VariantArgs {
        machine,
        kernel,
        engine,
        features,
        set,
        governor,
        cpu_dma_latency,
        prices,
        plain,
        engine_trace,
        engine_state,
        engine_calls,
        engine_beside,
        policy,
        prices_of: _,
        price: _,
    } = variant;
    let is_for_worker =
        *engine_trial || *engine_trace || engine_state.is_some() || engine_calls.is_some() || engine_beside.is_some();
    let given = [
        (!engine.is_empty() || is_for_worker, "--engine", "`engine=` of an arm of fairlab compare"),
        (machine.is_some(), "--machine", "`machine` of a run"),
        (kernel.is_some(), "--kernel", "`kernel` of an arm"),
        (!features.is_empty(), "--features", "`features` of an arm"),
        (!set.is_empty(), "--set", "`tunables` of an arm"),
        (governor.is_some(), "--governor", "`governor` of a run or an arm"),
        (cpu_dma_latency.is_some(), "--cpu-dma-latency", "an option of cyclictest, or a statement of a scenario"),
        (prices.is_some(), "--prices", "`prices` of an arm"),
        (plain.is_some(), "--plain", "--plain of `fairlab study run`, which needs an engine"),
        (policy.is_some(), "--policy", "nothing: studies have no policies"),
        (seed.is_some(), "--seed", "`first_seed` of a run"),
        (*vary, "--vary", "`start` of a run"),
        (perturb.is_some(), "--perturb", "--perturb of `fairlab study run`"),
        (duration.is_some(), "--for", "`span` of a run"),
        (warmup.is_some(), "--warmup", "`warm_up` of a run"),
        (!export.is_empty(), "--export", "nothing: studies write no traces"),
        (!events.is_empty(), "--events", "nothing: studies write no traces"),
    ];
    given.into_iter().find(|(is_given, ..)| *is_given).map(|(_, option, key)| (option, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(line: &str) -> String {
        BenchLineReader.read(line, 8, 1).err().unwrap_or_else(|| panic!("{line} is a benchmark"))
    }

    #[test]
    fn a_line_is_read_as_behind_bench_and_has_the_seed_of_its_run() {
        let bench =
            BenchLineReader.read("hackbench -g 2 -f 3 --pipe", 8, 1).map_err(|_| ()).expect("it is a benchmark");
        assert!(bench.workload.tasks.len() > 12);
    }

    #[test]
    fn what_the_study_says_is_refused_on_a_line() {
        for (line, option, key) in [
            ("hackbench --machine hikey", "--machine is set by the study", "set `machine` of a run"),
            ("hackbench --set scan_cost=1", "--set is set", "`tunables` of an arm"),
            ("schbench -r 5 --warmup 1s", "--warmup is set", "`warm_up` of a run"),
            ("schbench --seed 3", "--seed is set", "`first_seed`"),
            ("hackbench -g 4 --governor powersave", "--governor is set", "`governor` of a run"),
            ("hackbench --plain", "--plain is set", "fairlab study run"),
            ("hackbench --export ftrace=x.txt", "--export is set", "no traces"),
            ("hackbench --events sched", "--events is set", "no traces"),
        ] {
            let message = complaint(line);
            assert!(message.starts_with(line) && message.contains(option) && message.contains(key), "{message}");
        }
    }

    #[test]
    fn a_misspelt_line_is_rejected_with_a_hint() {
        let message = complaint("hackbnch -g 2");
        assert!(
            message.contains("hackbnch -g 2: unrecognized subcommand") && message.contains("similar subcommand"),
            "{message}"
        );
        let message = complaint("hackbench --grops 2");
        assert!(
            message.contains("unexpected argument '--grops'") && message.contains("\nhelp: a similar argument exists"),
            "{message}"
        );
    }
}
