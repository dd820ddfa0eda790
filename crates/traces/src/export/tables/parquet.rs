// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables as Parquet, one file per table: columns of 64-bit numbers and texts, compressed with Snappy.
//! Unknown values are null.
//!
//! Rows are collected into row groups of [`GROUP`] rows.

use super::{Cell, CellKind, TABLES, Table, TableRows, TableSink};
use crate::export::record::{EventGroups, Group};
use crate::export::{ExportFormat, FormatOpener, SinkOpener};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(in crate::export) const FORMAT: ExportFormat = ExportFormat {
    name: "parquet",
    extension: "parquet.d",
    meaning: "a directory of tables as Parquet, one file each: pandas, polars, DuckDB",
    groups: EventGroups::from_slice(Group::ALL),
    opener: FormatOpener::Events(SinkOpener::Directory(|directory, _| {
        Ok(Box::new(TableSink(Parquet::new(directory))))
    })),
};

const GROUP: usize = 1 << 16;

#[derive(Default)]
struct ParquetColumn {
    ints: Vec<i64>,
    texts: Vec<ByteArray>,
    /// Definition levels: 1 for a value, 0 for null.
    levels: Vec<i16>,
}

struct TableFile {
    writer: SerializedFileWriter<File>,
    columns: Vec<(CellKind, ParquetColumn)>,
}

/// Writer of Parquet tables. A table without rows gets no file.
struct Parquet {
    directory: PathBuf,
    files: Vec<Option<TableFile>>,
    error: Option<ParquetError>,
}

impl Parquet {
    fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), files: TABLES.iter().map(|_| None).collect(), error: None }
    }

    fn put(&mut self, table: Table, cells: &[Cell<'_>]) -> Result<(), ParquetError> {
        let place = table as usize;
        if self.files[place].is_none() {
            self.files[place] = Some(TableFile::new(&self.directory, table)?);
        }
        let file = self.files[place].as_mut().expect("the file was just opened");
        for ((kind, column), cell) in file.columns.iter_mut().zip(cells) {
            column.levels.push(i16::from(!matches!(cell, Cell::Null)));
            match (kind, *cell) {
                (_, Cell::Null) => {}
                (CellKind::Int, Cell::Int(number)) => column.ints.push(number),
                (CellKind::Text, Cell::Text(text)) => column.texts.push(text.into()),
                (kind, cell) => unreachable!("{table:?} has a column of {kind:?} that got {cell:?}"),
            }
        }
        if file.columns[0].1.levels.len() >= GROUP { file.write_group() } else { Ok(()) }
    }
}

impl TableFile {
    fn new(directory: &Path, table: Table) -> Result<Self, ParquetError> {
        let (name, columns) = TABLES[table as usize];
        let fields = columns.iter().map(|&(name, kind)| {
            let (physical, logical) = match kind {
                CellKind::Int => (Physical::INT64, None),
                CellKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            };
            let field = Type::primitive_type_builder(name, physical);
            field.with_logical_type(logical).with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
        });
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let schema = Arc::new(Type::group_type_builder(name).with_fields(fields).build()?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let properties = properties.set_created_by(concat!("fairlab ", env!("CARGO_PKG_VERSION")).to_owned()).build();
        let file = File::create(directory.join(format!("{name}.parquet")))?;
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
        Ok(Self { writer, columns: columns.iter().map(|&(_, kind)| (kind, ParquetColumn::default())).collect() })
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for (kind, column) in &mut self.columns {
            let mut writer = group.next_column()?.expect("the group has the columns of the table");
            let levels = Some(column.levels.as_slice());
            match kind {
                CellKind::Int => writer.typed::<Int64Type>().write_batch(&column.ints, levels, None)?,
                CellKind::Text => writer.typed::<ByteArrayType>().write_batch(&column.texts, levels, None)?,
            };
            writer.close()?;
            column.ints.clear();
            column.texts.clear();
            column.levels.clear();
        }
        group.close()?;
        Ok(())
    }
}

impl TableRows for Parquet {
    fn add(&mut self, table: Table, cells: &[Cell<'_>]) {
        if self.error.is_none() {
            self.error = self.put(table, cells).err();
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), |error| Err(io::Error::other(error)))?;
        for mut file in self.files.drain(..).flatten() {
            file.write_group().map_err(io::Error::other)?;
            file.writer.close().map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.error.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    #[test]
    fn rows_come_back_in_groups_with_nulls_where_nothing_is_known() {
        let directory = tempfile::tempdir().expect("there is a place for temporary files");
        let mut parquet = Parquet::new(directory.path());
        let nr = GROUP as i64 + 3;
        for at in 0..nr {
            let parent = if at % 2 == 0 { Cell::Null } else { Cell::Int(7) };
            parquet.add(Table::Forks, &[Cell::Int(at), Cell::Int(0), parent, Cell::Int(-1), Cell::Text("größer")]);
        }
        parquet.finish().expect("it can be written");
        let file = File::open(directory.path().join("forks.parquet")).expect("there is a file");
        let reader = SerializedFileReader::new(file).expect("it is Parquet");
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let rows = reader.get_row_iter(None).expect("it has rows");
        for (at, row) in rows.enumerate() {
            let values: Vec<Field> = row.expect("a row").get_column_iter().map(|(_, field)| field.clone()).collect();
            let parent = if at % 2 == 0 { Field::Null } else { Field::Long(7) };
            let name = Field::Str("größer".to_owned());
            assert_eq!(values, [Field::Long(at as i64), Field::Long(0), parent, Field::Long(-1), name]);
        }
        assert_eq!(reader.metadata().file_metadata().num_rows(), nr);
        assert!(!directory.path().join("exits.parquet").exists(), "no row, no file");
    }
}
