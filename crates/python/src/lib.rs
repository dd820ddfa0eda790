// SPDX-License-Identifier: GPL-2.0-or-later
//! The Python module `fairlab._native`: takes command-line arguments and returns values. The public interface
//! is the package `fairlab` in `python/`.
//!
//! Functions that simulate release the interpreter's lock and poll for Ctrl-C ([`work`]). Tables are Arrow
//! tables, which are passed without a copy ([`table`]).

// Results of functions are documented for users: in `_native.pyi` and in the package.
mod policy;
mod run;
mod sweep;
mod table;
mod work;

use fairlab_cli::embed::{self, MemoryTexts, Message};
use policy::{BalanceRequest, CpuSample, IdleRequest, Policies, PolicyException, WakeRequest, policy_factories};
use pyo3::prelude::*;
use run::Run;
use sweep::{Store, Sweep};
use table::Table;
use work::{Error, InputError, RunError, run_interruptible};

/// Texts with their names.
type NamedTexts = Vec<(String, String)>;

/// Runs a command, with settings of its run as JSON; returns its text for standard output, and its warnings.
#[pyfunction]
#[pyo3(signature = (words, texts, jobs=None, policies=None, settings=None))]
fn command(
    py: Python<'_>,
    words: Vec<String>,
    texts: NamedTexts,
    jobs: Option<usize>,
    policies: Option<Policies>,
    settings: Option<String>,
) -> PyResult<(Vec<String>, Vec<String>)> {
    let raised = PolicyException::default();
    let texts = MemoryTexts::new(texts).with_policies(policy_factories(policies, &raised));
    let result = run_interruptible(py, move || {
        let answer = embed::with_jobs(jobs, || embed::command(&words, settings.as_deref(), &texts))??;
        Ok((answer.results, answer.warnings))
    });
    raised.with_cause(py, result)
}

/// Builds a table from columns, each with a name and its values as a JSON array.
#[pyfunction]
fn table_of_columns(name: String, columns: Vec<(String, String)>) -> PyResult<Table> {
    Table::from_columns(name, &columns)
}

/// Returns the exception of wrong input.
#[pyfunction]
#[pyo3(signature = (text, help=None))]
fn input_error(py: Python<'_>, text: String, help: Option<String>) -> Bound<'_, PyAny> {
    let message = Message { help, ..Message::new(text) };
    work::input_error(&message).into_value(py).into_bound(py).into_any()
}

/// Returns the exception of a failed run.
#[pyfunction]
#[pyo3(signature = (text, help=None))]
fn run_error(py: Python<'_>, text: String, help: Option<String>) -> Bound<'_, PyAny> {
    let message = Message { help, ..Message::new(text) };
    work::run_error(&message).into_value(py).into_bound(py).into_any()
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<Error>())?;
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add("RunError", module.py().get_type::<RunError>())?;
    module.add_class::<Run>()?;
    module.add_class::<Sweep>()?;
    module.add_class::<Store>()?;
    module.add_class::<Table>()?;
    module.add_class::<WakeRequest>()?;
    module.add_class::<BalanceRequest>()?;
    module.add_class::<IdleRequest>()?;
    module.add_class::<CpuSample>()?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(input_error, module)?)?;
    module.add_function(wrap_pyfunction!(run_error, module)?)?;
    module.add_function(wrap_pyfunction!(table_of_columns, module)?)
}
