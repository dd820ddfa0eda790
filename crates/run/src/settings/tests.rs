// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

/// Returns settings in which everything but the policy differs from the default: the examples.
fn all_set() -> Settings {
    let examples = SETTINGS.iter().flat_map(|setting| setting.examples.iter().map(move |text| (setting, text)));
    let changes = examples.map(|(setting, text)| setting.change(text).expect("examples are values"));
    Settings::from_changes(&changes.collect::<Vec<_>>())
}

#[test]
fn every_setting_but_policies_is_in_json_as_it_was_set() {
    let settings = all_set();
    let unset: Vec<&str> = settings.differences(&Settings::default()).map(|setting| setting.name).collect();
    let expected = SETTINGS.iter().map(|setting| setting.name).filter(|name| *name != "policy");
    assert_eq!(unset, expected.collect::<Vec<_>>());
    let json = serde_json::to_value(&settings).expect("settings are JSON");
    assert_eq!(json["duration"], "1500us");
    assert_eq!(json["warmup"], "settled:1s");
    assert_eq!(json["prices"], serde_json::json!(["zero", "ScanCpu=17.5"]));
    assert_eq!(json["facts"], serde_json::json!({ "line_ns.llc": 40, "line_ns.system": "greatest" }));
    assert_eq!(serde_json::from_value::<Settings>(json).expect("they are settings"), settings);
    assert_eq!(serde_json::to_value(Settings::default()).expect("settings are JSON"), serde_json::json!({}));
    assert!(serde_json::from_str::<Settings>(r#"{"frequency": "schedutil"}"#).is_err());
}

#[test]
fn texts_of_a_setting_are_values_that_it_reads() {
    let settings = all_set();
    for setting in SETTINGS {
        let (mut read, mut copied) = (Settings::default(), Settings::default());
        for text in setting.texts(&settings) {
            setting.read(&mut read, &text).expect(setting.name);
        }
        setting.copy(&mut copied, &settings);
        assert_eq!(setting.texts(&read), setting.texts(&settings), "{}", setting.name);
        assert_eq!(read, copied, "{}", setting.name);
    }
}

#[test]
fn a_wrong_value_is_refused_with_a_hint() {
    for (name, text, expected) in [
        ("kernel", "5.20", "5.19"),
        ("features", "sis_util", "did you mean SIS_UTIL?"),
        ("tunables", "latency_ns=x", "from 0"),
        ("governor", "ondemand", "not modelled"),
        ("cpu_dma_latency", "20", "write 20us"),
        ("autogroup", "1", "on or off"),
        ("prices", "ScanCup=5", "did you mean ScanCpu?"),
        ("prices", "ScanCpu=-1", "from 0 to"),
        ("prices", "free", "use machine, zero"),
        ("facts", "line_ns.lcc=40", "did you mean line_ns.llc?"),
        ("engine", "6.12", "kernel:NAME"),
        ("seed", "-1", "whole number"),
        ("duration", "0s", "greater than 0"),
    ] {
        let error = Setting::from_name(name).expect("it exists").change(text).expect_err(text);
        assert!(error.to_string().contains(expected), "{name}={text}: {error}");
    }
}

#[test]
fn the_built_in_scheduler_refuses_names_of_other_kernels_and_a_compiled_kernel_checks_its_own() {
    let settings = |changes: &[(&str, &str)]| {
        let change = |&(name, text): &(&str, &str)| {
            Setting::from_name(name).expect("it exists").change(text).expect("a kernel may have it")
        };
        Settings::from_changes(&changes.iter().map(change).collect::<Vec<_>>())
    };
    let kernel = |name| Kernel::from_name(name).expect("it is one");
    for (name, text, expected) in [
        ("features", "NO_SIS_UTL", "--features NO_SIS_UTL: unknown feature help: did you mean NO_SIS_UTIL?"),
        ("features", "RUN_TO_PARITY", "--features RUN_TO_PARITY: 6.1 has no such feature help: `--kernel 6.12` has it"),
        ("tunables", "base_slice_ns=3000000", "--set base_slice_ns=3000000: 6.1 has no such tunable"),
        ("tunables", "base_slise_ns=3000000", "unknown tunable help: did you mean base_slice_ns?"),
    ] {
        let error = settings(&[(name, text)]).check_names(kernel("6.1")).expect_err(text);
        assert!(error.one_line().contains(expected), "{error}");
        let with_engine = settings(&[("engine", "kernel:6.12"), (name, text)]);
        assert_eq!(with_engine.check_names(kernel("6.1")), Ok(()));
    }
    let of_6_1 = settings(&[("features", "NO_SIS_UTIL"), ("tunables", "latency_ns=1")]);
    assert_eq!(of_6_1.check_names(kernel("6.1")), Ok(()));
    let of_6_12 = settings(&[("features", "RUN_TO_PARITY"), ("tunables", "base_slice_ns=3000000")]);
    assert_eq!(of_6_12.check_names(kernel("6.12")), Ok(()));
    assert!(settings(&[("tunables", "latency_ns=1")]).check_names(kernel("6.12")).is_err());
}
