// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab tunables`: scheduler tunables, with the defaults of a machine.

use crate::args::TunablesArgs;
use crate::output::Output;
use crate::output::table::{Align, Table};
use crate::values::error::CliError;
use fairlab_run::input::InputFile;
use fairlab_sched::tunables::{TUNABLES, TunableInfo, Tunables};
use serde::Serialize;

/// Number of CPUs whose defaults are shown without an option. Defaults do not change from 8 CPUs on.
const DEFAULT_CPUS: usize = 8;

#[derive(Serialize)]
struct TunableRow {
    name: &'static str,
    value: i64,
    unit: &'static str,
    min: i64,
    max: i64,
    meaning: &'static str,
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
    let tunables = Tunables::for_cpus(nr_cpus);
    let row = |info: &TunableInfo| TunableRow {
        name: info.name,
        value: info.get(&tunables),
        unit: info.unit,
        min: *info.range.start(),
        max: *info.range.end(),
        meaning: info.meaning,
    };
    let rows: Vec<TunableRow> =
        TUNABLES.iter().filter(|one| args.tunable.is_none_or(|only| only.name == one.name)).map(row).collect();
    if output.is_json() {
        return output.json(&rows);
    }
    let mut table = Table::new(&[
        ("tunable", Align::Left),
        (&of, Align::Right),
        ("unit", Align::Left),
        ("range", Align::Left),
        ("meaning", Align::Wrap),
    ]);
    for row in rows {
        let range = format!("{}..{}", row.min, row.max);
        let value = row.value.to_string();
        table.row(vec![row.name.into(), value.into(), row.unit.into(), range.into(), row.meaning.into()]);
    }
    let text = table.render(output.styles());
    output.text(&text)
}
