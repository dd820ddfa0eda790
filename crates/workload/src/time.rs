// SPDX-License-Identifier: GPL-2.0-or-later
//! Times as text: a decimal number and a unit, such as `250us` or `1.5ms`.
//!
//! [`TimeFormat`] has the units of a place where times are written: scenarios, studies, or the command line. Results are
//! exact; fractions of 1 ns are cut off.

use crate::message::Message;
use fairlab_sched::units::Nanos;

/// Longest time, which is about 31 years.
pub const MAX_TIME: Nanos = Nanos(1_000_000_000_000_000_000);

/// Units that all formats have, with their lengths in ns.
pub const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Units that people use for long runs.
const LONG_UNITS: [(&str, u64); 3] = [("m", 60_000_000_000), ("min", 60_000_000_000), ("h", 3_600_000_000_000)];

/// Reason why a text is not a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeError {
    /// The text is not a decimal number with a known unit.
    Malformed,
    /// The time is longer than [`MAX_TIME`].
    TooLong,
}

/// Units of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeFormat {
    /// Length in ns of the unit of a number without one; `None` if it needs one.
    default_unit_ns: Option<u64>,
    /// Whether minutes and hours are units.
    has_long_units: bool,
}

impl TimeFormat {
    /// Times of scenarios. A number without a unit is in nanoseconds.
    pub const SCENARIO: Self = Self { default_unit_ns: Some(1), has_long_units: false };
    /// Times of studies, which need a unit.
    pub const STUDY: Self = Self { default_unit_ns: None, has_long_units: false };
    /// Times of the command line, also in minutes and hours. A number without a unit is in seconds.
    pub const COMMAND_LINE: Self = Self { default_unit_ns: Some(1_000_000_000), has_long_units: true };

    /// Reads a time.
    ///
    /// # Errors
    /// If the text is not a time of this format, or the time is longer than [`MAX_TIME`].
    pub fn parse(self, text: &str) -> Result<Nanos, TimeError> {
        let (whole, rest) = split_digits(text);
        let (fraction, unit) = match rest.strip_prefix('.') {
            Some(rest) => split_digits(rest),
            None => ("", rest),
        };
        if whole.is_empty() || (rest.starts_with('.') && fraction.is_empty()) {
            return Err(TimeError::Malformed);
        }
        let unit_ns = self.unit_ns(unit).ok_or(TimeError::Malformed)?;
        let whole: u64 = whole.parse().map_err(|_| TimeError::TooLong)?;
        let whole_ns = whole.checked_mul(unit_ns).filter(|&ns| ns <= MAX_TIME.0).ok_or(TimeError::TooLong)?;
        let mut ns = whole_ns;
        let mut digit_ns = unit_ns;
        for digit in fraction.bytes() {
            digit_ns /= 10;
            // The fraction is less than a unit, so the sum fits into 64 bits.
            ns += u64::from(digit - b'0') * digit_ns;
        }
        if ns > MAX_TIME.0 { Err(TimeError::TooLong) } else { Ok(Nanos(ns)) }
    }

    fn unit_ns(self, unit: &str) -> Option<u64> {
        if unit.is_empty() {
            return self.default_unit_ns;
        }
        let long: &[(&str, u64)] = if self.has_long_units { &LONG_UNITS } else { &[] };
        UNITS.iter().chain(long).find(|(name, _)| *name == unit).map(|&(_, ns)| ns)
    }
}

/// Splits a text after the digits at its beginning.
fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Parses a duration of the command line such as `5s`, `1.5ms` or `5m`. Zero is rejected.
///
/// # Errors
/// A message for the user.
pub fn parse_time(text: &str) -> Result<Nanos, Message> {
    match parse_moment(text)? {
        Nanos::ZERO => Err(Message::new("a duration must be greater than 0")),
        time => Ok(time),
    }
}

/// Parses a time from the start of a run on the command line.
///
/// # Errors
/// A message for the user.
pub fn parse_moment(text: &str) -> Result<Nanos, Message> {
    TimeFormat::COMMAND_LINE.parse(text).map_err(|error| match error {
        TimeError::Malformed => Message::new("a time is a number with a unit, or in seconds")
            .with_help("write 5s, 300ms, 1.5ms, 20us, 100ns, 2m or 1h"),
        TimeError::TooLong => Message::new("the longest time is 1000000000s"),
    })
}

/// Parses a time in whole microseconds, such as 20us or 0, as the kernel takes it. A number without a unit is
/// rejected: other times are then in seconds, but on a real machine this value is in microseconds.
///
/// # Errors
/// A message for the user.
pub fn parse_micros(text: &str) -> Result<Nanos, Message> {
    let is_bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_bare && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) {
        let missing = Message::new("a unit is missing");
        return Err(missing.with_help(format!("the kernel's is the microsecond: write {text}us")));
    }
    let time = parse_moment(text)?;
    let is_whole = time.0.is_multiple_of(1000);
    if is_whole { Ok(time) } else { Err(Message::new("the time must be in whole microseconds, such as 20us or 0")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        for (text, ns) in
            [("5s", 5_000_000_000), ("1.5ms", 1_500_000), ("20us", 20_000), ("7ns", 7), ("0.25s", 250_000_000)]
                .into_iter()
                .chain([
                    ("5m", 300_000_000_000),
                    ("2min", 120_000_000_000),
                    ("1h", 3_600_000_000_000),
                    ("10", 10_000_000_000),
                ])
        {
            assert_eq!(parse_time(text), Ok(Nanos(ns)), "{text}");
        }
        assert_eq!(parse_moment("0"), Ok(Nanos::ZERO));
        for text in [
            "",
            "s",
            "5 s",
            "5 m",
            "5d",
            "-5s",
            "1.s",
            ".5s",
            "1e3s",
            "0s",
            "99999999999s",
            "18446744073709551616ns",
            "18446744073.9s",
        ] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_exit_latency_is_in_whole_microseconds_and_may_be_nothing() {
        assert_eq!((parse_micros("0us"), parse_micros("1.5ms")), (Ok(Nanos::ZERO), Ok(Nanos::from_micros(1500))));
        assert_eq!((parse_micros("0"), parse_micros("20us")), (Ok(Nanos::ZERO), Ok(Nanos::from_micros(20))));
        for bare in ["20", "1.5"] {
            let error = parse_micros(bare).expect_err("a number without a unit is rejected");
            assert!(error.to_string().contains(&format!("write {bare}us")), "{error}");
        }
        assert!(parse_micros("20ns").expect_err("too fine").text.contains("whole microseconds"));
    }

    #[test]
    fn formats_differ_in_their_units_and_share_the_longest_time() {
        let formats = [TimeFormat::SCENARIO, TimeFormat::STUDY, TimeFormat::COMMAND_LINE];
        let malformed = Err(TimeError::Malformed);
        assert_eq!(formats.map(|format| format.parse("3")), [Ok(Nanos(3)), malformed, Ok(Nanos::from_secs(3))]);
        assert_eq!(formats.map(|format| format.parse("2m")), [malformed, malformed, Ok(Nanos::from_secs(120))]);
        assert_eq!(formats.map(|format| format.parse("1.0009us")), [Ok(Nanos(1000)); 3], "less than 1 ns is cut off");
        assert_eq!(formats.map(|format| format.parse("1000000000.000s")), [Ok(MAX_TIME); 3]);
        for text in ["1000000000.000000001s", "1000000001s", "18446744073709551616s"] {
            assert_eq!(formats.map(|format| format.parse(text)), [Err(TimeError::TooLong); 3], "{text}");
        }
    }
}
