// SPDX-License-Identifier: GPL-2.0-or-later
//! Lengths of time in a study's data: a number and its unit, such as `500ms`.

use fairlab_sched::units::Nanos;
use fairlab_workload::message::Message;
use fairlab_workload::time::{TimeFormat, UNITS};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Length of time, parsed from a text such as `500ms`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeSpan(pub Nanos);

impl FromStr for TimeSpan {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        let wrong = |_| {
            Message::new(format!("`{text}` is not a time"))
                .with_help("write a number and a unit, such as 5s, 300ms, 20us or 100ns")
        };
        TimeFormat::STUDY.parse(text).map(Self).map_err(wrong)
    }
}

impl fmt::Display for TimeSpan {
    /// Formats the length in the largest unit that divides it evenly.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Nanos(ns) = self.0;
        let (unit, size) = UNITS.iter().rev().find(|(_, size)| ns % size == 0 && ns > 0).unwrap_or(&UNITS[0]);
        write!(f, "{}{unit}", ns / size)
    }
}

impl TryFrom<String> for TimeSpan {
    type Error = Message;

    fn try_from(text: String) -> Result<Self, Message> {
        text.parse()
    }
}

impl From<TimeSpan> for String {
    fn from(span: TimeSpan) -> Self {
        span.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_exact_and_written_as_they_are_read() {
        for (text, ns) in [("5s", 5_000_000_000), ("300ms", 300_000_000), ("1500us", 1_500_000), ("7ns", 7)] {
            let span: TimeSpan = text.parse().expect("it is a time");
            assert_eq!((span.0, span.to_string()), (Nanos(ns), text.to_owned()));
        }
        assert_eq!("1.5ms".parse::<TimeSpan>().map(|span| span.to_string()), Ok("1500us".to_owned()));
        for text in ["", "5", "ms", "-1s", "1e3s", "1.s", "5 s", "99999999999s"] {
            assert!(text.parse::<TimeSpan>().is_err(), "{text}");
        }
    }
}
