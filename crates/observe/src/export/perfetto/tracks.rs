// SPDX-License-Identifier: GPL-2.0-or-later
//! Tracks of figures and decisions: a group for each kind, in it one track for each CPU, told of when it is used first.
//!
//! Names and texts are told once and then have numbers.

use super::proto::{put_bytes, put_message, put_number, put_signed};
use super::{TIMESTAMP, put_packet};
use crate::export::details::{Detail, Details, thread_text};
use crate::export::record::Counter;
use crate::export::thread::ThreadTable;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Fields of `TracePacket`.
const TRACK_EVENT: u32 = 11;
const INTERNED_DATA: u32 = 12;
const SEQUENCE_FLAGS: u32 = 13;
const TRACK_DESCRIPTOR: u32 = 60;
/// `SEQ_NEEDS_INCREMENTAL_STATE`: the packet uses numbers of names.
const NEEDS_NAMES: u64 = 2;
/// Fields of `TrackEvent`.
const ANNOTATION: u32 = 4;
const TYPE: u32 = 9;
const NAME: u32 = 10;
const TRACK: u32 = 11;
const COUNTER_VALUE: u32 = 30;
/// Its types.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;
/// Children of a track stand in the order that they say.
const EXPLICIT: u64 = 3;
/// As many CPUs a group may have.
const MAX_CPUS: u64 = 1 << 20;

/// A track.
#[derive(Clone, Copy, Debug)]
pub(super) enum PerfettoTrack {
    /// A figure of a CPU.
    Counter(Counter, CpuId),
    /// Selections by wakers on this CPU.
    Selection(CpuId),
    /// Balancing on this CPU.
    Balance(CpuId),
    /// Kicks by this CPU's tick.
    Kick(CpuId),
    /// Waiting of this CPU for locks of runqueues.
    Lock(CpuId),
}

impl PerfettoTrack {
    /// Number and name of its group, and its CPU.
    fn group(self) -> (u64, &'static str, CpuId) {
        match self {
            Self::Selection(cpu) => (1, "selections", cpu),
            Self::Balance(cpu) => (2, "balancing", cpu),
            Self::Kick(cpu) => (3, "nohz kicks", cpu),
            Self::Lock(cpu) => (4, "waiting for runqueue locks", cpu),
            Self::Counter(counter, cpu) => (5 + counter as u64, counter.name(), cpu),
        }
    }

    fn uuid(self) -> u64 {
        let (group, _, cpu) = self.group();
        group * MAX_CPUS + 1 + u64::from(cpu.0)
    }
}

/// Something with a name and values on a track.
#[derive(Clone, Copy)]
pub(super) struct TrackEvent<'a> {
    pub(super) track: PerfettoTrack,
    pub(super) name: &'static str,
    pub(super) details: &'a Details,
}

/// Texts that have numbers already, and those that are told with the next packet.
#[derive(Default)]
struct InternedTexts {
    known: BTreeMap<&'static str, u64>,
    new: Vec<(u64, &'static str)>,
}

impl InternedTexts {
    fn number(&mut self, text: &'static str) -> u64 {
        let next = self.known.len() as u64 + 1;
        *self.known.entry(text).or_insert_with(|| {
            self.new.push((next, text));
            next
        })
    }

    fn put_new(&mut self, bytes: &mut Vec<u8>, field: u32) {
        for (number, text) in self.new.drain(..) {
            put_message(bytes, field, |bytes| {
                put_number(bytes, 1, number);
                put_bytes(bytes, 2, text.as_bytes());
            });
        }
    }
}

/// Tracks and texts that were told of.
#[derive(Default)]
pub(super) struct PerfettoTracks {
    described: BTreeSet<u64>,
    names: InternedTexts,
    keys: InternedTexts,
    words: InternedTexts,
    /// An event that is being put together.
    event: Vec<u8>,
}

impl PerfettoTracks {
    /// A figure has another value.
    pub(super) fn put_counter(&mut self, bytes: &mut Vec<u8>, track: PerfettoTrack, at: Nanos, value: u64) {
        self.put_descriptor(bytes, track);
        put_packet(bytes, |bytes| {
            put_number(bytes, TIMESTAMP, at.0);
            put_message(bytes, TRACK_EVENT, |bytes| {
                put_number(bytes, TYPE, COUNTER);
                put_number(bytes, TRACK, track.uuid());
                put_number(bytes, COUNTER_VALUE, value);
            });
        });
    }

    /// Something happened at a moment.
    pub(super) fn put_instant(
        &mut self,
        bytes: &mut Vec<u8>,
        threads: &ThreadTable,
        moment: TrackEvent<'_>,
        at: Nanos,
    ) {
        self.put_descriptor(bytes, moment.track);
        self.put_event(bytes, threads, moment, INSTANT, at);
    }

    /// Something lasted for some time.
    pub(super) fn put_span(
        &mut self,
        bytes: &mut Vec<u8>,
        threads: &ThreadTable,
        moment: TrackEvent<'_>,
        began: Nanos,
        ended: Nanos,
    ) {
        self.put_descriptor(bytes, moment.track);
        self.put_event(bytes, threads, moment, SLICE_BEGIN, began);
        put_packet(bytes, |bytes| {
            put_number(bytes, TIMESTAMP, ended.0);
            put_message(bytes, TRACK_EVENT, |bytes| {
                put_number(bytes, TYPE, SLICE_END);
                put_number(bytes, TRACK, moment.track.uuid());
            });
        });
    }

    fn put_event(&mut self, bytes: &mut Vec<u8>, threads: &ThreadTable, moment: TrackEvent<'_>, kind: u64, at: Nanos) {
        let mut event = std::mem::take(&mut self.event);
        put_message(&mut event, TRACK_EVENT, |bytes| {
            put_number(bytes, TYPE, kind);
            put_number(bytes, TRACK, moment.track.uuid());
            put_number(bytes, NAME, self.names.number(moment.name));
            for &(key, value) in moment.details {
                put_message(bytes, ANNOTATION, |bytes| {
                    put_number(bytes, 1, self.keys.number(key));
                    match value {
                        Detail::Number(number) => put_signed(bytes, 4, number),
                        Detail::Word(word) => put_number(bytes, 17, self.words.number(word)),
                        Detail::Thread(thread) => put_bytes(bytes, 6, thread_text(threads, thread).as_bytes()),
                    }
                });
            }
        });
        put_packet(bytes, |bytes| {
            put_number(bytes, TIMESTAMP, at.0);
            put_number(bytes, SEQUENCE_FLAGS, NEEDS_NAMES);
            if !self.names.new.is_empty() || !self.keys.new.is_empty() || !self.words.new.is_empty() {
                put_message(bytes, INTERNED_DATA, |bytes| {
                    self.names.put_new(bytes, 2);
                    self.keys.put_new(bytes, 3);
                    self.words.put_new(bytes, 29);
                });
            }
            bytes.extend_from_slice(&event);
        });
        event.clear();
        self.event = event;
    }

    /// Says that there is a track, and its group, unless that was said.
    fn put_descriptor(&mut self, bytes: &mut Vec<u8>, track: PerfettoTrack) {
        if !self.described.insert(track.uuid()) {
            return;
        }
        let (group, name, cpu) = track.group();
        let group = group * MAX_CPUS;
        if self.described.insert(group) {
            put_packet(bytes, |bytes| {
                put_message(bytes, TRACK_DESCRIPTOR, |bytes| {
                    put_number(bytes, 1, group);
                    put_bytes(bytes, 2, name.as_bytes());
                    put_number(bytes, 11, EXPLICIT);
                });
            });
        }
        put_packet(bytes, |bytes| {
            put_message(bytes, TRACK_DESCRIPTOR, |bytes| {
                put_number(bytes, 1, track.uuid());
                put_number(bytes, 5, group);
                put_bytes(bytes, 2, format!("CPU {}", cpu.0).as_bytes());
                if let PerfettoTrack::Counter(..) = track {
                    put_message(bytes, 8, |_| {});
                }
                put_number(bytes, 12, cpu.0.into());
            });
        });
    }
}
