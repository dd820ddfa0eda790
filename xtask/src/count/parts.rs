// SPDX-License-Identifier: GPL-2.0-or-later
//! Sides and parts of the kernel, by the functions that begin them (`xtask/count/parts.toml`).

use super::kernel::{Symbol, Symbols};
use anyhow::{Context, Result};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use toml::{Table, Value};

/// Patterns of function names for sides, parts and the plugin's flags.
pub(super) struct Parts {
    sides: Patterns,
    parts: Patterns,
    flags: Patterns,
    system_calls: Vec<String>,
}

/// Patterns with a value each. `*` stands for any characters.
#[derive(Default)]
struct Patterns {
    exact: HashMap<String, String>,
    /// Longest first.
    with_wildcard: Vec<(String, String)>,
}

impl Parts {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let file: Table = text.parse()?;
        let list = |key: &str| strings(file.get(key).with_context(|| format!("no key {key}"))?, key);
        let mut flags = Patterns::default();
        for (key, flag) in [("ignored", "i"), ("vectors", "v"), ("switches", "s"), ("new_tasks", "n")] {
            list(key)?.into_iter().for_each(|pattern| flags.add(pattern, flag));
        }
        let table = |key: &str| -> Result<Patterns> {
            let mut patterns = Patterns::default();
            for (value, names) in file.get(key).and_then(Value::as_table).with_context(|| format!("no table {key}"))? {
                strings(names, value)?.into_iter().for_each(|pattern| patterns.add(pattern, value));
            }
            Ok(patterns)
        };
        Ok(Self {
            sides: table("sides")?,
            parts: table("parts")?,
            flags: flags.sorted(),
            system_calls: list("system_calls")?,
        }
        .sorted())
    }

    fn sorted(self) -> Self {
        Self { sides: self.sides.sorted(), parts: self.parts.sorted(), ..self }
    }

    /// Returns the plugin's file of functions.
    pub(super) fn functions(&self, symbols: &Symbols) -> String {
        let mut text = String::new();
        let mut functions =
            symbols.list.iter().filter(|symbol| "tTwW".contains(symbol.kind) && symbol.address >> 63 == 1).peekable();
        while let Some(first) = functions.next() {
            // Of several names for an address, one with a meaning.
            let mut best = self.line(first);
            while let Some(alias) = functions.next_if(|symbol| symbol.address == first.address) {
                let line = self.line(alias);
                if line.1 > best.1 {
                    best = line;
                }
            }
            let _ = writeln!(text, "{:x} {}", first.address, best.0);
        }
        text
    }

    /// Returns the flags, side, part and name of a function, and how much it has of these.
    fn line(&self, symbol: &Symbol) -> (String, usize) {
        let name = symbol.name.split('.').next().unwrap_or_default();
        let call = self.system_calls.iter().find_map(|prefix| name.strip_prefix(prefix.as_str()));
        let side = call.or_else(|| self.sides.value(name));
        let part = call.map(|_| "call").or_else(|| self.parts.value(name));
        let flags = self.flags.all(name);
        let meaning = usize::from(side.is_some()) + usize::from(part.is_some()) + flags.len();
        let flags = if flags.is_empty() { "-" } else { &flags };
        let line = format!("{flags} {} {} {:.79}", side.unwrap_or("-"), part.unwrap_or("-"), symbol.name);
        (line, meaning)
    }
}

impl Patterns {
    fn add(&mut self, pattern: String, value: &str) {
        if pattern.contains('*') {
            self.with_wildcard.push((pattern, value.to_owned()));
        } else {
            let values = self.exact.entry(pattern).or_default();
            values.push_str(value);
        }
    }

    fn sorted(mut self) -> Self {
        self.with_wildcard.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
        self
    }

    /// Returns the value of a name: that of the exact pattern, else of the longest pattern that fits.
    fn value(&self, name: &str) -> Option<&str> {
        let exact = self.exact.get(name).map(String::as_str);
        exact.or_else(|| {
            self.with_wildcard.iter().find(|(pattern, _)| fits(pattern, name)).map(|(_, value)| value.as_str())
        })
    }

    /// Returns the values of all patterns that fit.
    fn all(&self, name: &str) -> String {
        let mut values = self.exact.get(name).cloned().unwrap_or_default();
        for (_, value) in self.with_wildcard.iter().filter(|(pattern, _)| fits(pattern, name)) {
            if !values.contains(value.as_str()) {
                values.push_str(value);
            }
        }
        values
    }
}

/// Whether a name fits a pattern with wildcards.
fn fits(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.is_empty()
}

fn strings(value: &Value, key: &str) -> Result<Vec<String>> {
    let list = value.as_array().with_context(|| format!("{key}: not a list"))?;
    list.iter()
        .map(|name| name.as_str().map(str::to_owned).with_context(|| format!("{key}: not a list of names")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "ignored = ['tick']\nvectors = ['asm_*']\nswitches = []\nnew_tasks = []\nsystem_calls = ['__x64_sys_']\n\
                        [sides]\ninterrupt = ['asm_*']\n[parts]\ntick = ['tick_*', 'tick']\nidle = ['tick_nohz_*']\nwakeup = ['ttwu_queue']\n";

    fn line(name: &str) -> String {
        let symbol = Symbol { address: 1 << 63, kind: 't', name: name.to_owned() };
        Parts::parse(FILE).expect("the file is correct").line(&symbol).0
    }

    #[test]
    fn the_most_specific_pattern_decides() {
        assert_eq!(line("tick_nohz_stop"), "- - idle tick_nohz_stop");
        assert_eq!(line("tick_do"), "- - tick tick_do");
        assert_eq!(line("tick"), "i - tick tick");
        assert_eq!(line("asm_timer"), "v interrupt - asm_timer");
        assert_eq!(line("__x64_sys_read"), "- read call __x64_sys_read");
        assert_eq!(line("ttwu_queue.isra.0"), "- - wakeup ttwu_queue.isra.0");
        assert_eq!(line("other"), "- - - other");
    }

    #[test]
    fn wildcards_stand_for_any_characters() {
        for (pattern, name) in [("a*", "a"), ("a*", "abc"), ("*c", "abc"), ("a*c*e", "abcde"), ("abc", "abc")] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("a*", "ba"), ("a*c", "ab"), ("abc", "abcd"), ("a*c*e", "aecd")] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}
