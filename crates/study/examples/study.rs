// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs a study and prints its report as JSON.
#![allow(missing_docs, clippy::print_stdout, reason = "an example")]
fn main() {
    let quick = std::env::args().any(|a| a == "--quick");
    let r = fairlab_study::run("pelt-time-scaling", fairlab_study::Options { quick }, &fairlab_study::Silent).unwrap();
    for t in &r.tables {
        println!("== {}", t.title);
        for r in &t.rows {
            println!(
                "{:45} {:8} {:>12} ±{:.3} {:>12} {:?} {}",
                r.label,
                r.arm,
                r.value.to_string(),
                r.spread,
                r.published.as_ref().map(|p| p.to_string()).unwrap_or_default(),
                r.verdict,
                r.reason
            );
        }
    }
    for n in &r.notes {
        println!("{n}");
    }
}
