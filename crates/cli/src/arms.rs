// SPDX-License-Identifier: GPL-2.0-or-later
//! Arms: what is changed of a run, in words. `--arm` takes them, plans of sweeps and `fairlab bisect` do.
//!
//! An arm is a list of changes: features (`NAME`, `NO_NAME`), tunables (`NAME=VALUE`), `kernel=`, `engine=`, `governor=`, `cpu_dma_latency=`, `machine=`, `prices=`,
//! `price.OPERATION=`, `workload=` and `bench=`; later ones override earlier ones. A name may stand before it: `old: kernel=5.4`.

use crate::args::{PriceChoice, VariantArgs};
use crate::embed::policies::{Policy, policy_of};
use crate::values::{
    EngineName, FeatureList, GovernorName, check_changes, engine_of, feature_of, governor_of, kernel_of, micros_of,
    setting_of, tunable_of,
};
use fairlab_machine::description::OPERATIONS;
use fairlab_sched::features::Feature;
use fairlab_sched::units::Nanos;
use fairlab_study::kernels::Kernel;
use fairlab_workload::suggest;

/// The word for an arm without a change.
pub(crate) const UNCHANGED: &str = "unchanged";
/// Keys of changes, beside tunables and prices.
pub(crate) const KEYS: [&str; 8] =
    ["kernel", "engine", "governor", "cpu_dma_latency", "machine", "prices", "workload", "bench"];
/// The highest price of an operation: a second.
const MAX_PRICE_NS: f64 = 1e9;

/// An arm: its changes on top of what a command's options say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arm {
    /// As it was named, or written.
    pub(crate) name: String,
    pub(crate) kernel: Option<Kernel>,
    pub(crate) engine: Option<EngineName>,
    pub(crate) governor: Option<GovernorName>,
    /// The longest exit from an idle state that somebody allows.
    pub(crate) cpu_dma_latency: Option<Nanos>,
    pub(crate) features: Vec<(Feature, bool)>,
    pub(crate) set: Vec<(String, i64)>,
    pub(crate) machine: Option<String>,
    pub(crate) prices: Option<ArmPrices>,
    /// Prices of single operations, in picoseconds.
    pub(crate) price: Vec<(String, u64)>,
    pub(crate) work: Option<ArmWork>,
    /// Who selects CPUs at wake-ups, of the program that embeds this one.
    pub(crate) policy: Option<Policy>,
}

/// What kernel code costs in an arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ArmPrices {
    /// What the machine's file says.
    Machine,
    /// Nothing.
    Zero,
    /// What the file of this machine says.
    Of(String),
}

/// What an arm runs, if not what the others do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ArmWork {
    /// A workload file.
    File(String),
    /// The line of a benchmark.
    Bench(String),
}

impl Arm {
    /// The arm without a change.
    pub(crate) fn unchanged() -> Self {
        Self { name: UNCHANGED.to_owned(), ..Self::default() }
    }

    /// The arm whose change is the engine, and which has its name.
    pub(crate) fn of_engine(engine: &EngineName) -> Self {
        let name = engine.kernel().map_or_else(|| "built-in".to_owned(), |name| format!("kernel:{name}"));
        Self { name, engine: Some(engine.clone()), ..Self::default() }
    }

    /// A variant with the changes of this arm.
    pub(crate) fn on(&self, variant: &VariantArgs) -> VariantArgs {
        let mut variant = variant.clone();
        variant.features.push(FeatureList(self.features.clone()));
        variant.set.extend(self.set.iter().cloned());
        variant.kernel = self.kernel.or(variant.kernel);
        if let Some(engine) = &self.engine {
            variant.engine = vec![engine.clone()];
        }
        variant.governor = self.governor.or(variant.governor);
        variant.cpu_dma_latency = self.cpu_dma_latency.or(variant.cpu_dma_latency);
        variant.machine = self.machine.clone().or(variant.machine);
        variant.policy = self.policy.clone().or(variant.policy);
        match &self.prices {
            None => {}
            Some(ArmPrices::Machine) => variant.prices = Some(PriceChoice::Machine),
            Some(ArmPrices::Zero) => variant.prices = Some(PriceChoice::Zero),
            Some(ArmPrices::Of(machine)) => variant.prices_of = Some(machine.clone()),
        }
        variant.price.extend(self.price.iter().cloned());
        variant
    }

    /// Takes one change.
    fn change(&mut self, word: &str) -> Result<(), String> {
        let Some((key, value)) = word.split_once('=') else {
            if word != UNCHANGED {
                self.features.push(feature_of(word)?);
            }
            return Ok(());
        };
        let text = || if value.is_empty() { Err(format!("{key}= says nothing")) } else { Ok(value.to_owned()) };
        match key {
            "kernel" => self.kernel = Some(kernel_of(value)?),
            "engine" => self.engine = Some(engine_of(value)?),
            "governor" => self.governor = Some(governor_of(value)?),
            "policy" => self.policy = Some(policy_of(value)?),
            "cpu_dma_latency" => self.cpu_dma_latency = Some(micros_of(value)?),
            "machine" => self.machine = Some(text()?),
            "workload" => self.work = Some(ArmWork::File(text()?)),
            "bench" => self.work = Some(ArmWork::Bench(text()?)),
            "prices" => {
                self.prices = Some(match value {
                    "machine" => ArmPrices::Machine,
                    "zero" => ArmPrices::Zero,
                    _ => ArmPrices::Of(text()?),
                });
            }
            _ => match key.strip_prefix("price.") {
                Some(operation) => self.price.push(price_of(operation, value)?),
                None => self.set.push(setting_of(word).map_err(|error| match suggest::nearest(key, &KEYS) {
                    Some(near) if tunable_of(key).is_err() => {
                        format!("there is no such change; did you mean {near}={value}?")
                    }
                    _ => error,
                })?),
            },
        }
        Ok(())
    }
}

/// Reads an arm.
pub(crate) fn arm_of(text: &str) -> Result<Arm, String> {
    let labelled = text.split_once(':').filter(|(label, rest)| {
        !label.contains(['=', ',']) && !label.trim().is_empty() && (rest.is_empty() || rest.starts_with(' '))
    });
    let (name, changes) = labelled.map_or((text, text), |(label, rest)| (label.trim(), rest.trim()));
    let mut arm = Arm { name: name.to_owned(), ..Arm::default() };
    for word in changes.split(',').map(str::trim).filter(|word| !(word.is_empty() && labelled.is_some())) {
        arm.change(word).map_err(|error| match text.split_once(':') {
            Some((label, rest)) if labelled.is_none() && !label.contains(['=', ',']) && !label.is_empty() => {
                format!("a blank must follow the colon behind a name: write `{label}: {rest}`")
            }
            _ => error,
        })?;
    }
    check_changes(&arm.features, &arm.set)?;
    Ok(arm)
}

fn price_of(operation: &str, value: &str) -> Result<(String, u64), String> {
    if !OPERATIONS.contains(&operation) {
        return Err(match suggest::nearest(operation, &OPERATIONS) {
            Some(near) => format!("there is no such operation; did you mean price.{near}?"),
            None => "there is no such operation; see the prices in `fairlab machine show --toml NAME`".to_owned(),
        });
    }
    let ns = value.parse::<f64>().ok().filter(|ns| (0.0..=MAX_PRICE_NS).contains(ns));
    let ns = ns.ok_or_else(|| format!("price.{operation} is a number of nanoseconds, from 0 to {MAX_PRICE_NS:.0}"))?;
    Ok((operation.to_owned(), (ns * 1000.0).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_is_a_list_of_changes_of_all_kinds() {
        let text = "NO_SIS_UTIL,kernel=5.4,migration_cost_ns=0,machine=hikey,governor=performance,prices=zero,price.ScanCpu=17.5";
        let arm = arm_of(text).expect("it is an arm");
        assert_eq!((arm.name.as_str(), arm.features.len(), arm.set.len()), (text, 1, 1));
        assert_eq!(arm.kernel.map(|kernel| kernel.name), Some("5.4"));
        assert_eq!((arm.machine.as_deref(), arm.prices.as_ref()), (Some("hikey"), Some(&ArmPrices::Zero)));
        assert_eq!(arm.price, [("ScanCpu".to_owned(), 17_500)]);
        let bench = arm_of("big: bench=hackbench -g 4 --pipe").expect("it is an arm");
        assert_eq!(
            (bench.name.as_str(), bench.work),
            ("big", Some(ArmWork::Bench("hackbench -g 4 --pipe".to_owned())))
        );
    }

    #[test]
    fn an_arm_may_have_a_name_and_no_change() {
        for text in ["base:", "base: unchanged", "base: "] {
            let arm = arm_of(text).expect(text);
            assert_eq!((arm.name.as_str(), arm.features.len()), ("base", 0), "{text}");
        }
        assert!(arm_of(UNCHANGED).expect("it is an arm").features.is_empty());
    }

    #[test]
    fn what_means_nothing_is_refused_with_the_way_out() {
        for (text, expected) in [
            ("NO_SIS_UTL", "NO_SIS_UTIL"),
            ("", "none of that name"),
            ("latency_ns=1,latency_ns=2", "keep latency_ns=1 or"),
            ("SIS_UTIL,NO_SIS_UTIL", "on and off"),
            ("kernel=5.20", "5.19"),
            ("price.ScanCup=5", "price.ScanCpu"),
            ("price.ScanCpu=-1", "from 0 to"),
            ("machine=", "says nothing"),
            ("eas-off:energy_aware=0", "write `eas-off: energy_aware=0`"),
            ("old:NO_SIS_UTIL", "write `old: NO_SIS_UTIL`"),
            ("governer=schedutil", "did you mean governor=schedutil?"),
            ("SIS_UTIL=1", "is a feature"),
            ("cpu_dma_latency=20", "write 20us"),
        ] {
            let error = arm_of(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
