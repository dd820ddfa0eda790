// SPDX-License-Identifier: GPL-2.0-or-later
//! Counting of scheduler events on their way to the user's observers.

use super::observer::Observer;
use crate::digest::Digest;
use crate::interface::observation::Interest;
use crate::parts::counters::MachineCounters;
use fairlab_sched::ctx::IpiKind;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::units::Nanos;

/// Observer between the scheduler and the user's observers: hashes and counts events.
pub(crate) struct CountingObserver<'a, E> {
    pub(crate) digest: &'a mut Digest,
    pub(crate) counters: &'a mut MachineCounters,
    pub(crate) observer: &'a mut dyn Observer<E>,
    pub(crate) interest: Interest,
}

impl<E> SchedObserver for CountingObserver<'_, E> {
    #[inline]
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.digest.mix_event(now, event);
        let counters = &mut *self.counters;
        let is_wanted = match *event {
            Event::DomainStat { .. } | Event::GroupThrottling { .. } | Event::GroupRefill { .. } => {
                self.interest.details
            }
            Event::Switch { cpu, .. } => {
                counters.switches += 1;
                counters.per_cpu[cpu.index()].switches += 1;
                self.interest.events
            }
            Event::Wakeup { .. } => {
                counters.wakeups += 1;
                self.interest.events
            }
            Event::Migrate { .. } => {
                counters.migrations += 1;
                self.interest.events
            }
            Event::Ipi { cpu, kind, .. } => {
                let counters = &mut counters.per_cpu[cpu.index()];
                match kind {
                    IpiKind::Reschedule => counters.resched_ipis += 1,
                    IpiKind::CallFunction => counters.call_ipis += 1,
                }
                self.interest.details
            }
            Event::Runtime { .. } | Event::PeltEntity { .. } | Event::PeltCfsRq { .. } => self.interest.accounting,
            Event::Eevdf(event) if event.is_rare() => self.interest.events || self.interest.lags,
            Event::Lag { .. } | Event::Eevdf(_) => self.interest.lags,
            Event::Waking { .. }
            | Event::Priority { .. }
            | Event::Frequency { .. }
            | Event::Throttling { .. }
            | Event::Overutilized { .. }
            | Event::WakeupDecision(_)
            | Event::BalanceDecision(_)
            | Event::KickDecision(_)
            | Event::BlockedUpdate(_)
            | Event::Warning { .. } => self.interest.events,
        };
        if is_wanted {
            self.observer.event(now, event);
        }
    }
}
