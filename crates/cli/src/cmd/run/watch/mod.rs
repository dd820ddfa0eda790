// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab run --watch`: shows a run on a terminal during its simulation. It can be paused at decisions and
//! explained.
//!
//! [`watcher`] observes the run and records decisions and idle states, which the machine cannot report later.
//! [`view`] is the content of the screen, taken from the machine at one moment; [`draw`] renders a view
//! without access to the machine. This module handles keys and advances the run between frames. Results are
//! identical to a run without `--watch`: keys only decide when the run continues and how far.

#![expect(clippy::disallowed_methods, reason = "keys decide how far the run advances")]

mod draw;
mod view;
pub(crate) mod watcher;

use crate::values::error::CliError;
use crate::values::{host, interrupt};
use fairlab_explain::{Question, explain};
use fairlab_machine::observer::{Interest, KernelPath, MachineEvent, Observer};
use fairlab_machine::sim::{Machine, RunError};
use fairlab_measure::summary::RunSubject;
use fairlab_run::observers::RunObservers;
use fairlab_run::prepare::RunAbout;
use fairlab_sched::ids::CpuId;
use fairlab_sched::probe::{Event as SchedEvent, SchedObserver};
use fairlab_sched::sched::Sched;
use fairlab_sched::units::Nanos;
use fairlab_sched::work::OpCounts;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::io::{self, IsTerminal};
use std::time::Duration;
use view::{Mode, View};
use watcher::{DecisionKind, Watcher};

/// Wall-clock time between two frames.
const FRAME_DURATION: Duration = Duration::from_millis(50);
const FRAMES_PER_SECOND: u64 = 20;
/// Simulated time per second at the start, and its bounds.
const DEFAULT_SPEED: Nanos = Nanos::from_millis(10);
const MIN_SPEED: Nanos = Nanos::from_micros(1);
const MAX_SPEED: Nanos = Nanos::from_secs(1000);
/// Largest number of instants in a search for a decision before keys are read again.
const MAX_INSTANTS_PER_FRAME: u32 = 20_000;

/// Command of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyCommand {
    /// Pauses or continues the run.
    Pause,
    /// Continues to the next decision, of one kind or of any.
    Next(Option<DecisionKind>),
    /// Shows or hides the explanation of the last decision.
    Why,
    Faster,
    Slower,
    /// Selects the previous CPU.
    Up,
    Down,
    Quit,
}

/// Returns an error if standard output is not a terminal.
pub(crate) fn require_terminal() -> Result<(), CliError> {
    if io::stdout().is_terminal() && !host::is_embedded() {
        return Ok(());
    }
    let help = "run it in a terminal, or omit --watch: --export FORMAT=FILE writes all events to a file";
    Err(CliError::with_help("--watch needs a terminal as standard output", help))
}

/// Terminal in raw mode. It is restored when dropped; after a panic, the panic hook restores it first.
struct Screen(DefaultTerminal);

impl Screen {
    fn open() -> io::Result<Self> {
        ratatui::try_init().map(Self)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Reason why a watched run ended early.
pub(crate) enum WatchError {
    Run(RunError),
    Screen(io::Error),
}

impl From<RunError> for WatchError {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<io::Error> for WatchError {
    fn from(error: io::Error) -> Self {
        Self::Screen(error)
    }
}

/// Observers of a watched run: those of the run, and the one that records what the screen shows.
struct WatchedRun<'a> {
    run: &'a mut RunObservers,
    watcher: Watcher,
}

impl SchedObserver for WatchedRun<'_> {
    fn event(&mut self, now: Nanos, event: &SchedEvent<'_>) {
        self.run.event(now, event);
        self.watcher.event(now, event);
    }
}

impl Observer for WatchedRun<'_> {
    fn wants(&self) -> Interest {
        Observer::<Sched>::wants(self.run).merge(self.watcher.wants())
    }

    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        Observer::<Sched>::machine_event(self.run, now, event);
        self.watcher.machine_event(now, event);
    }

    fn wants_kernel_paths(&self) -> bool {
        Observer::<Sched>::wants_kernel_paths(self.run)
    }

    fn wants_ops(&self) -> bool {
        Observer::<Sched>::wants_ops(self.run)
    }

    fn work(&mut self, now: Nanos, cpu: CpuId, path: KernelPath, counted: &OpCounts) {
        Observer::<Sched>::work(self.run, now, cpu, path, counted);
    }

    fn snapshot(&mut self, machine: &Machine) {
        self.run.snapshot(machine);
    }
}

/// Simulates with a display to the end of the run, or until the user quits.
pub(crate) fn simulate(
    machine: &mut Machine,
    observers: &mut RunObservers,
    about: &RunAbout,
) -> Result<(), WatchError> {
    let RunSubject { workload, machine: name, kernel, .. } = &about.subject;
    let title = format!("{workload} on {name}, {kernel}");
    let listeners = &mut WatchedRun { run: observers, watcher: Watcher::new(machine) };
    let mut screen = Screen::open()?;
    machine.start(listeners)?;
    let mut session = WatchSession::new(machine, &title);
    loop {
        session.view.update(machine, &listeners.watcher);
        screen.0.draw(|frame| draw::draw(frame, &mut session.view))?;
        // A key ends the wait; without one, the next frame follows soon.
        let wish = if event::poll(FRAME_DURATION)? { key_command(&event::read()?) } else { None };
        if wish == Some(KeyCommand::Quit) || interrupt::requested().is_some() || listeners.run.has_failed() {
            machine.end_at(session.at);
            break;
        }
        session.handle_key(wish, machine, listeners);
        session.advance_frame(machine, listeners)?;
    }
    drop(screen);
    machine.finish(listeners);
    Ok(())
}

/// Returns the command of a terminal event. In raw mode Ctrl-C is a key.
fn key_command(event: &Event) -> Option<KeyCommand> {
    let Event::Key(key) = event else { return None };
    if key.kind == KeyEventKind::Release {
        return None;
    }
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(KeyCommand::Quit),
        KeyCode::Char('q') | KeyCode::Esc => Some(KeyCommand::Quit),
        KeyCode::Char(' ') => Some(KeyCommand::Pause),
        KeyCode::Char('s') => Some(KeyCommand::Next(None)),
        KeyCode::Char('n') => Some(KeyCommand::Next(Some(DecisionKind::Wakeup))),
        KeyCode::Char('w') | KeyCode::Enter => Some(KeyCommand::Why),
        KeyCode::Char('+' | '=') => Some(KeyCommand::Faster),
        KeyCode::Char('-') => Some(KeyCommand::Slower),
        KeyCode::Up | KeyCode::Char('k') => Some(KeyCommand::Up),
        KeyCode::Down | KeyCode::Char('j') => Some(KeyCommand::Down),
        _ => None,
    }
}

/// State of a watched run.
struct WatchSession {
    view: View,
    /// Time up to which the run has advanced.
    at: Nanos,
}

impl WatchSession {
    fn new(machine: &Machine, title: &str) -> Self {
        Self { view: View::new(machine, title, DEFAULT_SPEED), at: machine.now() }
    }

    /// Executes the command of a key.
    fn handle_key(&mut self, wish: Option<KeyCommand>, machine: &Machine, listeners: &WatchedRun<'_>) {
        let view = &mut self.view;
        let last_cpu = machine.sched().nr_cpus() - 1;
        match wish {
            None | Some(KeyCommand::Quit) => {}
            Some(KeyCommand::Pause | KeyCommand::Next(_)) if view.mode == Mode::Over => {}
            Some(KeyCommand::Pause) => {
                view.mode = if view.mode == Mode::Goes { Mode::Paused } else { Mode::Goes };
                view.why = None;
            }
            Some(KeyCommand::Next(kind)) => {
                view.mode = Mode::Seeks { kind, seen: listeners.watcher.nr_seen(kind) };
                view.why = None;
            }
            Some(KeyCommand::Why) => {
                if view.why.take().is_none() {
                    if view.mode != Mode::Over {
                        view.mode = Mode::Paused;
                    }
                    view.why = Some(explain_last_decision(machine, listeners, view.chosen as u32, self.at));
                }
            }
            Some(KeyCommand::Faster) => view.speed = Nanos(view.speed.0 * 2).min(MAX_SPEED),
            Some(KeyCommand::Slower) => view.speed = Nanos(view.speed.0 / 2).max(MIN_SPEED),
            Some(KeyCommand::Up) => view.chosen = view.chosen.saturating_sub(1),
            Some(KeyCommand::Down) => view.chosen = (view.chosen + 1).min(last_cpu),
        }
    }

    /// Advances the run by one frame.
    fn advance_frame(&mut self, machine: &mut Machine, listeners: &mut WatchedRun<'_>) -> Result<(), RunError> {
        match self.view.mode {
            Mode::Paused | Mode::Over => Ok(()),
            Mode::Goes => {
                let until = self.at + Nanos((self.view.speed.0 / FRAMES_PER_SECOND).max(1));
                self.advance(machine, listeners, until)
            }
            Mode::Seeks { kind, seen } => {
                for _ in 0..MAX_INSTANTS_PER_FRAME {
                    let Some(at) = machine.next_event_at() else { return self.end(machine, listeners) };
                    self.advance(machine, listeners, at)?;
                    if self.view.mode == Mode::Over {
                        return Ok(());
                    }
                    if listeners.watcher.nr_seen(kind) > seen {
                        self.view.mode = Mode::Paused;
                        return Ok(());
                    }
                }
                Ok(())
            }
        }
    }

    /// Advances to the end: no more events follow.
    fn end(&mut self, machine: &mut Machine, listeners: &mut WatchedRun<'_>) -> Result<(), RunError> {
        self.advance(machine, listeners, Nanos(u64::MAX))
    }

    fn advance(&mut self, machine: &mut Machine, listeners: &mut WatchedRun<'_>, until: Nanos) -> Result<(), RunError> {
        let has_more = machine.advance(listeners, until)?;
        self.at = if has_more { until } else { machine.now() };
        if !has_more {
            self.view.mode = Mode::Over;
        }
        listeners.run.sample(machine);
        Ok(())
    }
}

/// Explains the last decision at this time, as `fairlab explain` does. Without a decision, explains the CPU.
fn explain_last_decision(machine: &Machine, listeners: &WatchedRun<'_>, cpu: u32, now: Nanos) -> Vec<String> {
    let watcher = &listeners.watcher;
    let question = watcher.question().unwrap_or(Question::Cpu(cpu));
    match explain(machine, watcher.history(), &question, now) {
        Ok(explanation) => explanation.sentences().map(str::to_owned).collect(),
        Err(error) => vec![error.to_string()],
    }
}

#[cfg(test)]
mod tests;
