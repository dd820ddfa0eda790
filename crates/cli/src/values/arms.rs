// SPDX-License-Identifier: GPL-2.0-or-later
//! Arms: lists of changes to a run. `--arm`, plans of sweeps and `fairlab bisect` take them.
//!
//! Changes are features (`NAME`, `NO_NAME`), tunables (`NAME=VALUE`), settings of the catalogue
//! ([`fairlab_run::settings`]), costs (`price.OPERATION=NS`), facts (`fact.KEY=VALUE`), `workload=` and `bench=`; later ones override
//! earlier ones. A name may precede them: `old: kernel=5.4`.

use fairlab_run::settings::{Change, SETTINGS, Setting, commands};
use fairlab_run::values::{EngineName, check_changes, parse_feature, parse_setting, tunable_from_name};
use fairlab_workload::message::Message;
use fairlab_workload::suggest;

/// Name of an arm without a change.
pub(crate) const UNCHANGED: &str = "unchanged";

/// Arm: changes on top of a command's options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arm {
    /// Name of the arm, or its text.
    pub(crate) name: String,
    pub(crate) changes: Vec<Change>,
    pub(crate) work: Option<ArmWork>,
}

/// Workload of an arm that differs from the command's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ArmWork {
    File(String),
    /// Line of a benchmark.
    Bench(String),
}

/// Returns the keys of changes other than features, tunables, single costs and facts.
pub(crate) fn keys() -> Vec<&'static str> {
    let settings = SETTINGS.iter().filter(|setting| is_key(setting) && setting.commands != commands::NONE);
    settings.map(|setting| setting.name).chain(["workload", "bench"]).collect()
}

/// Whether a setting is written `name=value`: features, tunables and facts are changes by their own names.
fn is_key(setting: &Setting) -> bool {
    setting.is_change && !["features", "tunables", "facts"].contains(&setting.name)
}

/// Prefixes of keys that name an entry of a setting, with the setting.
const PREFIXES: [(&str, &str); 2] = [("price.", "prices"), ("fact.", "facts")];

fn setting(name: &str) -> &'static Setting {
    Setting::from_name(name).expect("the catalogue has it")
}

impl Arm {
    /// Returns the arm without a change.
    pub(crate) fn unchanged() -> Self {
        Self { name: UNCHANGED.to_owned(), ..Self::default() }
    }

    /// Returns an arm that only changes the engine and has its name.
    pub(crate) fn from_engine(engine: &EngineName) -> Self {
        let name = engine.to_string();
        let change = setting("engine").change(&name).expect("the name of an engine is a value");
        Self { name, changes: vec![change], work: None }
    }

    /// Parses one change and adds it.
    fn parse_change(&mut self, word: &str) -> Result<(), Message> {
        let Some((key, value)) = word.split_once('=') else {
            if word != UNCHANGED {
                self.changes.push(setting("features").change(word)?);
            }
            return Ok(());
        };
        let known = SETTINGS.iter().find(|setting| is_key(setting) && setting.name == key);
        if (known.is_some() || ["workload", "bench"].contains(&key)) && value.is_empty() {
            return Err(Message::new(format!("{key}= has no value")));
        }
        match (key, known) {
            ("workload", _) => self.work = Some(ArmWork::File(value.to_owned())),
            ("bench", _) => self.work = Some(ArmWork::Bench(value.to_owned())),
            (_, Some(known)) => self.changes.push(known.change(value)?),
            _ => self.changes.push(match PREFIXES.iter().find(|(prefix, _)| key.starts_with(prefix)) {
                Some((prefix, name)) => setting(name).change(&word[prefix.len()..]).map_err(|error| {
                    let with_prefix = |help: String| help.replace("did you mean ", &format!("did you mean {prefix}"));
                    Message { help: error.help.map(with_prefix), ..error }
                })?,
                None => setting("tunables").change(word).map_err(|error| match suggest::nearest(key, &keys()) {
                    Some(near) if tunable_from_name(key).is_err() => {
                        Message::new("unknown change").with_help(format!("did you mean {near}={value}?"))
                    }
                    _ => error,
                })?,
            }),
        }
        Ok(())
    }

    /// Rejects a feature or tunable that the arm sets to two different values.
    fn check_conflicts(&self) -> Result<(), Message> {
        let of = |name: &'static str| {
            let changes = self.changes.iter().filter(move |change| change.setting.name == name);
            changes.map(|change| change.text.as_str())
        };
        let features: Vec<_> = of("features").map(parse_feature).collect::<Result<_, _>>()?;
        let tunables: Vec<_> = of("tunables").map(parse_setting).collect::<Result<_, _>>()?;
        check_changes(&features, &tunables)
    }
}

pub(crate) fn parse_arm(text: &str) -> Result<Arm, Message> {
    let labelled = text.split_once(':').filter(|(label, rest)| {
        !label.contains(['=', ',']) && !label.trim().is_empty() && (rest.is_empty() || rest.starts_with(' '))
    });
    let (name, changes) = labelled.map_or((text, text), |(label, rest)| (label.trim(), rest.trim()));
    let mut arm = Arm { name: name.to_owned(), ..Arm::default() };
    for word in changes.split(',').map(str::trim).filter(|word| !(word.is_empty() && labelled.is_some())) {
        arm.parse_change(word).map_err(|error| match text.split_once(':') {
            Some((label, rest)) if labelled.is_none() && !label.contains(['=', ',']) && !label.is_empty() => {
                Message::new("a blank must follow the colon after a name").with_help(format!("write `{label}: {rest}`"))
            }
            _ => error,
        })?;
    }
    arm.check_conflicts()?;
    Ok(arm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_run::facts::FactValue;
    use fairlab_run::settings::Settings;
    use fairlab_run::values::CostSource;
    use fairlab_sched::units::Nanos;

    fn settings(arm: &Arm) -> Settings {
        Settings::from_changes(&arm.changes)
    }

    #[test]
    fn an_arm_is_a_list_of_changes_of_all_kinds() {
        let text = "NO_SIS_UTIL,kernel=5.4,migration_cost_ns=0,machine=hikey,governor=performance,prices=zero,price.ScanCpu=17.5,fact.line_ns.llc=least,cpu_dma_latency=20us";
        let arm = parse_arm(text).expect("it is an arm");
        let settings = settings(&arm);
        assert_eq!((arm.name.as_str(), settings.features.len(), settings.tunables.len()), (text, 1, 1));
        assert_eq!(settings.kernel.map(|kernel| kernel.name), Some("5.4"));
        assert_eq!(settings.machine.as_ref().map(|machine| machine.given.as_str()), Some("hikey"));
        assert_eq!(settings.prices.source, Some(CostSource::Zero));
        assert_eq!(settings.prices.operations["ScanCpu"], 17_500);
        assert_eq!(settings.facts["line_ns.llc"], FactValue::Least);
        assert_eq!(settings.cpu_dma_latency, Some(Nanos::from_micros(20)));
        let bench = parse_arm("big: bench=hackbench -g 4 --pipe").expect("it is an arm");
        assert_eq!(
            (bench.name.as_str(), bench.work),
            ("big", Some(ArmWork::Bench("hackbench -g 4 --pipe".to_owned())))
        );
    }

    #[test]
    fn an_arm_may_have_a_name_and_no_change() {
        for text in ["base:", "base: unchanged", "base: "] {
            let arm = parse_arm(text).expect(text);
            assert_eq!((arm.name.as_str(), arm.changes.len()), ("base", 0), "{text}");
        }
        assert!(parse_arm(UNCHANGED).expect("it is an arm").changes.is_empty());
    }

    #[test]
    fn what_means_nothing_is_refused_with_the_way_out() {
        for (text, expected) in [
            ("", "unknown feature"),
            ("latency_ns=1,latency_ns=2", "keep latency_ns=1 or"),
            ("SIS_UTIL,NO_SIS_UTIL", "on and off"),
            ("kernel=5.20", "5.19"),
            ("price.ScanCup=5", "price.ScanCpu"),
            ("price.ScanCpu=-1", "from 0 to"),
            ("fact.line_ns.lcc=5", "did you mean fact.line_ns.llc?"),
            ("fact.line_ns.llc=", "from 0 to 100000 (ns), least or greatest"),
            ("machine=", "has no value"),
            ("eas-off:energy_aware=0", "write `eas-off: energy_aware=0`"),
            ("old:NO_SIS_UTIL", "write `old: NO_SIS_UTIL`"),
            ("governer=schedutil", "did you mean governor=schedutil?"),
            ("SIS_UTIL=1", "is a feature"),
            ("cpu_dma_latency=20", "write 20us"),
        ] {
            let error = parse_arm(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
