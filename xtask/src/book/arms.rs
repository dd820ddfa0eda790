// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether the page of `fairlab lab` can run what a command of the book runs: the same workload with the same settings, as arm A and
//! a change of arm B.

use super::link::{self, ArmChange};
use super::specs::CommandSpecs;
use anyhow::Result;
use fairlab_run::input::InputFile;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Settings that the page has.
const SETTINGS: [&str; 5] = ["machine", "kernel", "features", "tunables", "duration"];
/// Settings that the page can change in arm B alone.
const CHANGES: [&str; 2] = ["features", "tunables"];

/// Texts that a command of a page of the book can name.
pub(super) struct KnownFiles<'a> {
    /// Examples of the page of `fairlab lab`, by their names.
    pub(super) examples: &'a BTreeMap<String, String>,
    /// Files of the book's page so far.
    pub(super) files: &'a BTreeMap<String, String>,
}

/// Runs that the page of `fairlab lab` shows.
#[derive(Debug)]
pub(super) struct PageArms {
    /// Part of the page's address that opens the runs.
    pub(super) fragment: String,
    /// Specs of arm A and, if it differs, of arm B, with the texts of their workloads.
    pub(super) specs: Vec<RunSpec>,
}

/// Returns the arms of the page with the runs of a command, or why there are none.
pub(super) fn of_command(command: CommandSpecs, known: &KnownFiles<'_>) -> Result<Result<PageArms, String>> {
    match check(command, known) {
        Ok((specs, change)) => Ok(Ok(PageArms { fragment: fragment(&specs[0], &change, known)?, specs })),
        Err(reason) => Ok(Err(reason)),
    }
}

/// Returns the arms of the page with one run of a file of the book.
pub(super) fn of_file(file: &InputFile, known: &KnownFiles<'_>) -> Result<PageArms> {
    let spec = RunSpec::new(WorkloadSpec::File(file.clone()));
    Ok(PageArms { fragment: fragment(&spec, &ArmChange::default(), known)?, specs: vec![spec] })
}

/// Returns the fragment of the address, without the text of an example.
fn fragment(spec: &RunSpec, change: &ArmChange, known: &KnownFiles<'_>) -> Result<String> {
    let mut spec = spec.clone();
    if let WorkloadSpec::File(file) = &mut spec.workload
        && known.examples.get(&file.given).map(String::as_str) == file.text()
    {
        *file = InputFile::new(file.given.as_str());
    }
    link::fragment(&spec, change)
}

/// Returns the specs of the arms and the change of arm B, or why the page does not have these runs.
fn check(command: CommandSpecs, known: &KnownFiles<'_>) -> Result<(Vec<RunSpec>, ArmChange), String> {
    let CommandSpecs { specs, is_repeated } = command;
    if is_repeated {
        return Err("the page runs each arm once".to_owned());
    }
    let specs = specs.into_iter().map(|spec| with_texts(spec, known)).collect::<Result<Vec<_>, _>>()?;
    match &specs[..] {
        [_] => Ok((specs, ArmChange::default())),
        [a, b] => change(a, b).map(|change| (specs, change)),
        _ => Err(format!("the page has two arms, the command {}", specs.len())),
    }
}

/// Returns the spec with the texts of its inputs, or why the page does not have it.
fn with_texts(mut spec: RunSpec, known: &KnownFiles<'_>) -> Result<RunSpec, String> {
    let settings = json!(spec.settings);
    let names = settings.as_object().into_iter().flat_map(|settings| settings.keys());
    let missing: Vec<&str> = names.map(String::as_str).filter(|name| !SETTINGS.contains(name)).collect();
    if !missing.is_empty() {
        return Err(format!("the page has no setting `{}`", missing.join("`, `")));
    }
    let of_book = |name: &str| known.files.get(name).map(String::as_str);
    let WorkloadSpec::File(file) = &spec.workload else { return Err("the page has no benchmarks".to_owned()) };
    let known_text = of_book(&file.given).or_else(|| known.examples.get(&file.given).map(String::as_str));
    if file.text().is_none() || file.text() != known_text {
        return Err(format!("`{}` is neither an example nor a file of this page", file.given));
    }
    if let Some(machine) = &mut spec.settings.machine {
        let name = machine.given.as_str();
        match of_book(name) {
            Some(text) => *machine = machine.clone().with_text(text),
            None if fairlab_board::preset_names().any(|preset| preset == name) => {}
            None => return Err(format!("machine `{name}` is neither built in nor a file of this page")),
        }
    }
    Ok(spec)
}

/// Returns what arm B has in addition to arm A, or why the page cannot have the two.
fn change(a: &RunSpec, b: &RunSpec) -> Result<ArmChange, String> {
    if a.workload != b.workload {
        return Err("the arms have different workloads".to_owned());
    }
    let [of_a, of_b] = [&a.settings, &b.settings].map(|settings| json!(settings));
    if let Some(name) = SETTINGS.iter().find(|name| !CHANGES.contains(name) && of_a.get(name) != of_b.get(name)) {
        return Err(format!("the arms differ in `{name}`, which the page sets for both"));
    }
    for name in CHANGES {
        let [in_a, in_b] = [&of_a, &of_b].map(|settings| settings.get(name).and_then(Value::as_object));
        let mut names = in_a.into_iter().flat_map(|entries| entries.keys());
        if let Some(unset) = names.find(|name| in_b.is_none_or(|entries| !entries.contains_key(*name))) {
            return Err(format!("arm A sets `{unset}`, and the page cannot unset it in arm B"));
        }
    }
    Ok(ArmChange {
        features: changed(&a.settings.features, &b.settings.features),
        tunables: changed(&a.settings.tunables, &b.settings.tunables),
    })
}

/// Returns the entries of `b` that differ from those of `a`.
fn changed<V: Copy + PartialEq>(a: &BTreeMap<String, V>, b: &BTreeMap<String, V>) -> BTreeMap<String, V> {
    b.iter().filter(|(name, value)| a.get(*name) != Some(value)).map(|(name, value)| (name.clone(), *value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_run::settings::Settings;

    /// Returns the change of arm B, or the reason, for arms with these settings.
    fn checked(is_repeated: bool, settings: &[&str]) -> Result<ArmChange, String> {
        let examples = BTreeMap::from([("scenarios/a.scn".to_owned(), "cpus 2\n".to_owned())]);
        let files = BTreeMap::from([("board.toml".to_owned(), "name = \"board\"\n".to_owned())]);
        let spec = |settings: &&str| {
            let settings: Settings = serde_json::from_str(settings).expect("they are settings");
            let file = InputFile::new("scenarios/a.scn").with_text("cpus 2\n");
            RunSpec { workload: WorkloadSpec::File(file), settings }
        };
        let command = CommandSpecs { specs: settings.iter().map(spec).collect(), is_repeated };
        check(command, &KnownFiles { examples: &examples, files: &files }).map(|(_, change)| change)
    }

    #[test]
    fn arm_b_has_what_differs_from_arm_a() {
        let change = checked(
            false,
            &[
                r#"{ "features": { "SIS_UTIL": true, "TTWU_QUEUE": false }, "duration": "5ms" }"#,
                r#"{ "features": { "SIS_UTIL": false, "TTWU_QUEUE": false }, "tunables": { "base_slice_ns": 1 }, "duration": "5ms" }"#,
            ],
        );
        let change = change.expect("the page has the arms");
        assert_eq!(change.features, BTreeMap::from([("SIS_UTIL".to_owned(), false)]));
        assert_eq!(change.tunables, BTreeMap::from([("base_slice_ns".to_owned(), 1)]));
        assert_eq!(checked(false, &[r#"{ "machine": "board.toml" }"#]), Ok(ArmChange::default()));
        assert_eq!(checked(false, &[r#"{ "machine": "laptop-8", "kernel": "6.1" }"#]), Ok(ArmChange::default()));
    }

    #[test]
    fn runs_that_the_page_does_not_have_get_a_reason() {
        let cases: [(bool, &[&str], &str); 7] = [
            (true, &["{}"], "runs each arm once"),
            (false, &["{}", "{}", "{}"], "the command 3"),
            (false, &[r#"{ "prices": ["zero"] }"#], "no setting `prices`"),
            (false, &[r#"{ "machine": "mine.toml" }"#], "machine `mine.toml`"),
            (false, &[r#"{ "kernel": "5.4" }"#, r#"{ "kernel": "6.1" }"#], "differ in `kernel`"),
            (false, &[r#"{ "tunables": { "base_slice_ns": 1 } }"#, "{}"], "cannot unset"),
            (false, &["{}", r#"{ "governor": "performance" }"#], "no setting `governor`"),
        ];
        for (is_repeated, settings, expected) in cases {
            let reason = checked(is_repeated, settings).expect_err(expected);
            assert!(reason.contains(expected), "{reason}");
        }
    }
}
