// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds time stamps that leap: one flipped bit in a time makes a recording of a second last for days.
//!
//! A *lane* is the events of a CPU in the order of the file; in formats with columns, one column of the CPU.
//! Times of a lane do not decrease. Rules, in order:
//! 1. **End of the recording.** Events after the end that the file reports leap.
//! 2. **Islands** ([`islands`]). The first or last events of the recording leap if they are far from all
//!    others and only one CPU has any there. A gap after which several CPUs continue, or one CPU with several
//!    events, is real: the machine was idle or suspended.
//! 3. **Anchors.** Where times are sums of deltas, the events between two absolute times lie between them. A
//!    damaged delta thus displaces no more than a page.
//! 4. **Longest sequence.** In each lane the longest sequence of times that do not decrease is right. Other
//!    events leap if they are more than [`MAX_JITTER_NS`] outside of their neighbours in this sequence.
//!
//! Rules 1, 3 and 4 do not depend on the length of gaps. Time is `O(n log n)` and memory `O(n)` in the number
//! of events, whatever their times are.

mod islands;
mod sequence;

#[cfg(test)]
mod tests;

use super::error::{ReadError, ReadResult};
use super::event::{Recording, TraceEvent, TraceEventKind};
use super::file_order::{Anchor, FileOrder, TimeStamp};
use std::collections::BTreeMap;

/// Time in ns by which events of a CPU may be out of order: the coarsest `sched_clock()`, a tick at 100 Hz.
const MAX_JITTER_NS: u64 = 10_000_000;
/// Share of a lane, and number of events, above which a file with absolute times is not in the order of time.
/// perf stores the buffers of threads one after the other, for example. Rule 4 then does not apply.
const MAX_DISPLACED_PERCENT: usize = 1;
const MAX_DISPLACED: usize = 8;

/// Treatment of events whose time stamps leap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeapHandling {
    /// The trace is rejected.
    #[default]
    Reject,
    /// The events are left out, and counted as a problem of the file.
    Drop,
    /// The times are used.
    Keep,
}

/// Applies `handling` to the events of a recording whose time stamps leap. The events are in file order.
pub(super) fn handle(recording: &mut Recording, handling: LeapHandling) -> ReadResult<()> {
    let order = std::mem::take(&mut recording.order);
    if handling == LeapHandling::Keep {
        return Ok(());
    }
    let timeline = Timeline { events: &recording.events, order: &order };
    let leaps = timeline.leaps();
    if let Some(first) = leaps.iter().position(|&leaps| leaps) {
        if handling == LeapHandling::Reject {
            return Err(timeline.error(&leaps, first));
        }
        let place = order.place(order.sources[first].position);
        let nr = leaps.iter().filter(|&&leaps| leaps).count() as u64;
        recording.record_problems("events whose time stamps leap, which are left out", nr, || place);
    }
    let mut leaps_of_events = leaps.iter();
    recording.events.retain(|_| leaps_of_events.next() == Some(&false));
    let mut kept = leaps.iter().zip(&order.sources).filter(|(leaps, _)| !**leaps).map(|(_, source)| source.stamp);
    clamp_borrowed(&mut recording.events, &mut kept);
    Ok(())
}

/// Moves events with the borrowed time of an event that leaps to the nearest end of the recording.
fn clamp_borrowed(events: &mut [TraceEvent], stamps: &mut dyn Iterator<Item = TimeStamp>) {
    let borrowed: Vec<bool> = stamps.map(|stamp| stamp == TimeStamp::Borrowed).collect();
    let own = || events.iter().zip(&borrowed).filter(|(_, borrowed)| !**borrowed).map(|(event, _)| event.at);
    let (Some(first), Some(last)) = (own().min(), own().max()) else { return };
    let range = first.saturating_sub(islands::MIN_GAP_NS)..=last.saturating_add(islands::MIN_GAP_NS);
    for (event, borrowed) in events.iter_mut().zip(borrowed) {
        if borrowed && !range.contains(&event.at) {
            event.at = event.at.clamp(first, last);
        }
    }
}

struct Timeline<'a> {
    events: &'a [TraceEvent],
    order: &'a FileOrder,
}

type Lane = (u32, TimeStamp);

impl Timeline<'_> {
    fn leaps(&self) -> Vec<bool> {
        let mut leaps = vec![false; self.events.len()];
        self.after_the_end(&mut leaps);
        islands::find(self, &mut leaps);
        let mut lanes: BTreeMap<Lane, Vec<usize>> = BTreeMap::new();
        for (index, event) in self.events.iter().enumerate() {
            if self.stamp(index) != TimeStamp::Borrowed {
                lanes.entry((event.cpu, self.stamp(index))).or_default().push(index);
            }
        }
        let mut anchors: BTreeMap<Lane, Vec<Anchor>> = BTreeMap::new();
        for anchor in &self.order.anchors {
            anchors.entry((anchor.cpu, anchor.stamp)).or_default().push(*anchor);
        }
        let mut has_displaced = false;
        for (lane, indices) in lanes {
            if let Some(anchors) = anchors.get(&lane) {
                has_displaced |= self.outside_of_anchors(&indices, anchors, &mut leaps);
            }
            has_displaced |= self.out_of_sequence(lane.1, &indices, &mut leaps);
        }
        if has_displaced {
            // Displaced events can hide that others are far from the rest.
            islands::find(self, &mut leaps);
        }
        leaps
    }

    fn stamp(&self, index: usize) -> TimeStamp {
        self.order.sources[index].stamp
    }

    /// Rule 1. A file with most events after its end reports a wrong end.
    fn after_the_end(&self, leaps: &mut [bool]) {
        let Some(end) = self.order.end_of_recording.map(|end| end.saturating_add(MAX_JITTER_NS)) else { return };
        if self.events.iter().filter(|event| event.at > end).count() * 2 <= self.events.len() {
            self.events.iter().zip(leaps).for_each(|(event, leaps)| *leaps |= event.at > end);
        }
    }

    /// Rule 3. Returns whether an event leaps.
    fn outside_of_anchors(&self, lane: &[usize], anchors: &[Anchor], leaps: &mut [bool]) -> bool {
        let times: Vec<u64> = anchors.iter().map(|anchor| anchor.at).collect();
        let is_right = sequence::longest(&times);
        let mut right = anchors.iter().zip(is_right).filter(|(_, is_right)| *is_right).map(|(anchor, _)| anchor);
        let (mut low, mut next) = (None, right.next());
        let mut has_found = false;
        for &index in lane {
            while let Some(anchor) = next.filter(|anchor| anchor.index <= index) {
                low = Some(anchor.at);
                next = right.next();
            }
            if !leaps[index] && is_outside(self.events[index].at, low, next.map(|anchor| anchor.at)) {
                (leaps[index], has_found) = (true, true);
            }
        }
        has_found
    }

    /// Rule 4. Returns whether an event leaps.
    fn out_of_sequence(&self, stamp: TimeStamp, lane: &[usize], leaps: &mut [bool]) -> bool {
        let lane: Vec<usize> = lane.iter().copied().filter(|&index| !leaps[index]).collect();
        let times: Vec<u64> = lane.iter().map(|&index| self.events[index].at).collect();
        if times.is_sorted() {
            return false;
        }
        let is_right = sequence::longest(&times);
        let mut next_right = sequence::next_right(&times, &is_right);
        let mut previous = None;
        let mut displaced = Vec::new();
        for (position, &at) in times.iter().enumerate() {
            if is_right[position] {
                previous = Some(at);
            } else if is_outside(at, previous, next_right(position)) {
                displaced.push(lane[position]);
            }
        }
        let is_unordered = stamp == TimeStamp::Absolute
            && displaced.len() > MAX_DISPLACED
            && displaced.len() * 100 > lane.len() * MAX_DISPLACED_PERCENT;
        if is_unordered {
            return false;
        }
        displaced.iter().for_each(|&index| leaps[index] = true);
        !displaced.is_empty()
    }

    fn error(&self, leaps: &[bool], first: usize) -> ReadError {
        let TraceEvent { at, cpu, kind, .. } = self.events[first];
        let is_neighbour = |&index: &usize| {
            let event = &self.events[index];
            let has_time = self.stamp(index) != TimeStamp::Borrowed;
            event.cpu == cpu && !leaps[index] && has_time && !matches!(event.kind, TraceEventKind::Lost { .. })
        };
        let before = (0..first).rev().find(is_neighbour);
        let after = (first + 1..self.events.len()).find(is_neighbour);
        let neighbour = |name: &str, index: Option<usize>| match index {
            Some(index) => format!("the {name} event of this CPU has {}", seconds(self.events[index].at)),
            None => format!("this CPU has no {name} event"),
        };
        let nr = leaps.iter().filter(|&&leaps| leaps).count();
        let count = if nr > 1 { format!("; {nr} events leap") } else { String::new() };
        let name = serde_json::to_value(kind.name()).ok();
        let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or("event");
        let help = "copy the file or record again; or `--leaps drop` leaves such events out, and `--leaps keep` uses their times";
        ReadError {
            place: self.order.place(self.order.sources[first].position),
            message: format!(
                "a time stamp leaps: {name} on CPU {cpu} has {}, {}, {}{count}",
                seconds(at),
                neighbour("previous", before),
                neighbour("next", after)
            ),
            ..ReadError::whole("", help)
        }
    }
}

/// Whether a time is more than the jitter outside of its neighbours.
fn is_outside(at: u64, low: Option<u64>, high: Option<u64>) -> bool {
    low.is_some_and(|low| at < low.saturating_sub(MAX_JITTER_NS))
        || high.is_some_and(|high| at > high.saturating_add(MAX_JITTER_NS))
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
}
