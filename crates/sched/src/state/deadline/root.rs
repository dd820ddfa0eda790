// SPDX-License-Identifier: GPL-2.0-or-later
//! State of deadline scheduling that all CPUs share: admitted bandwidth, overloaded CPUs and latest deadlines.
//!
//! Models the deadline part of `struct root_domain`, and `cpudl_find()` (6.1).

use crate::state::deadline::cpudeadline::CpuDl;
use crate::state::deadline::entity::{DlEntity, time_before};
use crate::state::rq::Rqs;
use crate::state::task::{Task, Tasks};
use crate::types::cpumask::CpuMask;
use crate::types::getters::getters;
use crate::types::ids::CpuId;

/// State of deadline scheduling that all CPUs share: part of the kernel's `struct root_domain`.
#[derive(Clone, Debug)]
pub struct DlRoot {
    /// Admitted bandwidth of all tasks, in units of 2^-20 (`dl_bw.total_bw`).
    total_bw: u64,
    /// Part of `total_bw` that is the bandwidth of fair servers.
    server_bw: u64,
    /// Bandwidth in use that `total_bw` lacks.
    forgotten_bw: u64,
    /// Share of the admitted bandwidth of each CPU, in units of 2^-20.
    admitted_per_cpu: u64,
    /// CPUs with tasks that could be pulled (`dlo_mask`).
    pub(crate) overloaded_cpus: CpuMask,
    /// Heap of the CPUs' earliest deadlines, with the latest of them on top.
    pub(crate) cpudl: CpuDl,
    /// Heap of the root domain for CPUs without sched domains (`def_root_domain`).
    ///
    /// All CPUs pass through it when sched domains are rebuilt, and no online CPU stays. A search of it finds
    /// the latest deadline that was there last.
    default_cpudl: CpuDl,
    /// Scratch mask that each search for a CPU refills.
    later_mask: CpuMask,
}

impl DlRoot {
    getters!(total_bw: u64, admitted_per_cpu: u64);

    /// CPUs that the last search found.
    pub(crate) fn later_mask(&self) -> &CpuMask {
        &self.later_mask
    }

    /// Bandwidth in use: what was admitted and not released since.
    pub(crate) fn bw_in_use(&self) -> u64 {
        self.total_bw.wrapping_add(self.forgotten_bw)
    }

    /// Adds admitted bandwidth, in equal parts on all active CPUs (`__dl_add()`).
    pub(crate) fn add_admitted(&mut self, bw: u64, active: &CpuMask) {
        self.total_bw = self.total_bw.wrapping_add(bw);
        self.admitted_per_cpu = self.admitted_per_cpu.wrapping_add(bw / active.weight() as u64);
    }

    /// Removes admitted bandwidth, in equal parts from all active CPUs (`__dl_sub()`).
    pub(crate) fn sub_admitted(&mut self, bw: u64, active: &CpuMask) {
        self.total_bw = self.total_bw.wrapping_sub(bw);
        self.admitted_per_cpu = self.admitted_per_cpu.wrapping_sub(bw / active.weight() as u64);
    }

    /// Releases the admitted bandwidth of a task and clears its parameters.
    pub(crate) fn release_admitted(&mut self, dl: &mut DlEntity, active: &CpuMask) {
        self.sub_admitted(dl.dl_bw, active);
        dl.clear_parameters();
    }

    /// Redistributes the admitted bandwidth after a change of the number of active CPUs.
    // DIFFERS: when sched domains are rebuilt, fairlab distributes the admitted deadline bandwidth over the
    // active CPUs. 6.1 subtracts it a second time, so that less and less bandwidth can be reclaimed.
    pub(crate) fn spread_admitted(&mut self, tasks: &Tasks, active: &CpuMask) {
        let nr_cpus = active.weight() as u64;
        self.admitted_per_cpu = tasks.iter().map(|p| p.dl.dl_bw / nr_cpus).sum();
    }

    /// Records that a fair server, whose bandwidth is admitted, has another bandwidth now.
    pub(crate) fn replace_server_bw(&mut self, old_bw: u64, new_bw: u64) {
        self.server_bw = self.server_bw.wrapping_sub(old_bw).wrapping_add(new_bw);
    }

    /// Counts the bandwidth of fair servers in a new root domain: of servers that have started, on active CPUs
    /// (`__dl_server_attach_root()`). The servers are those of the first tasks, one for each CPU.
    pub(crate) fn attach_servers(&mut self, tasks: &Tasks, active: &CpuMask) {
        let (mut counted, mut all) = (0, 0);
        for (cpu, p) in (0..active.nr_cpus()).map(CpuId::from_index).zip(tasks) {
            let is_counted = p.dl.server.is_server && active.contains(cpu);
            counted += if is_counted { p.dl.dl_bw } else { 0 };
            all += p.dl.dl_bw;
        }
        self.total_bw = self.total_bw.wrapping_sub(self.server_bw).wrapping_add(counted);
        self.server_bw = counted;
        self.forgotten_bw = all - counted;
    }

    /// Whether a task could preempt on the CPU with the latest deadline (`cpudl_find()` without a mask).
    pub(crate) fn has_later_cpu(&self, p: &Task) -> bool {
        let (deadline, cpu) = self.cpudl.latest();
        p.cpus_allowed.contains(cpu) && time_before(p.dl.deadline, deadline)
    }

    /// Records whether a CPU has tasks that could be pulled.
    pub(crate) fn set_overload(&mut self, cpu: CpuId, is_overloaded: bool) {
        if is_overloaded {
            self.overloaded_cpus.set(cpu);
        } else {
            self.overloaded_cpus.clear(cpu);
        }
    }

    /// Models the moment in which CPUs leave their old root domain and join the default one, one after the
    /// other.
    pub(crate) fn attach_default_root(&mut self, rqs: &Rqs, active: &CpuMask) {
        for cpu in active.iter() {
            let dl = &rqs[cpu].dl;
            if dl.nr_running() > 0 {
                self.default_cpudl.set(cpu, dl.earliest_curr());
            }
        }
        for cpu in active.iter() {
            self.default_cpudl.clear(cpu, false);
        }
    }

    /// Fills the mask of CPUs on which a task might run at once (`cpudl_find()`). Returns whether there are
    /// any.
    ///
    /// Rules, in order:
    /// 1. CPUs without deadline tasks. With asymmetric capacities only those with enough capacity; if none
    ///    has, the one with the most. Among equals the task's own CPU wins.
    /// 2. The CPU with the latest deadline, if that is later than the task's.
    pub(crate) fn find_later_cpus(&mut self, p: &Task, rqs: &Rqs, minds_capacity: bool) -> bool {
        let cpudl = if rqs[p.cpu].online { &self.cpudl } else { &self.default_cpudl };
        self.later_mask.assign_and(cpudl.free_cpus(), &p.cpus_allowed);
        if self.later_mask.is_empty() {
            let (deadline, cpu) = cpudl.latest();
            let is_later = p.cpus_allowed.contains(cpu) && time_before(p.dl.deadline, deadline);
            if is_later {
                self.later_mask.set(cpu);
            }
            return is_later;
        }
        if minds_capacity {
            let mut fastest: Option<(u64, CpuId)> = None;
            for rq in rqs {
                let (cpu, capacity) = (rq.cpu, rq.cpu_capacity_orig);
                if !self.later_mask.contains(cpu) || p.dl.fits_capacity(capacity) {
                    continue;
                }
                self.later_mask.clear(cpu);
                let most = fastest.map_or(0, |(capacity, _)| capacity);
                if capacity > most || (cpu == p.cpu && capacity == most) {
                    fastest = Some((capacity, cpu));
                }
            }
            if let Some((_, cpu)) = fastest.filter(|_| self.later_mask.is_empty()) {
                self.later_mask.set(cpu);
            }
        }
        true
    }

    /// Marks all CPUs as offline. The admitted bandwidth stays.
    pub(crate) fn clear_cpus(&mut self) {
        let nr_cpus = self.overloaded_cpus.nr_cpus();
        self.overloaded_cpus.clear_all();
        self.cpudl = CpuDl::without_cpus(nr_cpus);
    }

    /// Sets the admitted bandwidth to zero, although what was admitted stays in use.
    pub(crate) fn forget_admitted(&mut self) {
        self.server_bw = 0;
        self.forgotten_bw = self.forgotten_bw.wrapping_add(core::mem::take(&mut self.total_bw));
    }

    pub(crate) fn new(nr_cpus: usize) -> Self {
        Self {
            total_bw: 0,
            server_bw: 0,
            forgotten_bw: 0,
            admitted_per_cpu: 0,
            overloaded_cpus: CpuMask::new(nr_cpus),
            cpudl: CpuDl::new(nr_cpus),
            default_cpudl: CpuDl::without_cpus(nr_cpus),
            later_mask: CpuMask::new(nr_cpus),
        }
    }
}
