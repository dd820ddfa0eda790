// SPDX-License-Identifier: GPL-2.0-or-later
//! Utilisation clamps of task groups: `cpu.uclamp.min` and `cpu.uclamp.max`.
//!
//! Models `cpu_uclamp_write()`, `cpu_util_update_eff()`, `uclamp_update_active_tasks()` and
//! `uclamp_rq_reinc_id()` (6.1). The clamps of the group above limit those of a group. A protection (the
//! lower clamp) never exceeds the group's limit.

use crate::state::State;
use crate::state::task::Uclamp;
use crate::types::ids::{GroupId, TaskId};

/// Clamps of a group for which none were requested.
const ANYTHING: Uclamp = Uclamp { min: 0, max: 1024 };

/// Clamps of the root group, which limits nothing and allows any protection.
const ROOT: Uclamp = Uclamp { min: 1024, max: 1024 };

impl Uclamp {
    /// Effective clamps of a group without requested clamps, below a group with clamps `above`.
    pub(crate) fn below(above: Self) -> Self {
        ANYTHING.within(above)
    }

    fn within(self, above: Self) -> Self {
        let max = self.max.min(above.max);
        Self { min: self.min.min(above.min).min(max), max }
    }
}

impl State {
    /// Sets the clamps that a group requests, 0 to 1024 each.
    ///
    /// Rules, in order:
    /// 1. The effective clamps of the group and of the groups below are updated.
    /// 2. Runnable tasks of groups whose clamps change are counted with the new ones at once.
    ///
    /// # Panics
    /// If the group is the root group, which has no such files.
    pub fn set_group_uclamp(&mut self, group: GroupId, clamps: Uclamp) {
        assert!(group != GroupId::ROOT, "the root group has no clamps");
        self.uclamp_used = true;
        // A user writes two files, the lower clamp first. Tasks that share a bucket with others keep its highest value.
        let before = self.fair.groups[group].uclamp_req.unwrap_or(ANYTHING);
        for request in [Uclamp { min: clamps.min, ..before }, clamps] {
            self.fair.groups[group].uclamp_req = Some(request);
            // Parents come before their children.
            for index in group.index()..self.fair.groups.len() {
                self.update_group_clamps(GroupId::from_index(index));
            }
        }
    }

    /// Computes the effective clamps of a group from the requested ones and those of the group above.
    fn update_group_clamps(&mut self, id: GroupId) {
        let group = &self.fair.groups[id];
        let Some(parent) = group.parent else { return };
        let above = self.fair.groups[parent].uclamp;
        if group.uclamp_req.is_none() && above.is_none() {
            return;
        }
        let above = if parent == GroupId::ROOT { ROOT } else { above.unwrap_or(ANYTHING) };
        let effective = group.uclamp_req.unwrap_or(ANYTHING).within(above);
        if self.fair.groups[id].uclamp.replace(effective) == Some(effective) {
            return;
        }
        for task in (0..self.tasks.len()).map(TaskId::from_index) {
            let p = &mut self.tasks[task];
            if p.group == id && p.uclamp_active.is_some() {
                let rq = &mut self.rqs[p.cpu];
                rq.uclamp_dec(p);
                rq.uclamp_inc(p, &self.fair.groups, self.uclamp_used);
            }
        }
    }
}
