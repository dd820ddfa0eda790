// SPDX-License-Identifier: GPL-2.0-or-later
//! Fast serialisation of JSON lines into a byte buffer.
//!
//! A trace has a line for each event of a run, so writing one must cost less than the event itself. Keys and
//! names are joined at compile time, and numbers are written without `format!`.

use fairlab_sched::types::pelt::SchedAvg;

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
}
