// SPDX-License-Identifier: GPL-2.0-or-later
//! The Python module `fairlab._native`: the command's words in, values out. What people see is the package `fairlab` around it, in `python/`.
//!
//! Whatever simulates lets go of the interpreter's lock, and looks now and then whether somebody has pressed Ctrl-C ([`work`]). Tables are
//! Arrow's, and are handed over without a copy ([`table`]).

// Results of functions are documented where people see them: in `_native.pyi`, and in the package.
mod policy;
mod run;
mod sweep;
mod table;
mod work;

use fairlab_cli::embed::{self, MemoryTexts};
use policy::{BalanceRequest, CpuLook, IdleRequest, Policies, Raised, WakeRequest, makers};
use pyo3::prelude::*;
use run::Run;
use sweep::{Store, Sweep};
use table::Table;
use work::{Error, InputError, RunError, answer};

/// Texts with their names.
type Named = Vec<(String, String)>;

/// Does a command, and gives what it would have written to standard output, and what it would have warned of.
#[pyfunction]
#[pyo3(signature = (words, texts, jobs=None, policies=None))]
fn command(
    py: Python<'_>,
    words: Vec<String>,
    texts: Named,
    jobs: Option<usize>,
    policies: Option<Policies>,
) -> PyResult<(Vec<String>, Vec<String>)> {
    let raised = Raised::default();
    let texts = MemoryTexts::new(texts).and_policies(makers(policies, &raised));
    let told = answer(py, move || {
        let answer = embed::with_jobs(jobs, || embed::command(&words, &texts))??;
        Ok((answer.results, answer.warnings))
    });
    raised.cause_of(py, told)
}

/// A table of columns, each with a name and its values as a JSON array.
#[pyfunction]
fn table_of_columns(name: String, columns: Vec<(String, String)>) -> PyResult<Table> {
    Table::of_columns(name, &columns)
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
    module.add_class::<CpuLook>()?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(table_of_columns, module)?)
}
