// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks of a machine by the names that people give.

use fairlab_machine::sim::Machine;
use fairlab_workload::message::Message;
use fairlab_workload::suggest;

/// Returns the indices of the machine's tasks that a name or pid refers to; at least one.
///
/// Rules, in order:
/// 1. The name of a forked task.
/// 2. The name of a family, as pages show it: its forked tasks, or all of its tasks if none was forked.
/// 3. A pid.
/// 4. The name of a task that was not forked.
///
/// # Errors
/// If no task has the name or pid.
pub fn find_tasks(machine: &Machine, given: &str) -> Result<Vec<usize>, Message> {
    let pid: Option<i32> = given.parse().ok();
    let tasks = machine.tasks();
    let only = tasks.iter().position(|task| task.name == given && task.id.is_some());
    let specs = &machine.workload().tasks;
    let family = tasks.iter().enumerate().filter(|(_, task)| specs[task.spec].family == given);
    let (forked, others): (Vec<_>, Vec<_>) = family.partition(|(_, task)| task.id.is_some());
    let family = if forked.is_empty() { others } else { forked };
    let family: Vec<usize> = family.into_iter().map(|(place, _)| place).collect();
    if let Some(only) = only.filter(|only| family.len() < 2 || !family.contains(only)) {
        return Ok(vec![only]);
    }
    if !family.is_empty() {
        return Ok(family);
    }
    let by_pid = tasks.iter().position(|task| Some(task.pid) == pid);
    by_pid.or_else(|| tasks.iter().position(|task| task.name == given)).map(|place| vec![place]).ok_or_else(|| {
        const SHOWN: usize = 8;
        let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        let mut some: Vec<String> = names.iter().take(SHOWN).map(|&name| name.to_owned()).collect();
        if names.len() > SHOWN {
            some.push(format!("and {} more", names.len() - SHOWN));
        }
        let help = match suggest::nearest(given, &names) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("tasks are given by name or pid: {}", some.join(", ")),
        };
        Message::new(format!("no task `{given}` exists at that time")).with_help(help)
    })
}
