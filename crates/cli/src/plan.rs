// SPDX-License-Identifier: GPL-2.0-or-later
//! Plans of runs: from files and options to a machine that is ready to run.
//!
//! Features and tunables are applied in this order, and later ones override: the kernel's, the scenario's,
//! the command line's.

use crate::args::{Plain, PriceChoice, VariantArgs};
use crate::error::CliError;
use crate::input::{self, MachineText, WorkloadText};
use crate::values::GovernorName;
use fairlab_machine::costs::CostModel;
use fairlab_machine::hardware::{FrequencyDomain, Governor, Hardware, SchedutilConfig};
use fairlab_machine::sim::{Machine, Setup};
use fairlab_machine::vary::vary_starts;
use fairlab_observe::summary::RunSubject;
use fairlab_sched::features::Feature;
use fairlab_sched::sched::Sched;
use fairlab_sched::units::Nanos;
use fairlab_study::kernels::{self, Kernel};
use fairlab_workload::load::{WorkloadKind, detect};
use fairlab_workload::recorded;
use fairlab_workload::rtapp::{self, DuplicateKeys};
use fairlab_workload::scenario::{self, ParseContext};
use fairlab_workload::workload::Workload;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

/// Default machine of rt-app files and benchmarks.
pub(crate) const DEFAULT_MACHINE: &str = "hikey960";
/// Simulated time of a workload without a duration.
const DEFAULT_DURATION: Nanos = Nanos::from_secs(5);
/// Trace level of a scenario without a `trace` statement: all events except averages.
const DEFAULT_TRACE: u8 = 3;

/// Information about a run for its reports.
pub(crate) struct About {
    pub(crate) subject: RunSubject,
    pub(crate) input: Arc<WorkloadText>,
    /// File of the machine; `None` if a scenario describes the machine.
    pub(crate) machine_text: Option<MachineText>,
    pub(crate) trace_level: u8,
    pub(crate) trace_pelt: bool,
    /// Whether neither the file nor the command line sets the duration.
    pub(crate) is_default_duration: bool,
    /// Whether a check simulates less than was requested.
    pub(crate) is_shortened: bool,
}

impl About {
    /// Returns the files that were read.
    pub(crate) fn inputs(&self) -> Vec<&Path> {
        let machine = self.machine_text.as_ref().map(|machine| Path::new(&machine.given));
        std::iter::once(Path::new(&self.input.given)).chain(machine).collect()
    }
}

/// Run that has not begun.
pub(crate) struct Plan<E = Sched> {
    pub(crate) machine: Machine<E>,
    pub(crate) about: About,
}

/// Run options of the command line other than the variant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Choices {
    pub(crate) duration: Option<Nanos>,
    /// Invariants are checked after every event, so the run is shortened.
    pub(crate) is_check: bool,
    pub(crate) seed: Option<u64>,
    /// Also randomise start times and random run lengths, from the seed.
    pub(crate) vary: bool,
    pub(crate) perturb: Option<u64>,
    /// Keep all members with equal keys in an rt-app file.
    pub(crate) keep_duplicate_keys: bool,
}

impl Choices {
    /// Returns the seed of start times and random run lengths, if these vary.
    pub(crate) fn varying_seed(self) -> Option<u64> {
        self.seed.filter(|_| self.vary)
    }
}

/// Scheduler settings: a kernel, and the switches that differ from it.
pub(crate) struct Variant {
    pub(crate) kernel: Kernel,
    pub(crate) features: Vec<(Feature, bool)>,
    pub(crate) tunables: Vec<(String, i64)>,
}

impl Variant {
    /// Combines the command line, the kernel that a file names, and the features and tunables that the file
    /// sets.
    pub(crate) fn new(
        variant: &VariantArgs,
        named: Option<&str>,
        of_file: Vec<(Feature, bool)>,
        set_in_file: Vec<(String, i64)>,
    ) -> Self {
        let named = named.unwrap_or(kernels::DEFAULT);
        let kernel = variant.kernel.or_else(|| Kernel::from_name(named)).expect("machine files name known kernels");
        let mut features = kernel.features();
        features.extend(of_file);
        features.extend(variant.switched());
        let mut tunables: Vec<(String, i64)> =
            kernel.tunables().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        tunables.extend(set_in_file);
        tunables.extend(variant.set.iter().cloned());
        Self { kernel, features, tunables }
    }
}

/// Parts of a run before its machine exists, for any engine.
pub(crate) struct Prepared {
    pub(crate) setup: Setup,
    pub(crate) about: About,
}

/// Content of a workload file of any kind.
struct FileSays {
    kind: &'static str,
    /// Features and tunables in it are only those that the file sets.
    setup: Setup,
    kernel: Option<String>,
    /// Whether the file sets the duration.
    says_duration: bool,
    trace_level: u8,
    trace_pelt: bool,
}

impl Plan {
    /// Reads the files and creates the machine.
    pub(crate) fn new(file: &str, variant: &VariantArgs, choices: Choices) -> Result<Self, CliError> {
        Self::of(Arc::new(input::workload(file)?), None, variant, choices)
    }

    /// Creates the machine for a workload that may serve several runs. `machine` is the machine's file if it
    /// has been read already.
    pub(crate) fn of(
        input: Arc<WorkloadText>,
        machine: Option<MachineText>,
        variant: &VariantArgs,
        choices: Choices,
    ) -> Result<Self, CliError> {
        if variant.kernel_engine().is_some() {
            let help = "compiled-kernel engines support run, check, bench, compare, sweep, export and report; other commands need the reasons that only the built-in scheduler records";
            return Err(CliError::Input(format!(
                "this command does not support compiled-kernel engines\nhelp: {help}"
            )));
        }
        let Prepared { setup, about } = Prepared::of(input, machine, variant, choices)?;
        let mut machine =
            Machine::new(setup).map_err(|error| CliError::Input(format!("{}: {error}", about.input.name)))?;
        if let Some(seed) = choices.seed {
            machine.seed(seed);
        }
        Ok(Self { machine, about })
    }
}

impl Prepared {
    /// Reads the files and applies the command line's options.
    pub(crate) fn of(
        input: Arc<WorkloadText>,
        machine: Option<MachineText>,
        variant: &VariantArgs,
        choices: Choices,
    ) -> Result<Self, CliError> {
        let given = variant.machine.as_deref().map(input::machine);
        let given = machine.map(Ok).or(given).transpose()?;
        let (says, machine_text) = match detect(&input.name, &input.text).map_err(CliError::input)? {
            WorkloadKind::Scenario => FileSays::of_scenario(&input, given, choices.varying_seed())?,
            WorkloadKind::RtApp => {
                let machine = given.map_or_else(|| input::machine(DEFAULT_MACHINE), Ok)?;
                (FileSays::of_rtapp(&input, choices, &machine)?, Some(machine))
            }
            WorkloadKind::Recorded => (FileSays::of_recorded(&input, given.as_ref(), variant.governor)?, given),
        };
        let mut setup = says.setup;
        if variant.prices == Some(PriceChoice::Machine) && setup.hardware.costs.is_zero_cost() {
            let name = if machine_text.is_none() { "a scenario" } else { &setup.hardware.name };
            setup
                .workload
                .warnings
                .push(format!("--prices machine: {name} has no costs, so kernel code has zero cost"));
        }
        let settings = Variant::new(variant, says.kernel.as_deref(), setup.features, setup.named_tunables);
        (setup.features, setup.named_tunables) = (settings.features, settings.tunables);
        price(&mut setup.hardware, variant)?;
        drive(&mut setup.hardware, variant.governor)?;
        hold_latency(&mut setup.workload, variant);
        employ(&mut setup, variant)?;
        let subject = RunSubject {
            workload: input.name.clone(),
            kind: says.kind.to_owned(),
            machine: setup.hardware.name.clone(),
            kernel: settings.kernel.name.to_owned(),
        };
        let limit = if choices.is_check { longest_check(setup.hardware.nr_cpus()) } else { Nanos::NEVER };
        let wanted = choices.duration.unwrap_or(setup.duration);
        setup.duration = wanted.min(limit);
        let is_shortened = setup.duration < wanted;
        setup.perturb = choices.perturb;
        if let Some(seed) = choices.varying_seed() {
            vary_starts(&mut setup.workload, &setup.hardware, seed);
        }
        let (trace_level, trace_pelt) = (says.trace_level, says.trace_pelt);
        let is_default_duration = choices.duration.is_none() && !says.says_duration;
        let about = About { subject, input, machine_text, trace_level, trace_pelt, is_default_duration, is_shortened };
        Ok(Self { setup, about })
    }
}

/// Applies the requested limit of exit latencies; the lowest request counts.
pub(crate) fn hold_latency(workload: &mut Workload, variant: &VariantArgs) {
    let requests = [workload.cpu_dma_latency, variant.cpu_dma_latency];
    workload.cpu_dma_latency = requests.into_iter().flatten().min();
}

/// Installs the policy of an embedding program, if there is one.
pub(crate) fn employ(setup: &mut Setup, variant: &VariantArgs) -> Result<(), CliError> {
    let Some(policy) = &variant.policy else { return Ok(()) };
    let assumption = format!("the policy {} selects CPUs at wake-ups instead of the kernel's rules", policy.name);
    setup.workload.assumptions.push(assumption);
    setup.policy = Some(policy.make().map_err(CliError::Input)?);
    Ok(())
}

/// Applies `--plain` and the cost model: the machine's, another machine's, or zero; then costs of single
/// operations.
pub(crate) fn price(hardware: &mut Hardware, variant: &VariantArgs) -> Result<(), CliError> {
    match variant.plain {
        None => {}
        Some(Plain::Shape) => *hardware = hardware.topology_only(),
        Some(Plain::Priced) => *hardware = hardware.topology_with_costs(),
    }
    if let Some(machine) = &variant.prices_of {
        hardware.costs = CostModel::from_list(input::machine(machine)?.description.costs());
    }
    if variant.price_choice() == PriceChoice::Zero {
        hardware.costs = CostModel::zero_cost();
    }
    for (operation, ps) in &variant.price {
        hardware.costs.set_by_name(operation, *ps);
    }
    Ok(())
}

/// Sets the governor of all frequency domains.
pub(crate) fn drive(hardware: &mut Hardware, governor: Option<GovernorName>) -> Result<(), CliError> {
    let Some(governor) = governor else { return Ok(()) };
    if hardware.frequency_domains.is_empty() {
        let help = "add `[[frequency_domain]]` to its file, or `fdom` to a scenario";
        let message = format!("--governor: the machine {} has no frequency domains\nhelp: {help}", hardware.name);
        return Err(CliError::Input(message));
    }
    for domain in &mut hardware.frequency_domains {
        match governor {
            GovernorName::Performance => domain.fix_at_highest(),
            GovernorName::Powersave => domain.fix_at_index(0),
            // Keeps the schedutil settings of the machine's file; the default has the rate limit of a driver
            // without one.
            GovernorName::Schedutil if matches!(domain.governor(), Governor::Schedutil(_)) => {}
            GovernorName::Schedutil => domain.set_governor(Governor::Schedutil(SchedutilConfig {
                rate_limit: Nanos::from_millis(1),
                holds_when_busy: true,
            })),
        }
    }
    Ok(())
}

/// Returns the longest simulated time of a check: a second, and less on a large machine, where events are
/// more frequent and checks slower.
fn longest_check(nr_cpus: usize) -> Nanos {
    const SMALL: usize = 32;
    let factor = nr_cpus.max(SMALL) as u64;
    Nanos(1_000_000_000 * (SMALL * SMALL) as u64 / (factor * factor))
}

impl FileSays {
    /// Reads a scenario, for the given machine, the machine that the file names, or the file's own. Returns
    /// the machine in the first two cases.
    fn of_scenario(
        input: &WorkloadText,
        given: Option<MachineText>,
        vary: Option<u64>,
    ) -> Result<(Self, Option<MachineText>), CliError> {
        let named = RefCell::new(None);
        let size = |machine: &MachineText| u32::try_from(machine.description.nr_cpus()).unwrap_or(u32::MAX);
        let load = |name: &str| {
            let machine = input::machine(name).map_err(|error| error.to_string())?;
            let nr_cpus = size(&machine);
            named.replace(Some(machine));
            Ok(nr_cpus)
        };
        let on = ParseContext { given: given.as_ref().map(size), named: &load, vary };
        let mut scenario = scenario::parse_with_context(&input.name, &input.text, on).map_err(CliError::input)?;
        let (trace, trace_pelt) = (scenario.trace, scenario.trace_pelt);
        if let Some(machine) = given.as_ref().filter(|_| scenario.is_replaced) {
            let own = scenario.named_machine.as_ref().map_or("the machine that the file describes", |name| name);
            let assumption = format!("--machine {} replaces {own}", machine.description.name());
            scenario.workload.assumptions.push(assumption);
        }
        let machine = given.or_else(|| named.take());
        let setup = match &machine {
            Some(machine) => Setup::with_hardware(Hardware::from_description(&machine.description), scenario),
            None => Setup::from_scenario(scenario),
        };
        let says = Self {
            kind: "scenario",
            setup,
            kernel: machine.as_ref().map(|machine| machine.description.kernel().to_owned()),
            says_duration: true,
            trace_level: trace.unwrap_or(DEFAULT_TRACE),
            trace_pelt,
        };
        Ok((says, machine))
    }

    /// Reads a recorded workload, for the given machine or the machine as far as the trace describes it.
    fn of_recorded(
        input: &WorkloadText,
        machine: Option<&MachineText>,
        governor: Option<GovernorName>,
    ) -> Result<Self, CliError> {
        let mut recorded = recorded::parse(&input.name, &input.text).map_err(CliError::input)?;
        let hardware = match machine {
            Some(machine) => Hardware::from_description(&machine.description),
            None => Hardware::from_recorded(&recorded),
        };
        let mut driven = hardware.clone();
        drive(&mut driven, governor)?;
        if driven.frequency_domains.iter().any(FrequencyDomain::has_governor_thread) {
            recorded.remove_governor_threads();
        }
        let nr_cpus = u32::try_from(hardware.nr_cpus()).unwrap_or(u32::MAX);
        let duration = recorded.end;
        let setup = Setup {
            hardware,
            workload: recorded.into_workload(nr_cpus),
            features: Vec::new(),
            tunables: Vec::new(),
            named_tunables: Vec::new(),
            duration,
            snapshot_every: None,
            perturb: None,
            policy: None,
        };
        Ok(Self {
            kind: "recorded",
            setup,
            kernel: machine.map(|machine| machine.description.kernel().to_owned()),
            says_duration: true,
            trace_level: DEFAULT_TRACE,
            trace_pelt: false,
        })
    }

    fn of_rtapp(input: &WorkloadText, choices: Choices, machine: &MachineText) -> Result<Self, CliError> {
        let description = &machine.description;
        let capacities = description.topology().capacity;
        let duplicate_keys =
            if choices.keep_duplicate_keys { DuplicateKeys::KeepAll } else { DuplicateKeys::LastValue };
        let is_duration_given = choices.duration.is_some();
        let options = rtapp::RtAppOptions {
            duplicate_keys,
            is_duration_given,
            ..rtapp::RtAppOptions::for_capacities(&capacities)
        };
        let workload = rtapp::parse(&input.name, &input.text, options).map_err(CliError::input)?;
        let duration = workload.duration.filter(|duration| *duration > Nanos::ZERO);
        let setup = Setup {
            hardware: Hardware::from_description(description),
            workload,
            features: Vec::new(),
            tunables: Vec::new(),
            named_tunables: Vec::new(),
            duration: duration.unwrap_or(DEFAULT_DURATION),
            snapshot_every: None,
            perturb: None,
            policy: None,
        };
        Ok(Self {
            kind: "rt-app",
            setup,
            kernel: Some(description.kernel().to_owned()),
            says_duration: duration.is_some(),
            trace_level: DEFAULT_TRACE,
            trace_pelt: false,
        })
    }
}
