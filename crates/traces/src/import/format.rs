// SPDX-License-Identifier: GPL-2.0-or-later
//! Event formats of a file (the kernel's format files), and access to events through them. The reader assumes
//! no field offset.

use super::event::{Context, UNKNOWN_PID};
use super::fields::{Tracepoint, TracepointFields};
use std::borrow::Cow;
use std::collections::HashMap;

#[derive(Clone, Debug, Default)]
struct Field {
    name: String,
    offset: usize,
    size: usize,
    is_signed: bool,
    /// Whether the field contains the offset and length of its data (`__data_loc`).
    is_data_loc: bool,
    /// Whether that offset counts from the end of the field (`__rel_loc`).
    is_rel_loc: bool,
}

#[derive(Clone, Debug)]
pub(super) struct TracepointFormat {
    /// Tracepoint that the event stands for; `None` if the import does not use it.
    pub(super) tracepoint: Option<Tracepoint>,
    fields: Vec<Field>,
}

/// Event formats of a file, by event type.
#[derive(Clone, Debug, Default)]
pub(super) struct TracepointFormats(HashMap<u16, TracepointFormat>);

impl TracepointFormats {
    /// Adds the format in the text of a format file. No event can refer to a text without name or id.
    pub(super) fn add(&mut self, text: &str) {
        let value = |key: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(key)).map(str::trim);
        let (Some(name), Some(Ok(id))) = (value("name:"), value("ID:").map(str::parse)) else { return };
        self.0.insert(id, TracepointFormat { tracepoint: Tracepoint::named(name), fields: fields_of(text).collect() });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn of<'a>(&'a self, data: &'a [u8]) -> Option<BinaryEvent<'a>> {
        let id = u16::from_le_bytes(data.get(..2)?.try_into().expect("two bytes"));
        Some(BinaryEvent { format: self.0.get(&id)?, data })
    }

    /// Returns the size of a field in a header description, such as the length in `header_page`.
    pub(super) fn size_of_field(text: &str, name: &str) -> Option<usize> {
        fields_of(text).find(|field| field.name == name).map(|field| field.size)
    }
}

fn fields_of(text: &str) -> impl Iterator<Item = Field> {
    text.lines().filter_map(|line| field_of(line.trim_start().strip_prefix("field:")?))
}

/// Parses a line of a format file after `field:`: a declaration, then offset, size and sign.
fn field_of(line: &str) -> Option<Field> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?;
    let last = declaration.split_whitespace().next_back()?;
    let mut field = Field {
        name: last.split('[').next()?.trim_start_matches('*').to_owned(),
        is_data_loc: declaration.contains("__data_loc") || declaration.contains("__rel_loc"),
        is_rel_loc: declaration.contains("__rel_loc"),
        ..Field::default()
    };
    for part in parts {
        let Some((key, value)) = part.split_once(':') else { continue };
        let number = value.trim().parse().ok()?;
        match key.trim() {
            "offset" => field.offset = number,
            "size" => field.size = number,
            "signed" => field.is_signed = number == 1,
            _ => {}
        }
    }
    Some(field)
}

pub(super) struct BinaryEvent<'a> {
    pub(super) format: &'a TracepointFormat,
    data: &'a [u8],
}

impl<'a> BinaryEvent<'a> {
    fn field(&self, name: &str) -> Option<&'a Field> {
        self.format.fields.iter().find(|field| field.name == name)
    }

    fn bytes(&self, field: &Field) -> Option<&'a [u8]> {
        self.data.get(field.offset..field.offset.checked_add(field.size)?)
    }

    pub(super) fn common(&self) -> (i32, Context) {
        let pid = self.number("common_pid").and_then(|pid| i32::try_from(pid).ok());
        let flags = self.number("common_flags").map(|flags| flags as u8);
        (pid.unwrap_or(UNKNOWN_PID), flags.map_or(Context::Unknown, Context::from_flags))
    }
}

impl TracepointFields for BinaryEvent<'_> {
    fn number(&self, name: &str) -> Option<i64> {
        let field = self.field(name)?;
        let bytes = self.bytes(field)?;
        let mut word = [0; 8];
        word.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let number = i64::from_le_bytes(word);
        let unused = 64 - 8 * bytes.len() as u32;
        Some(match field.is_signed && unused > 0 && unused < 64 {
            true => number << unused >> unused,
            false => number,
        })
    }

    fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        let field = self.field(name)?;
        let mut bytes = self.bytes(field)?;
        if field.is_data_loc {
            let place = u32::from_le_bytes(bytes.try_into().ok()?);
            let (at, length) = ((place & 0xffff) as usize, (place >> 16) as usize);
            let at = if field.is_rel_loc { at + field.offset + field.size } else { at };
            bytes = self.data.get(at..at + length)?;
        }
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_at_the_end_of_an_event_are_found_by_both_kinds_of_offset() {
        let mut formats = TracepointFormats::default();
        for (id, kind) in [(7, "__data_loc"), (8, "__rel_loc")] {
            let fields = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
                          \tfield:KIND char[] name;\toffset:4;\tsize:4;\tsigned:0;\n";
            formats.add(&format!("name: x\nID: {id}\nformat:\n{}", fields.replace("KIND", kind)));
        }
        // The text follows a number of four bytes: at byte 12, which is 4 after the end of the field.
        for (id, offset) in [(7_u8, 12_u32), (8, 4)] {
            let mut data = vec![id, 0, 0, 0];
            data.extend_from_slice(&(5 << 16 | offset).to_le_bytes());
            data.extend_from_slice(&[1, 1, 1, 1]);
            data.extend_from_slice(b"text\0");
            let event = formats.of(&data).expect("the format is known");
            assert_eq!(event.text("name").as_deref(), Some("text"));
        }
    }

    const FORMAT: &str = "name: sched_migrate_task\nID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:__data_loc char[] comm;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n";

    #[test]
    fn fields_are_found_by_the_format_even_those_behind_the_record() {
        let mut formats = TracepointFormats::default();
        formats.add(FORMAT);
        let mut data = vec![7, 0, 8, 0, 0xff, 0xff, 0xff, 0xff, 16, 0, 3, 0, 9, 0, 0, 0];
        data.extend_from_slice(b"ab\0");
        let event = formats.of(&data).expect("it is event 7");
        assert_eq!(event.common(), (-1, Context::Interrupt));
        assert_eq!((event.number("pid"), event.text("comm").as_deref()), (Some(9), Some("ab")));
        assert_eq!(event.number("nothing"), None);
        for end in 2..data.len() {
            let cut = formats.of(&data[..end]).expect("it is event 7");
            let _ = (cut.common(), cut.number("pid"), cut.text("comm"));
        }
    }
}
