// SPDX-License-Identifier: GPL-2.0-or-later
//! A run's tables in memory, column by column: for programs that hold a run instead of reading files. The tables are those that are written
//! as comma-separated values.

use super::record::Record;
use super::sink::Sink;
use super::tables::{Cell, Kind, Rows, TABLES, Table, TableSink};
use super::thread::Threads;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

/// A table that was collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// Its name.
    pub name: &'static str,
    /// How many rows it has.
    pub rows: usize,
    /// Its columns, each as long as it has rows.
    pub columns: Vec<Column>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub values: Values,
    /// Whether each of them is known; nothing if all are.
    pub known: Option<Vec<bool>>,
}

/// Values of a column. What is not known is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Numbers.
    Int(Vec<i64>),
    /// Texts, of which there are few: the place of each in the list of all.
    Text {
        /// Places.
        places: Vec<i32>,
        /// The texts, each once, in the order in which they came.
        words: Vec<String>,
    },
}

/// Collects tables; its clones share them, so that one of them listens and another has the tables after the run.
#[derive(Clone, Default)]
pub struct Columns(Rc<RefCell<TableSink<Collector>>>);

impl Columns {
    /// The tables, all of them, in the order of the list of tables.
    pub fn take(&self) -> Vec<Collected> {
        std::mem::take(&mut self.0.borrow_mut().0).tables.into_iter().map(|(table, _)| table).collect()
    }
}

impl std::fmt::Debug for Columns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Columns").finish_non_exhaustive()
    }
}

impl Sink for Columns {
    fn record(&mut self, threads: &Threads, record: &Record<'_>) {
        self.0.borrow_mut().record(threads, record);
    }

    fn finish(&mut self, threads: &Threads) -> io::Result<()> {
        self.0.borrow_mut().finish(threads)
    }

    fn has_failed(&self) -> bool {
        false
    }
}

/// Tables on their way, with the places of words in each of their columns.
struct Collector {
    tables: Vec<(Collected, Vec<HashMap<String, i32>>)>,
}

impl Default for TableSink<Collector> {
    fn default() -> Self {
        Self(Collector::default())
    }
}

impl Default for Collector {
    fn default() -> Self {
        let column = |&(name, kind): &(&'static str, Kind)| {
            let values = match kind {
                Kind::Int => Values::Int(Vec::new()),
                Kind::Text => Values::Text { places: Vec::new(), words: Vec::new() },
            };
            Column { name, values, known: None }
        };
        let table = |&(name, columns): &(&'static str, &[(&'static str, Kind)])| {
            let words = vec![HashMap::new(); columns.len()];
            (Collected { name, rows: 0, columns: columns.iter().map(column).collect() }, words)
        };
        Self { tables: TABLES.iter().map(table).collect() }
    }
}

impl Rows for Collector {
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
                (Values::Int(numbers), Cell::Int(number)) => numbers.push(number),
                (Values::Int(numbers), Cell::Null) => numbers.push(0),
                (Values::Text { places, .. }, Cell::Null) => places.push(0),
                (Values::Text { places, words }, Cell::Text(text)) => {
                    let place = places_of.get(text).copied().unwrap_or_else(|| {
                        let place = i32::try_from(words.len()).expect("there are not that many names");
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

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn has_failed(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_a_value_for_each_row_and_each_text_once() {
        let columns = Columns::default();
        for (at, parent, comm) in [(1, Cell::Int(7), "a"), (2, Cell::Null, "b"), (3, Cell::Int(8), "a")] {
            let cells = [Cell::Int(at), Cell::Int(0), parent, Cell::Int(-1), Cell::Text(comm)];
            columns.0.borrow_mut().0.add(Table::Forks, &cells);
        }
        let forks = columns.take().swap_remove(Table::Forks as usize);
        assert_eq!((forks.name, forks.rows), ("forks", 3));
        assert_eq!(forks.columns[0].values, Values::Int(vec![1, 2, 3]));
        assert_eq!((&forks.columns[0].known, &forks.columns[2].known), (&None, &Some(vec![true, false, true])));
        let words = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(forks.columns[4].values, Values::Text { places: vec![0, 1, 0], words });
        assert!(columns.take().is_empty() || columns.take().iter().all(|table| table.rows == 0), "they were taken");
    }
}
