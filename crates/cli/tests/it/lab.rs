// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of `fairlab lab`: the page gets the workload and the settings. `cargo xtask browser` tests the page itself.

use crate::common::{complaint, fairlab, stdout_of};
use tempfile::TempDir;

/// Page with the element that contains the first run.
const PAGE: &str = r#"<p>before</p><script id="input" type="application/json">{"spec":{"workload":{"file":"example.scn"}},"runs":[]}</script><p>after</p>"#;

#[test]
fn the_page_contains_the_workload_the_machine_and_settings() {
    let dir = TempDir::new().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a plain name").to_owned();
    let (page, scenario, out) = (path("page.html"), path("a.scn"), path("out.html"));
    std::fs::write(&page, PAGE).expect("writable");
    // The name of a task must not end the element.
    std::fs::write(&scenario, "cpus 2\nend 1ms\ntask </script> run 1ms\n").expect("writable");
    let settings = ["--machine", "laptop-8", "--set", "base_slice_ns=700000", "--for", "2ms"];
    stdout_of(&[&["lab", &scenario, "--page", &page, "-o", &out][..], &settings].concat());
    let text = std::fs::read_to_string(&out).expect("written");
    let inner =
        text.strip_prefix(r#"<p>before</p><script id="input" type="application/json">"#).expect("the head stays");
    let inner = inner.strip_suffix("</script><p>after</p>").expect("the tail stays");
    assert!(!inner.contains('<'), "{inner}");
    let input: serde_json::Value = serde_json::from_str(inner).expect("valid JSON");
    let spec = &input["spec"];
    let file = &spec["workload"]["file"];
    assert_eq!(file["text"], "cpus 2\nend 1ms\ntask </script> run 1ms\n", "{spec}");
    assert_eq!(spec["settings"]["tunables"]["base_slice_ns"], 700_000, "{spec}");
    assert!(spec["settings"]["machine"]["text"].as_str().is_some_and(|text| text.contains("laptop-8")), "{spec}");
}

#[test]
fn a_wrong_workload_or_page_writes_nothing() {
    let dir = TempDir::new().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a plain name").to_owned();
    let (page, wrong, out) = (path("page.html"), path("wrong.scn"), path("out.html"));
    std::fs::write(&page, PAGE).expect("writable");
    std::fs::write(&wrong, "cpus 2\nend 1ms\ntsk a run 1ms\n").expect("writable");
    for (args, text) in [
        (vec!["lab", &wrong, "--page", &page, "-o", &out], "unknown statement `tsk`"),
        (vec!["lab", "scenarios/eevdf.scn", "--page", &wrong, "-o", &out], "is no page of `fairlab lab`"),
        (vec!["lab", "scenarios/eevdf.scn", "--page", &page, "-o", &page], "page.html"),
    ] {
        let error = complaint(text, &fairlab(&args));
        assert!(error.contains(text), "{args:?}: {error}");
    }
    assert!(!std::path::Path::new(&out).exists());
}
