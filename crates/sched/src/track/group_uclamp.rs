// SPDX-License-Identifier: GPL-2.0-or-later
//! Utilisation clamps of task groups: `cpu.uclamp.min` and `cpu.uclamp.max`.
//!
//! Models `cpu_uclamp_write()`, `cpu_util_update_eff()`, `uclamp_update_active_tasks()` and `uclamp_rq_reinc_id()` (6.1). What
//! a group asks for is limited by what the group above has; a protection (the lower clamp) never exceeds the group's limit.

use crate::state::State;
use crate::state::task::Uclamp;
use crate::types::ids::{GroupId, TaskId};

/// What a group has of which nobody asked anything.
const ANYTHING: Uclamp = Uclamp { min: 0, max: 1024 };

/// The root group limits nothing, and protects as much as anybody asks for.
const ROOT: Uclamp = Uclamp { min: 1024, max: 1024 };

impl Uclamp {
    /// What a group without a wish has below one that has this.
    pub(crate) fn below(above: Self) -> Self {
        ANYTHING.within(above)
    }

    fn within(self, above: Self) -> Self {
        let max = self.max.min(above.max);
        Self { min: self.min.min(above.min).min(max), max }
    }
}

impl State {
    /// Sets what a group allows the clamps of its tasks to be, 0 to 1024 each.
    ///
    /// Rules, in order:
    /// 1. What it has, and what the groups below have, follows.
    /// 2. Tasks of groups for which that is a change count with it at once.
    ///
    /// # Panics
    /// If it is the root group, which has no such files.
    pub fn set_group_uclamp(&mut self, group: GroupId, clamps: Uclamp) {
        assert!(group != GroupId::ROOT, "the root group has no clamps");
        self.uclamp_used = true;
        self.groups[group.index()].uclamp_req = Some(clamps);
        // Parents come before their children.
        for index in group.index()..self.groups.len() {
            self.update_group_clamps(GroupId::from_index(index));
        }
    }

    /// What a group has, from what it asks for and what the group above has.
    fn update_group_clamps(&mut self, id: GroupId) {
        let group = &self.groups[id.index()];
        let Some(parent) = group.parent else { return };
        let above = self.groups[parent.index()].uclamp;
        if group.uclamp_req.is_none() && above.is_none() {
            return;
        }
        let above = if parent == GroupId::ROOT { ROOT } else { above.unwrap_or(ANYTHING) };
        let effective = group.uclamp_req.unwrap_or(ANYTHING).within(above);
        if self.groups[id.index()].uclamp.replace(effective) == Some(effective) {
            return;
        }
        for task in (0..self.tasks.len()).map(TaskId::from_index) {
            let p = &self.tasks[task.index()];
            if p.group == id && p.uclamp_active.is_some() {
                let cpu = p.cpu;
                self.uclamp_rq_dec(cpu, task);
                self.uclamp_rq_inc(cpu, task);
            }
        }
    }
}
