// SPDX-License-Identifier: GPL-2.0-or-later
//! Power-of-two histograms in the format of bpftrace's `hist()`.

use crate::slot_mut;
use std::fmt::Write;

/// Width of the longest bar, in characters.
const BAR: usize = 52;
/// Suffixes of 2^0, 2^10, 2^20, ..., as bpftrace prints them.
const SUFFIXES: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];

/// Power-of-two histogram. Bucket 0 has the value 0, and bucket n has [2^(n-1), 2^n).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerHistogram {
    counts: Vec<u64>,
}

impl PowerHistogram {
    /// Counts a value once.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    pub(crate) fn record_n(&mut self, value: u64, times: u64) {
        let place = (u64::BITS - value.leading_zeros()) as usize;
        *slot_mut(&mut self.counts, place) += times;
    }

    /// Returns the smallest value and the count of each bucket.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().enumerate().map(|(place, &count)| (if place == 0 { 0 } else { 1 << (place - 1) }, count))
    }

    /// Formats the histogram as bpftrace does, from the first to the last non-empty bucket.
    pub fn bpftrace(&self, name: &str) -> String {
        let mut text = format!("@{name}:\n");
        let most = self.counts.iter().copied().max().unwrap_or(0);
        let first = self.counts.iter().position(|&count| count > 0).unwrap_or(0);
        for (place, &count) in self.counts.iter().enumerate().skip(first) {
            let length = if most == 0 { 0 } else { (count as f64 * BAR as f64 / most as f64) as usize };
            let bar = format!("{}{}", "@".repeat(length), " ".repeat(BAR - length));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{:16}{count:>8} |{bar}|", label(place));
        }
        text
    }
}

fn label(place: usize) -> String {
    match place {
        0 => "[0]".to_owned(),
        1 => "[1]".to_owned(),
        _ => format!("[{}, {})", short(place - 1), short(place)),
    }
}

/// Returns 2 to the given power, with a suffix.
fn short(power: usize) -> String {
    format!("{}{}", 1_u64 << (power % 10), SUFFIXES[power / 10])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published histogram of the time in `select_idle_cpu()`.
    const PUBLISHED: &str = "\
@usecs:
[0]                  533 |                                                    |
[1]                 5495 |                                                    |
[2, 4)             12008 |                                                    |
[4, 8)            239252 |                                                    |
[8, 16)          4041924 |@@@@@@@@@@@@@@                                      |
[16, 32)        12357398 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@         |
[32, 64)        14820255 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[64, 128)       13047682 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@       |
[128, 256)       8235013 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@                        |
[256, 512)       4507667 |@@@@@@@@@@@@@@@                                     |
[512, 1K)        2600472 |@@@@@@@@@                                           |
[1K, 2K)          927912 |@@@                                                 |
[2K, 4K)          218720 |                                                    |
[4K, 8K)           98161 |                                                    |
[8K, 16K)          37722 |                                                    |
[16K, 32K)          6715 |                                                    |
[32K, 64K)           477 |                                                    |
[64K, 128K)            7 |                                                    |
";

    #[test]
    fn the_text_is_that_of_the_published_histogram() {
        let mut histogram = PowerHistogram::default();
        for (place, line) in PUBLISHED.lines().skip(1).enumerate() {
            let count = line.split(')').next_back().unwrap_or(line);
            let count = count.split(']').next_back().unwrap_or(count);
            let count = count.split('|').next().expect("there is a bar").trim().parse().expect("a number");
            histogram.record_n(if place == 0 { 0 } else { 1 << (place - 1) }, count);
        }
        assert_eq!(histogram.bpftrace("usecs"), PUBLISHED);
    }

    #[test]
    fn a_value_lies_in_the_bucket_that_its_power_of_two_begins() {
        let mut histogram = PowerHistogram::default();
        for value in [0, 1, 2, 3, 4, 1023, 1024, u64::MAX] {
            histogram.record(value);
        }
        let filled: Vec<_> = histogram.buckets().filter(|&(_, count)| count > 0).collect();
        assert_eq!(filled, [(0, 1), (1, 1), (2, 2), (4, 1), (512, 1), (1024, 1), (1 << 63, 1)]);
    }

    #[test]
    fn an_empty_histogram_has_its_name_only() {
        assert_eq!(PowerHistogram::default().bpftrace("usecs"), "@usecs:\n");
    }
}
