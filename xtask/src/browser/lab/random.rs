// SPDX-License-Identifier: GPL-2.0-or-later
//! Random pairs of runs in the page: digests and the first drawn difference must be those of native runs.

use super::SETTLED;
use super::native::DRAWN_DIFFERENCE;
use crate::browser::driver::Browser;
use crate::fuzz_oracle::draw;
use crate::lab::occupants::occupants;
use anyhow::{Context, Result, ensure};
use fairlab_run::first_difference::first_difference;
use fairlab_run::input::InputFile;
use fairlab_run::kernels::Kernel;
use fairlab_run::spec::{RunSpec, WorkloadSpec};
use fairlab_sched::features::Feature;
use fairlab_sched::series::KernelSeries;
use fairlab_workload::message::Message;
use serde_json::{Value, json};

/// Compares pairs of random scenarios, of which arm B changes a feature. Returns the number of pairs that differ.
pub(super) fn compare(browser: &mut dyn Browser, nr_pairs: u64) -> Result<u64> {
    let mut nr_different = 0;
    for seed in 1..=nr_pairs {
        let is_different = compare_pair(browser, seed).with_context(|| format!("random pair {seed}"))?;
        nr_different += u64::from(is_different);
    }
    Ok(nr_different)
}

/// Returns a script that waits until the page has adopted a workload, and returns whether it has. The page decodes a link
/// after the event that reports it.
fn adoption_of(workload: &str) -> String {
    format!(
        "(async () => {{
            for (let nr = 0; nr < 500; nr++) {{
                if (JSON.stringify(fairlab.specOf(0)).includes('{workload}')) return true;
                await new Promise((done) => setTimeout(done, 10));
            }}
            return false;
        }})()"
    )
}

/// Compares the pair of a seed. Returns whether the runs differ.
fn compare_pair(browser: &mut dyn Browser, seed: u64) -> Result<bool> {
    let series = if seed.is_multiple_of(2) { KernelSeries::V6_1 } else { KernelSeries::V6_12 };
    let features: Vec<Feature> = Feature::of_series(series).collect();
    let feature = features[seed as usize / 2 % features.len()];
    let text = draw::scenario_with_extensions(seed, series);
    let name = format!("random-{seed}.scn");
    let mut spec = RunSpec::new(WorkloadSpec::File(InputFile::new(&name).with_text(text)));
    spec.settings.kernel = Kernel::from_name(&series.to_string());
    let change = json!({ "features": { feature.name(): !feature.default_enabled() }, "tunables": {} });
    let state = json!({ "spec": spec, "change": change });
    browser.value(&format!("(async () => {{ location.hash = await fairlab.encodeState({state}); }})()"))?;
    let is_adopted = browser.value(&adoption_of(&name))? == json!(true);
    let verdict = browser.value(SETTLED)?;
    ensure!(is_adopted, "the page does not adopt the link: {verdict}");
    let specs: [RunSpec; 2] = serde_json::from_value(browser.value("[fairlab.specOf(0), fairlab.specOf(1)]")?)?;
    let natives: Result<Vec<String>, _> = specs.iter().map(|spec| occupants(spec).map(|(digest, _)| digest)).collect();
    let Ok(natives) = natives else {
        let is_rejected = browser.value("document.getElementById('verdict').classList.contains('error')")?;
        ensure!(is_rejected == json!(true), "the command rejects it, the page reports {verdict}");
        return Ok(false);
    };
    let digests = browser.value("fairlab.arms().map((arm) => arm.ended?.digest)")?;
    ensure!(digests == json!(natives), "digests of the page {digests}, of native runs {natives:?}; {verdict}");
    let native = first_difference(specs.each_ref(), &mut |_, _| true).map_err(Message::from)?;
    let native = native.map_or(Value::Null, |difference| json!(difference.at_ns));
    let reported = browser.value("fairlab.timeline.difference")?;
    let drawn = browser.value(DRAWN_DIFFERENCE)?;
    ensure!(
        reported == native && drawn == native,
        "first difference: reported {reported}, drawn {drawn}, native {native}"
    );
    Ok(native != Value::Null)
}
