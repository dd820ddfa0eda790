// SPDX-License-Identifier: GPL-2.0-or-later
//! Paths of numbers in the JSON result of a run, such as `bench.percentiles[percent=99].value`.
//!
//! Keys are separated by dots. A list is followed by selectors in brackets:
//! - `[3]` is the element with this index, counted from 0; `[-1]` is the last one.
//! - `[4-7]` is a range of indices, and `[*]` selects all elements.
//! - `[name=worker]` selects the elements whose member has this value; for elements that are lists, `[0=SIS]`
//!   names the member by index.
//! - `[cpu=4-7]` selects the elements whose member is a number in this range.
//! - Several selectors, separated by commas, are applied in sequence: `[kind=newidle,-1]` is the last element
//!   of this kind.
//!
//! A path may therefore lead to several numbers. A key with a question mark is optional
//! (`by_reason.Misfit?`).

use fairlab_workload::message::Message;
use fairlab_workload::suggest;
use serde_json::Value;
use std::fmt;

/// Parsed path in the JSON result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultPath {
    text: String,
    steps: Vec<PathStep>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Key(String),
    At(i64),
    Between(usize, usize),
    All,
    Where(String, String),
    /// Selectors that are applied in sequence.
    Chain(Vec<Self>),
}

/// Remedy for selectors that are missing.
const SELECT: &str = "select elements with [3], [*] or [name=...]";
/// Remedy for paths that end at a value which has no numbers.
const SHOW_KEYS: &str = "`fairlab run --json` and `fairlab bench --json` show the available keys";

impl ResultPath {
    /// Parses a path.
    ///
    /// # Errors
    /// A description of the first error in it.
    pub fn parse(text: &str) -> Result<Self, Message> {
        let wrong = |problem: &str, help: &str| Err(Message::new(format!("`{text}`: {problem}")).with_help(help));
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 {
                return wrong("a key is missing", "separate names with dots, and add [..] after lists");
            }
            steps.push(PathStep::Key(rest[..end].to_owned()));
            rest = &rest[end..];
            while let Some(inner) = rest.strip_prefix('[') {
                let Some((selector, behind)) = inner.split_once(']') else {
                    return wrong("`[` without `]`", "add the closing bracket");
                };
                let Some(step) = selector_of(selector) else {
                    return wrong(
                        &format!("`[{selector}]` is no selector"),
                        "write an index ([3], [-1], [4-7], [*]) or a member ([name=worker])",
                    );
                };
                steps.push(step);
                rest = behind;
            }
            match rest.strip_prefix('.') {
                Some(behind) => rest = behind,
                None if rest.is_empty() => return Ok(Self { text: text.to_owned(), steps }),
                None => return wrong("text after `]`", "separate names with dots"),
            }
        }
    }

    /// The path in its textual form.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the values at the path. A missing value (null, an empty list, no matching element) is left
    /// out.
    ///
    /// # Errors
    /// If a key does not exist or a value has the wrong type, so that no run can have this path.
    pub fn find<'v>(&self, root: &'v Value) -> Result<Vec<&'v Value>, Message> {
        let mut found = vec![root];
        let mut at = String::new();
        for step in &self.steps {
            let mut next = Vec::new();
            for value in found.into_iter().filter(|value| !value.is_null()) {
                step.follow(value, &at, &mut next)?;
            }
            found = next;
            at = step.append_to(at);
        }
        found.retain(|value| !value.is_null());
        Ok(found)
    }

    /// Returns the numbers at the path; a Boolean is 1 or 0.
    ///
    /// # Errors
    /// As in [`Self::find`], and if a value is neither number nor Boolean.
    pub fn numbers(&self, root: &Value) -> Result<Vec<f64>, Message> {
        let number = |value: &Value| match value {
            Value::Bool(is_true) => Ok(f64::from(u8::from(*is_true))),
            Value::Number(number) => Ok(number.as_f64().unwrap_or(f64::NAN)),
            Value::Object(keys) => {
                let known: Vec<&str> = keys.keys().map(String::as_str).collect();
                let help = format!("continue with one of {}", known.join(", "));
                Err(error_at(&self.text, "is not a number", help))
            }
            Value::Array(_) => Err(error_at(&self.text, "is a list", SELECT)),
            Value::String(_) | Value::Null => Err(error_at(&self.text, format!("is {value}, not a number"), SHOW_KEYS)),
        };
        self.find(root)?.into_iter().map(number).collect()
    }
}

/// Returns the error of a value; `at` is its path.
fn error_at(at: &str, problem: impl fmt::Display, help: impl Into<String>) -> Message {
    let place = if at.is_empty() { "a run".to_owned() } else { format!("`{at}`") };
    Message::new(format!("{place} {problem}")).with_help(help)
}

fn selector_of(text: &str) -> Option<PathStep> {
    if text.contains(',') {
        return text.split(',').map(|one| selector_of(one.trim())).collect::<Option<Vec<_>>>().map(PathStep::Chain);
    }
    if text == "*" {
        return Some(PathStep::All);
    }
    if let Some((key, value)) = text.split_once('=') {
        return (!key.is_empty() && !value.is_empty()).then(|| PathStep::Where(key.to_owned(), value.to_owned()));
    }
    if let Ok(place) = text.parse() {
        return Some(PathStep::At(place));
    }
    let (first, last) = text.split_once('-')?;
    Some(PathStep::Between(first.parse().ok()?, last.parse().ok()?)).filter(|step| match step {
        PathStep::Between(first, last) => first <= last,
        _ => false,
    })
}

impl PathStep {
    /// Appends the values that this step selects from `value` to `next`; `at` is the path so far, for errors.
    fn follow<'v>(&self, value: &'v Value, at: &str, next: &mut Vec<&'v Value>) -> Result<(), Message> {
        if let Self::Key(key) = self {
            next.push(member(value, key, at)?);
            return Ok(());
        }
        let Value::Array(elements) = value else {
            return Err(error_at(at, "is not a list", "leave the brackets out"));
        };
        next.extend(self.select(elements.iter().collect(), at)?);
        Ok(())
    }

    /// Returns the elements of a list that this selector selects.
    fn select<'v>(&self, elements: Vec<&'v Value>, at: &str) -> Result<Vec<&'v Value>, Message> {
        Ok(match self {
            Self::All | Self::Key(_) => elements,
            Self::At(place) => {
                let from_end = usize::try_from(-place).ok().and_then(|back| elements.len().checked_sub(back));
                let place = usize::try_from(*place).ok().or(from_end);
                place.and_then(|place| elements.get(place).copied()).into_iter().collect()
            }
            Self::Between(first, last) => elements.into_iter().skip(*first).take(last - first + 1).collect(),
            Self::Where(key, wanted) => {
                let mut chosen = Vec::new();
                for element in elements {
                    if matches(member(element, key, at)?, wanted) {
                        chosen.push(element);
                    }
                }
                chosen
            }
            Self::Chain(steps) => {
                let mut chosen = elements;
                for step in steps {
                    chosen = step.select(chosen, at)?;
                }
                chosen
            }
        })
    }

    /// Returns the path `at` extended by this step.
    fn append_to(&self, at: String) -> String {
        match self {
            Self::Key(key) if at.is_empty() => key.clone(),
            Self::Key(key) => format!("{at}.{key}"),
            selector => format!("{at}[{}]", selector.to_text()),
        }
    }

    /// Textual form of the step, without brackets.
    fn to_text(&self) -> String {
        match self {
            Self::Key(key) => key.clone(),
            Self::At(place) => place.to_string(),
            Self::Between(first, last) => format!("{first}-{last}"),
            Self::All => "*".to_owned(),
            Self::Where(key, value) => format!("{key}={value}"),
            Self::Chain(steps) => steps.iter().map(Self::to_text).collect::<Vec<_>>().join(","),
        }
    }
}

/// Returns the member of an object by name, or of a list by index; null if an optional or indexed member is
/// absent.
fn member<'v>(value: &'v Value, key: &str, at: &str) -> Result<&'v Value, Message> {
    match value {
        Value::Object(members) => match (members.get(key), key.strip_suffix('?')) {
            (Some(value), _) => Ok(value),
            (None, Some(optional)) => Ok(members.get(optional).unwrap_or(&Value::Null)),
            (None, None) => {
                let known: Vec<&str> = members.keys().map(String::as_str).collect();
                Err(error_at(at, format!("has no `{key}`"), suggest::help(key, "there is", &known)))
            }
        },
        Value::Array(elements) => match key.parse::<usize>() {
            Ok(place) => Ok(elements.get(place).unwrap_or(&Value::Null)),
            Err(_) => Err(error_at(at, format!("is a list, so it has no `{key}`"), SELECT)),
        },
        value => Err(error_at(at, format!("is {value}, which has no `{key}`"), SHOW_KEYS)),
    }
}

/// Whether a value equals the text of a selector. Numbers are compared numerically, and may lie in a range.
fn matches(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(text) => text == wanted,
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            match (wanted.parse::<f64>(), wanted.split_once('-')) {
                (Ok(wanted), _) => number == wanted,
                (Err(_), Some((low, high))) => match (low.parse(), high.parse()) {
                    (Ok(low), Ok(high)) => (low..=high).contains(&number),
                    _ => false,
                },
                (Err(_), None) => false,
            }
        }
        Value::Bool(is_true) => wanted == if *is_true { "true" } else { "false" },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run() -> Value {
        json!({
            "families": [{ "name": "ui", "run_ns": 5, "by": [[462, 1], [1024, 4]] }, { "name": "hog", "run_ns": 7, "by": [] }],
            "bench": { "percentiles": [{ "percent": 50.0, "value": 8 }, { "percent": 99.0, "value": 13 }] },
            "energy": null,
            "rules": [["Target", 3], ["Prev", 9]],
        })
    }

    fn numbers(path: &str) -> Result<Vec<f64>, Message> {
        ResultPath::parse(path).expect("it is a path").numbers(&run())
    }

    #[test]
    fn a_path_leads_to_all_numbers_that_it_names() {
        let cases: [(&str, &[f64]); 14] = [
            ("bench.percentiles[percent=60-100].value", &[13.0]),
            ("bench.samples?", &[]),
            ("families[*].run_ns?", &[5.0, 7.0]),
            ("bench.percentiles[percent=99,0].value", &[13.0]),
            ("families[0-1,-1].run_ns", &[7.0]),
            ("families[name=ui].run_ns", &[5.0]),
            ("families[*].run_ns", &[5.0, 7.0]),
            ("families[0-9].run_ns", &[5.0, 7.0]),
            ("families[-1].run_ns", &[7.0]),
            ("families[*].by[-1][1]", &[4.0]),
            ("bench.percentiles[percent=99].value", &[13.0]),
            ("rules[0=Prev][1]", &[9.0]),
            ("families[name=nobody].run_ns", &[]),
            ("energy.busy_uj", &[]),
        ];
        for (path, expected) in cases {
            assert_eq!(numbers(path).as_deref(), Ok(expected), "{path}");
        }
    }

    #[test]
    fn a_path_that_no_run_has_is_rejected_with_the_existing_keys() {
        let error = numbers("bench.percentile[percent=99].value").expect_err("there is no such key");
        assert_eq!(
            error.one_line(),
            "`bench` has no `percentile` help: did you mean `percentiles`? there is: percentiles"
        );
        for (path, what) in [
            ("families.run_ns", "is a list"),
            ("bench", "continue with one of percentiles"),
            ("families", "select elements"),
            ("bench[0].x", "is not a list"),
            ("families[0].name", "not a number"),
            ("families[0].name.x", "has no `x`"),
        ] {
            let message = numbers(path).expect_err(path).to_string();
            assert!(message.contains(what), "{path}: {message}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["", ".a", "a..b", "a[", "a[]", "a[x]", "a[1]b", "a[5-2]", "a[=3]", "a."] {
            assert!(ResultPath::parse(text).is_err(), "{text}");
        }
    }
}
