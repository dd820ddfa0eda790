// SPDX-License-Identifier: GPL-2.0-or-later
//! The count sheets in `sheets/`, which `cargo xtask count` writes. The build script turns them into tables.

include!(concat!(env!("OUT_DIR"), "/sheets.rs"));

pub(super) const NR_SHEETS: usize = SHEETS.len();

pub(super) const fn names() -> [&'static str; NR_SHEETS] {
    let mut names = [""; NR_SHEETS];
    let mut index = 0;
    while index < NR_SHEETS {
        names[index] = SHEETS[index].name;
        index += 1;
    }
    names
}

/// Counts of one side and part of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Indices into [`NAMES`].
    side: u8,
    part: u8,
    /// In thousandths.
    calls: u32,
    /// In tenths.
    instructions: u32,
    /// Transfers and upgrades, in tenths.
    lines: u32,
}

impl Row {
    const fn new(side: u8, part: u8, calls: u32, instructions: u32, lines: u32) -> Self {
        Self { side, part, calls, instructions, lines }
    }

    /// Side of the round that executed the instructions.
    pub(super) fn side(&self) -> &'static str {
        NAMES[usize::from(self.side)]
    }

    /// Part of the kernel.
    pub(super) fn part(&self) -> &'static str {
        NAMES[usize::from(self.part)]
    }

    /// Calls, in thousandths.
    pub(super) fn calls(&self) -> i64 {
        i64::from(self.calls)
    }

    /// Instructions, in tenths.
    pub(super) fn instructions(&self) -> i64 {
        i64::from(self.instructions)
    }

    /// Transfers and upgrades of cache lines, in tenths.
    pub(super) fn lines(&self) -> i64 {
        i64::from(self.lines)
    }
}

/// A count sheet: means of a round by operation, side and part.
pub(super) struct Sheet {
    name: &'static str,
    /// Operations by name, with the range of their rows.
    operations: &'static [(&'static str, u32, u32)],
    rows: &'static [Row],
}

impl Sheet {
    /// Returns the sheet with this name, which must be one of [`super::SHEETS`].
    pub(super) fn by_name(name: &str) -> &'static Self {
        let sheet = SHEETS.iter().find(|sheet| sheet.name == name);
        sheet.expect("names of sheets are checked by the reader")
    }

    /// Returns the rows of an operation, if the sheet has it.
    pub(super) fn operation(&self, operation: &str) -> Option<&'static [Row]> {
        let index = self.operations.binary_search_by_key(&operation, |&(name, ..)| name).ok()?;
        let (_, begin, end) = self.operations[index];
        Some(&self.rows[begin as usize..end as usize])
    }

    /// Returns the rows of an operation.
    ///
    /// # Panics
    /// If the sheet does not have the operation.
    pub(super) fn rows(&self, operation: &str) -> &'static [Row] {
        self.operation(operation).unwrap_or_else(|| panic!("no sheet row for {operation}"))
    }
}
