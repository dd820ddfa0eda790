// SPDX-License-Identifier: GPL-2.0-or-later
//! Why an engine cannot be built, found or loaded.

use std::path::{Path, PathBuf};

/// The reason, with the way out.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// A file or folder could not be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// What was asked for is wrong.
    #[error("{0}")]
    Input(String),
    /// A program that building needs is not installed.
    #[error("building an engine needs {what}\nhelp: apt-get install {packages}")]
    Missing {
        /// Programs and files.
        what: String,
        /// Debian packages that have them.
        packages: String,
    },
    /// A step of the build failed; the message is the compiler's own.
    #[error("{step} failed:\n{message}")]
    Build {
        /// Which step.
        step: String,
        /// What it said.
        message: String,
    },
    /// The object needs symbols that no table knows.
    #[error("{0}")]
    Drift(String),
    /// The object cannot be loaded.
    #[error("{0}")]
    Load(String),
}

impl KernelError {
    /// Whether the input was wrong, rather than something that went wrong with it.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Input(_) | Self::Missing { .. } | Self::Build { .. } | Self::Drift(_))
    }
}

/// For `map_err`: says of which file it is.
pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> KernelError + use<> {
    let path = path.to_owned();
    move |error| KernelError::Io { path, error }
}
