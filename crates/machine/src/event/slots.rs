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
    /// The place whose event was taken and for which the games are not played again yet: its CPU most often plans the next
    /// one at once.
    taken: Option<u32>,
}

impl Slots {
    /// Number of events.
    pub(super) fn len(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    /// The key of the earliest event.
    #[inline]
    pub(super) fn first_key(&mut self) -> u128 {
        self.settle_taken();
        self.nodes.get(1).map_or(NOTHING, |root| root.key)
    }

    /// Puts an event in its place. Returns the one that was there.
    #[inline]
    pub(super) fn replace(&mut self, place: usize, entry: Entry) -> Option<Entry> {
        if place >= self.entries.len() {
            self.grow(place + 1);
        }
        if self.taken == Some(place as u32) {
            self.taken = None;
        }
        let before = self.entries[place].replace(entry);
        self.play(place, entry.key);
        before
    }

    /// Takes the earliest event out.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<Entry> {
        self.settle_taken();
        let place = self.nodes.get(1)?.place;
        self.taken = Some(place);
        self.entries[place as usize].take()
    }

    #[inline]
    fn settle_taken(&mut self) {
        if let Some(place) = self.taken.take() {
            self.play(place as usize, NOTHING);
        }
    }

    /// A leaf has another key: plays the games on the way up from it again, until one that another place wins as it did before.
    fn play(&mut self, place: usize, key: u128) {
        let own = place as u32;
        let mut best = Node { key, place: own };
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
        // Nobody has won yet: the first game of each place is played to the end.
        self.nodes = vec![Node { key: NOTHING, place: u32::MAX }; 2 * leaves];
        for place in 0..leaves {
            let key = self.entries[place].map_or(NOTHING, |entry| entry.key);
            self.play(place, key);
        }
    }
}
