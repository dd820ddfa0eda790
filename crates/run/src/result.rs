// SPDX-License-Identifier: GPL-2.0-or-later
//! Result of a run, from this process or from a worker.

use crate::manifest::ManifestEngine;
use crate::observers::RunObservers;
use crate::prepare::RunAbout;
use fairlab_findings::Finding;
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::Machine;
use fairlab_measure::bench::{BenchResult, RunProgress};
use fairlab_measure::summary::{RunSummary, Settling};
use fairlab_sched::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Result of a run.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunResult {
    pub summary: Option<RunSummary>,
    pub bench: Option<BenchResult>,
    /// Findings, the worst first, if they were asked for.
    #[serde(skip)]
    pub findings: Option<Vec<Finding>>,
    pub digest: String,
    pub events: u64,
    pub duration_ns: u64,
    /// Time of the last event, in nanoseconds from the start of the run.
    pub elapsed_ns: u64,
    /// Requested length in nanoseconds of a run that was stopped earlier.
    pub cut_short_of_ns: Option<u64>,
    /// End of a warm-up that lasted until the run had settled.
    pub settling: Option<Settling>,
    /// States at the end of the run, as `tunables`.
    pub features: BTreeMap<String, bool>,
    pub tunables: BTreeMap<String, i64>,
    pub engine: Option<ManifestEngine>,
}

impl RunResult {
    /// Returns the result of a machine that has run. `whole` is the length that was requested.
    pub fn new<E: Engine>(machine: &Machine<E>, observers: RunObservers, about: &RunAbout, whole: Nanos) -> Self {
        let settling = observers.settling;
        let begin = about.warmup.length(settling.as_ref());
        let whole = whole.saturating_since(about.warmup.latest() - begin);
        let cut_short_of = (machine.duration() < whole).then_some(whole.0);
        let mut summary = observers.summary_of(about.subject.clone(), machine);
        if let Some(summary) = &mut summary {
            summary.cut_short_of_ns = cut_short_of;
            summary.add_settling(settling);
        }
        let measured = machine.duration().saturating_since(begin);
        let bench = observers.bench.map(|bench| bench.outcome(RunProgress::from_machine(machine), measured));
        let built_in = machine.as_built_in();
        let findings = observers.findings.zip(built_in).map(|(findings, machine)| {
            findings.finish(machine, summary.as_ref().map_or(&[][..], |summary| &summary.families))
        });
        Self {
            summary,
            bench,
            findings,
            digest: machine.digest().to_string(),
            events: machine.counters().events,
            duration_ns: machine.duration().0,
            elapsed_ns: machine.elapsed().0,
            cut_short_of_ns: cut_short_of,
            settling,
            features: features_of(machine.sched()),
            tunables: tunables_of(machine.sched()),
            engine: None,
        }
    }

    /// Requested length of a run that was stopped earlier.
    pub fn cut_short_of(&self) -> Option<Nanos> {
        self.cut_short_of_ns.map(Nanos)
    }
}

fn features_of<E: Engine>(engine: &E) -> BTreeMap<String, bool> {
    engine.feature_states().into_iter().map(|feature| (feature.name, feature.is_on)).collect()
}

fn tunables_of<E: Engine>(engine: &E) -> BTreeMap<String, i64> {
    engine.tunable_states().into_iter().map(|tunable| (tunable.name, tunable.value)).collect()
}
