// SPDX-License-Identifier: GPL-2.0-or-later
//! Points of a plan as trials: settings are changes of arms, or parameters in the benchmark's line.

use crate::execution::trial::{Trial, bench_from_line};
use crate::values::arms::{Arm, UNCHANGED, parse_arm};
use crate::values::error::CliError;
use crate::values::interrupt;
use fairlab_experiment::metrics::{self, RequestedMetric};
use fairlab_run::input::InputFile;
use fairlab_run::settings::Settings;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_run::values::{CallCosts, CostSource, Starts, parse_time};
use fairlab_run::warmup::Warmup;
use fairlab_sched::units::Nanos;
use fairlab_sweep::plan::{SettingType, SweepPlan, SweepPoint};
use fairlab_sweep::{PointResult, PointRunner};
use fairlab_workload::message::Message;
use fairlab_workload::sha256;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// Plan with parsed options; runs its points.
pub(crate) struct PlanRunner {
    plan: SweepPlan,
    directory: std::path::PathBuf,
    duration: Option<Nanos>,
    warmup: Option<Warmup>,
    asked: Vec<RequestedMetric>,
    /// Compiled kernels of the plan, in order.
    engines: Vec<String>,
    /// Files that have been read, by path, each with the hash of its content.
    files: Mutex<BTreeMap<String, (WorkloadSpec, String)>>,
    machines: Mutex<BTreeMap<String, String>>,
    pub(crate) warnings: Mutex<std::collections::BTreeSet<String>>,
}

impl PlanRunner {
    /// Parses the options of a plan. Relative paths are resolved from `directory`.
    pub(crate) fn new(plan: SweepPlan, directory: &Path) -> Result<Self, Message> {
        fn read<T>(
            key: &str,
            text: Option<&String>,
            parse: fn(&str) -> Result<T, Message>,
        ) -> Result<Option<T>, Message> {
            text.map(|text| parse(text).map_err(|error| error.about(format!("{key} = '{text}'")))).transpose()
        }
        let duration = read("for", plan.duration.as_ref(), parse_time)?;
        let warmup = read("warmup", plan.warmup.as_ref(), Warmup::parse)?;
        let asked = plan.metrics.iter().map(|text| RequestedMetric::parse(text)).collect::<Result<_, _>>()?;
        let directory = directory.to_owned();
        let engines = engines_of(&plan);
        let (files, machines, warnings) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Self { plan, directory, duration, warmup, asked, engines, files, machines, warnings })
    }

    /// Returns the types of the settings that differ between points.
    pub(crate) fn setting_types(&self) -> BTreeMap<&str, SettingType> {
        self.plan.setting_types()
    }

    /// Returns the settings of a point, on top of those of the base.
    fn settings(&self, point: &SweepPoint) -> BTreeMap<String, String> {
        let base = self.plan.base.iter().map(|(key, value)| (key.clone(), value.to_string()));
        base.chain(point.settings.clone()).collect()
    }

    /// Returns the arm of a point, its workload, and whether that is a benchmark.
    fn arm(&self, point: &SweepPoint) -> Result<(Arm, String, bool), Message> {
        let settings = self.settings(point);
        let of_plan = [("workload", &self.plan.workload), ("bench", &self.plan.bench)];
        let own = |key: &str| settings.get(key).map(|text| (key.to_owned(), text.clone()));
        let given = of_plan.iter().find_map(|(key, text)| (*text).clone().map(|text| ((*key).to_owned(), text)));
        let (kind, mut text) = own("bench")
            .or_else(|| own("workload"))
            .or(given)
            .ok_or_else(|| Message::new("no workload and no bench is set"))?;
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
            return Err(Message::new(format!("{{{name}}} in `{text}` has no value"))
                .with_help(format!("set {name} in base, grid, list or sample")));
        }
        let words = if words.is_empty() { UNCHANGED.to_owned() } else { words.join(",") };
        let help = "settings are changes as in arms: see `fairlab sweep --help`";
        let arm = parse_arm(&words).map_err(|error| error.about(&words).or_help(help))?;
        Ok((arm, text, kind == "bench"))
    }

    /// Returns the trial of a point, and a text that identifies its inputs.
    fn trial(&self, point: &SweepPoint) -> Result<(Trial, String), Message> {
        let (arm, text, is_bench) = self.arm(point)?;
        let (workload, hash) =
            if is_bench { (bench_from_line(&text, "fairlab sweep")?, text) } else { self.file(&text)? };
        let mut settings = Settings::from_changes(&arm.changes);
        let costs = match &mut settings.prices.source {
            Some(CostSource::Of(machine)) => Some(machine),
            _ => None,
        };
        let machines = [settings.machine.as_mut(), costs].map(|machine| {
            machine.map(|machine| {
                *machine = InputFile::new(self.resolve_path(&machine.given));
                self.machine(machine)
            })
        });
        let [machine, prices_of] = machines.map(Option::transpose);
        if let Some(kernel) = settings.kernel {
            let help = "set them for the kernels that have them: rows of `list` instead of a `grid`";
            settings
                .check_names(kernel)
                .map_err(|error| error.about(format!("kernel={}", kernel.name)).with_help(help))?;
        }
        settings.share_costs_with(&self.engines);
        let mut inputs = vec![json!(hash), json!(machine?), json!(prices_of?), json!(self.settings(point))];
        if settings.costs != CallCosts::default() {
            inputs.push(json!(settings.costs));
        }
        settings.duration = self.duration;
        settings.warmup = self.warmup;
        if self.plan.vary {
            settings.starts = Starts::Jittered;
        }
        Ok((Trial { spec: RunSpec { workload, settings } }, json!(inputs).to_string()))
    }

    fn resolve_path(&self, name: &str) -> String {
        let path = self.directory.join(name);
        if path.exists() { path.display().to_string() } else { name.to_owned() }
    }

    fn file(&self, name: &str) -> Result<(WorkloadSpec, String), Message> {
        let mut files = self.files.lock().expect("reading does not panic");
        if let Some(known) = files.get(name) {
            return Ok(known.clone());
        }
        let file = InputFile::new(self.resolve_path(name)).read_workload()?;
        let hash = sha256::hex_digest(file.text().unwrap_or_default().as_bytes());
        let known = (WorkloadSpec::File(file), hash);
        files.insert(name.to_owned(), known.clone());
        Ok(known)
    }

    /// Returns the hash of a machine's file.
    fn machine(&self, file: &InputFile) -> Result<String, Message> {
        let mut machines = self.machines.lock().expect("reading does not panic");
        if let Some(known) = machines.get(&file.given) {
            return Ok(known.clone());
        }
        let machine = file.read_machine()?;
        let hash = sha256::hex_digest(machine.file.text().unwrap_or_default().as_bytes());
        machines.insert(file.given.clone(), hash.clone());
        Ok(hash)
    }

    /// Measures the cost of a point with a short run: wall-clock seconds per simulated second, and the
    /// simulated time of the point if known.
    pub(crate) fn measure_cost(&self, point: &SweepPoint, moment: Nanos) -> Result<(f64, Option<Nanos>), Message> {
        let (mut trial, _) = self.trial(point)?;
        let length = match (&trial.spec.workload, self.duration) {
            (_, Some(duration)) => Some(duration + self.warmup.map_or(Nanos::ZERO, Warmup::earliest)),
            (WorkloadSpec::File(_), None) => Some(trial.length(Some(point.seed))?),
            (WorkloadSpec::Bench(bench), None) => bench.benchmark.for_run(1, false, 0).workload(1).duration,
        };
        let moment = length.map_or(moment, |length| length.min(moment));
        shorten(&mut trial, moment);
        let begun = std::time::Instant::now();
        trial.run(Some(point.seed), &mut |_, _| ())?;
        Ok((begun.elapsed().as_secs_f64() / (moment.0 as f64 / 1e9), length))
    }

    /// Checks that a point has the requested metrics: in a short run, and if some are missing there, in a
    /// full one.
    pub(crate) fn check_metrics(&self, point: &SweepPoint, moment: Nanos) -> Result<(), Message> {
        if self.asked.is_empty() {
            return Ok(());
        }
        let (trial, _) = self.trial(point)?;
        let asked_of = |trial: &Trial| {
            let result = trial.run(Some(point.seed), &mut |_, _| ()).ok()?;
            Some(metrics::of_run(&result.json(), &self.asked).map(drop))
        };
        let (mut short, _) = self.trial(point)?;
        shorten(&mut short, moment);
        if let Some(Ok(())) = asked_of(&short) {
            return Ok(());
        }
        // A point that cannot be run is reported elsewhere.
        asked_of(&trial).unwrap_or(Ok(())).map_err(|error| {
            let own = error.help.as_ref().map_or_else(String::new, |help| format!("{help}. "));
            let mark = "mark a key that only some runs have with a question mark, such as by_reason.Misfit?";
            error.with_help(format!("{own}No point has been run; {mark}"))
        })
    }

    /// Checks that a point can begin.
    pub(crate) fn check(&self, point: &SweepPoint) -> Result<(), CliError> {
        let (trial, _) = self.trial(point).map_err(CliError::Input)?;
        trial.check(Some(point.seed)).map(drop)
    }
}

/// Returns the compiled kernels of a plan, in order.
fn engines_of(plan: &SweepPlan) -> Vec<String> {
    let rows = plan.list.iter().filter_map(|row| row.get("engine"));
    let values = plan.base.get("engine").into_iter().chain(plan.grid.get("engine").into_iter().flatten()).chain(rows);
    let mut engines = Vec::new();
    for engine in values.filter_map(|value| Some(value.to_string().strip_prefix("kernel:")?.to_owned())) {
        if !engines.contains(&engine) {
            engines.push(engine);
        }
    }
    engines
}

/// Makes a run a short one without a warm-up.
fn shorten(trial: &mut Trial, length: Nanos) {
    let settings = &mut trial.spec.settings;
    (settings.warmup, settings.duration) = (None, Some(length));
}

impl PointRunner for PlanRunner {
    fn inputs(&self, point: &SweepPoint) -> Result<String, Message> {
        let (_, of_point) = self.trial(point)?;
        Ok(json!([of_point, self.plan.duration, self.plan.warmup, self.plan.vary, self.plan.metrics]).to_string())
    }

    fn run(&self, point: &SweepPoint) -> Option<Result<PointResult, Message>> {
        let result = self.run_point(point);
        // A run that a signal has shortened is not complete.
        interrupt::requested().is_none().then_some(result)
    }
}

impl PlanRunner {
    pub(crate) fn run_point(&self, point: &SweepPoint) -> Result<PointResult, Message> {
        let (trial, _) = self.trial(point)?;
        let result = trial.run(Some(point.seed), &mut |_, _| ())?;
        self.warnings.lock().expect("noting does not panic").extend(result.summary.warnings.iter().cloned());
        let metrics = metrics::of_run(&result.json(), &self.asked)?;
        let metrics = metrics.into_iter().map(|(metric, value)| (metric.name, value)).collect();
        Ok(PointResult { digest: result.summary.digest, metrics })
    }
}
