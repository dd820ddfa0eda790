// SPDX-License-Identifier: GPL-2.0-or-later
//! Statement `response`: what people wait for, from a point of one task to a point of another one.
//!
//! A response begins at an operation `point NAME`, or at the expiry of each timer of a task (`TASK.every`). Each of
//! its events gets a point of its own behind the named one, or before the timer.

use super::program::ProgramOp;
use super::tasks::MAX_NAME;
use super::tokens::{Token, Tokens};
use crate::message::Message;
use crate::object_names::ObjectNames;
use crate::source_text::SourceText;
use crate::step::ObjectId;
use crate::suggest;
use crate::workload::{ResponseSpec, ResponseStart, TaskSpec};
use fairlab_sched::units::Nanos;
use std::collections::BTreeSet;

/// Suffix of a task's name that stands for its timers.
const TIMERS: &str = ".every";
const HELP: &str = "write `response frame from=ui.every to=shown deadline=8333us`, or `from=POINT`";
/// Largest number of definitions.
pub(super) const MAX_RESPONSES: usize = 64;

/// Definition as the file describes it.
#[derive(Debug)]
struct ResponseDraft<'a> {
    name: Token<'a>,
    from: Token<'a>,
    to: Option<Token<'a>>,
    deadline: Option<Nanos>,
    start_point: ObjectId,
    end_point: Option<ObjectId>,
}

/// Definitions of a file, and the points that its programs have.
#[derive(Debug, Default)]
pub(super) struct ResponseDrafts<'a> {
    drafts: Vec<ResponseDraft<'a>>,
    pub(super) points: ObjectNames,
    /// Names of points in programs, and of timers.
    found: BTreeSet<String>,
}

impl<'a> ResponseDrafts<'a> {
    pub(super) fn count(&self) -> usize {
        self.drafts.len()
    }

    /// Reads the rest of a `response` line.
    pub(super) fn statement(&mut self, words: &mut Tokens<'a>) -> Result<(), Message> {
        let name = words.name("the response's name", MAX_NAME)?;
        if self.drafts.iter().any(|draft| draft.name.text == name.text) {
            return Err(words.error(name, format!("two responses have the name `{}`", name.text)));
        }
        let (mut from, mut to, mut deadline) = (None, None, None);
        while let Some(word) = words.next_optional() {
            if let Some(value) = word.value_of("from") {
                from = Some(value);
            } else if let Some(value) = word.value_of("to") {
                to = Some(value);
            } else if let Some(value) = word.value_of("deadline") {
                deadline = match words.parse_duration(value)? {
                    Nanos::ZERO => return Err(words.error(value, "a deadline must be at least 1 ns")),
                    deadline => Some(deadline),
                };
            } else {
                return Err(words.error(word, format!("unknown word `{}`", word.text)).with_help(HELP));
            }
        }
        let Some(from) = from else {
            return Err(words.error(name, "a response needs `from=`").with_help(HELP));
        };
        let start_point = self.points.id(&format!("start of {}", name.text));
        let end_point = to.map(|_| self.points.id(&format!("end of {}", name.text)));
        self.drafts.push(ResponseDraft { name, from, to, deadline, start_point, end_point });
        Ok(())
    }

    /// Returns an operation of a task of the family, with the points that responses add to it.
    pub(super) fn with_points(&mut self, family: &str, op: ProgramOp, point: Option<&str>) -> Vec<ProgramOp> {
        let timers = format!("{family}{TIMERS}");
        let mut ops = Vec::new();
        if matches!(op, ProgramOp::Every { .. }) {
            let starts = self.drafts.iter().filter(|draft| draft.from.text == timers);
            ops.extend(starts.map(|draft| ProgramOp::Point(draft.start_point)));
            self.found.insert(timers);
        }
        ops.push(op);
        if let Some(point) = point {
            let is_to = |draft: &&ResponseDraft<'_>| draft.to.is_some_and(|to| to.text == point);
            let ends = self.drafts.iter().filter(is_to).filter_map(|draft| draft.end_point);
            let starts = self.drafts.iter().filter(|draft| draft.from.text == point).map(|draft| draft.start_point);
            ops.extend(ends.chain(starts).map(ProgramOp::Point));
            self.found.insert(point.to_owned());
        }
        ops
    }

    /// Returns the definitions, once all programs are known.
    pub(super) fn specs(&self, source: SourceText<'_>, tasks: &[TaskSpec]) -> Result<Vec<ResponseSpec>, Message> {
        let check = |word: Token<'_>, may_be_timer: bool| {
            let is_timer = |name: &str| name.ends_with(TIMERS);
            if self.found.contains(word.text) && (may_be_timer || !is_timer(word.text)) {
                return Ok(());
            }
            let names = self.found.iter().map(String::as_str).filter(|name| may_be_timer || !is_timer(name));
            let names: Vec<&str> = names.collect();
            let message = format!("no program has the point or timer `{}`", word.text);
            let help = if names.is_empty() {
                "add an operation `point NAME` to a program".to_owned()
            } else {
                suggest::help(word.text, "points and timers", &names)
            };
            Err(source.error(word.offset, message).with_help(help))
        };
        let spec = |draft: &ResponseDraft<'_>| {
            check(draft.from, true)?;
            draft.to.map_or(Ok(()), |to| check(to, false))?;
            let start = match draft.from.text.strip_suffix(TIMERS) {
                None => ResponseStart::Point(draft.start_point),
                Some(family) => {
                    let of_family = tasks.iter().enumerate().filter(|(_, task)| task.family == family);
                    let from_origin = of_family.map(|(index, _)| index).collect();
                    ResponseStart::Timer { point: draft.start_point, from_origin }
                }
            };
            Ok(ResponseSpec { name: draft.name.text.to_owned(), start, end: draft.end_point, deadline: draft.deadline })
        };
        self.drafts.iter().map(spec).collect()
    }
}
