// SPDX-License-Identifier: GPL-2.0-or-later
//! Names of variables, parameters and fields that do not name their content, in all languages.

use super::ProseFile;
use super::words::avoided_names;

/// Endings of files whose names are checked, with the mark of a comment up to the end of the line.
const LANGUAGES: [(&str, &str); 6] = [("rs", "//"), ("c", "//"), ("h", "//"), ("js", "//"), ("py", "#"), ("pyi", "#")];

/// Returns one sentence per line that has an avoided name.
pub(super) fn problems(files: &[ProseFile]) -> Vec<String> {
    let mut wrong = Vec::new();
    for file in files {
        let ending = file.path.rsplit('.').next().unwrap_or_default();
        let Some((_, comment)) = LANGUAGES.iter().find(|(known, _)| *known == ending) else { continue };
        for (line, name) in avoided(&file.text, comment) {
            wrong.push(format!("{}:{line}: `{name}` does not name its content", file.path));
        }
    }
    wrong
}

/// Returns the avoided names of a source outside comments and strings, with their lines.
fn avoided<'a>(text: &'a str, comment: &str) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (text, 1);
    let mut is_method = false;
    while let Some(letter) = rest.chars().next() {
        let length = token_length(rest, letter, comment);
        let (token, after) = rest.split_at(length);
        // A method of a library, such as `.looks()`, is not ours to name.
        let is_call = is_method && after.starts_with('(');
        if avoided_names().iter().any(|name| name == token) && !is_call {
            found.push((line, token));
        }
        is_method = token == ".";
        line += token.matches('\n').count();
        rest = after;
    }
    found
}

/// Returns the length of the comment, string, identifier or letter at the start of a source.
fn token_length(rest: &str, letter: char, comment: &str) -> usize {
    let up_to = |mark: &str, from: usize| rest[from..].find(mark).map_or(rest.len(), |at| from + at + mark.len());
    if rest.starts_with(comment) {
        return up_to("\n", comment.len());
    }
    if comment == "//" && rest.starts_with("/*") {
        return up_to("*/", 2);
    }
    if comment == "#" && rest.starts_with("\"\"\"") {
        return up_to("\"\"\"", 3);
    }
    if let Some(literal) = ["'\"'", "'\\\"'", "'\\''"].iter().find(|literal| rest.starts_with(**literal)) {
        return literal.len();
    }
    if letter == '"' || (letter == '\'' && comment == "#") {
        return string_length(rest, letter);
    }
    if letter.is_alphabetic() || letter == '_' {
        return rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    }
    letter.len_utf8()
}

/// Returns the length of a string that begins with a quote.
fn string_length(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            letter if letter == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_outside_of_comments_and_strings() {
        let text = "let said = 1; // said\nf(\"its \\\" said\");\n/* who\n */ told.x = y.looks();\n";
        assert_eq!(avoided(text, "//"), [(1, "said"), (4, "told")]);
        assert_eq!(avoided("x = \"\"\"its\n\"\"\"\nits = 'who' # said\n", "#"), [(3, "its")]);
        assert_eq!(avoided("f('\"', said, '\"')", "//"), [(1, "said")]);
        assert_eq!(avoided("aside said_so 'x' its", "//"), [(1, "its")]);
    }
}
