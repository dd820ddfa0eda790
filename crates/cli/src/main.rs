// SPDX-License-Identifier: GPL-2.0-or-later
//! The `fairlab` command.

use fairlab_machine::engine::{Machine, Setup};
use fairlab_machine::hardware::Hardware;
use fairlab_observe::trace_jsonl::TraceJsonl;
use fairlab_sched::features::Feature;
use fairlab_workload::load::{Loaded, load};
use std::io::BufWriter;

fn main() -> anyhow::Result<()> {
    let path = std::env::args().last().unwrap_or_default();
    let text = std::fs::read_to_string(&path)?;
    let Loaded::Scenario(scenario) = load(&path, &text, fairlab_workload::rtapp::Options::for_cpus(8))? else {
        anyhow::bail!("only scenarios")
    };
    let scenario = *scenario;
    let hardware = Hardware::from_scenario(&scenario.machine);
    let nr_cpus = hardware.nr_cpus();
    let mut named: Vec<(String, i64)> = scenario.tunables.iter().map(|(n, v)| (n.clone(), *v as i64)).collect();
    named.extend(scenario.arms.iter().cloned());
    let setup = Setup {
        hardware,
        workload: scenario.workload,
        features: scenario.features.iter().map(|(n, v)| (Feature::from_name(n).expect("checked"), *v)).collect(),
        tunables: Vec::new(),
        named_tunables: named,
        duration: scenario.end,
        snapshot_every: scenario.stats,
        perturb: None,
    };
    let mut machine = Machine::new(setup)?;
    let mut trace =
        TraceJsonl::new(BufWriter::new(std::io::stdout().lock()), nr_cpus, scenario.trace, scenario.trace_pelt);
    let start = std::time::Instant::now();
    machine.run(&mut trace)?;
    let s = start.elapsed().as_secs_f64();
    trace.write_totals(&machine);
    trace.finish()?;
    eprintln!(
        "{} {:.3} s, {} events, {:.0}/s",
        machine.digest(),
        s,
        machine.counters().events,
        machine.counters().events as f64 / s
    );
    Ok(())
}
