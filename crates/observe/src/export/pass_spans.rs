// SPDX-License-Identifier: GPL-2.0-or-later
//! Balancing as spans of time: phases of a path on one CPU are put together, from the first one to the one that ends it.

use super::record::{RecordKind, TraceRecord};
use fairlab_machine::observer::KernelPath;
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::BalanceVerdict;
use fairlab_sched::units::Nanos;

/// The paths that balance.
const PATHS: [KernelPath; 3] = [KernelPath::NewIdle, KernelPath::Softirq, KernelPath::NohzIdle];

/// A path on a CPU from its begin to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassSpan {
    pub(super) cpu: CpuId,
    pub(super) path: KernelPath,
    pub(super) began: Nanos,
    pub(super) ended: Nanos,
    /// Time of work and of waiting for locks; the rest went to interrupts.
    pub(super) took: Nanos,
    pub(super) waited: Nanos,
    /// Passes that ended meanwhile, those that moved tasks, and how many tasks.
    pub(super) passes: u32,
    pub(super) with_moves: u32,
    pub(super) moved: u32,
}

/// Spans that have begun, of all CPUs.
pub(super) struct PassSpans {
    open: Vec<[Option<PassSpan>; PATHS.len()]>,
    /// Passes of each CPU that belong to a phase which was not told yet: number, with moves, tasks.
    pending: Vec<(u32, u32, u32)>,
}

impl PassSpans {
    pub(super) fn new(nr_cpus: usize) -> Self {
        Self { open: vec![[None; PATHS.len()]; nr_cpus], pending: vec![(0, 0, 0); nr_cpus] }
    }

    /// Takes a record. Returns a span that it ends.
    pub(super) fn record(&mut self, record: &TraceRecord<'_>) -> Option<PassSpan> {
        match record.what {
            RecordKind::BalancedReason(decision) => {
                let pending = &mut self.pending[decision.on.index()];
                pending.0 += 1;
                pending.1 += u32::from(decision.verdict == BalanceVerdict::Moved);
                pending.2 += decision.nr_moved;
                None
            }
            RecordKind::Path { path, began, took, waited, ends } => {
                let place = PATHS.iter().position(|&own| own == path)?;
                let (cpu, (passes, with_moves, moved)) =
                    (record.cpu, std::mem::take(&mut self.pending[record.cpu.index()]));
                let open = &mut self.open[cpu.index()][place];
                let nothing = Nanos::ZERO;
                let span = open.get_or_insert(PassSpan {
                    cpu,
                    path,
                    began,
                    ended: began,
                    took: nothing,
                    waited: nothing,
                    passes: 0,
                    with_moves: 0,
                    moved: 0,
                });
                span.took += took;
                span.waited += waited;
                span.ended = record.at + took;
                span.passes += passes;
                span.with_moves += with_moves;
                span.moved += moved;
                if ends { open.take() } else { None }
            }
            _ => None,
        }
    }
}
