// SPDX-License-Identifier: GPL-2.0-or-later
//! Events: keys of a phase, known by how they begin, so that `run`, `run0` and `run_b` are the same event.

use super::fields::{Fields, count_of, text_of};
use super::json::{Entry, Node, Value};
use super::objects::{Shared, Timers};
use super::price;
use crate::error::{ParseError, Source};
use crate::step::{ObjectId, Step, TimerRef};
use fairlab_sched::units::Nanos;

/// What a key begins with, in the order in which rt-app looks.
const PREFIXES: [(&str, EventKind); 20] = [
    ("lock", EventKind::Lock),
    ("unlock", EventKind::Unlock),
    ("wait", EventKind::Wait),
    ("signal", EventKind::Signal),
    ("broad", EventKind::Broadcast),
    ("sync", EventKind::Sync),
    ("sleep", EventKind::Sleep),
    ("runtime", EventKind::Runtime),
    ("run", EventKind::Run),
    ("timer", EventKind::Timer),
    ("suspend", EventKind::Suspend),
    ("resume", EventKind::Resume),
    ("memrun", EventKind::MemRun),
    ("mem", EventKind::Mem),
    ("iorun", EventKind::IoRun),
    ("yield", EventKind::Yield),
    ("barrier", EventKind::Barrier),
    ("fork", EventKind::Fork),
    ("sem_post", EventKind::SemPost),
    ("sem_wait", EventKind::SemWait),
];

/// What rt-app calls an object whose name is missing.
const UNKNOWN: &str = "unknown";

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    Lock,
    Unlock,
    Wait,
    Signal,
    Broadcast,
    Sync,
    Sleep,
    Runtime,
    Run,
    Timer,
    Suspend,
    Resume,
    MemRun,
    Mem,
    IoRun,
    Yield,
    Barrier,
    Fork,
    SemPost,
    SemWait,
}

impl EventKind {
    /// The kind of event that a key is.
    pub(super) fn of_key(key: &str) -> Option<Self> {
        PREFIXES.iter().find(|(prefix, _)| key.starts_with(prefix)).map(|(_, kind)| *kind)
    }

    fn prefix(self) -> &'static str {
        PREFIXES.iter().find(|(_, kind)| *kind == self).map_or("", |(prefix, _)| prefix)
    }
}

/// An event, as far as one can know before the whole file is read.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Known(Step),
    /// The mode belongs to the timer and can be said at any of its mentions.
    Timer {
        timer: TimerRef,
        period: Nanos,
    },
    /// Work, and then waiting for a device.
    Write {
        work: Nanos,
        wait: Nanos,
    },
    /// The task may stand below.
    Fork {
        task: String,
        at: usize,
    },
}

/// Where events are read: what they name, and what they cost.
#[derive(Debug)]
pub(super) struct Scope<'s, 'a> {
    pub(super) source: Source<'a>,
    pub(super) shared: &'s mut Shared,
    pub(super) warnings: &'s mut Vec<String>,
    /// Size of a thread's buffer, in bytes; not 0.
    pub(super) mem_buffer_size: u64,
    pub(super) to_null_device: bool,
    /// The task whose events they are, its instances, and the timers that each of them has for itself.
    pub(super) task: &'s str,
    pub(super) instances: u32,
    pub(super) own_timers: &'s mut Timers,
    /// Barriers that the task has named so far.
    pub(super) barriers: &'s mut Vec<ObjectId>,
}

impl<'a> Scope<'_, 'a> {
    /// Reads an event.
    pub(super) fn event(&mut self, kind: EventKind, entry: &'a Entry) -> Result<Event, ParseError> {
        let (key, node) = (entry.key.as_str(), &entry.node);
        let step = match kind {
            EventKind::Run => Step::Run(self.micros(entry)?),
            EventKind::Runtime => Step::RunWall(self.micros(entry)?),
            EventKind::Sleep => Step::Sleep(self.micros(entry)?),
            EventKind::Mem => Step::Run(price::clear(self.count(entry)?)),
            EventKind::IoRun => return self.write(entry),
            EventKind::MemRun => self.memrun(key, node)?,
            EventKind::Yield => Step::Yield,
            EventKind::Timer => return self.timer(key, node),
            EventKind::Wait | EventKind::Sync => self.wait(kind, key, node)?,
            EventKind::Fork => return Ok(Event::Fork { task: self.text(entry)?.to_owned(), at: node.at }),
            EventKind::Lock => Step::Lock(self.shared.mutexes.id(self.text(entry)?)),
            EventKind::Unlock => Step::Unlock(self.shared.mutexes.id(self.text(entry)?)),
            EventKind::Signal => Step::CondSignal(self.shared.conds.id(self.text(entry)?)),
            EventKind::Broadcast => Step::CondBroadcast(self.shared.conds.id(self.text(entry)?)),
            EventKind::SemPost => Step::SemPost(self.shared.semaphores.id(self.text(entry)?)),
            EventKind::SemWait => Step::SemWait(self.shared.semaphores.id(self.text(entry)?)),
            EventKind::Resume => Step::Resume(self.shared.suspends.id(self.text(entry)?)),
            EventKind::Suspend => {
                // workgen puts the task's own name in place of an empty one.
                let name = self.text(entry)?;
                Step::Suspend(self.shared.suspends.id(if name.is_empty() { self.task } else { name }))
            }
            EventKind::Barrier => self.barrier(entry)?,
        };
        Ok(Event::Known(step))
    }

    fn write(&self, entry: &Entry) -> Result<Event, ParseError> {
        let bytes = self.count(entry)?;
        let work = price::write(bytes, self.mem_buffer_size, self.to_null_device);
        if self.to_null_device {
            return Ok(Event::Known(Step::Run(work)));
        }
        Ok(Event::Write { work, wait: price::wait_for_device(bytes) })
    }

    fn barrier(&mut self, entry: &Entry) -> Result<Step, ParseError> {
        let name = self.text(entry)?;
        let id = self.shared.barriers.id(name, self.instances);
        if self.barriers.contains(&id) {
            let (place, task) = (self.source.place(entry.key_at), self.task);
            self.warnings.push(format!(
                "{place}: \"{task}\" names the barrier \"{name}\" more than once, and rt-app waits for as many threads \
                 as there are mentions; give each barrier its own name"
            ));
        }
        self.barriers.push(id);
        Ok(Step::Barrier(id))
    }

    fn timer(&mut self, key: &str, node: &'a Node) -> Result<Event, ParseError> {
        let fields = self.fields(key, node)?;
        let name = self.name(fields, "ref", key)?;
        let period = match fields.count("period")? {
            Some(period) => Nanos::from_micros(period),
            None => {
                self.warn(node.at, format!("\"{key}\" has no \"period\", so it waits for nothing"));
                Nanos::ZERO
            }
        };
        let mode = fields.text("mode")?.unwrap_or("relative");
        let absolute = mode.starts_with("absolute");
        if !absolute && mode != "relative" {
            self.warn(node.at, format!("the mode \"{mode}\" of \"{key}\" is neither relative nor absolute: relative"));
        }
        self.warnings.extend(fields.unknown(&format!("\"{key}\""), &["ref", "period", "mode"], |_| false));
        let timer = if name.starts_with("unique") {
            TimerRef::Own(self.own_timers.id(name, absolute))
        } else {
            TimerRef::Shared(self.shared.timers.id(name, absolute))
        };
        Ok(Event::Timer { timer, period })
    }

    fn wait(&mut self, kind: EventKind, key: &str, node: &'a Node) -> Result<Step, ParseError> {
        let fields = self.fields(key, node)?;
        let cond = self.name(fields, "ref", key)?;
        let cond = self.shared.conds.id(cond);
        let mutex = self.name(fields, "mutex", key)?;
        let mutex = self.shared.mutexes.id(mutex);
        self.warnings.extend(fields.unknown(&format!("\"{key}\""), &["ref", "mutex"], |_| false));
        Ok(match kind {
            EventKind::Sync => Step::CondSync { cond, mutex },
            _ => Step::CondWait { cond, mutex },
        })
    }

    fn memrun(&mut self, key: &str, node: &'a Node) -> Result<Step, ParseError> {
        let fields = self.fields(key, node)?;
        let size = fields.count("size")?.unwrap_or(self.mem_buffer_size);
        let Some(count) = fields.count("count")? else {
            return Err(self.source.error(node.at, format!("\"{key}\" needs a \"count\"")));
        };
        fields.count("stride")?;
        fields.text("ref")?;
        let known = ["type", "size", "count", "stride", "pattern", "ref"];
        self.warnings.extend(fields.unknown(&format!("\"{key}\""), &known, |_| false));
        let random = match fields.text("pattern")? {
            None | Some("random") => true,
            Some("sequential") => false,
            Some(other) => {
                let message = format!("the pattern \"{other}\" of \"{key}\" is neither random nor sequential");
                return Err(self.source.error(node.at, message));
            }
        };
        match fields.text("type")? {
            Some("read" | "write") => Ok(Step::Run(price::touch(count))),
            Some("chase") => Ok(Step::Run(price::chase(count, size, random))),
            _ => Err(self.source.error(node.at, format!("\"{key}\" needs a \"type\": read, write or chase"))),
        }
    }

    /// The value of an event that is an object. rt-app takes any other value for an object without fields, and then uses
    /// objects of the name "unknown": nobody means that.
    fn fields(&self, key: &str, node: &'a Node) -> Result<Fields<'a>, ParseError> {
        Fields::of(self.source, node, &format!("the event \"{key}\""))
    }

    /// A name of an object, which should not be missing.
    fn name(&mut self, fields: Fields<'a>, field: &str, key: &str) -> Result<&'a str, ParseError> {
        if let Some(name) = fields.text(field)? {
            return Ok(name);
        }
        self.warn(fields.at, format!("\"{key}\" has no \"{field}\": rt-app takes \"{UNKNOWN}\""));
        Ok(UNKNOWN)
    }

    fn warn(&mut self, at: usize, message: String) {
        let place = self.source.place(at);
        self.warnings.push(format!("{place}: {message}"));
    }

    fn micros(&self, entry: &Entry) -> Result<Nanos, ParseError> {
        self.count(entry).map(Nanos::from_micros)
    }

    fn count(&self, entry: &Entry) -> Result<u64, ParseError> {
        count_of(self.source, &entry.key, &entry.node).map_err(|error| explain(entry, error))
    }

    fn text(&self, entry: &'a Entry) -> Result<&'a str, ParseError> {
        text_of(self.source, &entry.key, &entry.node).map_err(|error| explain(entry, error))
    }
}

/// Says what a key was taken for, where its name suggests something else.
fn explain(entry: &Entry, error: ParseError) -> ParseError {
    let Some(kind) = EventKind::of_key(&entry.key) else { return error };
    let prefix = kind.prefix();
    if entry.key.starts_with("membind") {
        return error.with_help("this key reads as the event \"mem\"; memory binding is \"nodes_membind\"");
    }
    if matches!(entry.node.value, Value::Array(_) | Value::Object(_)) || entry.key.len() > prefix.len() + 3 {
        return error.with_help(format!("every key that begins with \"{prefix}\" is the event \"{prefix}\""));
    }
    error
}

/// Whether a step lets time pass, or blocks until another task does something.
pub(super) fn takes_time(step: &Step, participants: impl Fn(ObjectId) -> u32) -> bool {
    match step {
        Step::Run(length) | Step::RunWall(length) => length.0 > 0,
        Step::Timer { period, .. } => period.0 > 0,
        Step::Barrier(barrier) => participants(*barrier) != 1,
        Step::Sleep(_)
        | Step::WaitIo(_)
        | Step::WaitWake
        | Step::CondWait { .. }
        | Step::CondSync { .. }
        | Step::SemWait(_)
        | Step::Suspend(_)
        | Step::Exit => true,
        _ => false,
    }
}
