// SPDX-License-Identifier: GPL-2.0-or-later
//! Events of a phase: keys known by their prefix, so that `run`, `run0` and `run_b` are the same event.

use super::calibration::{Calibration, ENDLESS_WORK};
use super::cost;
use super::fields::{Fields, parse_count, parse_text};
use super::json::{JsonEntry, JsonNode, JsonValue};
use super::objects::{SharedObjects, Timers};
use super::old::{self, LOCK_ORDER, OLD_LOCKS};
use crate::message::Message;
use crate::source_text::SourceText;
use crate::step::{ObjectId, Step, TimerRef};
use fairlab_sched::units::Nanos;

/// Kind of event: its key and value in a file, and its effect.
#[derive(Debug)]
pub struct EventInfo {
    /// Prefix of its keys. The first event in [`EVENTS`] whose prefix fits is meant.
    pub prefix: &'static str,
    /// Syntax of its value, for the book.
    pub value: &'static str,
    /// Effect in fairlab, for the book.
    pub meaning: &'static str,
    read: EventReader,
}

type EventReader = for<'s, 'a> fn(&mut EventContext<'s, 'a>, &'a JsonEntry) -> Result<Event, Message>;

impl EventInfo {
    /// Returns the kind of event of a key.
    pub(super) fn from_key(key: &str) -> Option<&'static Self> {
        EVENTS.iter().find(|event| key.starts_with(event.prefix))
    }

    /// Returns the prefixes of all events.
    pub(super) fn prefixes() -> Vec<&'static str> {
        EVENTS.iter().map(|event| event.prefix).collect()
    }
}

/// Declares the events: prefix, syntax of the value, effect, and the code that reads it. The code returns a
/// step after `step`, and an event after `event`.
macro_rules! events {
    ($($prefix:literal $value:literal $meaning:literal $kind:ident |$scope:ident, $entry:ident| $read:expr;)*) => {
        /// All events, in the order in which rt-app compares keys with their prefixes.
        pub const EVENTS: &[EventInfo] = &[$(EventInfo {
            prefix: $prefix,
            value: $value,
            meaning: $meaning,
            read: |$scope, $entry| events!(@ $kind $read),
        },)*];
    };
    (@ step $read:expr) => { Ok(Event::Resolved($read)) };
    (@ event $read:expr) => { $read };
}

events! {
    "lock" "NAME" "take a mutex" step
        |scope, entry| scope.lock(entry)?;
    "unlock" "NAME" "release a mutex" step
        |scope, entry| Step::Unlock(scope.shared.mutexes.id(scope.text(entry)?));
    "wait" "`{ref, mutex}`" "wait for a condition, with its mutex" step
        |scope, entry| scope.cond(entry).map(|(cond, mutex)| Step::CondWait { cond, mutex })?;
    "signal" "NAME" "wake one task that waits for a condition" step
        |scope, entry| Step::CondSignal(scope.shared.conds.id(scope.text(entry)?));
    "broad" "NAME" "wake all tasks that wait for a condition" step
        |scope, entry| Step::CondBroadcast(scope.shared.conds.id(scope.text(entry)?));
    "sync" "`{ref, mutex}`" "signal a condition and then wait for it, as one step" step
        |scope, entry| scope.cond(entry).map(|(cond, mutex)| Step::CondSync { cond, mutex })?;
    "sleep" "N" "block for N" step
        |scope, entry| Step::Sleep(scope.micros(entry)?);
    "runtime" "N" "busy until N of wall time has passed; the task reads the clock after each 32 us of work" step
        |scope, entry| Step::RunWall(scope.micros(entry)?);
    "run" "N" "work that the CPU of the `calibration` does in N at its highest frequency; it takes longer on smaller or slower CPUs. -1: for ever" step
        |scope, entry| scope.run(entry)?;
    "timer" "`{ref, period, mode}`"
        "block until the next expiry. A name that begins with `unique` is each thread's own. A missed expiry moves the grid (`relative`) or does not (`absolute`)"
        event |scope, entry| scope.timer(&entry.key, &entry.node);
    "suspend" "NAME" "block under a name; an empty one is the task's own" step
        |scope, entry| scope.suspend(entry)?;
    "resume" "NAME" "wake all tasks that are suspended under a name. A resume that comes too early is lost" step
        |scope, entry| Step::Resume(scope.shared.suspends.id(scope.text(entry)?));
    "memrun" "`{type, size, count, pattern}`" "work of a fixed cost for accesses to memory, see below" step
        |scope, entry| scope.memrun(&entry.key, &entry.node)?;
    "mem" "N" "work of a fixed cost for clearing N bytes" step
        |scope, entry| Step::Run(cost::clear(scope.count(entry)?));
    "iorun" "N" "work of a fixed cost for writing N bytes, and for a device other than `/dev/null` also a wait" event
        |scope, entry| scope.write(entry);
    "yield" "TEXT" "`sched_yield()`" step
        |_scope, _entry| Step::Yield;
    "barrier" "NAME" "wait for all threads of all tasks that name it" step
        |scope, entry| scope.barrier(entry)?;
    "fork" "TASK" "start another thread of TASK; a task can be forked at most 1024 times" event
        |scope, entry| Ok(Event::Fork { task: scope.text(entry)?.to_owned(), at: entry.node.at });
    "sem_post" "NAME" "add one to a semaphore, which begins at 0" step
        |scope, entry| Step::SemPost(scope.shared.semaphores.id(scope.text(entry)?));
    "sem_wait" "NAME" "take one from a semaphore, or wait until there is one" step
        |scope, entry| Step::SemWait(scope.shared.semaphores.id(scope.text(entry)?));
}

/// Name that rt-app gives to an object without a name.
const UNKNOWN: &str = "unknown";

/// Event, as far as it is known before the whole file is read.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Resolved(Step),
    /// Timer event. The mode is a property of the timer, and any event that names the timer can set it.
    Timer {
        timer: TimerRef,
        period: Nanos,
    },
    /// Work followed by a wait for a device.
    Write {
        work: Nanos,
        wait: Nanos,
    },
    /// Fork of a task that may stand further down in the file.
    Fork {
        task: String,
        at: usize,
    },
}

/// Context in which events are read: the objects that they name, and the settings of their cost.
#[derive(Debug)]
pub(super) struct EventContext<'s, 'a> {
    pub(super) source: SourceText<'a>,
    pub(super) shared: &'s mut SharedObjects,
    pub(super) warnings: &'s mut Vec<String>,
    /// Size of a thread's buffer, in bytes; not 0.
    pub(super) mem_buffer_size: u64,
    pub(super) calibration: &'s Calibration,
    pub(super) to_null_device: bool,
    /// Name of the task whose events are read.
    pub(super) task: &'s str,
    pub(super) instances: u32,
    pub(super) own_timers: &'s mut Timers,
    /// Barriers that the task has named so far.
    pub(super) barriers: &'s mut Vec<ObjectId>,
}

impl<'a> EventContext<'_, 'a> {
    /// Reads an event, and warns if its key looks like a different word.
    pub(super) fn event(&mut self, kind: &EventInfo, entry: &'a JsonEntry) -> Result<Event, Message> {
        let event = (kind.read)(self, entry)?;
        let (key, prefix) = (&entry.key, kind.prefix);
        if old::is_likely_other_word(key, prefix) {
            let what = format!("\"{key}\" is read as the event \"{prefix}\", with which it begins, as rt-app does");
            self.warn(entry.key_at, format!("{what}; if that is meant, write \"{prefix}0\""));
        }
        Ok(event)
    }

    fn lock(&mut self, entry: &'a JsonEntry) -> Result<Step, Message> {
        if entry.key == LOCK_ORDER && matches!(entry.node.value, JsonValue::Array(_)) {
            self.warn(entry.key_at, format!("\"{LOCK_ORDER}\" {OLD_LOCKS}"));
            return Ok(Step::Run(Nanos::ZERO));
        }
        Ok(Step::Lock(self.shared.mutexes.id(self.text(entry)?)))
    }

    fn suspend(&mut self, entry: &'a JsonEntry) -> Result<Step, Message> {
        // workgen replaces an empty name by the task's own.
        let name = self.text(entry)?;
        if !name.is_empty() && name != self.task {
            self.shared.suspended_as.push((entry.node.at, self.task.to_owned(), name.to_owned()));
        }
        Ok(Step::Suspend(self.shared.suspends.id(if name.is_empty() { self.task } else { name })))
    }

    fn run(&self, entry: &JsonEntry) -> Result<Step, Message> {
        if entry.node.value == JsonValue::Int(-1) {
            return Ok(Step::Run(ENDLESS_WORK));
        }
        self.count(entry).map(|us| Step::Run(self.calibration.work(us)))
    }

    fn write(&self, entry: &JsonEntry) -> Result<Event, Message> {
        let bytes = self.count(entry)?;
        let work = cost::write(bytes, self.mem_buffer_size, self.to_null_device);
        if self.to_null_device {
            return Ok(Event::Resolved(Step::Run(work)));
        }
        Ok(Event::Write { work, wait: cost::wait_for_device(bytes) })
    }

    fn barrier(&mut self, entry: &JsonEntry) -> Result<Step, Message> {
        let name = self.text(entry)?;
        let id = self.shared.barriers.id(name, self.instances);
        if self.barriers.contains(&id) {
            let (place, task) = (self.source.location(entry.key_at), self.task);
            self.warnings.push(format!(
                "{place}: \"{task}\" names the barrier \"{name}\" more than once, and rt-app waits for as many threads \
                 as there are mentions; give each barrier its own name"
            ));
        }
        self.barriers.push(id);
        Ok(Step::Barrier(id))
    }

    fn timer(&mut self, key: &str, node: &'a JsonNode) -> Result<Event, Message> {
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
            self.warn(
                node.at,
                format!("the mode \"{mode}\" of \"{key}\" is neither relative nor absolute; rt-app uses relative"),
            );
        }
        self.warnings.extend(fields.unknown(&format!("\"{key}\""), &["ref", "period", "mode"], &[]));
        let timer = if name.starts_with("unique") {
            TimerRef::Own(self.own_timers.id(name, absolute))
        } else {
            TimerRef::Shared(self.shared.timers.id(name, absolute))
        };
        Ok(Event::Timer { timer, period })
    }

    /// Reads a condition and its mutex.
    fn cond(&mut self, entry: &'a JsonEntry) -> Result<(ObjectId, ObjectId), Message> {
        let key = entry.key.as_str();
        let fields = self.fields(key, &entry.node)?;
        let cond = self.name(fields, "ref", key)?;
        let cond = self.shared.conds.id(cond);
        let mutex = self.name(fields, "mutex", key)?;
        let mutex = self.shared.mutexes.id(mutex);
        self.warnings.extend(fields.unknown(&format!("\"{key}\""), &["ref", "mutex"], &[]));
        Ok((cond, mutex))
    }

    fn memrun(&mut self, key: &str, node: &'a JsonNode) -> Result<Step, Message> {
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

    /// Returns the fields of an event whose value is an object.
    ///
    /// rt-app takes any other value for an object without fields, and then uses objects of the name
    /// "unknown". That is never intended, and therefore an error here.
    fn fields(&self, key: &str, node: &'a JsonNode) -> Result<Fields<'a>, Message> {
        Fields::from_node(self.source, node, &format!("the event \"{key}\""))
    }

    /// Reads the name of an object. A missing name becomes [`UNKNOWN`], with a warning.
    fn name(&mut self, fields: Fields<'a>, field: &str, key: &str) -> Result<&'a str, Message> {
        if let Some(name) = fields.text(field)? {
            return Ok(name);
        }
        self.warn(fields.at, format!("\"{key}\" has no \"{field}\": rt-app uses the name \"{UNKNOWN}\""));
        Ok(UNKNOWN)
    }

    fn warn(&mut self, at: usize, message: String) {
        let place = self.source.location(at);
        self.warnings.push(format!("{place}: {message}"));
    }

    fn micros(&self, entry: &JsonEntry) -> Result<Nanos, Message> {
        self.count(entry).map(Nanos::from_micros)
    }

    fn count(&self, entry: &JsonEntry) -> Result<u64, Message> {
        parse_count(self.source, &entry.key, &entry.node).map_err(|error| with_key_hint(entry, error))
    }

    fn text(&self, entry: &'a JsonEntry) -> Result<&'a str, Message> {
        parse_text(self.source, &entry.key, &entry.node).map_err(|error| with_key_hint(entry, error))
    }
}

/// Adds the reason why a key was taken for an event to an error, where the key suggests something else.
fn with_key_hint(entry: &JsonEntry, error: Message) -> Message {
    let Some(EventInfo { prefix, .. }) = EventInfo::from_key(&entry.key) else { return error };
    if old::is_list_of_locks(entry) {
        return error.with_help(old::HELP_FOR_LOCKS);
    }
    if entry.key.starts_with("membind") {
        return error.with_help("this key reads as the event \"mem\"; memory binding is \"nodes_membind\"");
    }
    if matches!(entry.node.value, JsonValue::Array(_) | JsonValue::Object(_)) || entry.key.len() > prefix.len() + 3 {
        return error.with_help(format!("every key that begins with \"{prefix}\" is the event \"{prefix}\""));
    }
    error
}

/// Whether a step lets time pass, or blocks until another task acts. Steps that no event produces do not
/// count.
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
        | Step::Send(..)
        | Step::Receive(_)
        | Step::ReceiveBytes { .. }
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
        | Step::Point(_)
        | Step::Mark(_) => false,
    }
}
