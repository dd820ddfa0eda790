// SPDX-License-Identifier: GPL-2.0-or-later
//! Data of a run for the page of `fairlab report`.

use super::execute::drive_shown;
use crate::values::error::CliError;
use fairlab_machine::engine::Engine;
use fairlab_measure::summary::{EngineSummary, RunSummary};
use fairlab_report::{PageCollector, PageRun};
use fairlab_run::observers::RunObservers;
use fairlab_run::prepare::ReadyRun;
use fairlab_traces::export::Exporter;

/// Runs a machine and returns the data of its page, and its digest. `engine` returns the record of a
/// compiled-kernel engine, once the run is over.
pub(crate) fn page_of<E: Engine>(
    ready: ReadyRun<E>,
    name: String,
    engine: impl FnOnce() -> Result<Option<EngineSummary>, CliError>,
) -> Result<(PageRun, String), CliError> {
    let ReadyRun { mut machine, about, .. } = ready;
    let mut exporter = Exporter::new(&machine, about.process());
    let collector = PageCollector::add_to(&mut exporter, &machine);
    exporter.begin(&machine);
    let mut observers = RunObservers::for_summary(&machine).with_exporter(exporter);
    drive_shown(&mut machine, &mut observers, &about).map_err(CliError::run)?;
    let exporter = observers.exporter_mut().expect("it was there before the run");
    exporter.finish(&machine).map_err(|(_, error)| CliError::failed(error))?;
    let observer = observers.summary.expect("it was there before the run");
    let mut summary = RunSummary::new(about.subject, &machine, &observer);
    summary.engine = engine()?;
    Ok((PageRun::new(name, &summary, &machine, &collector), machine.digest().to_string()))
}
