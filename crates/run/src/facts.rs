// SPDX-License-Identifier: GPL-2.0-or-later
//! Setting `facts`: facts of the processor with other values than in the machine's file. All costs of kernel code
//! follow from them again.

use crate::error::RequestError;
use crate::values::Plain;
use fairlab_board::{Fact, FactKey};
use fairlab_machine::sim::Setup;
use fairlab_workload::message::Message;
use fairlab_workload::suggest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Value of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FactValue {
    /// Least value that agrees with the fact's source.
    Least,
    /// Greatest value that agrees with the fact's source.
    Greatest,
    /// Number in the fact's unit.
    #[serde(untagged)]
    Number(u64),
}

impl FactValue {
    /// Returns the number for a fact of a machine.
    pub const fn of(self, fact: &Fact) -> u64 {
        match self {
            Self::Least => fact.range.0,
            Self::Greatest => fact.range.1,
            Self::Number(number) => number,
        }
    }
}

impl fmt::Display for FactValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Least => f.write_str("least"),
            Self::Greatest => f.write_str("greatest"),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

/// Parses `KEY=VALUE`, such as `line_ns.llc=40`.
///
/// # Errors
/// If there is no such fact, or its value is outside its limits.
pub fn parse_fact(text: &str) -> Result<(String, FactValue), Message> {
    let (name, value) = text.split_once('=').ok_or_else(|| Message::new("write KEY=VALUE, such as line_ns.llc=40"))?;
    let key = fact_from_name(name)?;
    let value = match value {
        "least" => FactValue::Least,
        "greatest" => FactValue::Greatest,
        number => FactValue::Number(number.parse().map_err(|_| limits(key))?),
    };
    check_limits(key, value)?;
    Ok((name.to_owned(), value))
}

fn fact_from_name(name: &str) -> Result<FactKey, Message> {
    FactKey::from_name(name).ok_or_else(|| {
        let known = FactKey::ALL.map(FactKey::name);
        match suggest::nearest(name, &known) {
            Some(near) => Message::new("unknown fact").with_help(format!("did you mean {near}?")),
            None => Message::new("unknown fact").with_help(format!("facts are {}", known.join(", "))),
        }
    })
}

fn limits(key: FactKey) -> Message {
    let (limits, unit) = (key.limits(), key.unit());
    let (low, high) = (limits.start(), limits.end());
    Message::new(format!("{} is a number from {low} to {high} ({unit}), least or greatest", key.name()))
}

fn check_limits(key: FactKey, value: FactValue) -> Result<(), Message> {
    match value {
        FactValue::Number(number) if !key.limits().contains(&number) => Err(limits(key)),
        _ => Ok(()),
    }
}

/// Sets facts of the machine's processor, and recomputes the costs of kernel code. A number outside the range of the
/// fact's source adds a warning.
pub(crate) fn apply_facts(
    setup: &mut Setup,
    facts: &BTreeMap<String, FactValue>,
    plain: Option<Plain>,
) -> Result<(), RequestError> {
    let Some(first) = facts.keys().next() else { return Ok(()) };
    let machine = &setup.hardware.name;
    let wrong = |name: &str, problem: String, help: String| {
        Err(RequestError::Input(Message::new(format!("--fact {name}: {problem}")).with_help(help)))
    };
    let Some(mut processor) = setup.hardware.processor.clone() else {
        let problem = format!("kernel code has zero cost on {machine}, and no facts");
        let help = match plain {
            Some(Plain::Shape) => "`--plain=priced` keeps costs and facts",
            _ => "choose a machine with `[processor]`, or take costs and facts of another one with --prices NAME",
        };
        return wrong(first, problem, help.to_owned());
    };
    for (name, value) in facts {
        let wrong = |error: Message| RequestError::Input(error.about(format_args!("--fact {name}={value}")));
        let key = fact_from_name(name).map_err(wrong)?;
        check_limits(key, *value).map_err(wrong)?;
        let Some(fact) = processor.fact(key) else {
            let known: Vec<&str> = processor.facts().map(|(key, _)| key.name()).collect();
            let help = suggest::help(name, "its facts", &known);
            return Err(wrong(Message::new(format!("the processor of {machine} has no such fact")).with_help(help)));
        };
        let (number, (least, greatest)) = (value.of(fact), fact.range);
        if !(least..=greatest).contains(&number) {
            let range = if least == greatest { least.to_string() } else { format!("{least} to {greatest}") };
            let warning = format!("--fact {name}={value}: outside the range of its source, {range} {}", key.unit());
            setup.workload.warnings.push(warning);
        }
        processor.set_value(key, number);
    }
    setup.hardware.set_processor(Some(processor));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_board::preset;
    use fairlab_machine::hardware::Hardware;
    use fairlab_sched::series::KernelSeries;
    use fairlab_sched::units::Nanos;
    use fairlab_sched::work::KernelOp;
    use fairlab_workload::workload::Workload;

    fn setup(machine: &str) -> Setup {
        let hardware = Hardware::from_description(&preset(machine).expect("it is a preset"));
        Setup::new(KernelSeries::V6_1, hardware, Workload::default(), Nanos::from_millis(1))
    }

    fn apply(machine: &str, texts: &[&str]) -> Result<Setup, Message> {
        let facts = texts.iter().map(|text| parse_fact(text).expect(text)).collect();
        let mut setup = setup(machine);
        apply_facts(&mut setup, &facts, None).map_err(Message::from)?;
        Ok(setup)
    }

    #[test]
    fn costs_follow_from_the_facts_that_are_set() {
        let switch = |setup: Setup| setup.hardware.costs.op_ps(KernelOp::ContextSwitch);
        let fact = setup("xeon-2s-104").hardware.processor.expect("it has facts");
        let (least, greatest) = fact.fact(FactKey::InstructionsPerUs).expect("it has a speed").range;
        assert!(least < greatest);
        let at = |value: &str| apply("xeon-2s-104", &[&format!("instructions_per_us={value}")]).expect(value);
        assert_eq!(switch(at("least")), switch(at(&least.to_string())));
        assert_eq!(switch(at("greatest")), switch(at(&greatest.to_string())));
        assert!(switch(at("greatest")) < switch(at("least")));
        let unchanged = apply("xeon-2s-104", &[]).expect("nothing is set").hardware.costs;
        assert_eq!(unchanged, setup("xeon-2s-104").hardware.costs);
        let far = apply("xeon-2s-104", &["line_ns.system=900"]).expect("it is within limits");
        assert_ne!(far.hardware.costs, unchanged);
        assert_eq!(switch(far), unchanged.op_ps(KernelOp::ContextSwitch));
    }

    #[test]
    fn a_number_outside_the_range_of_the_source_is_accepted_with_a_warning() {
        let warnings = |text: &str| apply("xeon-2s-104", &[text]).expect(text).workload.warnings;
        assert_eq!(warnings("line_ns.system=greatest"), Vec::<String>::new());
        let warned = warnings("line_ns.system=90000");
        assert!(warned[0].starts_with("--fact line_ns.system=90000: outside the range of its source, "), "{warned:?}");
        assert!(
            parse_fact("line_ns.system=100001").expect_err("too large").to_string().contains("from 0 to 100000 (ns)")
        );
    }

    #[test]
    fn a_fact_that_does_not_exist_is_rejected_with_a_hint() {
        for (text, expected) in [
            ("line_ns.lcc=4", "did you mean line_ns.llc?"),
            ("frequency=4", "facts are instructions_per_us, "),
            ("line_ns.llc", "write KEY=VALUE"),
            ("line_share_percent=101", "from 0 to 100 (%), least or greatest"),
            ("line_share_percent=most", "least or greatest"),
        ] {
            let error = parse_fact(text).expect_err(text);
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
        let error = apply("xeon-2s-104", &["line_ns.cluster=4"]).err().expect("it has no clusters");
        assert!(error.text.contains("the processor of xeon-2s-104 has no such fact"), "{error}");
        assert!(error.to_string().contains("its facts: instructions_per_us, "), "{error}");
        let error = apply("laptop-8", &["line_ns.llc=4"]).err().expect("it has no facts");
        assert!(
            error.one_line().contains("kernel code has zero cost on laptop-8, and no facts help: choose"),
            "{error}"
        );
        let facts = BTreeMap::from([("line_ns.llc".to_owned(), FactValue::Least)]);
        let mut without = setup("xeon-2s-104");
        without.hardware.set_processor(None);
        let error = apply_facts(&mut without, &facts, Some(Plain::Shape)).expect_err("nothing costs").to_string();
        assert!(error.contains("help: `--plain=priced` keeps"), "{error}");
    }
}
