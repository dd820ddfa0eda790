// SPDX-License-Identifier: GPL-2.0-or-later
//! Results of one count, as the plugin and the guest leave them in a directory.

use super::owners::Owners;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::ops::AddAssign;
use std::path::Path;

/// Counts of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) instructions: f64,
    pub(super) loads: f64,
    pub(super) stores: f64,
    /// Accesses to lines that only other CPUs held.
    pub(super) transfers: f64,
    /// Stores to lines that this CPU and others held.
    pub(super) upgrades: f64,
    /// How often the side or part was entered; of functions, how often they were called.
    pub(super) calls: f64,
    /// Returns from functions.
    pub(super) returns: f64,
    /// Calls and jumps to an address in a register or in memory.
    pub(super) indirect: f64,
    /// Instructions that read and write memory atomically.
    pub(super) atomics: f64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.instructions += more.instructions;
        self.loads += more.loads;
        self.stores += more.stores;
        self.transfers += more.transfers;
        self.upgrades += more.upgrades;
        self.calls += more.calls;
        self.returns += more.returns;
        self.indirect += more.indirect;
        self.atomics += more.atomics;
    }
}

impl Counts {
    pub(super) fn scaled(self, factor: f64) -> Self {
        Self {
            instructions: self.instructions * factor,
            loads: self.loads * factor,
            stores: self.stores * factor,
            transfers: self.transfers * factor,
            upgrades: self.upgrades * factor,
            calls: self.calls * factor,
            returns: self.returns * factor,
            indirect: self.indirect * factor,
            atomics: self.atomics * factor,
        }
    }
}

/// Side and part of the kernel.
pub(super) type SidePart = (String, String);

/// One operation in one count. Counts are means over its rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Operation {
    pub(super) name: String,
    pub(super) rounds: u64,
    pub(super) dropped: u64,
    pub(super) parts: BTreeMap<SidePart, Counts>,
    pub(super) functions: BTreeMap<(SidePart, String), Counts>,
    /// By side and owner; transfers and upgrades.
    pub(super) lines: BTreeMap<(String, String), Counts>,
}

/// Reads a count: its operations, in order.
pub(super) fn read(directory: &Path, mut owners: Owners<'_>) -> Result<Vec<Operation>> {
    let path = directory.join("console");
    let console = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    // Owners are printed after the name of the measurement that they belong to.
    let mut operations: Vec<Operation> = Vec::new();
    let mut name: Option<String> = None;
    for line in console.lines().chain(["RUN "]) {
        let begins = line.find("RUN ").map(|place| &line[place + 4..]);
        if let Some(next) = begins {
            if let Some(name) = name.replace(next.to_owned()) {
                let file = directory.join(format!("count.{}", operations.len()));
                let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
                operations.push(parse(&name, &text, &owners).with_context(|| file.display().to_string())?);
            }
        } else {
            owners.read(line);
        }
    }
    if operations.is_empty() {
        bail!("{}: no measurement", path.display());
    }
    Ok(operations)
}

/// Reads a file of the plugin.
fn parse(name: &str, text: &str, owners: &Owners<'_>) -> Result<Operation> {
    let mut operation = Operation { name: name.to_owned(), ..Operation::default() };
    let mut scale = 0.0;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |index: usize| words[index].parse::<u64>().with_context(|| format!("not a count: {line}"));
        let hex =
            |index: usize| u64::from_str_radix(words[index], 16).with_context(|| format!("not an address: {line}"));
        let figure = |index: usize| Ok::<_, anyhow::Error>(number(index)? as f64 * scale);
        match (words.first().copied(), words.len()) {
            (Some("rounds"), 3) => {
                (operation.rounds, operation.dropped) = (number(1)?, number(2)?);
                scale = 1.0 / operation.rounds.max(1) as f64;
            }
            (Some("F"), 14) => {
                let part = (words[1].to_owned(), words[2].to_owned());
                let counts = Counts {
                    instructions: figure(4)?,
                    loads: figure(5)?,
                    stores: figure(6)?,
                    transfers: figure(7)?,
                    upgrades: figure(8)?,
                    calls: figure(9)?,
                    returns: figure(11)?,
                    indirect: figure(12)?,
                    atomics: figure(13)?,
                };
                *operation.parts.entry(part.clone()).or_default() += Counts { calls: figure(10)?, ..counts };
                *operation.functions.entry((part, words[3].to_owned())).or_default() += counts;
            }
            (Some("L"), 6) => {
                let key = (words[1].to_owned(), owners.owner(hex(2)?, hex(3)?));
                let counts = Counts { transfers: figure(4)?, upgrades: figure(5)?, ..Counts::default() };
                *operation.lines.entry(key).or_default() += counts;
            }
            _ => bail!("not a line of the plugin: {line}"),
        }
    }
    Ok(operation)
}
