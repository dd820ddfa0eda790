// SPDX-License-Identifier: GPL-2.0-or-later
//! Combines the phases of a load-balance path on one CPU into a span, from the first phase to the last.

use super::record::{RecordKind, TraceRecord};
use fairlab_machine::observer::KernelPath;
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::BalanceVerdict;
use fairlab_sched::units::Nanos;

const PATHS: [KernelPath; 3] = [KernelPath::NewIdle, KernelPath::Softirq, KernelPath::NohzIdle];

#[derive(Clone, Copy, Debug)]
pub(super) struct PassSpan {
    pub(super) cpu: CpuId,
    pub(super) path: KernelPath,
    pub(super) began: Nanos,
    pub(super) ended: Nanos,
    /// Time spent in the path's work; interrupts account for the rest of the span.
    pub(super) took: Nanos,
    pub(super) waited: Nanos,
    /// Number of passes that ended in the span, of passes that moved tasks, and of tasks moved.
    pub(super) passes: u32,
    pub(super) with_moves: u32,
    pub(super) moved: u32,
}

pub(super) struct PassSpans {
    open: Vec<[Option<PassSpan>; PATHS.len()]>,
    /// Per CPU, the passes of a phase that is not recorded yet: number, passes with moves, moved tasks.
    pending: Vec<(u32, u32, u32)>,
}

impl PassSpans {
    pub(super) fn new(nr_cpus: usize) -> Self {
        Self { open: vec![[None; PATHS.len()]; nr_cpus], pending: vec![(0, 0, 0); nr_cpus] }
    }

    /// Processes a record. Returns the span that it ends, if any.
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
