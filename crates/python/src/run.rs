// SPDX-License-Identifier: GPL-2.0-or-later
//! A run, as Python holds it.

use crate::Named;
use crate::policy::{Policies, Raised, makers};
use crate::table::Table;
use crate::work::{answer, error_of};
use fairlab_cli::embed::{CallFailure, MemoryTexts, run};
use pyo3::prelude::*;

/// A run that is over.
#[pyclass(module = "fairlab._native", frozen)]
pub(crate) struct Run {
    run: run::Run,
    warnings: Vec<String>,
    /// What its policy raises when it runs again.
    raised: Raised,
}

#[pymethods]
impl Run {
    #[new]
    #[pyo3(signature = (words, texts, arm=None, policies=None))]
    fn new(
        py: Python<'_>,
        words: Vec<String>,
        texts: Named,
        arm: Option<String>,
        policies: Option<Policies>,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let texts = MemoryTexts::new(texts).and_policies(makers(policies, &raised));
        let told = answer(py, move || run::Run::new(&words, arm.as_deref(), texts));
        let (run, told) = raised.cause_of(py, told)?;
        Ok(Self { run, warnings: told.warnings, raised })
    }

    /// What it amounts to, as JSON.
    fn summary(&self) -> PyResult<String> {
        let text = serde_json::to_string(self.run.summary());
        text.map_err(|error| error_of(CallFailure::Run(error.to_string())))
    }

    #[getter]
    fn digest(&self) -> &str {
        &self.run.summary().digest
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// The page of the command.
    fn report(&self) -> &str {
        self.run.report()
    }

    /// The page of `fairlab report`.
    fn page(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        self.raised.cause_of(py, answer(py, || self.run.page(name)))
    }

    /// Events of these groups, as tables.
    fn tables(&self, py: Python<'_>, groups: Vec<String>) -> PyResult<Vec<Table>> {
        let collected = self.raised.cause_of(py, answer(py, || self.run.tables(&groups)))?;
        collected.into_iter().map(Table::of_collected).collect()
    }
}
