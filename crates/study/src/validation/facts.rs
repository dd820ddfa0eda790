// SPDX-License-Identifier: GPL-2.0-or-later
//! Facts of a processor from a measurement, as entries of a machine file.
//!
//! A fact is one number for all operations: the speed of kernel code is the median over operations, not a speed of
//! each. What a measurement cannot show is a published value with its range.

use fairlab_machine::description::counted_instructions;
use fairlab_native::record::{Calibration, IdleWakeUp, LineLatency};
use fairlab_workload::bench::micro::{MicroTest, Placement, Transport};
use std::fmt::Write;

/// Caches that line latencies within a last-level cache name.
const NEAR: [&str; 2] = ["core", "last-level cache"];

/// Instructions between a waker's system call and the first one of the woken thread on an idle CPU: half of a simulated
/// round trip over futexes between two CPUs, at one instruction per nanosecond and without latencies. What the waker
/// executes after the interrupt, and the other CPU before it is idle, is not on this path.
const WAKE_UP_INSTRUCTIONS: f64 = 4_500.0;

/// Returns a machine file with facts of its processor added. `None` if the measurement has no speeds or no counts
/// exist for its architecture.
pub fn with_facts(machine_file: &str, measured: &Calibration) -> Option<String> {
    let sheet = sheet_of(measured)?;
    let speeds = kernel_speeds(measured);
    let (least, greatest) = (speeds.first()? * 1000.0, speeds.last()? * 1000.0);
    let speed = speeds[speeds.len() / 2] * 1000.0;

    // What the capture lacks is measured.
    let is_obsolete =
        |line: &&str| line.starts_with("# costs of kernel code") || line.starts_with("# sysfs has no idle states");
    let machine_file: String =
        machine_file.lines().filter(|line| !is_obsolete(line)).map(|line| format!("{line}\n")).collect();
    let mut keys = format!("{}timer_slack_ns = {}\n", idle_keys(measured, speed), measured.timer_slack);
    if let Some(preemption @ ("none" | "voluntary" | "full")) = measured.kernel.preemption.as_deref() {
        let _ = writeln!(keys, "preemption = \"{preemption}\"");
    }
    let mut text = match machine_file.split_once("\n[") {
        Some((head, tables)) => format!("{head}{keys}\n[{tables}"),
        None => format!("{machine_file}{keys}"),
    };
    let _ = write!(
        text,
        "\n[processor]\nsheet = \"{sheet}\"\ninstructions_per_us = {{ value = {speed:.0}, min = {least:.0}, max = {greatest:.0}, \
         source = \"measured: counted instructions of {} operations divided by their time\" }}\n",
        speeds.len()
    );
    let is_near = |line: &&LineLatency| NEAR.contains(&line.shares.as_str());
    let near = median(measured.lines.iter().filter(is_near).map(|line| line.ns.median));
    let far = median(measured.lines.iter().filter(|line| !is_near(line)).map(|line| line.ns.median));
    let line = |text: &mut String, key: &str, own: Option<f64>, other: Option<f64>| {
        let (value, source) = match (own, other) {
            (Some(own), _) => (own, "measured: median over pairs of CPUs"),
            (None, Some(other)) => (other, "no such pair of CPUs: that of the others"),
            (None, None) => (50.0, "unknown: one CPU"),
        };
        let _ = writeln!(text, "{key} = {{ value = {value:.0}, source = \"{source}\" }}");
    };
    line(&mut text, "line_ns", near, far);
    line(&mut text, "remote_line_ns", far, near);
    let _ = writeln!(
        text,
        "line_share_percent = {{ value = 20, min = 13, max = 26, source = \"measured on a virtual EPYC (2026): extra time of six \
         channels between distant CPUs, per counted line\" }}"
    );
    idle_states(&mut text, measured);
    Some(text)
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

/// Latency of an interrupt to an idle CPU: what a wake-up after a short idle time takes beside its instructions.
fn idle_keys(measured: &Calibration, speed: f64) -> String {
    let Some(first) = measured.wake_ups.first() else { return String::new() };
    let ipi_ns = (first.ns.median - WAKE_UP_INSTRUCTIONS / speed * 1000.0).max(0.0);
    format!("ipi_ns = {ipi_ns:.0}\n")
}

/// Without a driver of idle states, as in a virtual machine, longer idle times have longer exits: a state for each
/// measured time, whose exit latency is the excess over the shortest.
fn idle_states(text: &mut String, measured: &Calibration) {
    if measured.kernel.idle_driver.is_some() || measured.wake_ups.is_empty() {
        return;
    }
    let excess = |wake_up: &IdleWakeUp| (wake_up.ns.median - measured.wake_ups[0].ns.median).max(0.0);
    for (index, wake_up) in measured.wake_ups.iter().enumerate() {
        let residency = if index == 0 { 0 } else { wake_up.idle };
        let _ = writeln!(
            text,
            "\n[[idle_state]]\nname = \"measured-{}us\"\nexit_latency_ns = {:.0}\ntarget_residency_ns = {residency}",
            wake_up.idle / 1000,
            excess(wake_up)
        );
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
