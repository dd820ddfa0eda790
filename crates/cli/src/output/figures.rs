// SPDX-License-Identifier: GPL-2.0-or-later
//! Numbers for people: times with three digits, percentages, bars, sizes, lists of CPUs.

pub(crate) use fairlab_board::format_cpu_list;
pub(crate) use fairlab_measure::figures::time;
pub(crate) use fairlab_measure::plural::{counted_regular as counted, cpus_named};

/// Formats a share in percent with one decimal; a dash if the whole is 0.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1}", 100.0 * part as f64 / whole as f64) }
}

/// Formats a share in percent without decimals. `0%` and `100%` are exact: others print as `<1%` or `>99%`.
pub(crate) fn whole_percent(part: u64, whole: u64) -> String {
    if whole == 0 || part == 0 {
        return "0%".to_owned();
    }
    let percent = 100.0 * part as f64 / whole as f64;
    match percent {
        ..0.5 => "<1%".to_owned(),
        99.5.. if part < whole => ">99%".to_owned(),
        _ => format!("{percent:.0}%"),
    }
}

pub(crate) fn bar(part: u64, whole: u64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if whole == 0 {
        return " ".repeat(width);
    }
    let eighths = (part as f64 / whole as f64 * width as f64 * 8.0).round() as usize;
    let eighths = eighths.min(width * 8);
    let (full, rest) = (eighths / 8, eighths % 8);
    let used = full + usize::from(rest > 0);
    format!("{}{}{}", "█".repeat(full), EIGHTHS[rest], "░".repeat(width - used))
}

/// Formats a size in bytes with a binary unit.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} B"),
    }
}

pub(crate) fn rate(per_s: f64) -> String {
    match per_s {
        ..1e3 => format!("{per_s:.0}"),
        ..1e6 => format!("{:.0}k", per_s / 1e3),
        ..1e7 => format!("{:.2}M", per_s / 1e6),
        _ => format!("{:.1}M", per_s / 1e6),
    }
}

pub(crate) fn ratio(ratio: f64) -> String {
    let digits = match ratio {
        ..0.095 => 3,
        ..0.95 => 2,
        ..9.95 => 1,
        _ => 0,
    };
    format!("{ratio:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_shares_print_as_0_or_100_percent() {
        assert_eq!(whole_percent(0, 7), "0%");
        assert_eq!(whole_percent(1, 1000), "<1%");
        assert_eq!(whole_percent(999, 1000), ">99%");
        assert_eq!(whole_percent(1000, 1000), "100%");
        assert_eq!((percent(1, 3).as_str(), percent(1, 0).as_str()), ("33.3", "-"));
    }

    #[test]
    fn rates_and_ratios_have_two_or_three_digits() {
        let rates = [999.4, 1e3, 999_400.0, 1e6, 9_994_000.0, 1e7].map(rate);
        assert_eq!(rates, ["999", "1k", "999k", "1.00M", "9.99M", "10.0M"]);
        let ratios = [0.0049, 0.095, 0.94, 0.95, 9.94, 9.95].map(ratio);
        assert_eq!(ratios, ["0.005", "0.10", "0.94", "0.9", "9.9", "10"]);
    }

    #[test]
    fn bars_have_their_width() {
        for part in 0..=100 {
            assert_eq!(bar(part, 100, 7).chars().count(), 7);
        }
        assert_eq!((bar(0, 9, 3).as_str(), bar(9, 9, 3).as_str()), ("░░░", "███"));
    }
}
