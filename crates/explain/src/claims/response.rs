// SPDX-License-Identifier: GPL-2.0-or-later
//! Claim about the critical path of one response.
#![expect(
    missing_docs,
    reason = "names of fields describe their content; all times are in ns from the start of the run"
)]

use super::{time, write_lines};
use fairlab_measure::responses::ResponseParts;
use serde::Serialize;
use std::fmt;

/// Part of a path: one task in one state.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct PathSegmentRecord {
    pub task: String,
    pub from_ns: u64,
    pub to_ns: u64,
    /// CPU on which the task ran or waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Task that had the CPU for which this one waited; empty for tasks that are not of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind: Option<String>,
    pub parts: ResponseParts,
}

/// State of a response at the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResponseState {
    Ended,
    NotEnded,
    /// Lost or dropped, or nothing was done for it.
    Gone,
}

/// Response and its critical path.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ResponsePathClaim {
    pub response: String,
    /// Number of its activation, from 1.
    pub number: u64,
    pub start_ns: u64,
    pub state: ResponseState,
    /// Response time; absent if the response has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
    /// Segments from the start to the end.
    pub segments: Vec<PathSegmentRecord>,
}

impl fmt::Display for PathSegmentRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, cpu, behind, parts, .. } = self;
        let length = time(self.to_ns - self.from_ns);
        let on = |word: &str| cpu.map_or_else(String::new, |cpu| format!(" {word} CPU {cpu}"));
        if parts.running_ns + parts.slow_ns > 0 {
            write!(f, "{task} ran for {length}{}", on("on"))?;
            for (ns, what) in [
                (parts.slow_ns, "longer than at full speed"),
                (parts.kernel_ns, "in kernel code"),
                (parts.interrupt_ns, "in interrupts"),
            ] {
                if ns > 0 {
                    write!(f, ", {} {what}", time(ns))?;
                }
            }
            return Ok(());
        }
        let (longest, _) =
            parts.named().into_iter().fold(("", 0), |most, part| if part.1 > most.1 { part } else { most });
        match longest {
            "cpu_ns" => {
                let user = behind.as_deref().filter(|user| !user.is_empty()).unwrap_or("a kernel thread");
                write!(f, "{task} waited for {length} behind {user}{}", on("on"))
            }
            "idle_exit_ns" => write!(f, "{task} waited for {length} until{} had woken up", on("")),
            "quota_ns" => write!(f, "{task} was throttled for {length}"),
            "mutex_ns" => write!(f, "{task} waited for a mutex for {length}"),
            "object_ns" => write!(f, "{task} waited for an object for {length}"),
            "queue_ns" => write!(f, "{task} was busy with other work for {length}"),
            "sleep_ns" => write!(f, "{task} slept for {length}"),
            "interrupt_ns" => write!(f, "{task} was interrupted for {length}{}", on("on")),
            "kernel_ns" => write!(f, "the kernel worked for {task} for {length}{}", on("on")),
            _ => write!(f, "{task}: {length} without a known reason"),
        }
    }
}

impl fmt::Display for ResponsePathClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { response, number, start_ns, state, length_ns, deadline_ns, segments } = self;
        let began = format!("{response} {number} began at {}", time(*start_ns));
        let first = match (state, length_ns) {
            (ResponseState::Ended, Some(ns)) => {
                let late = deadline_ns.filter(|deadline| ns > deadline).map_or_else(String::new, |deadline| {
                    format!(", {} later than its deadline of {}", time(ns - deadline), time(deadline))
                });
                format!("{began} and took {}{late}:", time(*ns))
            }
            (ResponseState::NotEnded, _) => format!("{began} and had not ended at the end of the run."),
            _ => format!("{began} and has no end: it was lost or dropped, or nothing was done for it."),
        };
        let line = |segment: &PathSegmentRecord| format!("+{}: {segment}.", time(segment.from_ns - start_ns));
        let lines: Vec<String> = std::iter::once(first).chain(segments.iter().map(line)).collect();
        write_lines(f, &lines)
    }
}
