// SPDX-License-Identifier: GPL-2.0-or-later
//! Plans of `fairlab sweep` whose points an embedding program runs one by one, in any process, and the store
//! of their results.

use super::{CallError, EmbeddedCall, MemoryTexts};
use crate::cmd::sweep::points::PlanRunner;
use crate::cmd::sweep::{SAMPLE_DURATION, store_error};
use crate::values::error::CliError;
pub use fairlab_sweep::PointResult;
use fairlab_sweep::plan::SweepPlan;
pub use fairlab_sweep::plan::{SettingType, SweepPoint};
use fairlab_sweep::run::{Shard, identified, pending, run};
use fairlab_sweep::store::{PointStore, StoredPoint, StoredResult};
use fairlab_workload::message::Message;
use std::collections::BTreeMap;
use std::path::Path;

/// Plan with its points.
pub struct EmbeddedSweep {
    name: String,
    runs: PlanRunner,
    /// Points with their identities, in the order of the plan.
    points: Vec<(String, SweepPoint)>,
    texts: MemoryTexts,
}

/// Completed point with its result, or with the reason why it failed.
pub type PointOutcome = (SweepPoint, Result<PointResult, Message>);

/// Store of results, in the format of `fairlab sweep`.
pub struct SweepStore(PointStore);

impl EmbeddedSweep {
    /// Reads a plan. `name` is for messages, and relative paths are resolved from `directory`.
    ///
    /// # Errors
    /// If the plan is wrong; the message has a remedy.
    pub fn new(name: &str, text: &str, directory: &Path, texts: MemoryTexts) -> Result<Self, CallError> {
        // Placeholders of texts in the plan are written as TOML escapes them.
        let text = texts.resolve_names(&text.replace("\\u0000", "\0"));
        let plan = SweepPlan::parse(name, &text).map_err(CallError::Input)?;
        let points = plan.points();
        let of_plan = |error: Message| CallError::Input(error.with_file(name));
        let runs = PlanRunner::new(plan, directory).map_err(of_plan)?;
        let points = identified(points, &runs).map_err(of_plan)?;
        Ok(Self { name: name.to_owned(), runs, points, texts })
    }

    /// Returns the points with their identities.
    pub fn points(&self) -> &[(String, SweepPoint)] {
        &self.points
    }

    /// Returns the types of the settings that differ between points.
    pub fn setting_types(&self) -> BTreeMap<&str, SettingType> {
        self.runs.setting_types()
    }

    /// Checks that the first point can begin and has the metrics of the plan, which finds most errors of a plan.
    ///
    /// # Errors
    /// If the point cannot begin, or lacks a metric.
    pub fn check(&self) -> Result<(), CallError> {
        let Some((_, first)) = self.points.first() else { return Ok(()) };
        let call = EmbeddedCall::new(&[], &MemoryTexts::default());
        let of_plan = |error: Message| CliError::Input(error.with_file(&self.name));
        let result = self.runs.check(first);
        call.end(result.and_then(|()| self.runs.check_metrics(first, SAMPLE_DURATION).map_err(of_plan)))
    }

    /// Runs one point, which need not be one of the plan's.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn run(&self, settings: BTreeMap<String, String>, seed: u64) -> Result<PointResult, CallError> {
        let call = EmbeddedCall::new(&[], &MemoryTexts::default());
        let settings = settings.into_iter().map(|(key, value)| (key, self.texts.resolve_names(&value))).collect();
        let result = self.runs.run_point(&SweepPoint { settings, seed });
        call.end(result.map_err(|error| CliError::Input(error.with_file(&self.name))))
    }

    /// Returns the warnings of the runs so far.
    ///
    /// # Panics
    /// If a run has panicked while it recorded a warning.
    pub fn warnings(&self) -> Vec<String> {
        self.runs.warnings.lock().expect("noting does not panic").iter().cloned().collect()
    }

    /// Runs the points that a store lacks, on all cores.
    ///
    /// # Errors
    /// If a result cannot be written.
    pub fn run_pending(&self, store: &mut SweepStore, shard: &str) -> Result<(), CallError> {
        let call = EmbeddedCall::new(&["sweep".to_owned(), self.name.clone()], &MemoryTexts::default());
        let todo = store.pending(shard)?;
        let has_more = || !crate::values::host::is_stop_requested();
        let result = run(&mut store.0, todo, &self.runs, &has_more, &mut |_| ());
        call.end(result.map_err(store_error))
    }
}

impl SweepStore {
    /// Opens or creates a store and sets the points of a plan.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    pub fn open(path: &Path, sweep: &EmbeddedSweep, retry: bool) -> Result<Self, CallError> {
        let call_error = |error| CallError::from(store_error(error));
        let mut store = PointStore::open(path).map_err(call_error)?;
        store.set_plan(&sweep.points).map_err(call_error)?;
        if retry {
            store.delete_failures().map_err(call_error)?;
        }
        Ok(Self(store))
    }

    /// Returns the pending points of a shard `i/N`; `1/1` is all.
    ///
    /// # Errors
    /// If the store cannot be read, or the shard does not exist.
    pub fn pending(&self, shard: &str) -> Result<Vec<StoredPoint>, CallError> {
        let shard = Shard::parse(shard).map_err(CallError::Input)?;
        pending(&self.0, shard).map_err(|error| store_error(error).into())
    }

    /// Stores results.
    ///
    /// # Errors
    /// If they cannot be written, or exist already.
    pub fn put(&mut self, results: &[(String, StoredResult)]) -> Result<(), CallError> {
        self.0.put(results).map_err(|error| store_error(error).into())
    }

    /// Returns the completed points of the plan in its order, with results or reasons of failure.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn results(&self) -> Result<Vec<PointOutcome>, CallError> {
        let kept = self.0.points().map_err(store_error)?;
        let in_plan = kept.into_iter().filter(|kept| kept.in_plan);
        Ok(in_plan.filter_map(|kept| Some((kept.point, kept.result?.outcome))).collect())
    }
}

impl std::fmt::Debug for EmbeddedSweep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweep").field("name", &self.name).field("points", &self.points.len()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for SweepStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SweepStore").field(&self.0).finish()
    }
}
