// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of parameters in plans and studies.

use serde::{Deserialize, Serialize};

/// Value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParameterValue {
    /// Integer, written without a decimal point.
    Number(i64),
    /// Number with a decimal point.
    Real(f64),
    /// Text, such as an option of a benchmark.
    Text(String),
}

impl std::fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Real(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}
