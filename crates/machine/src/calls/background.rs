// SPDX-License-Identifier: GPL-2.0-or-later
//! Expiry of background timers, and the wake-ups of their threads.
//
// DIFFERS: an engine without threads that sleep from the boot forks a background thread when its timer first
// expires, so the thread begins with the averages of a new task.

use crate::engine::{Capability, Engine};
use crate::event::EventKind;
use crate::observer::Observer;
use crate::parts::kernel::KernelWork;
use crate::state::Machine;
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

impl<E: Engine> Machine<E> {
    /// Starts the background timers. Deferrable ones have no event: ticks look for them.
    pub(crate) fn start_background(&mut self) {
        self.background.start(self.now);
        for (index, timer) in self.background.timers.iter().enumerate().filter(|(_, timer)| !timer.is_deferrable) {
            self.events.push(timer.at, EventKind::Background(timer.cpu, index as u32));
        }
    }

    /// Lets the deferrable timers of a CPU expire, at its tick.
    #[inline]
    pub(crate) fn expire_deferred(&mut self, cpu: CpuId) {
        while let Some(index) = self.background.take_deferred(cpu, self.now) {
            self.events.push(self.now, EventKind::Background(cpu, index as u32));
        }
    }

    /// Starts a timer again that has expired.
    pub(crate) fn restart_background(&mut self, index: usize, from: Nanos) {
        let timer = &mut self.background.timers[index];
        timer.at = from + timer.interval;
        if !timer.is_deferrable {
            self.events.push(timer.at, EventKind::Background(timer.cpu, index as u32));
        }
    }

    /// Wakes the thread of a timer that has expired, in the timer's interrupt. The first wake-up creates it. A
    /// thread that is still awake does not notice.
    pub(crate) fn wake_background(&mut self, observer: &mut dyn Observer<E>, cpu: CpuId, index: usize) {
        // A deferrable timer expires at the tick that finds it.
        let since = self.background.timers[index].at.min(self.now);
        self.restart_background(index, self.now);
        let timer = &self.background.timers[index];
        let task = match timer.task {
            Some(task) => task,
            None => {
                let task = self.add_task(timer.spec, 0);
                self.background.timers[index].task = Some(task);
                if !self.sched.has(Capability::Ksoftirqd) {
                    self.push_work(cpu, KernelWork::Serve(EventKind::Fork(cpu, task as u32)));
                    return;
                }
                self.create_kthread(observer, cpu, task);
                task
            }
        };
        if self.tasks[task].id.is_some() {
            self.emit_waking(observer, task, since);
            self.wake_by_interrupt(observer, cpu, task);
        }
    }
}
