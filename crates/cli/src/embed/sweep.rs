// SPDX-License-Identifier: GPL-2.0-or-later
//! Plans of `fairlab sweep` whose points somebody else runs, one by one and anywhere, and the store that takes what they told.

use super::{CallFailure, EmbeddedCall, MemoryTexts};
use crate::cmd::sweep::error_of;
use crate::cmd::sweep::points::PlanPoints;
use crate::error::CliError;
pub use fairlab_study::sweep::PointResult;
use fairlab_study::sweep::plan::SweepPlan;
pub use fairlab_study::sweep::plan::SweepPoint;
use fairlab_study::sweep::run::{Shard, identified, pending, run};
use fairlab_study::sweep::store::{PointStore, StoredPoint, StoredResult};
use std::collections::BTreeMap;
use std::path::Path;

/// A plan with its points.
pub struct Sweep {
    name: String,
    runs: PlanPoints,
    /// Points with their identities, in the order of the plan.
    points: Vec<(String, SweepPoint)>,
    texts: MemoryTexts,
}

/// A point that is done, with what it told or why it failed.
pub type PointOutcome = (SweepPoint, Result<PointResult, String>);

/// Where results are kept: the file of `fairlab sweep`.
pub struct SweepStore(PointStore);

impl Sweep {
    /// Reads a plan; `name` is for messages, and files are looked for from the directory.
    ///
    /// # Errors
    /// What is wrong with it, with the way out.
    pub fn new(name: &str, text: &str, directory: &Path, texts: MemoryTexts) -> Result<Self, CallFailure> {
        // Texts stand in the plan's words by their places, which TOML writes in its own way.
        let text = texts.named(&text.replace("\\u0000", "\0"));
        let plan = SweepPlan::parse(name, &text).map_err(CallFailure::Input)?;
        let points = plan.points();
        let of_plan = |error: String| CallFailure::Input(format!("{name}: {error}"));
        let runs = PlanPoints::new(plan, directory).map_err(of_plan)?;
        let points = identified(points, &runs).map_err(of_plan)?;
        Ok(Self { name: name.to_owned(), runs, points, texts })
    }

    /// Its points with their identities.
    pub fn points(&self) -> &[(String, SweepPoint)] {
        &self.points
    }

    /// Looks whether the first point can begin: what a plan gets wrong shows there mostly.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn check(&self) -> Result<(), CallFailure> {
        self.points.first().map_or(Ok(()), |(_, first)| Ok(self.runs.check(first)?))
    }

    /// Runs a point, of the plan or not.
    ///
    /// # Errors
    /// Why it could not be run.
    pub fn run(&self, settings: BTreeMap<String, String>, seed: u64) -> Result<PointResult, CallFailure> {
        let call = EmbeddedCall::new(&[], &MemoryTexts::default());
        let settings = settings.into_iter().map(|(key, value)| (key, self.texts.named(&value))).collect();
        let told = self.runs.point_text(&SweepPoint { settings, seed });
        call.end(told.map_err(|error| CliError::Input(format!("{}: {error}", self.name))))
    }

    /// What runs have warned of so far.
    ///
    /// # Panics
    /// If a run has panicked while it warned.
    pub fn warnings(&self) -> Vec<String> {
        self.runs.warnings.lock().expect("noting does not panic").iter().cloned().collect()
    }

    /// Runs what a store does not have yet, on all cores.
    ///
    /// # Errors
    /// If a result cannot be written.
    pub fn run_pending(&self, store: &mut SweepStore, shard: &str) -> Result<(), CallFailure> {
        let call = EmbeddedCall::new(&["sweep".to_owned(), self.name.clone()], &MemoryTexts::default());
        let todo = store.pending(shard)?;
        let has_more = || !super::is_asked_to_stop();
        let result = run(&mut store.0, todo, &self.runs, &has_more, &mut |_| ());
        call.end(result.map_err(error_of))
    }
}

impl SweepStore {
    /// Opens a store, or makes one, and gives it the points of a plan.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn open(path: &Path, sweep: &Sweep, retry: bool) -> Result<Self, CallFailure> {
        let told = |error| CallFailure::from(error_of(error));
        let mut store = PointStore::open(path).map_err(told)?;
        store.set_plan(&sweep.points).map_err(told)?;
        if retry {
            store.delete_failures().map_err(told)?;
        }
        Ok(Self(store))
    }

    /// Points that are still to be run, of the i-th of N parts: `1/1` is all.
    ///
    /// # Errors
    /// If the store cannot be read, or there is no such part.
    pub fn pending(&self, shard: &str) -> Result<Vec<StoredPoint>, CallFailure> {
        let shard = Shard::parse(shard).map_err(CallFailure::Input)?;
        pending(&self.0, shard).map_err(|error| error_of(error).into())
    }

    /// Keeps results.
    ///
    /// # Errors
    /// If they cannot be written, or are there already.
    pub fn put(&mut self, results: &[(String, StoredResult)]) -> Result<(), CallFailure> {
        self.0.put(results).map_err(|error| error_of(error).into())
    }

    /// Points that are done, with what they told or why they failed, in the order of the plan.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn results(&self) -> Result<Vec<PointOutcome>, CallFailure> {
        let kept = self.0.points().map_err(error_of)?;
        let in_plan = kept.into_iter().filter(|kept| kept.in_plan);
        Ok(in_plan.filter_map(|kept| Some((kept.point, kept.result?.outcome))).collect())
    }
}

impl std::fmt::Debug for Sweep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweep").field("name", &self.name).field("points", &self.points.len()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for SweepStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SweepStore").field(&self.0).finish()
    }
}
