// SPDX-License-Identifier: GPL-2.0-or-later
//! Counters of a sched domain under the names of schedstat (`struct sched_domain`, `CONFIG_SCHEDSTATS`).

use crate::types::idle_type::CpuIdleType;
use core::ops::{Index, IndexMut};

/// Results of the passes of `load_balance()` for one idle state of the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LbStats {
    /// `lb_count`: number of passes.
    pub count: u32,
    /// `lb_balanced`: nothing had to be done.
    pub balanced: u32,
    /// `lb_failed`: nothing could be moved.
    pub failed: u32,
    /// `lb_imbalance`: sum of the imbalances found.
    pub imbalance: u32,
    /// `lb_gained`: number of tasks pulled.
    pub gained: u32,
    /// `lb_hot_gained`: cache-hot tasks among them.
    pub hot_gained: u32,
    /// `lb_nobusyg`: no busiest group.
    pub nobusyg: u32,
    /// `lb_nobusyq`: no busiest queue.
    pub nobusyq: u32,
}

/// Results of `load_balance()` for each idle state of the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LbStatsByIdle([LbStats; 3]);

impl Index<CpuIdleType> for LbStatsByIdle {
    type Output = LbStats;
    fn index(&self, idle: CpuIdleType) -> &LbStats {
        &self.0[idle as usize]
    }
}

impl IndexMut<CpuIdleType> for LbStatsByIdle {
    fn index_mut(&mut self, idle: CpuIdleType) -> &mut LbStats {
        &mut self.0[idle as usize]
    }
}

/// All counters of a domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DomainStats {
    /// `lb_*`: passes of `load_balance()`, by idle state.
    pub lb: LbStatsByIdle,
    /// Active balancing: number of attempts.
    pub alb_count: u32,
    /// Active balancing: attempts that moved nothing.
    pub alb_failed: u32,
    /// Active balancing: attempts that moved a task.
    pub alb_pushed: u32,
    /// Balancing on exec: attempts.
    pub sbe_count: u32,
    /// Balancing on exec: attempts without a better CPU. The kernel never counts it.
    pub sbe_balanced: u32,
    /// Balancing on exec: attempts that moved the task. The kernel never counts it.
    pub sbe_pushed: u32,
    /// Balancing on fork: attempts.
    pub sbf_count: u32,
    /// Balancing on fork: attempts without a better CPU. The kernel never counts it.
    pub sbf_balanced: u32,
    /// Balancing on fork: attempts that moved the task. The kernel never counts it.
    pub sbf_pushed: u32,
    /// Wake-ups whose waking CPU differs from the task's CPU, where this is the first domain that spans both.
    pub ttwu_wake_remote: u32,
    /// Wake-ups that pulled the task to the waking CPU.
    pub ttwu_move_affine: u32,
    /// Wake-ups moved by passive balancing. The kernel never counts it.
    pub ttwu_move_balance: u32,
}
