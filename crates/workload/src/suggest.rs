// SPDX-License-Identifier: GPL-2.0-or-later
//! "Did you mean": the known name that is nearest to a misspelt one; and errors of the `toml` crate with such a remedy.

/// Returns the known name nearest to `word`, if it is near enough to be the intended one.
///
/// The distance counts insertions, deletions, substitutions and swaps of neighbours. It may be at most a third of the word's
/// letters, rounded down, but at least one edit. Case does not count. Of equally near names the first wins.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let limit = (word.chars().count() / 3).max(1);
    known
        .iter()
        .map(|name| (strsim::osa_distance(&word, &name.to_lowercase()), *name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Returns the help text for an unknown name: the nearest known name, and a list of the known names, each
/// once.
pub fn help(word: &str, what: &str, known: &[&str]) -> String {
    let mut each: Vec<&str> = Vec::new();
    for name in known {
        if !each.contains(name) {
            each.push(name);
        }
    }
    let list = format!("{what}: {}", each.join(", "));
    match nearest(word, known) {
        Some(name) => format!("did you mean `{name}`? {list}"),
        None => list,
    }
}

/// Rewords a message of the `toml` crate about a missing field, an unknown key or an unknown value, and suggests the nearest
/// known name. Returns the text and its remedy, and `None` for any other message.
pub fn reworded_toml_error(message: &str) -> Option<(String, String)> {
    let quoted = |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    if let Some(rest) = message.strip_prefix("missing field ") {
        let name = quoted(rest).into_iter().next()?;
        return Some((format!("there is no `{name}`"), format!("add it: {name} = ...")));
    }
    let (kind, what) = [("unknown field ", "key"), ("unknown variant ", "value")]
        .into_iter()
        .find(|(prefix, _)| message.starts_with(prefix))?;
    let mut names = quoted(&message[kind.len()..]).into_iter();
    let name = names.next()?;
    let known: Vec<String> = names.collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let problem = if what == "key" { format!("unknown key `{name}`") } else { format!("unknown variant `{name}`") };
    Some((problem, help(&name, &format!("{what}s here"), &known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_the_nearest_known_one() {
        let known = ["SIS_UTIL", "SIS_PROP", "WA_IDLE"];
        assert_eq!(nearest("SIS_UTL", &known), Some("SIS_UTIL"));
        assert_eq!(nearest("sis_porp", &known), Some("SIS_PROP"));
        assert_eq!(nearest("FOO", &known), None);
        assert_eq!(nearest("", &known), None);
    }
}
