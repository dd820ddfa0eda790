// SPDX-License-Identifier: GPL-2.0-or-later
//! Events of the guest's runs, from the text that tracefs prints.

/// Kind of an event, with what counts of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Begin of a system call: its number, and its third argument, the bytes of a transfer.
    Enter { call: u64, bytes: u64 },
    /// End of a system call, with its result.
    Exit { result: i64 },
    /// The task leaves its CPU, for the task with this identifier.
    Switch { blocks: bool, next: u32 },
    /// The task, or an interrupt, wakes a task with this name.
    Waking { name: String },
    /// The task creates a task with this identifier.
    Fork { child: u32 },
    /// A timer interrupt.
    Tick,
    /// Begin or end of a run without events: number of switches since boot.
    Mark { switches: u64 },
}

/// Event of a run. Times are nanoseconds, which are instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) task: u32,
    pub(super) time: u64,
    pub(super) kind: Kind,
}

/// Returns the events of each run in what a guest has printed.
pub(super) fn read(console: &str) -> Vec<Vec<Event>> {
    let mut runs = Vec::new();
    for line in console.lines() {
        if line.starts_with("# tracer:") {
            runs.push(Vec::new());
        }
        if let (Some(run), Some(event)) = (runs.last_mut(), event(line)) {
            run.push(event);
        }
    }
    runs
}

/// Line of a trace before its fields are read.
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    pub(super) task: u32,
    pub(super) cpu: u32,
    pub(super) time: u64,
    pub(super) kind: &'a str,
    pub(super) fields: &'a str,
}

impl<'a> Line<'a> {
    /// Parses "NAME-TASK [CPU] FLAGS TIME: EVENT: FIELDS". A name may have spaces and dashes.
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let (task, rest) = line.split_once(" [")?;
        let (name, task) = task.trim().rsplit_once('-')?;
        let mut words = rest.splitn(2, ": ");
        let place = words.next()?;
        let (cpu, time) = (place.split(']').next()?.parse().ok()?, place.split_whitespace().last()?.parse().ok()?);
        let (kind, fields) = words.next()?.split_once(": ").unwrap_or(("", ""));
        Some(Self { name, task: task.parse().ok()?, cpu, time, kind, fields })
    }

    /// Returns the value of "KEY=VALUE" up to the next space.
    pub(super) fn value(&self, key: &str) -> Option<&'a str> {
        let start = self.fields.find(&format!("{key}="))? + key.len() + 1;
        self.fields[start..].split(' ').next()
    }
}

fn event(line: &str) -> Option<Event> {
    let line = Line::read(line)?;
    let Line { name, task, time, kind, fields, .. } = line;
    let kind = match kind {
        "sys_enter" => {
            let (call, arguments) = fields.strip_prefix("NR ")?.split_once(" (")?;
            let bytes = arguments.split([',', ')']).nth(2)?.trim();
            Kind::Enter { call: call.parse().ok()?, bytes: u64::from_str_radix(bytes, 16).ok()? }
        }
        "sys_exit" => Kind::Exit { result: fields.rsplit_once("= ")?.1.trim().parse().ok()? },
        "sched_switch" => {
            let next = fields.split_once("==>")?.1;
            let next = next.split_once("next_pid=")?.1.split(' ').next()?.parse().ok()?;
            Kind::Switch { blocks: !line.value("prev_state")?.starts_with('R'), next }
        }
        "sched_waking" => {
            let name = fields.strip_prefix("comm=")?.rsplit_once(" pid=")?.0;
            Kind::Waking { name: name.to_owned() }
        }
        "sched_process_fork" => Kind::Fork { child: line.value("child_pid")?.parse().ok()? },
        "local_timer_entry" => Kind::Tick,
        "tracing_mark_write" => Kind::Mark { switches: fields.rsplit_once("ctxt ")?.1.trim().parse().ok()? },
        _ => return None,
    };
    Some(Event { name: name.to_owned(), task, time, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_each_run_are_read_with_their_fields() {
        let text = "BIOS\n# tracer: nop\n#  TASK-PID\n \
            a b-c-12    [000] ..... 2290: sys_enter: NR 1 (4, 7ff, 64, 8, 7ff, 7ff)\n \
            a b-c-12    [001] d..2. 2300: sched_switch: prev_comm=a b-c prev_pid=12 prev_prio=120 prev_state=R+ ==> next_comm=x y next_pid=7 next_prio=120\n \
            x y-7    [001] d..3. 2310: sched_waking: comm=a b-c pid=12 prio=120 target_cpu=000\n \
            x y-7    [001] ..... 2320: sys_exit: NR 0 = -11\n\
            # tracer: nop\n \
            sh-1    [000] ..... 5: tracing_mark_write: begin ctxt 40\n";
        let runs = read(text);
        let event = |name: &str, task, time, kind| Event { name: name.to_owned(), task, time, kind };
        assert_eq!(
            runs[0],
            [
                event("a b-c", 12, 2290, Kind::Enter { call: 1, bytes: 100 }),
                event("a b-c", 12, 2300, Kind::Switch { blocks: false, next: 7 }),
                event("x y", 7, 2310, Kind::Waking { name: "a b-c".to_owned() }),
                event("x y", 7, 2320, Kind::Exit { result: -11 }),
            ]
        );
        assert_eq!(runs[1], [event("sh", 1, 5, Kind::Mark { switches: 40 })]);
    }
}
