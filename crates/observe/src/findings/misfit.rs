// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks that are too big for their CPU while a bigger one idles. Seen by looks, as nobody tells of it.

use super::{Finding, Severity, moment};
use crate::explain::Question;
use fairlab_machine::engine::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

/// What was seen of each CPU.
#[derive(Debug)]
pub(super) struct Misfits {
    /// Since when a task has been too big for it, and since when a bigger CPU idles too.
    since: Vec<Option<Nanos>>,
    count: u64,
    total: Nanos,
    worst: Option<(Nanos, CpuId, Nanos)>,
}

impl Misfits {
    pub(super) fn new(nr_cpus: usize) -> Self {
        Self { since: vec![None; nr_cpus], count: 0, total: Nanos::ZERO, worst: None }
    }

    pub(super) fn look(&mut self, machine: &Machine, limit: Nanos) {
        let (sched, capacity) = (machine.sched(), &machine.hardware().topology.capacity);
        for cpu in sched.cpu_ids() {
            let is_too_big = sched.figures(cpu).misfit_task_load > 0 && {
                let allowed = &sched.task(sched.curr(cpu)).cpus_allowed;
                let bigger = |&other: &CpuId| capacity[other.index()] > capacity[cpu.index()] && sched.is_idle(other);
                allowed.iter().any(|other| bigger(&other))
            };
            if is_too_big {
                self.since[cpu.index()].get_or_insert_with(|| machine.now());
            } else {
                self.ends(machine.now(), cpu, limit);
            }
        }
    }

    fn ends(&mut self, now: Nanos, cpu: CpuId, limit: Nanos) {
        let Some(time) = self.since[cpu.index()].take().map(|since| now - since) else { return };
        if time < limit {
            return;
        }
        self.count += 1;
        self.total += time;
        if self.worst.is_none_or(|(worst, ..)| time > worst) {
            self.worst = Some((time, cpu, now));
        }
    }

    pub(super) fn findings(&mut self, machine: &Machine, now: Nanos, limit: Nanos) -> Vec<Finding> {
        machine.sched().cpu_ids().for_each(|cpu| self.ends(now, cpu, limit));
        let found = self.worst.map(|(time, cpu, until)| Finding {
            rule: "misfit-left",
            severity: Severity::Medium,
            sentence: format!(
                "{} times ({} in sum) a task was too big for its CPU while a bigger one idled; at the worst CPU {} for about {time}",
                self.count, self.total, cpu.0
            ),
            count: self.count,
            total_ns: self.total.0,
            worst_ns: time.0,
            at_ns: moment(until).saturating_sub(time.0 / 2),
            question: Question::Cpu(cpu.0),
        });
        found.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_as_long_as_the_limit_counts_and_the_worst_is_kept() {
        let mut misfits = Misfits::new(2);
        let ms = Nanos::from_millis;
        for (cpu, from, to) in [(0, 100, 119), (0, 200, 220), (1, 300, 390), (0, 400, 430)] {
            misfits.since[cpu as usize] = Some(ms(from));
            misfits.ends(ms(to), CpuId(cpu), ms(20));
        }
        assert_eq!((misfits.count, misfits.total), (3, ms(20 + 90 + 30)));
        assert_eq!(misfits.worst, Some((ms(90), CpuId(1), ms(390))));
    }
}
