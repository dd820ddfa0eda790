// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU time of task groups, beside their quotas and beside what their weights entitle them to.
//!
//! A run is cut into stretches: at least every [`WINDOW`], and where a task changes its group or a group its shares. In a
//! stretch, groups with one parent are compared whose fair tasks were runnable and may use the same CPUs. Each is entitled
//! to its part of their CPU time by weight, but to no more than the time for which its tasks ran or waited for a CPU.
//! Time in which a task was throttled is no such time, so a quota reduces what a group is entitled to.
//!
//! Groups below a group belong to it. Tasks whose policy or CPUs change during the run are not followed: a group in which
//! such a task is runnable is not compared.

use super::TaskTimes;
use crate::shares::{Share, WINDOW, fair_shares};
use crate::slot_mut;
use fairlab_machine::engine::Engine;
use fairlab_machine::sim::{Machine, START};
use fairlab_sched::ids::TaskId;
use fairlab_sched::task::Policy;
use fairlab_sched::units::Nanos;
use fairlab_workload::workload::{Affinity, Attributes, Change, Workload};
use std::collections::BTreeMap;

/// `cpu.shares` that count for a group with `cpu.idle`.
const IDLE_SHARES: u64 = 3;

/// CPU time of a task group, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupTime {
    /// Time of all its tasks.
    pub(crate) usage: u64,
    /// Time of its fair tasks while it had a quota.
    pub(crate) limited: u64,
    /// Quota of the periods of this time.
    pub(crate) available: u64,
    /// Time of its fair tasks while it was compared with other groups.
    pub(crate) compared: u64,
    /// Part of this time and of the others' to which its weight entitles it.
    pub(crate) entitled: u64,
}

/// Traits that a task of a specification keeps during the run.
#[derive(Clone, Copy, Debug)]
struct SpecTraits {
    is_fair: bool,
    /// CPUs that its tasks may use, as an index into [`GroupTimes::masks`]; `None` if they change.
    mask: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct MemberTask {
    spec: usize,
    group: Option<usize>,
    /// Run time and time of waits for a CPU at the start of the stretch.
    run: Nanos,
    wait: Nanos,
}

#[derive(Clone, Debug)]
struct Group {
    parent: Option<usize>,
    shares: u64,
    /// Quota and period, in ns.
    quota: Option<(u64, u64)>,
    /// Time up to which the available quota is counted.
    quota_until: Nanos,
    time: GroupTime,
}

impl Group {
    fn count_quota(&mut self, now: Nanos) {
        if let Some((quota, period)) = self.quota {
            let time = now.saturating_since(self.quota_until).0;
            self.time.available += (u128::from(quota) * u128::from(time) / u128::from(period.max(1))) as u64;
        }
        self.quota_until = now;
    }
}

/// Tasks of a group in a stretch.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    /// CPU time of its fair tasks.
    ran: u64,
    /// Time for which these tasks ran or waited for a CPU.
    runnable: u64,
    /// CPUs of these tasks, once one is known.
    mask: Option<usize>,
    /// Whether they differ or change.
    has_other_mask: bool,
}

/// Collects the CPU time of all task groups of a workload.
#[derive(Clone, Debug)]
pub(crate) struct GroupTimes {
    groups: Vec<Group>,
    specs: Vec<SpecTraits>,
    /// Number of CPUs of each distinct set of CPUs.
    masks: Vec<u64>,
    /// Members by the scheduler's ID.
    members: Vec<Option<MemberTask>>,
    since: Nanos,
    /// End of the stretch at the latest; never without groups.
    pub(crate) until: Nanos,
}

/// Returns the CPUs of each specification as a number, and how many CPUs each number stands for.
fn masks_of(workload: &Workload, nr_cpus: u64) -> (Vec<Option<usize>>, Vec<u64>) {
    let mut keys: Vec<(Affinity, Option<usize>)> = Vec::new();
    let mut mask_of = |affinity: Option<&Affinity>, cpuset: Option<usize>| {
        let key = (affinity.cloned().unwrap_or_default(), cpuset);
        keys.iter().position(|known| *known == key).unwrap_or_else(|| {
            keys.push(key);
            keys.len() - 1
        })
    };
    let masks = workload.tasks.iter().enumerate().map(|(spec, task)| {
        let is_attached = |(_, change): &(Nanos, Change)| match change {
            Change::Attach { task, .. } => *task == spec,
            _ => false,
        };
        let changes = attributes_of(workload, spec).any(|set| set.affinity.is_some());
        let is_fixed = !changes && !workload.changes.iter().any(is_attached);
        is_fixed.then(|| mask_of(task.start.affinity.as_ref(), task.cpuset))
    });
    let masks: Vec<Option<usize>> = masks.collect();
    let size_of = |(affinity, cpuset): &(Affinity, Option<usize>)| {
        let of_affinity = match affinity {
            Affinity::All => nr_cpus,
            Affinity::Cpus(cpus) => cpus.len() as u64,
        };
        cpuset.map_or(of_affinity, |cpuset| of_affinity.min(workload.cpusets[cpuset].cpus.len() as u64))
    };
    (masks, keys.iter().map(size_of).collect())
}

/// Returns all attributes that tasks of a specification get after their start.
fn attributes_of(workload: &Workload, spec: usize) -> impl Iterator<Item = &Attributes> {
    let changed = workload.changes.iter().filter_map(move |(_, change)| match change {
        Change::Task { task, attributes } if *task == spec => Some(attributes),
        _ => None,
    });
    workload.tasks[spec].attributes.iter().chain(changed)
}

fn is_always_fair(workload: &Workload, spec: usize) -> bool {
    let is_fair = |policy: &Policy| matches!(policy, Policy::Normal | Policy::Batch | Policy::Idle);
    let later = attributes_of(workload, spec).filter_map(|set| set.policy.as_ref());
    workload.tasks[spec].start.policy.iter().chain(later).all(is_fair)
}

impl GroupTimes {
    pub(crate) fn new(machine: &Machine<impl Engine>) -> Self {
        let workload = machine.workload();
        if workload.groups.is_empty() {
            return Self {
                groups: Vec::new(),
                specs: Vec::new(),
                masks: Vec::new(),
                members: Vec::new(),
                since: START,
                until: Nanos::NEVER,
            };
        }
        let (spec_masks, masks) = masks_of(workload, machine.hardware().nr_cpus() as u64);
        let traits = |(spec, mask)| SpecTraits { is_fair: is_always_fair(workload, spec), mask };
        let groups = workload.groups.iter().map(|group| Group {
            parent: group.parent,
            shares: if group.idle { IDLE_SHARES } else { group.shares },
            quota: group.quota.map(|quota| (quota.quota_us * 1000, quota.period_us * 1000)),
            quota_until: START,
            time: GroupTime::default(),
        });
        let groups: Vec<Group> = groups.collect();
        let specs = spec_masks.into_iter().enumerate().map(traits).collect();
        Self { groups, specs, masks, members: Vec::new(), since: START, until: START + WINDOW }
    }

    /// Discards what was measured before `now`, when the times of all tasks become 0.
    pub(super) fn reset(&mut self, now: Nanos) {
        for group in &mut self.groups {
            (group.time, group.quota_until) = (GroupTime::default(), now);
        }
        for member in self.members.iter_mut().flatten() {
            (member.run, member.wait) = (Nanos::ZERO, Nanos::ZERO);
        }
        self.since = now;
        if !self.groups.is_empty() {
            self.until = now + WINDOW;
        }
    }

    pub(super) fn on_fork(&mut self, id: TaskId, spec: usize, group: Option<usize>) {
        if !self.groups.is_empty() {
            *slot_mut(&mut self.members, id.index()) = Some(MemberTask { spec, group, ..MemberTask::default() });
        }
    }

    /// Ends the stretches that are over.
    #[cold]
    #[inline(never)]
    pub(super) fn end_stretches(&mut self, now: Nanos, tracks: &[Option<TaskTimes>]) {
        while self.until <= now {
            let until = self.until;
            self.end_stretch(until, tracks);
            self.until = until + WINDOW;
        }
    }

    pub(super) fn on_move(&mut self, now: Nanos, id: TaskId, group: Option<usize>, tracks: &[Option<TaskTimes>]) {
        self.end_stretch(now, tracks);
        if let Some(Some(member)) = self.members.get_mut(id.index()) {
            member.group = group;
        }
    }

    pub(super) fn on_shares(&mut self, now: Nanos, group: usize, shares: u64, tracks: &[Option<TaskTimes>]) {
        self.end_stretch(now, tracks);
        self.groups[group].shares = shares;
    }

    pub(super) fn on_quota(
        &mut self,
        now: Nanos,
        group: usize,
        quota: Option<(u64, u64)>,
        tracks: &[Option<TaskTimes>],
    ) {
        self.end_stretch(now, tracks);
        self.groups[group].count_quota(now);
        self.groups[group].quota = quota;
    }

    /// Returns the times of all groups at `now`, in the order of the workload.
    pub(super) fn times(&self, now: Nanos, tracks: &[Option<TaskTimes>]) -> Vec<GroupTime> {
        if self.groups.is_empty() {
            return Vec::new();
        }
        let mut until_now = self.clone();
        until_now.end_stretches(now, tracks);
        until_now.end_stretch(now, tracks);
        let of_group = |group: &mut Group| {
            group.count_quota(now);
            group.time
        };
        until_now.groups.iter_mut().map(of_group).collect()
    }

    /// Adds the times of the tasks since the last call to their groups, and compares the groups.
    fn end_stretch(&mut self, now: Nanos, tracks: &[Option<TaskTimes>]) {
        let length = now.saturating_since(self.since).0;
        let mut stretches = vec![Stretch::default(); self.groups.len()];
        for (member, track) in self.members.iter_mut().zip(tracks) {
            let (Some(member), Some(track)) = (member, track) else { continue };
            let TaskTimes { run, wait, .. } = track.up_to(now);
            let (ran, waited) = ((run - member.run).0, (wait - member.wait).0);
            (member.run, member.wait) = (run, wait);
            let SpecTraits { is_fair, mask } = self.specs[member.spec];
            let mut at = member.group.filter(|_| ran + waited > 0);
            while let Some(place) = at {
                let (group, stretch) = (&mut self.groups[place], &mut stretches[place]);
                at = group.parent;
                group.time.usage += ran;
                if is_fair {
                    group.time.limited += group.quota.map_or(0, |_| ran);
                    stretch.ran += ran;
                    stretch.runnable += ran + waited;
                    stretch.has_other_mask |= mask.is_none() || stretch.mask.is_some_and(|known| mask != Some(known));
                    stretch.mask = mask;
                }
            }
        }
        self.compare(&stretches, length);
        self.since = now;
    }

    /// Compares the groups that share their parent and their CPUs.
    fn compare(&mut self, stretches: &[Stretch], length: u64) {
        let mut siblings: BTreeMap<(Option<usize>, usize), Vec<usize>> = BTreeMap::new();
        for (group, stretch) in stretches.iter().enumerate().filter(|(_, stretch)| stretch.runnable > 0) {
            if let Some(mask) = stretch.mask.filter(|_| !stretch.has_other_mask) {
                siblings.entry((self.groups[group].parent, mask)).or_default().push(group);
            }
        }
        for ((_, mask), set) in siblings.iter().filter(|(_, set)| set.len() > 1) {
            let share = |&group: &usize| Share {
                weight: self.groups[group].shares,
                got: stretches[group].ran,
                most: stretches[group].runnable.min(self.masks[*mask] * length),
            };
            let shares: Vec<Share> = set.iter().map(share).collect();
            for ((&group, share), due) in set.iter().zip(&shares).zip(fair_shares(&shares)) {
                self.groups[group].time.compared += share.got;
                self.groups[group].time.entitled += due;
            }
        }
    }
}
