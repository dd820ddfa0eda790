// SPDX-License-Identifier: GPL-2.0-or-later
//! Answers requests.

use crate::answer::ToolAnswer;
use crate::files::OpenedFile;
use crate::repetitions::Repetitions;
use crate::request::ToolRequest;
use fairlab_workload::message::Message;

/// Tools of a page, with the runs that were added so far.
#[derive(Debug, Default)]
pub struct LabTools {
    repetitions: Repetitions,
}

impl LabTools {
    /// Answers a request in JSON about some bytes. An error is an answer too.
    pub fn ask(&mut self, request: &str, content: &[u8]) -> String {
        let request = serde_json::from_str(request).map_err(|error| Message::new(error.to_string()).about("request"));
        let answer = request.and_then(|request| self.answer(request, content)).unwrap_or_else(ToolAnswer::Error);
        serde_json::to_string(&answer).expect("an answer is valid JSON")
    }

    fn answer(&mut self, request: ToolRequest, content: &[u8]) -> Result<ToolAnswer, Message> {
        Ok(match request {
            ToolRequest::AddRun { arm, repetition } => {
                self.repetitions.add(arm, repetition, content)?;
                ToolAnswer::Added {}
            }
            ToolRequest::Compare { arms, first_seed, command } => {
                let report = std::mem::take(&mut self.repetitions).compare(arms, first_seed, command)?;
                ToolAnswer::Compared(Box::new(report.into()))
            }
            ToolRequest::Open { name } => ToolAnswer::Opened(OpenedFile::read(&name, content)?),
        })
    }
}
