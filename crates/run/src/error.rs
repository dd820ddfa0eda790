// SPDX-License-Identifier: GPL-2.0-or-later
//! Reasons why a run cannot begin or go on.

use fairlab_workload::message::Message;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Error of a requested run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestError {
    /// Wrong input. The message names the file and the place, and has a remedy.
    Input(Message),
    /// The run could not go on, or its results could not be written.
    Run(Message),
}

impl RequestError {
    /// Wraps an error about wrong input.
    pub fn input(error: impl Into<Message>) -> Self {
        Self::Input(error.into())
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) | Self::Run(message) => message.fmt(f),
        }
    }
}

impl std::error::Error for RequestError {}

impl From<RequestError> for Message {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Input(message) | RequestError::Run(message) => message,
        }
    }
}
