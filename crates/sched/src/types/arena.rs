// SPDX-License-Identifier: GPL-2.0-or-later
//! Vectors that are indexed by one type of id.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

/// Index into one kind of arena. The ids are in [`ids`](super::ids).
pub trait ArenaId: Copy {
    /// Creates the id of an index.
    fn from_index(index: usize) -> Self;
    /// Index of the item in its arena.
    fn index(self) -> usize;
}

/// Vector that is indexed by one type of id only. Items are never removed.
#[derive(Clone, PartialEq, Eq)]
pub struct Arena<I, T> {
    items: Vec<T>,
    ids: PhantomData<I>,
}

impl<I: ArenaId, T> Arena<I, T> {
    /// Creates an empty arena.
    pub const fn new() -> Self {
        Self { items: Vec::new(), ids: PhantomData }
    }

    /// Creates an empty arena with room for a number of items.
    pub fn with_capacity(nr_items: usize) -> Self {
        Self { items: Vec::with_capacity(nr_items), ids: PhantomData }
    }

    /// Creates an arena with a number of equal items.
    pub fn filled(item: T, nr_items: usize) -> Self
    where
        T: Clone,
    {
        Self { items: alloc::vec![item; nr_items], ids: PhantomData }
    }

    /// Appends an item and returns its id.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::from_index(self.items.len() - 1)
    }

    /// Appends copies of an item until the arena has a number of items.
    pub fn fill_up(&mut self, nr_items: usize, item: T)
    where
        T: Clone,
    {
        if self.items.len() < nr_items {
            self.items.resize(nr_items, item);
        }
    }

    /// Number of items in the arena.
    #[inline]
    pub const fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the arena has no items.
    pub const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Item of an id, if the arena has one.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// Mutable item of an id, if the arena has one.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.items.get_mut(id.index())
    }

    /// All items, in the order of their ids.
    #[inline]
    pub fn iter(&self) -> core::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// All items, mutable, in the order of their ids.
    #[inline]
    pub fn iter_mut(&mut self) -> core::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// Ids of all items.
    #[inline]
    pub fn ids(&self) -> impl Iterator<Item = I> + Clone + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }
}

impl<I: ArenaId, T> Default for Arena<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: ArenaId, T> FromIterator<T> for Arena<I, T> {
    fn from_iter<Items: IntoIterator<Item = T>>(items: Items) -> Self {
        Self { items: items.into_iter().collect(), ids: PhantomData }
    }
}

impl<'a, I: ArenaId, T> IntoIterator for &'a Arena<I, T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, I: ArenaId, T> IntoIterator for &'a mut Arena<I, T> {
    type Item = &'a mut T;
    type IntoIter = core::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<I: ArenaId, T> Index<I> for Arena<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: ArenaId, T> IndexMut<I> for Arena<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I, T: fmt::Debug> fmt::Debug for Arena<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}
