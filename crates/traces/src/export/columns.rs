// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables of a run in memory, column by column, for programs that use a run without reading files.
//!
//! The tables and columns are those of the `csv` format.

use super::record::TraceRecord;
use super::sink::TraceSink;
use super::tables::{Cell, CellKind, TABLES, Table, TableRows, TableSink};
use super::thread::ThreadTable;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

/// Table of a run, with all rows.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectedTable {
    pub name: &'static str,
    pub rows: usize,
    pub columns: Vec<TableColumn>,
}

/// Column of a [`CollectedTable`], with one value per row.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    pub name: &'static str,
    pub values: ColumnValues,
    /// For each row, whether the value is known; `None` if all are.
    pub known: Option<Vec<bool>>,
}

/// Values of a column. Unknown values are 0.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnValues {
    /// 64-bit numbers, also for flags (0 and 1).
    Int(Vec<i64>),
    /// Dictionary-encoded texts: for each row an index into the distinct texts, which are in the order of
    /// their first use.
    Text { places: Vec<i32>, words: Vec<String> },
}

/// Trace sink that collects tables in memory. Clones share the tables: one clone is added to the exporter,
/// another returns the tables after the run.
#[derive(Clone, Default)]
pub struct TableCollector(Rc<RefCell<TableSink<ColumnCollector>>>);

impl TableCollector {
    /// Returns all tables in the order of `TABLES`, and leaves none behind.
    pub fn take(&self) -> Vec<CollectedTable> {
        std::mem::take(&mut self.0.borrow_mut().0).tables.into_iter().map(|(table, _)| table).collect()
    }
}

impl std::fmt::Debug for TableCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableCollector").finish_non_exhaustive()
    }
}

impl TraceSink for TableCollector {
    fn record(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        self.0.borrow_mut().record(threads, record);
    }

    fn finish(&mut self, threads: &ThreadTable) -> io::Result<()> {
        self.0.borrow_mut().finish(threads)
    }
}

/// Collected tables, with a dictionary of texts for each of their columns.
struct ColumnCollector {
    tables: Vec<(CollectedTable, Vec<HashMap<String, i32>>)>,
}

impl Default for ColumnCollector {
    fn default() -> Self {
        let column = |&(name, kind): &(&'static str, CellKind)| {
            let values = match kind {
                CellKind::Int => ColumnValues::Int(Vec::new()),
                CellKind::Text => ColumnValues::Text { places: Vec::new(), words: Vec::new() },
            };
            TableColumn { name, values, known: None }
        };
        let table = |&(name, columns): &(&'static str, &[(&'static str, CellKind)])| {
            let words = vec![HashMap::new(); columns.len()];
            (CollectedTable { name, rows: 0, columns: columns.iter().map(column).collect() }, words)
        };
        Self { tables: TABLES.iter().map(table).collect() }
    }
}

impl TableRows for ColumnCollector {
    fn add(&mut self, table: Table, cells: &[Cell<'_>]) {
        let (collected, places_of) = &mut self.tables[table as usize];
        debug_assert_eq!(cells.len(), collected.columns.len(), "{table:?} has a value for each column");
        for ((column, places_of), cell) in collected.columns.iter_mut().zip(places_of).zip(cells) {
            let is_known = !matches!(cell, Cell::Null);
            if !is_known && column.known.is_none() {
                column.known = Some(vec![true; collected.rows]);
            }
            if let Some(known) = &mut column.known {
                known.push(is_known);
            }
            match (&mut column.values, *cell) {
                (ColumnValues::Int(numbers), Cell::Int(number)) => numbers.push(number),
                (ColumnValues::Int(numbers), Cell::Null) => numbers.push(0),
                (ColumnValues::Text { places, .. }, Cell::Null) => places.push(0),
                (ColumnValues::Text { places, words }, Cell::Text(text)) => {
                    let place = places_of.get(text).copied().unwrap_or_else(|| {
                        let place = i32::try_from(words.len()).expect("there are fewer than 2^31 distinct texts");
                        words.push(text.to_owned());
                        places_of.insert(text.to_owned(), place);
                        place
                    });
                    places.push(place);
                }
                (values, cell) => unreachable!("{table:?} has a column of {values:?} that got {cell:?}"),
            }
        }
        collected.rows += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_a_value_for_each_row_and_each_text_once() {
        let columns = TableCollector::default();
        for (at, parent, comm) in [(1, Cell::Int(7), "a"), (2, Cell::Null, "b"), (3, Cell::Int(8), "a")] {
            let cells = [Cell::Int(at), Cell::Int(0), parent, Cell::Int(-1), Cell::Text(comm)];
            columns.0.borrow_mut().0.add(Table::Forks, &cells);
        }
        let forks = columns.take().swap_remove(Table::Forks as usize);
        assert_eq!((forks.name, forks.rows), ("forks", 3));
        assert_eq!(forks.columns[0].values, ColumnValues::Int(vec![1, 2, 3]));
        assert_eq!((&forks.columns[0].known, &forks.columns[2].known), (&None, &Some(vec![true, false, true])));
        let words = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(forks.columns[4].values, ColumnValues::Text { places: vec![0, 1, 0], words });
        assert!(
            columns.take().is_empty() || columns.take().iter().all(|table| table.rows == 0),
            "`take` leaves no tables behind"
        );
    }
}
