// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

fn value(text: &str) -> JsonValue {
    read(SourceText::new("t", text), DuplicateKeys::LastValue).unwrap_or_else(|error| panic!("{error}")).root.value
}

fn keys(document: &JsonDocument) -> Vec<(&str, &JsonValue)> {
    let JsonValue::Object(entries) = &document.root.value else { panic!("no object") };
    entries.iter().map(|entry| (entry.key.as_str(), &entry.node.value)).collect()
}

#[test]
fn what_libjson_accepts_is_accepted() {
    let text = "/* a */ { // b\n'a' : [1, 010, -7,], \"b\" : TRUE, 'c' : True, 'd' : NaN, \"e\" : 1.5e3, } garbage }";
    let JsonValue::Object(entries) = value(text) else { panic!("no object") };
    let JsonValue::Array(nodes) = &entries[0].node.value else { panic!("no list") };
    let numbers: Vec<&JsonValue> = nodes.iter().map(|node| &node.value).collect();
    assert_eq!(numbers, [&JsonValue::Int(1), &JsonValue::Int(10), &JsonValue::Int(-7)]);
    let others: Vec<&JsonValue> = entries[1..].iter().map(|entry| &entry.node.value).collect();
    let (yes, fraction) = (JsonValue::Bool(true), JsonValue::Fraction);
    assert_eq!(others, [&yes, &yes, &fraction, &fraction]);
}

#[test]
fn strings_know_escapes_and_raw_line_ends() {
    assert_eq!(value(r#" "a\"\\\/\n\u00e9" "#), JsonValue::Text("a\"\\/\né".to_owned()));
    assert_eq!(value("'it\"s\ntwo'"), JsonValue::Text("it\"s\ntwo".to_owned()));
}

#[test]
fn of_equal_keys_the_last_value_counts_at_the_place_of_the_first() {
    let text = r#"{ "run" : 1, "sleep" : 2, "run" : 3 }"#;
    let document = read(SourceText::new("t", text), DuplicateKeys::LastValue).expect("well formed");
    assert_eq!(keys(&document), [("run", &JsonValue::Int(3)), ("sleep", &JsonValue::Int(2))]);
    assert_eq!(document.duplicates, [DuplicateKey { object_at: 0, key: "run".to_owned(), at: 26 }]);
    let document = read(SourceText::new("t", text), DuplicateKeys::KeepAll).expect("well formed");
    assert_eq!(keys(&document).len(), 3);
    assert!(document.duplicates.is_empty());
}

#[test]
fn a_key_without_a_value_is_refused_as_rt_app_refuses_it() {
    let error =
        read(SourceText::new("t", "{ \"suspend\",\n \"run\" : 1 }"), DuplicateKeys::LastValue).expect_err("no value");
    assert!(error.text.contains("rt-app itself rejects"), "{error}");
    assert_eq!(error.position(), Some((1, 3)));
}

#[test]
fn a_comma_that_is_missing_at_the_end_of_a_line_is_missed_there() {
    let refused =
        |text: &str| read(SourceText::new("t", text), DuplicateKeys::LastValue).expect_err("a comma is missing");
    for (text, place) in [("{ \"a\" : 12\n  \"b\" : 1 }", (1, 11)), ("{ \"a\" : [ 1 // one\n 2 ] }", (1, 12))] {
        let error = refused(text);
        assert_eq!(error.position(), Some(place), "{error}");
        assert!(error.text.contains("missing at the end of this line"), "{error}");
    }
    let error = refused("{ \"a\" : 12 \"b\" : 1 }");
    assert_eq!(error.position(), Some((1, 12)), "{error}");
}

#[test]
fn deep_nesting_is_refused() {
    assert!(read(SourceText::new("t", &"[".repeat(100_000)), DuplicateKeys::LastValue).is_err());
    let nested = format!("{}{}", "[".repeat(31), "]".repeat(31));
    assert!(read(SourceText::new("t", &nested), DuplicateKeys::LastValue).is_ok());
}

#[test]
fn numbers_beyond_64_bits_become_the_nearest() {
    assert_eq!(value("99999999999999999999"), JsonValue::Int(i64::MAX));
    assert_eq!(value("-99999999999999999999"), JsonValue::Int(i64::MIN));
}

#[test]
fn what_is_no_value_is_refused() {
    for text in [
        "",
        "  ",
        "{",
        "[",
        "[1 2]",
        "{\"a\" 1}",
        "{a:1}",
        "\"x",
        "'",
        "\"\\q\"",
        "\"\\u12\"",
        "-",
        "1e",
        "/*",
        "/",
        "{,}",
        "[,]",
        "tru",
    ] {
        assert!(read(SourceText::new("t", text), DuplicateKeys::LastValue).is_err(), "{text}");
    }
}
