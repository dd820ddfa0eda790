// SPDX-License-Identifier: GPL-2.0-or-later
//! Files of a reader: workloads, recorded traces and machines, distinguished by their content.

use fairlab_board::capture::{capture_file, is_source};
use fairlab_traces::import::{self, LeapHandling, behaviour};
use fairlab_workload::message::Message;
use fairlab_workload::source_text::utf8_text;
use serde::Serialize;
use std::path::Path;

/// Content of a file, in the form that a spec has.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenedFile {
    /// Scenario, rt-app file or recorded workload, as it is.
    Workload { name: String, text: String },
    /// Workload of a recorded trace, as `fairlab import` writes it.
    Trace { name: String, text: String },
    /// Machine file: as it is, or as `fairlab machine capture` writes it.
    Machine { name: String, text: String },
}

impl OpenedFile {
    /// Reads a file. `name` is its name in messages; a file that is converted gets the ending of its new form.
    ///
    /// # Errors
    /// If the content is damaged, or is none of these.
    pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<Self, Message> {
        let path = Path::new(name);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = || utf8_text(name, bytes).map(str::to_owned);
        if path.extension().is_some_and(|extension| extension == "toml") {
            return Ok(Self::Machine { name: name.to_owned(), text: text()? });
        }
        if is_source(bytes) {
            let text = capture_file(bytes, name, "captured", false)?;
            return Ok(Self::Machine { name: format!("{stem}.toml"), text });
        }
        if import::is_trace(bytes) {
            let recording = import::read(name, bytes, LeapHandling::Reject)?;
            let text = behaviour::import(&recording, None).recorded.to_text();
            return Ok(Self::Trace { name: format!("{stem}.rec"), text });
        }
        Ok(Self::Workload { name: name.to_owned(), text: text()? })
    }
}
