// SPDX-License-Identifier: GPL-2.0-or-later
//! Arms: lists of changes to a run. `--arm`, plans of sweeps and `fairlab bisect` take them.
//!
//! Changes are features (`NAME`, `NO_NAME`), tunables (`NAME=VALUE`), `kernel=`, `engine=`, `governor=`,
//! `cpu_dma_latency=`, `machine=`, `prices=`, `price.OPERATION=`, `workload=` and `bench=`; later ones
//! override earlier ones. A name may precede them: `old: kernel=5.4`.

use crate::args::{PriceChoice, VariantArgs};
use crate::embed::policies::{NamedPolicy, policy_from_name};
use crate::values::{
    EngineName, FeatureList, GovernorName, check_changes, governor_from_name, kernel_from_name, parse_engine,
    parse_feature, parse_micros, parse_setting, tunable_from_name,
};
use fairlab_machine::description::OPERATIONS;
use fairlab_sched::features::Feature;
use fairlab_sched::units::Nanos;
use fairlab_study::kernels::Kernel;
use fairlab_workload::suggest;

/// Name of an arm without a change.
pub(crate) const UNCHANGED: &str = "unchanged";
/// Keys of changes other than tunables and costs.
pub(crate) const KEYS: [&str; 8] =
    ["kernel", "engine", "governor", "cpu_dma_latency", "machine", "prices", "workload", "bench"];
/// Highest cost of an operation: one second.
const MAX_PRICE_NS: f64 = 1e9;

/// Arm: changes on top of a command's options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arm {
    /// Name of the arm, or its text.
    pub(crate) name: String,
    pub(crate) kernel: Option<Kernel>,
    pub(crate) engine: Option<EngineName>,
    pub(crate) governor: Option<GovernorName>,
    /// Longest exit latency of an idle state that may be entered.
    pub(crate) cpu_dma_latency: Option<Nanos>,
    pub(crate) features: Vec<(Feature, bool)>,
    pub(crate) set: Vec<(String, i64)>,
    pub(crate) machine: Option<String>,
    pub(crate) prices: Option<ArmPrices>,
    /// Costs of single operations, in picoseconds.
    pub(crate) price: Vec<(String, u64)>,
    pub(crate) work: Option<ArmWork>,
    /// Policy of an embedding program that selects CPUs at wake-ups.
    pub(crate) policy: Option<NamedPolicy>,
}

/// Cost model of an arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ArmPrices {
    /// Costs of the machine's file.
    Machine,
    /// Zero cost for all kernel code.
    Zero,
    /// Costs of the file of this machine.
    Of(String),
}

/// Workload of an arm that differs from the command's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ArmWork {
    File(String),
    /// Line of a benchmark.
    Bench(String),
}

impl Arm {
    /// Returns the arm without a change.
    pub(crate) fn unchanged() -> Self {
        Self { name: UNCHANGED.to_owned(), ..Self::default() }
    }

    /// Returns an arm that only changes the engine and has its name.
    pub(crate) fn from_engine(engine: &EngineName) -> Self {
        let name = engine.kernel().map_or_else(|| "built-in".to_owned(), |name| format!("kernel:{name}"));
        Self { name, engine: Some(engine.clone()), ..Self::default() }
    }

    /// Returns the variant with the changes of this arm.
    pub(crate) fn apply_to(&self, variant: &VariantArgs) -> VariantArgs {
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

    /// Parses one change and adds it.
    fn parse_change(&mut self, word: &str) -> Result<(), String> {
        let Some((key, value)) = word.split_once('=') else {
            if word != UNCHANGED {
                self.features.push(parse_feature(word)?);
            }
            return Ok(());
        };
        let text = || if value.is_empty() { Err(format!("{key}= has no value")) } else { Ok(value.to_owned()) };
        match key {
            "kernel" => self.kernel = Some(kernel_from_name(value)?),
            "engine" => self.engine = Some(parse_engine(value)?),
            "governor" => self.governor = Some(governor_from_name(value)?),
            "policy" => self.policy = Some(policy_from_name(value)?),
            "cpu_dma_latency" => self.cpu_dma_latency = Some(parse_micros(value)?),
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
                Some(operation) => self.price.push(parse_price(operation, value)?),
                None => self.set.push(parse_setting(word).map_err(|error| match suggest::nearest(key, &KEYS) {
                    Some(near) if tunable_from_name(key).is_err() => {
                        format!("unknown change; did you mean {near}={value}?")
                    }
                    _ => error,
                })?),
            },
        }
        Ok(())
    }
}
pub(crate) fn parse_arm(text: &str) -> Result<Arm, String> {
    let labelled = text.split_once(':').filter(|(label, rest)| {
        !label.contains(['=', ',']) && !label.trim().is_empty() && (rest.is_empty() || rest.starts_with(' '))
    });
    let (name, changes) = labelled.map_or((text, text), |(label, rest)| (label.trim(), rest.trim()));
    let mut arm = Arm { name: name.to_owned(), ..Arm::default() };
    for word in changes.split(',').map(str::trim).filter(|word| !(word.is_empty() && labelled.is_some())) {
        arm.parse_change(word).map_err(|error| match text.split_once(':') {
            Some((label, rest)) if labelled.is_none() && !label.contains(['=', ',']) && !label.is_empty() => {
                format!("a blank must follow the colon after a name: write `{label}: {rest}`")
            }
            _ => error,
        })?;
    }
    check_changes(&arm.features, &arm.set)?;
    Ok(arm)
}

fn parse_price(operation: &str, value: &str) -> Result<(String, u64), String> {
    if !OPERATIONS.contains(&operation) {
        return Err(match suggest::nearest(operation, &OPERATIONS) {
            Some(near) => format!("unknown operation; did you mean price.{near}?"),
            None => "unknown operation; see the costs in `fairlab machine show --toml NAME`".to_owned(),
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
        let arm = parse_arm(text).expect("it is an arm");
        assert_eq!((arm.name.as_str(), arm.features.len(), arm.set.len()), (text, 1, 1));
        assert_eq!(arm.kernel.map(|kernel| kernel.name), Some("5.4"));
        assert_eq!((arm.machine.as_deref(), arm.prices.as_ref()), (Some("hikey"), Some(&ArmPrices::Zero)));
        assert_eq!(arm.price, [("ScanCpu".to_owned(), 17_500)]);
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
            assert_eq!((arm.name.as_str(), arm.features.len()), ("base", 0), "{text}");
        }
        assert!(parse_arm(UNCHANGED).expect("it is an arm").features.is_empty());
    }

    #[test]
    fn what_means_nothing_is_refused_with_the_way_out() {
        for (text, expected) in [
            ("NO_SIS_UTL", "NO_SIS_UTIL"),
            ("", "unknown feature"),
            ("latency_ns=1,latency_ns=2", "keep latency_ns=1 or"),
            ("SIS_UTIL,NO_SIS_UTIL", "on and off"),
            ("kernel=5.20", "5.19"),
            ("price.ScanCup=5", "price.ScanCpu"),
            ("price.ScanCpu=-1", "from 0 to"),
            ("machine=", "has no value"),
            ("eas-off:energy_aware=0", "write `eas-off: energy_aware=0`"),
            ("old:NO_SIS_UTIL", "write `old: NO_SIS_UTIL`"),
            ("governer=schedutil", "did you mean governor=schedutil?"),
            ("SIS_UTIL=1", "is a feature"),
            ("cpu_dma_latency=20", "write 20us"),
        ] {
            let error = parse_arm(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
