// SPDX-License-Identifier: GPL-2.0-or-later
//! Turns the count sheets in `sheets/`, which `cargo xtask count` writes, into tables of numbers, so that no run parses them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Name of each sheet, the folders of its rows (single operations, and load balancing), and a folder that has operations
/// which it lacks.
///
/// On the counted machine, 6.1 on arm64 knows no caches, so it has no domain in which it would scan for an idle CPU.
const SHEETS: [(&str, [&str; 2], Option<&str>); 3] = [
    ("6.1-arm64", ["6.1-arm64", "6.1-arm64-balance"], Some("6.12-arm64-balance")),
    ("6.12-arm64", ["6.12-arm64", "6.12-arm64-balance"], None),
    ("6.12-x86_64", ["6.12-x86_64", "6.12-x86_64-balance"], None),
];

/// Row of a sheet: side and part as indices into the list of names, calls in thousandths, instructions in tenths, and
/// transfers and upgrades of cache lines in tenths.
struct SheetRow {
    side: usize,
    part: usize,
    calls: u32,
    instructions: u32,
    lines: u32,
}

/// Rows by operation.
type Operations = BTreeMap<String, Vec<SheetRow>>;

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../sheets");
    let (mut names, mut sheets) = (Vec::new(), String::new());
    for (name, folders, substitute) in SHEETS {
        let mut operations = Operations::new();
        for folder in folders {
            for (operation, rows) in read(&root, folder, &mut names) {
                operations.entry(operation).or_default().extend(rows);
            }
        }
        for (operation, rows) in substitute.map_or_else(Operations::new, |folder| read(&root, folder, &mut names)) {
            operations.entry(operation).or_insert(rows);
        }
        write_sheet(&mut sheets, name, &operations);
    }
    let mut text = format!("static NAMES: &[&str] = &{names:?};\n\nstatic SHEETS: [Sheet; {}] = [\n", SHEETS.len());
    text.push_str(&sheets);
    text.push_str("];\n");
    let path = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("sheets.rs");
    fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Writes a sheet as a value of the type of the crate. Operations are in the order of their names.
fn write_sheet(text: &mut String, name: &str, operations: &Operations) {
    let (mut index, mut rows, mut begin) = (String::new(), String::new(), 0);
    for (operation, of_operation) in operations {
        let end = begin + of_operation.len();
        write!(index, "({operation:?}, {begin}, {end}), ").expect("text can be written");
        for SheetRow { side, part, calls, instructions, lines } in of_operation {
            write!(rows, "Row::new({side}, {part}, {calls}, {instructions}, {lines}), ").expect("text can be written");
        }
        begin = end;
    }
    writeln!(text, "Sheet {{ name: {name:?}, operations: &[{index}], rows: &[{rows}] }},")
        .expect("text can be written");
}

/// Reads the rows of a folder.
fn read(root: &Path, folder: &str, names: &mut Vec<String>) -> Operations {
    let path = root.join(folder).join("parts.tsv");
    println!("cargo::rerun-if-changed={}", path.display());
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut operations = Operations::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with('#') || line.starts_with("operation\t") {
            continue;
        }
        let Some((operation, row)) = parse(line, names) else {
            panic!("{}:{number}: not a row: {line}", path.display())
        };
        operations.entry(operation.to_owned()).or_default().push(row);
    }
    operations
}

/// Parses a row: operation, side, part, calls, instructions, loads, stores, transfers and upgrades. More cells may follow.
fn parse<'a>(line: &'a str, names: &mut Vec<String>) -> Option<(&'a str, SheetRow)> {
    let mut cells = line.split('\t');
    let [operation, side, part] = [cells.next()?, cells.next()?, cells.next()?];
    let [calls, instructions, _, _, transfers, upgrades] =
        [cells.next()?, cells.next()?, cells.next()?, cells.next()?, cells.next()?, cells.next()?];
    let mut index_of = |name: &str| {
        names.iter().position(|known| known == name).unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        })
    };
    let row = SheetRow {
        side: index_of(side),
        part: index_of(part),
        calls: fixed_point(calls, 3)?,
        instructions: fixed_point(instructions, 1)?,
        lines: fixed_point(transfers, 1)?.checked_add(fixed_point(upgrades, 1)?)?,
    };
    Some((operation, row))
}

/// Reads a number with at most `digits` digits after the point, as a multiple of the last one's unit.
fn fixed_point(text: &str, digits: usize) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > digits {
        return None;
    }
    format!("{whole}{fraction:0<digits$}").parse().ok()
}
