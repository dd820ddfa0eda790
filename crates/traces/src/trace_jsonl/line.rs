// SPDX-License-Identifier: GPL-2.0-or-later
//! Fast serialisation of JSON lines into a byte buffer.
//!
//! A trace has a line for each event of a run, so writing one must cost less than the event itself. Keys and
//! names are joined at compile time, numbers are written without `format!`, and one reused buffer collects
//! all lines.

use fairlab_sched::types::pelt::SchedAvg;
use std::io::{self, Write};

/// Number of buffered bytes from which the buffer is written.
const MAX_BUFFERED_BYTES: usize = 1 << 17;
/// Usual upper bound of a line's length. The counters of a CPU may be longer; the buffer then grows.
const MAX_LINE_BYTES: usize = 1 << 10;

pub(super) struct Lines<W: Write> {
    out: W,
    bytes: Vec<u8>,
    error: Option<io::Error>,
}

impl<W: Write> Lines<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, bytes: Vec::with_capacity(MAX_BUFFERED_BYTES + MAX_LINE_BYTES), error: None }
    }

    /// Returns the buffer for the next line, after writing it out if it is full.
    #[inline]
    pub(super) fn buffer_mut(&mut self) -> &mut Vec<u8> {
        if self.bytes.len() >= MAX_BUFFERED_BYTES {
            self.write_buffer();
        }
        &mut self.bytes
    }

    /// Writes the buffer. After an error further lines are discarded, and [`Self::finish`] returns the error.
    #[cold]
    fn write_buffer(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(&self.bytes).err();
        }
        self.bytes.clear();
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Writes the buffered lines, and returns the first error.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.write_buffer();
        self.error.map_or_else(|| self.out.flush(), Err)
    }
}

pub(super) trait JsonValue {
    fn put(self, bytes: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl JsonValue for $number {
            #[inline]
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(itoa::Buffer::new().format(self).as_bytes());
            }
        })*
    };
}

numbers! { u32 u64 usize i32 i64 }

/// Flags are written as 0 or 1.
impl JsonValue for bool {
    #[inline]
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(b'0' + u8::from(self));
    }
}

/// A constant of the program, which needs no escaping.
impl JsonValue for &'static str {
    #[inline]
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(b'"');
        bytes.extend_from_slice(self.as_bytes());
        bytes.push(b'"');
    }
}

/// Text from a user's file; quotes and control characters are escaped.
pub(super) struct EscapedStr<'a>(pub(super) &'a str);

impl JsonValue for EscapedStr<'_> {
    fn put(self, bytes: &mut Vec<u8>) {
        serde_json::to_writer(bytes, self.0).expect("text can be written into memory");
    }
}

impl<T: JsonValue, const N: usize> JsonValue for [T; N] {
    #[inline]
    fn put(self, bytes: &mut Vec<u8>) {
        List(self.into_iter(), T::put).put(bytes);
    }
}

/// Averages of an entity or a cfs_rq, as an array.
impl JsonValue for &SchedAvg {
    #[inline]
    fn put(self, bytes: &mut Vec<u8>) {
        [
            self.last_update_time,
            self.load_sum,
            self.runnable_sum,
            u64::from(self.util_sum),
            u64::from(self.period_contrib),
            self.load_avg,
            self.runnable_avg,
            self.util_avg,
        ]
        .put(bytes);
    }
}

/// JSON array whose elements are written by a function.
pub(super) struct List<I, F>(pub(super) I, pub(super) F);

impl<T, I: Iterator<Item = T>, F: Fn(T, &mut Vec<u8>)> JsonValue for List<I, F> {
    #[inline]
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(b'[');
        for (place, item) in self.0.enumerate() {
            if place > 0 {
                bytes.push(b',');
            }
            self.1(item, bytes);
        }
        bytes.push(b']');
    }
}

/// Appends an object: `object!(bytes, t: 5, e: "freq")` writes `{"t":5,"e":"freq"}`.
macro_rules! object {
    ($bytes:expr, $first:ident: $value:expr $(, $key:ident: $other:expr)* $(,)?) => {{
        let bytes: &mut Vec<u8> = $bytes;
        bytes.extend_from_slice(concat!("{\"", stringify!($first), "\":").as_bytes());
        $crate::trace_jsonl::line::JsonValue::put($value, bytes);
        $(
            bytes.extend_from_slice(concat!(",\"", stringify!($key), "\":").as_bytes());
            $crate::trace_jsonl::line::JsonValue::put($other, bytes);
        )*
        bytes.push(b'}');
    }};
}

/// Appends an object and a newline.
macro_rules! line {
    ($bytes:expr, $($rest:tt)*) => {{
        let bytes: &mut Vec<u8> = $bytes;
        object!(bytes, $($rest)*);
        bytes.push(b'\n');
    }};
}

pub(super) use {line, object};

#[cfg(test)]
mod tests {
    use super::*;

    /// Writer that rejects all bytes.
    struct ClosedWriter;

    impl Write for ClosedWriter {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_what_they_say() {
        let mut bytes = Vec::new();
        line!(&mut bytes, t: u64::MAX, e: "x", pid: -1_i32, on: true, name: EscapedStr("a\"b\n"), of: [1_u32, 2]);
        let twice = |number: u32, bytes: &mut Vec<u8>| object!(bytes, is: 2 * number);
        line!(&mut bytes, list: List([1_u32, 2].into_iter(), twice));
        let text = String::from_utf8(bytes).expect("JSON is text");
        let expected = "{\"t\":18446744073709551615,\"e\":\"x\",\"pid\":-1,\"on\":1,\"name\":\"a\\\"b\\n\",\"of\":[1,2]}\n\
                        {\"list\":[{\"is\":2},{\"is\":4}]}\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn all_lines_arrive_in_their_order_and_the_buffer_stays_as_large_as_it_was() {
        let mut out = Vec::new();
        let mut lines = Lines::new(&mut out);
        let capacity = lines.bytes.capacity();
        for number in 0..100_000_u32 {
            line!(lines.buffer_mut(), number: number);
        }
        assert_eq!(lines.bytes.capacity(), capacity);
        lines.finish().expect("memory can be written");
        let expected: String = (0..100_000).map(|number| format!("{{\"number\":{number}}}\n")).collect();
        assert_eq!(String::from_utf8(out).expect("JSON is text"), expected);
    }

    #[test]
    fn a_write_error_is_returned_at_the_end_and_while_lines_are_added() {
        let mut lines = Lines::new(ClosedWriter);
        for number in 0..100_000_u32 {
            line!(lines.buffer_mut(), number: number);
        }
        assert!(lines.has_failed());
        assert_eq!(lines.finish().expect_err("it is closed").kind(), io::ErrorKind::BrokenPipe);
        let mut short = Lines::new(ClosedWriter);
        line!(short.buffer_mut(), number: 1_u32);
        assert!(!short.has_failed(), "nothing was handed on yet");
        assert!(short.finish().is_err());
    }
}
