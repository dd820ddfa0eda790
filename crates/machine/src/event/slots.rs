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
    /// The keys of those events, or [`NOTHING`].
    keys: Vec<u128>,
    /// The place of the earliest event below each node. Node 1 is the root, the nodes below `n` are `2n` and `2n + 1`; the
    /// leaves are the last half.
    winners: Vec<u32>,
}

impl Slots {
    /// Number of events.
    pub(super) fn len(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    /// The key of the earliest event.
    #[inline]
    pub(super) fn first_key(&self) -> u128 {
        self.winners.get(1).map_or(NOTHING, |&place| self.keys[place as usize])
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
        let place = *self.winners.get(1)? as usize;
        let entry = self.entries[place].take();
        self.play(place, NOTHING);
        entry
    }

    /// A leaf has another key: plays the games on the way up from it again, until one that it loses as it did before.
    fn play(&mut self, place: usize, key: u128) {
        self.keys[place] = key;
        let (keys, winners) = (self.keys.as_slice(), self.winners.as_mut_slice());
        let (own, mut best, mut best_key) = (place as u32, place as u32, key);
        let mut node = keys.len() + place;
        while node > 1 {
            let other = winners[node ^ 1];
            let other_key = keys[other as usize];
            if other_key < best_key {
                (best, best_key) = (other, other_key);
            }
            node /= 2;
            if best != own && winners[node] == best {
                return;
            }
            winners[node] = best;
        }
    }

    #[cold]
    fn grow(&mut self, places: usize) {
        let leaves = places.next_power_of_two();
        self.entries.resize(leaves, None);
        self.keys.resize(leaves, NOTHING);
        self.winners = vec![0; 2 * leaves];
        for place in 0..leaves {
            self.winners[leaves + place] = place as u32;
        }
        for node in (1..leaves).rev() {
            let [left, right] = [2 * node, 2 * node + 1].map(|below| self.winners[below]);
            let is_right = self.keys[right as usize] < self.keys[left as usize];
            self.winners[node] = if is_right { right } else { left };
        }
    }
}
