// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab lab`: an HTML page that runs a workload in a browser.
//!
//! The page is the one that `cargo xtask lab` builds, with another workload in the element that contains it.

use crate::args::LabArgs;
use crate::execution::worker::portable;
use crate::output::Output;
use crate::values::error::CliError;
use crate::values::whole_file::{AtomicFile, refuse_to_replace};
use fairlab_report::embedded_json;
use fairlab_run::input::InputFile;
use fairlab_run::prepare::prepare;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_workload::message::Message;
use serde_json::json;
use std::borrow::Cow;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Page of the program.
#[cfg(feature = "page")]
const PAGE: Option<&str> = Some(include_str!(env!("FAIRLAB_PAGE")));
#[cfg(not(feature = "page"))]
const PAGE: Option<&str> = None;

/// Element of the page that contains its first run.
const INPUT: (&str, &str) = (r#"<script id="input" type="application/json">"#, "</script>");

/// Runs `fairlab lab`.
pub(crate) fn lab(output: &mut Output, args: &LabArgs) -> Result<(), CliError> {
    let page = page(args.page.as_deref())?;
    let not_a_page = || {
        let name = args.page.as_ref().map_or_else(|| "the page".to_owned(), |page| page.display().to_string());
        CliError::Input(
            Message::in_file(name, "is no page of `fairlab lab`").with_help("`cargo xtask lab` writes the page"),
        )
    };
    let (head, rest) = page.split_once(INPUT.0).ok_or_else(not_a_page)?;
    let (input, tail) = rest.split_once(INPUT.1).ok_or_else(not_a_page)?;
    let example: RunSpec = serde_json::from_str(input).map_err(|_| not_a_page())?;
    let workload = match &args.file {
        Some(file) => WorkloadSpec::File(InputFile::new(file)),
        None => example.workload,
    };
    let spec = portable(&RunSpec { workload, settings: args.settings.settings() })?;
    prepare(&spec)?.with_whole_workload()?.boot()?;
    let inputs = args.page.iter().map(|page| page.as_path()).chain(args.file.iter().map(Path::new));
    refuse_to_replace(&args.output, "-o", inputs)?;
    let name = args.output.display().to_string();
    let (whole, mut file) = AtomicFile::create(&args.output).map_err(|error| {
        let help = "-o takes the name of a file that can be written";
        CliError::Input(Message::in_file(&name, format!("cannot be written: {error}")).with_help(help))
    })?;
    let input = embedded_json(&spec);
    for part in [head, INPUT.0, &input, INPUT.1, tail] {
        file.write_all(part.as_bytes()).map_err(|error| CliError::write(&name, &error))?;
    }
    whole.finish()?;
    if output.is_json() {
        return output.json(&json!({ "file": args.output, "workload": spec.workload.name() }));
    }
    output.text(&format!("{name}: open it in a browser\n"))
}

/// Returns the page: of a file, or of the program.
fn page(file: Option<&Path>) -> Result<Cow<'static, str>, CliError> {
    let Some(file) = file else {
        let help = "build it with `cargo xtask lab`, and name the file that the command prints with --page";
        let missing =
            || CliError::Input(Message::new("this build of fairlab does not contain the page").with_help(help));
        return PAGE.map(Cow::Borrowed).ok_or_else(missing);
    };
    let text = fs::read_to_string(file).map_err(|error| {
        let message = Message::in_file(file.display().to_string(), format!("cannot be read: {error}"));
        CliError::Input(message.with_help("--page takes the file that `cargo xtask lab` writes"))
    })?;
    Ok(Cow::Owned(text))
}
