// SPDX-License-Identifier: GPL-2.0-or-later
//! A run that a page advances.

use crate::answer::{Ended, Opened, Part};
use fairlab_findings::{Findings, Limits};
use fairlab_machine::sim::Machine;
use fairlab_report::{PageCollector, PageFinding, StreamPosition};
use fairlab_run::drive::Drive;
use fairlab_run::error::RequestError;
use fairlab_run::job::SwitchStates;
use fairlab_run::observers::RunObservers;
use fairlab_run::prepare::{ReadyRun, RunAbout, prepare};
use fairlab_run::result::RunResult;
use fairlab_run::spec::RunSpec;
use fairlab_sched::units::Nanos;
use fairlab_traces::export::Exporter;
use fairlab_workload::message::Message;

/// Run in progress, with what a page shows of it.
pub(crate) struct LiveRun {
    machine: Machine,
    about: RunAbout,
    observers: RunObservers,
    collector: PageCollector,
    drive: Drive,
    options: Vec<String>,
    /// Requested length.
    whole: Nanos,
    position: StreamPosition,
}

/// Progress of a run: a part of its timeline.
pub(crate) struct Progress {
    pub(crate) part: Part,
    pub(crate) segments: Vec<u8>,
    pub(crate) lags: Vec<u8>,
    pub(crate) series: Vec<u8>,
}

impl LiveRun {
    /// Prepares and starts a run.
    pub(crate) fn open(spec: &RunSpec) -> Result<Self, RequestError> {
        let ReadyRun { mut machine, about, bench } = prepare(spec)?.with_whole_workload()?.boot()?;
        let whole = machine.duration();
        let mut exporter = Exporter::new(&machine, about.process());
        let collector = PageCollector::add_to(&mut exporter, &machine);
        exporter.begin(&machine);
        let findings = Some(Findings::new(&machine, Limits::of(&machine)));
        let mut observers =
            RunObservers { findings, bench, ..RunObservers::for_summary(&machine) }.with_exporter(exporter);
        let drive = Drive::start(&mut machine, &mut observers, about.warmup).map_err(stopped)?;
        let options = spec.settings.command_words();
        Ok(Self { machine, about, observers, collector, drive, options, whole, position: StreamPosition::default() })
    }

    /// Returns what is known of the run before its first step.
    pub(crate) fn opened(&self) -> Opened {
        let SwitchStates { features, tunables } = SwitchStates::of(self.machine.sched());
        let (subject, workload) = (&self.about.subject, self.machine.workload());
        Opened {
            workload: subject.workload.clone(),
            machine: subject.machine.clone(),
            kernel: subject.kernel.clone(),
            length_ns: self.machine.duration().0,
            nr_cpus: self.machine.hardware().nr_cpus(),
            features: features.into_iter().map(|feature| (feature.name, feature.is_on)).collect(),
            tunables: tunables.into_iter().map(|tunable| (tunable.name, tunable.value)).collect(),
            options: self.options.clone(),
            assumptions: workload.assumptions.clone(),
            warnings: workload.warnings.clone(),
        }
    }

    /// Advances the run to a time from its start, or to its end. Returns the run if it goes on.
    pub(crate) fn step(mut self: Box<Self>, until: Nanos) -> Result<(Option<Box<Self>>, Progress), RequestError> {
        loop {
            if !self.drive.next(&mut self.machine, &mut self.observers).map_err(stopped)? {
                return Ok((None, self.end()?));
            }
            if self.machine.elapsed() >= until {
                let progress = self.progress(false);
                return Ok((Some(self), progress));
            }
        }
    }

    fn progress(&mut self, is_over: bool) -> Progress {
        let timeline = self.collector.part_since(&mut self.position, is_over);
        let threads = self.collector.threads_from(timeline.first_thread, &self.machine);
        let part = Part {
            at_ns: self.machine.elapsed().0,
            is_restart: timeline.is_restart,
            resolution_ns: timeline.resolution_ns,
            threads,
            ended: None,
        };
        Progress { part, segments: timeline.segments, lags: Vec::new(), series: Vec::new() }
    }

    fn end(mut self) -> Result<Progress, RequestError> {
        let end = if self.observers.bench.is_some() { self.machine.elapsed() } else { self.machine.duration() };
        self.collector.set_length(end.0);
        let exporter = self.observers.exporter_mut().expect("it was there at the start");
        let finished = exporter.finish(&self.machine);
        finished.map_err(|(_, error)| RequestError::Run(Message::new(error.to_string())))?;
        let mut progress = self.progress(true);
        progress.part.at_ns = end.0;
        progress.lags = self.collector.lags().0;
        progress.series = self.collector.series();
        let details = self.collector.details(&self.machine);
        let mut result = RunResult::new(&self.machine, self.observers, &self.about, self.whole);
        let findings = result.findings.take().unwrap_or_default().into_iter().map(PageFinding::from).collect();
        progress.part.ended = Some(Box::new(Ended { result, findings, details }));
        Ok(progress)
    }
}

fn stopped(error: impl Into<Message>) -> RequestError {
    RequestError::Run(error.into())
}
