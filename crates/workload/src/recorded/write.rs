// SPDX-License-Identifier: GPL-2.0-or-later
//! Writer of the text format of recorded workloads: one statement per line.
//!
//! The operations of a task follow it, in lines that end where the task blocks.

use super::{KEYWORD, RecordedOp, RecordedPriority, RecordedTask, RecordedWorkload, VERSION};
use crate::policy::policy_word;
use fairlab_sched::task::Policy;
use std::fmt::Write;

/// Largest number of operations on a line.
const MAX_OPS_PER_LINE: usize = 16;

impl RecordedWorkload {
    /// Returns the text, from which [`super::parse`] reads an equal workload.
    pub fn to_text(&self) -> String {
        let mut text = format!("{KEYWORD} {VERSION}\n");
        // Writing into a string does not fail.
        for note in &self.notes {
            let _ = writeln!(text, "note {}", note.replace(['\n', '\r', '#'], " "));
        }
        let _ = writeln!(text, "cpus {}", self.nr_cpus);
        if !self.capacities.is_empty() {
            let capacities: Vec<String> = self.capacities.iter().map(u64::to_string).collect();
            let _ = writeln!(text, "caps {}", capacities.join(" "));
        }
        let _ = writeln!(text, "end {}ns", self.end.0);
        for (at, cpu, part) in &self.frequency_steps {
            let _ = writeln!(text, "freq {}ns {cpu} {part}", at.0);
        }
        for path in &self.groups {
            let _ = writeln!(text, "group {path}");
        }
        for task in &self.tasks {
            self.write_task(&mut text, task);
        }
        text
    }

    fn write_task(&self, text: &mut String, task: &RecordedTask) {
        let _ = write!(text, "task {} cpu={}", task.name, task.cpu);
        if task.family != task.name {
            let _ = write!(text, " family={}", task.family);
        }
        match task.start_at {
            Some(at) => drop(write!(text, " start={}ns", at.0)),
            None => text.push_str(" forked"),
        }
        if task.is_placed {
            text.push_str(" placed");
        }
        if task.priority != RecordedPriority::default() {
            let _ = write!(text, " {}", priority(task.priority));
        }
        if let Some((first, last)) = task.mask {
            let _ = write!(text, " mask={first}-{last}");
        }
        if let Some(group) = task.group {
            let _ = write!(text, " group={}", self.groups[group]);
        }
        let mut in_line = 0;
        for op in &task.ops {
            text.push_str(if in_line == 0 { "\ndo " } else { " " });
            self.write_op(text, *op);
            let blocks =
                matches!(op, RecordedOp::Sleep(_) | RecordedOp::Until(_) | RecordedOp::Wait | RecordedOp::Exit);
            in_line = if blocks { 0 } else { (in_line + 1) % MAX_OPS_PER_LINE };
        }
        text.push('\n');
    }

    fn write_op(&self, text: &mut String, op: RecordedOp) {
        let name = |task: usize| &self.tasks[task].name;
        let _ = match op {
            RecordedOp::Run(work) => write!(text, "run {}", work.0),
            RecordedOp::Sleep(time) => write!(text, "sleep {}", time.0),
            RecordedOp::Until(at) => write!(text, "until {}", at.0),
            RecordedOp::Wait => write!(text, "wait"),
            RecordedOp::Wake(task) => write!(text, "wake {}", name(task)),
            RecordedOp::Fork(task) => write!(text, "fork {}", name(task)),
            RecordedOp::Priority(new) => write!(text, "{}", priority(new)),
            RecordedOp::Group(group) => write!(text, "group {}", group.map_or("/", |group| &self.groups[group])),
            RecordedOp::Exec => write!(text, "exec"),
            RecordedOp::Exit => write!(text, "exit"),
        };
    }
}

/// Returns a priority as one word.
fn priority(priority: RecordedPriority) -> String {
    match priority.policy {
        Policy::Normal => format!("nice={}", priority.nice),
        policy => policy_word(policy),
    }
}
