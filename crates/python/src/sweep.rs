// SPDX-License-Identifier: GPL-2.0-or-later
//! Python classes of plans and stores of sweeps.

use crate::NamedTexts;
use crate::policy::{Policies, PolicyException, policy_factories};
use crate::work::{exception_from_failure, input_error, run_error, run_interruptible};
use fairlab_cli::embed::{MemoryTexts, Message, sweep};
use fairlab_sweep::store::StoredResult;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Point of a plan: identity, settings, seed.
type Point = (String, BTreeMap<String, String>, u64);

/// Digest and metrics of a point.
type PointValues = (String, Vec<(String, f64)>);
/// Result to store: identity, digest and metrics or none, reason of failure, wall-clock time in nanoseconds.
type StoredRow = (String, Option<PointValues>, String, u64);
/// Completed point: settings, seed, digest and metrics or none, reason of failure.
type PointOutcome = (BTreeMap<String, String>, u64, Option<PointValues>, String);

/// Plan with its points.
#[pyclass(module = "fairlab._native", frozen)]
pub(crate) struct Sweep {
    sweep: sweep::EmbeddedSweep,
    /// Exception of a policy.
    raised: PolicyException,
}

#[pymethods]
impl Sweep {
    /// Parses the text of a plan in TOML.
    #[new]
    fn new(py: Python<'_>, name: String, text: String, directory: PathBuf, texts: NamedTexts) -> PyResult<Self> {
        Self::read(py, name, text, directory, texts, None)
    }

    /// Parses a plan in JSON.
    #[staticmethod]
    #[pyo3(signature = (name, json, directory, texts, policies=None))]
    fn of_json(
        py: Python<'_>,
        name: String,
        json: &str,
        directory: PathBuf,
        texts: NamedTexts,
        policies: Option<Policies>,
    ) -> PyResult<Self> {
        let wrong = |error: &dyn std::fmt::Display| input_error(&Message::in_file(name.as_str(), error.to_string()));
        let plan: toml::Value = serde_json::from_str(json).map_err(|error| wrong(&error))?;
        let text = toml::to_string(&plan).map_err(|error| wrong(&error))?;
        Self::read(py, name, text, directory, texts, policies)
    }

    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.raised.with_cause(py, run_interruptible(py, || self.sweep.check()))
    }

    fn points(&self) -> Vec<Point> {
        let point = |(id, point): &(String, sweep::SweepPoint)| (id.clone(), point.settings.clone(), point.seed);
        self.sweep.points().iter().map(point).collect()
    }

    /// Returns the types of the settings that differ between points.
    fn setting_types(&self) -> BTreeMap<&str, &'static str> {
        let types = self.sweep.setting_types().into_iter().map(|(key, kind)| {
            let name = match kind {
                sweep::SettingType::Switch => "switch",
                sweep::SettingType::Integer => "integer",
                sweep::SettingType::Number => "number",
                sweep::SettingType::Text => "text",
            };
            (key, name)
        });
        types.collect()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.sweep.warnings()
    }

    /// Runs a point; returns its digest and its metrics in order.
    fn run(&self, py: Python<'_>, settings: BTreeMap<String, String>, seed: u64) -> PyResult<PointValues> {
        let outcome = self.raised.with_cause(py, run_interruptible(py, || self.sweep.run(settings, seed)))?;
        Ok((outcome.digest, outcome.metrics))
    }
}

impl Sweep {
    fn read(
        py: Python<'_>,
        name: String,
        text: String,
        directory: PathBuf,
        texts: NamedTexts,
        policies: Option<Policies>,
    ) -> PyResult<Self> {
        let raised = PolicyException::default();
        let texts = MemoryTexts::new(texts).with_policies(policy_factories(policies, &raised));
        let read = run_interruptible(py, move || sweep::EmbeddedSweep::new(&name, &text, &directory, texts));
        let sweep = raised.with_cause(py, read)?;
        Ok(Self { sweep, raised })
    }
}

/// Store of a sweep.
#[pyclass(module = "fairlab._native", frozen)]
pub(crate) struct Store(Mutex<Option<sweep::SweepStore>>);

#[pymethods]
impl Store {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, sweep: &Sweep, retry: bool) -> PyResult<Self> {
        let store = run_interruptible(py, || sweep::SweepStore::open(&path, &sweep.sweep, retry))?;
        Ok(Self(Mutex::new(Some(store))))
    }

    /// Returns the pending points of a shard.
    fn pending(&self, shard: &str) -> PyResult<Vec<Point>> {
        let kept = self.open(|store| store.pending(shard).map_err(exception_from_failure))?;
        Ok(kept.into_iter().map(|kept| (kept.id, kept.point.settings, kept.point.seed)).collect())
    }

    /// Stores results: identity, digest and metrics or the reason of failure, and wall-clock time.
    fn put(&self, results: Vec<StoredRow>) -> PyResult<()> {
        let done = |(id, outcome, why, wall_ns): StoredRow| {
            let outcome = outcome
                .map(|(digest, metrics)| sweep::PointResult { digest, metrics })
                .ok_or_else(|| Message::from_display(&why));
            (id, StoredResult { outcome, wall_ns })
        };
        let results: Vec<(String, StoredResult)> = results.into_iter().map(done).collect();
        self.open(|store| store.put(&results).map_err(exception_from_failure))
    }

    /// Runs the pending points of a shard on all cores.
    fn run_pending(&self, py: Python<'_>, sweep: &Sweep, shard: &str) -> PyResult<()> {
        // Other threads wait for the store without the interpreter's lock, which this call releases.
        run_interruptible(py, || match self.lock().as_mut() {
            Some(store) => sweep.sweep.run_pending(store, shard),
            None => Ok(()),
        })
    }

    /// Returns completed points: settings and seed, digest and metrics or the reason of failure.
    fn results(&self) -> PyResult<Vec<PointOutcome>> {
        let row = |(point, outcome): sweep::PointOutcome| match outcome {
            Ok(outcome) => (point.settings, point.seed, Some((outcome.digest, outcome.metrics)), String::new()),
            Err(error) => (point.settings, point.seed, None, error.to_string()),
        };
        let results = self.open(|store| store.results().map_err(exception_from_failure))?;
        Ok(results.into_iter().map(row).collect())
    }

    /// Closes the store, so that other processes can open it.
    fn close(&self) {
        self.lock().take();
    }
}

impl Store {
    fn lock(&self) -> MutexGuard<'_, Option<sweep::SweepStore>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open<T>(&self, work: impl FnOnce(&mut sweep::SweepStore) -> PyResult<T>) -> PyResult<T> {
        work(self.lock().as_mut().ok_or_else(|| run_error(&Message::new("the store is closed")))?)
    }
}
