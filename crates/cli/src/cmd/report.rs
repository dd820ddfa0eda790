// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab report`: an HTML page about runs, as one file that needs no network.
//!
//! Like `export`, the command repeats the runs from their directories: once for the data of the page, once for the findings,
//! once for the explanations.

use crate::args::ReportArgs;
use crate::execution::page::{SimulatorPage, record, write_page};
use crate::execution::{rerun, worker};
use crate::output::Output;
use crate::values::error::CliError;
use crate::values::whole_file::refuse_to_replace;
use fairlab_report::{Page, RecordedRun};
use fairlab_run::manifest::Manifest;
use fairlab_run::prepare::with_known_length;
use fairlab_workload::message::Message;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Runs `fairlab report`: repeats recorded runs and writes an HTML page about them.
pub(crate) fn report(output: &mut Output, args: &ReportArgs) -> Result<(), CliError> {
    for dir in &args.dirs {
        Manifest::read(dir)?;
        let inputs = rerun::input_files(dir);
        refuse_to_replace(&args.output, "-o", inputs.iter().map(PathBuf::as_path).chain(args.page.as_deref()))?;
    }
    let simulator = args.live.then(|| SimulatorPage::read(args.page.as_deref())).transpose()?;
    let runs: Vec<RecordedRun> = args.dirs.iter().map(|dir| read_run(output, dir)).collect::<Result<_, _>>()?;
    let text = match simulator {
        Some(simulator) => {
            simulator.with_input(&Page { spec: Some(live_spec(&args.dirs[0])?), runs: &runs, compared: None })
        }
        None => Page { runs: &runs, ..Page::default() }.html(None),
    };
    write_page(&args.output, &text)?;
    output.json_or_text(&json!({ "file": args.output, "bytes": text.len(), "runs": args.dirs }), |_| {
        format!("{}: open it in a browser\n", args.output.display())
    })
}

/// Returns the spec of arm A of a page that simulates: that of a recorded run.
fn live_spec(dir: &Path) -> Result<Value, CliError> {
    let manifest = Manifest::read(dir)?;
    let spec = with_known_length(rerun::spec(&manifest), manifest.result.settling.as_ref())?;
    if let Some(engine) = spec.settings.kernel_engine() {
        let message =
            Message::in_file(dir.display().to_string(), format!("was run by {engine}, which no browser can run"));
        return Err(CliError::Input(
            message.with_help("leave out --live, or name a run of the built-in scheduler first"),
        ));
    }
    Ok(json!(worker::portable(&spec)?))
}

fn read_run(output: &Output, dir: &Path) -> Result<RecordedRun, CliError> {
    let manifest = Manifest::read(dir)?;
    let name = dir.file_name().map_or_else(|| dir.display().to_string(), |name| name.to_string_lossy().into_owned());
    let spec = with_known_length(rerun::spec(&manifest), manifest.result.settling.as_ref())?;
    let (run, digest) = record(&spec, name)?;
    if let Some(warning) = rerun::digest_warning(&digest, &manifest, dir, "the page shows") {
        output.warn(&warning)?;
    }
    Ok(run)
}
