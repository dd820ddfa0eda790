// SPDX-License-Identifier: GPL-2.0-or-later
//! One run of an arm with a seed, and what it tells, as JSON: what `fairlab run --json` tells, with `bench` (what `fairlab bench --json`
//! has as `result`), `marks` by their number, `done_s` (from the workload's begin to the end of the last task) and `count`.

use super::runs::RunCase;
use super::workloads::{BenchReader, InputFiles, PreparedWorkload};
use crate::definition::{ArmDefinition, DefinitionError, GovernorName};
use crate::{Elsewhere, StudyError};
use fairlab_machine::costs::CostModel;
use fairlab_machine::engine::Engine;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::{Interest, MachineEvent, NoObserver, Observer};
use fairlab_machine::sim::{Machine, RunError, START, Setup};
use fairlab_observe::bench::elapsed::LastExit;
use fairlab_observe::bench::{self, BenchObserver, RunProgress};
use fairlab_observe::summary::{RunSubject, RunSummary};
use fairlab_observe::summary_observer::SummaryObserver;
use fairlab_sched::probe::{Event, Probe};
use fairlab_sched::units::Nanos;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The longest that a workload is given which runs until it is done.
const MAX_RUN_TIME: Nanos = Nanos::from_secs(3600);

/// What is different from the data in one of several runs of a study: to find out what results depend on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variation {
    /// This price is so many times that of the machine.
    pub(crate) price: Option<(String, u64, u64)>,
    /// Seeds are so much higher.
    pub(crate) seeds_from: u64,
    /// Spans are so many times those of the data.
    pub(crate) span: Option<(u64, u64)>,
    /// What happens at one instant is permuted.
    pub(crate) perturb: Option<u64>,
    /// No run is longer than this: only whether it begins is of interest.
    pub(crate) trial: Option<Nanos>,
    /// At most so many seeds.
    pub(crate) most_seeds: Option<u64>,
}

/// Everything that a run needs beside its case, arm and seed.
pub(crate) struct Site<'a> {
    pub(crate) file: &'a str,
    pub(crate) home: &'a InputFiles,
    pub(crate) benches: &'a dyn BenchReader,
    pub(crate) default_machine: &'a str,
    /// Who runs instead.
    pub(crate) elsewhere: Option<&'a dyn Elsewhere>,
}

/// A run that has been set up, and is to have a machine.
pub struct Begun {
    file: String,
    case: RunCase,
    seed: u64,
    meter: Option<Box<dyn BenchObserver>>,
    begin: Nanos,
    warm_up: Nanos,
    /// Whether it has no length of its own, and must end by itself.
    is_until_done: bool,
}

impl Site<'_> {
    /// The machine on which an arm has a case: the arm's own, the case's, or the study's.
    pub(crate) fn machine_of<'c>(&'c self, case: &'c RunCase, arm: &'c ArmDefinition) -> &'c str {
        arm.machine.as_deref().or(case.machine.as_deref()).unwrap_or(self.default_machine)
    }

    /// Runs a case under an arm with a seed.
    ///
    /// # Errors
    /// If it cannot be set up, or makes no progress.
    pub(crate) fn run(
        &self,
        case: &RunCase,
        arm: &ArmDefinition,
        seed: u64,
        variation: &Variation,
    ) -> Result<Value, StudyError> {
        if let Some(elsewhere) = self.elsewhere {
            return elsewhere.run(&case.name, &arm.name, seed);
        }
        let (setup, begun) = self.begin(case, arm, seed, variation)?;
        begun.run(&mut Machine::new(setup)?)
    }

    /// Sets it up.
    ///
    /// # Errors
    /// If it cannot be.
    pub(crate) fn begin(
        &self,
        case: &RunCase,
        arm: &ArmDefinition,
        seed: u64,
        variation: &Variation,
    ) -> Result<(Setup, Begun), StudyError> {
        let of_case = |message: String| {
            let (file, run) = (self.file.to_owned(), case.name.clone());
            StudyError::Definition(DefinitionError::Run { file, run, message })
        };
        let name = self.machine_of(case, arm);
        let PreparedWorkload { mut setup, meter, has_length } =
            self.home.prepare(case, name, seed, self.benches).map_err(of_case)?;
        if let Some((operation, up, down)) = variation.price.as_ref().filter(|_| has_cost_model(&setup.hardware)) {
            let prices = self.home.machine(name).prices();
            setup.hardware.prices = CostModel::from_list(&prices.with(operation, prices.ps(operation) * up / down));
        }
        arm.apply_to(&mut setup.hardware, case);
        setup.features = arm.features_around(setup.features);
        setup.named_tunables = arm.tunables_around(setup.named_tunables);
        setup.perturb = if case.permute { Some(order_of(seed, variation.perturb)) } else { variation.perturb };
        let begin = case.start.of_seed(seed);
        for task in &mut setup.workload.tasks {
            task.start_at = task.start_at.map(|at| at + begin);
            task.timer_origin += begin;
        }
        let warm_up = begin + case.warm_up;
        let (up, down) = variation.span.unwrap_or((1, 1));
        let span = case.span.map(|span| Nanos(span.0 * up / down));
        setup.duration = match span {
            Some(span) => warm_up + span,
            None if has_length => begin + setup.duration,
            None => MAX_RUN_TIME,
        };
        if let Some(trial) = variation.trial {
            setup.duration = setup.duration.min(warm_up + trial);
        }
        let is_until_done = span.is_none() && !has_length && variation.trial.is_none();
        let (file, case) = (self.file.to_owned(), case.clone());
        Ok((setup, Begun { file, case, seed, meter, begin, warm_up, is_until_done }))
    }
}

impl Begun {
    /// Runs it on a machine of any engine, and tells what it has told.
    ///
    /// # Errors
    /// If it makes no progress, or does not end.
    pub fn run<E: Engine>(self, machine: &mut Machine<E>) -> Result<Value, StudyError> {
        let Self { file, case, seed, meter, begin, warm_up, is_until_done } = self;
        if case.dice {
            machine.seed(seed);
        }
        let mut ears = RunObservers::new(machine, meter);
        ears.measure(machine, warm_up, case.warm_up > Nanos::ZERO)?;
        if is_until_done && !machine.is_done() {
            let message = format!("does not end within {MAX_RUN_TIME}\nhelp: say a `span`");
            return Err(StudyError::Definition(DefinitionError::Run { file, run: case.name, message }));
        }
        Ok(ears.to_json(machine, begin, warm_up, &case))
    }
}

/// A scenario's machine has none, and is not changed.
fn has_cost_model(hardware: &Hardware) -> bool {
    !hardware.prices.is_free()
}

impl ArmDefinition {
    /// Makes a machine that of this arm and a case.
    fn apply_to(&self, hardware: &mut Hardware, case: &RunCase) {
        for (operation, ns) in &self.prices {
            hardware.prices.set_named(operation, (ns * 1000.0).round() as u64);
        }
        for domain in &mut hardware.frequency_domains {
            match self.governor.or(case.governor) {
                Some(GovernorName::Performance) => domain.stay_at_highest(),
                Some(GovernorName::Powersave) => domain.stay_at(0),
                None => {}
            }
        }
        if let Some(most) = self.idle_states.or(case.idle_states) {
            for states in &mut hardware.idle_states {
                states.truncate(most);
            }
        }
    }
}

/// Who listens to a run.
struct RunObservers {
    recorder: SummaryObserver,
    meter: Option<Box<dyn BenchObserver>>,
    marks: BTreeMap<u32, u64>,
    last_exit: LastExit,
}

impl RunObservers {
    fn new(machine: &Machine<impl Engine>, meter: Option<Box<dyn BenchObserver>>) -> Self {
        Self { recorder: SummaryObserver::new(machine), meter, marks: BTreeMap::new(), last_exit: LastExit::default() }
    }

    /// Runs a machine to its end, and forgets what was before the end of the warm-up if there is one.
    fn measure<E: Engine>(
        &mut self,
        machine: &mut Machine<E>,
        warm_up: Nanos,
        has_warm_up: bool,
    ) -> Result<(), RunError> {
        let is_bench = self.meter.is_some();
        machine.start(self)?;
        if has_warm_up {
            machine.advance(self, START + warm_up)?;
            // A benchmark that runs until it is done tells nothing of a part; what else the run tells is of that part all the same.
            self.meter = self.meter.take().and_then(|mut meter| meter.reset().then_some(meter));
            self.recorder.reset(machine, START + warm_up);
            self.marks.clear();
        }
        if is_bench {
            bench::run_to_end(machine, self, &mut |_| true)?;
        } else {
            machine.advance(self, Nanos(u64::MAX))?;
            machine.finish(&mut NoObserver);
        }
        Ok(())
    }

    fn to_json(&self, machine: &Machine<impl Engine>, begin: Nanos, warm_up: Nanos, case: &RunCase) -> Value {
        let subject = RunSubject {
            workload: case.name.clone(),
            machine: machine.hardware().name.clone(),
            ..RunSubject::default()
        };
        let summary = RunSummary::new(subject, machine, &self.recorder);
        let mut told = serde_json::to_value(&summary).expect("a summary is JSON");
        // What an engine does not tell is not zero.
        if let (None, Some(keys)) = (machine.built_in(), told.as_object_mut()) {
            for key in ["placement", "selection", "balance", "measure"] {
                keys.remove(key);
            }
        }
        let measured = machine.duration().saturating_since(warm_up);
        let of_bench =
            self.meter.as_ref().map(|meter| meter.outcome(RunProgress::from_machine(machine), measured).data);
        told["bench"] = of_bench.unwrap_or(Value::Null);
        told["marks"] = self.marks.iter().map(|(phase, count)| (phase.to_string(), json!(count))).collect();
        told["done_s"] = json!(self.last_exit.elapsed().saturating_since(begin).0 as f64 / 1e9);
        told["count"] = json!(case.count);
        told
    }
}

impl Probe for RunObservers {
    #[inline]
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.recorder.event(now, event);
        self.last_exit.event(now, event);
        if let Some(meter) = &mut self.meter {
            meter.event(now, event);
        }
    }
}

impl<E: Engine> Observer<E> for RunObservers {
    fn wants(&self) -> Interest {
        let meter = self.meter.as_ref().map_or(Interest::NOTHING, |meter| meter.wants());
        let last_exit = Observer::<E>::wants(&self.last_exit);
        <SummaryObserver as Observer<E>>::wants(&self.recorder).or(last_exit).or(meter)
    }

    fn wants_kernel_paths(&self) -> bool {
        true
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        if let MachineEvent::Mark { phase, .. } = *event {
            *self.marks.entry(phase).or_default() += 1;
        }
        <SummaryObserver as Observer<E>>::machine_event(&mut self.recorder, now, event);
        if let Some(meter) = &mut self.meter {
            meter.machine_event(now, event);
        }
    }
}

/// The order of equal instants of a seed, another one for each number of `--perturb`.
const fn order_of(seed: u64, perturb: Option<u64>) -> u64 {
    const SEEDS: u64 = 1 << 32;
    let number = match perturb {
        Some(number) => number,
        None => 0,
    };
    number.wrapping_mul(SEEDS).wrapping_add(seed).wrapping_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_seed_has_an_order_of_its_own_and_another_one_with_each_number_of_perturb() {
        let numbers = [None, Some(1), Some(2), Some(1000)];
        let orders: BTreeSet<u64> =
            numbers.iter().flat_map(|&number| (0..100).map(move |seed| order_of(seed, number))).collect();
        assert_eq!(orders.len(), 400);
    }
}
