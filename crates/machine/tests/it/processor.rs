// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of costs that follow from facts of a processor and from a count sheet.

use fairlab_board::{ByDistance, Distance, FactKey, MachineDescription, SHEETS, counted_costs, parse};
use fairlab_machine::costs::CostModel;
use fairlab_machine::hardware::Hardware;
use fairlab_sched::work::KernelOp;
use fairlab_workload::workload::ChannelKind;

/// Returns the text of a machine with this sheet and speed, and lines of 40 ns within a cache and 100 ns beyond.
fn file(sheet: &str, instructions_per_us: u64, more: &str) -> String {
    let fact = |key: &str, value: u64| format!("{key} = {{ value = {value}, source = \"test\" }}\n");
    let own = fact("instructions_per_us", instructions_per_us) + &fact("line_share_percent", 20);
    let lines = fact("llc", 40) + &fact("system", 100);
    let cpus = "name = \"x\"\n[cpus]\ncount = 2\n";
    format!("{cpus}[processor]\nsheet = \"{sheet}\"\n{own}[processor.line_ns]\n{lines}{more}")
}

fn machine(sheet: &str, instructions_per_us: u64) -> MachineDescription {
    parse("x.toml", &file(sheet, instructions_per_us, "")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_operation_of_every_sheet_has_a_cost() {
    for sheet in SHEETS {
        let machine = machine(sheet, 1000);
        for cost in counted_costs(machine.processor().expect("it has facts")) {
            // Only messages over the loopback device need a softirq.
            let is_free = ["pipe softirq", "unix softirq", "eventfd softirq"].contains(&cost.name.as_str());
            assert_eq!(cost.ps[Distance::Cache] == 0, is_free, "{sheet}: {cost:?}");
        }
    }
}

#[test]
fn costs_are_the_sheets_counts_at_the_processors_speed() {
    for sheet in SHEETS {
        let (slow, fast) = (machine(sheet, 1000), machine(sheet, 2000));
        for (slow, fast) in
            counted_costs(slow.processor().expect("facts")).iter().zip(counted_costs(fast.processor().expect("facts")))
        {
            assert_eq!(slow.instructions, fast.instructions);
            match slow.instructions {
                // One instruction a nanosecond; counts are in tenths.
                Some(tenths) => {
                    let (slow_ps, fast_ps) = (slow.ps[Distance::System], fast.ps[Distance::System]);
                    assert_eq!((slow_ps, fast_ps), (tenths as u64 * 100, tenths as u64 * 50), "{slow:?}");
                }
                None => assert_eq!(slow.ps, fast.ps, "cache lines do not depend on the speed"),
            }
        }
    }
}

#[test]
fn the_cost_model_has_the_costs_of_the_sheet() {
    let machine = machine("6.12-x86_64", 1000);
    let costs = CostModel::from_machine(&machine);
    let counted = counted_costs(machine.processor().expect("facts"));
    let ps = |name: &str| counted.iter().find(|cost| cost.name == name).expect("it is counted").ps[Distance::Cache];
    assert_eq!(costs.op_ps(KernelOp::ContextSwitch), ps("ContextSwitch"));
    let send = costs.transfer(ChannelKind::Pipe, true);
    assert_eq!(send.before_ps + send.after_ps, ps("pipe send"));
    assert_eq!(costs.message_wake_ps(ChannelKind::Udp), ps("udp wake"));
    // TCP's messages contain waking and waiting.
    assert_eq!(costs.message_wake_ps(ChannelKind::Tcp), 0);
    assert_eq!(costs.loopback_softirq_ps(ChannelKind::Udp), ps("udp softirq"));
    assert!(costs.calls().is_some() && !costs.is_zero_cost());
}

#[test]
fn cache_lines_cost_their_latency_at_each_distance() {
    // 40 ns within a cache, 100 ns between packages, 20 % of each.
    let machine = machine("6.12-x86_64", 1000);
    let costs = CostModel::from_machine(&machine);
    let counted = counted_costs(machine.processor().expect("facts"));
    let tenths = |name: &str| {
        counted.iter().find(|cost| cost.name == name).and_then(|cost| cost.lines).expect("it has lines") as u64
    };
    for (ps, name) in [
        (costs.line_transfer_ps(), "runqueue line"),
        (costs.remote_enqueue_ps(), "remote enqueue lines"),
        (costs.channel_lines_ps(ChannelKind::Pipe), "pipe lines"),
    ] {
        let expected = ByDistance::near_and_far(tenths(name) * 800, tenths(name) * 2000);
        assert_eq!(ps, expected, "{name}: a distance without a fact has the value of the next farther one");
    }
}

#[test]
fn loops_that_scan_cpus_have_a_speed_and_a_share_of_their_own() {
    let text = file("6.12-x86_64", 1000, "");
    let facts = "loop_speed_percent = { value = 400, source = \"test\" }\nloop_line_share_percent = { value = 5, source = \"test\" }\n";
    let with_facts = text.replace("[processor.line_ns]", &format!("{facts}[processor.line_ns]"));
    let costs = |text: &str| CostModel::from_machine(&parse("x.toml", text).unwrap_or_else(|error| panic!("{error}")));
    let (general, own) = (costs(&text), costs(&with_facts));
    assert_eq!(own.op_ps(KernelOp::ScanCpu), general.op_ps(KernelOp::ScanCpu) / 4);
    assert_eq!(own.scan_lines_ps().map(|ps| ps * 4), general.scan_lines_ps());
    // No other cost depends on them.
    assert_eq!(own.op_ps(KernelOp::GroupStatCpu), general.op_ps(KernelOp::GroupStatCpu));
    assert_eq!(own.statistics_lines_ps(), general.statistics_lines_ps());
}

#[test]
fn every_distance_between_cpus_needs_a_latency() {
    let with_cpus = |cpus: &str| {
        let text = file("6.12-x86_64", 1000, "").replace("count = 2", cpus).replace("system = {", "package = {");
        parse("x.toml", &text).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(with_cpus("count = 4"), Ok(()));
    assert_eq!(with_cpus("count = 4\ncores_per_llc = 2"), Ok(()));
    for (cpus, missing, key) in [
        ("count = 4\nthreads_per_core = 2", "in one core", "core"),
        ("count = 4\ncores_per_cluster = 2", "in one cluster", "cluster"),
        ("count = 4\ncores_per_package = 2", "in different packages", "system"),
    ] {
        let error = with_cpus(cpus).expect_err("a latency is missing");
        assert!(error.contains(&format!("line_ns has no latency between CPUs {missing}")), "{error}");
        assert!(error.contains(&format!("help: add `{key} = ")), "{error}");
    }
}

#[test]
fn a_file_with_facts_is_written_and_read_again() {
    let text = file("6.12-arm64", 1500, "").replace("value = 1500,", "value = 1500, min = 1400, max = 1600,");
    let machine = parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let written = machine.to_toml();
    assert_eq!(parse("x.toml", &written).unwrap_or_else(|error| panic!("{error}")), machine, "{written}");
    assert!(written.contains("min = 1400, max = 1600"), "{written}");
}

#[test]
fn costs_of_single_operations_are_rejected() {
    let error = |text: &str| parse("x.toml", text).expect_err("the file is wrong").to_string();
    for table in ["[prices]\nTick = { ns = 1, source = \"x\" }\n", "[channel_lines]\n"] {
        let error = error(&format!("name = \"x\"\n[cpus]\ncount = 2\n{table}"));
        assert!(error.contains("costs of single operations are not part of a machine file"), "{error}");
        assert!(error.contains("add `[processor]`"), "{error}");
    }
    assert!(error(&file("6.13-x86_64", 1000, "")).contains("there is no count sheet `6.13-x86_64`"));
    assert!(error(&file("6.12-x86_64", 1, "")).contains("write 10 to 100000"));
}

#[test]
fn costs_follow_from_a_fact_with_another_value() {
    let text = file("6.12-x86_64", 1500, "").replace("value = 1500,", "value = 1500, min = 1000, max = 2000,");
    let machine = parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let mut hardware = Hardware::from_description(&machine);
    let mut processor = hardware.processor.clone().expect("it has facts");
    let uncertain: Vec<FactKey> =
        processor.facts().filter(|(_, fact)| fact.is_uncertain()).map(|(key, _)| key).collect();
    assert_eq!(uncertain, [FactKey::InstructionsPerUs]);
    assert_eq!(processor.fact(FactKey::LineNs(Distance::Core)), None);
    processor.set_value(FactKey::InstructionsPerUs, 3000);
    hardware.costs.enable_tracer(7);
    let before = hardware.costs.op_ps(KernelOp::ContextSwitch);
    hardware.set_processor(Some(processor));
    assert_eq!(hardware.costs.op_ps(KernelOp::ContextSwitch), before / 2);
    assert_eq!(hardware.costs.tracer_ps(), 7);
}

#[test]
fn every_fact_has_a_name_and_limits() {
    for key in FactKey::ALL {
        assert_eq!(FactKey::from_name(key.name()), Some(key));
        assert!(key.limits().start() < key.limits().end(), "{key:?}");
    }
    assert_eq!(FactKey::from_name("line_ns"), None);
}

#[test]
fn preemption_models_have_names() {
    for name in ["none", "voluntary", "full"] {
        let machine = parse("x.toml", &format!("name = \"x\"\npreemption = \"{name}\"\n[cpus]\ncount = 1\n"));
        assert!(machine.unwrap_or_else(|error| panic!("{error}")).to_toml().contains(name) || name == "full");
    }
    let lazy =
        parse("x.toml", "name = \"x\"\npreemption = \"lazy\"\n[cpus]\ncount = 1\n").expect_err("it is not modelled");
    assert!(lazy.to_string().contains("lazy preemption (6.13 and later) is not modelled"), "{lazy}");
}
