// SPDX-License-Identifier: GPL-2.0-or-later
//! Encoder for the part of protocol buffers that a trace needs: numbers, bytes, nested messages, packed lists.

use prost::encoding::encode_varint;

/// Bytes reserved for the length of a message: up to 256 MiB. A length may have more bytes than it needs.
const LENGTH: usize = 4;

/// Appends a number field. A negative number takes ten bytes.
#[inline]
pub(super) fn put_number(bytes: &mut Vec<u8>, field: u32, number: u64) {
    encode_varint(u64::from(field) << 3, bytes);
    encode_varint(number, bytes);
}

#[inline]
pub(super) fn put_signed(bytes: &mut Vec<u8>, field: u32, number: i64) {
    put_number(bytes, field, number as u64);
}

pub(super) fn put_bytes(bytes: &mut Vec<u8>, field: u32, content: &[u8]) {
    encode_varint(u64::from(field) << 3 | 2, bytes);
    encode_varint(content.len() as u64, bytes);
    bytes.extend_from_slice(content);
}

/// Appends a message field; `put` writes its content.
pub(super) fn put_message(bytes: &mut Vec<u8>, field: u32, put: impl FnOnce(&mut Vec<u8>)) {
    encode_varint(u64::from(field) << 3 | 2, bytes);
    let at = bytes.len();
    bytes.extend_from_slice(&[0; LENGTH]);
    put(bytes);
    let length = bytes.len() - at - LENGTH;
    debug_assert!(length < 1 << (7 * LENGTH), "a message of {length} bytes is too long");
    for place in 0..LENGTH {
        let has_more = if place + 1 < LENGTH { 0x80 } else { 0 };
        bytes[at + place] = (length >> (7 * place)) as u8 & 0x7f | has_more;
    }
}

/// Packed list of numbers, which becomes one field.
#[derive(Debug, Default)]
pub(super) struct Packed(Vec<u8>);

impl Packed {
    #[inline]
    pub(super) fn push(&mut self, number: u64) {
        encode_varint(number, &mut self.0);
    }

    /// Appends the list as a field unless it is empty, and clears it.
    pub(super) fn take_into(&mut self, bytes: &mut Vec<u8>, field: u32) {
        if !self.0.is_empty() {
            put_bytes(bytes, field, &self.0);
            self.0.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_messages_are_as_the_format_wants_them() {
        let mut bytes = Vec::new();
        put_number(&mut bytes, 1, 150);
        put_bytes(&mut bytes, 2, b"testing");
        assert_eq!(bytes, [0x08, 0x96, 0x01, 0x12, 0x07, b't', b'e', b's', b't', b'i', b'n', b'g']);
        let mut bytes = Vec::new();
        put_message(&mut bytes, 3, |bytes| put_number(bytes, 1, 150));
        assert_eq!(bytes, [0x1a, 0x83, 0x80, 0x80, 0x00, 0x08, 0x96, 0x01], "the length has its reserved bytes");
        let mut list = Packed::default();
        [3, 270, 86942].into_iter().for_each(|number| list.push(number));
        let mut bytes = Vec::new();
        list.take_into(&mut bytes, 6);
        list.take_into(&mut bytes, 6);
        assert_eq!(bytes, [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]);
        let mut bytes = Vec::new();
        put_signed(&mut bytes, 1, -1);
        assert_eq!(bytes.len(), 11);
    }
}
