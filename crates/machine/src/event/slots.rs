// SPDX-License-Identifier: GPL-2.0-or-later
//! Places for events of which a CPU has no more than one that counts: a new one replaces it.
//!
//! The earliest is found by a tournament: the CPUs are the leaves of a binary tree, each node names the earlier of the two
//! below it, and a change is played again from its leaf upwards.

use super::Entry;

/// The key of a place without event: later than all.
pub(super) const NOTHING: u128 = u128::MAX;

/// At most one event for each CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    /// As many as there are leaves, a power of two.
    entries: Vec<Option<Entry>>,
    keys: Vec<u128>,
    /// The place with the earliest event below each node. Node 1 is the root, the nodes below `n` are `2n` and `2n + 1`; the
    /// leaves are the last half.
    earliest: Vec<u32>,
}

impl Slots {
    /// Number of events.
    pub(super) fn len(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    /// The key of the earliest event.
    #[inline]
    pub(super) fn first_key(&self) -> u128 {
        self.earliest.get(1).map_or(NOTHING, |&place| self.keys[place as usize])
    }

    /// Puts an event in its place. Returns the one that was there.
    #[inline]
    pub(super) fn replace(&mut self, place: usize, entry: Entry) -> Option<Entry> {
        if place >= self.entries.len() {
            self.grow(place + 1);
        }
        self.keys[place] = entry.key;
        let before = self.entries[place].replace(entry);
        self.play(place);
        before
    }

    /// Takes the earliest event out.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<Entry> {
        let place = *self.earliest.get(1)? as usize;
        let entry = self.entries[place].take();
        self.keys[place] = NOTHING;
        self.play(place);
        entry
    }

    /// Plays the games on the way up from a leaf again.
    #[inline]
    fn play(&mut self, place: usize) {
        let mut node = self.entries.len() + place;
        let mut winner = place as u32;
        let mut key = self.keys[place];
        self.earliest[node] = winner;
        while node > 1 {
            let other = self.earliest[node ^ 1];
            let other_key = self.keys[other as usize];
            if other_key < key {
                (winner, key) = (other, other_key);
            }
            node /= 2;
            self.earliest[node] = winner;
        }
    }

    #[cold]
    fn grow(&mut self, places: usize) {
        let leaves = places.next_power_of_two();
        self.entries.resize(leaves, None);
        self.keys.resize(leaves, NOTHING);
        self.earliest = vec![0; 2 * leaves];
        for place in 0..leaves {
            self.earliest[leaves + place] = place as u32;
        }
        for place in 0..leaves {
            self.play(place);
        }
    }
}
