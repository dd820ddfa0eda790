// SPDX-License-Identifier: GPL-2.0-or-later
//! `[prices]`: costs of kernel operations on this machine, with their sources.
//!
//! A cost is time on a CPU of capacity 1024 at its highest frequency. An operation that is not listed has no
//! cost.

use super::counted::{self, CallCosts, CountedCosts};
use super::error::DescriptionFault;
use super::processor::Processor;
use super::raw::RawOpCost;
use super::suggest;
use super::values::number;
use std::collections::BTreeMap;
use toml::Spanned;

/// Names of the operations that can have a cost, in display order.
pub const OPERATIONS: [&str; 45] = [
    "ContextSwitch",
    "Wakeup",
    "Enqueue",
    "Dequeue",
    "PeltUpdate",
    "PeltScale",
    "GroupLevel",
    "PickNext",
    "Tick",
    "ScanCpu",
    "ScanCore",
    "BlockedCfsRq",
    "GroupStatCpu",
    "QueueStatCpu",
    "RqLock",
    "LineTransfer",
    "LineTransferRemote",
    "DetachScan",
    "DetachTask",
    "AttachTask",
    "BalancePass",
    "NohzExit",
    "NohzKick",
    "TicklessCpu",
    "SoftirqRaise",
    "IpiSend",
    "IpiReceive",
    "HrtimerProgram",
    "HrtimerFire",
    "Timekeeping",
    "CpufreqUpdate",
    "IdleEnter",
    "IdleExit",
    "Fork",
    "Exit",
    "RemoteEnqueue",
    "Syscall",
    "PipeTransfer",
    "SocketTransfer",
    "TcpTransfer",
    "UdpTransfer",
    "LoopbackSoftirq",
    "ChannelLine",
    "ChannelLineRemote",
    "Tracer",
];

/// Maximum cost: one second, in picoseconds.
const MAX_PS: u64 = 1_000_000_000_000;

/// Cost of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpCost {
    operation: &'static str,
    ps: u64,
    source: String,
}

impl OpCost {
    /// Creates the cost of one of [`OPERATIONS`].
    pub(super) const fn new(operation: &'static str, ps: u64, source: String) -> Self {
        Self { operation, ps, source }
    }

    /// Operation: one of [`OPERATIONS`].
    pub const fn operation(&self) -> &'static str {
        self.operation
    }

    /// Cost in picoseconds (so that 17.5 ns is a whole number), at most one second.
    pub const fn ps(&self) -> u64 {
        self.ps
    }

    /// Source of the number; never empty.
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// Costs of a machine, in the order of [`OPERATIONS`], at most one for each operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CostList {
    operations: Vec<OpCost>,
    calls: Option<CallCosts>,
}

impl CostList {
    /// Returns all listed costs.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &OpCost> {
        self.operations.iter()
    }

    /// Costs of system calls, if they follow from a count sheet. Then operations that stand for whole system
    /// calls and messages (`Syscall`, `PipeTransfer`, ...) have no meaning.
    pub const fn calls(&self) -> Option<&CallCosts> {
        self.calls.as_ref()
    }

    /// Returns the cost of an operation, if it is listed.
    pub fn get(&self, operation: &str) -> Option<&OpCost> {
        self.operations.iter().find(|price| price.operation == operation)
    }

    /// Cost of an operation in picoseconds; 0 if it is not listed.
    pub fn ps(&self, operation: &str) -> u64 {
        self.get(operation).map_or(0, OpCost::ps)
    }

    /// Returns the list with a changed cost of one listed operation.
    #[must_use]
    pub fn with_cost(&self, operation: &str, ps: u64) -> Self {
        let change =
            |price: &OpCost| OpCost { ps: if price.operation == operation { ps } else { price.ps }, ..price.clone() };
        Self { operations: self.operations.iter().map(change).collect(), calls: self.calls.clone() }
    }

    /// Whether all costs are 0.
    pub fn is_zero_cost(&self) -> bool {
        self.calls.is_none() && self.operations.iter().all(|price| price.ps == 0)
    }
}

pub(super) fn from_raw(
    raw: &BTreeMap<Spanned<String>, Spanned<RawOpCost>>,
    processor: Option<&Processor>,
) -> Result<CostList, DescriptionFault> {
    if let Some(processor) = processor {
        if let Some(name) = raw.keys().next() {
            return Err(excluded(name));
        }
        let CountedCosts { operations, calls } = counted::costs(processor);
        return Ok(CostList { operations, calls: Some(calls) });
    }
    let mut prices = Vec::with_capacity(raw.len());
    for (name, raw) in raw {
        let place = OPERATIONS.iter().position(|known| known == name.get_ref()).ok_or_else(|| {
            let message = format!("there is no operation `{}`", name.get_ref());
            DescriptionFault::from_value(name, message, suggest::did_you_mean(name.get_ref(), OPERATIONS))
        })?;
        prices.push((place, op_cost(OPERATIONS[place], raw)?));
    }
    prices.sort_by_key(|(place, _)| *place);
    Ok(CostList { operations: prices.into_iter().map(|(_, price)| price).collect(), calls: None })
}

/// Error about an entry of a table that `[processor]` replaces.
pub(super) fn excluded(name: &Spanned<String>) -> DescriptionFault {
    let help = "remove the entry, or the table `[processor]`, from whose facts all costs follow";
    DescriptionFault::from_value(name, "a cost beside the facts of `[processor]`".to_owned(), help)
}

fn op_cost(operation: &'static str, raw: &Spanned<RawOpCost>) -> Result<OpCost, DescriptionFault> {
    let table = raw.get_ref();
    let ps = match (&table.ns, &table.ps) {
        (Some(ns), None) => number(ns, 0..=MAX_PS / 1_000, "ns")? * 1_000,
        (None, Some(ps)) => number(ps, 0..=MAX_PS, "ps")?,
        (None, None) => {
            return Err(DescriptionFault::from_value(raw, "a price without a number", "add `ns = ...` or `ps = ...`"));
        }
        (Some(_), Some(ps)) => {
            return Err(DescriptionFault::from_value(ps, "the price is given twice", "keep either `ns` or `ps`"));
        }
    };
    Ok(OpCost { operation, ps, source: source(&table.source, "a price")? })
}

/// Returns the source of a number, which is mandatory.
pub(super) fn source(text: &Spanned<String>, of: &str) -> Result<String, DescriptionFault> {
    if text.get_ref().trim().is_empty() {
        let help = "name the source of the number: a measurement, a publication or a calibration";
        return Err(DescriptionFault::from_value(text, format!("{of} without a source"), help));
    }
    Ok(text.get_ref().clone())
}
