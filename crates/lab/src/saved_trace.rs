// SPDX-License-Identifier: GPL-2.0-or-later
//! Trace of a run for Perfetto, in memory.

use fairlab_run::drive::drive;
use fairlab_run::error::RequestError;
use fairlab_run::observers::RunObservers;
use fairlab_run::prepare::{ReadyRun, prepare};
use fairlab_run::spec::RunSpec;
use fairlab_traces::export::{ExportTarget, Exporter, PERFETTO};
use fairlab_workload::message::Message;
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

/// Bytes that are written to, and taken once the writer is gone.
#[derive(Clone, Default)]
struct SharedBytes(Rc<RefCell<Vec<u8>>>);

impl Write for SharedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a spec to its end, and returns the file that `fairlab run --export perfetto=FILE` writes.
pub(crate) fn perfetto_trace(spec: &RunSpec) -> Result<Vec<u8>, RequestError> {
    let failed = |error: io::Error| RequestError::Run(Message::new(error.to_string()));
    let ReadyRun { mut machine, about, bench } = prepare(spec)?.with_whole_workload()?.boot()?;
    let mut exporter = Exporter::new(&machine, about.process());
    let file = SharedBytes::default();
    // The format needs no temporary files.
    let target = ExportTarget::File { out: Box::new(file.clone()), directory: Path::new("") };
    PERFETTO.open(target, None, machine.hardware(), &mut exporter).map_err(failed)?;
    exporter.begin(&machine);
    let mut observers = RunObservers { bench, ..RunObservers::default() }.with_exporter(exporter);
    drive(&mut machine, &mut observers, about.warmup, &mut |_| true)
        .map_err(|error| RequestError::Run(error.into()))?;
    let exporter = observers.exporter_mut().expect("it was there at the start");
    exporter.finish(&machine).map_err(|(_, error)| failed(error))?;
    Ok(file.0.take())
}
