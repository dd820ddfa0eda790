// SPDX-License-Identifier: GPL-2.0-or-later
//! Searches for an idle CPU, as walks that let time pass between their looks.
//!
//! A search sees each CPU as it is when it comes to it: one that was idle when the search began may be taken meanwhile, and a
//! busy one may have become idle. With pauses on ([`Sched::set_pausing`]) a selection therefore ends where a search begins; the
//! machine lets pass what it has cost so far and calls [`Sched::search_on`], again and again, until the search is over. With
//! pauses off a search is carried through at once, by the same code. What is looked for is said in [`super::idle_cpu`],
//! [`super::idle_core`] and [`super::idle_capacity`].

use crate::paths::wake::PendingWakeup;
use crate::rules::wakeup::idle_capacity::CapacityWalk;
use crate::rules::wakeup::idle_core::CoreWalk;
use crate::rules::wakeup::idle_cpu::CpuWalk;
use crate::state::sched::Sched;
use crate::state::topology::DomainId;
use crate::told::ctx::Ctx;
use crate::told::wakeup::{WakeRule, WakeupDecision};
use crate::words::ids::CpuId;
use crate::words::units::Nanos;

/// At how many CPUs a search looks before it lets time pass. A look takes as long as a line needs to come from another core, and
/// CPUs are idle for microseconds, so that a few looks can be one.
const LOOKS_PER_PHASE: u32 = 4;

/// A search that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    /// What is known so far, and in the end what was chosen.
    pub decision: WakeupDecision,
    sd: DomainId,
    walk: Walk,
    began: Nanos,
    is_over: bool,
}

/// Where a search is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Walk {
    /// CPU by CPU.
    Cpus(CpuWalk),
    /// Core by core.
    Cores(CoreWalk),
    /// CPU by CPU, where capacities differ.
    Capacities(CapacityWalk),
}

/// How many looks a phase of a search has, and how many it still has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Looks {
    left: u32,
}

impl Looks {
    /// Takes one, if there is one.
    pub(crate) fn take(&mut self) -> bool {
        let has_one = self.left > 0;
        self.left = self.left.saturating_sub(1);
        has_one
    }

    /// Whether there are none left.
    pub(crate) fn are_spent(self) -> bool {
        self.left == 0
    }
}

impl Sched {
    /// Begins a search, and with pauses off also ends it.
    pub(crate) fn search(&mut self, ctx: &mut Ctx<'_>, sd: DomainId, walk: Walk, decision: &mut WakeupDecision) {
        let mut search = Search { decision: *decision, sd, walk, began: ctx.now, is_over: false };
        if self.paths.on {
            self.paths.cpus[ctx.cpu.index()].search = Some(search);
            return;
        }
        self.look_on(ctx, &mut search, Looks { left: u32::MAX });
        self.account_search(ctx, &search);
        *decision = search.decision;
    }

    /// Whether the CPU is in the middle of a search.
    pub fn is_searching(&self, cpu: CpuId) -> bool {
        self.paths.cpus.get(cpu.index()).is_some_and(|paths| paths.search.is_some())
    }

    /// Carries on the search of a wake-up. It is over when the result says so ([`PendingWakeup::is_searching`]); the time of the last
    /// looks has then passed.
    pub fn search_on(&mut self, ctx: &mut Ctx<'_>, pending: PendingWakeup) -> PendingWakeup {
        let search = self.paths.cpus[ctx.cpu.index()].search.take();
        let mut search = search.expect("the machine carries on searches that have begun");
        if !search.is_over {
            self.swap_candidates(ctx.cpu);
            self.look_on(ctx, &mut search, Looks { left: LOOKS_PER_PHASE });
            self.swap_candidates(ctx.cpu);
            self.paths.cpus[ctx.cpu.index()].search = Some(search);
            return pending;
        }
        self.account_search(ctx, &search);
        let cpu = self.decided(ctx, search.decision);
        self.pending_wakeup(pending.task(), cpu)
    }

    /// Looks further, at so many CPUs.
    fn look_on(&mut self, ctx: &mut Ctx<'_>, search: &mut Search, looks: Looks) {
        let Search { decision, sd, walk, .. } = search;
        search.is_over = match walk {
            Walk::Cpus(walk) => self.look_at_cpus(ctx, *sd, walk, decision, looks),
            Walk::Cores(walk) => self.look_at_cores(ctx, walk, decision, looks),
            Walk::Capacities(walk) => self.look_at_capacities(ctx, *sd, walk, decision, looks),
        };
    }

    /// With SIS_PROP, what a search that was not cut off has cost goes into an average. On a machine whose kernel code takes time that
    /// is its time; where it takes none, so much for each CPU that it looked at.
    fn account_search(&mut self, ctx: &Ctx<'_>, search: &Search) {
        let Walk::Cpus(walk) = search.walk else { return };
        let Some(this_sd) = walk.accounted_to else { return };
        if search.decision.rule == WakeRule::ScanLimit {
            return;
        }
        let took = (ctx.now - search.began).0;
        let cost = if took > 0 { took } else { u64::from(walk.nr_scanned) * self.tunables.changes.scan_cost_ns };
        self.account_scan(ctx.cpu, this_sd, cost);
    }

    /// The candidates of the CPU's search take the place of those of searches that do not pause, or the other way round.
    pub(crate) fn swap_candidates(&mut self, cpu: CpuId) {
        core::mem::swap(&mut self.paths.cpus[cpu.index()].candidates, &mut self.scratch.select);
    }

    /// Ends the looks of all searches at once: the domains in which they look are about to go. Their wake-ups go on as ever.
    pub(crate) fn finish_searches(&mut self, ctx: &mut Ctx<'_>) {
        for cpu in self.cpu_ids() {
            let Some(mut search) = self.paths.cpus.get_mut(cpu.index()).and_then(|paths| paths.search.take()) else {
                continue;
            };
            if !search.is_over {
                self.swap_candidates(cpu);
                self.look_on(ctx, &mut search, Looks { left: u32::MAX });
                self.swap_candidates(cpu);
            }
            self.paths.cpus[cpu.index()].search = Some(search);
        }
    }
}
