// SPDX-License-Identifier: GPL-2.0-or-later
//! Slots for events of which each CPU has at most one: a new event replaces the old one.
//!
//! A tournament tree finds the earliest event. The CPUs are the leaves of a tree whose nodes have four children each, and each
//! node names the earliest of its children. A change is propagated from its leaf upwards.

use super::QueueEntry;
use fairlab_sched::units::Nanos;

/// Key of an empty slot: later than all events.
pub(super) const NO_EVENT_KEY: u128 = u128::MAX;

/// Number of children of a node.
const ARITY: usize = 4;

/// Earliest event at or below a node.
#[derive(Clone, Copy, Debug)]
struct Earliest {
    key: u128,
    place: u32,
}

impl Earliest {
    const NONE: Self = Self { key: NO_EVENT_KEY, place: 0 };
}

/// Inner node.
#[derive(Clone, Copy, Debug)]
struct TreeNode {
    children: [Earliest; ARITY],
    /// Child with the earliest event.
    first: u32,
}

impl TreeNode {
    const EMPTY: Self = Self { children: [Earliest::NONE; ARITY], first: 0 };

    /// Replaces the event of a child. Returns the earliest event of the node, unless it is the one before.
    #[inline(always)]
    fn replace(&mut self, child: usize, event: Earliest) -> Option<Earliest> {
        let first = self.first as usize % ARITY;
        let was_earlier = self.children[child].key < event.key;
        self.children[child] = event;
        if child != first {
            if event.key >= self.children[first].key {
                return None;
            }
            self.first = child as u32;
        } else if was_earlier {
            self.first = self.find_first();
        }
        Some(self.children[self.first as usize % ARITY])
    }

    #[inline(always)]
    fn find_first(&self) -> u32 {
        let mut first = 0;
        for child in 1..ARITY {
            if self.children[child].key < self.children[first].key {
                first = child;
            }
        }
        first as u32
    }
}

/// At most one event for each CPU.
#[derive(Clone, Debug)]
pub(super) struct CpuSlots {
    /// One entry for each leaf; the number of leaves is a power of [`ARITY`].
    entries: Vec<Option<QueueEntry>>,
    /// Inner nodes, numbered from the root, 0, downwards: the children of node `n` are `4n + 1` to `4n + 4`. The leaves follow the
    /// inner nodes.
    nodes: Vec<TreeNode>,
    /// Earliest event of all.
    first: Earliest,
    /// Slot whose event was taken and whose path to the root is not updated yet, because its CPU usually
    /// plans the next event at once.
    taken: Option<u32>,
}

impl Default for CpuSlots {
    fn default() -> Self {
        Self { entries: Vec::new(), nodes: Vec::new(), first: Earliest::NONE, taken: None }
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
        self.first.key
    }

    /// Stores an event in a slot. Returns the time of the replaced event.
    #[inline]
    pub(super) fn replace(&mut self, place: usize, entry: QueueEntry) -> Option<Nanos> {
        if place >= self.entries.len() {
            self.grow(place + 1);
        }
        if self.taken == Some(place as u32) {
            self.taken = None;
        }
        let slot = &mut self.entries[place];
        let before = slot.as_ref().map(QueueEntry::at);
        *slot = Some(entry);
        self.update(place, entry.key);
        before
    }

    /// Removes and returns the earliest event.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<QueueEntry> {
        self.flush_taken();
        let place = self.first.place;
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
        let mut earliest = Earliest { key, place: place as u32 };
        let mut node = self.nodes.len() + place;
        while node > 0 {
            let (parent, child) = ((node - 1) / ARITY, (node - 1) % ARITY);
            let Some(first) = self.nodes[parent].replace(child, earliest) else { return };
            (earliest, node) = (first, parent);
        }
        self.first = earliest;
    }

    #[cold]
    fn grow(&mut self, places: usize) {
        self.taken = None;
        let mut leaves = 1;
        while leaves < places {
            leaves *= ARITY;
        }
        self.entries.resize(leaves, None);
        self.nodes = vec![TreeNode::EMPTY; (leaves - 1) / (ARITY - 1)];
        self.first = Earliest::NONE;
        for place in 0..leaves {
            if let Some(entry) = self.entries[place] {
                self.update(place, entry.key);
            }
        }
    }
}
