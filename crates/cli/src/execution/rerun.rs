// SPDX-License-Identifier: GPL-2.0-or-later
//! Repetition of a run from its directory: reads only the manifest and the copies of inputs.

use crate::execution::execute::refuse_engine;
use crate::values::error::CliError;
use fairlab_run::manifest::{MANIFEST, Manifest, SUMMARY};
use fairlab_run::prepare::{ReadyRun, prepare};
use fairlab_run::run_directory::INPUTS;
use fairlab_run::spec::RunSpec;
use fairlab_run::warmup::WarmupPlan;
use fairlab_sched::sched::Sched;
use fairlab_sched::units::Nanos;
use std::path::{Path, PathBuf};

/// Returns the files of a run directory that are read to repeat the run.
pub(crate) fn input_files(dir: &Path) -> Vec<PathBuf> {
    let copies = std::fs::read_dir(dir.join(INPUTS)).into_iter().flatten();
    let copies = copies.filter_map(|entry| Some(entry.ok()?.path()));
    copies.chain([MANIFEST, SUMMARY].map(|name| dir.join(name))).collect()
}

/// Returns the spec of a run up to the time where it ended: a run that a signal has stopped ends there again.
pub(crate) fn spec(manifest: &Manifest) -> RunSpec {
    let mut spec = manifest.spec.clone();
    if manifest.result.cut_short_of_ns.is_some() {
        let warmup = prepare(&spec).map_or(WarmupPlan::NONE, |run| run.about.warmup);
        let begin = warmup.length(manifest.result.settling.as_ref());
        let measured = manifest.result.duration_ns.saturating_sub(begin.0);
        spec.settings.duration = Some(Nanos(measured));
    }
    spec
}

/// Boots a machine for the repetition of a run with the built-in scheduler.
pub(crate) fn repeat(manifest: &Manifest) -> Result<ReadyRun<Sched>, CliError> {
    refuse_engine(&manifest.spec.settings)?;
    Ok(prepare(&spec(manifest))?.boot()?)
}

/// Returns a warning if the digest of a repeated run differs from the manifest's. `beginning` is the start of
/// a sentence about the repeated run, such as `this explains`.
pub(crate) fn digest_warning(digest: &str, manifest: &Manifest, dir: &Path, beginning: &str) -> Option<String> {
    (digest != manifest.result.digest).then(|| {
        format!(
            "the repeated run has digest {digest}, the manifest {} (written by fairlab {}): {beginning} a run that differs from the one in {}",
            manifest.result.digest,
            manifest.fairlab,
            dir.display()
        )
    })
}
