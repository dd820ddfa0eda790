// SPDX-License-Identifier: GPL-2.0-or-later
//! Wake-up placement by a policy hook, compared with the kernel's rules: `cargo run -p fairlab-measure
//! --example wake_policy`.

#![allow(clippy::disallowed_methods, reason = "an example of the machine alone")]

use fairlab_board::preset;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_measure::summary_observer::SummaryObserver;
use fairlab_sched::interface::policy::{CpuSample, PolicyHook, WakeChoice, WakeRequest};
use fairlab_sched::series::KernelSeries;
use fairlab_sched::work::KernelOp;
use fairlab_workload::scenario;
use std::io::Write;

/// Selects the first idle CPU of the cache, starting at the previous one, without a limit of the search; if
/// there is none, the kernel's rules apply.
pub(crate) fn first_idle(request: &WakeRequest<'_>, seen: Option<&CpuSample>) -> WakeChoice {
    match seen {
        None => WakeChoice::Sample(request.prev),
        Some(look) if look.is_idle => WakeChoice::Cpu(look.cpu),
        Some(look) => request.next_in_cache(look.cpu).map_or(WakeChoice::Kernel, WakeChoice::Sample),
    }
}

/// Returns the number of CPUs scanned per wake-up and the mean wake-up latency of the workers in nanoseconds,
/// on a server that is nearly busy.
pub(crate) fn measure(policy: Option<Box<dyn PolicyHook>>) -> Result<(f64, u64), Box<dyn std::error::Error>> {
    let hardware = Hardware::from_description(&preset("xeon-1s-112").ok_or("no such machine")?);
    let scenario = "cpus 112\nend 100ms\ntask hog n=84 run 10ms\ntask worker n=56 run 400us sleep 1ms\n";
    let mut machine = Machine::new(Setup {
        policy,
        ..Setup::with_hardware(hardware, scenario::parse("server", scenario, KernelSeries::V6_1)?)
    })?;
    let mut recorder = SummaryObserver::new(&machine);
    machine.run(&mut recorder)?;
    let workers = recorder.families.summaries(machine.now()).swap_remove(1);
    let latency = workers.wake_to_run.ok_or("no task was woken")?;
    Ok((machine.total_ops().get(KernelOp::ScanCpu) as f64 / workers.wakeups as f64, latency.mean_ns))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, policy) in [("kernel", None), ("first_idle", Some(Box::new(first_idle) as Box<dyn PolicyHook>))] {
        let (nr_scanned, mean_ns) = measure(policy)?;
        writeln!(
            std::io::stdout(),
            "{name:10}  {nr_scanned:5.1} CPUs scanned per wake-up  {mean_ns:8} ns from wake to run"
        )?;
    }
    Ok(())
}
