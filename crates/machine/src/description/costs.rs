// SPDX-License-Identifier: GPL-2.0-or-later
//! `[prices]`: what the kernel's operations cost on this machine, and how one knows.
//!
//! A price is time on a CPU of capacity 1024 at its highest frequency. An operation without a price is free.

use super::error::DescriptionFault;
use super::raw::RawPrice;
use super::read::number;
use super::suggest;
use std::collections::BTreeMap;
use toml::Spanned;

/// The names of the operations that can have a price, in the order in which pages list them.
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

/// The highest price: one second, in picoseconds.
const MAX_PS: u64 = 1_000_000_000_000;

/// What one operation costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpCost {
    operation: &'static str,
    ps: u64,
    source: String,
}

impl OpCost {
    /// The operation: one of [`OPERATIONS`].
    pub const fn operation(&self) -> &'static str {
        self.operation
    }

    /// The price in picoseconds (so that 17.5 ns is a whole number), at most one second.
    pub const fn ps(&self) -> u64 {
        self.ps
    }

    /// Where the figure comes from; never empty.
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// The prices of a machine, in the order of [`OPERATIONS`], at most one for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CostList(Vec<OpCost>);

impl CostList {
    /// The prices that are known.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &OpCost> {
        self.0.iter()
    }

    /// The price of an operation, if it is known.
    pub fn get(&self, operation: &str) -> Option<&OpCost> {
        self.0.iter().find(|price| price.operation == operation)
    }

    /// The price of an operation in picoseconds; 0 if it is not known.
    pub fn ps(&self, operation: &str) -> u64 {
        self.get(operation).map_or(0, OpCost::ps)
    }

    /// The same list with another price for one operation, of those that it has.
    #[must_use]
    pub fn with(&self, operation: &str, ps: u64) -> Self {
        let change =
            |price: &OpCost| OpCost { ps: if price.operation == operation { ps } else { price.ps }, ..price.clone() };
        Self(self.0.iter().map(change).collect())
    }

    /// Are all operations free?
    pub fn is_free(&self) -> bool {
        self.0.iter().all(|price| price.ps == 0)
    }
}

pub(super) fn understand(raw: &BTreeMap<Spanned<String>, Spanned<RawPrice>>) -> Result<CostList, DescriptionFault> {
    let mut prices = Vec::with_capacity(raw.len());
    for (name, raw) in raw {
        let place = OPERATIONS.iter().position(|known| known == name.get_ref()).ok_or_else(|| {
            let message = format!("there is no operation `{}`", name.get_ref());
            DescriptionFault::of(name, message, suggest::did_you_mean(name.get_ref(), OPERATIONS))
        })?;
        prices.push((place, price(OPERATIONS[place], raw)?));
    }
    prices.sort_by_key(|(place, _)| *place);
    Ok(CostList(prices.into_iter().map(|(_, price)| price).collect()))
}

fn price(operation: &'static str, raw: &Spanned<RawPrice>) -> Result<OpCost, DescriptionFault> {
    let table = raw.get_ref();
    let ps = match (&table.ns, &table.ps) {
        (Some(ns), None) => number(ns, 0..=MAX_PS / 1_000, "ns")? * 1_000,
        (None, Some(ps)) => number(ps, 0..=MAX_PS, "ps")?,
        (None, None) => {
            return Err(DescriptionFault::of(raw, "a price without a figure", "add `ns = ...` or `ps = ...`"));
        }
        (Some(_), Some(ps)) => {
            return Err(DescriptionFault::of(ps, "the price is given twice", "keep either `ns` or `ps`"));
        }
    };
    Ok(OpCost { operation, ps, source: source(&table.source, "a price")? })
}

/// Where the figure of something comes from, which must be said.
pub(super) fn source(text: &Spanned<String>, of: &str) -> Result<String, DescriptionFault> {
    if text.get_ref().trim().is_empty() {
        let help = "say where the figure comes from: measured how, published where, or calibrated against what";
        return Err(DescriptionFault::of(text, format!("{of} without a source"), help));
    }
    Ok(text.get_ref().clone())
}
