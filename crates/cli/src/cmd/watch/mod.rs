// SPDX-License-Identifier: GPL-2.0-or-later
//! `fairlab run --watch`: a run on a terminal while it is simulated, which can be stopped at decisions and asked for reasons.
//!
//! [`watcher`] listens to the run and remembers what nobody can ask the machine for later: decisions and idle states. [`view`] is what is shown, taken
//! from the machine at one moment; [`draw`] puts a view on the screen, and knows nothing of machines. Here are the keys, and how far the run goes
//! until the next picture. The run is the same as without: keys decide only when it goes on, and how far at a time.

mod draw;
mod view;
pub(crate) mod watcher;

use super::run::RunObservers;
use crate::embed;
use crate::error::CliError;
use crate::interrupt;
use fairlab_machine::sim::{Machine, RunError};
use fairlab_observe::explain::{Question, explain};
use fairlab_sched::units::Nanos;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::io::{self, IsTerminal};
use std::time::Duration;
use view::{Mode, View};
use watcher::DecisionKind;

/// Between two pictures, of which there are twenty in a second.
const FRAME: Duration = Duration::from_millis(50);
const FRAMES_PER_SECOND: u64 = 20;
/// How much is simulated in a second at the start, and the least and the most.
const SPEED: Nanos = Nanos::from_millis(10);
const SLOWEST: Nanos = Nanos::from_micros(1);
const FASTEST: Nanos = Nanos::from_secs(1000);
/// Nobody looks for keys until so many instants have passed in search of a decision.
const INSTANTS_AT_ONCE: u32 = 20_000;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyCommand {
    /// Stop, or go on.
    Pause,
    /// To the next decision, of a kind or of any.
    Next(Option<DecisionKind>),
    /// Why the last decision was made; or away with that.
    Why,
    Faster,
    Slower,
    /// Another CPU is the chosen one.
    Up,
    Down,
    Quit,
}

/// Refuses what is no terminal.
pub(crate) fn refuse_what_is_no_terminal() -> Result<(), CliError> {
    if io::stdout().is_terminal() && !embed::is_embedded() {
        return Ok(());
    }
    let help = "run it in a terminal, or leave --watch out: --export FORMAT=FILE writes all that happens to a file";
    Err(CliError::Input(format!("--watch draws on a terminal, and standard output is none\nhelp: {help}")))
}

/// The terminal as it is while a run is watched. It gets its old face back at the end, whatever that is: a panic passes through a hook first.
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

/// Why a run that is watched has ended early.
pub(crate) enum WatchEnd {
    Run(RunError),
    Screen(io::Error),
}

impl From<RunError> for WatchEnd {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<io::Error> for WatchEnd {
    fn from(error: io::Error) -> Self {
        Self::Screen(error)
    }
}

/// Simulates while somebody watches: to the end, or until he leaves.
pub(crate) fn simulate(machine: &mut Machine, listeners: &mut RunObservers, title: &str) -> Result<(), WatchEnd> {
    let mut screen = Screen::open()?;
    machine.start(listeners)?;
    let mut session = WatchSession::new(machine, title);
    loop {
        session.view.update_view(machine, listeners.watcher());
        screen.0.draw(|frame| draw::draw(frame, &mut session.view))?;
        // The first key that comes ends the wait; while the run goes on there is a picture soon anyway.
        let wish = if event::poll(FRAME)? { wish_of(&event::read()?) } else { None };
        if wish == Some(KeyCommand::Quit) || interrupt::requested().is_some() || listeners.has_failed() {
            machine.end_at(session.at);
            break;
        }
        session.handle_key(wish, machine, listeners);
        session.advance_view(machine, listeners)?;
    }
    drop(screen);
    machine.finish(listeners);
    Ok(())
}

/// What an event of the terminal asks for. In raw mode Ctrl-C is a key.
fn wish_of(event: &Event) -> Option<KeyCommand> {
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

/// Somebody who watches.
struct WatchSession {
    view: View,
    /// Everything up to here has happened.
    at: Nanos,
}

impl WatchSession {
    fn new(machine: &Machine, title: &str) -> Self {
        Self { view: View::new(machine, title, SPEED), at: machine.now() }
    }

    /// Does what a key asks for.
    fn handle_key(&mut self, wish: Option<KeyCommand>, machine: &Machine, listeners: &RunObservers) {
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
                view.mode = Mode::Seeks { kind, seen: listeners.watcher().seen(kind) };
                view.why = None;
            }
            Some(KeyCommand::Why) => {
                if view.why.take().is_none() {
                    if view.mode != Mode::Over {
                        view.mode = Mode::Paused;
                    }
                    view.why = Some(why(machine, listeners, view.chosen as u32, self.at));
                }
            }
            Some(KeyCommand::Faster) => view.speed = Nanos(view.speed.0 * 2).min(FASTEST),
            Some(KeyCommand::Slower) => view.speed = Nanos(view.speed.0 / 2).max(SLOWEST),
            Some(KeyCommand::Up) => view.chosen = view.chosen.saturating_sub(1),
            Some(KeyCommand::Down) => view.chosen = (view.chosen + 1).min(last_cpu),
        }
    }

    /// Lets the run go on until the next picture.
    fn advance_view(&mut self, machine: &mut Machine, listeners: &mut RunObservers) -> Result<(), RunError> {
        match self.view.mode {
            Mode::Paused | Mode::Over => Ok(()),
            Mode::Goes => {
                let until = self.at + Nanos((self.view.speed.0 / FRAMES_PER_SECOND).max(1));
                self.advance(machine, listeners, until)
            }
            Mode::Seeks { kind, seen } => {
                for _ in 0..INSTANTS_AT_ONCE {
                    let Some(at) = machine.next_event_at() else { return self.end(machine, listeners) };
                    self.advance(machine, listeners, at)?;
                    if self.view.mode == Mode::Over {
                        return Ok(());
                    }
                    if listeners.watcher().seen(kind) > seen {
                        self.view.mode = Mode::Paused;
                        return Ok(());
                    }
                }
                Ok(())
            }
        }
    }

    /// Nothing comes any more.
    fn end(&mut self, machine: &mut Machine, listeners: &mut RunObservers) -> Result<(), RunError> {
        self.advance(machine, listeners, Nanos(u64::MAX))
    }

    fn advance(&mut self, machine: &mut Machine, listeners: &mut RunObservers, until: Nanos) -> Result<(), RunError> {
        let has_more = machine.advance(listeners, until)?;
        self.at = if has_more { until } else { machine.now() };
        if !has_more {
            self.view.mode = Mode::Over;
        }
        listeners.sample(machine);
        Ok(())
    }
}

/// What `fairlab explain` says of the last decision: the same question, at this moment. Without a decision, about a CPU.
fn why(machine: &Machine, listeners: &RunObservers, cpu: u32, now: Nanos) -> Vec<String> {
    let watcher = listeners.watcher();
    let question = watcher.question().unwrap_or(Question::Cpu(cpu));
    match explain(machine, watcher.history(), &question, now) {
        Ok(explanation) => explanation.sentences,
        Err(error) => vec![error.to_string()],
    }
}

#[cfg(test)]
mod tests;
