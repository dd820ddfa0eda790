// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests with gaps that are real, and with one flipped bit in one time stamp of each format.

use super::LeapHandling;
use crate::import::event::Recording;
use crate::import::file_order::TimeStamp;
use crate::import::tests::{SCENARIO, machine, traces};
use crate::import::{read, read_format};
use fairlab_workload::message::Message;

type CpuTimes<'a> = (u32, &'a [u64]);

/// Returns ftrace text with a wake-up at each of the times.
fn text_of(cpus: &[CpuTimes<'_>]) -> String {
    let line = |cpu: u32, ms: u64| {
        let (seconds, rest) = (ms / 1000, ms % 1000);
        format!("a-1 [{cpu:03}] ..... {seconds}.{rest:03}000: sched_waking: comm=b pid=5 prio=120 target_cpu=000\n")
    };
    cpus.iter().flat_map(|(cpu, times)| times.iter().map(|&ms| line(*cpu, ms))).collect()
}

fn read_times(cpus: &[CpuTimes<'_>], handling: LeapHandling) -> Result<Recording, Message> {
    read("trace.txt", text_of(cpus).as_bytes(), handling)
}

fn times_ms(recording: &Recording) -> Vec<u64> {
    recording.events.iter().map(|event| event.at / 1_000_000).collect()
}

const HOUR_MS: u64 = 3_600_000;

#[test]
fn an_event_that_leaps_is_named_with_its_neighbours_and_can_be_left_out_or_kept() {
    let cpus: &[CpuTimes<'_>] = &[(0, &[1000, 1002, 281_475_976, 1004]), (1, &[1001, 1003])];
    let message = read_times(cpus, LeapHandling::Reject).expect_err("an event leaps");
    assert_eq!(
        message.one_line(),
        "trace.txt: line 3: a time stamp leaps: sched_waking on CPU 0 has 281475.976000000 s, the previous event of this CPU has 1.002000000 s, \
         the next event of this CPU has 1.004000000 s help: copy the file or record again; or `--leaps drop` leaves such events out, and \
         `--leaps keep` uses their times"
    );
    let without = read_times(cpus, LeapHandling::Drop).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(times_ms(&without), [1000, 1001, 1002, 1003, 1004]);
    let (what, problem) = without.problems.first_key_value().expect("it is counted");
    assert_eq!((what.as_str(), problem.count), ("events whose time stamps leap, which are left out", 1));
    assert_eq!(problem.first, "line 3");
    let with = read_times(cpus, LeapHandling::Keep).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(times_ms(&with).last(), Some(&281_475_976));
}

#[test]
fn first_and_last_events_that_leap_forward_or_backward_are_found() {
    for (cpus, nr) in [
        (&[(0, &[1000, 1002, 90_000][..]), (1, &[1001, 1003])][..], 1),
        (&[(0, &[90_000, 90_002, 90_004]), (1, &[3, 90_003])], 1),
        (&[(0, &[1000, 1002, 1004, 90_000])], 1),
        (&[(0, &[5, 90_000, 90_001, 90_002])], 1),
        (&[(0, &[1000, 1002, 1004, 90_000]), (1, &[1001, 1003, 900_000])], 2),
        (&[(0, &[900_000, 5_000, 5_001, 5_002]), (1, &[5_000, 5_001, 0, 5_003])], 2),
    ] {
        assert!(read_times(cpus, LeapHandling::Reject).is_err(), "{cpus:?}");
        let without = read_times(cpus, LeapHandling::Drop).unwrap_or_else(|error| panic!("{error}"));
        let nr_events: usize = cpus.iter().map(|(_, times)| times.len()).sum();
        assert_eq!(without.events.len(), nr_events - nr, "{cpus:?}");
        let (first, last) = without.span().expect("events are left");
        assert!(last - first < 10_000_000, "{cpus:?}");
    }
}

#[test]
fn real_gaps_are_accepted() {
    for cpus in [
        // Suspended for an hour; both CPUs continue.
        &[(0, &[1000, 1002, 1002 + HOUR_MS, 1004 + HOUR_MS][..]), (1, &[1001, 1003, 1003 + HOUR_MS])][..],
        // One event on each CPU after the gap.
        &[(0, &[1000, 1002, 1004, HOUR_MS]), (1, &[1001, 1003, HOUR_MS])],
        // One CPU, with several events after the gap.
        &[(0, &[1000, 1002, 1002 + HOUR_MS, 1004 + HOUR_MS])],
        // A CPU without events for most of the recording.
        &[(0, &[1000, 2000, 3000, 4000, 5000, 6000]), (1, &[1000, 6000])],
        // Idle machine: an event every few seconds.
        &[(0, &[1000, 9000, 12_000]), (1, &[5000, 13_000])],
        // Clock jitter between events of a CPU.
        &[(0, &[1000, 1009, 1001, 1010])],
        // Last event less than a second after the others.
        &[(0, &[1000, 1001, 1900])],
    ] {
        let recording = read_times(cpus, LeapHandling::Reject).unwrap_or_else(|error| panic!("{cpus:?}: {error}"));
        let nr_events: usize = cpus.iter().map(|(_, times)| times.len()).sum();
        assert_eq!(recording.events.len(), nr_events);
        assert!(recording.problems.is_empty());
    }
}

#[test]
fn text_that_is_not_in_the_order_of_time_is_sorted() {
    let (late, early): (Vec<u64>, Vec<u64>) = ((2000..2100).collect(), (1000..1100).collect());
    let text = text_of(&[(0, &late), (0, &early)]);
    let recording = read("trace.txt", text.as_bytes(), LeapHandling::Reject).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(times_ms(&recording), early.into_iter().chain(late).collect::<Vec<u64>>());
}

#[test]
fn a_report_of_lost_events_does_not_keep_the_time_of_an_event_that_leaps() {
    let text = text_of(&[(0, &[1000, 1002])]) + "CPU:1 [LOST 12 EVENTS]\n" + &text_of(&[(0, &[900_000, 1004, 1006])]);
    let recording = read("trace.txt", text.as_bytes(), LeapHandling::Drop).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(times_ms(&recording), [1000, 1002, 1004, 1006, 1006]);
}

/// Returns the bits of the time stamps of an event in a file: its own, and those of its page or column.
fn stamp_bits(name: &str, bytes: &[u8], recording: &Recording, index: usize) -> Vec<usize> {
    let at = recording.events[index].at;
    let source = recording.order.sources[index];
    let bits = |from: usize, bytes: usize| (8 * from..8 * (from + bytes)).collect::<Vec<usize>>();
    let find = |from: usize, pattern: &[u8]| {
        bytes[from..].windows(pattern.len()).position(|window| window == pattern).map(|found| from + found)
    };
    let varint = |number: u64| {
        let mut bytes = Vec::new();
        prost::encoding::encode_varint(number, &mut bytes);
        bytes
    };
    match name {
        "ftrace" | "lisa-6cpu.txt" | "android-systrace.html" => {
            let line = bytes.split(|&byte| byte == b'\n').nth(source.position - 1).expect("the line of the event");
            let from = line.as_ptr() as usize - bytes.as_ptr() as usize;
            let text = String::from_utf8_lossy(line);
            let end = text.find(": ").expect("the time ends with a colon");
            let start = text[..end].rfind(' ').expect("a blank precedes the time") + 1;
            bits(from + start, end - start)
        }
        "perf" => bits(find(source.position, &at.to_le_bytes()).expect("the time is in the sample"), 8),
        "perfetto" if source.stamp == TimeStamp::Absolute => {
            let time = varint(at);
            find(source.position, &time).map_or_else(Vec::new, |from| bits(from, time.len()))
        }
        _ => {
            let last = recording.order.anchors.iter().rev();
            let mut of_lane = last.filter(|anchor| anchor.stamp == source.stamp && anchor.index <= index);
            let anchor = of_lane.find(|anchor| anchor.cpu == recording.events[index].cpu).expect("a page or row");
            if name == "perfetto" {
                let time = varint(anchor.at);
                return bits(find(source.position, &time).expect("the time of the first row"), time.len());
            }
            let page = find(0, &anchor.at.to_le_bytes()).expect("the time of the page");
            let delta = 8 * source.position;
            [bits(page, 8), (delta + 5..delta + 32).collect()].concat()
        }
    }
}

/// Events whose stamps are damaged: of two CPUs the first, the second, one in the middle, and the last.
fn samples(recording: &Recording) -> Vec<usize> {
    let mut all = Vec::new();
    let cpus = || recording.events.iter().map(|event| event.cpu);
    for cpu in cpus().min().into_iter().chain(cpus().max()) {
        let of_cpu: Vec<usize> =
            (0..recording.events.len()).filter(|&index| recording.events[index].cpu == cpu).collect();
        let positions = [0, 1, of_cpu.len() / 2, of_cpu.len().saturating_sub(1)];
        all.extend(positions.iter().filter_map(|&position| of_cpu.get(position)));
    }
    all
}

/// Flips each bit of some time stamps. Asserts that the recording stays short, and keeps its events.
fn flip_stamps(name: &str, bytes: &[u8]) {
    let whole = read(name, bytes, LeapHandling::Reject).unwrap_or_else(|error| panic!("{error}"));
    let unsorted = read_format(bytes).unwrap_or_else(|fault| panic!("{fault:?}"));
    let length = |recording: &Recording| recording.span().map_or(0, |(first, last)| last - first);
    let has_deltas = unsorted.order.sources.iter().any(|source| matches!(source.stamp, TimeStamp::Delta(_)));
    let most = 5 * length(&whole) + if has_deltas { 10_000_000_000 } else { 1_000_000_000 };
    // A page or column can have most events of a CPU.
    let least = if has_deltas { whole.events.len() / 2 } else { whole.events.len() - 1 };
    let (mut accepted, mut rejected) = (0, 0);
    for index in samples(&unsorted) {
        for bit in stamp_bits(name, bytes, &unsorted, index) {
            let mut damaged = bytes.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let rest = read(name, &damaged, LeapHandling::Drop).unwrap_or_else(|error| panic!("{error}"));
            assert!(length(&rest) <= most, "{name}: bit {bit}: {} ns", length(&rest));
            assert!(rest.events.len() >= least, "{name}: bit {bit}: {} events", rest.events.len());
            if rest.problems.keys().any(|what| what.contains("leap")) {
                let error = read(name, &damaged, LeapHandling::Reject).expect_err("a time stamp leaps");
                assert!(error.text.contains("a time stamp leaps: "), "{error}");
                rejected += 1;
            } else {
                accepted += 1;
            }
        }
    }
    assert!(rejected >= 50, "{name}: {rejected} rejected, {accepted} accepted");
}

#[test]
fn one_flipped_bit_in_a_time_stamp_does_not_make_a_recording_long() {
    for (name, bytes) in traces(machine(&SCENARIO.replace("300ms", "25ms"))) {
        flip_stamps(name, &bytes);
    }
}

#[test]
fn recordings_of_real_machines_are_accepted_and_a_flipped_bit_in_them_is_found() {
    for name in ["lisa-6cpu.txt", "android-systrace.html"] {
        let path = format!("{}/tests/data/traces/{name}", env!("CARGO_MANIFEST_DIR"));
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let recording = read(name, &bytes, LeapHandling::Reject).unwrap_or_else(|error| panic!("{error}"));
        let kept = read(name, &bytes, LeapHandling::Keep).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(recording.events, kept.events, "{name}");
        assert!(recording.problems.is_empty(), "{name}: {:?}", recording.problems);
        flip_stamps(name, &bytes);
    }
}
