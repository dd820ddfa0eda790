// SPDX-License-Identifier: GPL-2.0-or-later
//! The book's summary of studies, from the recorded results of whole runs in `studies/results.toml`.

use anyhow::{Context, Result};
use fairlab_study::names;
use std::fs;
use std::path::Path;

const RESULTS: &str = "studies/results.toml";
/// Classes of evidence, in the order of the columns.
const CLASSES: [&str; 6] = ["construction", "calibrated", "follows", "predicted", "trivial", "formula"];

/// Returns a table with one row per study and form.
pub(crate) fn table(root: &Path) -> Result<String> {
    let text = fs::read_to_string(root.join(RESULTS)).context(RESULTS)?;
    let results: toml::Table = text.parse().context(RESULTS)?;
    let mut table = format!("| study | rows | {} | CPU | commit |\n", CLASSES.join(" | "));
    table.push_str(&"|---".repeat(CLASSES.len() + 4));
    table.push_str("|\n");
    for study in names() {
        let forms = results.get(study).and_then(toml::Value::as_table);
        let forms = forms.with_context(|| format!("{RESULTS}: no results of {}", study))?;
        for (form, title) in [("full", study.to_owned()), ("quick", format!("{}, `--quick`", study))] {
            if let Some(result) = forms.get(form).and_then(toml::Value::as_table) {
                table.push_str(&row(&title, result).with_context(|| format!("{RESULTS}: {} {form}", study))?);
            }
        }
    }
    Ok(table)
}

fn row(title: &str, result: &toml::Table) -> Result<String> {
    let evidence = result.get("evidence").and_then(toml::Value::as_table);
    let of_class = |class: &&str| evidence.and_then(|classes| classes.get(*class)).map_or_else(String::new, met_of_all);
    let classes: Vec<String> = CLASSES.iter().map(of_class).collect();
    let rows = met_of_all(result.get("rows").context("`rows` is missing")?);
    let commit = result.get("commit").and_then(toml::Value::as_str).context("`commit` is missing")?;
    let seconds = result.get("cpu_seconds").and_then(toml::Value::as_integer);
    let cpu = seconds.map_or_else(String::new, |seconds| format!("{seconds} s"));
    Ok(format!("| {title} | {rows} | {} | {cpu} | {commit} |\n", classes.join(" | ")))
}

/// Formats the number of rows that met their rule, of all; only all of them where the split was not recorded.
fn met_of_all(counts: &toml::Value) -> String {
    let count = |key: &str| counts.get(key).and_then(toml::Value::as_integer);
    match (count("met"), count("all")) {
        (Some(met), Some(all)) => format!("{met} of {all}"),
        (None, Some(all)) => format!("of {all}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn a_row_has_counts_by_class_of_evidence() {
        let text = "commit = \"abc\"\nrows = { met = 3, all = 5 }\nevidence.predicted = { met = 3, all = 4 }\nevidence.trivial = { all = 1 }\ncpu_seconds = 6";
        let result = text.parse().expect("it is TOML");
        let wanted = "| x | 3 of 5 |  |  |  | 3 of 4 | of 1 |  | 6 s | abc |\n";
        assert_eq!(row("x", &result).expect("nothing is missing"), wanted);
    }
}
