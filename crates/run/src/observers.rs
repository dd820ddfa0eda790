// SPDX-License-Identifier: GPL-2.0-or-later
//! Observers of a run, as one closed structure: what was not asked for is not computed.

use fairlab_machine::engine::Engine;
use fairlab_machine::event_log::EventLog;
use fairlab_machine::observer::{Interest, KernelPath, MachineEvent, Observer};
use fairlab_machine::sim::Machine;
use fairlab_observe::bench::BenchObserver;
use fairlab_observe::bench::elapsed::LastExit;
use fairlab_observe::export::Exporter;
use fairlab_observe::findings::Findings;
use fairlab_observe::summary_observer::SummaryObserver;
use fairlab_observe::trace_jsonl::TraceJsonl;
use fairlab_observe::work_jsonl::WorkJsonl;
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::sched::Sched;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::OpCounts;
use std::collections::BTreeMap;
use std::io::Write;

/// Observers of a run, each if it was asked for.
#[derive(Default)]
pub struct RunObservers {
    /// Data of the run summary.
    pub summary: Option<SummaryObserver>,
    /// Results of a benchmark.
    pub bench: Option<Box<dyn BenchObserver>>,
    /// Every event as a line of JSON.
    pub trace: Option<TraceJsonl<Box<dyn Write>>>,
    /// Every event, unprocessed.
    pub event_log: Option<EventLog<Box<dyn Write>>>,
    /// Traces in the formats of other tools.
    pub exporter: Option<Exporter>,
    /// Rules over what happens; only for the built-in scheduler, whose state they sample.
    pub findings: Option<Findings>,
    /// Operation counts of each scheduler call, as lines of JSON.
    pub ops: Option<WorkJsonl<Box<dyn Write>>>,
    /// Numbers of passes of each mark of the workload, by the mark's number.
    pub marks: Option<BTreeMap<u32, u64>>,
    /// Time at which the last task exited.
    pub last_exit: Option<LastExit>,
}

impl RunObservers {
    /// Returns the observers that a summary needs.
    pub fn for_summary(machine: &Machine<impl Engine>) -> Self {
        Self { summary: Some(SummaryObserver::new(machine)), ..Self::default() }
    }

    /// Whether a trace could not be written, so that the run need not go on.
    pub fn has_failed(&self) -> bool {
        self.exporter.as_ref().is_some_and(Exporter::has_failed)
            || self.trace.as_ref().is_some_and(TraceJsonl::has_failed)
            || self.event_log.as_ref().is_some_and(EventLog::has_failed)
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
        if let Some(event_log) = &mut self.event_log {
            event_log.write_reset(at);
        }
    }

    /// Samples state whose changes have no event.
    pub fn sample<E: Engine>(&mut self, machine: &Machine<E>) {
        if let Some(exporter) = &mut self.exporter {
            exporter.sample(machine);
        }
    }

    /// Samples the state of the built-in scheduler for findings.
    pub(crate) fn sample_findings<E: Engine>(&mut self, machine: &Machine<E>) {
        if let (Some(findings), Some(machine)) = (&mut self.findings, machine.as_built_in()) {
            findings.sample(machine);
        }
    }
}

impl SchedObserver for RunObservers {
    #[inline]
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        let Self { summary, bench, trace, event_log, exporter, findings, ops: _, marks: _, last_exit } = self;
        if let Some(summary) = summary {
            summary.event(now, event);
        }
        if let Some(bench) = bench {
            bench.event(now, event);
        }
        if let Some(trace) = trace {
            trace.event(now, event);
        }
        if let Some(event_log) = event_log {
            event_log.event(now, event);
        }
        if let Some(exporter) = exporter {
            exporter.event(now, event);
        }
        if let Some(findings) = findings {
            findings.event(now, event);
        }
        if let Some(last_exit) = last_exit {
            last_exit.event(now, event);
        }
    }

    fn wants_pelt(&self) -> bool {
        self.exporter.as_ref().is_some_and(SchedObserver::wants_pelt)
            || self.trace.as_ref().is_some_and(SchedObserver::wants_pelt)
    }
}

impl<E: Engine> Observer<E> for RunObservers {
    fn wants(&self) -> Interest {
        let Self { summary, bench, trace, event_log, exporter, findings, ops: _, marks: _, last_exit } = self;
        let wants = [
            summary.as_ref().map(<SummaryObserver as Observer<E>>::wants),
            bench.as_ref().map(|bench| bench.wants()),
            trace.as_ref().map(Observer::<E>::wants),
            event_log.as_ref().map(Observer::<E>::wants),
            exporter.as_ref().map(Observer::<E>::wants),
            findings.as_ref().map(Observer::<Sched>::wants),
            last_exit.as_ref().map(Observer::<E>::wants),
        ];
        wants.into_iter().flatten().fold(Interest::NONE, Interest::merge)
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        let Self { summary, bench, trace, event_log, exporter, findings, ops: _, marks, last_exit: _ } = self;
        if let Some(summary) = summary {
            <SummaryObserver as Observer<E>>::machine_event(summary, now, event);
        }
        if let Some(bench) = bench {
            bench.machine_event(now, event);
        }
        if let Some(trace) = trace {
            Observer::<E>::machine_event(trace, now, event);
        }
        if let Some(event_log) = event_log {
            Observer::<E>::machine_event(event_log, now, event);
        }
        if let Some(exporter) = exporter {
            Observer::<E>::machine_event(exporter, now, event);
        }
        if let Some(findings) = findings {
            findings.machine_event(now, event);
        }
        if let (Some(marks), MachineEvent::Mark { phase, .. }) = (marks, event) {
            *marks.entry(*phase).or_default() += 1;
        }
    }

    fn wants_kernel_paths(&self) -> bool {
        self.summary.is_some()
            || self.exporter.is_some()
            || self.event_log.is_some()
            || self.bench.as_ref().is_some_and(|bench| bench.wants_kernel_paths())
    }

    fn wants_ops(&self) -> bool {
        self.ops.is_some() || self.event_log.is_some()
    }

    fn work(&mut self, now: Nanos, cpu: CpuId, path: KernelPath, counted: &OpCounts) {
        if let Some(ops) = &mut self.ops {
            Observer::<E>::work(ops, now, cpu, path, counted);
        }
        if let Some(event_log) = &mut self.event_log {
            Observer::<E>::work(event_log, now, cpu, path, counted);
        }
    }

    fn snapshot(&mut self, machine: &Machine<E>) {
        if let Some(trace) = &mut self.trace {
            trace.snapshot(machine);
        }
    }
}
