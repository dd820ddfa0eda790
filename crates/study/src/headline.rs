// SPDX-License-Identifier: GPL-2.0-or-later
//! `[headline]`: the one number of a study that the published change claims.
//!
//! A headline names a row of a table. With `from` it is the change of the row from that arm, which only tables of data
//! support; the rows of other tables are changes if their code makes them.

use crate::definition::{ChangeAs, FigureValue, HeadlineDefinition, RowDefinition, StudyDefinition, TableDefinition};
use crate::error::{error_in, unknown};
use fairlab_workload::message::Message;

impl HeadlineDefinition {
    /// Checks the names in the headline of a study.
    ///
    /// # Errors
    /// If a table, a row or an arm does not exist, or if the table does not support `from`.
    pub(crate) fn check(&self, file: &str, study: &StudyDefinition) -> Result<(), Message> {
        let tables: Vec<&str> = study.tables.iter().map(|table| table.name.as_str()).collect();
        let Some(table) = study.tables.iter().find(|table| table.name == self.table) else {
            return Err(unknown(file, "headline", "table", &self.table, &tables));
        };
        let arms: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
        if let Some(arm) =
            [Some(&self.arm), self.from.as_ref()].into_iter().flatten().find(|arm| !arms.contains(&arm.as_str()))
        {
            return Err(unknown(file, "headline", "arm", arm, &arms));
        }
        if !table.rows.is_empty() && self.row_of(table, &self.arm).is_none() {
            let rows: Vec<&str> =
                table.rows.iter().filter(|row| row.arm == self.arm).map(|row| row.label.as_str()).collect();
            return Err(unknown(file, "headline", "row", &self.row, &rows));
        }
        if self.from.is_some() && (!table.is_data() || table.from.is_some()) {
            let text = format!("`from` does not apply to rows of {}", table.name);
            return Err(error_in(file, "headline", text, "leave it out: the rows are changes, or code fills them"));
        }
        Ok(())
    }

    fn row_of<'t>(&self, table: &'t TableDefinition, arm: &str) -> Option<&'t RowDefinition> {
        table.rows.iter().find(|row| row.label == self.row && row.arm == arm)
    }

    /// Returns the table of the headline with its row alone.
    pub(crate) fn only_row(&self, study: &StudyDefinition) -> TableDefinition {
        let mut table = study.table(&self.table).clone();
        let row = self.row_of(&table, &self.arm).cloned();
        let mut row = row.unwrap_or_else(|| RowDefinition::unpublished(&self.row, &self.arm));
        if let Some(from) = &self.from {
            let published = |row: Option<&RowDefinition>| row?.published.as_ref().and_then(FigureValue::number);
            let (before, after) = (published(self.row_of(&table, from)), published(Some(&row)));
            row.published =
                before.zip(after).map(|(before, after)| FigureValue::Number(self.change_as.of(before, after)));
            row.from = Some(from.clone());
            table.change_as = self.change_as;
            table.unit = match self.change_as {
                ChangeAs::Percent => "%".to_owned(),
                ChangeAs::Difference => table.unit,
                ChangeAs::Factor => "times".to_owned(),
            };
        }
        table.rows = vec![row];
        table
    }
}
