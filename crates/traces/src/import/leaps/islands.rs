// SPDX-License-Identifier: GPL-2.0-or-later
//! Events at the start or end of a recording that are far from all others.
//!
//! An island is a group of events without a long gap. Its CPU has no neighbours on one side, so the other
//! CPUs decide: a clock that went on is seen by several events. Rules for the first and the last island:
//! 1. Its gap is longer than [`MIN_GAP_NS`] and than [`MIN_GAP_FACTOR`] times the rest of the recording.
//! 2. All of its events are of one CPU, and fewer than those of the rest.
//! 3. It is one event. Of sums of deltas it may be more, as they are displaced together, if the gap is longer
//!    than [`MIN_DELTA_GAP_NS`].
//! 4. The end of the recording, if the file reports it, is before the last island.

use super::Timeline;
use crate::import::file_order::TimeStamp;

/// Minimum gap in ns before or after events that leap. A running kernel has events more often.
pub(super) const MIN_GAP_NS: u64 = 1_000_000_000;
/// Minimum gap in ns of several events whose times are sums of deltas.
const MIN_DELTA_GAP_NS: u64 = 10_000_000_000;
/// Minimum quotient of the gap and the length of the rest.
const MIN_GAP_FACTOR: u64 = 4;

struct Island {
    events: std::ops::Range<usize>,
    start: u64,
    end: u64,
    /// CPU of the events; `None` if they are of several.
    cpu: Option<u32>,
    has_deltas: bool,
}

pub(super) fn find(timeline: &Timeline<'_>, leaps: &mut [bool]) {
    let mut by_time: Vec<usize> = (0..timeline.events.len())
        .filter(|&index| !leaps[index] && timeline.stamp(index) != TimeStamp::Borrowed)
        .collect();
    by_time.sort_unstable_by_key(|&index| timeline.events[index].at);
    let islands = islands(timeline, &by_time);
    let mut rest = &islands[..];
    while let [first, .., last] = rest {
        let (without_last, without_first) = (&rest[..rest.len() - 1], &rest[1..]);
        let is_in_the_recording = timeline.order.end_of_recording.is_some_and(|end| last.end <= end);
        let leaping = if !is_in_the_recording && leaps_from(last, without_last) {
            rest = without_last;
            last
        } else if leaps_from(first, without_first) {
            rest = without_first;
            first
        } else {
            return;
        };
        by_time[leaping.events.clone()].iter().for_each(|&index| leaps[index] = true);
    }
}

fn islands(timeline: &Timeline<'_>, by_time: &[usize]) -> Vec<Island> {
    let mut islands: Vec<Island> = Vec::new();
    for (position, &index) in by_time.iter().enumerate() {
        let event = &timeline.events[index];
        let has_deltas = matches!(timeline.stamp(index), TimeStamp::Delta(_));
        match islands.last_mut() {
            Some(island) if event.at - island.end <= MIN_GAP_NS => {
                island.events.end = position + 1;
                island.end = event.at;
                island.cpu = island.cpu.filter(|&cpu| cpu == event.cpu);
                island.has_deltas |= has_deltas;
            }
            _ => islands.push(Island {
                events: position..position + 1,
                start: event.at,
                end: event.at,
                cpu: Some(event.cpu),
                has_deltas,
            }),
        }
    }
    islands
}

/// Whether an island at one end leaps from the rest of the recording.
fn leaps_from(island: &Island, rest: &[Island]) -> bool {
    let [first, ..] = rest else { return false };
    let last = rest.last().unwrap_or(first);
    let gap = if island.start > last.end { island.start - last.end } else { first.start - island.end };
    let nr = island.events.len();
    let min_gap = match nr {
        1 => MIN_GAP_NS,
        _ if island.has_deltas => MIN_DELTA_GAP_NS,
        _ => return false,
    };
    let length = last.end - first.start;
    let nr_of_rest = last.events.end - first.events.start;
    island.cpu.is_some() && nr < nr_of_rest && gap > min_gap.max(length.saturating_mul(MIN_GAP_FACTOR))
}
