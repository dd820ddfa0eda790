// SPDX-License-Identifier: GPL-2.0-or-later
//! States of the page of `fairlab lab` as fragments of addresses, as `crates/report/page/share.mjs` reads them.

use anyhow::Result;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;

/// Version of the state.
const VERSION: &str = "1";

/// Features and tunables that arm B has in addition to the settings of arm A.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct ArmChange {
    pub(super) features: BTreeMap<String, bool>,
    pub(super) tunables: BTreeMap<String, i64>,
}

/// Returns the fragment that opens a run as arm A, with the change of arm B. A workload without a text is an example of the page.
pub(super) fn fragment(spec: &RunSpec, change: &ArmChange) -> Result<String> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(state(spec, change).to_string().as_bytes())?;
    Ok(format!("#{VERSION}.{}", BASE64_URL_SAFE_NO_PAD.encode(encoder.finish()?)))
}

fn state(spec: &RunSpec, change: &ArmChange) -> Value {
    let mut state = json!({ "spec": spec, "change": change });
    if let WorkloadSpec::File(file) = &spec.workload
        && file.text().is_none()
    {
        // In a spec, a file without a text is only a name.
        state["spec"]["workload"]["file"] = json!({ "given": file.given });
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_run::input::InputFile;
    use std::io::Read;

    /// Returns the state of a fragment.
    fn decode(fragment: &str) -> Value {
        let text = fragment.strip_prefix("#1.").expect("it has a version");
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).expect("it is base64");
        let mut json = String::new();
        flate2::read::DeflateDecoder::new(&bytes[..]).read_to_string(&mut json).expect("it is compressed");
        serde_json::from_str(&json).expect("it is JSON")
    }

    #[test]
    fn an_example_is_a_name_and_other_workloads_have_their_text() {
        let change =
            ArmChange { features: BTreeMap::from([("SIS_UTIL".to_owned(), false)]), tunables: BTreeMap::default() };
        let run = |file: InputFile| RunSpec::new(WorkloadSpec::File(file));
        let named = fragment(&run(InputFile::new("scenarios/hello.json")), &change).expect("it is encoded");
        let expected = json!({ "workload": { "file": { "given": "scenarios/hello.json" } }, "settings": {} });
        assert_eq!(decode(&named), json!({ "spec": expected, "change": change }));
        let own = fragment(&run(InputFile::new("a.scn").with_text("cpus 2\n")), &ArmChange::default());
        let expected = json!({ "workload": { "file": { "given": "a.scn", "text": "cpus 2\n" } }, "settings": {} });
        let change = json!({ "features": {}, "tunables": {} });
        assert_eq!(decode(&own.expect("it is encoded")), json!({ "spec": expected, "change": change }));
    }
}
