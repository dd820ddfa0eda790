// SPDX-License-Identifier: GPL-2.0-or-later
//! Edits of C files by location instead of by text: a function, and a few tokens in it.
//!
//! White space and comments do not matter. An edit that does not fit the text is an error.

use crate::c::CSource;
use crate::error::{KernelError, io_error_at};
use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::Path;
use std::{fmt, fs};

/// Change of one location in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "EditDefinition")]
pub struct Edit {
    /// Path of the file below the tree's `kernel/sched`.
    pub file: String,
    /// Function or structure that contains the location.
    pub place: EditPlace,
    /// Change that is made there.
    pub action: EditAction,
    /// Number of the occurrence of the tokens, from 1; `None` if they must occur exactly once.
    pub nth: Option<usize>,
}

/// Function or structure that an edit changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum EditPlace {
    /// Body of a function with this name.
    Function(String),
    /// Members of a structure with this name.
    Structure(String),
}

/// Change of an edit. Tokens are written as in C.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum EditAction {
    /// Replaces tokens by others.
    Replace {
        /// Tokens that are replaced.
        tokens: String,
        /// Tokens that replace them.
        with: String,
    },
    /// Makes the smallest statement with these tokens an empty one.
    Drop(String),
    /// Removes the term with these tokens from a chain of `&&` or `||`.
    Term(String),
    /// Inserts a text at the beginning.
    Insert(String),
    /// Inserts a text before the smallest statement with the tokens.
    Before {
        /// Tokens of the statement.
        tokens: String,
        /// Text that is inserted.
        text: String,
    },
    /// Inserts a text after the smallest statement with the tokens.
    After {
        /// Tokens of the statement.
        tokens: String,
        /// Text that is inserted.
        text: String,
    },
}

/// Edit in the format of its file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditDefinition {
    file: String,
    function: Option<String>,
    #[serde(rename = "struct")]
    structure: Option<String>,
    replace: Option<String>,
    with: Option<String>,
    drop: Option<String>,
    term: Option<String>,
    insert: Option<String>,
    before: Option<String>,
    after: Option<String>,
    nth: Option<usize>,
}

impl TryFrom<EditDefinition> for Edit {
    type Error = Message;

    fn try_from(definition: EditDefinition) -> Result<Self, Message> {
        let place = match (definition.function, definition.structure) {
            (Some(name), None) => EditPlace::Function(name),
            (None, Some(name)) => EditPlace::Structure(name),
            _ => return Err(Message::new("an edit has either `function` or `struct`")),
        };
        let action = match (
            definition.replace,
            definition.with,
            definition.drop,
            definition.term,
            definition.insert,
            definition.before,
            definition.after,
        ) {
            (Some(tokens), Some(with), None, None, None, None, None) => EditAction::Replace { tokens, with },
            (None, None, Some(tokens), None, None, None, None) => EditAction::Drop(tokens),
            (None, None, None, Some(tokens), None, None, None) => EditAction::Term(tokens),
            (None, None, None, None, Some(text), None, None) => EditAction::Insert(text),
            (None, None, None, None, Some(text), Some(tokens), None) => EditAction::Before { tokens, text },
            (None, None, None, None, Some(text), None, Some(tokens)) => EditAction::After { tokens, text },
            _ => {
                return Err(Message::new(
                    "an edit has `replace` and `with`, `drop`, `term`, or `insert`, perhaps with `before` or `after`",
                ));
            }
        };
        Ok(Self { file: definition.file, place, action, nth: definition.nth })
    }
}

impl fmt::Display for EditPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function(name) => write!(out, "function {name}"),
            Self::Structure(name) => write!(out, "struct {name}"),
        }
    }
}

/// Edits that reintroduce a bug, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct EditScript {
    /// Name of the bug.
    pub bug: String,
    pub edits: Vec<Edit>,
}

impl EditScript {
    /// Returns the paths of the files that the script changes, from the tree's root.
    pub fn files(&self) -> impl Iterator<Item = String> {
        self.edits.iter().map(|edit| format!("kernel/sched/{}", edit.file))
    }

    /// Applies the edits to the files of a folder with the layout of a tree.
    pub(crate) fn apply(&self, folder: &Path) -> Result<(), KernelError> {
        for (edit, file) in self.edits.iter().zip(self.files()) {
            let path = folder.join(&file);
            let text = fs::read_to_string(&path).map_err(io_error_at(&path))?;
            let text = edit.apply(&text).map_err(|misfit| {
                let help = "another version of the kernel needs other edits, or never had the fix";
                KernelError::Input(Message::new(format!("{}: {file}: {misfit}", self.bug)).with_help(help))
            })?;
            fs::write(&path, text).map_err(io_error_at(&path))?;
        }
        Ok(())
    }
}

/// Reason why an edit does not fit a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the variants and fields are named after what they hold")]
pub enum EditError {
    /// The text has no such function or structure.
    #[error("there is no {0}")]
    NoPlace(EditPlace),
    /// The tokens occur too rarely, or too often.
    #[error("{place}: `{tokens}` occurs {}, not {wanted}", times(*.found))]
    Tokens {
        place: EditPlace,
        tokens: String,
        /// Number of occurrences of the tokens.
        found: usize,
        /// Expected number of occurrences, as text.
        wanted: String,
    },
    /// The tokens are not inside the construct that the edit needs.
    #[error("{place}: `{tokens}` is not in a {what}")]
    Around {
        place: EditPlace,
        tokens: String,
        /// Construct that should be around the tokens.
        what: &'static str,
    },
}

/// Returns a number of occurrences as text, such as "2 times".
fn times(number: usize) -> String {
    if number == 1 { "1 time".to_owned() } else { format!("{number} times") }
}

impl Edit {
    /// Returns the tokens by which the edit finds its location.
    #[cfg(test)]
    pub(super) fn token_text(&self) -> &str {
        match &self.action {
            EditAction::Replace { tokens, .. } | EditAction::Drop(tokens) | EditAction::Term(tokens) => tokens,
            EditAction::Insert(_) => "",
            EditAction::Before { tokens, .. } | EditAction::After { tokens, .. } => tokens,
        }
    }

    /// Returns the text with the edit applied.
    ///
    /// # Errors
    /// If the edit does not fit the text.
    pub fn apply(&self, text: &str) -> Result<String, EditError> {
        let code = CSource::from_text(text);
        let body = match &self.place {
            EditPlace::Function(name) => code.function(name),
            EditPlace::Structure(name) => code.structure(name),
        };
        let body = body.ok_or_else(|| EditError::NoPlace(self.place.clone()))?;
        let (at, new) = match &self.action {
            EditAction::Replace { tokens, with } => (code.span(&self.tokens(&code, &body, tokens)?), with.clone()),
            EditAction::Drop(tokens) => (self.statement(&code, &body, tokens)?, ";".to_owned()),
            EditAction::Term(tokens) => {
                let place = self.tokens(&code, &body, tokens)?.start;
                let term = code.term(place).ok_or_else(|| self.around_error(tokens, "chain of && or ||"))?;
                (code.span(&term), String::new())
            }
            EditAction::Insert(text) => {
                let at = code.0[body.start - 1].at.end;
                (at..at, format!("\n{text}"))
            }
            EditAction::Before { tokens, text } => {
                let at = self.statement(&code, &body, tokens)?.start;
                (at..at, format!("{text}\n"))
            }
            EditAction::After { tokens, text } => {
                let at = self.statement(&code, &body, tokens)?.end;
                (at..at, format!("\n{text}"))
            }
        };
        Ok([&text[..at.start], &new, &text[at.end..]].concat())
    }

    /// Returns the position of the tokens, by their number of occurrence.
    fn tokens(&self, code: &CSource<'_>, body: &Range<usize>, tokens: &str) -> Result<Range<usize>, EditError> {
        let places = code.find_all(body.clone(), tokens);
        let (index, fits) = match self.nth {
            None => (0, places.len() == 1),
            Some(nth) => (nth.saturating_sub(1), true),
        };
        let found = places.get(index).filter(|_| fits).cloned();
        found.ok_or_else(|| EditError::Tokens {
            place: self.place.clone(),
            tokens: tokens.to_owned(),
            found: places.len(),
            wanted: self.nth.map_or_else(|| "once".to_owned(), |nth| format!("{nth} or more")),
        })
    }

    /// Returns the byte range of the smallest statement around the tokens.
    fn statement(&self, code: &CSource<'_>, body: &Range<usize>, tokens: &str) -> Result<Range<usize>, EditError> {
        let place = self.tokens(code, body, tokens)?.start;
        let statement = code.statement(body.clone(), place).ok_or_else(|| self.around_error(tokens, "statement"))?;
        Ok(code.span(&statement))
    }

    fn around_error(&self, tokens: &str, what: &'static str) -> EditError {
        EditError::Around { place: self.place.clone(), tokens: tokens.to_owned(), what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE_UP: &str = "struct jug {\n\tint water;\n};\n\nint pour(struct jug *jug)\n{\n\tif (jug->water > 3 && !is_shut(jug))\n\
        \t\tspill(jug);\n\n\tspill(jug);\n\treturn jug->water;\n}\n";

    fn edited(text: &str) -> Result<String, Message> {
        let edit: Edit =
            toml::from_str(&format!("file = \"jug.c\"\n{text}")).map_err(|error| Message::new(error.message()))?;
        edit.apply(MADE_UP).map_err(|error| Message::new(error.to_string()))
    }

    fn changes(text: &str, from: &str, to: &str) {
        assert_eq!(MADE_UP.matches(from).count(), 1, "{from}");
        assert_eq!(edited(text).expect("it fits"), MADE_UP.replace(from, to), "{text}");
    }

    #[test]
    fn tokens_are_replaced_whatever_the_white_space_between_them() {
        changes("function = \"pour\"\nreplace = \"water>3\"\nwith = \"water > 4\"", "water > 3", "water > 4");
        changes("function = \"pour\"\nreplace = \"spill\"\nwith = \"drip\"\nnth = 1", "\t\tspill", "\t\tdrip");
    }

    #[test]
    fn statements_are_dropped_with_their_conditions_if_those_are_named() {
        changes("function = \"pour\"\ndrop = \"spill(jug)\"\nnth = 2", "\n\tspill(jug);", "\n\t;");
        changes(
            "function = \"pour\"\ndrop = \"is_shut\"",
            "if (jug->water > 3 && !is_shut(jug))\n\t\tspill(jug);",
            ";",
        );
    }

    #[test]
    fn a_term_goes_from_its_chain() {
        changes("function = \"pour\"\nterm = \"is_shut\"", " && !is_shut(jug)", " ");
        changes("function = \"pour\"\nterm = \"water > 3\"", "jug->water > 3 && ", " ");
        let error = edited("function = \"pour\"\nterm = \"spill\"\nnth = 2").expect_err("it is no term");
        assert!(error.to_string().contains("not in a chain"), "{error}");
    }

    #[test]
    fn text_is_put_at_the_beginning_or_around_a_statement() {
        changes("function = \"pour\"\ninsert = \"shake();\"", "*jug)\n{", "*jug)\n{\nshake();");
        changes("struct = \"jug\"\ninsert = \"int wine;\"", "struct jug {", "struct jug {\nint wine;");
        changes("function = \"pour\"\nbefore = \"return\"\ninsert = \"shake();\"", "return", "shake();\nreturn");
        changes(
            "function = \"pour\"\nafter = \"spill(jug)\"\nnth = 2\ninsert = \"shake();\"",
            "\n\tspill(jug);",
            "\n\tspill(jug);\nshake();",
        );
    }

    #[test]
    fn an_edit_that_does_not_fit_names_its_place_and_the_number_of_occurrences() {
        let refused = |text: &str| edited(text).expect_err("it does not fit");
        assert_eq!(refused("function = \"fill\"\ndrop = \"spill\""), Message::new("there is no function fill"));
        assert_eq!(refused("struct = \"cup\"\ninsert = \"int x;\""), Message::new("there is no struct cup"));
        assert_eq!(
            refused("function = \"pour\"\ndrop = \"spill\""),
            Message::new("function pour: `spill` occurs 2 times, not once")
        );
        assert_eq!(
            refused("function = \"pour\"\ndrop = \"spill\"\nnth = 3"),
            Message::new("function pour: `spill` occurs 2 times, not 3 or more")
        );
    }

    #[test]
    fn an_edit_does_one_thing_in_one_place() {
        for wrong in [
            "drop = \"x\"",
            "function = \"pour\"\nstruct = \"jug\"\ndrop = \"x\"",
            "function = \"pour\"\ndrop = \"x\"\nterm = \"y\"",
            "function = \"pour\"\nreplace = \"x\"",
            "function = \"pour\"\nbefore = \"x\"",
            "function = \"pour\"\ndorp = \"x\"",
        ] {
            assert!(edited(wrong).is_err(), "{wrong}");
        }
    }
}
