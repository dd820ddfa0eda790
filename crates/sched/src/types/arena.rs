// SPDX-License-Identifier: GPL-2.0-or-later
//! Indices into the arenas of [`SchedDomains`](super::SchedDomains), each of a type of its own.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

/// Index into one kind of arena.
pub trait ArenaId: Copy {
    /// Creates the id of an index.
    fn from_index(index: usize) -> Self;
    /// Index of the item in its arena.
    fn index(self) -> usize;
}

macro_rules! arena_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl ArenaId for $name {
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("an arena has fewer than 2^32 places"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

arena_id! {
    /// Id of a sched domain of one CPU ([`SchedDomain`](super::SchedDomain)).
    DomainId
}
arena_id! {
    /// Id of a group of a sched domain ([`SchedGroup`](super::SchedGroup)), which is no task group.
    SchedGroupId
}
arena_id! {
    /// Id of the capacity of sched groups with the same CPUs
    /// ([`SchedGroupCapacity`](super::SchedGroupCapacity)).
    CapacityId
}
arena_id! {
    /// Id of the state that the CPUs of a last-level cache share
    /// ([`SchedDomainShared`](super::SchedDomainShared)).
    SharedId
}

/// Vector that is indexed by one type of id only.
#[derive(Clone, PartialEq, Eq)]
pub struct Arena<I, T> {
    items: Vec<T>,
    names: PhantomData<I>,
}

impl<I: ArenaId, T> Arena<I, T> {
    /// Creates an empty arena.
    pub const fn new() -> Self {
        Self { items: Vec::new(), names: PhantomData }
    }

    /// Appends an item and returns its id.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::from_index(self.items.len() - 1)
    }

    /// Number of items in the arena.
    pub const fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the arena has no items.
    pub const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All items, in the order of their ids.
    pub fn iter(&self) -> core::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// All items, mutable, in the order of their ids.
    pub fn iter_mut(&mut self) -> core::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// Ids of all items.
    pub fn ids(&self) -> impl Iterator<Item = I> + Clone + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }
}

impl<I: ArenaId, T> Default for Arena<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: ArenaId, T> Index<I> for Arena<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: ArenaId, T> IndexMut<I> for Arena<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I, T: fmt::Debug> fmt::Debug for Arena<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}
