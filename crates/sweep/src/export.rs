// SPDX-License-Identifier: GPL-2.0-or-later
//! Export of a sweep as a table: one row per point, with a column for each setting, the seed, each metric and
//! the digest.
//!
//! Rows are in the order of the plan and depend only on results: an interrupted and resumed sweep gives the
//! same bytes.

use super::store::StoredPoint;
use serde_json::{Map, Number, Value};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Table of the results of a sweep.
#[derive(Clone, Debug, Default)]
pub struct SweepTable {
    settings: Vec<String>,
    metrics: Vec<String>,
    rows: Vec<TableRow>,
}

#[derive(Clone, Debug)]
struct TableRow {
    settings: Vec<Option<String>>,
    seed: u64,
    metrics: Vec<Option<f64>>,
    digest: String,
}

impl SweepTable {
    /// Creates the table of the completed points; failed points have no row.
    pub fn of(points: &[StoredPoint]) -> Self {
        let complete: Vec<_> =
            points.iter().filter_map(|kept| Some((kept, kept.result.as_ref()?.outcome.as_ref().ok()?))).collect();
        let keys: BTreeSet<&String> = complete.iter().flat_map(|(kept, _)| kept.point.settings.keys()).collect();
        let settings: Vec<String> = keys.into_iter().cloned().collect();
        let mut metrics: Vec<String> = Vec::new();
        let mut known = BTreeSet::new();
        for (name, _) in complete.iter().flat_map(|(_, result)| &result.metrics) {
            if known.insert(name) {
                metrics.push(name.clone());
            }
        }
        let row = |(kept, result): &(&StoredPoint, &super::PointResult)| TableRow {
            settings: settings.iter().map(|key| kept.point.settings.get(key).cloned()).collect(),
            seed: kept.point.seed,
            metrics: metrics
                .iter()
                .map(|metric| result.metrics.iter().find(|(name, _)| name == metric).map(|(_, value)| *value))
                .collect(),
            digest: result.digest.clone(),
        };
        let rows = complete.iter().map(row).collect();
        Self { settings, metrics, rows }
    }

    /// Number of rows: one for each completed point.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether the table has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the table as CSV.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let head = self.settings.iter().map(String::as_str).chain(["seed"]);
        let head = head.chain(self.metrics.iter().map(String::as_str)).chain(["digest"]);
        writeln!(out, "{}", head.map(quoted).collect::<Vec<_>>().join(","))?;
        for row in &self.rows {
            let settings = row.settings.iter().map(|value| value.as_deref().map_or_else(String::new, quoted));
            let metrics = row.metrics.iter().map(|value| value.map_or_else(String::new, |value| value.to_string()));
            let cells: Vec<String> =
                settings.chain([row.seed.to_string()]).chain(metrics).chain([row.digest.clone()]).collect();
            writeln!(out, "{}", cells.join(","))?;
        }
        Ok(())
    }

    /// Writes the table as JSON Lines, one object per row.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn jsonl(&self, out: &mut dyn Write) -> io::Result<()> {
        for row in &self.rows {
            let mut line = Map::new();
            for (key, value) in self.settings.iter().zip(&row.settings) {
                line.insert(key.clone(), value.clone().map_or(Value::Null, Value::String));
            }
            line.insert("seed".to_owned(), Value::from(row.seed));
            for (metric, value) in self.metrics.iter().zip(&row.metrics) {
                let number = value.and_then(Number::from_f64).map_or(Value::Null, Value::Number);
                line.insert(metric.clone(), number);
            }
            line.insert("digest".to_owned(), Value::from(row.digest.as_str()));
            serde_json::to_writer(&mut *out, &line)?;
            writeln!(out)?;
        }
        Ok(())
    }

    /// Writes the table as Parquet. Settings and the digest are texts, the seed is an integer, metrics are
    /// doubles. Missing settings and metrics are null.
    ///
    /// # Errors
    /// If `file` cannot be written.
    #[cfg(feature = "parquet")]
    pub fn parquet(&self, file: std::fs::File) -> io::Result<()> {
        self.write_parquet(file).map_err(io::Error::other)
    }

    #[cfg(feature = "parquet")]
    fn write_parquet(&self, file: std::fs::File) -> Result<(), parquet::errors::ParquetError> {
        use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
        use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
        use parquet::file::properties::WriterProperties;
        use parquet::file::writer::SerializedFileWriter;
        use parquet::schema::types::Type;
        use std::sync::Arc;

        let field = |name: &str, physical, logical| {
            let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
            field.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
        };
        let text = |name: &str| field(name, Physical::BYTE_ARRAY, Some(LogicalType::String));
        let mut fields = self.settings.iter().map(|name| text(name)).collect::<Result<Vec<_>, _>>()?;
        fields.push(field("seed", Physical::INT64, None)?);
        for metric in &self.metrics {
            fields.push(field(metric, Physical::DOUBLE, None)?);
        }
        fields.push(text("digest")?);
        let schema = Arc::new(Type::group_type_builder("sweep").with_fields(fields).build()?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let properties = properties.set_created_by(concat!("fairlab ", env!("CARGO_PKG_VERSION")).to_owned()).build();
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        let levels = |is_there: &dyn Fn(&TableRow) -> bool| -> Vec<i16> {
            self.rows.iter().map(|row| i16::from(is_there(row))).collect()
        };
        let expect = "the group has the columns of the schema";
        for place in 0..self.settings.len() {
            let values: Vec<ByteArray> =
                self.rows.iter().filter_map(|row| row.settings[place].as_deref().map(ByteArray::from)).collect();
            let mut column = group.next_column()?.expect(expect);
            let levels = levels(&|row| row.settings[place].is_some());
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            column.close()?;
        }
        let seeds: Vec<i64> = self.rows.iter().map(|row| row.seed.cast_signed()).collect();
        let mut column = group.next_column()?.expect(expect);
        column.typed::<Int64Type>().write_batch(&seeds, Some(&levels(&|_| true)), None)?;
        column.close()?;
        for place in 0..self.metrics.len() {
            let values: Vec<f64> = self.rows.iter().filter_map(|row| row.metrics[place]).collect();
            let mut column = group.next_column()?.expect(expect);
            let levels = levels(&|row| row.metrics[place].is_some());
            column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
            column.close()?;
        }
        let digests: Vec<ByteArray> = self.rows.iter().map(|row| ByteArray::from(row.digest.as_str())).collect();
        let mut column = group.next_column()?.expect(expect);
        column.typed::<ByteArrayType>().write_batch(&digests, Some(&levels(&|_| true)), None)?;
        column.close()?;
        group.close()?;
        writer.close()?;
        Ok(())
    }
}

/// Returns a CSV cell, quoted if necessary.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
