// SPDX-License-Identifier: GPL-2.0-or-later
//! Events: keys of a phase, known by how they begin, so that `run`, `run0` and `run_b` are the same event.

use super::calibration::{Calibration, ENDLESS};
use super::cost;
use super::fields::{Fields, count_of, text_of};
use super::json::{Entry, Node, Value};
use super::objects::{Shared, Timers};
use super::old::{self, LOCK_ORDER, OLD_LOCKS};
use crate::error::{ParseError, Source};
use crate::step::{ObjectId, Step, TimerRef};
use fairlab_sched::units::Nanos;

/// A kind of event.
#[derive(Debug)]
pub struct EventInfo {
    /// What its keys begin with.
    pub prefix: &'static str,
    /// Its value, for the book.
    pub value: &'static str,
    /// What it does here.
    pub meaning: &'static str,
    read: EventReader,
}

type EventReader = for<'s, 'a> fn(&mut Scope<'s, 'a>, &'a Entry) -> Result<Event, ParseError>;

impl EventInfo {
    /// The kind of event that a key is.
    pub(super) fn of_key(key: &str) -> Option<&'static Self> {
        EVENTS.iter().find(|event| key.starts_with(event.prefix))
    }

    /// What keys of events begin with.
    pub(super) fn prefixes() -> Vec<&'static str> {
        EVENTS.iter().map(|event| event.prefix).collect()
    }
}

/// Declares the events: what keys begin with, the value, what it does, and how it is read: as a step, or as what follows `event`.
macro_rules! events {
    ($($prefix:literal $value:literal $meaning:literal $kind:ident |$scope:ident, $entry:ident| $read:expr;)*) => {
        /// All events, in the order in which rt-app looks for the beginnings of keys.
        pub const EVENTS: &[EventInfo] = &[$(EventInfo {
            prefix: $prefix,
            value: $value,
            meaning: $meaning,
            read: |$scope, $entry| events!(@ $kind $read),
        },)*];
    };
    (@ step $read:expr) => { Ok(Event::Known($read)) };
    (@ event $read:expr) => { $read };
}

events! {
    "lock" "NAME" "take a mutex" step
        |scope, entry| scope.lock(entry)?;
    "unlock" "NAME" "release it" step
        |scope, entry| Step::Unlock(scope.shared.mutexes.id(scope.text(entry)?));
    "wait" "`{ref, mutex}`" "wait for a condition, with its mutex" step
        |scope, entry| scope.cond(entry).map(|(cond, mutex)| Step::CondWait { cond, mutex })?;
    "signal" "NAME" "wake one task that waits for a condition" step
        |scope, entry| Step::CondSignal(scope.shared.conds.id(scope.text(entry)?));
    "broad" "NAME" "wake all of them" step
        |scope, entry| Step::CondBroadcast(scope.shared.conds.id(scope.text(entry)?));
    "sync" "`{ref, mutex}`" "signal a condition and then wait for it, as one step" step
        |scope, entry| scope.cond(entry).map(|(cond, mutex)| Step::CondSync { cond, mutex })?;
    "sleep" "N" "block for N" step
        |scope, entry| Step::Sleep(scope.micros(entry)?);
    "runtime" "N" "busy until N of wall time has passed; the clock is looked at after each 32 us of work" step
        |scope, entry| Step::RunWall(scope.micros(entry)?);
    "run" "N" "work that the CPU of the `calibration` does in N at its highest frequency; it takes longer on smaller or slower CPUs. -1: for ever" step
        |scope, entry| scope.run(entry)?;
    "timer" "`{ref, period, mode}`"
        "block until the next expiry. A name that begins with `unique` is each thread's own. A missed expiry moves the grid (`relative`) or does not (`absolute`)"
        event |scope, entry| scope.timer(&entry.key, &entry.node);
    "suspend" "NAME" "block under a name; an empty one is the task's own" step
        |scope, entry| scope.suspend(entry)?;
    "resume" "NAME" "wake all that do. A resume that comes too early is lost" step
        |scope, entry| Step::Resume(scope.shared.suspends.id(scope.text(entry)?));
    "memrun" "`{type, size, count, pattern}`" "work of a fixed price for accesses to memory, see below" step
        |scope, entry| scope.memrun(&entry.key, &entry.node)?;
    "mem" "N" "the same for N bytes that are cleared" step
        |scope, entry| Step::Run(cost::clear(scope.count(entry)?));
    "iorun" "N" "the same for N bytes that are written; a device other than `/dev/null` is waited for" event
        |scope, entry| scope.write(entry);
    "yield" "TEXT" "`sched_yield()`" step
        |_scope, _entry| Step::Yield;
    "barrier" "NAME" "wait for all threads of all tasks that name it" step
        |scope, entry| scope.barrier(entry)?;
    "fork" "TASK" "start a thread of a task; at most 1024 times each" event
        |scope, entry| Ok(Event::Fork { task: scope.text(entry)?.to_owned(), at: entry.node.at });
    "sem_post" "NAME" "add one to a semaphore, which begins at 0" step
        |scope, entry| Step::SemPost(scope.shared.semaphores.id(scope.text(entry)?));
    "sem_wait" "NAME" "take one from it, or wait until there is one" step
        |scope, entry| Step::SemWait(scope.shared.semaphores.id(scope.text(entry)?));
}

/// What rt-app calls an object whose name is missing.
const UNKNOWN: &str = "unknown";

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
    pub(super) calibration: &'s Calibration,
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
    pub(super) fn event(&mut self, kind: &EventInfo, entry: &'a Entry) -> Result<Event, ParseError> {
        let event = (kind.read)(self, entry)?;
        let (key, prefix) = (&entry.key, kind.prefix);
        if old::looks_like_another_word(key, prefix) {
            let what = format!("\"{key}\" is read as the event \"{prefix}\", with which it begins, as rt-app does");
            self.warn(entry.key_at, format!("{what}; if that is meant, write \"{prefix}0\""));
        }
        Ok(event)
    }

    fn lock(&mut self, entry: &'a Entry) -> Result<Step, ParseError> {
        if entry.key == LOCK_ORDER && matches!(entry.node.value, Value::Array(_)) {
            self.warn(entry.key_at, format!("\"{LOCK_ORDER}\" {OLD_LOCKS}"));
            return Ok(Step::Run(Nanos::ZERO));
        }
        Ok(Step::Lock(self.shared.mutexes.id(self.text(entry)?)))
    }

    fn suspend(&mut self, entry: &'a Entry) -> Result<Step, ParseError> {
        // workgen puts the task's own name in place of an empty one.
        let name = self.text(entry)?;
        if !name.is_empty() && name != self.task {
            self.shared.suspended_as.push((entry.node.at, self.task.to_owned(), name.to_owned()));
        }
        Ok(Step::Suspend(self.shared.suspends.id(if name.is_empty() { self.task } else { name })))
    }

    fn run(&self, entry: &Entry) -> Result<Step, ParseError> {
        if entry.node.value == Value::Int(-1) {
            return Ok(Step::Run(ENDLESS));
        }
        self.count(entry).map(|us| Step::Run(self.calibration.work(us)))
    }

    fn write(&self, entry: &Entry) -> Result<Event, ParseError> {
        let bytes = self.count(entry)?;
        let work = cost::write(bytes, self.mem_buffer_size, self.to_null_device);
        if self.to_null_device {
            return Ok(Event::Known(Step::Run(work)));
        }
        Ok(Event::Write { work, wait: cost::wait_for_device(bytes) })
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
        self.warnings.extend(fields.unknown(&format!("\"{key}\""), &["ref", "period", "mode"], &[]));
        let timer = if name.starts_with("unique") {
            TimerRef::Own(self.own_timers.id(name, absolute))
        } else {
            TimerRef::Shared(self.shared.timers.id(name, absolute))
        };
        Ok(Event::Timer { timer, period })
    }

    /// A condition and its mutex.
    fn cond(&mut self, entry: &'a Entry) -> Result<(ObjectId, ObjectId), ParseError> {
        let key = entry.key.as_str();
        let fields = self.fields(key, &entry.node)?;
        let cond = self.name(fields, "ref", key)?;
        let cond = self.shared.conds.id(cond);
        let mutex = self.name(fields, "mutex", key)?;
        let mutex = self.shared.mutexes.id(mutex);
        self.warnings.extend(fields.unknown(&format!("\"{key}\""), &["ref", "mutex"], &[]));
        Ok((cond, mutex))
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
        self.warnings.extend(fields.unknown(&format!("\"{key}\""), &known, &[]));
        let random = match fields.text("pattern")? {
            None | Some("random") => true,
            Some("sequential") => false,
            Some(other) => {
                let message = format!("the pattern \"{other}\" of \"{key}\" is neither random nor sequential");
                return Err(self.source.error(node.at, message));
            }
        };
        match fields.text("type")? {
            Some("read" | "write") => Ok(Step::Run(cost::touch(count))),
            Some("chase") => Ok(Step::Run(cost::chase(count, size, random))),
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
    let Some(EventInfo { prefix, .. }) = EventInfo::of_key(&entry.key) else { return error };
    if old::is_list_of_locks(entry) {
        return error.with_help(old::HELP_FOR_LOCKS);
    }
    if entry.key.starts_with("membind") {
        return error.with_help("this key reads as the event \"mem\"; memory binding is \"nodes_membind\"");
    }
    if matches!(entry.node.value, Value::Array(_) | Value::Object(_)) || entry.key.len() > prefix.len() + 3 {
        return error.with_help(format!("every key that begins with \"{prefix}\" is the event \"{prefix}\""));
    }
    error
}

/// Whether a step lets time pass, or blocks until another task does something. Of steps that no event makes, none counts.
pub(super) fn takes_time(step: &Step, participants: impl Fn(ObjectId) -> u32) -> bool {
    match step {
        Step::Run(length) | Step::RunWall(length) => length.0 > 0,
        Step::Timer { period, .. } => period.0 > 0,
        Step::Barrier(barrier) => participants(*barrier) != 1,
        Step::Sleep(_)
        | Step::WaitIo(_)
        | Step::AwaitOrigin
        | Step::WaitWake
        | Step::CondWait { .. }
        | Step::CondSync { .. }
        | Step::SemWait(_)
        | Step::Suspend(_)
        | Step::Exit => true,
        Step::Spin(_)
        | Step::Wake { .. }
        | Step::Yield
        | Step::Lock(_)
        | Step::Unlock(_)
        | Step::CondSignal(_)
        | Step::CondBroadcast(_)
        | Step::SemPost(_)
        | Step::Resume(_)
        | Step::Send(_)
        | Step::Receive(_)
        | Step::Offer { .. }
        | Step::FutexArm(_)
        | Step::FutexPost(_)
        | Step::FutexWait(_)
        | Step::Enlist { .. }
        | Step::PostAll(_)
        | Step::RunSoftirqs
        | Step::BeginTransition(_)
        | Step::EndTransition(_)
        | Step::LockCpu
        | Step::UnlockCpu
        | Step::Fork(_)
        | Step::Exec
        | Step::SetAttributes(_)
        | Step::Mark(_) => false,
    }
}
