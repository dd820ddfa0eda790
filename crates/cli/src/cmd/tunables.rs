// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab tunables`: scheduler tunables, with the defaults of a machine.

use crate::args::TunablesArgs;
use crate::execution::switches::{of_engine, only};
use crate::output::Output;
use crate::output::table::Table;
use crate::values::error::CliError;
use fairlab_machine::engine::TunableState;
use fairlab_run::input::InputFile;
use fairlab_run::kernels::Kernel;
use fairlab_run::values::tunable_in;
use fairlab_sched::tunables::{TunableInfo, Tunables};
use serde::Serialize;

/// Number of CPUs whose defaults are shown without an option. Defaults do not change from 8 CPUs on.
const DEFAULT_CPUS: usize = 8;

#[derive(Serialize)]
struct TunableRow {
    name: String,
    value: i64,
    unit: String,
    min: i64,
    max: i64,
    meaning: String,
}

pub(crate) fn tunables(output: &mut Output, args: &TunablesArgs) -> Result<(), CliError> {
    let (nr_cpus, of) = match &args.machine {
        Some(name) => {
            let machine = InputFile::new(name.as_str()).read_machine()?.description;
            (machine.nr_cpus(), machine.name().to_owned())
        }
        None => {
            let nr_cpus = args.cpus.map_or(DEFAULT_CPUS, usize::from);
            (nr_cpus, format!("{nr_cpus} CPUs"))
        }
    };
    let engine = args.engine.as_ref().and_then(|engine| engine.kernel());
    let rows = match engine {
        None => built_in(args.kernel.unwrap_or_else(Kernel::default_profile), args.tunable.as_deref(), nr_cpus)?,
        Some(name) => of_tree(name, args.tunable.as_deref(), nr_cpus)?,
    };
    output.json_or_text(&rows, |styles| {
        let mut table = Table::default().left(["tunable"]).right([of]).left(["unit", "range"]).wrapped("meaning");
        for row in &rows {
            let (value, range) = (row.value.to_string(), format!("{}..{}", row.min, row.max));
            table.text_row([row.name.as_str(), &value, &row.unit, &range, &row.meaning]);
        }
        table.render(styles)
    })
}

fn built_in(kernel: Kernel, only: Option<&str>, nr_cpus: usize) -> Result<Vec<TunableRow>, CliError> {
    let series = kernel.series();
    let only = only.map(|name| tunable_in(series, name)).transpose().map_err(CliError::input)?;
    let mut tunables = Tunables::of_machine(series, nr_cpus);
    for (info, value) in kernel.tunables() {
        info.set(&mut tunables, value).expect("a kernel has valid values");
    }
    let row = |info: &TunableInfo| TunableRow {
        name: info.name.to_owned(),
        value: info.get(&tunables),
        unit: info.unit.to_owned(),
        min: *info.range.start(),
        max: *info.range.end(),
        meaning: info.meaning.to_owned(),
    };
    let listed = TunableInfo::of_series(series).filter(|one| only.is_none_or(|only| only.name == one.name));
    Ok(listed.map(row).collect())
}

/// Returns the tunables of a compiled kernel.
fn of_tree(engine: &str, name: Option<&str>, nr_cpus: usize) -> Result<Vec<TunableRow>, CliError> {
    let switches = of_engine(engine, nr_cpus)?;
    let tunables = &switches.states.tunables;
    let wanted = only("tunable", name, tunables.iter().map(|tunable| tunable.name.as_str()))?;
    let row = |tunable: &TunableState| {
        let own = TunableInfo::from_name(&tunable.name);
        TunableRow {
            name: tunable.name.clone(),
            value: tunable.value,
            unit: own.map_or_else(|| unit_of(&tunable.name), |info| info.unit).to_owned(),
            min: tunable.min,
            max: tunable.max,
            meaning: switches.meaning(&tunable.name, own.map(|info| info.meaning)),
        }
    };
    Ok(tunables.iter().filter(|tunable| wanted.is_none_or(|name| name == tunable.name)).map(row).collect())
}

/// Returns the unit in which the name of a tunable ends.
fn unit_of(name: &str) -> &str {
    ["ns", "us", "ms"].into_iter().find(|unit| name.ends_with(&format!("_{unit}"))).unwrap_or_default()
}
