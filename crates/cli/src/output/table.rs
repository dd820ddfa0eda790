// SPDX-License-Identifier: GPL-2.0-or-later
//! Text tables: a header, a line under it, columns separated by two spaces.

use super::{Styles, WIDTH, sanitize};
use comfy_table::{
    Attribute, Cell as Inner, CellAlignment, Color, ColumnConstraint, ContentArrangement, ContentLineStyle, LineStyle,
    Table as InnerTable, TableStyle,
};
use std::io::IsTerminal;

const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none().junction(' '))
    .header_separator(LineStyle::none().fill('─').junction(' '))
    .content_lines(ContentLineStyle::none().junction(' '));

/// Bounds of the width of tables with wrapped columns, in columns of text.
const WIDTHS: std::ops::RangeInclusive<usize> = 70..=160;

/// Smallest width of wrapped text. A table without room for that is wider than the page.
const MIN_WRAPPED_WIDTH: u16 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
    /// Left-aligned, and wrapped if too long.
    Wrap,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tone {
    #[default]
    Plain,
    Quiet,
    Good,
    Notable,
    Bad,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text: sanitize(&text).into_owned(), tone: Tone::Plain }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl Cell {
    pub(crate) fn quiet(self) -> Self {
        Self { tone: Tone::Quiet, ..self }
    }

    pub(crate) fn good(self) -> Self {
        Self { tone: Tone::Good, ..self }
    }

    pub(crate) fn notable(self) -> Self {
        Self { tone: Tone::Notable, ..self }
    }

    pub(crate) fn bad(self) -> Self {
        Self { tone: Tone::Bad, ..self }
    }

    fn inner(&self, align: Align) -> Inner {
        let alignment = if align == Align::Right { CellAlignment::Right } else { CellAlignment::Left };
        let cell = Inner::new(&self.text).set_alignment(alignment);
        match self.tone {
            Tone::Plain => cell,
            Tone::Quiet => cell.add_attribute(Attribute::Dim),
            Tone::Good => cell.fg(Color::Green),
            Tone::Notable => cell.fg(Color::Yellow),
            Tone::Bad => cell.fg(Color::Red),
        }
    }
}

/// Table whose columns are added from left to right, before its rows.
#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: Vec<Align>,
    header: Vec<Inner>,
    inner: InnerTable,
}

impl Table {
    pub(crate) fn left<H: AsRef<str>>(self, headings: impl IntoIterator<Item = H>) -> Self {
        headings.into_iter().fold(self, |table, heading| table.column(heading.as_ref(), Align::Left))
    }

    pub(crate) fn right<H: AsRef<str>>(self, headings: impl IntoIterator<Item = H>) -> Self {
        headings.into_iter().fold(self, |table, heading| table.column(heading.as_ref(), Align::Right))
    }

    pub(crate) fn wrapped(self, heading: &str) -> Self {
        self.column(heading, Align::Wrap)
    }

    pub(super) fn column(mut self, heading: &str, align: Align) -> Self {
        self.header.push(Cell::from(heading).inner(align).add_attribute(Attribute::Bold));
        self.columns.push(align);
        self
    }

    pub(crate) fn nr_columns(&self) -> usize {
        self.columns.len()
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        let cells = cells.iter().zip(&self.columns).map(|(cell, align)| cell.inner(*align));
        self.inner.add_row(cells.collect::<Vec<_>>());
    }

    /// Adds a row of plain text.
    pub(crate) fn text_row<T: Into<Cell>>(&mut self, texts: impl IntoIterator<Item = T>) {
        self.row(texts.into_iter().map(T::into).collect());
    }

    /// Returns the table as text. Lines have no trailing blanks.
    pub(crate) fn render(mut self, styles: Styles) -> String {
        self.inner.load_style(STYLE).set_header(self.header);
        if styles.on {
            self.inner.enforce_styling();
        } else {
            self.inner.force_no_tty();
        }
        let last = self.columns.len().saturating_sub(1);
        for (index, align) in self.columns.iter().enumerate() {
            let column = self.inner.column_mut(index).expect("every column has a header");
            column.set_padding((0, if index < last { 1 } else { 0 }));
            column.set_constraint(match align {
                Align::Left | Align::Right => ColumnConstraint::ContentWidth,
                Align::Wrap => ColumnConstraint::LowerBoundary(comfy_table::Width::Fixed(MIN_WRAPPED_WIDTH)),
            });
        }
        if self.columns.contains(&Align::Wrap) {
            let terminal = if std::io::stdout().is_terminal() { self.inner.width().map(usize::from) } else { None };
            let width = terminal.unwrap_or(WIDTH).clamp(*WIDTHS.start(), *WIDTHS.end());
            self.inner.set_width(u16::try_from(width).unwrap_or(u16::MAX));
            self.inner.set_content_arrangement(ContentArrangement::Dynamic);
        }
        let mut text = String::new();
        for line in self.inner.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_header_a_line_and_aligned_columns() {
        let mut table = Table::default().left(["name"]).right(["count"]);
        table.row(vec!["a".into(), "1".into()]);
        table.row(vec!["long name".into(), "1000".into()]);
        let text = table.render(Styles { on: false });
        assert_eq!(text, "name       count\n────────── ─────\na              1\nlong name   1000\n");
    }

    #[test]
    fn long_text_is_broken_into_lines() {
        let mut table = Table::default().left(["name"]).wrapped("meaning");
        table.row(vec!["a_name_of_some_length".into(), "word ".repeat(60).into()]);
        let text = table.render(Styles { on: false });
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.contains("a_name_of_some_length"));
    }

    #[test]
    fn wide_columns_leave_room_for_words() {
        let mut table = Table::default().left(["name"]).wrapped("meaning");
        table.row(vec!["n".repeat(WIDTH).as_str().into(), "words that stay together".into()]);
        let text = table.render(Styles { on: false });
        assert!(text.contains("words that stay together"), "{text}");
    }
}
