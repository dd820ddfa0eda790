// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab machine capture`: describes an existing machine as a machine file.

use super::validate::read;
use crate::args::capture::CaptureArgs;
use crate::output::Output;
use crate::values::error::CliError;
use crate::values::whole_file::AtomicFile;
use fairlab_board::capture;
use fairlab_validation::with_facts;
use serde_json::json;

pub(crate) fn capture(output: &mut Output, args: &CaptureArgs) -> Result<(), CliError> {
    let mut text = capture::capture(&args.from, &args.name, args.raw).map_err(CliError::input)?;
    if let Some(path) = &args.measured {
        text = with_facts(&text, &read(path)?)
            .map_err(|error| CliError::Input(error.about("no facts follow").with_file(&path.display().to_string())))?;
    }
    match &args.output {
        Some(path) => {
            AtomicFile::write(path, text.as_bytes())?;
            if output.is_json() { output.json(&json!({ "file": path })) } else { Ok(()) }
        }
        None if output.is_json() => output.json(&json!({ "toml": text })),
        None => output.text(&text),
    }
}
