// SPDX-License-Identifier: GPL-2.0-or-later
//! Inputs of a run: workload and machine files, standard input, built-in machines, texts in memory.

use crate::error::RequestError;
use crate::memory;
use fairlab_board::MachineDescription;
use fairlab_workload::files;
use fairlab_workload::message::Message;
use fairlab_workload::source_text::utf8_text;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Largest file that is read, in bytes.
pub const MAX_BYTES: u64 = 256 << 20;

/// A file or a built-in machine, by name; a copy of it in a run directory; or its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(from = "InputForm", into = "InputForm")]
#[schemars(with = "InputForm")]
pub struct InputFile {
    /// Name of a built-in machine, path, or `-` for standard input, as given.
    pub given: String,
    /// Copy in a run directory.
    pub copy: Option<InputCopy>,
    /// Text, once it was read or if a request brings it along.
    text: Option<Arc<str>>,
}

/// Copy of an input in a run directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputCopy {
    /// Path in the run directory.
    pub path: String,
    /// SHA-256 digest of the contents, in hexadecimal digits.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// Forms of an input in JSON.
#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
enum InputForm {
    /// Name or path.
    Name(String),
    /// Name or path with the content.
    Whole(WholeInput),
}

/// Input with its content.
#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct WholeInput {
    /// Name or path, as given.
    given: String,
    /// Copy in the run directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    copy: Option<InputCopy>,
    /// Text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl From<InputForm> for InputFile {
    fn from(form: InputForm) -> Self {
        match form {
            InputForm::Name(given) => Self::new(given),
            InputForm::Whole(WholeInput { given, copy, text }) => Self { given, copy, text: text.map(Arc::from) },
        }
    }
}

impl From<InputFile> for InputForm {
    fn from(file: InputFile) -> Self {
        match file {
            InputFile { given, copy: None, text: None } => Self::Name(given),
            InputFile { given, copy, text } => {
                Self::Whole(WholeInput { given, copy, text: text.map(|text| text.to_string()) })
            }
        }
    }
}

impl InputFile {
    /// Returns the input of a name or path; nothing is read.
    pub fn new(given: impl Into<String>) -> Self {
        Self { given: given.into(), copy: None, text: None }
    }

    /// Returns the input with its text.
    #[must_use]
    pub fn with_text(self, text: impl Into<Arc<str>>) -> Self {
        Self { text: Some(text.into()), ..self }
    }

    /// Returns the input with a copy in a run directory in the place of its text.
    #[must_use]
    pub fn with_copy(self, copy: InputCopy) -> Self {
        Self { copy: Some(copy), text: None, ..self }
    }

    /// Name for messages.
    pub fn name(&self) -> &str {
        if self.given == "-" { "<stdin>" } else { &self.given }
    }

    /// Returns the text, if it was read.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Path as given; it need not exist.
    pub fn path(&self) -> &Path {
        Path::new(&self.given)
    }

    /// Reads a workload file, standard input or a text in memory; a text that was read stays.
    ///
    /// # Errors
    /// If it cannot be read or is not UTF-8.
    pub fn read_workload(&self) -> Result<Self, RequestError> {
        if self.text.is_some() {
            return Ok(self.clone());
        }
        if let Some(text) = memory::read_text(&self.given) {
            return Ok(self.clone().with_text(text));
        }
        let read = if self.given == "-" {
            files::read_all(std::io::stdin().lock(), MAX_BYTES)
        } else {
            files::read_file(self.path(), MAX_BYTES)
        };
        let bytes = read.map_err(|error| {
            let help = "give the path of a scenario or an rt-app file, or - for standard input";
            RequestError::Input(Message::in_file(self.name(), format!("cannot be read: {error}")).with_help(help))
        })?;
        // Takes the bytes, so that a large file is in memory once.
        let text = String::from_utf8(bytes).map_err(|error| {
            RequestError::input(utf8_text(self.name(), error.as_bytes()).expect_err("it is not UTF-8"))
        })?;
        Ok(self.clone().with_text(text))
    }

    /// Reads a machine by name or path.
    ///
    /// # Errors
    /// If it cannot be read, or describes no machine.
    pub fn read_machine(&self) -> Result<ReadMachine, RequestError> {
        let text = self.text.clone().or_else(|| memory::read_text(&self.given));
        let (description, text) = match text {
            Some(text) => (fairlab_board::parse(&self.given, &text).map_err(RequestError::input)?, text),
            None => {
                let read = fairlab_board::load_text(&self.given).map_err(RequestError::input)?;
                (read.description, Arc::from(read.text))
            }
        };
        Ok(ReadMachine { file: self.clone().with_text(text), description })
    }
}

/// A machine that was read.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug)]
pub struct ReadMachine {
    pub file: InputFile,
    pub description: MachineDescription,
}
