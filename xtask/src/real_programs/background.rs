// SPDX-License-Identifier: GPL-2.0-or-later
//! Records the background of a booted kernel: which kernel threads, timers and softirqs run beside a shell that sleeps, how often and
//! how long, while the CPUs are idle and while each has a busy task in user space.
//!
//! A guest CPU that halts executes nothing, and QEMU runs the others in turn on one clock of executed instructions. The length of an
//! interval without events of other CPUs is therefore a number of instructions.

use super::guest::{Guest, MEMORY_MIB, is_complete};
use super::trace::Line;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Records the background of booted kernels.
#[derive(clap::Args)]
pub(crate) struct BackgroundArgs {
    /// Read what earlier boots have printed to target/real-programs instead of booting, where it is complete.
    #[arg(long)]
    resume: bool,
    /// Directory of the table.
    #[arg(long, short, default_value = "sheets/programs")]
    output: PathBuf,
}

/// Commands of the guest: both loads, after the work that follows a boot.
const SCRIPT: &str = "sleep 30\nbackground 120\nload\nsleep 5\nbackground 60\n";

/// Loads of the two recordings of a boot, in order.
const LOADS: [&str; 2] = ["idle", "busy"];

/// Series, CPUs and NUMA nodes of the boots. 6.1 with more than one CPU does not start on a clock of instructions (QEMU 7.2).
const BOOTS: [(&str, u32, u32); 4] = [("6.1", 1, 1), ("6.12", 1, 1), ("6.12", 4, 1), ("6.12", 8, 2)];

/// Tasks that are not the kernel's, and the idle task.
const NOT_BACKGROUND: [&str; 4] = ["init", "sh", "sleep", "swapper/N"];

/// Functions of the timers of all work items and of all sleeps, whose kinds differ.
const WAKING: [&str; 2] = ["delayed_work_timer_fn", "process_timeout"];

/// Bytes between a work item and its timer: the size of `struct work_struct` (6.1, 64 bits).
const TIMER_OF_WORK: u64 = 32;

const HEAD: &str = "\
# SPDX-License-Identifier: GPL-2.0-or-later
# Background of a booted kernel, by `cargo xtask background`: Debian's cloud kernels under QEMU, 30 s after the boot, with a shell that
# sleeps and no other program (`idle`, 120 s), and with a busy loop on each CPU (`busy`, 60 s). `interval` is the mean time between two
# runs of an instance; each CPU has one of a pinned timer and of a softirq. `instructions` are quartiles of the runs beside which no
# other CPU had an event, without those of the tracer. A deferrable timer does not wake an idle CPU.
";

const COLUMNS: [&str; 15] = [
    "kernel",
    "cpus",
    "nodes",
    "load",
    "kind",
    "thread",
    "source",
    "instances",
    "timer",
    "runs",
    "interval ms",
    "instructions 25 %",
    "median",
    "75 %",
    "on cpus",
];

pub(crate) fn run(root: &Path, args: &BackgroundArgs) -> Result<()> {
    let mut table = format!("{HEAD}{}\n", COLUMNS.join("\t"));
    for (series, nr_cpus, nr_nodes) in BOOTS {
        let guest = Guest::new(root, "background", nr_cpus);
        let console = guest.console(series);
        if !(args.resume && is_complete(&console)) {
            println!("{series} with {nr_cpus} CPUs");
            guest.build(root, SCRIPT, &[], None)?;
            let options = nodes(nr_cpus, nr_nodes);
            guest.boot(series, &options.iter().map(String::as_str).collect::<Vec<_>>())?;
        }
        let text = fs::read_to_string(&console)?.replace('\r', "");
        let runs: Vec<&str> = text.split("# tracer:").skip(1).collect();
        ensure!(runs.len() == LOADS.len(), "{}: {} recordings", console.display(), runs.len());
        for (load, run) in LOADS.into_iter().zip(runs) {
            let lines: Vec<Line<'_>> = run.lines().filter_map(Line::read).collect();
            let recording = Recording::read(&lines).with_context(|| console.display().to_string())?;
            recording.write(&mut table, &format!("{series}\t{nr_cpus}\t{nr_nodes}\t{load}"), nr_cpus);
        }
    }
    let path = root.join(&args.output).join("background.tsv");
    fs::write(&path, table)?;
    println!("{}", path.display());
    Ok(())
}

/// Returns the options of QEMU for NUMA nodes of equal size.
fn nodes(nr_cpus: u32, nr_nodes: u32) -> Vec<String> {
    let mut options = Vec::new();
    for node in (0..nr_nodes).filter(|_| nr_nodes > 1) {
        let (first, last) = (node * nr_cpus / nr_nodes, (node + 1) * nr_cpus / nr_nodes - 1);
        let size = MEMORY_MIB / nr_nodes;
        options.extend(["-object".to_owned(), format!("memory-backend-ram,id=m{node},size={size}M")]);
        options.extend(["-numa".to_owned(), format!("node,nodeid={node},cpus={first}-{last},memdev=m{node}")]);
    }
    options
}

/// Source of background work: kind, family of threads, and work item, function or softirq.
type Key = (&'static str, String, String);

/// Kind of a timer: a deferrable one does not wake an idle CPU, and a pinned one belongs to its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TimerFlags {
    is_deferrable: bool,
    is_pinned: bool,
}

impl TimerFlags {
    /// Parses the flags of `timer_start`, such as "D|P|I".
    fn read(flags: &str) -> Self {
        let has = |letter| flags.split('|').any(|flag| flag == letter);
        Self { is_deferrable: has("D"), is_pinned: has("P") }
    }

    const fn name(self) -> &'static str {
        match (self.is_deferrable, self.is_pinned) {
            (false, false) => "plain",
            (true, false) => "deferrable",
            (false, true) => "pinned",
            (true, true) => "deferrable pinned",
        }
    }
}

/// Runs of a source.
#[derive(Debug, Default)]
struct Runs {
    count: u64,
    /// Threads, work items or timers, by number or address.
    instances: BTreeSet<u64>,
    cpus: BTreeSet<u32>,
    timer: Option<TimerFlags>,
    /// Instructions of each run beside which no other CPU had an event.
    instructions: Vec<u64>,
}

/// Time that a thread, softirq or timer function has been running on a CPU.
#[derive(Clone, Debug)]
struct Interval {
    /// Function of a timer.
    function: String,
    start: u64,
    /// Events since the start.
    events: u64,
    has_tick: bool,
}

/// Run of a thread, from its wake-up until it blocks.
#[derive(Debug, Default)]
struct ThreadRun {
    /// Sum over the times on a CPU; `None` if one of them was not alone.
    instructions: Option<u64>,
    is_continued: bool,
    /// Work items: function and address.
    works: Vec<(String, u64)>,
}

/// State of a CPU while its events are followed.
#[derive(Debug, Default)]
struct CpuState {
    last_event: u64,
    thread: Option<Interval>,
    softirq: Option<Interval>,
    timer: Option<Interval>,
}

/// Background of one recording.
#[derive(Debug, Default)]
struct Recording {
    sources: BTreeMap<Key, Runs>,
    length: u64,
    /// Instructions of the tracer for an event.
    event_cost: u64,
    cpus: BTreeMap<u32, CpuState>,
    threads: BTreeMap<u32, ThreadRun>,
    /// Timers by their addresses.
    timers: BTreeMap<u64, TimerFlags>,
    /// Timers of sleeps by the threads' numbers.
    sleeps: BTreeMap<u32, TimerFlags>,
}

impl Recording {
    fn read(lines: &[Line<'_>]) -> Result<Self> {
        let (first, last) = lines.first().zip(lines.last()).context("no events")?;
        let event_cost = event_cost(lines).context("no two softirqs in a row")?;
        let mut recording = Self { length: last.time - first.time, event_cost, ..Self::default() };
        for line in lines {
            recording.follow(line).with_context(|| format!("{} at {}", line.kind, line.time))?;
        }
        Ok(recording)
    }

    /// Follows an event. Returns `None` if a field is missing. What began before the recording is left out.
    fn follow(&mut self, line: &Line<'_>) -> Option<()> {
        let state = self.cpus.entry(line.cpu).or_default();
        for interval in [&mut state.thread, &mut state.softirq, &mut state.timer].into_iter().flatten() {
            interval.events += 1;
            interval.has_tick |= line.kind == "local_timer_entry";
        }
        let function = line.value("function").unwrap_or("-").to_owned();
        let begin = Some(Interval { function, start: line.time, events: 0, has_tick: false });
        match line.kind {
            "sched_switch" => {
                if let Some(interval) = std::mem::replace(&mut state.thread, begin) {
                    self.end_thread(line, &interval)?;
                }
            }
            "softirq_entry" => state.softirq = begin,
            "softirq_exit" => {
                let Some(interval) = state.softirq.take() else { return Some(()) };
                let action = line.value("[action")?.trim_end_matches(']').to_owned();
                let instructions = self.instructions(line, &interval);
                self.count(("softirq", "-".to_owned(), action), u64::from(line.cpu), line.cpu, instructions, None);
            }
            "timer_expire_entry" => state.timer = begin,
            "timer_expire_exit" => {
                let Some(interval) = state.timer.take() else { return Some(()) };
                let timer = address(line.value("timer")?)?;
                let instructions = self.instructions(line, &interval);
                let flags = self.timers.get(&timer).filter(|_| !WAKING.contains(&interval.function.as_str())).copied();
                self.count(("timer", "-".to_owned(), interval.function), timer, line.cpu, instructions, flags);
            }
            "timer_start" => {
                let flags = TimerFlags::read(line.fields.rsplit_once("flags=")?.1);
                self.timers.insert(address(line.value("timer")?)?, flags);
                if line.value("function") == Some("process_timeout") {
                    self.sleeps.insert(line.task, flags);
                }
            }
            "workqueue_execute_start" => {
                let (work, function) = line.fields.strip_prefix("work struct ")?.split_once(": function ")?;
                let run = self.threads.entry(line.task).or_default();
                run.works.push((function.to_owned(), address(work)?));
            }
            _ => {}
        }
        self.cpus.get_mut(&line.cpu)?.last_event = line.time;
        Some(())
    }

    /// Ends the time of a thread on its CPU, and its run if it blocks.
    fn end_thread(&mut self, line: &Line<'_>, interval: &Interval) -> Option<()> {
        let instructions = self.instructions(line, interval);
        let run = self.threads.entry(line.task).or_default();
        let before = if run.is_continued { run.instructions } else { Some(0) };
        run.instructions = before.zip(instructions).map(|(before, instructions)| before + instructions);
        run.is_continued = line.value("prev_state")?.starts_with('R');
        let family = family(line.fields.strip_prefix("prev_comm=")?.split_once(" prev_pid=")?.0);
        if run.is_continued || NOT_BACKGROUND.contains(&family.as_str()) {
            return Some(());
        }
        let run = self.threads.remove(&line.task)?;
        // The instructions of a run with several work items belong to none of them.
        let instructions = run.instructions.filter(|_| run.works.len() < 2);
        if run.works.is_empty() {
            let flags = self.sleeps.get(&line.task).copied();
            self.count(("thread", family, "-".to_owned()), u64::from(line.task), line.cpu, instructions, flags);
        } else {
            for (function, work) in run.works {
                let flags = self.timers.get(&(work + TIMER_OF_WORK)).copied();
                self.count(("thread", family.clone(), function), work, line.cpu, instructions, flags);
            }
        }
        Some(())
    }

    /// Returns the instructions of an interval that ends with an event, without those of the tracer. There are none if another CPU
    /// had an event, or the interval's own CPU a tick.
    fn instructions(&self, line: &Line<'_>, interval: &Interval) -> Option<u64> {
        let others = self.cpus.iter().filter(|(cpu, _)| **cpu != line.cpu);
        let is_alone = others.map(|(_, state)| state.last_event).all(|event| event < interval.start);
        let tracer = interval.events * self.event_cost;
        (is_alone && !interval.has_tick).then(|| (line.time - interval.start).saturating_sub(tracer))
    }

    fn count(&mut self, key: Key, instance: u64, cpu: u32, instructions: Option<u64>, timer: Option<TimerFlags>) {
        let runs = self.sources.entry(key).or_default();
        runs.count += 1;
        runs.instances.insert(instance);
        runs.cpus.insert(cpu);
        runs.timer = runs.timer.or(timer);
        runs.instructions.extend(instructions);
    }

    /// Writes a row for each source.
    fn write(mut self, table: &mut String, boot: &str, nr_cpus: u32) {
        for ((kind, thread, source), runs) in &mut self.sources {
            // Each CPU has an instance of what is pinned, whether or not it ran.
            let is_per_cpu = *kind == "softirq" || runs.timer.is_some_and(|timer| timer.is_pinned);
            let nr_instances = if is_per_cpu { u64::from(nr_cpus) } else { runs.instances.len() as u64 };
            let timer = runs.timer.map_or("-", TimerFlags::name);
            let interval_ms = self.length * nr_instances / runs.count / 1_000_000;
            runs.instructions.sort_unstable();
            let quartile = |quarters: usize| {
                let place = (runs.instructions.len().saturating_sub(1)) * quarters / 4;
                runs.instructions.get(place).map_or_else(|| "-".to_owned(), u64::to_string)
            };
            let cpus: Vec<String> = runs.cpus.iter().map(u32::to_string).collect();
            writeln!(
                table,
                "{boot}\t{kind}\t{thread}\t{source}\t{nr_instances}\t{timer}\t{}\t{interval_ms}\t{}\t{}\t{}\t{}",
                runs.count,
                quartile(1),
                quartile(2),
                quartile(3),
                cpus.join(",")
            )
            .expect("a string takes all text");
        }
    }
}

/// Returns the instructions of the tracer for an event: the shortest time between the end of a softirq and the begin of the next on
/// its CPU, in which the kernel itself executes few.
fn event_cost(lines: &[Line<'_>]) -> Option<u64> {
    let pairs = lines
        .windows(2)
        .filter(|pair| pair[0].cpu == pair[1].cpu && pair[0].kind == "softirq_exit" && pair[1].kind == "softirq_entry");
    pairs.map(|pair| pair[1].time - pair[0].time).min()
}

/// Returns a thread's name without the numbers of its CPU, its node and the thread itself.
fn family(name: &str) -> String {
    if let Some(worker) = name.strip_prefix("kworker/") {
        let pool = if worker.starts_with('u') { "u" } else { "N" };
        let is_high = worker.split([':', '-']).nth(1).is_some_and(|number| number.ends_with('H'));
        return format!("kworker/{pool}{}", if is_high { "H" } else { "" });
    }
    match name.rsplit_once('/') {
        Some((name, _)) => format!("{name}/N"),
        None => name.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_owned(),
    }
}

fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "\
        <idle>-0 [000] ..s1. 1000: softirq_entry: vec=1 [action=TIMER]
        <idle>-0 [000] d.s1. 1100: timer_start: timer=ff20 function=delayed_work_timer_fn expires=5 [timeout=250] cpu=0 idx=1 flags=D|P|I
        <idle>-0 [000] ..s1. 2000: softirq_exit: vec=1 [action=TIMER]
        <idle>-0 [000] ..s1. 2100: softirq_entry: vec=7 [action=SCHED]
        <idle>-0 [000] ..s1. 2300: softirq_exit: vec=7 [action=SCHED]
        <idle>-0 [000] d..2. 3000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=kworker/0:1 next_pid=9 next_prio=120
        kworker/0:1-9 [000] ..... 3200: workqueue_execute_start: work struct ff00: function vmstat_update
        kworker/0:1-9 [000] d..2. 4000: sched_switch: prev_comm=kworker/0:1 prev_pid=9 prev_prio=120 prev_state=I ==> next_comm=kcompactd0 next_pid=5 next_prio=120
        swapper-0 [001] ..... 4100: local_timer_entry: vector=236
        kcompactd0-5 [000] d..2. 5000: sched_switch: prev_comm=kcompactd0 prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

    #[test]
    fn runs_belong_to_work_items_and_have_instructions_where_no_other_cpu_runs() {
        let lines: Vec<Line<'_>> = TRACE.lines().filter_map(Line::read).collect();
        let recording = Recording::read(&lines).expect("the trace is complete");
        assert_eq!((recording.event_cost, recording.length), (100, 4000));
        let source =
            |kind, thread: &str, source: &str| &recording.sources[&(kind, thread.to_owned(), source.to_owned())];
        let work = source("thread", "kworker/N", "vmstat_update");
        assert_eq!((work.count, work.timer.map(TimerFlags::name)), (1, Some("deferrable pinned")));
        assert_eq!(work.instructions, [800]);
        let thread = source("thread", "kcompactd", "-");
        assert_eq!((thread.count, thread.instructions.as_slice()), (1, [].as_slice()));
        assert_eq!(source("softirq", "-", "TIMER").instructions, [800]);
    }

    #[test]
    fn families_have_no_numbers() {
        for (name, expected) in [
            ("kworker/3:1", "kworker/N"),
            ("kworker/3:1H", "kworker/NH"),
            ("kworker/u16:0", "kworker/u"),
            ("ksoftirqd/7", "ksoftirqd/N"),
            ("kcompactd0", "kcompactd"),
        ] {
            assert_eq!(family(name), expected, "{name}");
        }
    }
}
