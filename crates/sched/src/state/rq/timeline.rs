// SPDX-License-Identifier: GPL-2.0-or-later
//! Waiting entities of a cfs_rq, ordered by virtual runtime; equal ones in the order of insertion.
//!
//! The kernel keeps a red-black tree with a cached leftmost node. Here it is a sorted array with the first
//! entity at its end, where most entities leave and few others have to move.

use crate::state::entity::vruntime_before;
use crate::types::ids::EntityId;
use alloc::vec::Vec;

/// Waiting entities in order.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Sorted in descending order: the last entry is the first entity.
    entries: Vec<(u64, EntityId)>,
}

impl Timeline {
    /// Creates an empty timeline with room for `capacity` entities.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity) }
    }

    /// Number of waiting entities.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no entity waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entity behind all that are not later.
    pub fn insert(&mut self, vruntime: u64, entity: EntityId) {
        if self.entries.last().is_none_or(|&(first, _)| vruntime_before(vruntime, first)) {
            return self.entries.push((vruntime, entity));
        }
        let place = self.entries.partition_point(|&(other, _)| vruntime_before(vruntime, other));
        self.entries.insert(place, (vruntime, entity));
    }

    /// Removes an entity.
    ///
    /// # Panics
    /// If the entity is not in the timeline, or was added with another virtual runtime.
    pub fn remove(&mut self, vruntime: u64, entity: EntityId) {
        if self.entries.last() == Some(&(vruntime, entity)) {
            self.entries.pop();
        } else {
            let place = self.position(vruntime, entity);
            self.entries.remove(place);
        }
    }

    /// First entity: the one with the lowest virtual runtime.
    #[inline]
    pub fn first(&self) -> Option<EntityId> {
        self.entries.last().map(|&(_, entity)| entity)
    }

    /// Virtual runtime of the first entity, in ns of a nice-0 task.
    #[inline]
    pub fn first_vruntime(&self) -> Option<u64> {
        self.entries.last().map(|&(vruntime, _)| vruntime)
    }

    /// Entity behind another one.
    pub fn next(&self, vruntime: u64, entity: EntityId) -> Option<EntityId> {
        let behind = self.position(vruntime, entity).checked_sub(1)?;
        self.entries.get(behind).map(|&(_, next)| next)
    }

    /// All entities in order, with their virtual runtimes.
    pub fn iter(&self) -> impl Iterator<Item = (u64, EntityId)> + '_ {
        self.entries.iter().rev().copied()
    }

    fn position(&self, vruntime: u64, entity: EntityId) -> usize {
        let last = self.entries.partition_point(|&(other, _)| vruntime_before(vruntime, other));
        let equals = self.entries[last..].iter().position(|&(_, other)| other == entity);
        last + equals.unwrap_or_else(|| panic!("{entity:?} with vruntime {vruntime} is not in the timeline"))
    }
}
