// SPDX-License-Identifier: GPL-2.0-or-later
//! `[smt]`: what the threads of a core get done together. Without it each thread is as fast as if it were alone.

use super::cpus::Shape;
use super::error::DescriptionFault;
use super::raw::{OptionalKey, RawSmt};
use super::read::number;
use fairlab_sched::units::SCHED_CAPACITY_SCALE;

/// How much threads of a core get done together when several of them work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smt {
    pub(super) throughput_percent: Vec<u64>,
    pub(super) source: String,
}

impl Smt {
    /// What one, two, ... working threads of a core get done in sum, in percent of what one does alone; the first is 100.
    pub fn throughput_percent(&self) -> &[u64] {
        &self.throughput_percent
    }

    /// Where that comes from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The part of a whole core that each of the working threads has, of 1024: by number of working threads, from one on.
    pub fn shares(&self) -> Vec<u64> {
        let share = |(index, percent): (usize, &u64)| percent * SCHED_CAPACITY_SCALE / (100 * (index as u64 + 1));
        self.throughput_percent.iter().enumerate().map(share).collect()
    }
}

pub(super) fn understand(raw: &OptionalKey<RawSmt>, shape: &Shape) -> Result<Option<Smt>, DescriptionFault> {
    let Some(raw) = raw else { return Ok(None) };
    let list = &raw.get_ref().throughput_percent;
    let threads = most_threads(shape);
    if list.get_ref().len() != threads {
        let message = format!("{} figures for cores of up to {threads} threads", list.get_ref().len());
        return Err(DescriptionFault::of(
            list,
            message,
            format!("write {threads}: for one working thread (100), for two, ..."),
        ));
    }
    let mut throughput_percent: Vec<u64> = Vec::with_capacity(threads);
    for (entry, nr) in list.get_ref().iter().zip(1..) {
        let least = throughput_percent.last().copied().unwrap_or(100);
        throughput_percent.push(number(entry, least..=100 * nr, "percent")?);
    }
    Ok(Some(Smt { throughput_percent, source: raw.get_ref().source.get_ref().clone() }))
}

/// How many threads the core with the most has.
fn most_threads(shape: &Shape) -> usize {
    let mut threads = vec![0; shape.nr_units(|place| place.core) as usize];
    shape.places.iter().for_each(|place| threads[place.core as usize] += 1);
    threads.into_iter().max().unwrap_or(1)
}
