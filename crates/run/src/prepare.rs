// SPDX-License-Identifier: GPL-2.0-or-later
//! The road from a [`RunSpec`] to a machine: reads the files and applies the settings.
//!
//! Features and tunables are applied in this order, and later ones override: the kernel's, the scenario's,
//! the spec's.

use crate::error::RequestError;
use crate::facts::apply_facts;
use crate::input::{InputFile, ReadMachine};
use crate::kernels::Kernel;
use crate::settings::Settings;
use crate::spec::{BenchSpec, RunSpec, WorkloadSpec};
use crate::values::{CallCosts, CostChoice, CostSource, GovernorName, Plain, kernel_from_name};
use crate::warmup::{Warmup, WarmupPlan};
use crate::{background, bench};
use fairlab_board::MachineDescription;
use fairlab_machine::costs::CostModel;
use fairlab_machine::engine::Engine;
use fairlab_machine::hardware::{FrequencyDomain, Governor, Hardware, SchedutilConfig};
use fairlab_machine::sim::{Machine, Setup, SetupError};
use fairlab_machine::vary::{StartGroups, vary_starts};
use fairlab_measure::bench::BenchObserver;
use fairlab_measure::missing_addition::MissingAddition;
use fairlab_measure::summary::{RunSubject, Settling};
use fairlab_sched::units::Nanos;
use fairlab_traces::trace_jsonl::TraceOptions;
use fairlab_workload::load::{WorkloadKind, detect};
use fairlab_workload::message::Message;
use fairlab_workload::recorded;
use fairlab_workload::rtapp::{self, DuplicateKeys};
use fairlab_workload::scenario::{self, ParseContext, SwitchNames};
use fairlab_workload::tunable_name::TunableName;
use std::cell::{Cell, RefCell};
use std::path::Path;

/// Default machine of rt-app files and benchmarks.
pub const DEFAULT_MACHINE: &str = "hikey960";
/// Kind of a workload that repeats a recorded run.
const RECORDED: &str = "recorded";
const DEFAULT_DURATION: Nanos = Nanos::from_secs(5);
/// Longest simulated time of a benchmark that runs until it is done.
const MAX_DURATION: Nanos = Nanos::from_secs(3600);
/// Uptime of the machine before a shell starts a benchmark.
const UPTIME: Nanos = Nanos::from_secs(2);
/// Trace of a scenario without a `trace` statement: all events except averages.
const DEFAULT_TRACE: TraceOptions = TraceOptions { level: 3, pelt: false, lags: false };

/// Run before its machine exists, for any engine.
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct PreparedRun {
    pub setup: Setup,
    pub about: RunAbout,
    pub bench: Option<Box<dyn BenchObserver>>,
    seed: Option<u64>,
}

/// Information about a run for its reports.
#[expect(missing_docs, reason = "the field names describe their content")]
#[derive(Clone, Debug)]
pub struct RunAbout {
    pub subject: RunSubject,
    /// Name of the workload file or the benchmark, for messages.
    pub name: String,
    /// Workload file with its text; `None` for a benchmark.
    pub workload: Option<InputFile>,
    /// File of the machine with its text; `None` if a scenario describes the machine.
    pub machine: Option<InputFile>,
    /// Content of a trace as lines of JSON.
    pub trace: TraceOptions,
    /// Whether neither the workload nor a setting gives the duration.
    pub is_default_duration: bool,
    /// Time before the measured part: the starts of a benchmark's instances, and the warm-up.
    pub warmup: WarmupPlan,
    /// Additions that the workload uses and the kernel does not have. They were removed from the workload.
    pub missing: Vec<MissingAddition>,
}

impl PreparedRun {
    /// Rejects a workload that uses something that the kernel does not have.
    ///
    /// # Errors
    /// If something was removed from the workload.
    pub fn with_whole_workload(self) -> Result<Self, RequestError> {
        match self.about.missing.first() {
            Some(missing) => Err(RequestError::Input(missing.error().about(&self.about.name))),
            None => Ok(self),
        }
    }
}

/// Run on a machine, before its start.
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct ReadyRun<E> {
    pub machine: Machine<E>,
    pub about: RunAbout,
    pub bench: Option<Box<dyn BenchObserver>>,
}

/// Workload of any kind before settings are applied.
struct LoadedWorkload {
    kind: &'static str,
    /// Features and tunables in it are only those that the file sets. The duration is that of the file.
    setup: Setup,
    machine: Option<ReadMachine>,
    /// Kernel of the run, whose series the setup has.
    kernel: Kernel,
    has_duration: bool,
    trace: TraceOptions,
}

/// Reads the files of a run and applies its settings.
///
/// # Errors
/// If a file is wrong, or a setting does not fit the machine or the workload.
pub fn prepare(spec: &RunSpec) -> Result<PreparedRun, RequestError> {
    let settings = &spec.settings;
    let (loaded, name, workload, benchmark) = match &spec.workload {
        WorkloadSpec::File(file) => {
            let file = file.read_workload()?;
            (LoadedWorkload::from_file(&file, settings)?, file.name().to_owned(), Some(file), None)
        }
        WorkloadSpec::Bench(bench) => {
            let (loaded, observer) = LoadedWorkload::from_bench(bench, settings)?;
            (loaded, bench.line.clone(), None, Some((observer, &bench.benchmark)))
        }
    };
    let LoadedWorkload { kind, mut setup, machine, kernel, has_duration, trace } = loaded;
    settings.check_names(kernel).map_err(RequestError::Input)?;
    let Settings { prices, plain, duration, .. } = settings;
    if prices.source == Some(CostSource::Machine) && setup.hardware.costs.is_zero_cost() && benchmark.is_none() {
        let name = if machine.is_none() { "a scenario" } else { &setup.hardware.name };
        setup.workload.warnings.push(format!("--prices machine: {name} has no costs, so kernel code has zero cost"));
    }
    let is_built_in = settings.kernel_engine().is_none();
    let missing = if is_built_in { kernel.remove_missing_additions(&mut setup.workload) } else { Vec::new() };
    setup.workload.warnings.extend(missing.iter().map(MissingAddition::warning));
    // The kernel of an engine is that of its tree.
    apply(&mut setup, settings, Some(kernel).filter(|_| is_built_in || settings.kernel.is_some()))?;
    if let Some((_, benchmark)) = &benchmark
        && setup.hardware.costs.is_zero_cost()
    {
        let (bench, machine) = (benchmark.name(), &setup.hardware.name);
        if benchmark.is_kernel_work() {
            return Err(no_time_would_pass(bench, machine, *plain));
        }
        if prices.source != Some(CostSource::Zero) && settings.costs != CallCosts::Zero && plain.is_none() {
            return Err(zero_cost_latencies(bench, machine));
        }
    }
    match settings.warmup.filter(|_| benchmark.is_none() && duration.is_none()) {
        None => {}
        Some(Warmup::After(length)) if has_duration && length < setup.duration => {
            // The duration of the file includes the warm-up.
            setup.duration = setup.duration - length;
        }
        Some(warmup) => {
            let what = match warmup {
                Warmup::After(length) if has_duration => {
                    format!("a warm-up of {length} leaves nothing of the duration of {} to measure", setup.duration)
                }
                _ => "a warm-up needs a measured time after it".to_owned(),
            };
            let help = "set the measured time, such as --for 500ms";
            return Err(RequestError::Input(Message::new(format!("{name}: {what}")).with_help(help)));
        }
    }
    if kind == RECORDED && matches!(settings.warmup, Some(Warmup::Settled { .. })) {
        let help = "give the warm-up a length, such as --warmup 500ms";
        return Err(RequestError::Input(
            Message::new(format!("{name}: a recorded run repeats its recording and does not settle")).with_help(help),
        ));
    }
    if benchmark.is_some() && duration.is_none() && setup.duration == Nanos::ZERO {
        let help = "set the measured time, such as --for 500ms";
        return Err(RequestError::Input(Message::new(format!("{name} runs until it is stopped")).with_help(help)));
    }
    if let Some(seed) = settings.starts_seed() {
        let is_program = benchmark.as_ref().is_some_and(|(_, benchmark)| benchmark.runs_to_end());
        let groups = if is_program { StartGroups::Program } else { StartGroups::Tasks };
        vary_starts(&mut setup.workload, &setup.hardware, seed, groups);
    }
    let warmup = WarmupPlan::new(settings.warmup, Nanos::ZERO, &setup.workload);
    setup.duration = Nanos(duration.unwrap_or(setup.duration).0.saturating_add(warmup.latest().0));
    setup.workload.warnings.extend(late_changes_warning(&setup));
    let subject = RunSubject {
        workload: spec.workload.name().to_owned(),
        kind: kind.to_owned(),
        machine: setup.hardware.name.clone(),
        kernel: kernel.name.to_owned(),
    };
    let about = RunAbout {
        subject,
        name,
        workload,
        machine: machine.map(|machine| machine.file),
        trace,
        is_default_duration: duration.is_none() && !has_duration,
        warmup,
        missing,
    };
    Ok(PreparedRun { setup, about, bench: benchmark.map(|(observer, _)| observer), seed: settings.seed })
}

/// Returns a warning about changes after the end of the run.
fn late_changes_warning(setup: &Setup) -> Option<String> {
    let late = setup.workload.changes.iter().map(|(at, _)| *at).filter(|at| *at > setup.duration);
    let (number, first) = (late.clone().count(), late.min()?);
    let end = setup.duration;
    Some(match number {
        1 => format!("a change at {first} has no effect: the run ends at {end}"),
        _ => format!("{number} changes have no effect, the first at {first}: the run ends at {end}"),
    })
}

/// Replaces a warm-up that lasted until the run had settled by its length, for a repetition whose observers need the length
/// of the run before it starts. The events are identical.
///
/// # Errors
/// As for [`prepare`].
pub fn with_known_length(mut spec: RunSpec, settling: Option<&Settling>) -> Result<RunSpec, RequestError> {
    if settling.is_some() {
        let PreparedRun { setup, about, .. } = prepare(&spec)?;
        // A fixed warm-up counts from the starts of the workload, which may precede those of its tasks.
        spec.settings.warmup = Some(Warmup::After(about.warmup.length(settling) - setup.workload.starts));
    }
    Ok(spec)
}

/// Changes machine and scheduler; features and tunables of the kernel are placed before those of the file.
///
/// Not applied are the engine, and settings that the workload is read with.
///
/// # Errors
/// If a setting does not fit the machine.
///
/// # Panics
/// If the setup is for a series other than that of the kernel.
pub fn apply(setup: &mut Setup, settings: &Settings, kernel: Option<Kernel>) -> Result<(), RequestError> {
    // Without `..`, so that a setting that changes nothing here does not compile.
    let Settings {
        machine: _,
        kernel: _,
        engine: _,
        features,
        tunables,
        governor,
        cpu_dma_latency,
        idle_states,
        autogroup,
        background,
        prices,
        costs,
        facts,
        plain,
        policy,
        seed: _,
        starts: _,
        perturb,
        keep_duplicate_keys: _,
        duration: _,
        warmup: _,
    } = settings;
    if let Some(kernel) = kernel {
        apply_kernel(setup, kernel);
    }
    setup.features.extend(features.iter().map(|(name, is_on)| (name.clone(), *is_on)));
    setup.tunables.extend(tunables.iter().map(|(name, value)| (name.as_str().into(), *value)));
    apply_plain(&mut setup.hardware, *plain);
    apply_costs(&mut setup.hardware, prices)?;
    apply_facts(setup, facts, *plain)?;
    apply_single_costs(&mut setup.hardware, prices);
    if *costs == CallCosts::Zero {
        setup.hardware.remove_costs();
    }
    let hardware = &mut setup.hardware;
    apply_governor(hardware, *governor)?;
    let has_idle_states = hardware.idle_states.iter().any(|states| !states.is_empty());
    let unused = |what: &str| format!("{what} has no effect: {} has no idle states", hardware.name);
    let of_states = idle_states.filter(|_| !has_idle_states).map(|number| unused(&format!("--idle-states {number}")));
    let latency = [setup.workload.cpu_dma_latency, *cpu_dma_latency].into_iter().flatten().min();
    let of_latency = latency.filter(|_| !has_idle_states);
    let of_latency = of_latency.map(|limit| unused(&format!("the request for a wake-up latency of at most {limit}")));
    setup.workload.warnings.extend(of_states.into_iter().chain(of_latency));
    if let Some(number) = idle_states {
        let number = usize::try_from(*number).unwrap_or(usize::MAX);
        hardware.idle_states.iter_mut().for_each(|states| states.truncate(number));
    }
    let is_default = hardware.autogroup && !hardware.costs.is_zero_cost() && setup.workload.has_shell();
    if autogroup.unwrap_or(is_default) {
        setup.workload.enter_autogroup();
    }
    apply_background(setup, *background);
    setup.workload.cpu_dma_latency = latency;
    if let Some(policy) = policy {
        let assumption = format!("the policy {} selects CPUs at wake-ups instead of the kernel's rules", policy.name);
        setup.workload.assumptions.push(assumption);
        setup.policy = Some(policy.make().map_err(RequestError::Input)?);
    }
    setup.perturb = *perturb;
    Ok(())
}

/// Adds the background of the kernel to the workload, unless kernel code has no costs.
fn apply_background(setup: &mut Setup, given: Option<bool>) {
    let hardware = &setup.hardware;
    if !given.unwrap_or(hardware.background) {
        return;
    }
    if hardware.costs.is_zero_cost() {
        let warning = format!("--background on: {} has no costs, so there is no background", hardware.name);
        setup.workload.warnings.extend(given.map(|_| warning));
    } else {
        setup.workload.background = background::sources(hardware.processor.as_ref());
    }
}

fn apply_plain(hardware: &mut Hardware, plain: Option<Plain>) {
    match plain {
        None => {}
        Some(Plain::Shape) => *hardware = hardware.topology_only(),
        Some(Plain::Priced) => *hardware = hardware.topology_with_costs(),
    }
}

impl PreparedRun {
    /// Boots a machine with the built-in scheduler.
    ///
    /// # Errors
    /// If hardware, a tunable or a quota is invalid.
    pub fn boot(self) -> Result<ReadyRun<fairlab_sched::sched::Sched>, RequestError> {
        self.boot_with(Machine::new)
    }

    /// Boots a machine that `make` creates.
    ///
    /// # Errors
    /// As [`Self::boot`], and if the engine does not support the run.
    pub fn boot_with<E: Engine>(
        self,
        make: impl FnOnce(Setup) -> Result<Machine<E>, SetupError>,
    ) -> Result<ReadyRun<E>, RequestError> {
        let Self { setup, about, bench, seed } = self;
        let of_machine = about.machine.as_ref().filter(|_| bench.is_some());
        let name = of_machine.map_or(about.name.as_str(), |machine| &machine.given);
        let mut machine = make(setup).map_err(|error| RequestError::Input(Message::from(error).about(name)))?;
        if let Some(seed) = seed {
            machine.seed(seed);
        }
        Ok(ReadyRun { machine, about, bench })
    }
}

impl RunAbout {
    /// Returns the files that were read.
    pub fn inputs(&self) -> Vec<&Path> {
        [&self.workload, &self.machine].into_iter().flatten().map(InputFile::path).collect()
    }

    /// Returns the name of the process whose threads the tasks are, if there is one.
    pub fn process(&self) -> Option<&str> {
        match self.subject.kind.as_str() {
            kind if self.workload.is_none() => Some(kind),
            "rt-app" => Some("rt-app"),
            _ => None,
        }
    }
}

fn apply_kernel(setup: &mut Setup, kernel: Kernel) {
    assert_eq!(setup.series, kernel.series(), "a setup for {}", kernel.name);
    let of_file = std::mem::take(&mut setup.features);
    let of_kernel = kernel.features().into_iter().map(|(feature, is_on)| (feature.name().to_owned(), is_on));
    setup.features = of_kernel.chain(of_file).collect();
    let of_file = std::mem::take(&mut setup.tunables);
    let of_kernel = kernel.tunables().into_iter().map(|(info, value)| (TunableName::BuiltIn(info), value));
    setup.tunables = of_kernel.chain(of_file).collect();
}

/// Sets the source of costs, and the facts that these follow from.
fn apply_costs(hardware: &mut Hardware, costs: &CostChoice) -> Result<(), RequestError> {
    match &costs.source {
        None | Some(CostSource::Machine) => {}
        Some(CostSource::Zero) => hardware.remove_costs(),
        Some(CostSource::Of(machine)) => {
            let machine = machine.read_machine()?.description;
            (hardware.costs, hardware.processor) = (CostModel::from_machine(&machine), machine.processor().cloned());
        }
    }
    Ok(())
}

fn apply_single_costs(hardware: &mut Hardware, costs: &CostChoice) {
    for (operation, ps) in &costs.operations {
        assert!(hardware.costs.set_by_name(operation, *ps), "settings only have operations that exist: {operation}");
    }
}

/// Sets the governor of a machine that must have frequency domains.
fn apply_governor(hardware: &mut Hardware, governor: Option<GovernorName>) -> Result<(), RequestError> {
    let Some(governor) = governor else { return Ok(()) };
    if hardware.frequency_domains.is_empty() {
        let help = "add `[[frequency_domain]]` to its file, or `fdom` to a scenario";
        let message =
            Message::new(format!("--governor: the machine {} has no frequency domains", hardware.name)).with_help(help);
        return Err(RequestError::Input(message));
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

/// Returns the error of a benchmark that does only kernel work, on a machine where that has zero cost.
fn no_time_would_pass(bench: &str, machine: &str, plain: Option<Plain>) -> RequestError {
    let help = if plain == Some(Plain::Shape) {
        "`--plain=priced` keeps the costs of a machine that has them"
    } else {
        "choose a machine with costs, take those of another one with --prices NAME, or write `[processor]` into the \
         machine's file"
    };
    RequestError::Input(
        Message::new(format!(
            "{bench} does only kernel work, which has zero cost on {machine} without a cost model: no time would pass"
        ))
        .with_help(help),
    )
}

fn zero_cost_latencies(bench: &str, machine: &str) -> RequestError {
    RequestError::Input(Message::new(format!("{bench} measures kernel code, which has zero cost on {machine} without a cost model")).with_help("choose a machine with costs, take those of another one with --prices NAME, or accept zero costs with --prices zero"))
}

/// Returns the kernel of a run. In order: the selected one, the one that the workload names, that of the machine file, the
/// default.
pub fn kernel_of(settings: &Settings, of_workload: Option<Kernel>, machine: Option<&MachineDescription>) -> Kernel {
    let of_machine = || machine.and_then(|machine| Kernel::from_name(machine.kernel()));
    settings.kernel.or(of_workload).or_else(of_machine).unwrap_or_else(Kernel::default_profile)
}

/// Returns the series of a run with this kernel, and whose names of features and tunables a workload file may use.
pub fn switch_names(settings: &Settings, kernel: Kernel) -> SwitchNames {
    match settings.kernel_engine() {
        None => SwitchNames::BuiltIn(kernel.series()),
        Some(_) => SwitchNames::CompiledKernel(kernel.series()),
    }
}

fn nr_cpus(machine: &ReadMachine) -> u32 {
    u32::try_from(machine.description.nr_cpus()).unwrap_or(u32::MAX)
}

impl LoadedWorkload {
    fn from_file(file: &InputFile, settings: &Settings) -> Result<Self, RequestError> {
        let (name, text) = (file.name(), file.text().expect("the file was read"));
        let given = settings.machine.as_ref().map(InputFile::read_machine).transpose()?;
        match detect(name, text).map_err(RequestError::input)? {
            WorkloadKind::Scenario => Self::from_scenario(name, text, given, settings),
            WorkloadKind::RtApp => {
                let machine = given.map_or_else(|| InputFile::new(DEFAULT_MACHINE).read_machine(), Ok)?;
                Self::from_rtapp(name, text, settings, machine)
            }
            WorkloadKind::Recorded => Self::from_recorded(name, text, given, settings),
        }
    }

    fn new(kind: &'static str, setup: Setup, machine: Option<ReadMachine>, kernel: Kernel) -> Self {
        Self { kind, setup, machine, kernel, has_duration: true, trace: DEFAULT_TRACE }
    }

    fn from_scenario(
        name: &str,
        text: &str,
        given: Option<ReadMachine>,
        settings: &Settings,
    ) -> Result<Self, RequestError> {
        let named = RefCell::new(None);
        let load = |name: &str| {
            let machine = InputFile::new(name).read_machine().map_err(Message::from)?;
            let nr_cpus = nr_cpus(&machine);
            named.replace(Some(machine));
            Ok(nr_cpus)
        };
        let kernel = Cell::new(None);
        let kernel_lookup = |name: Option<&str>| {
            let of_file = name.map(kernel_from_name).transpose()?;
            let named = named.borrow();
            let machine = given.as_ref().or(named.as_ref()).map(|machine| &machine.description);
            let of_run = kernel_of(settings, of_file, machine);
            kernel.set(Some(of_run));
            Ok(switch_names(settings, of_run))
        };
        let context = ParseContext {
            given: given.as_ref().map(nr_cpus),
            named: &load,
            vary: settings.starts_seed(),
            kernel: &kernel_lookup,
        };
        let mut scenario = scenario::parse_with_context(name, text, context).map_err(RequestError::input)?;
        let trace = TraceOptions::of_scenario(&scenario, DEFAULT_TRACE.level);
        if let Some(machine) = given.as_ref().filter(|_| scenario.is_replaced) {
            let own = scenario.named_machine.as_ref().map_or("the machine that the file describes", |name| name);
            let assumption = format!("--machine {} replaces {own}", machine.description.name());
            scenario.workload.assumptions.push(assumption);
        }
        let machine = given.or_else(|| named.take());
        let mut setup = match &machine {
            Some(machine) => Setup::with_hardware(Hardware::from_description(&machine.description), scenario),
            None => Setup::from_scenario(scenario),
        };
        // The reference, which judges scenarios, has no background.
        setup.hardware.background = false;
        let kernel = kernel.get().expect("the parser looks up the kernel of each file");
        Ok(Self { trace, ..Self::new("scenario", setup, machine, kernel) })
    }

    fn from_recorded(
        name: &str,
        text: &str,
        machine: Option<ReadMachine>,
        settings: &Settings,
    ) -> Result<Self, RequestError> {
        let kernel = kernel_of(settings, None, machine.as_ref().map(|machine| &machine.description));
        let mut recorded = recorded::parse(name, text).map_err(RequestError::input)?;
        let mut hardware = match &machine {
            Some(machine) => Hardware::from_description(&machine.description),
            None => Hardware::from_recorded(&recorded),
        };
        // A recording contains its own background.
        hardware.background = false;
        let mut governed = hardware.clone();
        apply_governor(&mut governed, settings.governor)?;
        if governed.frequency_domains.iter().any(FrequencyDomain::has_governor_thread) {
            recorded.remove_governor_threads();
        }
        let nr_cpus = u32::try_from(hardware.nr_cpus()).unwrap_or(u32::MAX);
        let duration = recorded.end;
        let setup = Setup::new(kernel.series(), hardware, recorded.into_workload(nr_cpus), duration);
        Ok(Self::new(RECORDED, setup, machine, kernel))
    }

    fn from_rtapp(name: &str, text: &str, settings: &Settings, machine: ReadMachine) -> Result<Self, RequestError> {
        let kernel = kernel_of(settings, None, Some(&machine.description));
        let capacities = machine.description.topology().capacity;
        let duplicate_keys =
            if settings.keep_duplicate_keys { DuplicateKeys::KeepAll } else { DuplicateKeys::LastValue };
        let options = rtapp::RtAppOptions {
            duplicate_keys,
            is_duration_given: settings.duration.is_some(),
            switch_names: switch_names(settings, kernel),
            ..rtapp::RtAppOptions::for_capacities(kernel.series(), &capacities)
        };
        let workload = rtapp::parse(name, text, options).map_err(RequestError::input)?;
        let duration = workload.duration.filter(|duration| *duration > Nanos::ZERO);
        let hardware = Hardware::from_description(&machine.description);
        let setup = Setup::new(kernel.series(), hardware, workload, duration.unwrap_or(DEFAULT_DURATION));
        Ok(Self { has_duration: duration.is_some(), ..Self::new("rt-app", setup, Some(machine), kernel) })
    }

    fn from_bench(bench: &BenchSpec, settings: &Settings) -> Result<(Self, Box<dyn BenchObserver>), RequestError> {
        let default = InputFile::new(DEFAULT_MACHINE);
        let machine = settings.machine.as_ref().unwrap_or(&default).read_machine()?;
        let nr_cpus = nr_cpus(&machine);
        let hardware = Hardware::from_description(&machine.description);
        let has_costs = {
            let mut costs = hardware.clone();
            apply_plain(&mut costs, settings.plain);
            apply_costs(&mut costs, &settings.prices)?;
            apply_single_costs(&mut costs, &settings.prices);
            settings.costs != CallCosts::Zero && !costs.costs.is_zero_cost()
        };
        let benchmark = bench.benchmark.for_run(nr_cpus, has_costs, settings.seed.unwrap_or(0));
        let mut observer = bench::observer(&benchmark);
        let name = benchmark.name();
        if settings.warmup.is_some() && !observer.reset() {
            let help = "omit --warmup: the benchmark runs until it has completed its work";
            return Err(RequestError::Input(Message::new(format!("{name} has no warm-up")).with_help(help)));
        }
        if let Some(cpu) = benchmark.missing_cpu(nr_cpus) {
            let (test, help) = (&bench.line, format!("CPUs are 0 to {}", nr_cpus - 1));
            return Err(RequestError::Input(
                Message::new(format!("{test} needs CPU {cpu}, which the machine lacks")).with_help(help),
            ));
        }
        let mut workload = benchmark.workload(nr_cpus);
        let duration = workload.duration.unwrap_or(MAX_DURATION);
        if workload.starts > Nanos::ZERO {
            workload.begin_after(UPTIME);
        }
        let kernel = kernel_of(settings, None, Some(&machine.description));
        let setup = Setup::new(kernel.series(), hardware, workload, duration);
        let loaded = Self::new(name, setup, Some(machine), kernel);
        Ok((loaded, observer))
    }
}
