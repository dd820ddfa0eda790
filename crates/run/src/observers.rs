// SPDX-License-Identifier: GPL-2.0-or-later
//! Observers of a run, as one closed structure: what was not asked for is not computed.

use fairlab_explain::responses::ResponsePaths;
use fairlab_findings::Findings;
use fairlab_machine::engine::Engine;
use fairlab_machine::event_log::EventLog;
use fairlab_machine::observer::{Interest, KernelPath, MachineEvent, Observer};
use fairlab_machine::sim::Machine;
use fairlab_measure::bench::BenchObserver;
use fairlab_measure::bench::elapsed::LastExit;
use fairlab_measure::summary::{RunSubject, RunSummary, Settling};
use fairlab_measure::summary_observer::SummaryObserver;
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::sched::Sched;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::OpCounts;
use fairlab_traces::export::Exporter;
use fairlab_traces::trace_jsonl::TraceJsonl;
use fairlab_traces::work_jsonl::WorkJsonl;
use std::collections::BTreeMap;
use std::io::Write;

/// Observers of a run, each if it was asked for.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Default)]
pub struct RunObservers {
    pub summary: Option<SummaryObserver>,
    /// Rules over what happens; only for the built-in scheduler, whose state they sample.
    pub findings: Option<Findings>,
    pub bench: Option<Box<dyn BenchObserver>>,
    /// Numbers of passes of each mark of the workload, by the mark's number.
    pub marks: Option<BTreeMap<u32, u64>>,
    pub last_exit: Option<LastExit>,
    pub writers: Option<Box<EventWriters>>,
    /// End of a warm-up that lasted until the run had settled.
    pub settling: Option<Settling>,
}

/// Observers that few runs have, each if it was asked for: those that write events while a run goes on, and the paths
/// of responses.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Default)]
pub struct EventWriters {
    pub trace: Option<TraceJsonl<Box<dyn Write>>>,
    /// Every event, unprocessed.
    pub event_log: Option<EventLog<Box<dyn Write>>>,
    pub exporter: Option<Exporter>,
    /// Operation counts of each scheduler call, as lines of JSON.
    pub ops: Option<WorkJsonl<Box<dyn Write>>>,
    /// Critical paths of responses, if the workload defines responses.
    pub paths: Option<Box<ResponsePaths>>,
}

/// Executes a statement for each observer that was asked for. Their types differ.
macro_rules! for_each {
    ($observer:ident in $($field:ident)* => $call:expr) => {
        $(if let Some($observer) = $field {
            $call;
        })*
    };
}

impl RunObservers {
    /// Returns the observers that a summary needs.
    pub fn for_summary(machine: &Machine<impl Engine>) -> Self {
        let paths = ResponsePaths::new(machine);
        let writers = EventWriters { paths, ..EventWriters::default() }.boxed();
        Self { summary: Some(SummaryObserver::new(machine)), writers, ..Self::default() }
    }

    /// Adds an exporter.
    #[must_use]
    pub fn with_exporter(mut self, exporter: Exporter) -> Self {
        self.writers.get_or_insert_default().exporter = Some(exporter);
        self
    }

    /// Returns the summary of a run, if one was asked for.
    pub fn summary_of(&self, subject: RunSubject, machine: &Machine<impl Engine>) -> Option<RunSummary> {
        let mut summary = RunSummary::new(subject, machine, self.summary.as_ref()?);
        if let Some(paths) = self.writers.as_ref().and_then(|writers| writers.paths.as_ref()) {
            paths.add_to(&mut summary.responses, machine);
        }
        Some(summary)
    }

    /// Returns the exporter, if there is one.
    pub fn exporter_mut(&mut self) -> Option<&mut Exporter> {
        self.writers.as_mut()?.exporter.as_mut()
    }

    /// Whether a trace could not be written, so that the run need not go on.
    pub fn has_failed(&self) -> bool {
        self.writers.as_ref().is_some_and(|writers| writers.has_failed())
    }

    /// Discards what was measured before `at`, the end of the warm-up. Traces contain the warm-up.
    pub(crate) fn reset(&mut self, machine: &Machine<impl Engine>, at: Nanos) {
        if let Some(summary) = &mut self.summary {
            summary.reset(machine, at);
        }
        if let Some(findings) = &mut self.findings {
            findings.reset(at);
        }
        // A benchmark that runs to its end has no result for a part of its run.
        self.bench = self.bench.take().and_then(|mut bench| bench.reset().then_some(bench));
        if let Some(marks) = &mut self.marks {
            marks.clear();
        }
        if let Some(exporter) = self.exporter_mut() {
            exporter.reset();
        }
        if let Some(EventWriters { event_log, paths, .. }) = self.writers.as_deref_mut() {
            for_each!(event_log in event_log => event_log.write_reset(at));
            for_each!(paths in paths => paths.reset(at));
        }
    }

    /// Samples state whose changes have no event.
    pub fn sample<E: Engine>(&mut self, machine: &Machine<E>) {
        if let Some(exporter) = self.exporter_mut() {
            exporter.sample(machine);
        }
    }

    /// Reads attributes of tasks for findings and the event log.
    pub(crate) fn read_attributes<E: Engine>(&mut self, machine: &Machine<E>) {
        if let (Some(findings), Some(machine)) = (&mut self.findings, machine.as_built_in()) {
            findings.read_attributes(machine);
        }
        if let Some(event_log) = self.writers.as_mut().and_then(|writers| writers.event_log.as_mut()) {
            event_log.write_attributes(machine);
        }
    }

    /// Samples state for findings and the event log. `at` may be later than the last event.
    pub(crate) fn sample_findings<E: Engine>(&mut self, machine: &Machine<E>, at: Nanos) {
        if let (Some(findings), Some(machine)) = (&mut self.findings, machine.as_built_in()) {
            findings.sample(machine, at);
        }
        if let Some(event_log) = self.writers.as_mut().and_then(|writers| writers.event_log.as_mut()) {
            event_log.write_sample(machine, at);
        }
    }
}

impl EventWriters {
    /// Returns the writers as a field of [`RunObservers`]; `None` if there are none.
    pub fn boxed(self) -> Option<Box<Self>> {
        let Self { trace, event_log, exporter, ops, paths } = &self;
        let is_empty = trace.is_none() && event_log.is_none() && exporter.is_none() && ops.is_none() && paths.is_none();
        (!is_empty).then(|| Box::new(self))
    }

    fn has_failed(&self) -> bool {
        self.exporter.as_ref().is_some_and(Exporter::has_failed)
            || self.trace.as_ref().is_some_and(TraceJsonl::has_failed)
            || self.event_log.as_ref().is_some_and(EventLog::has_failed)
    }

    fn wants<E: Engine>(&self) -> Interest {
        let wants = [
            self.trace.as_ref().map(Observer::<E>::wants),
            self.event_log.as_ref().map(Observer::<E>::wants),
            self.exporter.as_ref().map(Observer::<E>::wants),
            self.paths.as_deref().map(Observer::<E>::wants),
        ];
        merged(wants)
    }

    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        let Self { trace, event_log, exporter, ops: _, paths } = self;
        for_each!(writer in trace event_log exporter paths => writer.event(now, event));
    }

    fn machine_event<E: Engine>(&mut self, now: Nanos, event: &MachineEvent) {
        let Self { trace, event_log, exporter, ops: _, paths } = self;
        for_each!(writer in trace event_log exporter => Observer::<E>::machine_event(writer, now, event));
        for_each!(paths in paths => Observer::<E>::machine_event(paths.as_mut(), now, event));
    }
}

fn merged<const N: usize>(wants: [Option<Interest>; N]) -> Interest {
    wants.into_iter().flatten().fold(Interest::NONE, Interest::merge)
}

impl SchedObserver for RunObservers {
    #[inline]
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        let Self { summary, findings, bench, marks: _, last_exit, writers, settling: _ } = self;
        for_each!(observer in summary findings bench last_exit writers => observer.event(now, event));
    }
}

impl<E: Engine> Observer<E> for RunObservers {
    fn wants(&self) -> Interest {
        let Self { summary, findings, bench, marks: _, last_exit, writers, settling: _ } = self;
        let wants = [
            summary.as_ref().map(<SummaryObserver as Observer<E>>::wants),
            findings.as_ref().map(Observer::<Sched>::wants),
            bench.as_ref().map(|bench| bench.wants()),
            last_exit.as_ref().map(Observer::<E>::wants),
            writers.as_ref().map(|writers| writers.wants::<E>()),
        ];
        merged(wants)
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        let Self { summary, findings, bench, marks, last_exit: _, writers, settling: _ } = self;
        if let Some(summary) = summary {
            <SummaryObserver as Observer<E>>::machine_event(summary, now, event);
        }
        for_each!(observer in findings bench => observer.machine_event(now, event));
        if let (Some(marks), MachineEvent::Mark { phase, .. }) = (marks, event) {
            *marks.entry(*phase).or_default() += 1;
        }
        if let Some(writers) = writers {
            writers.machine_event::<E>(now, event);
        }
    }

    fn wants_kernel_paths(&self) -> bool {
        self.summary.is_some()
            || self.bench.as_ref().is_some_and(|bench| bench.wants_kernel_paths())
            || self.writers.as_ref().is_some_and(|it| it.exporter.is_some() || it.event_log.is_some())
    }

    fn wants_ops(&self) -> bool {
        self.writers.as_ref().is_some_and(|it| it.ops.is_some() || it.event_log.is_some())
    }

    fn work(&mut self, now: Nanos, cpu: CpuId, path: KernelPath, counted: &OpCounts) {
        let Some(writers) = &mut self.writers else { return };
        if let Some(ops) = &mut writers.ops {
            Observer::<E>::work(ops, now, cpu, path, counted);
        }
        if let Some(event_log) = &mut writers.event_log {
            Observer::<E>::work(event_log, now, cpu, path, counted);
        }
    }

    fn snapshot(&mut self, machine: &Machine<E>) {
        if let Some(trace) = self.writers.as_mut().and_then(|writers| writers.trace.as_mut()) {
            trace.snapshot(machine);
        }
    }
}
