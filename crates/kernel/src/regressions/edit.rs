// SPDX-License-Identifier: GPL-2.0-or-later
//! Edits of C files that are told by what stands where, instead of by its text: in which function, at which few tokens. Text in, text out; white
//! space and comments do not matter, and what does not fit is an error.

use super::c::Code;
use crate::error::{KernelError, at};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::Path;
use std::{fmt, fs};

/// A change of one place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "EditDefinition")]
pub struct Edit {
    /// The file, from the tree's `kernel/sched`.
    pub file: String,
    /// The function or structure.
    pub place: EditPlace,
    /// What happens there.
    pub action: Action,
    /// Which of several that look alike, from 1; without, there must be one.
    pub nth: Option<usize>,
}

/// Where an edit looks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum EditPlace {
    /// In the body of a function.
    Function(String),
    /// Between the braces of a structure.
    Structure(String),
}

/// What an edit does. Tokens are written as in C.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Action {
    /// Other tokens in the place of some.
    Replace {
        /// Which.
        tokens: String,
        /// By what.
        with: String,
    },
    /// The smallest statement that has these tokens becomes an empty one.
    Drop(String),
    /// The term of an `&&` or `||` chain that has these tokens goes.
    Term(String),
    /// A text at the beginning.
    Insert(String),
    /// A text before the smallest statement that has these tokens.
    Before {
        /// The tokens.
        tokens: String,
        /// The text.
        text: String,
    },
    /// A text after it.
    After {
        /// The tokens.
        tokens: String,
        /// The text.
        text: String,
    },
}

/// An edit as files tell it.
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
    type Error = String;

    fn try_from(told: EditDefinition) -> Result<Self, String> {
        let place = match (told.function, told.structure) {
            (Some(name), None) => EditPlace::Function(name),
            (None, Some(name)) => EditPlace::Structure(name),
            _ => return Err("an edit has either `function` or `struct`".to_owned()),
        };
        let action = match (told.replace, told.with, told.drop, told.term, told.insert, told.before, told.after) {
            (Some(tokens), Some(with), None, None, None, None, None) => Action::Replace { tokens, with },
            (None, None, Some(tokens), None, None, None, None) => Action::Drop(tokens),
            (None, None, None, Some(tokens), None, None, None) => Action::Term(tokens),
            (None, None, None, None, Some(text), None, None) => Action::Insert(text),
            (None, None, None, None, Some(text), Some(tokens), None) => Action::Before { tokens, text },
            (None, None, None, None, Some(text), None, Some(tokens)) => Action::After { tokens, text },
            _ => {
                return Err(
                    "an edit has `replace` and `with`, `drop`, `term`, or `insert`, perhaps with `before` or `after`"
                        .to_owned(),
                );
            }
        };
        Ok(Self { file: told.file, place, action, nth: told.nth })
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

/// What puts a bug back: its edits, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Script {
    /// Its name.
    pub bug: String,
    /// The edits.
    pub edits: Vec<Edit>,
}

impl Script {
    /// The files that it changes, from the tree's root.
    pub fn files(&self) -> impl Iterator<Item = String> {
        self.edits.iter().map(|edit| format!("kernel/sched/{}", edit.file))
    }

    /// Changes the files of a folder that is laid out as a tree.
    pub(crate) fn apply(&self, folder: &Path) -> Result<(), KernelError> {
        for (edit, file) in self.edits.iter().zip(self.files()) {
            let path = folder.join(&file);
            let text = fs::read_to_string(&path).map_err(at(&path))?;
            let text = edit.apply(&text).map_err(|misfit| {
                let help = "another version of the kernel needs other edits, or never had the fix";
                KernelError::Input(format!("{}: {file}: {misfit}\nhelp: {help}", self.bug))
            })?;
            fs::write(&path, text).map_err(at(&path))?;
        }
        Ok(())
    }
}

/// Why an edit does not fit a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// There is no such function or structure.
    #[error("there is no {0}")]
    NoPlace(EditPlace),
    /// The tokens are not there, or not so often.
    #[error("{place}: `{tokens}` is there {found} times, not {wanted}")]
    Tokens {
        /// Where.
        place: EditPlace,
        /// Which.
        tokens: String,
        /// How often.
        found: usize,
        /// How often they should be.
        wanted: String,
    },
    /// What is around the tokens is not what it should be.
    #[error("{place}: `{tokens}` is in no {what}")]
    Around {
        /// Where.
        place: EditPlace,
        /// Which.
        tokens: String,
        /// What should be around them.
        what: &'static str,
    },
}

impl Edit {
    /// The tokens by which it finds its place.
    #[cfg(test)]
    pub(super) fn token_text(&self) -> &str {
        match &self.action {
            Action::Replace { tokens, .. } | Action::Drop(tokens) | Action::Term(tokens) => tokens,
            Action::Insert(_) => "",
            Action::Before { tokens, .. } | Action::After { tokens, .. } => tokens,
        }
    }

    /// The text with the edit.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn apply(&self, text: &str) -> Result<String, EditError> {
        let code = Code::of(text);
        let body = match &self.place {
            EditPlace::Function(name) => code.function(name),
            EditPlace::Structure(name) => code.structure(name),
        };
        let body = body.ok_or_else(|| EditError::NoPlace(self.place.clone()))?;
        let (at, new) = match &self.action {
            Action::Replace { tokens, with } => (code.span(&self.tokens(&code, &body, tokens)?), with.clone()),
            Action::Drop(tokens) => (self.statement(&code, &body, tokens)?, ";".to_owned()),
            Action::Term(tokens) => {
                let place = self.tokens(&code, &body, tokens)?.start;
                let term = code.term(place).ok_or_else(|| self.around(tokens, "chain of && or ||"))?;
                (code.span(&term), String::new())
            }
            Action::Insert(text) => {
                let at = code.0[body.start - 1].at.end;
                (at..at, format!("\n{text}"))
            }
            Action::Before { tokens, text } => {
                let at = self.statement(&code, &body, tokens)?.start;
                (at..at, format!("{text}\n"))
            }
            Action::After { tokens, text } => {
                let at = self.statement(&code, &body, tokens)?.end;
                (at..at, format!("\n{text}"))
            }
        };
        Ok([&text[..at.start], &new, &text[at.end..]].concat())
    }

    /// The tokens that are meant.
    fn tokens(&self, code: &Code<'_>, body: &Range<usize>, tokens: &str) -> Result<Range<usize>, EditError> {
        let places = code.places(body.clone(), tokens);
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

    /// The smallest statement around them, as a part of the text.
    fn statement(&self, code: &Code<'_>, body: &Range<usize>, tokens: &str) -> Result<Range<usize>, EditError> {
        let place = self.tokens(code, body, tokens)?.start;
        let statement = code.statement(body.clone(), place).ok_or_else(|| self.around(tokens, "statement"))?;
        Ok(code.span(&statement))
    }

    fn around(&self, tokens: &str, what: &'static str) -> EditError {
        EditError::Around { place: self.place.clone(), tokens: tokens.to_owned(), what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE_UP: &str = "struct jug {\n\tint water;\n};\n\nint pour(struct jug *jug)\n{\n\tif (jug->water > 3 && !is_shut(jug))\n\
        \t\tspill(jug);\n\n\tspill(jug);\n\treturn jug->water;\n}\n";

    fn edited(told: &str) -> Result<String, String> {
        let edit: Edit =
            toml::from_str(&format!("file = \"jug.c\"\n{told}")).map_err(|error| error.message().to_owned())?;
        edit.apply(MADE_UP).map_err(|error| error.to_string())
    }

    fn changes(told: &str, from: &str, to: &str) {
        assert_eq!(MADE_UP.matches(from).count(), 1, "{from}");
        assert_eq!(edited(told).expect("it fits"), MADE_UP.replace(from, to), "{told}");
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
        assert!(error.contains("no chain"), "{error}");
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
    fn what_does_not_fit_is_told_with_its_place_and_how_often_it_is_there() {
        let refused = |told: &str| edited(told).expect_err("it does not fit");
        assert_eq!(refused("function = \"fill\"\ndrop = \"spill\""), "there is no function fill");
        assert_eq!(refused("struct = \"cup\"\ninsert = \"int x;\""), "there is no struct cup");
        assert_eq!(
            refused("function = \"pour\"\ndrop = \"spill\""),
            "function pour: `spill` is there 2 times, not once"
        );
        assert_eq!(
            refused("function = \"pour\"\ndrop = \"spill\"\nnth = 3"),
            "function pour: `spill` is there 2 times, not 3 or more"
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
