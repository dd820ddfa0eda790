// SPDX-License-Identifier: GPL-2.0-or-later
//! `[smt]`: combined throughput of the threads of a core. Without it, each thread runs at full speed.

use super::cpus::Shape;
use super::error::DescriptionFault;
use super::raw::{OptionalKey, RawSmt};
use super::values::number;
use fairlab_sched::units::SCHED_CAPACITY_SCALE;

/// Combined throughput of busy threads of a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smt {
    /// Combined throughput of one, two, ... busy threads of a core, in percent of a single thread; the first
    /// is 100.
    pub throughput_percent: Vec<u64>,
    /// Source of the numbers.
    pub source: String,
}

impl Smt {
    /// Share of a whole core that each busy thread has (1024: all of it), indexed by the number of busy
    /// threads minus one.
    pub fn shares(&self) -> Vec<u64> {
        let share = |(index, percent): (usize, &u64)| percent * SCHED_CAPACITY_SCALE / (100 * (index as u64 + 1));
        self.throughput_percent.iter().enumerate().map(share).collect()
    }
}

pub(super) fn from_raw(raw: &OptionalKey<RawSmt>, shape: &Shape) -> Result<Option<Smt>, DescriptionFault> {
    let Some(raw) = raw else { return Ok(None) };
    let list = &raw.get_ref().throughput_percent;
    let threads = max_threads_per_core(shape);
    if list.get_ref().len() != threads {
        let numbers = if list.get_ref().len() == 1 { "number" } else { "numbers" };
        let message = format!("{} {numbers} for cores of up to {threads} threads", list.get_ref().len());
        return Err(DescriptionFault::from_value(
            list,
            message,
            format!("write {threads} numbers: for one busy thread (100), for two, ..."),
        ));
    }
    let mut throughput_percent: Vec<u64> = Vec::with_capacity(threads);
    for (entry, nr) in list.get_ref().iter().zip(1..) {
        let least = throughput_percent.last().copied().unwrap_or(100);
        throughput_percent.push(number(entry, least..=100 * nr, "percent")?);
    }
    Ok(Some(Smt { throughput_percent, source: raw.get_ref().source.get_ref().clone() }))
}

/// Returns the maximum number of threads of a core.
fn max_threads_per_core(shape: &Shape) -> usize {
    let mut threads = vec![0; shape.nr_units(|place| place.core) as usize];
    shape.places.iter().for_each(|place| threads[place.core as usize] += 1);
    threads.into_iter().max().unwrap_or(1)
}
