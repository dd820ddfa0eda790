// SPDX-License-Identifier: GPL-2.0-or-later
//! Places for events of which a CPU has no more than one that counts: a new one replaces it.
//!
//! The earliest is found by a tournament: the CPUs are the leaves of a binary tree, each node names the earlier of the two
//! below it, and a change is played again from its leaf upwards.

use super::Entry;

/// The key of a place without event: later than all.
pub(super) const NOTHING: u128 = u128::MAX;

/// What a node knows: the earliest event below it.
#[derive(Clone, Copy, Debug)]
struct Node {
    key: u128,
    place: u32,
}

/// At most one event for each CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    /// As many as there are leaves, a power of two.
    entries: Vec<Option<Entry>>,
    /// Node 1 is the root, the nodes below `n` are `2n` and `2n + 1`; the leaves are the last half.
    nodes: Vec<Node>,
}

impl Slots {
    /// Number of events.
    pub(super) fn len(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    /// The key of the earliest event.
    #[inline]
    pub(super) fn first_key(&self) -> u128 {
        self.nodes.get(1).map_or(NOTHING, |root| root.key)
    }

    /// Puts an event in its place. Returns the one that was there.
    #[inline]
    pub(super) fn replace(&mut self, place: usize, entry: Entry) -> Option<Entry> {
        if place >= self.entries.len() {
            self.grow(place + 1);
        }
        let before = self.entries[place].replace(entry);
        self.play(place, entry.key);
        before
    }

    /// Takes the earliest event out.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<Entry> {
        let place = self.nodes.get(1)?.place as usize;
        let entry = self.entries[place].take();
        self.play(place, NOTHING);
        entry
    }

    /// A leaf has another key: plays the games on the way up from it again.
    fn play(&mut self, place: usize, key: u128) {
        let mut best = Node { key, place: place as u32 };
        let mut node = self.entries.len() + place;
        let nodes = self.nodes.as_mut_slice();
        nodes[node] = best;
        while node > 1 {
            let other = nodes[node ^ 1];
            if other.key < best.key {
                best = other;
            }
            node /= 2;
            nodes[node] = best;
        }
    }

    #[cold]
    fn grow(&mut self, places: usize) {
        let leaves = places.next_power_of_two();
        self.entries.resize(leaves, None);
        self.nodes = vec![Node { key: NOTHING, place: 0 }; 2 * leaves];
        for place in 0..leaves {
            let key = self.entries[place].map_or(NOTHING, |entry| entry.key);
            self.play(place, key);
        }
    }
}
