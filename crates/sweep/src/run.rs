// SPDX-License-Identifier: GPL-2.0-or-later
//! Execution of the points of a sweep without results, on all cores. Each result is stored as soon as it is
//! available.

use super::PointRunner;
use super::plan::SweepPoint;
use super::store::{PointStore, StoreError, StoredPoint, StoredResult, identity};
use fairlab_experiment::pool;
use fairlab_workload::message::Message;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Instant;

/// Largest number of results that wait for the store.
const MAX_WAITING: usize = 256;

/// Share of a plan's points that one process runs: shard `which` of `of`, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    which: u64,
    of: u64,
}

impl Default for Shard {
    fn default() -> Self {
        Self { which: 1, of: 1 }
    }
}

impl Shard {
    /// Parses a shard such as `2/8`.
    ///
    /// # Errors
    /// If the text is no shard.
    pub fn parse(text: &str) -> Result<Self, Message> {
        let wrong =
            || Message::new(format!("`{text}` is not a shard")).with_help("write i/N: 1/4 is the first of four");
        let (which, of) = text.split_once('/').ok_or_else(wrong)?;
        let (which, of) = (which.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
        if which < 1 || which > of { Err(wrong()) } else { Ok(Self { which, of }) }
    }

    /// Whether the shard contains a point. This depends only on the point's identity, so that a changed plan
    /// moves no point to another shard.
    pub fn has(self, id: &str) -> bool {
        let place = u64::from_str_radix(&id[..8], 16).expect("identities are hexadecimal");
        place % self.of == self.which - 1
    }
}

/// Returns the points of a plan with their identities; points that occur twice are merged.
///
/// # Errors
/// If the inputs of a point cannot be determined, with the reason.
pub fn identified(points: Vec<SweepPoint>, runs: &impl PointRunner) -> Result<Vec<(String, SweepPoint)>, Message> {
    let mut all: Vec<(String, SweepPoint)> = Vec::with_capacity(points.len());
    let mut seen = std::collections::BTreeSet::new();
    for point in points {
        let id = identity(&runs.inputs(&point)?, &point);
        // A sample may draw the same values twice.
        if seen.insert(id.clone()) {
            all.push((id, point));
        }
    }
    Ok(all)
}

/// Returns the points of the plan that have no result and belong to a shard.
///
/// # Errors
/// If the store cannot be read.
pub fn pending(store: &PointStore, shard: Shard) -> Result<Vec<StoredPoint>, StoreError> {
    let mut kept = store.points()?;
    kept.retain(|kept| kept.in_plan && kept.result.is_none() && shard.has(&kept.id));
    Ok(kept)
}

/// Executes the points. `on_result` is called after each result is written; `has_more` is called before each run,
/// and ends the sweep with `false`.
///
/// # Errors
/// If a result cannot be written; then no further run starts. Results already written are kept.
pub fn run(
    store: &mut PointStore,
    pending: Vec<StoredPoint>,
    runs: &impl PointRunner,
    has_more: &(dyn Fn() -> bool + Sync),
    on_result: &mut dyn FnMut(&StoredResult),
) -> Result<(), StoreError> {
    let (sender, receiver) = sync_channel(MAX_WAITING);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let is_over = &is_over;
        scope.spawn(move || {
            let one = |kept: StoredPoint| {
                if is_over.load(Ordering::Relaxed) || !has_more() {
                    return Ok::<_, ()>(());
                }
                let begun = Instant::now();
                let Some(outcome) = runs.run(&kept.point) else { return Ok(()) };
                let wall_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
                // Sending fails only after a result could not be written, which ends the sweep.
                let _ = sender.send((kept.id, StoredResult { outcome, wall_ns }));
                Ok(())
            };
            pool::all(pending, one).expect("failures are results");
        });
        let written = write(store, &receiver, on_result);
        is_over.store(written.is_err(), Ordering::Relaxed);
        // Senders that wait for room in the channel are released.
        drop(receiver);
        written
    })
}

/// Writes results as they arrive, all that are available in one transaction.
fn write(
    store: &mut PointStore,
    receiver: &Receiver<(String, StoredResult)>,
    on_result: &mut dyn FnMut(&StoredResult),
) -> Result<(), StoreError> {
    while let Ok(first) = receiver.recv() {
        let batch: Vec<(String, StoredResult)> = std::iter::once(first).chain(receiver.try_iter()).collect();
        store.put(&batch)?;
        batch.iter().for_each(|(_, done)| on_result(done));
    }
    Ok(())
}
