// SPDX-License-Identifier: GPL-2.0-or-later
//! Arrow tables for readers such as polars, pandas, pyarrow and DuckDB. Columns are built once and passed by
//! address.

use crate::work::{exception_from_failure, run_error};
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch,
    RecordBatchIterator, StringArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Field, Schema};
use fairlab_cli::embed::{CallError, Message};
use fairlab_traces::export::columns::{CollectedTable, ColumnValues, TableColumn};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use serde_json::Value;
use std::sync::Arc;

/// Table of named columns.
#[pyclass(module = "fairlab._native", frozen)]
pub(crate) struct Table {
    name: String,
    batch: RecordBatch,
}

fn arrow_error(error: &ArrowError) -> PyErr {
    run_error(&Message::new(error.to_string()))
}

impl Table {
    /// Builds the table of a run's events.
    pub(crate) fn from_collected(table: CollectedTable) -> PyResult<Self> {
        let columns = table.columns.into_iter().map(|column| Ok((column.name.to_owned(), array_of(column)?)));
        Self::new(
            table.name.to_owned(),
            columns.collect::<Result<_, ArrowError>>().map_err(|error| arrow_error(&error))?,
        )
    }

    /// Builds a table from columns whose values are JSON arrays.
    pub(crate) fn from_columns(name: String, columns: &[(String, String)]) -> PyResult<Self> {
        let read = |(column, values): &(String, String)| {
            let values: Vec<Option<Value>> = serde_json::from_str(values).map_err(|error| {
                exception_from_failure(CallError::Input(Message::new(format!("{name}: {column}: {error}"))))
            })?;
            Ok((column.clone(), array_of_values(&values)))
        };
        let columns = columns.iter().map(read).collect::<PyResult<_>>()?;
        Self::new(name, columns)
    }

    fn new(name: String, columns: Vec<(String, ArrayRef)>) -> PyResult<Self> {
        let fields: Vec<Field> =
            columns.iter().map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| arrow_error(&error))?;
        Ok(Self { name, batch })
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// Returns the rows from `from_` to `to` as lists of values.
    fn rows<'py>(&self, py: Python<'py>, from_: usize, to: usize) -> PyResult<Vec<Bound<'py, PyList>>> {
        let to = to.min(self.batch.num_rows());
        let row = |row: usize| {
            let cells = self.batch.columns().iter().map(|column| cell(py, column, row));
            PyList::new(py, cells.collect::<PyResult<Vec<_>>>()?)
        };
        (from_.min(to)..to).map(row).collect()
    }

    /// Returns a column as a list of values.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.batch.column_by_name(name).ok_or_else(|| {
            let help = format!("columns are {}", self.column_names().join(", "));
            exception_from_failure(CallError::Input(
                Message::new(format!("the table {} has no column {name}", self.name)).with_help(help),
            ))
        })?;
        PyList::new(py, (0..column.len()).map(|row| cell(py, column, row)).collect::<PyResult<Vec<_>>>()?)
    }

    /// Returns the Arrow stream of this table. A requested schema is ignored, as the protocol permits.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// Returns the Arrow schema of this table.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema =
            FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref()).map_err(|error| arrow_error(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

/// Builds a column of events without copying its numbers.
fn array_of(column: TableColumn) -> Result<ArrayRef, ArrowError> {
    let nulls = column.known.map(NullBuffer::from);
    Ok(match column.values {
        ColumnValues::Int(numbers) => Arc::new(Int64Array::try_new(numbers.into(), nulls)?),
        ColumnValues::Text { places, words } => {
            let places = Int32Array::try_new(places.into(), nulls)?;
            Arc::new(DictionaryArray::<Int32Type>::try_new(places, Arc::new(StringArray::from(words)))?)
        }
    })
}

/// Builds a column with the type of all its values: integers, numbers, booleans, or else texts.
fn array_of_values(values: &[Option<Value>]) -> ArrayRef {
    let all = |is: fn(&Value) -> bool| values.iter().flatten().all(is);
    if all(Value::is_i64) {
        let mut builder = Int64Builder::with_capacity(values.len());
        values.iter().for_each(|value| builder.append_option(value.as_ref().and_then(Value::as_i64)));
        Arc::new(builder.finish())
    } else if all(Value::is_number) {
        let mut builder = Float64Builder::with_capacity(values.len());
        values.iter().for_each(|value| builder.append_option(value.as_ref().and_then(Value::as_f64)));
        Arc::new(builder.finish())
    } else if all(Value::is_boolean) {
        Arc::new(values.iter().map(|value| value.as_ref().and_then(Value::as_bool)).collect::<BooleanArray>())
    } else {
        let mut builder = StringBuilder::new();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        values.iter().for_each(|value| builder.append_option(value.as_ref().map(text)));
        Arc::new(builder.finish())
    }
}

/// Converts a value to Python.
fn cell<'py>(py: Python<'py>, column: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    let any = column.as_any();
    if let Some(numbers) = any.downcast_ref::<Int64Array>() {
        return numbers.value(row).into_bound_py_any(py);
    }
    if let Some(numbers) = any.downcast_ref::<Float64Array>() {
        return numbers.value(row).into_bound_py_any(py);
    }
    if let Some(switches) = any.downcast_ref::<BooleanArray>() {
        return switches.value(row).into_bound_py_any(py);
    }
    if let Some(texts) = any.downcast_ref::<StringArray>() {
        return texts.value(row).into_bound_py_any(py);
    }
    let Some(texts) = any.downcast_ref::<DictionaryArray<Int32Type>>() else { return Ok(py.None().into_bound(py)) };
    let words = texts.values().as_any().downcast_ref::<StringArray>();
    let place = texts.key(row).expect("it is not null");
    words.expect("words are texts").value(place).into_bound_py_any(py)
}
