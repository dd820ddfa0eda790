// SPDX-License-Identifier: GPL-2.0-or-later
//! The order of a cfs_rq's waiting entities: by virtual runtime, among equals the one that came first.
//!
//! The kernel keeps a red-black tree with a cached leftmost node. Here it is a sorted array with the first entity at its
//! end: there most of them leave, and few have to move for it.

use crate::state::entity::vruntime_before;
use crate::types::ids::EntityId;
use alloc::vec::Vec;

/// Waiting entities in order.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The last entity comes first.
    entries: Vec<(u64, EntityId)>,
}

impl Timeline {
    /// An empty timeline with room for so many entities before it has to grow.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity) }
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
        let place = self.entries.partition_point(|&(other, _)| vruntime_before(vruntime, other));
        self.entries.insert(place, (vruntime, entity));
    }

    /// Takes an entity out.
    ///
    /// # Panics
    /// If it is not there, or was added with another virtual runtime.
    pub fn remove(&mut self, vruntime: u64, entity: EntityId) {
        if self.entries.last() == Some(&(vruntime, entity)) {
            self.entries.pop();
        } else {
            let place = self.position(vruntime, entity);
            self.entries.remove(place);
        }
    }

    /// The first entity.
    #[inline]
    pub fn first(&self) -> Option<EntityId> {
        self.entries.last().map(|&(_, entity)| entity)
    }

    /// The virtual runtime of the first entity.
    #[inline]
    pub fn first_vruntime(&self) -> Option<u64> {
        self.entries.last().map(|&(vruntime, _)| vruntime)
    }

    /// The entity behind another one.
    pub fn next(&self, vruntime: u64, entity: EntityId) -> Option<EntityId> {
        let behind = self.position(vruntime, entity).checked_sub(1)?;
        self.entries.get(behind).map(|&(_, next)| next)
    }

    /// All entities in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, EntityId)> + '_ {
        self.entries.iter().rev().copied()
    }

    fn position(&self, vruntime: u64, entity: EntityId) -> usize {
        let last = self.entries.partition_point(|&(other, _)| vruntime_before(vruntime, other));
        let equals = self.entries[last..].iter().position(|&(_, other)| other == entity);
        last + equals.unwrap_or_else(|| panic!("{entity:?} with vruntime {vruntime} is not in the timeline"))
    }
}
