// SPDX-License-Identifier: GPL-2.0-or-later
//! Calls of `kick_ilb()`: by CPU beside the published ones, by arm, by reason, and with other workloads.

use super::workload::Choice;
use crate::StudyError;
use crate::definition::{ArmDefinition, RowDefinition, StudyDefinition, TableDefinition};
use crate::pictures::{self, Picture};
use crate::pool;
use crate::report::{Measured, Row, Table};
use crate::run::{Run, run};
use crate::tally::Tally;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::observer::Observer;
use fairlab_sched::probe::{Event, KickReason, Probe};
use fairlab_sched::units::Nanos;
use std::collections::BTreeMap;
use std::ops::Range;

/// Length of a run, as published.
const DURATION: Nanos = Nanos::from_secs(5);
const NR_CPUS: usize = 8;
/// The part of the study that other workloads take.
const PART_OF_CHOICES: f64 = 0.1;
const LITTLE: Range<usize> = 0..4;
const BIG: Range<usize> = 4..8;

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// Four periodic tasks of 50 %.
    Four,
    /// Seven always-running tasks.
    Seven,
}

impl Load {
    pub(super) const ALL: [Self; 2] = [Self::Four, Self::Seven];

    /// The name of its published table.
    pub(super) const fn table(self) -> &'static str {
        match self {
            Self::Four => "four",
            Self::Seven => "seven",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Four => "four tasks of 50 %",
            Self::Seven => "seven tasks of 100 %",
        }
    }
}

/// Whether a tick asked, and by which rule it did or did not.
type Reason = (bool, KickReason);

/// The ticks of a run that thought of tickless CPUs.
#[derive(Clone, Debug, Default)]
struct Ticks {
    calls: [u64; NR_CPUS],
    reasons: BTreeMap<(usize, Reason), u64>,
}

impl Probe for Ticks {
    fn event(&mut self, _now: Nanos, event: &Event<'_>) {
        if let Event::KickDecision(decision) = event {
            let (cpu, asked) = (decision.cpu.index(), decision.flags != 0);
            self.calls[cpu] += u64::from(asked);
            *self.reasons.entry((cpu, (asked, decision.reason))).or_default() += 1;
        }
    }
}

impl Observer for Ticks {}

/// What the runs of an arm have shown.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    runs: Vec<Ticks>,
}

impl Counts {
    /// Runs a load under an arm, once for each seed.
    pub(super) fn measure(
        arm: &ArmDefinition,
        hardware: &Hardware,
        load: Load,
        choice: Choice,
    ) -> Result<Self, StudyError> {
        let one = |seed| {
            let workload = match load {
                Load::Four => choice.periodic(4, seed)?,
                Load::Seven => choice.always_running(7, seed)?,
            };
            let mut ticks = Ticks::default();
            run(
                arm,
                Run { hardware: hardware.clone(), workload, duration: DURATION, snapshot_every: None },
                &mut ticks,
            )?;
            Ok::<_, StudyError>(ticks)
        };
        Ok(Self { runs: pool::all((1..=choice.seeds).collect(), one)? })
    }

    /// The calls of some CPUs.
    fn calls(&self, cpus: Range<usize>) -> Measured {
        Measured::mean_of_runs(self.runs.iter().map(|run| run.calls[cpus.clone()].iter().sum::<u64>() as f64).collect())
    }

    /// The ticks of some CPUs with a reason.
    fn ticks(&self, cpus: Range<usize>, reason: Reason) -> Measured {
        let of =
            |run: &Ticks| cpus.clone().map(|cpu| run.reasons.get(&(cpu, reason)).copied().unwrap_or(0)).sum::<u64>();
        Measured::mean_of_runs(self.runs.iter().map(|run| of(run) as f64).collect())
    }

    fn all_reasons(&self) -> Vec<Reason> {
        let mut reasons: Vec<Reason> =
            self.runs.iter().flat_map(|run| run.reasons.keys().map(|(_, reason)| *reason)).collect();
        reasons.sort_unstable_by_key(|(asked, reason)| (!asked, *reason as usize));
        reasons.dedup();
        reasons
    }
}

/// A published table.
pub(super) fn published<'a>(table: &TableDefinition, of: impl Fn(&str) -> &'a Counts) -> Table {
    Table::fill(table, |row| {
        let cpu: usize = row.label.trim_start_matches("CPU ").parse().expect("rows are called CPU and a number");
        of(&row.arm).calls(cpu..cpu + 1)
    })
}

/// Both published tables, measured anew.
pub(super) fn both_published(
    study: &StudyDefinition,
    hardware: &Hardware,
    choice: Choice,
) -> Result<Vec<Table>, StudyError> {
    let measure = |arm, load| Counts::measure(study.arm(arm), hardware, load, choice);
    pool::all(Load::ALL.into(), |load| {
        let (before, after) = pool::both(|| measure("before", load), || measure("after", load))?;
        Ok(published(study.table(load.table()), |arm| if arm == "before" { &before } else { &after }))
    })
}

/// A picture of an arm's rows.
pub(super) fn picture(table: &Table, load: Load, arm: &str) -> Picture {
    let rows = table.rows.iter().filter(|row| row.arm == arm);
    let bars = rows.map(|row| {
        let published = row.published.as_ref().and_then(crate::definition::Figure::number);
        (row.label.clone(), row.value.number().unwrap_or(0.0), published)
    });
    let name = format!("nohz-misfit-kicks-{}-{arm}", load.table());
    let title = format!("Calls of kick_ilb(), {}, {arm}", load.words());
    pictures::bars(&name, &title, "calls in 5 s", &bars.collect::<Vec<_>>())
}

fn own_row(table: &TableDefinition, label: String, arm: &str, measured: Measured) -> Row {
    Row::new(table, &RowDefinition::unpublished(label, arm), measured)
}

fn own_table(table: &TableDefinition, rows: Vec<Row>) -> Table {
    Table { name: table.name.clone(), title: table.title.clone(), rows }
}

const KINDS: [(&str, Range<usize>); 2] = [("little CPUs", LITTLE), ("big CPUs", BIG)];

/// Each change alone.
pub(super) fn changes<'a>(study: &StudyDefinition, of: impl Fn(&str, Load) -> &'a Counts) -> Table {
    let table = study.table("changes");
    let mut rows = Vec::new();
    for load in Load::ALL {
        for (name, cpus) in KINDS {
            for arm in &study.arms {
                let measured = of(&arm.name, load).calls(cpus.clone());
                rows.push(own_row(table, format!("{}, {name}", load.words()), &arm.name, measured));
            }
        }
    }
    own_table(table, rows)
}

/// By reason, before and after.
pub(super) fn reasons<'a>(study: &StudyDefinition, of: impl Fn(&str, Load) -> &'a Counts) -> Table {
    let table = study.table("reasons");
    let mut rows = Vec::new();
    for load in Load::ALL {
        for arm in ["before", "after"] {
            let counts = of(arm, load);
            for (name, cpus) in KINDS {
                for reason in counts.all_reasons() {
                    let asked = match reason {
                        (true, rule) if rule.asks() => "asked",
                        (true, _) => "asked for blocked load alone",
                        (false, _) => "did not ask",
                    };
                    let label = format!("{}, {name}: {asked}, {}", load.words(), reason.1.name());
                    let measured = counts.ticks(cpus.clone(), reason);
                    rows.push(own_row(table, label, arm, measured));
                }
            }
        }
    }
    own_table(table, rows)
}

/// What the choice of the workload does: little CPUs together, and each big one.
pub(super) fn choices(
    study: &StudyDefinition,
    hardware: &Hardware,
    usual: Choice,
    tally: &Tally<'_>,
) -> Result<Table, StudyError> {
    let table = study.table("workload");
    let usual = Choice { seeds: usual.seeds.min(16), ..usual };
    let mut cases = vec![("as in the tables above".to_owned(), Load::Four, usual)];
    for period_us in [20_000, 33_000, 100_000] {
        cases.push((format!("period {} ms", period_us / 1000), Load::Four, Choice { period_us, ..usual }));
    }
    cases.push(("out of phase".to_owned(), Load::Four, Choice { in_phase: false, ..usual }));
    for load in Load::ALL {
        for system_tasks in [0, 2, 4] {
            let label = if system_tasks == 0 {
                "no task of the system".to_owned()
            } else {
                format!("{system_tasks} tasks of the system")
            };
            cases.push((label, load, Choice { system_tasks, ..usual }));
        }
        for system_work_us in [500, 1000, 1500] {
            let label = format!("8 tasks of the system, {:.1} ms", system_work_us as f64 / 1000.0);
            cases.push((label, load, Choice { system_work_us, ..usual }));
        }
    }
    let cases: Vec<_> = cases.iter().flat_map(|case| ["before", "after"].map(|arm| (case, arm))).collect();
    let nr_cases = cases.len();
    let rows = pool::all(cases, |((label, load, choice), arm)| {
        let counts = Counts::measure(study.arm(arm), hardware, *load, *choice)?;
        tally.add("other workloads", PART_OF_CHOICES / nr_cases as f64);
        let big = BIG.map(|cpu| (format!("CPU {cpu}"), cpu..cpu + 1));
        let kinds = std::iter::once(("little CPUs".to_owned(), LITTLE)).chain(big);
        let row = |(name, cpus)| own_row(table, format!("{}, {label}: {name}", load.words()), arm, counts.calls(cpus));
        Ok::<_, StudyError>(kinds.map(row).collect::<Vec<_>>())
    })?;
    Ok(own_table(table, rows.concat()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::machine;

    #[test]
    fn tables_are_the_same_with_any_number_of_threads() {
        let text = include_str!("../../../../studies/nohz-misfit-kicks.toml");
        let study = StudyDefinition::parse("studies/nohz-misfit-kicks.toml", text).expect("it is a study");
        let tables = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be made");
            let tables = pool.install(|| both_published(&study, &machine("hikey960"), Choice::usual(2)));
            serde_json::to_string(&tables.expect("it runs")).expect("tables are JSON")
        };
        let one = tables(1);
        assert_eq!(tables(2), one);
        assert_eq!(tables(5), one);
    }
}
