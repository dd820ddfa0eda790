// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs whose frequency is too low for what their tasks demand, although they have higher ones. Seen by looks.
//!
//! What schedutil would want counts: a quarter more than the utilisation. A frequency that follows within some milliseconds is no finding;
//! one that is held down, by a governor, a limit or a slow driver, is.

use super::{Finding, Severity, moment};
use crate::explain::Question;
use fairlab_machine::engine::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::{CAPACITY_FULL, Nanos};

/// What was seen of each CPU.
#[derive(Debug)]
pub(super) struct SlowCpus {
    since: Vec<Option<Nanos>>,
    count: u64,
    total: Nanos,
    worst: Option<(Nanos, CpuId, Nanos)>,
}

impl SlowCpus {
    pub(super) fn new(nr_cpus: usize) -> Self {
        Self { since: vec![None; nr_cpus], count: 0, total: Nanos::ZERO, worst: None }
    }

    pub(super) fn look(&mut self, machine: &Machine, limit: Nanos) {
        let (sched, capacity) = (machine.sched(), &machine.hardware().topology.capacity);
        for cpu in sched.cpu_ids() {
            let figures = sched.figures(cpu);
            let has = capacity[cpu.index()] * figures.freq_capacity / CAPACITY_FULL;
            let wants = figures.cfs_avg.util_avg + figures.cfs_avg.util_avg / 4;
            let is_slow = figures.freq_capacity < CAPACITY_FULL && wants > has && !sched.is_idle(cpu);
            if is_slow {
                self.since[cpu.index()].get_or_insert_with(|| machine.now());
            } else {
                self.ends(machine.now(), cpu, limit);
            }
        }
    }

    fn ends(&mut self, now: Nanos, cpu: CpuId, limit: Nanos) {
        let Some(time) = self.since[cpu.index()].take().map(|since| now - since).filter(|time| *time >= limit) else {
            return;
        };
        self.count += 1;
        self.total += time;
        if self.worst.is_none_or(|(worst, ..)| time > worst) {
            self.worst = Some((time, cpu, now));
        }
    }

    pub(super) fn findings(&mut self, machine: &Machine, now: Nanos, limit: Nanos) -> Vec<Finding> {
        machine.sched().cpu_ids().for_each(|cpu| self.ends(now, cpu, limit));
        let found = self.worst.map(|(time, cpu, until)| Finding {
            rule: "frequency-low",
            severity: Severity::Medium,
            sentence: format!(
                "{} times ({} in sum) the frequency of a busy CPU was too low for its utilisation, though it has higher ones; at the worst that of CPU {} for about {time}",
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
