// SPDX-License-Identifier: GPL-2.0-or-later
//! Reasons why a run cannot begin or go on.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Error of a requested run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestError {
    /// Wrong input. The message names the file and the place, and has a remedy.
    Input(String),
    /// The run could not go on, or its results could not be written.
    Run(String),
}

impl RequestError {
    /// Wraps an error about wrong input whose message is complete.
    pub fn input(error: impl fmt::Display) -> Self {
        Self::Input(error.to_string())
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) | Self::Run(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for RequestError {}
