// SPDX-License-Identifier: GPL-2.0-or-later
//! Reduction of a scenario's text to a local minimum with a property: no line or word can be left out, and no number
//! of CPUs or tasks can be halved.

use anyhow::Result;

/// Words of a line that are never removed alone, because nothing is left of the statement without them.
const NR_HEAD_WORDS: usize = 2;

/// Returns the smallest text that was found with the property, which `text` has.
///
/// # Errors
/// If the property of a text cannot be determined.
pub(super) fn shrink(text: String, has_property: &dyn Fn(&str) -> Result<bool>) -> Result<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    loop {
        let size = size_of(&lines);
        lines = without_lines(lines, has_property)?;
        lines = with_shorter_lines(lines, has_property)?;
        if size_of(&lines) >= size {
            return Ok(to_text(&lines));
        }
    }
}

/// Returns a measure that every step reduces.
fn size_of(lines: &[String]) -> usize {
    lines.iter().map(|line| 1 + line.len()).sum()
}

fn to_text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Removes runs of lines, from half of the file to single ones.
fn without_lines(mut lines: Vec<String>, has_property: &dyn Fn(&str) -> Result<bool>) -> Result<Vec<String>> {
    let mut length = lines.len().div_ceil(2);
    while length > 0 {
        let mut at = 0;
        while at < lines.len() {
            let mut fewer = lines.clone();
            fewer.drain(at..(at + length).min(lines.len()));
            if has_property(&to_text(&fewer))? {
                lines = fewer;
            } else {
                at += length;
            }
        }
        length /= 2;
    }
    Ok(lines)
}

/// Removes words, and makes numbers shorter.
fn with_shorter_lines(mut lines: Vec<String>, has_property: &dyn Fn(&str) -> Result<bool>) -> Result<Vec<String>> {
    for at in 0..lines.len() {
        'again: loop {
            for shorter in shorter_lines(&lines[at]) {
                let mut fewer = lines.clone();
                fewer[at] = shorter;
                if has_property(&to_text(&fewer))? {
                    lines = fewer;
                    continue 'again;
                }
            }
            break;
        }
    }
    Ok(lines)
}

/// Returns lines that are one step shorter.
fn shorter_lines(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    let mut shorter = Vec::new();
    for at in NR_HEAD_WORDS..words.len() {
        for length in [2, 1] {
            if at + length <= words.len() {
                let mut fewer = words.clone();
                fewer.drain(at..at + length);
                shorter.push(fewer.join(" "));
            }
        }
    }
    for at in 1..words.len() {
        for number in rounder_numbers(words[at]) {
            let mut fewer: Vec<&str> = words.clone();
            fewer[at] = &number;
            shorter.push(fewer.join(" "));
        }
    }
    shorter.retain(|shorter| shorter.len() < line.len());
    shorter
}

/// Returns words with the last number of a word in fewer characters: halved if it is small, rounded to milliseconds or
/// microseconds if it is a time in nanoseconds.
fn rounder_numbers(word: &str) -> Vec<String> {
    let start = word.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    let (head, digits) = word.split_at(start);
    let Ok(number) = digits.parse::<u64>() else { return Vec::new() };
    let mut numbers = Vec::new();
    for (unit, name) in [(1_000_000, "ms"), (1_000, "us")] {
        if number >= unit {
            numbers.push(format!("{head}{}{name}", number.div_ceil(unit)));
            numbers.push(format!("{head}{}{name}", number / unit));
        }
    }
    if (10..10_000).contains(&number) {
        numbers.push(format!("{head}{}", number / 10));
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn a_scenario_is_shrunk_to_what_its_property_needs() {
        let text = "cpus 8\nend 123456789\ntask a n=16 nice=3 run 5001000 sleep 4\ntask b run 3\noffline 12345678 3\n";
        let needs = |text: &str| Ok(text.contains("task a") && text.contains("sleep") && text.contains("offline"));
        let small = shrink(text.to_owned(), &needs).expect("the property has no errors");
        assert_eq!(small, "task a sleep\noffline 13ms\n");
    }
}
