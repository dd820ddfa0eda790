// SPDX-License-Identifier: GPL-2.0-or-later
//! Minimal reader of Perfetto traces: the part of protocol buffers that is needed to find events.

use std::collections::BTreeMap;

/// Fields of a message: number and value.
pub(crate) struct Message<'a>(Vec<(u32, ProtoValue<'a>)>);

#[derive(Clone, Copy)]
enum ProtoValue<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = bytes.split_first().expect("a number ends");
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    number
}

impl<'a> Message<'a> {
    fn parse(mut bytes: &'a [u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let value = match key & 7 {
                0 => ProtoValue::Number(varint(&mut bytes)),
                2 => {
                    let length = varint(&mut bytes) as usize;
                    let (content, rest) = bytes.split_at(length);
                    bytes = rest;
                    ProtoValue::Bytes(content)
                }
                kind => panic!("a field of kind {kind}"),
            };
            fields.push(((key >> 3) as u32, value));
        }
        Self(fields)
    }

    fn bytes(&self, field: u32) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().filter_map(move |&(own, value)| match value {
            ProtoValue::Bytes(bytes) if own == field => Some(bytes),
            _ => None,
        })
    }

    fn messages(&self, field: u32) -> impl Iterator<Item = Self> {
        self.bytes(field).map(Self::parse)
    }

    fn number(&self, field: u32) -> Option<u64> {
        self.0.iter().find_map(|&(own, value)| match value {
            ProtoValue::Number(number) if own == field => Some(number),
            _ => None,
        })
    }

    fn packed(&self, field: u32) -> Vec<u64> {
        let Some(mut bytes) = self.bytes(field).next() else { return Vec::new() };
        let mut numbers = Vec::new();
        while !bytes.is_empty() {
            numbers.push(varint(&mut bytes));
        }
        numbers
    }
}

/// Content of a trace.
#[derive(Debug, Default)]
pub(crate) struct FoundInPerfetto {
    /// Switches: CPU, time, pid and name of the next thread.
    pub(crate) switches: Vec<(u64, u64, u64, String)>,
    pub(crate) wakings: usize,
    /// Other events, by field number.
    pub(crate) events: BTreeMap<u32, usize>,
    /// Values of counters, by the names of their group and track.
    pub(crate) counters: BTreeMap<(String, String), Vec<(u64, u64)>>,
    /// Instants and spans, by the name of their group, with their reasons.
    pub(crate) moments: BTreeMap<String, Vec<Option<String>>>,
    /// Number of spans without an end, by track.
    pub(crate) open: BTreeMap<u64, i64>,
    pub(crate) threads: BTreeMap<u64, String>,
}

pub(crate) fn read(file: &[u8]) -> FoundInPerfetto {
    let mut found = FoundInPerfetto::default();
    let mut tracks: BTreeMap<u64, (Option<u64>, String)> = BTreeMap::new();
    let (mut keys, mut words) = (BTreeMap::new(), BTreeMap::new());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("names are text");
    for packet in Message::parse(file).messages(1) {
        assert_eq!(packet.number(10), Some(1), "each packet belongs to the sequence");
        for bundle in packet.messages(1) {
            bundle_of(&bundle, &mut found);
        }
        for thread in packet.messages(2).flat_map(|tree| tree.messages(2).collect::<Vec<_>>()) {
            let name = text(thread.bytes(2).next().expect("a name"));
            found.threads.insert(thread.number(1).expect("a pid"), name);
        }
        for track in packet.messages(60) {
            let name = text(track.bytes(2).next().expect("a name"));
            tracks.insert(track.number(1).expect("it has a number"), (track.number(5), name));
        }
        for names in packet.messages(12) {
            for (field, known) in [(3, &mut keys), (29, &mut words)] {
                for name in names.messages(field) {
                    known.insert(name.number(1).expect("a number"), text(name.bytes(2).next().expect("a name")));
                }
            }
        }
        for event in packet.messages(11) {
            let at = packet.number(8).expect("a time");
            let track = event.number(11).expect("a track");
            let (parent, name) = &tracks[&track];
            let group = tracks[&parent.expect("each track of a CPU is in a group")].1.clone();
            match event.number(9).expect("a type") {
                4 => {
                    let value = event.number(30).expect("a value");
                    found.counters.entry((group, name.clone())).or_default().push((at, value));
                }
                2 => *found.open.entry(track).or_default() -= 1,
                kind => {
                    let reason = event.messages(4).find_map(|annotation| {
                        let is_reason = keys[&annotation.number(1).expect("a name")] == "reason";
                        is_reason.then(|| words[&annotation.number(17).expect("a text")].clone())
                    });
                    found.moments.entry(group).or_default().push(reason);
                    *found.open.entry(track).or_default() += i64::from(kind == 1);
                }
            }
        }
    }
    found
}

fn bundle_of(bundle: &Message<'_>, found: &mut FoundInPerfetto) {
    let cpu = bundle.number(1).expect("a CPU");
    for event in bundle.messages(2) {
        let field = event.0.iter().map(|&(field, _)| field).find(|&field| field > 2).expect("an event");
        *found.events.entry(field).or_default() += 1;
    }
    for compact in bundle.messages(4) {
        let names: Vec<&[u8]> = compact.bytes(5).collect();
        let mut at = 0;
        let columns = [2, 3, 4, 6].map(|field| compact.packed(field));
        for (row, delta) in compact.packed(1).into_iter().enumerate() {
            at += delta;
            let name = String::from_utf8(names[columns[3][row] as usize].to_vec()).expect("names are text");
            found.switches.push((cpu, at, columns[1][row], name));
        }
        assert!(columns.iter().all(|column| column.len() == columns[0].len()), "columns are of one length");
        found.wakings += compact.packed(7).len();
    }
}
