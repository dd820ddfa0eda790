// SPDX-License-Identifier: GPL-2.0-or-later
//! Progress of long work on standard error.
//!
//! Bars appear on a terminal for work that takes longer than a second. [`CountProgress`] also writes a line
//! per minute without a terminal.

use super::figures::counted;
use crate::values::host;
use fairlab_sched::units::Nanos;
use fairlab_study::ProgressReporter as Told;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const SHOW_AFTER: Duration = Duration::from_secs(1);
const NR_STEPS: u64 = 1000;

/// Whether bars are shown: only on a terminal, and not in an embedding program.
fn is_shown() -> bool {
    std::io::stderr().is_terminal() && !host::is_embedded()
}

pub(crate) struct Progress {
    what: &'static str,
    whole: Nanos,
    start: Instant,
    is_terminal: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Creates the progress of work that has not begun; `whole` is its simulated time.
    pub(crate) fn new(what: &'static str, whole: Nanos) -> Self {
        Self { what, whole, start: Instant::now(), is_terminal: is_shown(), bar: None }
    }

    /// Shows that `done` of the simulated time is complete.
    pub(crate) fn show(&mut self, done: Nanos) {
        if !self.is_terminal || self.start.elapsed() < SHOW_AFTER {
            return;
        }
        let (what, whole) = (self.what, self.whole);
        let bar = self.bar.get_or_insert_with(|| new_bar(Some(whole.0), what));
        bar.set_message(format!("{} of {whole}", Nanos(done.0 / 1_000_000 * 1_000_000)));
        bar.set_position(done.0);
    }
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Progress of several simulations of equal length that run in parallel.
pub(crate) struct RunsProgress {
    nr_runs: u64,
    /// The bar and the simulated time of all runs together; `None` until the first run reports its length.
    state: Mutex<Option<(Progress, Nanos)>>,
}

impl RunsProgress {
    pub(crate) const fn new(nr_runs: usize) -> Self {
        Self { nr_runs: nr_runs as u64, state: Mutex::new(None) }
    }

    /// Adds `more` simulated time of a run with this length.
    pub(crate) fn add(&self, length: Nanos, more: Nanos) {
        let mut state = self.state.lock().expect("showing does not panic");
        let whole = Nanos(length.0.saturating_mul(self.nr_runs));
        let (progress, done) = state.get_or_insert_with(|| (Progress::new("simulating", whole), Nanos::ZERO));
        *done = Nanos(done.0.saturating_add(more.0));
        progress.show(*done);
    }
    pub(crate) fn clear(self) {
        if let Some((mut progress, _)) = self.state.into_inner().expect("showing does not panic") {
            progress.clear();
        }
    }
}

const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// Progress of many runs with an estimate: a bar on a terminal, else one line per minute.
pub(crate) struct CountProgress {
    bar: Option<ProgressBar>,
    what: &'static str,
    whole: u64,
    done: u64,
    start: Instant,
    last_report: Instant,
}

impl CountProgress {
    /// Creates the progress of `whole` runs; 0 means an unknown number.
    pub(crate) fn new(what: &'static str, whole: u64) -> Self {
        let bar = is_shown().then(|| new_bar((whole > 0).then_some(whole), what));
        let now = Instant::now();
        Self { bar, what, whole, done: 0, start: now, last_report: now }
    }

    pub(crate) fn add(&mut self, more: u64) {
        self.done += more;
        if let Some(bar) = &self.bar {
            if self.whole > 0 {
                bar.set_message(format!("{} of {}", self.done, self.whole));
            }
            bar.set_position(self.done);
        } else if self.last_report.elapsed() >= REPORT_INTERVAL && !host::is_embedded() {
            self.last_report = Instant::now();
            let left = self.whole.saturating_sub(self.done) as f64;
            let left = left * self.start.elapsed().as_secs_f64() / self.done as f64;
            let line = match self.whole {
                0 => format!("{}: {}\n", self.what, counted(self.done, "run")),
                whole => format!("{}: {} of {whole}, about {left:.0}s left\n", self.what, self.done),
            };
            // A failure to write has no remedy here.
            let _ = std::io::Write::write_all(&mut std::io::stderr().lock(), line.as_bytes());
        }
    }
    pub(crate) fn clear(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

pub(crate) struct StudyProgress {
    bar: ProgressBar,
}

impl StudyProgress {
    pub(crate) fn new() -> Self {
        Self { bar: if is_shown() { new_bar(Some(NR_STEPS), "studying") } else { ProgressBar::hidden() } }
    }

    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Told for StudyProgress {
    fn done(&self, step: &str, fraction: f64) {
        self.bar.set_message(step.to_owned());
        self.bar.set_position((fraction * NR_STEPS as f64) as u64);
    }
}

/// Creates a bar that shows the share of a whole, or else counts runs.
fn new_bar(whole: Option<u64>, what: &'static str) -> ProgressBar {
    let template = match whole {
        Some(_) => "{prefix} {bar:30} {percent:>3}%  {msg}, {eta} left",
        None => "{prefix} {spinner} {pos} runs, {elapsed}",
    };
    let bar = ProgressBar::with_draw_target(whole, ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template(template).expect("the template is well-formed"));
    bar.set_prefix(what);
    bar
}
