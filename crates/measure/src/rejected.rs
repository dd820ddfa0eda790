// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes that a workload requests and the scheduler rejects, as the kernel would. The workload then differs
//! from what its file describes.

use fairlab_machine::engine::Engine;
use fairlab_machine::observer::MachineEvent;
use fairlab_machine::sim::{Machine, START};
use fairlab_sched::ids::CpuId;
use fairlab_sched::units::Nanos;

/// Number of changes that are stored and listed in the warning.
const MAX_KEPT: usize = 8;

/// Rejected changes of a run: the first ones, and their number.
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
    /// Records a machine event if it is a rejected change.
    pub(crate) fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
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

    /// Returns a warning about the rejected changes, or `None` if there are none.
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
        let mut reasons = self.first.iter().map(tell).collect::<Vec<_>>().join(", ");
        match self.count - self.first.len() as u64 {
            _ if reasons.is_empty() => return None,
            0 => {}
            more => reasons += &format!(", and {more} more"),
        }
        Some(format!("the kernel rejects these changes, so nothing changed: {reasons}"))
    }
}

/// Returns the kernel's name of an error number, in parentheses.
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
