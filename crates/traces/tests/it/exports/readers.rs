// SPDX-License-Identifier: GPL-2.0-or-later
//! Minimal readers of ftrace text, `trace.dat` and `perf.data`. They find events with the formats in the
//! files.

use std::collections::BTreeMap;

/// Content of a trace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadBack {
    /// Number of events by name.
    pub(crate) counts: BTreeMap<String, u64>,
    /// Time and name of each event, in the order of the file or of time.
    pub(crate) order: Vec<(u64, String)>,
    /// Sums of `sched_stat_runtime` in ns, by pid.
    pub(crate) runtime: BTreeMap<i32, u64>,
    /// Thread names, as reported by `task_rename`.
    pub(crate) names: BTreeMap<i32, String>,
}

/// Returns the value of a key in a text of fields.
fn value<'a>(fields: &'a str, key: &str) -> &'a str {
    let rest = fields.split_once(key).unwrap_or_else(|| panic!("{fields} has no {key}")).1;
    rest.split_once(' ').map_or(rest, |(value, _)| value)
}

/// Returns the time of a line of ftrace text.
pub(crate) fn nanos(line: &str) -> u64 {
    // A task name may contain a colon, such as sugov:0, but no space after it.
    let time = line.split(": ").next().and_then(|head| head.rsplit(' ').next()).expect("a time");
    let (seconds, rest) = time.split_once('.').expect("seconds and nanoseconds");
    seconds.parse::<u64>().expect("a number") * 1_000_000_000 + rest.parse::<u64>().expect("a number")
}

impl ReadBack {
    fn add(&mut self, at: u64, event: &str) {
        *self.counts.entry(event.to_owned()).or_default() += 1;
        self.order.push((at, event.to_owned()));
    }

    /// Adds an encoded event.
    fn add_bytes(&mut self, at: u64, formats: &BTreeMap<u16, ReadEvent>, bytes: &[u8]) {
        let event = &formats[&u16::from_le_bytes(bytes[..2].try_into().expect("two bytes"))];
        // The text format prints the event of markers under another name.
        self.add(at, if event.name == "print" { "tracing_mark_write" } else { &event.name });
        let field = |name: &str| {
            let (offset, size) = event.fields[name];
            &bytes[offset..offset + size]
        };
        let int = |name: &str| i32::from_le_bytes(field(name).try_into().expect("four bytes"));
        match event.name.as_str() {
            "sched_stat_runtime" => {
                let runtime = u64::from_le_bytes(field("runtime").try_into().expect("eight bytes"));
                *self.runtime.entry(int("pid")).or_default() += runtime;
            }
            "task_rename" => {
                let name = field("newcomm").split(|&byte| byte == 0).next().expect("a name");
                self.names.insert(int("pid"), String::from_utf8(name.to_vec()).expect("text"));
            }
            _ => {}
        }
    }
}

pub(crate) fn text(bytes: &[u8]) -> ReadBack {
    let mut found = ReadBack::default();
    let text = std::str::from_utf8(bytes).expect("a trace is text");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (_, rest) = line.split_once(": ").expect("a time");
        let (event, fields) = rest.split_once(": ").expect("an event");
        found.add(nanos(line), event);
        let pid = |key| value(fields, key).parse().expect("a pid");
        match event {
            "sched_stat_runtime" => {
                *found.runtime.entry(pid("pid=")).or_default() += value(fields, "runtime=").parse::<u64>().expect("ns");
            }
            "task_rename" => {
                let name = fields.split_once("newcomm=").and_then(|(_, rest)| rest.split_once(" oom")).expect("both");
                found.names.insert(pid("pid="), name.0.to_owned());
            }
            _ => {}
        }
    }
    found
}

/// Name of an event, and offset and size of its fields.
struct ReadEvent {
    name: String,
    fields: BTreeMap<String, (usize, usize)>,
}

/// Reading position in a file.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, nr: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(nr);
        self.0 = rest;
        taken
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take(2).try_into().expect("two bytes"))
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().expect("four bytes"))
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().expect("eight bytes"))
    }

    fn text(&mut self) -> &'a str {
        let end = self.0.iter().position(|&byte| byte == 0).expect("a zero at the end");
        let text = self.take(end + 1);
        std::str::from_utf8(&text[..end]).expect("text")
    }

    fn sized(&mut self) -> &'a str {
        let length = self.u64() as usize;
        std::str::from_utf8(self.take(length)).expect("text")
    }

    fn sized32(&mut self) -> &'a str {
        let length = self.u32() as usize;
        std::str::from_utf8(self.take(length)).expect("text")
    }

    fn headers(&mut self) {
        for name in ["header_page", "header_event"] {
            assert_eq!(self.text(), name);
            self.sized();
        }
    }

    fn formats(&mut self, nr: u32, formats: &mut BTreeMap<u16, ReadEvent>) {
        for _ in 0..nr {
            let (id, event) = format(self.sized());
            formats.insert(id, event);
        }
    }

    fn ftrace(&mut self, formats: &mut BTreeMap<u16, ReadEvent>) {
        let nr = self.u32();
        self.formats(nr, formats);
    }

    fn systems(&mut self, formats: &mut BTreeMap<u16, ReadEvent>) {
        for _ in 0..self.u32() {
            self.text();
            let nr = self.u32();
            self.formats(nr, formats);
        }
    }
}

fn format(text: &str) -> (u16, ReadEvent) {
    let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).expect("the key is there").trim();
    let fields = text.lines().filter_map(|line| line.strip_prefix("\tfield:"));
    let number = |line: &str, key: &str| value(&line.replace(['\t', ';'], " "), key).parse().expect("a number");
    let fields = fields.map(|line| {
        let declaration = line.split(';').next().expect("a declaration");
        let name = declaration.rsplit(' ').next().expect("a name");
        let name = name.split('[').next().expect("a name").to_owned();
        (name, (number(line, "offset:"), number(line, "size:")))
    });
    let event = ReadEvent { name: line("name:").to_owned(), fields: fields.collect() };
    (line("ID:").parse().expect("a number"), event)
}

/// Reads a `trace.dat` of either version.
pub(crate) fn trace_dat(file: &[u8]) -> ReadBack {
    let mut at = Cursor(file);
    assert_eq!(at.take(10), b"\x17\x08\x44tracing");
    let version = at.text();
    assert_eq!((at.take(2), at.u32()), (&[0, 8][..], 4096));
    let mut formats = BTreeMap::new();
    let mut found = ReadBack::default();
    let places = if version == "6" { places_v6(&mut at, &mut formats) } else { places_v7(file, at, &mut formats) };
    for (offset, length) in places {
        for page in file[offset as usize..][..length as usize].chunks(4096) {
            read_page(page, &formats, &mut found);
        }
    }
    found.order.sort_by_key(|&(at, _)| at);
    found
}

fn places_v6(at: &mut Cursor<'_>, formats: &mut BTreeMap<u16, ReadEvent>) -> Vec<(u64, u64)> {
    at.headers();
    at.ftrace(formats);
    at.systems(formats);
    at.sized32();
    at.sized32();
    assert!(at.sized().contains("migration/0\n"));
    let nr_cpus = at.u32();
    assert_eq!(at.take(10), b"options  \0");
    while at.u16() != 0 {
        at.sized32();
    }
    assert_eq!(at.take(10), b"flyrecord\0");
    (0..nr_cpus).map(|_| (at.u64(), at.u64())).collect()
}

fn places_v7(file: &[u8], mut at: Cursor<'_>, formats: &mut BTreeMap<u16, ReadEvent>) -> Vec<(u64, u64)> {
    assert_eq!((at.text(), at.text()), ("none", ""));
    let section = |offset: u64, id: u16| {
        let mut at = Cursor(&file[offset as usize..]);
        assert_eq!((at.u16(), at.u16(), at.u32()), (id, 0, 0));
        let length = at.u64() as usize;
        Cursor(&file[offset as usize + 16..][..length])
    };
    let mut options = section(at.u64(), 0);
    let mut places = Vec::new();
    loop {
        let (id, length) = (options.u16(), options.u32() as usize);
        let mut data = Cursor(options.take(length));
        match id {
            0 => return places,
            3 => {
                let buffer = data.u64();
                assert_eq!((data.text(), data.text(), data.u32()), ("", "global", 4096));
                for cpu in 0..data.u32() {
                    assert_eq!(data.u32(), cpu);
                    places.push((data.u64(), data.u64()));
                }
                let length: u64 = places.iter().map(|(_, length)| length).sum();
                let content = section(buffer, 3).0.len() as u64;
                assert_eq!(places[0].0 + length, buffer + 16 + content, "the section ends with the last CPU");
            }
            16 => section(data.u64(), 16).headers(),
            17 => section(data.u64(), 17).ftrace(formats),
            18 => section(data.u64(), 18).systems(formats),
            _ => {}
        }
    }
}

fn read_page(page: &[u8], formats: &BTreeMap<u16, ReadEvent>, found: &mut ReadBack) {
    let mut at = Cursor(page);
    let (mut time, used) = (at.u64(), at.u64() as usize);
    let mut events = Cursor(&page[16..16 + used]);
    while !events.0.is_empty() {
        let head = events.u32();
        time += u64::from(head >> 5);
        match head & 31 {
            30 => time += u64::from(events.u32()) << 27,
            0 => {
                let length = events.u32() as usize - 4;
                found.add_bytes(time, formats, events.take(length));
            }
            words => found.add_bytes(time, formats, events.take(4 * words as usize)),
        }
    }
}

pub(crate) fn perf_data(file: &[u8]) -> ReadBack {
    let mut at = Cursor(file);
    assert_eq!(at.take(8), b"PERFILE2");
    let numbers: Vec<u64> = (0..8).map(|_| at.u64()).collect();
    let features = at.u64();
    assert_eq!(numbers[..2], [104, 144]);
    let (data, length) = (numbers[4] as usize, numbers[5] as usize);
    // The first feature has the lowest bit number: the formats.
    assert_eq!(features & 3, 2);
    let mut table = Cursor(&file[data + length..]);
    let (offset, size) = (table.u64() as usize, table.u64() as usize);
    let mut tracing = Cursor(&file[offset..offset + size]);
    assert_eq!((tracing.take(10), tracing.text()), (&b"\x17\x08\x44tracing"[..], "0.6"));
    tracing.take(6);
    let mut formats = BTreeMap::new();
    tracing.headers();
    tracing.ftrace(&mut formats);
    tracing.systems(&mut formats);
    let mut found = ReadBack::default();
    let mut records = Cursor(&file[data..data + length]);
    let mut last = 0;
    while !records.0.is_empty() {
        let (kind, _misc, size) = (records.u32(), records.u16(), records.u16());
        assert_eq!(size % 8, 0, "records have whole words");
        let mut record = Cursor(records.take(usize::from(size) - 8));
        if kind != 9 {
            continue;
        }
        record.take(24);
        let (time, cpu, period, raw) = (record.u64(), record.u64(), record.u64(), record.u32() as usize);
        assert!(time >= last && cpu < 64 && period == 1 && raw == record.0.len());
        last = time;
        found.add_bytes(time, &formats, record.0);
    }
    found
}
