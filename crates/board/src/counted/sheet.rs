// SPDX-License-Identifier: GPL-2.0-or-later
//! The count sheets in `sheets/`, which `cargo xtask count` writes.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Text of a table of a sheet.
macro_rules! table {
    ($sheet:literal) => {
        include_str!(concat!("../../../../sheets/", $sheet, "/parts.tsv"))
    };
}

/// Name of each sheet, its tables of parts, of single operations and of load balancing, and a table that has operations
/// which it lacks.
///
/// On the counted machine, 6.1 on arm64 knows no caches, so it has no domain in which it would scan for an idle CPU.
const TABLES: [(&str, [&str; 2], &str); NR_SHEETS] = [
    ("6.1-arm64", [table!("6.1-arm64"), table!("6.1-arm64-balance")], table!("6.12-arm64-balance")),
    ("6.12-arm64", [table!("6.12-arm64"), table!("6.12-arm64-balance")], ""),
    ("6.12-x86_64", [table!("6.12-x86_64"), table!("6.12-x86_64-balance")], ""),
];

pub(super) const NR_SHEETS: usize = 3;

pub(super) const fn names() -> [&'static str; NR_SHEETS] {
    let mut names = [""; NR_SHEETS];
    let mut index = 0;
    while index < NR_SHEETS {
        names[index] = TABLES[index].0;
        index += 1;
    }
    names
}

/// Number of cells of a row that costs follow from. More may follow.
const NR_CELLS: usize = 9;

/// Counts of one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// In thousandths.
    pub(super) calls: i64,
    /// In tenths.
    pub(super) instructions: i64,
    /// Transfers and upgrades, in tenths.
    pub(super) lines: i64,
}

/// Rows of an operation by side and part.
pub(super) type Rows = Vec<(&'static str, &'static str, Row)>;

/// A count sheet: means of a round by operation, side and part.
pub(super) struct Sheet {
    operations: HashMap<&'static str, Rows>,
}

impl Sheet {
    /// Returns the sheet with this name, which must be one of [`super::SHEETS`]. It is parsed once.
    pub(super) fn by_name(name: &str) -> &'static Self {
        static PARSED: [OnceLock<Sheet>; NR_SHEETS] = [const { OnceLock::new() }; NR_SHEETS];
        let place = TABLES.iter().position(|(known, ..)| *known == name);
        let place = place.expect("names of sheets are checked by the reader");
        PARSED[place].get_or_init(|| {
            let (_, tables, substitute) = &TABLES[place];
            Self::parse(tables, substitute).unwrap_or_else(|line| panic!("sheet {name}: parts.tsv: not a row: {line}"))
        })
    }

    fn parse(tables: &[&'static str], substitute: &'static str) -> Result<Self, &'static str> {
        let mut sheet = Self { operations: HashMap::new() };
        for table in tables {
            sheet.read(table.lines())?;
        }
        let is_missing: Vec<&str> =
            substitute.lines().filter(|line| !sheet.operations.contains_key(operation_of(line))).collect();
        sheet.read(is_missing.into_iter())?;
        Ok(sheet)
    }

    /// Adds the rows of a table.
    fn read(&mut self, lines: impl Iterator<Item = &'static str>) -> Result<(), &'static str> {
        for line in lines.filter(|line| !line.starts_with('#') && !line.starts_with("operation\t")) {
            let mut cells = line.splitn(NR_CELLS + 1, '\t');
            let mut cell = || cells.next().ok_or(line);
            let [operation, side, part, calls, instructions, _, _, transfers, upgrades] =
                [cell()?, cell()?, cell()?, cell()?, cell()?, cell()?, cell()?, cell()?, cell()?];
            let tenths = |text: &str| fixed_point(text, 1).ok_or(line);
            let row = Row {
                calls: fixed_point(calls, 3).ok_or(line)?,
                instructions: tenths(instructions)?,
                lines: tenths(transfers)? + tenths(upgrades)?,
            };
            self.operations.entry(operation).or_default().push((side, part, row));
        }
        Ok(())
    }

    /// Returns the rows of an operation, if the sheet has it.
    pub(super) fn operation(&self, operation: &str) -> Option<&Rows> {
        self.operations.get(operation)
    }

    /// Returns the rows of an operation.
    ///
    /// # Panics
    /// If the sheet does not have the operation.
    pub(super) fn rows(&self, operation: &str) -> &Rows {
        self.operation(operation).unwrap_or_else(|| panic!("no sheet row for {operation}"))
    }
}

/// Returns the operation of a row.
fn operation_of(line: &str) -> &str {
    line.split('\t').next().unwrap_or_default()
}

/// Reads a number with at most `digits` digits after the point, as a multiple of the last one's unit.
fn fixed_point(text: &str, digits: usize) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > digits {
        return None;
    }
    let mut number: i64 = whole.parse().ok()?;
    for place in 0..digits {
        let digit = fraction.as_bytes().get(place).map_or(Some(0), |byte| char::from(*byte).to_digit(10))?;
        number = 10 * number + i64::from(digit);
    }
    Some(number)
}
