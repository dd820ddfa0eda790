// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes that a workload asks for and the scheduler refuses, as the kernel does: the workload then is another one than its file says.

use fairlab_machine::engine::Engine;
use fairlab_machine::observer::MachineEvent;
use fairlab_machine::sim::{Machine, START};
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

/// So many are kept, and told.
const MAX_KEPT: usize = 8;

/// What was refused.
#[derive(Clone, Debug, Default)]
pub struct RejectedChanges {
    first: Vec<(Nanos, RejectedChange, i32)>,
    count: u64,
}

#[derive(Clone, Copy, Debug)]
enum RejectedChange {
    Hotplug { cpu: CpuId, online: bool },
    Cpuset(usize),
    Task { what: &'static str, task: usize },
    Group { what: &'static str, group: Option<usize> },
}

impl RejectedChanges {
    /// Takes what the machine tells.
    pub fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        let (what, result) = match *event {
            MachineEvent::Hotplug { cpu, online, result } => (RejectedChange::Hotplug { cpu, online }, result),
            MachineEvent::Cpuset { cpuset, result } => (RejectedChange::Cpuset(cpuset), result),
            MachineEvent::Changed { what, task: Some(task), result, .. } => {
                (RejectedChange::Task { what, task }, result)
            }
            MachineEvent::Changed { what, group, result, .. } => (RejectedChange::Group { what, group }, result),
            _ => return,
        };
        if result == 0 {
            return;
        }
        self.count += 1;
        if self.first.len() < MAX_KEPT {
            self.first.push((now, what, result));
        }
    }

    /// A warning, if there is something to tell.
    pub fn sentences(&self, machine: &Machine<impl Engine>) -> Option<String> {
        let tell = |&(at, what, result): &(Nanos, RejectedChange, i32)| {
            let workload = machine.workload();
            let what = match what {
                RejectedChange::Hotplug { cpu, online: false } => format!("CPU {} offline", cpu.0),
                RejectedChange::Hotplug { cpu, .. } => format!("CPU {} online", cpu.0),
                RejectedChange::Cpuset(cpuset) => format!("the CPUs of cpuset {}", workload.cpusets[cpuset].name),
                RejectedChange::Task { what, task } => format!("{what} of {}", machine.tasks()[task].name),
                RejectedChange::Group { what, group: Some(group) } => {
                    format!("{what} of {}", workload.groups[group].name)
                }
                RejectedChange::Group { what, group: None } => what.to_owned(),
            };
            format!("{what} at {}{}", at.saturating_since(START), reason(result))
        };
        let mut told = self.first.iter().map(tell).collect::<Vec<_>>().join(", ");
        match self.count - self.first.len() as u64 {
            _ if told.is_empty() => return None,
            0 => {}
            more => told += &format!(", and {more} more"),
        }
        Some(format!("the kernel refuses these changes, so nothing changed: {told}"))
    }
}

/// The kernel's name of an error number.
fn reason(result: i32) -> String {
    let name = match result {
        -1 => "EPERM",
        -16 => "EBUSY",
        -22 => "EINVAL",
        -75 => "EOVERFLOW",
        other => return format!(" (error {other})"),
    };
    format!(" ({name})")
}
