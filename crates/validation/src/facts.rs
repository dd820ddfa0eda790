// SPDX-License-Identifier: GPL-2.0-or-later
//! Facts of a processor from a measurement, as entries of a machine file.
//!
//! A fact is one number for all operations: the speed of kernel code is the median over operations, not a speed of
//! each. What a measurement cannot show is a published value with its range.

use fairlab_board::{Distance, counted_instructions, parse};
use fairlab_native::record::{Calibration, IdleWakeUp, LineLatency};
use fairlab_workload::bench::micro::{MicroTest, Placement, Transport};
use fairlab_workload::message::Message;
use std::fmt::Write;

/// Instructions between a waker's system call and the first one of the woken thread on an idle CPU: half of a simulated
/// round trip over futexes between two CPUs, at one instruction per nanosecond and without latencies. What the waker
/// executes after the interrupt, and the other CPU before it is idle, is not on this path.
const WAKE_UP_INSTRUCTIONS: f64 = 4_500.0;

/// Facts of loops over CPUs, which no test measures.
const LOOP_SPEED: &str = "loop_speed_percent = { value = 410, min = 100, max = 500, source = \"measured on a virtual EPYC (2026): a loop like \
     the scan for an idle CPU, 13.3 instructions per nanosecond beside 3.26 of kernel code\" }\n";
const LOOP_LINE_SHARE: &str = "loop_line_share_percent = { value = 5, min = 3, max = 10, source = \"measured on a virtual EPYC (2026): extra \
     time of that loop for each line that another CPU has written\" }\n";

/// Returns a machine file with facts of its processor added. Fails if the file is invalid, if the measurement has no
/// speeds, or if no counts exist for its architecture.
pub fn with_facts(machine_file: &str, measured: &Calibration) -> Result<String, Message> {
    let arch = &measured.kernel.arch;
    let sheet = sheet_of(measured).ok_or_else(|| Message::new(format!("kernel code was not counted on {arch}")))?;
    let machine = parse("the captured machine", machine_file)?;
    let speeds = kernel_speeds(measured);
    let (Some(least), Some(greatest)) = (speeds.first(), speeds.last()) else {
        return Err(Message::new("the measurement has no speeds of kernel code"));
    };
    let (least, greatest) = (least * 1000.0, greatest * 1000.0);
    let speed = speeds[speeds.len() / 2] * 1000.0;

    let replaces_states = !has_driver_of_states(measured) && !measured.wake_ups.is_empty();
    // What the capture lacks is measured.
    let is_obsolete =
        |line: &&str| line.starts_with("# costs of kernel code") || line.starts_with("# sysfs has no idle states");
    let mut is_left_out = false;
    let kept = machine_file.lines().filter(|line| {
        if line.starts_with('[') {
            is_left_out = replaces_states && *line == "[[idle_state]]";
        }
        !is_left_out && !is_obsolete(line)
    });
    let machine_file: String = kept.map(|line| format!("{line}\n")).collect();
    let interrupt_and_exit_ns = interrupt_and_exit_ns(measured, speed);
    let mut keys = String::new();
    if let Some((interrupt_ns, _)) = interrupt_and_exit_ns {
        let _ = writeln!(keys, "ipi_ns = {interrupt_ns:.0}");
    }
    let _ = writeln!(keys, "timer_slack_ns = {}", measured.timer_slack);
    if let Some(preemption @ ("none" | "voluntary" | "full")) = measured.kernel.preemption.as_deref() {
        let _ = writeln!(keys, "preemption = \"{preemption}\"");
    }
    let mut text = match machine_file.split_once("\n[") {
        Some((head, tables)) => format!("{}\n{keys}\n[{tables}", head.trim_end()),
        None => format!("{machine_file}{keys}"),
    };
    text.truncate(text.trim_end().len());
    let _ = write!(
        text,
        "\n\n[processor]\nsheet = \"{sheet}\"\ninstructions_per_us = {{ value = {speed:.0}, min = {least:.0}, max = {greatest:.0}, \
         source = \"measured: counted instructions of {} operations divided by their time\" }}\n",
        speeds.len()
    );
    text.push_str(LOOP_SPEED);
    let _ = writeln!(
        text,
        "line_share_percent = {{ value = 20, min = 13, max = 26, source = \"measured on a virtual EPYC (2026): extra time of six \
         channels between distant CPUs, per counted line\" }}"
    );
    text.push_str(LOOP_LINE_SHARE);
    line_latencies(&mut text, Distance::of_pairs(&machine.topology().cpus), &measured.lines);
    if replaces_states {
        idle_states(&mut text, measured, interrupt_and_exit_ns.map_or(0.0, |(_, exit_ns)| exit_ns));
    }
    Ok(text)
}

/// Writes the latency of a cache line for each distance between CPUs of the machine. One that was not measured has the
/// value of the next nearer one.
fn line_latencies(text: &mut String, distances: impl Iterator<Item = Distance>, measured: &[LineLatency]) {
    text.push_str("\n[processor.line_ns]\n");
    let mut nearer = None;
    for distance in distances {
        // A measurement does not name clusters.
        let shared = match distance {
            Distance::Core => Some("core"),
            Distance::Cluster => None,
            Distance::Cache => Some("last-level cache"),
            Distance::Package => Some("package"),
            Distance::System => Some("none"),
        };
        let of_pairs = measured.iter().filter(|line| Some(line.shares.as_str()) == shared);
        let own = median(of_pairs.map(|line| line.ns.median));
        let (value, source) = match (own, nearer) {
            (Some(own), _) => (own, "measured: median over pairs of CPUs"),
            (None, Some(nearer)) => (nearer, "not measured: that of the next nearer distance"),
            (None, None) => (median(measured.iter().map(|line| line.ns.median)).unwrap_or(50.0), "not measured"),
        };
        nearer = Some(value);
        let _ = writeln!(text, "{} = {{ value = {value:.0}, source = \"{source}\" }}", distance.name());
    }
    if nearer.is_none() {
        text.push_str("llc = { value = 0, source = \"one CPU\" }\n");
    }
}

/// Returns the count sheet of a measured machine's architecture.
fn sheet_of(measured: &Calibration) -> Option<&'static str> {
    match measured.kernel.arch.as_str() {
        "x86_64" => Some("6.12-x86_64"),
        "aarch64" => Some("6.12-arm64"),
        _ => None,
    }
}

/// Returns the speed of kernel code in instructions per nanosecond for each operation that was counted, in ascending
/// order: its instructions divided by its measured time. Empty on architectures without counts.
pub fn kernel_speeds(measured: &Calibration) -> Vec<f64> {
    let Some(sheet) = sheet_of(measured) else { return Vec::new() };
    let transports = [Transport::Eventfd, Transport::Pipe, Transport::Unix, Transport::Udp, Transport::Tcp];
    let passes = transports.map(MicroTest::Pass);
    let rounds = transports.map(|transport| MicroTest::PingPong(transport, Placement::OneCpu));
    let speed = |test: MicroTest| {
        let operation = if test == MicroTest::EmptyCall { test.name() } else { format!("{} size=1", test.name()) };
        Some(counted_instructions(sheet, &operation)? as f64 / measured.result(test)?.median)
    };
    let mut speeds: Vec<f64> =
        [MicroTest::EmptyCall].into_iter().chain(passes).chain(rounds).filter_map(speed).collect();
    speeds.sort_by(f64::total_cmp);
    speeds
}

/// Latency of an interrupt, and of the exit of a CPU that has idled for the shortest measured time, in nanoseconds. The
/// interrupt is half of a round trip to a busy CPU; the exit is what a wake-up takes beside it and its instructions.
fn interrupt_and_exit_ns(measured: &Calibration, speed: f64) -> Option<(f64, f64)> {
    let wake_up = (measured.wake_ups.first()?.ns.median - WAKE_UP_INSTRUCTIONS / speed * 1000.0).max(0.0);
    let interrupt =
        measured.ipi_round_trip.as_ref().map_or(wake_up, |round_trip| (round_trip.median / 2.0).min(wake_up));
    Some((interrupt, wake_up - interrupt))
}

/// Whether a driver knows the idle states of the hardware. That of virtual machines, haltpoll, has a placeholder for
/// what the hypervisor does.
fn has_driver_of_states(measured: &Calibration) -> bool {
    measured.kernel.idle_driver.as_deref().is_some_and(|driver| driver != "haltpoll")
}

/// In a virtual machine longer idle times have longer exits: a state for each measured time, whose exit latency is that
/// of the shortest and the excess over it.
fn idle_states(text: &mut String, measured: &Calibration, shortest_ns: f64) {
    let excess = |wake_up: &IdleWakeUp| (wake_up.ns.median - measured.wake_ups[0].ns.median).max(0.0);
    for (index, wake_up) in measured.wake_ups.iter().enumerate() {
        let residency = if index == 0 { 0 } else { wake_up.idle };
        let _ = writeln!(
            text,
            "\n[[idle_state]]\nname = \"measured-{}us\"\nexit_latency_ns = {:.0}\ntarget_residency_ns = {residency}",
            wake_up.idle / 1000,
            shortest_ns + excess(wake_up)
        );
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
