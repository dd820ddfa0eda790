// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab machine`: lists machines, shows one, describes, measures and validates an existing one, and prints sched
//! domains.

pub(crate) mod calibrate;
mod capture;
mod costs;
pub(crate) mod validate;

use crate::args::{MachineArgs, MachineCommand};
use crate::output::Output;
use crate::output::table::Table;
use crate::values::error::CliError;
use fairlab_board::{MachineDescription, describe, presets};
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_run::input::InputFile;
use fairlab_sched::ids::CpuId;
use fairlab_sched::series::KernelSeries;
use fairlab_sched::topology::CpuPlace;
use fairlab_sched::units::Nanos;
use fairlab_traces::domains::{self, DomainInfo};
use fairlab_workload::message::Message;
use fairlab_workload::workload::Workload;
use serde::Serialize;
use std::collections::BTreeSet;

#[derive(Serialize)]
struct MachineRow {
    name: String,
    description: String,
    source: String,
    kernel: String,
    hz: u64,
    cpus: usize,
    cores: usize,
    llcs: usize,
    nodes: usize,
    capacities: Vec<u64>,
    frequency_domains: usize,
    idle_states: usize,
    has_costs: bool,
}

pub(crate) fn machine(output: &mut Output, args: &MachineArgs) -> Result<(), CliError> {
    match &args.command {
        MachineCommand::List => list(output),
        MachineCommand::Show { machine, toml } => show(output, machine, *toml),
        MachineCommand::Costs { machine } => costs::costs(output, machine),
        MachineCommand::Capture(args) => capture::capture(output, args),
        MachineCommand::Calibrate(args) => calibrate::calibrate(output, args),
        MachineCommand::Validate(args) => validate::validate(output, args),
        MachineCommand::Domains { machine, cpu } => show_domains(output, machine, *cpu),
    }
}

fn row_of(machine: &MachineDescription) -> MachineRow {
    let topology = machine.topology();
    let units = |unit: fn(&CpuPlace) -> u32| topology.cpus.iter().map(unit).collect::<BTreeSet<u32>>().len();
    let capacities = (0..machine.nr_cpus()).map(|cpu| machine.capacity(CpuId::from_index(cpu)));
    MachineRow {
        name: machine.name().to_owned(),
        description: machine.description().to_owned(),
        source: machine.source().to_owned(),
        kernel: machine.kernel().to_owned(),
        hz: machine.hz().get(),
        cpus: machine.nr_cpus(),
        cores: units(|place| place.core),
        llcs: units(|place| place.llc),
        nodes: units(|place| place.node),
        capacities: capacities.collect(),
        frequency_domains: machine.frequency_domains().len(),
        idle_states: machine.idle_states().len(),
        has_costs: machine.processor().is_some(),
    }
}

fn list(output: &mut Output) -> Result<(), CliError> {
    let rows: Vec<MachineRow> = presets().map(|machine| row_of(&machine)).collect();
    output.json_or_text(&rows, |styles| {
        let table = Table::default().left(["machine"]).right(["CPUs", "cores", "LLCs", "nodes"]);
        let mut table = table.left(["kernel"]).wrapped("description");
        for row in &rows {
            let [cpus, cores, llcs, nodes] =
                [row.cpus, row.cores, row.llcs, row.nodes].map(|number| number.to_string());
            table
                .text_row([&row.name, &cpus, &cores, &llcs, &nodes, &row.kernel, &row.description].map(String::as_str));
        }
        table.render(styles)
    })
}

fn show(output: &mut Output, machine: &str, toml: bool) -> Result<(), CliError> {
    let machine = InputFile::new(machine).read_machine()?;
    let text = || machine.file.text().unwrap_or_default().to_owned();
    output.json_or_text(&row_of(&machine.description), |_| if toml { text() } else { describe(&machine.description) })
}

fn show_domains(output: &mut Output, given: &str, cpu: Option<u32>) -> Result<(), CliError> {
    let description = InputFile::new(given).read_machine()?.description;
    let nr_cpus = description.nr_cpus();
    if let Some(cpu) = cpu.filter(|&cpu| cpu as usize >= nr_cpus) {
        let help = format!("give a CPU from 0 to {}", nr_cpus - 1);
        return Err(CliError::with_help(format!("{given} has no CPU {cpu}"), help));
    }
    // The domains are those of 6.1, whatever kernel the machine file names.
    let setup = Setup::new(KernelSeries::V6_1, Hardware::from_description(&description), Workload::default(), Nanos(1));
    let machine = Machine::new(setup).map_err(|error| CliError::Input(Message::from(error).about(given)))?;
    let cpus = (0..nr_cpus).map(CpuId::from_index).filter(|own| cpu.is_none_or(|cpu| own.0 == cpu));
    let all: Vec<DomainInfo> = cpus.flat_map(|cpu| domains::of_cpu(&machine, cpu)).collect();
    output.json_or_text(&all, |_| all.iter().map(|domain| domain.text()).collect())
}
