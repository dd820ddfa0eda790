// SPDX-License-Identifier: GPL-2.0-or-later
//! Slots for events of which each CPU has at most one: a new event replaces the old one.
//!
//! A tournament tree finds the earliest event. The CPUs are the leaves of a tree whose nodes have four children each, and each
//! node names the earliest of its children. A change is propagated from its leaf upwards.

use super::QueueEntry;

/// Key of an empty slot: later than all events.
pub(super) const NO_EVENT_KEY: u128 = u128::MAX;

/// Number of children of a node.
const ARITY: usize = 4;

/// Earliest event at or below a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TreeNode {
    key: u128,
    place: u32,
}

impl TreeNode {
    const EMPTY: Self = Self { key: NO_EVENT_KEY, place: 0 };
}

/// At most one event for each CPU.
#[derive(Clone, Debug)]
pub(super) struct CpuSlots {
    /// One entry for each leaf; the number of leaves is a power of [`ARITY`].
    entries: Vec<Option<QueueEntry>>,
    /// Children of each inner node, which are numbered from the root, 0, downwards: those of node `n` are `4n + 1` to `4n + 4`. The
    /// leaves follow the inner nodes.
    children: Vec<[TreeNode; ARITY]>,
    root: TreeNode,
    /// Slot whose event was taken and whose path to the root is not updated yet, because its CPU usually
    /// plans the next event at once.
    taken: Option<u32>,
}

impl Default for CpuSlots {
    fn default() -> Self {
        Self { entries: Vec::new(), children: Vec::new(), root: TreeNode::EMPTY, taken: None }
    }
}

impl CpuSlots {
    pub(super) fn len(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    /// Returns the key of the earliest event.
    #[inline]
    pub(super) fn first_key(&mut self) -> u128 {
        self.flush_taken();
        self.root.key
    }

    /// Stores an event in a slot. Returns the replaced event.
    #[inline]
    pub(super) fn replace(&mut self, place: usize, entry: QueueEntry) -> Option<QueueEntry> {
        if place >= self.entries.len() {
            self.grow(place + 1);
        }
        if self.taken == Some(place as u32) {
            self.taken = None;
        }
        let before = self.entries[place].replace(entry);
        self.update(place, entry.key);
        before
    }

    /// Removes and returns the earliest event.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<QueueEntry> {
        self.flush_taken();
        let place = self.root.place;
        self.taken = Some(place);
        self.entries.get_mut(place as usize)?.take()
    }

    #[inline]
    fn flush_taken(&mut self) {
        if let Some(place) = self.taken.take() {
            self.update(place as usize, NO_EVENT_KEY);
        }
    }

    /// Updates the nodes from a leaf towards the root. Stops at the first node whose earliest event is the one before.
    fn update(&mut self, place: usize, key: u128) {
        let mut earliest = TreeNode { key, place: place as u32 };
        let mut node = self.children.len() + place;
        while node > 0 {
            let (parent, position) = ((node - 1) / ARITY, (node - 1) % ARITY);
            let siblings = &mut self.children[parent];
            if siblings[position] == earliest {
                return;
            }
            siblings[position] = earliest;
            earliest = earliest_of(siblings);
            node = parent;
        }
        self.root = earliest;
    }

    #[cold]
    fn grow(&mut self, places: usize) {
        self.taken = None;
        let mut leaves = 1;
        while leaves < places {
            leaves *= ARITY;
        }
        self.entries.resize(leaves, None);
        self.children = vec![[TreeNode::EMPTY; ARITY]; (leaves - 1) / (ARITY - 1)];
        self.root = TreeNode::EMPTY;
        for place in 0..leaves {
            if let Some(entry) = self.entries[place] {
                self.update(place, entry.key);
            }
        }
    }
}

#[inline(always)]
fn earliest_of(nodes: &[TreeNode; ARITY]) -> TreeNode {
    let mut earliest = nodes[0];
    for node in &nodes[1..] {
        if node.key < earliest.key {
            earliest = *node;
        }
    }
    earliest
}
