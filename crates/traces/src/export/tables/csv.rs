// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables as comma-separated values, one file per table. The first line has the column names; unknown values
//! are empty.

use super::{Cell, TABLES, Table, TableRows, TableSink};
use crate::export::record::{EventGroups, Group};
use crate::export::sink::BufferedOut;
use crate::export::{ExportFormat, FormatOpener, SinkOpener};
use std::fs::File;
use std::io;
use std::path::Path;

pub(in crate::export) const FORMAT: ExportFormat = ExportFormat {
    name: "csv",
    extension: "csv.d",
    meaning: "a directory of tables as comma-separated values, one file each: spreadsheets, pandas, sqlite",
    groups: EventGroups::from_slice(Group::ALL),
    opener: FormatOpener::Events(SinkOpener::Directory(|directory, _| Ok(Box::new(TableSink(Csv::new(directory)))))),
};

/// Writer of CSV tables. A table without rows gets no file.
struct Csv {
    directory: std::path::PathBuf,
    files: Vec<Option<BufferedOut<File>>>,
    error: Option<io::Error>,
}

impl Csv {
    fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), files: TABLES.iter().map(|_| None).collect(), error: None }
    }

    fn open(&self, table: Table) -> io::Result<BufferedOut<File>> {
        let mut out = BufferedOut::new(File::create(self.directory.join(format!("{}.csv", TABLES[table as usize].0)))?);
        let names: Vec<&str> = table.columns().iter().map(|&(name, _)| name).collect();
        out.next().extend_from_slice((names.join(",") + "\n").as_bytes());
        Ok(out)
    }
}

impl TableRows for Csv {
    fn add(&mut self, table: Table, cells: &[Cell<'_>]) {
        debug_assert_eq!(cells.len(), table.columns().len(), "{table:?} has a value for each column");
        if self.files[table as usize].is_none() {
            match self.open(table) {
                Ok(out) => self.files[table as usize] = Some(out),
                Err(error) => self.error = self.error.take().or(Some(error)),
            }
        }
        let Some(out) = &mut self.files[table as usize] else { return };
        let bytes = out.next();
        for (place, cell) in cells.iter().enumerate() {
            if place > 0 {
                bytes.push(b',');
            }
            match *cell {
                Cell::Int(number) => bytes.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
                Cell::Text(text) => put_text(bytes, text),
                Cell::Null => {}
            }
        }
        bytes.push(b'\n');
    }

    fn finish(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)?;
        self.files.iter_mut().flatten().try_for_each(BufferedOut::finish)
    }

    fn has_failed(&self) -> bool {
        self.error.is_some() || self.files.iter().flatten().any(BufferedOut::has_failed)
    }
}

/// Writes a text. A text with a comma or quotes is quoted, with its quotes doubled (RFC 4180).
fn put_text(bytes: &mut Vec<u8>, text: &str) {
    if text.contains([',', '"']) {
        bytes.push(b'"');
        bytes.extend_from_slice(text.replace('"', "\"\"").as_bytes());
        bytes.push(b'"');
    } else {
        bytes.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_commas_and_quotes_stand_between_quotes() {
        let directory = tempfile::tempdir().expect("there is a place for temporary files");
        let mut csv = Csv::new(directory.path());
        let cells = [Cell::Int(-1), Cell::Int(2), Cell::Null, Cell::Text("a, \"b\""), Cell::Text("c")];
        csv.add(Table::Forks, &cells);
        csv.finish().expect("it can be written");
        let text = std::fs::read_to_string(directory.path().join("forks.csv")).expect("there is a file");
        assert_eq!(text, "t_ns,cpu,parent_pid,pid,comm\n-1,2,,\"a, \"\"b\"\"\",c\n");
        assert!(!directory.path().join("exits.csv").exists(), "no row, no file");
    }
}
