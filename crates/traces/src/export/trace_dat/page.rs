// SPDX-License-Identifier: GPL-2.0-or-later
//! Page of the kernel's ring buffer: the time of the first event, the number of bytes used, and events, each
//! with the time since the previous one.

/// Length of a page in bytes.
pub(super) const PAGE: usize = 4096;
const HEAD: usize = 16;
/// Event header: 5 bits for the type or the length in words, 27 bits for the ns since the previous event.
const TYPE_BITS: u32 = 5;
const DELTA_BITS: u32 = 27;
/// Largest number of data words whose length fits into the event header.
const MAX_WORDS: usize = 28;
/// Type of an event that only extends the time since the previous event.
const TIME_EXTEND: u32 = 30;

#[derive(Debug)]
pub(super) struct RingPage {
    begins: u64,
    last: u64,
    data: Vec<u8>,
}

impl RingPage {
    pub(super) fn new() -> Self {
        Self { begins: 0, last: 0, data: Vec::with_capacity(PAGE - HEAD) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Adds an event. Returns `false`, without a change, if the page has no room for it.
    pub(super) fn push(&mut self, at: u64, event: &[u8]) -> bool {
        if self.is_empty() {
            (self.begins, self.last) = (at, at);
        }
        let delta = at - self.last;
        let words = event.len().div_ceil(4);
        let is_long = words > MAX_WORDS;
        let is_late = delta >> DELTA_BITS > 0;
        let needed = 4 + 4 * words + 4 * usize::from(is_long) + 8 * usize::from(is_late);
        if self.data.len() + needed > PAGE - HEAD {
            return false;
        }
        let low = (delta & ((1 << DELTA_BITS) - 1)) as u32;
        let mut put = |word: u32| self.data.extend_from_slice(&word.to_le_bytes());
        if is_late {
            put(TIME_EXTEND | low << TYPE_BITS);
            put((delta >> DELTA_BITS) as u32);
        }
        let low = if is_late { 0 } else { low };
        put(if is_long { 0 } else { words as u32 } | low << TYPE_BITS);
        if is_long {
            // A long event has its length in a word of its own, which the length includes.
            put(4 + 4 * words as u32);
        }
        self.data.extend_from_slice(event);
        self.data.resize(self.data.len().next_multiple_of(4), 0);
        self.last = at;
        true
    }

    pub(super) fn take_into(&mut self, bytes: &mut Vec<u8>) {
        let end = bytes.len() + PAGE;
        bytes.extend_from_slice(&self.begins.to_le_bytes());
        bytes.extend_from_slice(&(self.data.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&self.data);
        bytes.resize(end, 0);
        self.data.clear();
    }
}
