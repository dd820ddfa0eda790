// SPDX-License-Identifier: GPL-2.0-or-later
//! Times for people.

/// Formats a time with three digits, in the unit that suits it.
pub fn time(ns: u64) -> String {
    let (unit, name) = match ns {
        0 => return "0".to_owned(),
        1..1_000 => return format!("{ns}ns"),
        1_000..1_000_000 => (1e3, "us"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let value = ns as f64 / unit;
    // Rounded before the number of digits is chosen, so that 9.999 becomes 10.0 and not 10.00.
    let digits = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let cases = [(0, "0"), (999, "999ns"), (1_000, "1.00us"), (9_996, "10.0us"), (123_456, "123us")];
        for (ns, text) in cases {
            assert_eq!(time(ns), text);
        }
        assert_eq!((time(99_960_000).as_str(), time(12_345_678_901).as_str()), ("100ms", "12.3s"));
    }
}
