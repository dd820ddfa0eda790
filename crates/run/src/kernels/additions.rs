// SPDX-License-Identifier: GPL-2.0-or-later
//! Things that workloads use and kernels have only since a release: files of cgroups, attributes of tasks, fair servers.
//!
//! A workload that uses one with a kernel that lacks it cannot run there. A run rejects it; a comparison runs without
//! it and names it for the arm.

use super::Kernel;
use fairlab_measure::missing_addition::MissingAddition;
use fairlab_sched::commits::{self, Commit};
use fairlab_workload::workload::{Attributes, Change, Quota, Workload};

/// Something that kernels have only since a release.
#[derive(Clone, Copy, Debug)]
pub struct Addition {
    /// Name of the file, or of the attribute.
    pub name: &'static str,
    /// Commit that added it.
    pub commit: Commit,
    /// Behaviour of kernels without it, as a phrase; `None` where [`super::UNMODELLED_RELEASES`] describes it.
    pub(super) description: Option<&'static str>,
    /// Removes its uses from a workload. Returns the names of groups, tasks or CPUs that used it.
    remove: fn(&mut Workload) -> Vec<String>,
}

/// Additions to kernels since 4.19 that workloads can use, earliest first.
pub const ADDITIONS: &[Addition] = &[
    Addition {
        name: "task uclamp",
        commit: commits::TASK_UCLAMP,
        description: Some("tasks have no utilisation clamps"),
        remove: remove_task_clamps,
    },
    Addition {
        name: "cpu.uclamp.min and cpu.uclamp.max",
        commit: commits::GROUP_UCLAMP,
        description: Some("groups have no utilisation clamps"),
        remove: remove_group_clamps,
    },
    Addition {
        name: "cpu.max.burst",
        commit: commits::BURST,
        description: Some("groups save no quota for bursts (cpu.max.burst)"),
        remove: remove_bursts,
    },
    Addition {
        name: "cpu.idle",
        commit: commits::GROUP_IDLE,
        description: Some("groups are never idle (cpu.idle)"),
        remove: |workload| {
            let groups = workload.groups.iter_mut();
            groups.filter_map(|group| std::mem::take(&mut group.idle).then(|| group.name.clone())).collect()
        },
    },
    Addition { name: "task slice", commit: commits::SLICES, description: None, remove: users_of_slices },
    Addition { name: "fair server", commit: commits::FAIR_SERVER, description: None, remove: users_of_fair_servers },
];

impl Kernel {
    /// Additions that this kernel does not have.
    pub fn missing_additions(self) -> impl Iterator<Item = &'static Addition> {
        ADDITIONS.iter().filter(move |addition| self.release < addition.commit.release)
    }

    /// Removes from a workload everything that this kernel does not have. Returns what was removed.
    pub(crate) fn remove_missing_additions(self, workload: &mut Workload) -> Vec<MissingAddition> {
        let removed = self.missing_additions().filter_map(|addition| {
            let users = (addition.remove)(workload);
            let (major, minor) = addition.commit.release;
            (!users.is_empty()).then(|| MissingAddition {
                name: addition.name.to_owned(),
                users,
                since: format!("{major}.{minor}"),
                kernel: self.name.to_owned(),
            })
        });
        removed.collect()
    }
}

fn remove_bursts(workload: &mut Workload) -> Vec<String> {
    let takes_burst = |quota: &mut Quota| std::mem::take(&mut quota.burst_us) > 0;
    let mut users: Vec<bool> =
        workload.groups.iter_mut().map(|group| group.quota.as_mut().is_some_and(takes_burst)).collect();
    for (_, change) in &mut workload.changes {
        if let Change::Quota { group, burst_us, .. } = change {
            users[*group] |= burst_us.take().is_some_and(|burst| burst > 0);
        }
    }
    let used = workload.groups.iter().zip(users).filter(|(_, uses)| *uses);
    used.map(|(group, _)| group.name.clone()).collect()
}

fn take_clamps(attributes: &mut Attributes) -> bool {
    let (min, max) = (attributes.uclamp_min.take(), attributes.uclamp_max.take());
    min.is_some() || max.is_some()
}

fn remove_task_clamps(workload: &mut Workload) -> Vec<String> {
    let mut users: Vec<bool> = Vec::new();
    for task in &mut workload.tasks {
        let sets = std::iter::once(&mut task.start).chain(&mut task.attributes);
        users.push(sets.fold(false, |is_user, set| take_clamps(set) | is_user));
    }
    workload.changes.retain_mut(|(_, change)| match change {
        Change::Task { task, attributes } => {
            let is_clamped = take_clamps(attributes);
            users[*task] |= is_clamped;
            !is_clamped
        }
        _ => true,
    });
    families(workload, &users)
}

/// Returns the families of the tasks that are marked, each once.
fn families(workload: &Workload, is_marked: &[bool]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (task, _) in workload.tasks.iter().zip(is_marked).filter(|(_, is_marked)| **is_marked) {
        if !names.contains(&task.family) {
            names.push(task.family.clone());
        }
    }
    names
}

fn remove_group_clamps(workload: &mut Workload) -> Vec<String> {
    let mut is_clamped: Vec<bool> = workload.groups.iter_mut().map(|group| group.uclamp.take().is_some()).collect();
    workload.changes.retain(|(_, change)| match change {
        Change::GroupClamps { group, .. } => {
            is_clamped[*group] = true;
            false
        }
        _ => true,
    });
    let groups = workload.groups.iter().zip(is_clamped);
    groups.filter(|(_, is_clamped)| *is_clamped).map(|(group, _)| group.name.clone()).collect()
}

/// Returns the tasks with slices. They stay in the workload, because the scheduler of 6.1 ignores them.
fn users_of_slices(workload: &mut Workload) -> Vec<String> {
    let has_slice = |attributes: &Attributes| attributes.slice.is_some();
    let mut users: Vec<bool> =
        workload.tasks.iter().map(|task| has_slice(&task.start) || task.attributes.iter().any(has_slice)).collect();
    for (_, change) in &workload.changes {
        if let Change::Task { task, attributes } = change {
            users[*task] |= has_slice(attributes);
        }
    }
    families(workload, &users)
}

/// Returns the CPUs whose fair servers change. The changes stay in the workload, because the scheduler of 6.1 ignores
/// them.
fn users_of_fair_servers(workload: &mut Workload) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, change) in &workload.changes {
        if let Change::FairServer { cpus, .. } = change {
            for name in cpus.iter().map(|cpu| format!("CPU {cpu}")) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "cpus 2\nend 1ms\ngroup a quota=4ms period=8ms burst=2ms umin=100 umax=800\ngroup b idle\n\
                        task t n=2 group=a umin=10 run 1ms\ntask s slice=3ms run 1ms\ngroupclamp 10us b 1 2\n\
                        clamp 10us t0 20 1024\nnice 10us t0 3\nserver 10us 1 40ms 1s\n";

    fn removed(name: &str) -> (Vec<String>, Workload) {
        let kernel = Kernel::from_name(name).expect("a kernel");
        let scenario = fairlab_workload::scenario::parse("it.scn", TEXT, kernel.series()).expect("a scenario");
        let mut workload = scenario.workload;
        let missing = kernel.remove_missing_additions(&mut workload);
        (missing.iter().map(ToString::to_string).collect(), workload)
    }

    #[test]
    fn additions_exist_since_their_release() {
        assert_eq!(removed("6.12").0, Vec::<String>::new());
        let (missing, workload) = removed("5.2");
        assert_eq!(
            missing,
            [
                "task uclamp of t: kernels have it since 5.3, this is 5.2",
                "cpu.uclamp.min and cpu.uclamp.max of a, b: kernels have it since 5.4, this is 5.2",
                "cpu.max.burst of a: kernels have it since 5.14, this is 5.2",
                "cpu.idle of b: kernels have it since 5.15, this is 5.2",
                "task slice of s: kernels have it since 6.12, this is 5.2",
                "fair server of CPU 1: kernels have it since 6.12, this is 5.2",
            ]
        );
        assert!(workload.groups[0].uclamp.is_none() && !workload.groups[1].idle);
        assert!(workload.groups[0].quota.is_some_and(|quota| quota.burst_us == 0 && quota.quota_us == 4000));
        assert_eq!(workload.changes.len(), 2, "the nice value and the server are left");
        assert_eq!(workload.tasks[0].start.uclamp_min, None);
        assert_eq!(removed("5.14").0.len(), 3);
        assert_eq!(removed("6.1").0.len(), 2);
    }

    #[test]
    fn additions_are_in_the_order_of_releases() {
        assert!(ADDITIONS.is_sorted_by_key(|addition| addition.commit.release));
    }

    #[test]
    fn many_users_are_counted() {
        let missing = MissingAddition {
            name: "cpu.idle".to_owned(),
            users: ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec(),
            since: "5.15".to_owned(),
            kernel: "5.4".to_owned(),
        };
        assert!(missing.to_string().starts_with("cpu.idle of a, b, c and 2 more: kernels"), "{missing}");
        assert!(missing.error().to_string().contains("help: choose a kernel that has it, such as --kernel 5.15"));
    }
}
