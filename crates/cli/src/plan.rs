// SPDX-License-Identifier: GPL-2.0-or-later
//! From files and options to a machine that is ready to run.
//!
//! Features and tunables are applied in this order, later ones override: the kernel's, the scenario's, those of the command
//! line.

use crate::args::{PriceChoice, VariantArgs};
use crate::error::CliError;
use crate::input::{self, MachineText, WorkloadText};
use fairlab_machine::engine::{Machine, Setup};
use fairlab_machine::hardware::Hardware;
use fairlab_machine::prices::Prices;
use fairlab_observe::summary::Subject;
use fairlab_sched::features::Feature;
use fairlab_sched::units::Nanos;
use fairlab_study::kernels::{self, Kernel};
use fairlab_workload::load::{Kind, detect};
use fairlab_workload::rtapp::{self, DuplicateKeys};
use fairlab_workload::scn::{self, Scenario};
use fairlab_workload::workload::Workload;

/// The machine of rt-app files and benchmarks unless another is named.
pub(crate) const DEFAULT_MACHINE: &str = "hikey960";
/// How long to simulate a workload that does not say.
const DEFAULT_DURATION: Nanos = Nanos::from_secs(5);
/// Trace level of a scenario that does not say: everything but averages.
const DEFAULT_TRACE: u8 = 3;

/// A run that has not begun.
pub(crate) struct Plan {
    pub(crate) machine: Machine,
    pub(crate) subject: Subject,
    pub(crate) input: WorkloadText,
    /// The machine's file, unless a scenario describes the machine.
    pub(crate) machine_text: Option<MachineText>,
    pub(crate) trace_level: u8,
    pub(crate) trace_pelt: bool,
    /// Whether nobody said how long to simulate.
    pub(crate) is_default_duration: bool,
}

/// What the command line says beyond the variant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Choices {
    pub(crate) duration: Option<Nanos>,
    /// Invariants will be checked after every event, which takes its time: not so long a run.
    pub(crate) is_check: bool,
    pub(crate) seed: Option<u64>,
    pub(crate) perturb: Option<u64>,
    /// All of equal keys in an rt-app file are kept.
    pub(crate) keep_duplicate_keys: bool,
}

/// Which scheduler: a kernel with what differs from it.
pub(crate) struct Variant {
    pub(crate) kernel: Kernel,
    pub(crate) features: Vec<(Feature, bool)>,
    pub(crate) tunables: Vec<(String, i64)>,
    /// Kernel code costs nothing.
    pub(crate) is_free: bool,
}

impl Variant {
    /// From the command line, the name of the kernel in a file, and what the file switches and sets.
    pub(crate) fn new(
        variant: &VariantArgs,
        named: Option<&str>,
        of_file: Vec<(Feature, bool)>,
        set_in_file: Vec<(String, i64)>,
    ) -> Self {
        let named = named.unwrap_or(kernels::DEFAULT);
        let kernel = variant.kernel.or_else(|| Kernel::named(named)).expect("machine files name known kernels");
        let mut features = kernel.features();
        features.extend(of_file);
        features.extend(&variant.features);
        let mut tunables: Vec<(String, i64)> =
            kernel.tunables().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        tunables.extend(set_in_file);
        tunables.extend(variant.set.iter().cloned());
        Self { kernel, features, tunables, is_free: variant.prices == PriceChoice::Zero }
    }
}

/// What a file says, of whichever kind.
struct FileSays {
    kind: &'static str,
    hardware: Hardware,
    workload: Workload,
    kernel: Option<String>,
    features: Vec<(Feature, bool)>,
    tunables: Vec<(String, i64)>,
    duration: Option<Nanos>,
    snapshot_every: Option<Nanos>,
    trace_level: u8,
    trace_pelt: bool,
}

impl Plan {
    /// Reads the files and makes the machine.
    pub(crate) fn new(file: &str, variant: &VariantArgs, choices: Choices) -> Result<Self, CliError> {
        let input = input::workload(file)?;
        let mut machine_text = None;
        let mut says = match detect(&input.name, &input.text).map_err(CliError::input)? {
            Kind::Scenario => FileSays::of_scenario(&input, variant)?,
            Kind::RtApp => {
                let machine = input::machine(variant.machine.as_deref().unwrap_or(DEFAULT_MACHINE))?;
                let says = FileSays::of_rtapp(&input, choices.keep_duplicate_keys, &machine)?;
                machine_text = Some(machine);
                says
            }
        };
        let settings = Variant::new(variant, says.kernel.as_deref(), says.features, says.tunables);
        if settings.is_free {
            says.hardware.prices = Prices::free();
        }
        let subject = Subject {
            workload: input.name.clone(),
            kind: says.kind.to_owned(),
            machine: says.hardware.name.clone(),
            kernel: settings.kernel.name.to_owned(),
        };
        let duration = choices.duration.or(says.duration);
        let limit = if choices.is_check { longest_check(says.hardware.nr_cpus()) } else { Nanos::NEVER };
        let setup = Setup {
            hardware: says.hardware,
            workload: says.workload,
            features: settings.features,
            tunables: Vec::new(),
            named_tunables: settings.tunables,
            duration: duration.unwrap_or(DEFAULT_DURATION).min(limit),
            snapshot_every: says.snapshot_every,
            perturb: choices.perturb,
        };
        let mut machine = Machine::new(setup).map_err(|error| CliError::Input(format!("{}: {error}", input.name)))?;
        if let Some(seed) = choices.seed {
            machine.seed(seed);
        }
        let (trace_level, trace_pelt) = (says.trace_level, says.trace_pelt);
        let is_default_duration = duration.is_none();
        Ok(Self { machine, subject, input, machine_text, trace_level, trace_pelt, is_default_duration })
    }
}

/// The longest run of a check: a second, and less on a large machine, which has more events and takes longer for each check.
fn longest_check(nr_cpus: usize) -> Nanos {
    const SMALL: usize = 32;
    let factor = nr_cpus.max(SMALL) as u64;
    Nanos(1_000_000_000 * (SMALL * SMALL) as u64 / (factor * factor))
}

impl FileSays {
    fn of_scenario(input: &WorkloadText, variant: &VariantArgs) -> Result<Self, CliError> {
        if let Some(machine) = &variant.machine {
            let help = "leave --machine out, or change `cpus`, `topo` and `caps` in the file";
            let message =
                format!("{}: a scenario describes its own machine, not `{machine}`\nhelp: {help}", input.name);
            return Err(CliError::Input(message));
        }
        let scenario = scn::parse(&input.name, &input.text).map_err(CliError::input)?;
        let Scenario { machine, end, trace, trace_pelt, stats, features, tunables, arms, workload } = scenario;
        let known = |name: &str| Feature::from_name(name).expect("the reader of scenarios knows the features");
        let tunables = tunables.into_iter().map(|(name, value)| (name, i64::try_from(value).unwrap_or(i64::MAX)));
        Ok(Self {
            kind: "scenario",
            hardware: Hardware::from_scenario(&machine),
            workload,
            kernel: None,
            features: features.iter().map(|(name, on)| (known(name), *on)).collect(),
            tunables: tunables.chain(arms).collect(),
            duration: Some(end),
            snapshot_every: stats,
            trace_level: trace.unwrap_or(DEFAULT_TRACE),
            trace_pelt,
        })
    }

    fn of_rtapp(input: &WorkloadText, keep_duplicate_keys: bool, machine: &MachineText) -> Result<Self, CliError> {
        let description = &machine.description;
        let nr_cpus = u32::try_from(description.nr_cpus()).expect("machines have at most some thousand CPUs");
        let duplicate_keys = if keep_duplicate_keys { DuplicateKeys::KeepAll } else { DuplicateKeys::LastValue };
        let options = rtapp::Options { nr_cpus, duplicate_keys };
        let workload = rtapp::parse(&input.name, &input.text, options).map_err(CliError::input)?;
        Ok(Self {
            kind: "rt-app",
            hardware: Hardware::from_description(description),
            kernel: Some(description.kernel().to_owned()),
            features: Vec::new(),
            tunables: Vec::new(),
            duration: workload.duration.filter(|duration| *duration > Nanos::ZERO),
            workload,
            snapshot_every: None,
            trace_level: DEFAULT_TRACE,
            trace_pelt: false,
        })
    }
}
