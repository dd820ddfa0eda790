// SPDX-License-Identifier: GPL-2.0-or-later
//! Inputs for updates of an entity's averages: the mixes of `pelt bench`, in its order.

use fairlab_sched::ids::{CfsRqId, TaskId};
use fairlab_sched::state::entity::{EntityOwner, SchedEntity};
use fairlab_sched::types::pelt::Contribution;
use fairlab_sched::types::pelt::util_est::UTIL_AVG_UNCHANGED;

/// Number of inputs in a mix.
const NR_INPUTS: usize = 4096;

/// Input of one PELT update of an entity.
pub(crate) struct Input {
    /// Time since the previous update.
    pub(crate) delta_ns: u64,
    /// Whether the entity is runnable.
    pub(crate) on_rq: bool,
    /// Whether the entity runs on its CPU.
    pub(crate) running: bool,
}

/// A mix of updates.
pub(crate) struct Mix {
    /// Composition of the mix, in words.
    pub(crate) name: &'static str,
    /// Updates in chronological order.
    pub(crate) inputs: Vec<Input>,
}

/// Draws the mixes one after the other from one generator (splitmix64).
pub(crate) struct Mixes {
    state: u64,
    next: usize,
}

const NAMES: [&str; 5] = [
    "standard mix (50% sub-period 1-900us, 30% 4ms tick, 15% 1-30us, 5% 50-500ms; 75% on_rq, 50% running)",
    "4ms tick, always running",
    "1ms tick, always running",
    "sub-period 10-100us",
    "idle long 100ms-1s blocked",
];

impl Mixes {
    /// All mixes from the start.
    pub(crate) fn new() -> Self {
        Self { state: 42, next: 0 }
    }

    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn draw_between(&mut self, low: u64, high: u64) -> u64 {
        low + self.draw() % (high - low + 1)
    }

    fn input(&mut self, mix: usize) -> Input {
        let percent = self.draw() % 100;
        let delta_ns = match (mix, percent) {
            (0, 0..50) => self.draw_between(1_000, 900_000),
            (0, 50..80) | (1, _) => 4_000_000,
            (0, 80..95) => self.draw_between(1_000, 30_000),
            (0, _) => self.draw_between(50, 500) * 1_000_000,
            (2, _) => 1_000_000,
            (3, _) => self.draw_between(10_000, 100_000),
            _ => self.draw_between(100, 1_000) * 1_000_000,
        };
        let is_active = mix != 4;
        let on_rq = if mix == 0 { !self.draw().is_multiple_of(4) } else { is_active };
        let running = if mix == 0 { self.draw() % 2 == 1 } else { is_active };
        Input { delta_ns, on_rq, running }
    }
}

impl Iterator for Mixes {
    type Item = Mix;

    fn next(&mut self) -> Option<Mix> {
        let mix = self.next;
        let name = NAMES.get(mix)?;
        self.next += 1;
        Some(Mix { name, inputs: (0..NR_INPUTS).map(|_| self.input(mix)).collect() })
    }
}

/// An entity with the weight of nice 0 that was never queued.
pub(crate) fn nice_0_entity() -> SchedEntity {
    SchedEntity::new(EntityOwner::Task(TaskId(0)), CfsRqId(0))
}

/// Updates averages like `__update_load_avg_se()`, without observers.
#[inline]
pub(crate) fn update(entity: &mut SchedEntity, now: u64, input: &Input) -> bool {
    entity.on_rq = input.on_rq;
    let what = Contribution { load: u64::from(entity.on_rq), runnable: entity.runnable(), running: input.running };
    let weight = entity.weight();
    let refreshed = entity.avg.update(now, what, weight, None);
    if refreshed {
        entity.avg.util_est.enqueued &= !UTIL_AVG_UNCHANGED;
    }
    refreshed
}
