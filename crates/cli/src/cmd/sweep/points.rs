// SPDX-License-Identifier: GPL-2.0-or-later
//! Points of a plan as trials: settings are words of arms, and parameters of the benchmark's line.

use crate::args::VariantArgs;
use crate::arms::{Arm, UNCHANGED, arm_of};
use crate::cmd::bench::line;
use crate::error::CliError;
use crate::input;
use crate::interrupt;
use crate::trial::{Trial, Work};
use crate::values::time_of;
use fairlab_observe::sha256;
use fairlab_sched::units::Nanos;
use fairlab_study::experiment::metrics::{self, RequestedMetric};
use fairlab_study::sweep::plan::{SweepPlan, SweepPoint};
use fairlab_study::sweep::{PointResult, PointRunner};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// What a plan says, understood.
pub(crate) struct PlanPoints {
    plan: SweepPlan,
    directory: std::path::PathBuf,
    duration: Option<Nanos>,
    warmup: Nanos,
    asked: Vec<RequestedMetric>,
    /// Files that have been read, by path, with the hash of their contents.
    files: Mutex<BTreeMap<String, (Work, String)>>,
    machines: Mutex<BTreeMap<String, String>>,
    pub(crate) warnings: Mutex<std::collections::BTreeSet<String>>,
}

impl PlanPoints {
    /// Understands a plan. Files are looked for from where it is.
    pub(crate) fn new(plan: SweepPlan, directory: &Path) -> Result<Self, String> {
        let time = |key: &str, text: &Option<String>| {
            text.as_ref().map(|text| time_of(text).map_err(|error| format!("{key} = '{text}': {error}"))).transpose()
        };
        let duration = time("for", &plan.duration)?;
        let warmup = time("warmup", &plan.warmup)?.unwrap_or_default();
        let asked = plan.metrics.iter().map(|text| RequestedMetric::parse(text)).collect::<Result<_, _>>()?;
        let directory = directory.to_owned();
        let (files, machines, warnings) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Self { plan, directory, duration, warmup, asked, files, machines, warnings })
    }

    /// The settings of a point with those of the base, and which of them are parameters.
    fn settings(&self, point: &SweepPoint) -> BTreeMap<String, String> {
        let base = self.plan.base.iter().map(|(key, value)| (key.clone(), value.to_string()));
        base.chain(point.settings.clone()).collect()
    }

    /// The arm that a point is, and what it runs.
    fn arm(&self, point: &SweepPoint) -> Result<(Arm, String, bool), String> {
        let settings = self.settings(point);
        let of_plan = [("workload", &self.plan.workload), ("bench", &self.plan.bench)];
        let own = |key: &str| settings.get(key).map(|text| (key.to_owned(), text.clone()));
        let given = of_plan.iter().find_map(|(key, text)| (*text).clone().map(|text| ((*key).to_owned(), text)));
        let (kind, mut text) = own("bench").or_else(|| own("workload")).or(given).ok_or("nothing is run")?;
        let mut words = Vec::new();
        for (key, value) in settings.iter().filter(|(key, _)| *key != "bench" && *key != "workload") {
            let braced = format!("{{{key}}}");
            if text.contains(&braced) {
                text = text.replace(&braced, value);
                continue;
            }
            words.push(match value.as_str() {
                "true" => key.clone(),
                "false" => format!("NO_{key}"),
                _ => format!("{key}={value}"),
            });
        }
        if let Some((_, behind)) = text.split_once('{')
            && kind == "bench"
        {
            let name = behind.split('}').next().unwrap_or_default();
            return Err(format!(
                "{{{name}}} in `{text}` is set nowhere\nhelp: give {name} in base, grid, list or sample"
            ));
        }
        let words = if words.is_empty() { UNCHANGED.to_owned() } else { words.join(",") };
        let arm = arm_of(&words).map_err(|error| {
            format!("{words}: {error}\nhelp: settings are changes as of arms: see `fairlab sweep --help`")
        })?;
        Ok((arm, text, kind == "bench"))
    }

    /// The trial of a point, and what tells its inputs from others.
    fn trial(&self, point: &SweepPoint) -> Result<(Trial, String), String> {
        let (arm, text, is_bench) = self.arm(point)?;
        let (work, hash) = if is_bench { (Work::Bench(text.clone()), text) } else { self.file(&text)? };
        let mut variant = arm.on(&VariantArgs::default());
        variant.machine = variant.machine.map(|machine| self.beside(&machine));
        variant.prices_of = variant.prices_of.map(|machine| self.beside(&machine));
        let machines = [&variant.machine, &variant.prices_of];
        let machines = machines.map(|machine| machine.as_ref().map(|machine| self.machine(machine)).transpose());
        let [machine, prices_of] = machines;
        let inputs = json!([hash, machine?, prices_of?, self.settings(point)]);
        let (duration, warmup, vary) = (self.duration, self.warmup, self.plan.vary);
        Ok((Trial { work, variant, duration, warmup, vary }, inputs.to_string()))
    }

    fn beside(&self, name: &str) -> String {
        let path = self.directory.join(name);
        if path.exists() { path.display().to_string() } else { name.to_owned() }
    }

    fn file(&self, name: &str) -> Result<(Work, String), String> {
        let mut files = self.files.lock().expect("reading does not panic");
        if let Some(known) = files.get(name) {
            return Ok(known.clone());
        }
        let text = input::workload(&self.beside(name)).map_err(|error| error.to_string())?;
        let hash = sha256::hex_digest(text.text.as_bytes());
        let known = (Work::File(Arc::new(text)), hash);
        files.insert(name.to_owned(), known.clone());
        Ok(known)
    }

    /// The hash of a machine's file.
    fn machine(&self, name: &str) -> Result<String, String> {
        let mut machines = self.machines.lock().expect("reading does not panic");
        if let Some(known) = machines.get(name) {
            return Ok(known.clone());
        }
        let hash = sha256::hex_digest(input::machine(name).map_err(|error| error.to_string())?.text.as_bytes());
        machines.insert(name.to_owned(), hash.clone());
        Ok(hash)
    }

    /// How long a point takes, from a moment of it: wall-clock seconds for each simulated one, and how long it is if that is known.
    pub(crate) fn tried(&self, point: &SweepPoint, moment: Nanos) -> Result<(f64, Option<Nanos>), String> {
        let (mut trial, _) = self.trial(point)?;
        let of_bench = |line: &str| line::parse(line, None, "fairlab sweep");
        let length = match (&trial.work, self.duration) {
            (_, Some(duration)) => Some(duration + self.warmup),
            (Work::File(text), None) => Some(trial.length(text, Some(point.seed)).map_err(|error| error.to_string())?),
            (Work::Bench(line), None) => of_bench(line)?.model(1).map_err(|error| error.to_string())?.workload.duration,
        };
        let moment = length.map_or(moment, |length| length.min(moment));
        trial.warmup = Nanos::ZERO;
        trial.duration = Some(moment);
        let begun = std::time::Instant::now();
        trial.run(Some(point.seed), &mut |_, _| ()).map_err(|error| error.to_string())?;
        Ok((begun.elapsed().as_secs_f64() / (moment.0 as f64 / 1e9), length))
    }

    /// Looks whether a point tells what the plan asks for: a moment of it, and if that lacks something, all of it.
    pub(crate) fn check_metrics(&self, point: &SweepPoint, moment: Nanos) -> Result<(), String> {
        if self.asked.is_empty() {
            return Ok(());
        }
        let (trial, _) = self.trial(point)?;
        let asked_of = |trial: &Trial| {
            let told = trial.run(Some(point.seed), &mut |_, _| ()).ok()?;
            Some(metrics::of_run(&told.json(), &self.asked).map(drop))
        };
        let (mut short, _) = self.trial(point)?;
        (short.warmup, short.duration) = (Nanos::ZERO, Some(moment));
        if let Some(Ok(())) = asked_of(&short) {
            return Ok(());
        }
        // A point that cannot be run is not the affair of its metrics.
        asked_of(&trial).unwrap_or(Ok(())).map_err(|error| {
            format!("{error}\nhelp: nothing has been run; a key that only some runs have takes a question mark, such as by_reason.Misfit?")
        })
    }

    /// Looks whether a point can begin.
    pub(crate) fn check(&self, point: &SweepPoint) -> Result<(), CliError> {
        let (trial, _) = self.trial(point).map_err(CliError::Input)?;
        trial.check(Some(point.seed), "fairlab sweep").map(drop)
    }
}

impl PointRunner for PlanPoints {
    fn inputs(&self, point: &SweepPoint) -> Result<String, String> {
        let (_, of_point) = self.trial(point)?;
        Ok(json!([of_point, self.plan.duration, self.plan.warmup, self.plan.vary, self.plan.metrics]).to_string())
    }

    fn run(&self, point: &SweepPoint) -> Option<Result<PointResult, String>> {
        let told = self.point_text(point);
        // A run that a signal has cut short is not done.
        interrupt::requested().is_none().then_some(told)
    }
}

impl PlanPoints {
    /// Runs a point.
    pub(crate) fn point_text(&self, point: &SweepPoint) -> Result<PointResult, String> {
        let (trial, _) = self.trial(point)?;
        let told = trial.run(Some(point.seed), &mut |_, _| ()).map_err(|error| error.to_string())?;
        self.warnings.lock().expect("noting does not panic").extend(told.summary.warnings.iter().cloned());
        let metrics = metrics::of_run(&told.json(), &self.asked)?;
        let metrics = metrics.into_iter().map(|(metric, value)| (metric.name, value)).collect();
        Ok(PointResult { digest: told.summary.digest, metrics })
    }
}
