// SPDX-License-Identifier: GPL-2.0-or-later
//! Plans and stores of sweeps, as Python holds them.

use crate::Named;
use crate::policy::{Policies, Raised, makers};
use crate::work::{InputError, RunError, answer, error_of};
use fairlab_cli::embed::{MemoryTexts, sweep};
use fairlab_study::sweep::store::StoredResult;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A point: identity, settings, seed.
type Point = (String, BTreeMap<String, String>, u64);

/// Digest and metrics.
type PointValues = (String, Vec<(String, f64)>);
/// A result to be kept: identity, what it told or why it failed, and how long it took.
type StoredRow = (String, Option<PointValues>, String, u64);
/// A point that is done: settings and seed, and what it told or why it failed.
type PointOutcome = (BTreeMap<String, String>, u64, Option<PointValues>, String);

/// A plan with its points.
#[pyclass(module = "fairlab._native", frozen)]
pub(crate) struct Sweep {
    sweep: sweep::Sweep,
    /// What policies raise.
    raised: Raised,
}

#[pymethods]
impl Sweep {
    /// Of the text of a plan in TOML.
    #[new]
    fn new(py: Python<'_>, name: String, text: String, directory: PathBuf, texts: Named) -> PyResult<Self> {
        Self::read(py, name, text, directory, texts, None)
    }

    /// Of a plan as JSON.
    #[staticmethod]
    #[pyo3(signature = (name, json, directory, texts, policies=None))]
    fn of_json(
        py: Python<'_>,
        name: String,
        json: &str,
        directory: PathBuf,
        texts: Named,
        policies: Option<Policies>,
    ) -> PyResult<Self> {
        let wrong = |error: &dyn std::fmt::Display| InputError::new_err(format!("{name}: {error}"));
        let plan: toml::Value = serde_json::from_str(json).map_err(|error| wrong(&error))?;
        let text = toml::to_string(&plan).map_err(|error| wrong(&error))?;
        Self::read(py, name, text, directory, texts, policies)
    }

    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.raised.cause_of(py, answer(py, || self.sweep.check()))
    }

    fn points(&self) -> Vec<Point> {
        let point = |(id, point): &(String, sweep::SweepPoint)| (id.clone(), point.settings.clone(), point.seed);
        self.sweep.points().iter().map(point).collect()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.sweep.warnings()
    }

    /// Runs a point: its digest, and its metrics in their order.
    fn run(&self, py: Python<'_>, settings: BTreeMap<String, String>, seed: u64) -> PyResult<PointValues> {
        let outcome = self.raised.cause_of(py, answer(py, || self.sweep.run(settings, seed)))?;
        Ok((outcome.digest, outcome.metrics))
    }
}

impl Sweep {
    fn read(
        py: Python<'_>,
        name: String,
        text: String,
        directory: PathBuf,
        texts: Named,
        policies: Option<Policies>,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let texts = MemoryTexts::new(texts).and_policies(makers(policies, &raised));
        let read = answer(py, move || sweep::Sweep::new(&name, &text, &directory, texts));
        let sweep = raised.cause_of(py, read)?;
        Ok(Self { sweep, raised })
    }
}

/// The store of a sweep.
#[pyclass(module = "fairlab._native", frozen)]
pub(crate) struct Store(Mutex<Option<sweep::SweepStore>>);

#[pymethods]
impl Store {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, sweep: &Sweep, retry: bool) -> PyResult<Self> {
        let store = answer(py, || sweep::SweepStore::open(&path, &sweep.sweep, retry))?;
        Ok(Self(Mutex::new(Some(store))))
    }

    /// Points that are still to be run.
    fn pending(&self, shard: &str) -> PyResult<Vec<Point>> {
        let kept = self.open(|store| store.pending(shard).map_err(error_of))?;
        Ok(kept.into_iter().map(|kept| (kept.id, kept.point.settings, kept.point.seed)).collect())
    }

    /// Keeps results: identity, digest and metrics or why it failed, and how long it took.
    fn put(&self, results: Vec<StoredRow>) -> PyResult<()> {
        let done = |(id, outcome, why, wall_ns): StoredRow| {
            let outcome = outcome.map(|(digest, metrics)| sweep::PointResult { digest, metrics }).ok_or(why);
            (id, StoredResult { outcome, wall_ns })
        };
        let results: Vec<(String, StoredResult)> = results.into_iter().map(done).collect();
        self.open(|store| store.put(&results).map_err(error_of))
    }

    /// Runs what is still to be run, on all cores.
    fn run_pending(&self, py: Python<'_>, sweep: &Sweep, shard: &str) -> PyResult<()> {
        // Others wait for the store without the interpreter's lock, and this call has it for itself.
        answer(py, || match self.lock().as_mut() {
            Some(store) => sweep.sweep.run_pending(store, shard),
            None => Ok(()),
        })
    }

    /// Points that are done: settings and seed, digest and metrics or why it failed.
    fn results(&self) -> PyResult<Vec<PointOutcome>> {
        let row = |(point, outcome): sweep::PointOutcome| match outcome {
            Ok(outcome) => (point.settings, point.seed, Some((outcome.digest, outcome.metrics)), String::new()),
            Err(why) => (point.settings, point.seed, None, why),
        };
        let results = self.open(|store| store.results().map_err(error_of))?;
        Ok(results.into_iter().map(row).collect())
    }

    /// Lets others have it.
    fn close(&self) {
        self.lock().take();
    }
}

impl Store {
    fn lock(&self) -> MutexGuard<'_, Option<sweep::SweepStore>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open<T>(&self, work: impl FnOnce(&mut sweep::SweepStore) -> PyResult<T>) -> PyResult<T> {
        work(self.lock().as_mut().ok_or_else(|| RunError::new_err("the store is closed"))?)
    }
}
