// SPDX-License-Identifier: GPL-2.0-or-later
//! Formats events as text, as the kernel's `trace` file does.

use super::Tracepoint;
use super::values::{FieldValue, reason, state_letter};
use crate::export::schedstat::mask;
use fairlab_sched::cpumask::CpuMask;
use std::io::Write;

/// Appends an event's name and fields: `sched_waking: comm=a pid=1 prio=120 target_cpu=000`.
pub fn put_event(bytes: &mut Vec<u8>, tracepoint: Tracepoint, values: &[FieldValue<'_>], nr_cpus: usize) {
    // The kernel prints markers under the name of the function that writes them.
    if let (Tracepoint::Print, [_, FieldValue::Text(text)]) = (tracepoint, values) {
        bytes.extend_from_slice(b"tracing_mark_write: ");
        return bytes.extend_from_slice(text.as_bytes());
    }
    bytes.extend_from_slice(tracepoint.definition().name.as_bytes());
    bytes.extend_from_slice(b": ");
    put_fields(bytes, tracepoint.definition().template, values, nr_cpus);
}

fn put_fields(bytes: &mut Vec<u8>, template: &str, values: &[FieldValue<'_>], nr_cpus: usize) {
    let mut parts = template.split('%');
    bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for (part, value) in parts.zip(values) {
        let end = part.find(['s', 'd', 'u']).map_or(part.len(), |end| end + 1);
        put_value(bytes, &part[..end], value, nr_cpus);
        bytes.extend_from_slice(&part.as_bytes()[end..]);
    }
}

fn put_value(bytes: &mut Vec<u8>, conversion: &str, value: &FieldValue<'_>, nr_cpus: usize) {
    let mut number = |number: i128| bytes.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    match *value {
        // `drop` ignores the result: a write into memory cannot fail.
        FieldValue::Int(value) if conversion == "03d" => drop(write!(bytes, "{value:03}")),
        FieldValue::Int(value) => number(value.into()),
        FieldValue::Short(value) => number(value.into()),
        FieldValue::U32(value) => number(value.into()),
        FieldValue::U64(value) | FieldValue::Address(value) => number(value.into()),
        FieldValue::Comm(comm) => bytes.extend_from_slice(comm.as_str().as_bytes()),
        FieldValue::State(state) => bytes.extend_from_slice(state_letter(state).as_bytes()),
        FieldValue::Reason(kind) => bytes.extend_from_slice(reason(kind).1.as_bytes()),
        FieldValue::Text(text) => bytes.extend_from_slice(text.as_bytes()),
        FieldValue::Mask(cpu) => {
            bytes.extend_from_slice(mask(&CpuMask::from_cpus(nr_cpus, [cpu]), nr_cpus).as_bytes());
        }
    }
}
