// SPDX-License-Identifier: GPL-2.0-or-later
//! Python class of a run.

use crate::NamedTexts;
use crate::policy::{Policies, PolicyException, policy_factories};
use crate::table::Table;
use crate::work::{exception_from_failure, run_interruptible};
use fairlab_cli::embed::{CallError, MemoryTexts, Message, run};
use pyo3::prelude::*;
use std::path::PathBuf;

#[pyclass(module = "fairlab._native", frozen)]
pub(crate) struct Run {
    run: run::EmbeddedRun,
    warnings: Vec<String>,
    /// Exception of its policy when the run is repeated.
    raised: PolicyException,
}

#[pymethods]
impl Run {
    #[new]
    #[pyo3(signature = (spec, texts, outputs=None, directory=None, policies=None))]
    fn new(
        py: Python<'_>,
        spec: String,
        texts: NamedTexts,
        outputs: Option<String>,
        directory: Option<PathBuf>,
        policies: Option<Policies>,
    ) -> PyResult<Self> {
        let raised = PolicyException::default();
        let texts = MemoryTexts::new(texts).with_policies(policy_factories(policies, &raised));
        let result = run_interruptible(py, move || run::EmbeddedRun::new(&spec, outputs.as_deref(), directory, &texts));
        let (run, result) = raised.with_cause(py, result)?;
        Ok(Self { run, warnings: result.warnings, raised })
    }

    /// Returns the summary as JSON.
    fn summary(&self) -> PyResult<String> {
        let text = serde_json::to_string(self.run.summary());
        text.map_err(|error| exception_from_failure(CallError::Run(Message::new(error.to_string()))))
    }

    #[getter]
    fn digest(&self) -> &str {
        &self.run.summary().digest
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Returns the run summary as text.
    fn report(&self) -> &str {
        self.run.report()
    }

    /// Returns the HTML report of `fairlab report`.
    fn page(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        self.raised.with_cause(py, run_interruptible(py, || self.run.page(name)))
    }

    /// Returns the events of these groups as tables.
    fn tables(&self, py: Python<'_>, groups: Vec<String>) -> PyResult<Vec<Table>> {
        let collected = self.raised.with_cause(py, run_interruptible(py, || self.run.tables(&groups)))?;
        collected.into_iter().map(Table::from_collected).collect()
    }
}
