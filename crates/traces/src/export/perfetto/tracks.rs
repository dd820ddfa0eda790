// SPDX-License-Identifier: GPL-2.0-or-later
//! Tracks of counters and decisions: one group per kind, with one track per CPU, which is described at its
//! first use.
//!
//! Names and texts are interned: their first packet defines them, later ones refer to them by number.

use super::proto::{put_bytes, put_message, put_number, put_signed};
use super::{SEQUENCE_FLAGS, TIMESTAMP, put_packet};
use crate::export::details::{Detail, Details, thread_text};
use crate::export::record::Counter;
use crate::export::thread::ThreadTable;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Field numbers of the protocol's `TracePacket`.
const TRACK_EVENT: u32 = 11;
const INTERNED_DATA: u32 = 12;
const TRACK_DESCRIPTOR: u32 = 60;
/// `SEQ_NEEDS_INCREMENTAL_STATE`: the packet refers to interned names.
const NEEDS_NAMES: u64 = 2;
/// Field numbers of the protocol's `TrackEvent`.
const ANNOTATION: u32 = 4;
const TYPE: u32 = 9;
const NAME: u32 = 10;
const TRACK: u32 = 11;
const COUNTER_VALUE: u32 = 30;
/// Values of the type field of `TrackEvent`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;
/// `EXPLICIT` child ordering: viewers sort the children of a track by their rank.
const EXPLICIT: u64 = 3;
/// Maximum number of CPUs per group, which separates the ids of the groups.
const MAX_CPUS: u64 = 1 << 20;

#[derive(Clone, Copy, Debug)]
pub(super) enum PerfettoTrack {
    Counter(Counter, CpuId),
    Selection(CpuId),
    Balance(CpuId),
    Kick(CpuId),
    Lock(CpuId),
}

impl PerfettoTrack {
    /// Returns the number and name of the track's group, and its CPU.
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

/// Named event on a track, with values.
#[derive(Clone, Copy)]
pub(super) struct TrackEvent<'a> {
    pub(super) track: PerfettoTrack,
    pub(super) name: &'static str,
    pub(super) details: &'a Details,
}

/// Interned texts, and those that the next packet has to define.
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

#[derive(Default)]
pub(super) struct PerfettoTracks {
    described: BTreeSet<u64>,
    names: InternedTexts,
    keys: InternedTexts,
    words: InternedTexts,
    event: Vec<u8>,
}

impl PerfettoTracks {
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

    pub(super) fn put_instant(&mut self, bytes: &mut Vec<u8>, threads: &ThreadTable, event: TrackEvent<'_>, at: Nanos) {
        self.put_event(bytes, threads, event, INSTANT, at);
    }

    pub(super) fn put_span(
        &mut self,
        bytes: &mut Vec<u8>,
        threads: &ThreadTable,
        moment: TrackEvent<'_>,
        began: Nanos,
        ended: Nanos,
    ) {
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
        self.put_descriptor(bytes, moment.track);
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

    /// Writes the descriptors of a track and its group, unless they were written before.
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
