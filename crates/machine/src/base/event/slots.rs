// SPDX-License-Identifier: GPL-2.0-or-later
//! Slots for events of which each CPU has at most one: a new event replaces the old one.
//!
//! A tournament tree finds the earliest event. The CPUs are the leaves of a binary tree, and each node names
//! the earlier of its two children. A change is propagated from its leaf upwards.

use super::QueueEntry;

/// Key of an empty slot: later than all events.
pub(super) const NO_EVENT_KEY: u128 = u128::MAX;

/// Earliest event below a node.
#[derive(Clone, Copy, Debug)]
struct TreeNode {
    key: u128,
    place: u32,
}

/// At most one event for each CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct CompletionSlots {
    /// One entry for each leaf; the number of leaves is a power of two.
    entries: Vec<Option<QueueEntry>>,
    /// Node 1 is the root. The children of node `n` are `2n` and `2n + 1`. The leaves are the upper half.
    nodes: Vec<TreeNode>,
    /// Slot whose event was taken and whose path to the root is not updated yet, because its CPU usually
    /// plans the next event at once.
    taken: Option<u32>,
}

impl CompletionSlots {
    pub(super) fn len(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    /// Returns the key of the earliest event.
    #[inline]
    pub(super) fn first_key(&mut self) -> u128 {
        self.flush_taken();
        self.nodes.get(1).map_or(NO_EVENT_KEY, |root| root.key)
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
        self.update_winner(place, entry.key);
        before
    }

    /// Removes and returns the earliest event.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<QueueEntry> {
        self.flush_taken();
        let place = self.nodes.get(1)?.place;
        self.taken = Some(place);
        self.entries[place as usize].take()
    }

    #[inline]
    fn flush_taken(&mut self) {
        if let Some(place) = self.taken.take() {
            self.update_winner(place as usize, NO_EVENT_KEY);
        }
    }

    /// Updates the nodes from a leaf towards the root. Stops at the first node that another slot wins as
    /// before.
    fn update_winner(&mut self, place: usize, key: u128) {
        let own = place as u32;
        let mut best = TreeNode { key, place: own };
        let mut node = self.entries.len() + place;
        let nodes = self.nodes.as_mut_slice();
        nodes[node] = best;
        while node > 1 {
            let other = &nodes[node ^ 1];
            if other.key < best.key {
                best = *other;
            }
            node /= 2;
            let winner = &mut nodes[node];
            if best.place != own && winner.place == best.place {
                return;
            }
            *winner = best;
        }
    }

    #[cold]
    fn grow(&mut self, places: usize) {
        self.taken = None;
        let leaves = places.next_power_of_two();
        self.entries.resize(leaves, None);
        // No slot has won yet, so each update goes up to the root.
        self.nodes = vec![TreeNode { key: NO_EVENT_KEY, place: u32::MAX }; 2 * leaves];
        for place in 0..leaves {
            let key = self.entries[place].map_or(NO_EVENT_KEY, |entry| entry.key);
            self.update_winner(place, key);
        }
    }
}
