// SPDX-License-Identifier: GPL-2.0-or-later
//! Encodes events as the kernel stores them in its ring buffer: common fields, the tracepoint's fields, and
//! then data of variable length. Little endian, 64 bits.

use super::values::{FieldValue, reason, state_bits};
use super::{FieldKind, Tracepoint};

/// Length in bytes of the fields that all events have: type, flags, preemption count, pid.
pub const COMMON_BYTES: usize = 8;

/// Common fields of an event, without its type.
#[derive(Clone, Copy, Debug)]
pub struct CommonFields {
    /// Pid of the current task.
    pub pid: i32,
    /// Flags of the context, such as `TRACE_FLAG_HARDIRQ`.
    pub flags: u8,
}

/// Appends an event. `nr_cpus` determines the length of CPU masks.
///
/// # Panics
/// If a value has another type than its field.
pub fn put_event(
    bytes: &mut Vec<u8>,
    tracepoint: Tracepoint,
    common: CommonFields,
    values: &[FieldValue<'_>],
    nr_cpus: usize,
) {
    let start = bytes.len();
    bytes.extend_from_slice(&tracepoint.id().to_le_bytes());
    bytes.extend_from_slice(&[common.flags, 0]);
    bytes.extend_from_slice(&common.pid.to_le_bytes());
    let mut mask = None;
    for (&(kind, name), value) in tracepoint.definition().fields.iter().zip(values) {
        align(bytes, start, kind.size().1);
        match (kind, *value) {
            (FieldKind::Comm, FieldValue::Comm(comm)) => bytes.extend_from_slice(comm.bytes()),
            (FieldKind::Pid | FieldKind::Int, FieldValue::Int(number)) => {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            (FieldKind::Short, FieldValue::Short(number)) => bytes.extend_from_slice(&number.to_le_bytes()),
            (FieldKind::U32, FieldValue::U32(number)) => bytes.extend_from_slice(&number.to_le_bytes()),
            (FieldKind::U64, FieldValue::U64(number)) | (FieldKind::Address, FieldValue::Address(number)) => {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            (FieldKind::State, FieldValue::State(state)) => bytes.extend_from_slice(&state_bits(state).to_le_bytes()),
            (FieldKind::Reason, FieldValue::Reason(kind)) => bytes.extend_from_slice(&reason(kind).0.to_le_bytes()),
            (FieldKind::Mask, FieldValue::Mask(cpu)) => {
                mask = Some((bytes.len(), cpu));
                bytes.extend_from_slice(&[0; 4]);
            }
            (FieldKind::Text, FieldValue::Text(text)) => {
                bytes.extend_from_slice(text.as_bytes());
                // A line that is written to `trace_marker` ends with a newline.
                bytes.extend_from_slice(b"\n\0");
            }
            (kind, value) => unreachable!("{tracepoint:?} has {name} as {kind:?}, not {value:?}"),
        }
    }
    if let Some((place, cpu)) = mask {
        put_mask(bytes, start, place, cpu.index(), nr_cpus);
    }
}

/// Appends a CPU mask after the fields, and stores its offset and length in its field.
fn put_mask(bytes: &mut Vec<u8>, start: usize, place: usize, cpu: usize, nr_cpus: usize) {
    align(bytes, start, 8);
    let (offset, length) = (bytes.len() - start, 8 * nr_cpus.div_ceil(64));
    let location = (length as u32) << 16 | offset as u32;
    bytes[place..place + 4].copy_from_slice(&location.to_le_bytes());
    let from = bytes.len();
    bytes.resize(from + length, 0);
    bytes[from + cpu / 8] |= 1 << (cpu % 8);
}

fn align(bytes: &mut Vec<u8>, start: usize, to: usize) {
    let length = (bytes.len() - start).next_multiple_of(to);
    bytes.resize(start + length, 0);
}
