// SPDX-License-Identifier: GPL-2.0-or-later
//! The study `nohz-misfit-kicks`: which ticks ask an idle CPU to balance for the tickless ones, on HiKey960.
//!
//! [`workload`]: the tasks. [`kicks`]: calls of `kick_ilb()` by CPU, arm and reason. [`misfit`]: where tasks end that are too big for
//! their CPU. Kernel code takes the time that the machine's prices say: several big CPUs ask at the same tick, because each looks at
//! `nohz.next_balance` before another has written it.

mod kicks;
mod misfit;
mod workload;

use crate::definition::{ArmDefinition, StudyDefinition};
use crate::forms::TableForm;
use crate::pool;
use crate::report::{Report, Table};
use crate::run::machine;
use crate::sensitivity;
use crate::tally::Tally;
use crate::{Options, Progress, StudyError};
use kicks::{Counts, Load};
use workload::Choice;

/// The machine.
const MACHINE: &str = "hikey960";
/// Its CPUs, as rows are called.
const CPUS: &[&str] = &["CPU 0", "CPU 1", "CPU 2", "CPU 3", "CPU 4", "CPU 5", "CPU 6", "CPU 7"];

/// The part of the study that kicks take.
const PART_OF_KICKS: f64 = 0.5;
/// That of the table of prices.
const PART_OF_PRICES: f64 = 0.4;

/// The tables.
pub(crate) const TABLES: &[TableForm] = &[
    TableForm::one_of("four", CPUS),
    TableForm::one_of("seven", CPUS),
    TableForm::own("changes"),
    TableForm::own("reasons"),
    TableForm::one_of("misfit", &["one always-running task", "four always-running tasks"]),
    TableForm::own("workload"),
    TableForm::own("prices"),
];

/// Runs the study.
pub(crate) fn run(study: &StudyDefinition, options: Options, progress: &dyn Progress) -> Result<Report, StudyError> {
    let seeds = if options.quick { 8 } else { 64 };
    let usual = Choice::usual(seeds);
    let hardware = machine(MACHINE);
    let tally = Tally::new(progress);
    let cases: Vec<_> = study.arms.iter().flat_map(|arm| Load::ALL.map(|load| (arm, load))).collect();
    let part = PART_OF_KICKS / cases.len() as f64;
    let measure = |(arm, load): (&ArmDefinition, Load)| {
        let counts = Counts::measure(arm, &hardware, load, usual)?;
        tally.add(&format!("kicks, {}", arm.name), part);
        Ok::<_, StudyError>((arm.name.clone(), load, counts))
    };
    let prices = || {
        let few = Choice::usual(8);
        let told = |price: &str, part| tally.add(price, PART_OF_PRICES * part);
        sensitivity::table(study.table("prices"), "before, after", MACHINE, None, told, |hardware| {
            kicks::both_published(study, &hardware, few)
        })
    };
    let (by_arm, others) = pool::both(
        || pool::all(cases, measure),
        || {
            pool::both(
                || pool::both(|| misfit::table(study, &hardware), || kicks::choices(study, &hardware, usual, &tally)),
                || (!options.quick).then(prices).transpose(),
            )
        },
    )?;
    let ((misfit, choices), prices) = others;
    let of = |arm: &str, load: Load| {
        let found = by_arm.iter().find(|(name, other, _)| name == arm && *other == load);
        &found.expect("every arm was measured").2
    };
    let published: Vec<Table> =
        Load::ALL.map(|load| kicks::published(study.table(load.table()), |arm| of(arm, load))).into();
    let pictures = Load::ALL
        .into_iter()
        .zip(&published)
        .flat_map(|(load, table)| ["before", "after"].map(|arm| kicks::picture(table, load, arm)))
        .collect();
    let mut tables = published;
    tables.push(kicks::changes(study, |arm, load| of(arm, load)));
    tables.push(kicks::reasons(study, |arm, load| of(arm, load)));
    tables.extend([misfit, choices]);
    tables.extend(prices);
    let notes = notes(seeds, options.quick);
    let (title, source) = (study.title.clone(), study.source.clone());
    Ok(Report { study: study.name.clone(), title, source, notes, tables, outputs: Vec::new(), pictures })
}

fn notes(seeds: u64, is_quick: bool) -> Vec<String> {
    let mut notes = vec![
        format!(
            "Machine {MACHINE} with its prices, schedutil; kernel 5.0 in all arms. Runs of 5 s, as published; {seeds} seeds, figures are means, \
             spreads half the range. With another seed the tasks start at another phase against the tick."
        ),
        workload::DESCRIPTION.to_owned(),
        "Timekeeping: the tick of one CPU advances the time of the machine, which makes it the last to look at next_balance. When that \
         CPU goes idle the fastest of those that tick next takes over; of equal ones it is the one of lowest number, an accident \
         of order here, and which it is on a board is not known."
            .to_owned(),
    ];
    if is_quick {
        notes.push("The table of prices halved and doubled belongs to the full form.".to_owned());
    }
    notes
}
