// SPDX-License-Identifier: GPL-2.0-or-later
//! Round trips of runs through each trace format and the replay, and tests with damaged traces.

use super::LeapHandling;
use super::behaviour::import;
use super::event::Recording;
use super::fidelity::{self, ReplayFidelity, ReplayMeter};
use super::measure::LatencyBasis;
use crate::export::{ExportFormat, ExportTarget, Exporter};
use fairlab_board::preset;
use fairlab_machine::costs::CostModel;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::{Machine, START, Setup};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::units::Nanos;
use fairlab_workload::{recorded, scenario};

const FORMATS: [&str; 5] = ["trace-dat", "trace-dat-7", "perf", "ftrace", "perfetto"];

/// Tasks that sleep, keep periods, wake each other, compete, and exit.
pub(super) const SCENARIO: &str = "cpus 4\nend 300ms\n\
    task hog n=2 cpu=0 run 10s\n\
    task nap n=3 cpu=1 loop runx 400us sleepx 1ms\n\
    task beat n=2 cpu=2 loop runr 200us 2ms every 8ms\n\
    task ping loop run 50us wake pong wait\n\
    task pong cpu=1 loop wait run 70us wake ping\n\
    task nicer nice=5 cpu=3 start=20ms loop run 3ms sleep 500us\n\
    task real fifo=20 start=1ms loop run 100us sleep 5ms\n\
    task short start=50ms run 5ms exit\n";

pub(super) fn traces(mut machine: Machine) -> Vec<(&'static str, Vec<u8>)> {
    let directory = tempfile::tempdir().expect("a directory");
    let mut exporter = Exporter::new(&machine, None);
    for name in FORMATS {
        let out = std::fs::File::create(directory.path().join(name)).expect("a file");
        let target = ExportTarget::File { out: Box::new(out), directory: directory.path() };
        let format = ExportFormat::from_name(name).expect("a format of that name");
        format.open(target, None, machine.hardware(), &mut exporter).expect("room for the trace");
    }
    exporter.begin(&machine);
    machine.run(&mut exporter).expect("the tasks make progress");
    exporter.finish(&machine).expect("traces can be written");
    FORMATS.map(|name| (name, std::fs::read(directory.path().join(name)).expect("it was written"))).to_vec()
}

pub(super) fn machine(text: &str) -> Machine {
    let scenario = scenario::parse("test.scn", text, KernelSeries::V6_1).unwrap_or_else(|error| panic!("{error}"));
    Machine::new(Setup::from_scenario(scenario)).expect("a possible machine")
}

fn read(name: &str, bytes: &[u8]) -> Recording {
    super::read(name, bytes, LeapHandling::Reject).unwrap_or_else(|error| panic!("{error}"))
}

fn replay(recording: &Recording, hardware: &Hardware, knows_machine: bool) -> ReplayFidelity {
    let imported = import(recording, knows_machine.then_some(hardware));
    // Convert to text and back, as users do.
    let text = imported.recorded.to_text();
    let again = recorded::parse("test.rec", &text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again, imported.recorded);
    let nr_cpus = hardware.nr_cpus() as u32;
    let duration = again.end;
    let setup = Setup::new(KernelSeries::V6_1, hardware.clone(), again.into_workload(nr_cpus), duration);
    let mut machine = Machine::new(setup).expect("a possible machine");
    let (mut exporter, meter) = ReplayMeter::new(&machine, LatencyBasis::of(recording));
    machine.run(&mut exporter).expect("tasks make progress");
    drop(exporter);
    fidelity::compare(recording, &imported, &machine, &meter.measurement(&machine))
}

/// Asserts equal waits, switches, migrations and latencies of each task, and run times within 0.1 %.
fn is_the_same(fidelity: &ReplayFidelity, name: &str) {
    for row in &fidelity.tasks {
        let (recorded, simulated) = (row.run_ns.recorded, row.run_ns.simulated);
        assert!(recorded.abs_diff(simulated) * 1000 <= recorded, "{name}: {row:?}");
        assert_eq!(row.switches.recorded, row.switches.simulated, "{name}: {row:?}");
        assert_eq!(row.migrations.recorded, row.migrations.simulated, "{name}: {row:?}");
        assert_eq!(row.wait_ns.recorded, row.wait_ns.simulated, "{name}: {row:?}");
        assert_eq!(row.latency.recorded, row.latency.simulated, "{name}: {row:?}");
    }
    assert!(fidelity.tasks.len() > 5 && fidelity.all.switches.recorded > 500, "{name}: {:?}", fidelity.all);
}

#[test]
fn a_closed_run_survives_every_format_and_replays_exactly() {
    let machine = machine(SCENARIO);
    let hardware = machine.hardware().clone();
    for (name, bytes) in traces(machine) {
        let recording = read(name, &bytes);
        assert!(recording.problems.is_empty(), "{name}: {:?}", recording.problems);
        is_the_same(&replay(&recording, &hardware, false), name);
    }
}

#[test]
fn capacities_frequencies_and_forks_come_back_on_a_machine_that_is_known() {
    const APP: &str = r#"{"global": {"duration": 1}, "tasks": {
        "parent": {"loop": 1, "phases": {"a": {"loop": 3, "run": 2000, "fork": "child", "sleep": 30000}}},
        "child": {"instance": 0, "loop": 40, "run": 1500, "sleep": 4000},
        "heavy": {"run": 9000, "timer": {"ref": "unique", "period": 16000}}}}"#;
    let hardware = || {
        let mut hardware = Hardware::from_description(&preset("sc7180").expect("it comes with the program"));
        hardware.costs = CostModel::zero_cost();
        hardware
    };
    let capacities = hardware().topology.capacity;
    let options = fairlab_workload::rtapp::RtAppOptions::for_capacities(KernelSeries::V6_1, &capacities);
    let workload = fairlab_workload::rtapp::parse("app.json", APP, options).unwrap_or_else(|error| panic!("{error}"));
    let machine = Machine::new(Setup::new(KernelSeries::V6_1, hardware(), workload, Nanos::from_millis(600)))
        .expect("a possible machine");
    for (name, bytes) in traces(machine) {
        let recording = read(name, &bytes);
        let fidelity = replay(&recording, &hardware(), true);
        for row in &fidelity.tasks {
            let (recorded, simulated) = (row.run_ns.recorded, row.run_ns.simulated);
            assert!(recorded.abs_diff(simulated) * 1000 <= recorded, "{name}: {row:?}");
        }
        assert_eq!(fidelity.tasks.len(), 5, "{name}: three children");
    }
}

#[test]
fn a_trace_without_its_machine_says_what_it_does_not_tell() {
    let (name, bytes) = traces(machine(SCENARIO)).remove(0);
    let imported = import(&read(name, &bytes), None);
    let has = |part: &str| imported.recorded.notes.iter().any(|note| note.contains(part));
    assert!(has("no machine was given") && has("affinities, cgroups"), "{:?}", imported.recorded.notes);
    assert!(imported.gaps.edges > 100 && imported.gaps.timer_sleeps > 50, "{:?}", imported.gaps);
    assert_eq!(imported.gaps.there_before, 0);
}

/// Random number generator with a fixed seed, so each run of the test damages the same bits.
struct TraceRandom(u64);

impl TraceRandom {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

#[test]
fn damaged_traces_are_refused_or_read_in_part_and_nothing_panics() {
    let mut rng = TraceRandom(7);
    for (name, bytes) in traces(machine(&SCENARIO.replace("300ms", "12ms"))) {
        let whole = read(name, &bytes).events.len();
        let (mut rejected, mut with_problems) = (0, 0);
        for round in 0..400 {
            let mut damaged = bytes.clone();
            if round % 2 == 0 {
                damaged.truncate(rng.below(bytes.len()));
            } else {
                for _ in 0..=round % 7 {
                    // Most of a small file is its header, where a flipped bit has most effect.
                    let at = rng.below(bytes.len().min(if round % 3 == 0 { 2000 } else { usize::MAX }));
                    damaged[at] ^= 1 << rng.below(8);
                }
            }
            match super::read(name, &damaged, LeapHandling::Reject) {
                Err(error) => {
                    rejected += 1;
                    assert!(error.one_line().starts_with(name) && error.help.is_some(), "{error}");
                }
                Ok(recording) => {
                    with_problems += usize::from(!recording.problems.is_empty());
                    assert!(recording.events.len() <= 2 * whole, "{name}: too many events");
                    import(&recording, None);
                }
            }
        }
        // Nearly all of a damaged text can still be read.
        assert!(rejected + with_problems > 100, "{name}: {rejected} rejected, {with_problems} with problems");
    }
}

type TestPacker<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

#[test]
fn a_compressed_trace_dat_is_read_like_one_that_is_not() {
    use std::io::Write;
    let (_, bytes) = traces(machine(&SCENARIO.replace("300ms", "12ms"))).remove(1);
    let plain = read("plain", &bytes);
    let zlib = |content: &[u8]| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(content).and_then(|()| encoder.finish()).expect("memory does not fail")
    };
    let zstd = |content: &[u8]| zstd::bulk::compress(content, 3).expect("memory does not fail");
    let packers: [(&str, TestPacker<'_>); 2] = [("zlib", &zlib), ("zstd", &zstd)];
    for (name, pack) in packers {
        let packed = pack_v7(&bytes, name, pack);
        assert!(packed.len() < bytes.len(), "{name} makes it smaller");
        assert_eq!(read(name, &packed).events, plain.events, "{name}");
    }
}

#[test]
fn compressed_records_of_perf_are_read_like_plain_ones() {
    let all = traces(machine(&SCENARIO.replace("300ms", "12ms")));
    let (name, bytes) = all.into_iter().find(|(_, bytes)| bytes.starts_with(b"PERFILE2")).expect("a format of exports");
    let plain = read(name, &bytes);
    for kind in [81, 83] {
        let packed = pack_perf(&bytes, kind);
        assert!(packed.len() < bytes.len(), "{kind}");
        let recording = read(name, &packed);
        assert_eq!(recording.events, plain.events, "{kind}");
        assert_eq!(recording.problems, plain.problems, "{kind}");
        let mut damaged = packed.clone();
        let records = u64::from_le_bytes(packed[40..48].try_into().expect("eight bytes")) as usize;
        damaged[records + 40..][..32].fill(0xff);
        let error = super::read(name, &damaged, LeapHandling::Reject).expect_err("it is damaged").to_string();
        assert!(error.contains(&format!("byte {records}: ")) && error.contains("help: "), "{error}");
    }
}

/// Converts a `perf.data` to one with compressed records of this kind, in parts as perf writes them.
fn pack_perf(file: &[u8], kind: u32) -> Vec<u8> {
    use std::io::Write;
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes"));
    // The header has the position and the length of the records, and ends with a bitmap of features.
    let (at, length, features) = (number(40) as usize, number(48) as usize, number(72).count_ones());
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).expect("memory does not fail");
    let mut records = Vec::new();
    // A part may end inside a record.
    for part in file[at..at + length].chunks(4099) {
        encoder.write_all(part).and_then(|()| encoder.flush()).expect("memory does not fail");
        let packed = std::mem::take(encoder.get_mut());
        let (head, padding) = if kind == 83 { (16, packed.len().next_multiple_of(8) - packed.len()) } else { (8, 0) };
        records.extend_from_slice(&kind.to_le_bytes());
        records.extend_from_slice(&[0; 2]);
        records.extend_from_slice(&((head + packed.len() + padding) as u16).to_le_bytes());
        if kind == 83 {
            records.extend_from_slice(&(packed.len() as u64).to_le_bytes());
        }
        records.extend_from_slice(&packed);
        records.resize(records.len() + padding, 0);
    }
    let mut out = file[..at].to_vec();
    out[48..56].copy_from_slice(&(records.len() as u64).to_le_bytes());
    let moved = length as u64 - records.len() as u64;
    out.extend_from_slice(&records);
    let table = at + length;
    for entry in 0..features as usize {
        out.extend_from_slice(&(number(table + 16 * entry) - moved).to_le_bytes());
        out.extend_from_slice(&file[table + 16 * entry + 8..][..8]);
    }
    out.extend_from_slice(&file[table + 16 * features as usize..]);
    out
}

#[test]
fn compressed_packets_of_perfetto_are_read_like_plain_ones() {
    use std::io::Write;
    let all = traces(machine(&SCENARIO.replace("300ms", "12ms")));
    let (name, bytes) = all.into_iter().find(|(_, bytes)| bytes[0] == 0x0a).expect("a format of exports");
    // Field 50 of a packet, and its length, then the stream; all of this is field 1 of the trace.
    let pack = |content: &[u8]| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        let stream = encoder.write_all(content).and_then(|()| encoder.finish()).expect("memory does not fail");
        let field = |tag: &[u8], content: &[u8]| {
            let mut field = tag.to_vec();
            prost::encoding::encode_varint(content.len() as u64, &mut field);
            [&field, content].concat()
        };
        field(&[0x0a], &field(&[0x92, 0x03], &stream))
    };
    let (packed, plain) = (pack(&bytes), read(name, &bytes));
    assert!(packed.len() < bytes.len());
    assert_eq!(read(name, &packed).events, plain.events);
    let mut damaged = [&packed[..], &bytes[..]].concat();
    damaged[packed.len() / 2..packed.len()].fill(0xff);
    assert_eq!(read(name, &damaged).problems["damaged compressed packets"].first, "byte 0");
    let twice = super::read(name, &pack(&packed), LeapHandling::Reject).expect_err("no tool makes it").to_string();
    assert!(twice.contains("damaged packets"), "{twice}");
    let cut = super::read(name, &bytes[..40], LeapHandling::Reject).expect_err("cut").to_string();
    assert!(cut.contains("cuts: 1 (first: byte") && cut.contains("copy it again"), "{cut}");
}

#[test]
fn a_compressed_file_is_read_and_its_positions_are_those_of_the_content() {
    let zstd = |content: &[u8]| zstd::bulk::compress(content, 3).expect("memory does not fail");
    for (name, bytes) in traces(machine(&SCENARIO.replace("300ms", "12ms"))) {
        assert_eq!(read(name, &zstd(&bytes)).events, read(name, &bytes).events, "{name}");
    }
    let recording = read("text", &zstd(b"no event\na-1 [000] ..... 1.5: cpu_idle: state=1 cpu_id=3\n"));
    assert_eq!(recording.problems["lines that are no events"].first, "line 1 of the decompressed content");
    for (content, part) in [
        (&b"one\ntwo\n"[..], "line 1 of the decompressed content: the text has no events"),
        (b"", "decompressed content: the file is empty"),
        (&zstd(b"twice"), "compressed twice"),
    ] {
        let error = super::read("x", &zstd(content), LeapHandling::Reject).expect_err(part).to_string();
        assert!(error.starts_with("x: ") && error.contains(part), "{error}");
    }
}

#[test]
fn text_that_a_shell_of_windows_has_written_is_read() {
    let text = "a-1 [000] ..... 1.5: cpu_idle: state=1 cpu_id=3\r\n";
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(read("wide", &[&[0xff, 0xfe], &wide[..]].concat()).events, read("text", text.as_bytes()).events);
}

#[test]
fn inputs_that_are_no_traces_are_named_with_a_remedy() {
    let mut tar = vec![b'a'; 600];
    tar[257..262].copy_from_slice(b"ustar");
    let switch = "prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120";
    let texts = [
        (
            format!("b 2 12.5: sched:sched_switch: {switch}\n"),
            "line 1: an event of the scheduler without its CPU",
            "-F comm",
        ),
        (
            format!("x\nb 2 [001] sched:sched_switch: {switch}\n"),
            "line 2: an event of the scheduler without its time",
            "-F comm",
        ),
        (
            format!("[001] 12.5: sched:sched_switch: {switch}\n"),
            "line 1: an event of the scheduler without its thread",
            "-F comm",
        ),
        (format!("b 2 sched:sched_switch: {switch}\n"), "without its CPU and time", "-F comm"),
        (format!("  <...>-9  1d..2 12us : sched_switch: {switch}\n"), "without its CPU and time", "latency-format"),
        (
            "b 2 [001] 12.5: sched:sched_switch: \n".to_owned(),
            "Switch events without a field that they need: 1",
            "perf script -F",
        ),
        (
            "# tracer: function\n#\n a-1 [001] d..1. 12.5: do_nanosleep <-hrtimer\n".to_owned(),
            "tracer `function`",
            "nop",
        ),
        (
            "a-1 [001] d..1. 12.5: sys_read(fd: 3)\nb-2 [001] d..1. 12.5: x: y\n".to_owned(),
            "events of other kinds: 2",
            "sched",
        ),
        ("{\"traceEvents\": []}".to_owned(), "Chrome trace (JSON)", "trace-dat"),
        ("[ {\"ph\": \"X\"} ]".to_owned(), "Chrome trace (JSON)", "trace-dat"),
        ("{\"tasks\": {}}".to_owned(), "JSON", "fairlab run"),
        (
            "\n ----\n  Task | Runtime\n".to_owned(),
            "line 2: the text has no events of a trace; it begins with `----`",
            "trace.dat",
        ),
        ("\n\n".to_owned(), "only blank lines", "trace.dat"),
    ];
    let texts = texts.into_iter().map(|(text, message, help)| (text.into_bytes(), message, help));
    let files = [
        (Vec::new(), "the file is empty", "record again"),
        (tar, "a tar archive", "tar -xf"),
        (b"\xfd7zXZ\0".to_vec(), "compressed with xz", "xz -dk"),
        (b"BZh9".to_vec(), "compressed with bzip2", "bzip2 -dk"),
        (b"\xc1\x1f\xfc\xc1".to_vec(), "a stream of a CTF trace (LTTng)", "babeltrace2 --clock-seconds"),
        (b"/* CTF 1.8 */".to_vec(), "the metadata of a CTF trace (LTTng)", "babeltrace2 --clock-seconds"),
        (b"SQLite format 3\0".to_vec(), "an SQLite database", "the trace"),
        (b"\x00\x01\x02".to_vec(), "no known trace format (first bytes: 00 01 02)", "trace.dat"),
    ];
    for (file, message, help) in files.into_iter().chain(texts) {
        let error = super::read("x", &file, LeapHandling::Reject).expect_err(message);
        assert!(
            error.to_string().contains(message) && error.help.as_ref().is_some_and(|own| own.contains(help)),
            "{error}"
        );
    }
}

/// Converts a version 7 `trace.dat` to one with all sections and pages compressed.
fn pack_v7(file: &[u8], algorithm: &str, pack: TestPacker<'_>) -> Vec<u8> {
    let number = |bytes: &[u8]| bytes.iter().rfold(0_usize, |number, &byte| number << 8 | usize::from(byte));
    let block = |content: &[u8]| {
        let packed = pack(content);
        let mut bytes = (packed.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&packed);
        bytes
    };
    let section = |id: u16, flags: u16, content: &[u8]| {
        let mut bytes = id.to_le_bytes().to_vec();
        bytes.extend_from_slice(&flags.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
        bytes.extend_from_slice(content);
        bytes
    };
    // Magic, version, byte order, word size and page size precede the algorithm and the position of the
    // options.
    let head = 10 + 2 + 2 + 4;
    let options = number(&file[head + 6..][..8]);
    let mut out = file[..head].to_vec();
    out.extend_from_slice(algorithm.as_bytes());
    out.extend_from_slice(b"\x001\0");
    let options_at = out.len();
    out.extend_from_slice(&[0; 8]);
    let mut put = Vec::new();
    let mut at = options + 16;
    let end = at + number(&file[options + 8..][..8]);
    while at < end {
        let (id, length) = (number(&file[at..][..2]) as u16, number(&file[at + 2..][..4]));
        let data = file[at + 6..at + 6 + length].to_vec();
        at += 6 + length;
        let data = match id {
            16..=21 => {
                let from = number(&data[..8]);
                let content = &file[from + 16..][..number(&file[from + 8..][..8])];
                let place = out.len() as u64;
                out.extend_from_slice(&section(id, 1, &block(content)));
                place.to_le_bytes().to_vec()
            }
            3 => {
                // Position, empty name, `global`, page size, number of CPUs, and three numbers for each CPU.
                let cpus = 8 + 1 + 7 + 4;
                let nr = number(&data[cpus..cpus + 4]);
                let buffer_at = out.len() as u64;
                let (mut content, mut places) = (Vec::new(), Vec::new());
                for cpu in 0..nr {
                    let entry = &data[cpus + 4 + 20 * cpu..][..20];
                    let (from, length) = (number(&entry[4..12]), number(&entry[12..]));
                    let begins = content.len();
                    // Two blocks for each CPU that has enough pages.
                    let pages: Vec<&[u8]> = file[from..from + length].chunks(8192).collect();
                    content.extend_from_slice(&(pages.len() as u32).to_le_bytes());
                    pages.iter().for_each(|pages| content.extend_from_slice(&block(pages)));
                    // As in files of trace-cmd, the length does not count the number of blocks.
                    places.push((buffer_at + 16 + begins as u64, (content.len() - begins - 4) as u64));
                }
                out.extend_from_slice(&section(3, 1, &content));
                let mut data = data[..cpus + 4].to_vec();
                data[..8].copy_from_slice(&buffer_at.to_le_bytes());
                for (cpu, (from, length)) in places.iter().enumerate() {
                    data.extend_from_slice(&(cpu as u32).to_le_bytes());
                    data.extend_from_slice(&from.to_le_bytes());
                    data.extend_from_slice(&length.to_le_bytes());
                }
                data
            }
            _ => data,
        };
        put.extend_from_slice(&id.to_le_bytes());
        put.extend_from_slice(&(data.len() as u32).to_le_bytes());
        put.extend_from_slice(&data);
    }
    let place = out.len() as u64;
    out[options_at..options_at + 8].copy_from_slice(&place.to_le_bytes());
    out.extend_from_slice(&section(0, 0, &put));
    out
}

#[test]
fn runs_begin_at_the_start_of_machines() {
    // Ticks keep their positions in a replay only if a run, and so its trace, starts at a tick.
    assert_eq!(START.0 % 4_000_000, 0);
}

/// Returns a trace of 100 ms in which two tasks alternate on a CPU, with the lines of `more`.
fn lines(more: &[&str]) -> Recording {
    let mut text = String::new();
    for ms in 0..100 {
        let (prev, next) = if ms % 2 == 0 { ("a", "b") } else { ("b", "a") };
        let pid = |name: &str| if name == "a" { 11 } else { 12 };
        more.iter().filter(|line| line.contains(&format!(" 1.{ms:03}"))).for_each(|line| text.push_str(line));
        text.push_str(&format!(
            "{prev}-{} [000] ..... 1.{ms:03}500: sched_switch: prev_comm={prev} prev_pid={} prev_prio=120 prev_state=R ==> next_comm={next} \
             next_pid={} next_prio=120\n",
            pid(prev),
            pid(prev),
            pid(next)
        ));
    }
    read("text", text.as_bytes())
}

#[test]
fn a_blank_of_several_bytes_in_a_field_ends_its_value() {
    let waking =
        |field: &str| format!("a-11 [000] ..... 1.050200: sched_waking: comm=b {field} prio=120 target_cpu=000\n");
    let (plain, odd) = (lines(&[&waking("pid=12")]), lines(&[&waking("pid=12\u{a0}x")]));
    assert_eq!(import(&odd, None).recorded, import(&plain, None).recorded);
}

#[test]
fn moves_to_cgroups_become_task_groups_where_the_hierarchy_is_known() {
    let attach = |ms: u32, root: u32, path: &str| {
        format!(
            "sh-9 [000] ..... 1.{ms:03}000: cgroup_attach_task: dst_root={root} dst_id=7 dst_level=2 dst_path={path} pid=11 comm=a\n"
        )
    };
    let (into, out) = (attach(10, 0, "/app.slice/a b"), attach(50, 0, "/"));
    let imported = import(&lines(&[&into, &out]), None);
    assert_eq!(imported.recorded.groups, ["/app.slice", "/app.slice/a_b"]);
    let moves = |imported: &super::behaviour::ImportedWorkload| {
        let of_task = imported.recorded.tasks.iter().flat_map(|task| &task.ops);
        of_task.filter(|op| matches!(op, recorded::RecordedOp::Group(_))).copied().collect::<Vec<_>>()
    };
    assert_eq!(moves(&imported), [recorded::RecordedOp::Group(Some(1)), recorded::RecordedOp::Group(None)]);
    assert!(imported.recorded.notes.iter().any(|note| note.starts_with("2 moves to cgroups are kept")));
    let again = recorded::parse("test.rec", &imported.recorded.to_text()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again, imported.recorded);
    let workload = again.into_workload(1);
    let duration = workload.duration.expect("it has a length");
    let hardware = Hardware::from_recorded(&imported.recorded);
    let mut machine =
        Machine::new(Setup::new(KernelSeries::V6_1, hardware, workload, duration)).expect("a possible machine");
    machine.run(&mut fairlab_machine::observer::NoObserver).expect("the tasks make progress");

    let imported = import(&lines(&[&attach(10, 3, "/a"), &attach(50, 4, "/b")]), None);
    assert_eq!(
        (moves(&imported).len(), imported.gaps.attachments_unused),
        (0, 2),
        "the hierarchy with the cpu controller is unknown"
    );
    let imported = import(&lines(&[&attach(10, 3, "/a")]), None);
    assert_eq!(moves(&imported).len(), 1, "the only hierarchy");
}
