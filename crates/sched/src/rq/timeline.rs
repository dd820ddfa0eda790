// SPDX-License-Identifier: GPL-2.0-or-later
//! The order of a cfs_rq's waiting entities: by virtual runtime, among equals the one that came first.
//!
//! The kernel keeps a red-black tree with a cached leftmost node. Here it is a sorted ring buffer: entities leave mostly
//! at the front and come mostly near the back, so few of them have to move.

use crate::entity::vruntime_before;
use crate::ids::EntityId;
use alloc::collections::VecDeque;

/// Waiting entities in order.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    entries: VecDeque<(u64, EntityId)>,
}

impl Timeline {
    /// An empty timeline with room for so many entities before it has to grow.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { entries: VecDeque::with_capacity(capacity) }
    }

    /// Number of entities.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entity behind all that are not later than it.
    pub fn insert(&mut self, vruntime: u64, entity: EntityId) {
        let place = self.entries.partition_point(|&(other, _)| !vruntime_before(vruntime, other));
        self.entries.insert(place, (vruntime, entity));
    }

    /// Takes an entity out.
    ///
    /// # Panics
    /// If it is not there, or was added with another virtual runtime.
    pub fn remove(&mut self, vruntime: u64, entity: EntityId) {
        let place = self.position(vruntime, entity);
        self.entries.remove(place);
    }

    /// The first entity.
    #[inline]
    pub fn first(&self) -> Option<EntityId> {
        self.entries.front().map(|&(_, entity)| entity)
    }

    /// The virtual runtime of the first entity.
    #[inline]
    pub fn first_vruntime(&self) -> Option<u64> {
        self.entries.front().map(|&(vruntime, _)| vruntime)
    }

    /// The entity behind another one.
    pub fn next(&self, vruntime: u64, entity: EntityId) -> Option<EntityId> {
        self.entries.get(self.position(vruntime, entity) + 1).map(|&(_, next)| next)
    }

    /// All entities in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, EntityId)> + '_ {
        self.entries.iter().copied()
    }

    fn position(&self, vruntime: u64, entity: EntityId) -> usize {
        let first = self.entries.partition_point(|&(other, _)| vruntime_before(other, vruntime));
        let equals = self.entries.range(first..).position(|&(_, other)| other == entity);
        first + equals.unwrap_or_else(|| panic!("{entity:?} with vruntime {vruntime} is not in the timeline"))
    }
}
