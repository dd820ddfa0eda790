// SPDX-License-Identifier: GPL-2.0-or-later
//! Training runs for the profile of the optimised program.
//!
//! Their counts must depend only on the program; other builds would differ. They therefore use one thread (no
//! studies), read standard input (no paths), and write a run directory and a trace that contain no times of
//! this machine. Mixes differ in size from those that are measured.

use crate::mixes;
use crate::programs::{self, RunInput};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Arguments of a run that is only simulated, of one that is also observed, and of one that prints its summary.
const ALONE: &[&str] = &["run", "--trace-jsonl", "-"];
const OBSERVED: &[&str] = &["run", "--trace-jsonl", "-", "--output", "directory"];
const PRINTED: &[&str] = &["run"];

/// Files whose machines have costs, idle states and frequencies, with further options: an energy model with
/// misfit tasks, and a machine of 224 CPUs.
const PRICED: [(&str, &[&str]); 3] = [
    ("scenarios/hello.json", &[]),
    ("scenarios/hello.json", &["--machine", "xeon-2s-224", "--for", "200ms"]),
    ("scenarios/energy-aware.json", &["--for", "500ms"]),
];
const BENCHMARKS: [&str; 6] = [
    "bench schbench --release 2020 -m 2 -t 2 -r 1 --machine sc7180",
    "bench hackbench -g 2 -f 4 -l 50 --pipe --machine xeon-2s-224",
    "bench perf sched pipe -l 2000 --machine hikey",
    "bench netperf --instances 24 -l 1 --machine sc7180",
    "bench tbench 64 -t 1 --machine xeon-1s-112 --for 40ms",
    "bench cyclictest -t 8 -S -p 80 --hogs 16 --for 200ms",
];

/// Sizes and lengths of mixes that keep all CPUs busy, and of mixes that leave most CPUs idle.
const CROWDED: [(u64, &str); 4] = [(4, "2s"), (32, "1s"), (128, "250ms"), (2048, "8ms")];
const LIGHT: [(u64, &str); 2] = [(8, "4s"), (96, "1s")];
struct TrainingRun {
    arguments: Vec<String>,
    input: Option<String>,
}

impl TrainingRun {
    fn new(arguments: &[&str], more: &[&str], input: Option<String>) -> Self {
        let arguments = arguments.iter().chain(more).map(|word| (*word).to_owned()).collect();
        Self { arguments, input }
    }
}

/// Runs all in a new folder, and returns the profiles in order.
pub(super) fn run(root: &Path, binary: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut files = Vec::new();
    for (index, run) in runs(root)?.into_iter().enumerate() {
        let file = folder.join(format!("{index:03}.profraw"));
        let mut command = Command::new(binary);
        command.args(&run.arguments).env_clear().env("LLVM_PROFILE_FILE", &file);
        programs::run_to_end(&mut command, folder, run.input.map(RunInput::Text).as_ref())?;
        let directory = folder.join("directory");
        if directory.exists() {
            fs::remove_dir_all(&directory).with_context(|| directory.display().to_string())?;
        }
        files.push(file);
    }
    Ok(files)
}

fn runs(root: &Path) -> Result<Vec<TrainingRun>> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| path.display().to_string());
    let mut runs = Vec::new();
    for path in scenarios(root)? {
        runs.push(TrainingRun::new(OBSERVED, &[], Some(read(&path)?)));
    }
    for (file, more) in PRICED {
        runs.push(TrainingRun::new(OBSERVED, more, Some(read(&root.join(file))?)));
    }
    for line in BENCHMARKS {
        runs.push(TrainingRun::new(&line.split(' ').collect::<Vec<_>>(), &[], None));
    }
    let crowded = CROWDED.map(|(nr_cpus, length)| mixes::crowded(nr_cpus, length));
    let light = LIGHT.map(|(nr_cpus, length)| mixes::light(nr_cpus, length));
    for mix in crowded.into_iter().chain(light) {
        runs.push(TrainingRun::new(OBSERVED, &[], Some(mix.clone())));
        runs.push(TrainingRun::new(ALONE, &[], Some(mix.clone())));
        for kernel in ["6.1", "6.12"] {
            runs.push(TrainingRun::new(PRINTED, &["--kernel", kernel], Some(mix.clone())));
        }
    }
    Ok(runs)
}

/// Returns the project's scenarios by name, each of which demonstrates a mechanism.
fn scenarios(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in ["scenarios", "scenarios/switches"] {
        for entry in fs::read_dir(root.join(folder)).context(folder)? {
            let path = entry.context(folder)?.path();
            if path.extension().is_some_and(|extension| extension == "scn") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_has_every_scenario_and_no_path() {
        let root = crate::root();
        let runs = runs(&root).expect("all can be read");
        let nr_scenarios = scenarios(&root).expect("they can be listed").len();
        assert_eq!(runs.len(), nr_scenarios + PRICED.len() + BENCHMARKS.len() + 4 * (CROWDED.len() + LIGHT.len()));
        let place = root.display().to_string();
        assert!(runs.iter().flat_map(|run| &run.arguments).all(|word| !word.contains(&place)));
    }
}
