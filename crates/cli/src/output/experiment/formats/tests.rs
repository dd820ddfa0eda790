// SPDX-License-Identifier: GPL-2.0-or-later
//! Each form shows what it is to show, of a comparison with one metric of each kind.

use super::*;
use fairlab_experiment::Observation;
use fairlab_experiment::comparison::{ComparisonRules, compare};
use fairlab_experiment::metrics::{Metric, MetricDirection};
use fairlab_measure::summary::RunSubject;

const STYLES: Styles = Styles { on: false };

fn report() -> ExperimentReport {
    report_of(12)
}

fn report_of(repetitions: u64) -> ExperimentReport {
    let metric = |name: &str, unit: &str, better| Metric {
        name: name.to_owned(),
        unit: unit.to_owned(),
        better,
        ..Metric::default()
    };
    let run = |seed: u64, times: f64| {
        let shake = 1.0 + (seed * 7 % 11) as f64 / 1000.0;
        Observation {
            digest: format!("{seed} {times}"),
            metrics: vec![
                (metric("time", "s", MetricDirection::Less), 2.0 * times * shake),
                (metric("transactions", "/s", MetricDirection::More), 12_000.0 * times * shake),
                (metric("a < b", "ns", MetricDirection::Less), 500.0 * (1.0 + (seed % 3) as f64)),
                (metric("switches", "", MetricDirection::Neither), 100.0 * times),
                (metric("on one CPU", "", MetricDirection::Neither), 0.9 * (2.0 - times)),
            ],
            measured_s: None,
            ..Observation::default()
        }
    };
    let repetitions: Vec<_> = (1..=repetitions).map(|seed| vec![run(seed, 1.0), run(seed, 1.05)]).collect();
    let subject = RunSubject {
        workload: "netperf -t TCP_RR".to_owned(),
        kind: "netperf".to_owned(),
        machine: "xeon".to_owned(),
        kernel: "6.1".to_owned(),
    };
    let compared = ComparisonReport {
        arms: vec!["unchanged".to_owned(), "NO_SIS_UTIL".to_owned()],
        subjects: vec![subject.clone(), subject],
        missing: vec![Vec::new(); 2],
        comparison: compare(&repetitions, ComparisonRules::default()),
        checks: None,
        is_varied: true,
        first_seed: Some(1),
        command: vec!["fairlab".to_owned(), "compare".to_owned()],
        cut_short_of_runs: None,
        facts: Vec::new(),
        has_all_rows: false,
    };
    ExperimentReport {
        schema: crate::output::experiment::report::SCHEMA,
        compared,
        first_differences: Vec::new(),
        results: Vec::new(),
        recorded: Vec::new(),
    }
}

/// Returns the data of a page.
fn page_data(page: &str) -> &str {
    let (_, rest) = page.split_once(r#"id="input" type="application/json">"#).expect("the page has data");
    rest.split_once("</script>").expect("they end").0
}

fn rendered(form: ReportFormat) -> String {
    form.render(&report(), STYLES).expect("it can be written")
}

#[test]
fn of_equal_changes_the_first_is_named() {
    let metric = |name: &str| Metric { name: name.to_owned(), better: MetricDirection::Less, ..Metric::default() };
    let run = |seed: u64, times: f64| Observation {
        digest: format!("{seed} {times}"),
        metrics: ["small", "first", "second"]
            .map(|name| (metric(name), seed as f64 * if name == "small" { 100.0 + times } else { 100.0 * times }))
            .to_vec(),
        ..Observation::default()
    };
    let repetitions: Vec<_> = (1..=12).map(|seed| vec![run(seed, 1.0), run(seed, 2.0)]).collect();
    let mut report = report();
    report.compared.comparison = compare(&repetitions, ComparisonRules::default());
    let text = text::text(&report, STYLES).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("is worse than `unchanged` in 2 metrics, most in first (+100 %)"), "{text}");
}

#[test]
fn our_own_table_has_verdicts_and_says_what_differs_between_repetitions() {
    let text = rendered(ReportFormat::Text);
    let line =
        |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {text}"));
    assert!(text.starts_with("netperf -t TCP_RR: on xeon, kernel 6.1\n  A: unchanged\n  B: NO_SIS_UTIL\n"), "{text}");
    assert!(line("time").contains("+5.0 (+5.0..+5.0)") && line("time").contains("worse"), "{text}");
    assert!(line("transactions").contains("better"), "{text}");
    assert!(!text.contains("\na < b") && text.contains("1 metric without a difference that matters"), "{text}");
    assert!(!line("switches").contains("better") && line("switches").contains("+5.0"), "{text}");
    assert!(text.contains("12 repetitions (seeds 1 to 12)") && text.contains("2 tests"), "{text}");
    let states = "transactions on one CPU: 90 % in `unchanged`, 86 % in `NO_SIS_UTIL`";
    assert!(text.replace("\n  ", " ").contains(states) && !text.contains("the arms end in"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn the_forms_of_mailing_lists_have_their_columns_and_signs() {
    let std = rendered(ReportFormat::Std);
    assert!(std.contains("baseline(std%)\tcompare%( std%)\n"), "{std}");
    // Five percent more time is worse, five percent more transactions are better; what is neither is left out.
    assert!(std.contains("netperf         \ttime            \t 1.00 (  0.32)\t  -5.00 (  0.32)\n"), "{std}");
    assert!(std.contains("+5.00") && !std.contains("switches"), "{std}");
    let mmtests = rendered(ReportFormat::Mmtests);
    assert!(mmtests.contains("Amean     time") && mmtests.contains("*   -5.00%*"), "{mmtests}");
    assert!(mmtests.contains("Hmean     transactions") && mmtests.contains("*    5.00%*"), "{mmtests}");
    assert!(mmtests.contains("CoeffVar  time") && mmtests.contains("(    0.00%)"), "{mmtests}");
    let lkp = rendered(ReportFormat::Lkp);
    assert!(lkp.contains("%stddev     %change         %stddev\n"), "{lkp}");
    assert!(lkp.contains("      +5.0%") && lkp.contains("netperf.transactions\n"), "{lkp}");
    assert!(lkp.contains("1000 ± 43%"), "{lkp}");
}

#[test]
fn the_forms_of_programs_can_be_read_by_them() {
    let json: serde_json::Value = serde_json::from_str(&rendered(ReportFormat::Json)).expect("it is JSON");
    let row = &json["comparison"]["rows"][0];
    assert_eq!((&row["name"], &row["changes"][0]["verdict"]), (&"time".into(), &"worse".into()));
    assert_eq!(row["arms"][1]["runs"].as_array().map(Vec::len), Some(12));
    let xml = rendered(ReportFormat::Junit);
    let mut reader = quick_xml::Reader::from_str(&xml);
    let (mut cases, mut failures) = (0, 0);
    loop {
        match reader.read_event().expect("it is XML") {
            quick_xml::events::Event::Start(tag) if AsRef::<str>::as_ref(&tag.name()) == "testcase" => cases += 1,
            quick_xml::events::Event::Empty(tag) if AsRef::<str>::as_ref(&tag.name()) == "failure" => failures += 1,
            quick_xml::events::Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!((cases, failures), (3, 1), "{xml}");
    assert!(xml.contains("a &lt; b"), "{xml}");
    let page = rendered(ReportFormat::Html);
    assert!(page_data(&page).contains("a \\u003c b") && !page.contains("a < b"), "{page}");
    let markdown = rendered(ReportFormat::Markdown);
    assert!(markdown.contains("| time | 2.01s ± ") && markdown.contains("| worse |"), "{markdown}");
}

#[test]
fn every_form_says_that_repetitions_are_too_few_to_find_anything() {
    let report = report_of(5);
    for (name, form) in ReportFormat::ALL {
        let text = form.render(&report, STYLES).expect("it can be written").replace("\n  ", " ");
        let text = if form == ReportFormat::Html { page_data(&text) } else { &text };
        let expected = match form {
            ReportFormat::Json => "\"too-few\"",
            _ => "5 repetitions cannot find any difference in 2 tests at 5 %, however large it is; at least 7 could",
        };
        assert!(text.contains(expected), "{name}: {text}");
        assert!(!text.contains("worse"), "{name}: {text}");
    }
    let xml = ReportFormat::Junit.render(&report, STYLES).expect("it can be written");
    assert!(xml.contains(r#"failures="0""#) && xml.contains(r#"skipped="2""#), "{xml}");
    assert!(ReportFormat::Text.render(&report, STYLES).expect("it can be written").contains("too few"));
    assert!(
        ReportFormat::ALL.iter().all(|(_, form)| !rendered(*form).contains("cannot find any")),
        "twelve are enough"
    );
}

#[test]
fn forms_are_known_by_name_and_may_have_a_file() {
    assert_eq!(
        parse_format("html=a=b.html"),
        Ok(RequestedFormat { form: ReportFormat::Html, file: Some("a=b.html".to_owned()) })
    );
    assert_eq!(parse_format("lkp=-"), Ok(RequestedFormat { form: ReportFormat::Lkp, file: None }));
    assert!(
        parse_format("xml").expect_err("there is none").to_string().contains("junit") && parse_format("html=").is_err()
    );
}

#[test]
fn every_form_says_that_an_experiment_was_stopped() {
    let mut cut = report();
    cut.compared.cut_short_of_runs = Some(20);
    for (name, form) in ReportFormat::ALL {
        let text = form.render(&cut, STYLES).expect("it can be written");
        let mark = if form == ReportFormat::Json { "\"cut_short_of_runs\": 20" } else { "after 12 of 20 repetitions" };
        assert_eq!(text.replace("\n  ", " ").matches(mark).count(), 1, "{name}: {text}");
        assert!(!rendered(form).contains("stopped before the end") && !rendered(form).contains("cut_short"), "{name}");
    }
}
