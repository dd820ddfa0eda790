// SPDX-License-Identifier: GPL-2.0-or-later
//! Brings tallies ([`crate::state::tallies`]) up to date: what was noted is read from the runqueues.

use crate::state::State;
use crate::state::lb_cache::LbSample;
use crate::state::topology::DomainId;
use crate::track::fits::util_cfs;
use crate::types::features::Feature;
use crate::types::ids::CpuId;

impl State {
    /// Reads anew what is noted of any CPU. From here to the next change tallies are what the runqueues say.
    #[inline]
    pub(crate) fn refresh_tallies(&mut self) {
        while let Some(cpu) = self.tallies.take_dirty() {
            self.tallies.set(cpu, self.tally_of(cpu));
        }
    }

    /// The same for the CPUs of a domain: a pass over few CPUs does not pay for changes elsewhere.
    #[inline]
    pub(crate) fn refresh_tallies_in(&mut self, sd: DomainId) {
        while let Some(cpu) = self.tallies.take_dirty_in(sd, &self.domains.domains[sd].span) {
            self.tallies.set(cpu, self.tally_of(cpu));
        }
    }

    /// The tally of a CPU, from its runqueue.
    #[inline]
    pub(crate) fn tally_of(&self, cpu: CpuId) -> LbSample {
        let (rq, root) = (&self.rqs[cpu.index()], &self.cfs_rqs[cpu.index()]);
        LbSample {
            load: root.avg.load_avg,
            runnable: root.avg.runnable_avg,
            // At most the greatest capacity.
            util: util_cfs(rq, root, self.features.has(Feature::UtilEst)) as u32,
            nr_running: rq.nr_running,
            h_nr_running: root.h_nr_running,
            overloaded_cpus: u32::from(rq.nr_running > 1),
            reduced_cpus: u32::from(root.h_nr_running == 1 && rq.cpu_capacity < rq.cpu_capacity_orig),
            idle_cpus: u32::from(rq.is_idle()),
        }
    }
}
