// SPDX-License-Identifier: GPL-2.0-or-later
//! Event formats in trace files: the text of the kernel's format files, from which readers learn the layout
//! and the print format of events. Also the symbols and texts to whose addresses events refer.

use super::encode::COMMON_BYTES;
use super::values::{MARK_WRITE_ADDRESS, reason, state_bits, state_letter};
use super::{FieldKind, TracepointDefinition};
use fairlab_sched::ctx::{IpiKind, PrevState};
use std::fmt::Write;

/// Text of the kernel's `events/header_page`.
pub const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
/// Text of the kernel's `events/header_event`.
pub const HEADER_EVENT: &str = "# compressed entry header\n\
    \ttype_len    :    5 bits\n\
    \ttime_delta  :   27 bits\n\
    \tarray       :   32 bits\n\
    \n\
    \tpadding     : type == 29\n\
    \ttime_extend : type == 30\n\
    \ttime_stamp : type == 31\n\
    \tdata max type_len  == 28\n";
/// Fields that all events have: declaration, offset, size, signed.
const COMMON: [(&str, usize, usize, bool); 4] = [
    ("unsigned short common_type", 0, 2, false),
    ("unsigned char common_flags", 2, 1, false),
    ("unsigned char common_preempt_count", 3, 1, false),
    ("int common_pid", 4, 4, true),
];

/// Returns the format file of a tracepoint.
pub fn format_of(definition: &TracepointDefinition) -> String {
    let mut text = format!("name: {}\nID: {}\nformat:\n", definition.name, definition.tracepoint.id());
    for (declaration, offset, size, signed) in COMMON {
        put_field(&mut text, declaration, offset, size, signed);
    }
    text.push('\n');
    let mut end = COMMON_BYTES;
    for &(kind, name) in definition.fields {
        let (size, align) = kind.size();
        let offset = end.next_multiple_of(align);
        end = offset + size;
        put_field(&mut text, &declaration(kind, name), offset, size, is_signed(kind));
    }
    let arguments = definition.fields.iter().map(|&(kind, name)| format!(", {}", argument(kind, name)));
    let arguments: String = arguments.collect();
    let _ = writeln!(text, "\nprint fmt: \"{}\"{arguments}", definition.template);
    text
}

/// Returns the kernel symbols to which events refer: `/proc/kallsyms`.
pub fn symbols() -> String {
    format!("{MARK_WRITE_ADDRESS:016x} t tracing_mark_write\n{:016x} t _etext\n", MARK_WRITE_ADDRESS + 0x1000)
}

/// Returns the kernel texts to which events refer: `printk_formats`.
pub fn texts() -> String {
    [IpiKind::Reschedule, IpiKind::CallFunction]
        .map(reason)
        .map(|(at, text)| format!("0x{at:x} : \"{text}\"\n"))
        .concat()
}

fn put_field(text: &mut String, declaration: &str, offset: usize, size: usize, signed: bool) {
    let signed = u8::from(signed);
    let _ = writeln!(text, "\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{signed};");
}

fn declaration(kind: FieldKind, name: &str) -> String {
    match kind {
        FieldKind::Comm => format!("char {name}[16]"),
        FieldKind::Pid => format!("pid_t {name}"),
        FieldKind::Int => format!("int {name}"),
        FieldKind::Short => format!("short {name}"),
        FieldKind::U32 => format!("u32 {name}"),
        FieldKind::U64 => format!("u64 {name}"),
        FieldKind::State => format!("long {name}"),
        FieldKind::Mask => format!("__data_loc unsigned long[] {name}"),
        FieldKind::Reason => format!("const char * {name}"),
        FieldKind::Address => format!("unsigned long {name}"),
        FieldKind::Text => format!("char {name}[]"),
    }
}

const fn is_signed(kind: FieldKind) -> bool {
    matches!(kind, FieldKind::Pid | FieldKind::Int | FieldKind::Short | FieldKind::State)
}

/// Returns the expression that passes a field to its conversion in the print format.
fn argument(kind: FieldKind, name: &str) -> String {
    match kind {
        FieldKind::State => {
            let letters = [PrevState::Blocked, PrevState::Dead];
            let letters = letters.map(|state| format!("{{ 0x{:x}, \"{}\" }}", state_bits(state), state_letter(state)));
            format!("REC->{name} ? __print_flags(REC->{name}, \"|\", {}) : \"R\"", letters.join(", "))
        }
        FieldKind::Mask => format!("__get_bitmask({name})"),
        FieldKind::Address => format!("(void *)REC->{name}"),
        FieldKind::U32 => format!("(unsigned long)REC->{name}"),
        FieldKind::U64 => format!("(unsigned long long)REC->{name}"),
        FieldKind::Comm | FieldKind::Pid | FieldKind::Int | FieldKind::Short | FieldKind::Reason | FieldKind::Text => {
            format!("REC->{name}")
        }
    }
}
