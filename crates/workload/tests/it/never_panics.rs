// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading any file ends with a workload or an error.

use fairlab_sched::series::KernelSeries;
use fairlab_workload::load::{detect, load};
use fairlab_workload::message::Message;
use fairlab_workload::rtapp::{self, DuplicateKeys, RtAppOptions};
use fairlab_workload::scenario;
use fairlab_workload::source_text::utf8_text;
use fairlab_workload::workload::Workload;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::fs;
use std::path::Path;

/// Reads a text with every parser, takes some steps of each task, and formats every error.
fn read(text: &str) {
    let check = |result: Result<Workload, Message>| match result {
        Ok(workload) => {
            for task in workload.tasks.iter().take(20) {
                let mut behaviour = (task.behaviour)(0);
                for _ in 0..100 {
                    behaviour.next();
                }
            }
        }
        Err(error) => assert!(error.to_string().starts_with("file:")),
    };
    check(scenario::parse("file", text, KernelSeries::V6_1).map(|scenario| scenario.workload));
    for duplicate_keys in [DuplicateKeys::LastValue, DuplicateKeys::KeepAll] {
        check(rtapp::parse(
            "file",
            text,
            RtAppOptions { duplicate_keys, ..RtAppOptions::for_cpus(KernelSeries::V6_1, 4) },
        ));
    }
    check(load("file", text, RtAppOptions::for_cpus(KernelSeries::V6_1, 4)).map(|loaded| loaded.into_workload()));
    let _kind = detect("file", text);
}

/// Returns every test file.
fn files() -> Vec<String> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut texts = Vec::new();
    for directory in ["rtapp", "scn", "bad"] {
        let entries = fs::read_dir(data.join(directory)).expect("the data are part of the crate");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
        paths.sort();
        // Large files would only repeat the same mistakes more slowly.
        let texts_of = paths.iter().map(|path| fs::read_to_string(path).expect("text"));
        texts.extend(texts_of.filter(|text| text.len() < 3000));
    }
    texts
}

/// Returns a text with one change: at a place, some characters are removed and others inserted.
fn mutate(text: &str, place: Index, removed: usize, inserted: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let at = place.index(chars.len() + 1);
    let behind = (at + removed).min(chars.len());
    chars[..at].iter().copied().chain(inserted.chars()).chain(chars[behind..].iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..400)) {
        match utf8_text("file", &bytes) {
            Ok(text) => read(text),
            Err(error) => prop_assert!(error.to_string().starts_with("file:")),
        }
        read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn arbitrary_texts_never_panic(text in "\\PC*") {
        read(&text);
        read(&format!("cpus 4\n{text}"));
        read(&format!("{{ \"tasks\" : {{ {text} }} }}"));
    }

    #[test]
    fn arbitrary_statements_never_panic(words in vec(select(WORDS), 0..40)) {
        read(&format!("cpus 4\n{}", words.join(" ").replace(" ; ", "\n")));
    }

    #[test]
    fn arbitrary_tokens_of_json_never_panic(tokens in vec(select(TOKENS), 0..60)) {
        read(&tokens.join(" "));
        read(&format!("{{ \"tasks\" : {{ \"t\" : {{ {} }} }} }}", tokens.join(" ")));
    }

    #[test]
    fn mutated_files_never_panic(
        file in any::<Index>(),
        changes in vec((any::<Index>(), 0..8_usize, "[ -~\\n\\PC]{0,6}"), 1..4),
    ) {
        let files = files();
        let text = file.get(&files).clone();
        read(&changes.iter().fold(text, |text, (place, removed, inserted)| mutate(&text, *place, *removed, inserted)));
    }
}

const WORDS: &[&str] = &[
    ";",
    "; task",
    "; group",
    "; fdom",
    "; quota",
    "; move",
    "; irq",
    "; dist",
    "; topo",
    "; policy",
    "a",
    "b",
    "n=2",
    "run",
    "runr",
    "sleepr",
    "1ms",
    "2s",
    "0",
    "-1",
    "3",
    "0-3",
    "wake",
    "a0",
    "loop",
    "dl=1ms/2ms/3ms",
    "dl=/",
    "fifo=5",
    "mask=1-2",
    "group=a",
    "parent=a",
    "quota=5ms",
    "node=1",
    "smt=2",
    "none",
    "1000:5",
    "99999999999999999999",
    "1.5us",
    "/",
    "umin=5",
];

const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"run\"",
    "\"tasks\"",
    "\"phases\"",
    "\"loop\"",
    "\"timer\"",
    "\"ref\"",
    "\"unique\"",
    "\"period\"",
    "\"fork\"",
    "\"t\"",
    "\"instance\"",
    "\"cpus\"",
    "\"policy\"",
    "\"SCHED_DEADLINE\"",
    "\"dl-runtime\"",
    "\"barrier\"",
    "\"taskgroup\"",
    "\"/a/b\"",
    "\"delay\"",
    "\"suspend\"",
    "\"memrun\"",
    "\"mem\"",
    "1",
    "0",
    "-1",
    "2147483647",
    "1e9",
    "null",
    "true",
    "'",
    "\"",
    "\\",
    "/*",
    "//",
    "\"util_min\"",
    "\"mode\"",
    "\"absolute\"",
    "\"wait\"",
];
