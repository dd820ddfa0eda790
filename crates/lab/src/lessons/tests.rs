// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of lessons: each arm B shows what its lesson is about.

use super::saved::SCHEMA;
use super::*;
use fairlab_workload::message::Message;
use serde_json::json;

#[test]
fn each_lesson_has_an_answer_that_follows_clearly_from_its_runs() {
    let lessons = Lesson::all();
    assert_eq!((lessons.len(), lessons.iter().filter(|lesson| lesson.published.is_some()).count()), (17, 5));
    for lesson in &lessons {
        let derived = derive(lesson).map_err(Message::from).unwrap_or_else(|error| panic!("{}: {error}", lesson.name));
        let DerivedAnswer { answer, values: [a, b], digests, reasons, .. } = &derived;
        assert_ne!(digests[0], digests[1], "{}: the arms do not differ", lesson.name);
        assert!(lesson.choices.contains(answer), "{}: {answer}", lesson.name);
        let margin = 2.0 * STAYS_WITHIN * a.abs().max(b.abs());
        let is_clear = match &lesson.bounds[..] {
            [] if answer == "stays" => a == b,
            [] => (a - b).abs() > margin,
            bounds => bounds.iter().all(|bound| (b - bound).abs() > margin),
        };
        assert!(is_clear, "{}: {answer} is no clear answer for {a} and {b}", lesson.name);
        assert!(reasons.iter().all(|sentences| !sentences.is_empty()), "{}: {reasons:?}", lesson.name);
        assert_ne!(reasons[0], reasons[1], "{}: the explanation does not show the cause", lesson.name);
    }
}

#[test]
fn each_file_is_a_lesson_and_each_text_a_sentence() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lessons");
    let names = std::fs::read_dir(directory)
        .expect("the directory exists")
        .map(|entry| entry.expect("the directory is readable").file_name().into_string().expect("names are plain"));
    let mut names: Vec<String> = names.collect();
    names.sort();
    let files = files();
    let listed = files.keys().flat_map(|name| [format!("{name}.scn"), format!("{name}.toml")]);
    assert_eq!(names, listed.collect::<Vec<_>>());
    for lesson in Lesson::all() {
        assert!(lesson.lesson.ends_with('.') && !lesson.lesson.contains(". "), "{}: {}", lesson.name, lesson.lesson);
        assert!(lesson.question.ends_with('?') && lesson.rule.ends_with('.'), "{}", lesson.name);
        let [a, b] = lesson.specs.each_ref().map(|spec| spec.settings.changes().len());
        let Settings { features, tunables, .. } = &lesson.specs[0].settings;
        let is_replaced = features.keys().chain(tunables.keys()).any(|name| lesson.change.starts_with(name.as_str()));
        assert_eq!(b, a + usize::from(!is_replaced), "{}: arm B has one change", lesson.name);
    }
}

#[test]
fn choices_are_directions_or_ranges() {
    assert_eq!(choices(&[], "ns"), ["falls", "stays", "rises"]);
    assert_eq!(choices(&[2e6, 5e6], "ns"), ["less than 2ms", "2ms to 5ms", "5ms or more"]);
    for (value, unit, text) in
        [(1_263_615.0, "ns", "1.264ms"), (999_999.0, "ns", "1ms"), (44.0, "", "44"), (5.0, "uJ", "5 uJ")]
    {
        assert_eq!(value_text(value, unit), text);
    }
    let lesson = |bounds: &[f64]| Lesson { bounds: bounds.to_vec(), ..Lesson::all().remove(0) };
    for (values, choice) in [([100.0, 97.0], 0), ([100.0, 99.0], 1), ([0.0, 0.0], 1), ([0.0, 1.0], 2)] {
        assert_eq!(lesson(&[]).choice_of(values), choice, "{values:?}");
    }
    for (b, choice) in [(1.0, 0), (2.0, 1), (5.0, 2)] {
        assert_eq!(lesson(&[2.0, 5.0]).choice_of([0.0, b]), choice, "{b}");
    }
}

#[test]
fn a_wrong_file_of_answers_is_rejected_with_its_place_and_a_remedy() {
    let lessons = Lesson::all();
    let parse = |text: &str| SavedAnswers::parse("a.json", text, &lessons);
    let of = |schema: &str, name: &str, choice: &str| {
        let document = json!({ "schema": schema, "fairlab": "0.2.0", "answers": { name: choice } });
        serde_json::to_string_pretty(&document).expect("JSON")
    };
    assert!(parse(&of(SCHEMA, "quota", "rises")).is_ok());
    for (text, problem, help, line) in [
        (of("answers/0", "quota", "rises"), "answers/0", "save the answers again", 6),
        (of(SCHEMA, "qouta", "rises"), "unknown lesson `qouta`", "did you mean `quota`?", 3),
        (of(SCHEMA, "quota", "grows"), "`grows` is no choice of the lesson quota", "falls, stays, rises", 3),
        ("{\n\"schema\": 1}".to_owned(), "invalid type", "Save answers", 2),
        ("{\"schema\": \"answers/1\", \"points\": 12}".to_owned(), "unknown field `points`", "Save answers", 1),
    ] {
        let error = parse(&text).expect_err(problem);
        assert!(error.text.contains(problem), "{error}");
        assert!(error.help.as_ref().is_some_and(|text| text.contains(help)), "{error}");
        assert_eq!(error.place.and_then(|place| place.line), Some(line), "{problem}: {text}");
    }
}
