// SPDX-License-Identifier: GPL-2.0-or-later
//! Start of a run: task groups, threads of governors, and the first events.

use crate::base::clock::START;
use crate::engine::Engine;
use crate::event::{EventKind, Lane};
use crate::interface::error::SimResult;
use crate::interface::observation::KernelPath;
use crate::observer::Observer;
use crate::parts::policy::bandwidth_of;
use crate::parts::threads::GovernorThread;
use crate::state::Machine;
use fairlab_sched::ids::{CpuId, GroupId};
use fairlab_sched::task::Uclamp;
use fairlab_sched::units::Nanos;

impl<E: Engine> Machine<E> {
    /// Creates the task groups in order, on CPU 0. This precedes the run, so it takes no simulated time.
    pub(crate) fn create_groups(&mut self, observer: &mut dyn Observer<E>) {
        for index in 0..self.workload.groups.len() {
            let spec = self.workload.groups[index].clone();
            let parent = spec.parent.map_or(GroupId::ROOT, |parent| self.groups[parent]);
            let bandwidth = bandwidth_of(&spec).expect("checked when the machine was made");
            let group = self.enter(observer, CpuId(0), KernelPath::Change, |sched, ctx| {
                let group = sched.create_group(ctx, parent);
                sched.set_group_shares(ctx, group, spec.shares).expect("a new group has shares");
                if let Some(bandwidth) = bandwidth {
                    sched.set_group_bandwidth(ctx, group, bandwidth).expect("it is not the root group");
                }
                if spec.idle {
                    sched.set_group_idle(ctx, group, true).expect("it is not the root group");
                }
                if let Some((min, max)) = spec.uclamp {
                    sched.set_group_uclamp(group, Uclamp { min, max });
                }
                group
            });
            self.groups.push(group);
        }
    }

    /// Pushes the events that are known at the start. Their order decides the order at one instant.
    pub(crate) fn push_first_events(&mut self) {
        let tick = self.hardware.tick;
        self.events.push_in_lane(Lane::Ticks, START + tick, EventKind::Jiffy(START.0 / tick.0 + 1));
        for cpu in self.sched.cpu_ids() {
            // A CPU that would tick later than any run lasts does not tick.
            let skew = self.hardware.tick_skew.0.saturating_mul(u64::from(cpu.0));
            let first = Nanos((START + tick).0.saturating_add(skew));
            self.events.push_in_lane(Lane::Ticks, first, EventKind::Tick(cpu));
            self.cpus[cpu.index()].idle.record_tick(first);
        }
        for task in 0..self.tasks.count() {
            let spec = &self.workload.tasks[self.tasks[task].spec];
            if let Some(at) = spec.start_at {
                self.events.push(START + at, EventKind::Fork(CpuId(spec.start_cpu), task as u32));
            }
        }
        for (index, &(at, cpu, _)) in self.hardware.frequency_steps.iter().enumerate() {
            self.events.push(START + at, EventKind::Frequency(cpu, index as u32));
        }
        for (index, (at, _)) in self.workload.changes.iter().enumerate() {
            self.events.push(START + *at, EventKind::Change(index as u32));
        }
        for (index, load) in self.hardware.interrupts.iter().enumerate() {
            self.events.push(START + load.every, EventKind::Interrupt(index as u32));
        }
        for (index, load) in self.workload.packets.iter().enumerate() {
            self.events.push(START + load.every, EventKind::Packets(index as u32));
        }
        if let Some(every) = self.snapshot_every {
            self.events.push(START + every, EventKind::Snapshot);
        }
        self.start_background();
    }
    /// Forks the governors' threads in the order of their domains. This precedes the run, so it takes no
    /// simulated time.
    pub(crate) fn start_governor_threads(&mut self, observer: &mut dyn Observer<E>) -> SimResult {
        self.governor_threads = vec![GovernorThread::default(); self.hardware.frequency_domains.len()];
        let threads: Vec<usize> = (0..self.tasks.count()).filter(|&task| self.is_kthread(task)).collect();
        let domains = self.hardware.frequency_domains.iter().enumerate();
        let driven: Vec<usize> =
            domains.filter(|(_, domain)| domain.has_governor_thread()).map(|(place, _)| place).collect();
        for (place, task) in driven.into_iter().zip(threads) {
            self.governor_threads[place].task = Some(task);
            let cpu = self.tasks[task].cpu;
            self.fork(observer, cpu, task);
            self.settle(observer, cpu)?;
        }
        Ok(())
    }
}
