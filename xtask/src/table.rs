// SPDX-License-Identifier: GPL-2.0-or-later
//! Text tables in the style of the command line: names left-aligned, numbers right-aligned.

use comfy_table::{CellAlignment, ColumnConstraint, ContentLineStyle, LineStyle, Table, TableStyle};

/// Style of all tables.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none().junction(' '))
    .header_separator(LineStyle::none().fill('─').junction(' '))
    .content_lines(ContentLineStyle::none().junction(' '));

/// Returns the text of a table whose first `nr_names` columns are names.
pub(crate) fn render(nr_names: usize, header: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).force_no_tty().set_header(header).add_rows(rows);
    for index in 0..header.len() {
        let column = table.column_mut(index).expect("every column has a header");
        column.set_padding((0, u16::from(index + 1 < header.len())));
        column.set_constraint(ColumnConstraint::ContentWidth);
        column.set_cell_alignment(if index < nr_names { CellAlignment::Left } else { CellAlignment::Right });
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::render;

    #[test]
    fn names_are_flush_left_and_figures_flush_right() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["long name".to_owned(), "1000".to_owned()]];
        let text = render(1, &["name", "count"], &rows);
        assert_eq!(text, "name       count\n────────── ─────\na              1\nlong name   1000\n");
    }
}
