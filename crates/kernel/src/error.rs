// SPDX-License-Identifier: GPL-2.0-or-later
//! Errors of building, finding and loading engines.

use fairlab_workload::message::Message;
use std::path::{Path, PathBuf};

/// Error of an operation on engines, with a remedy after `help:` where there is one.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the variants and fields are named after what they hold")]
pub enum KernelError {
    /// A file or folder could not be read or written.
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: std::io::Error },
    /// Invalid input, such as a name, an option or a patch.
    #[error("{0}")]
    Input(Message),
    /// A program that building needs is not installed.
    #[error("{}", missing(what, packages))]
    Missing {
        /// Names of programs, separated by commas.
        what: String,
        /// Debian packages with the programs, separated by spaces.
        packages: String,
    },
    /// Failed step of a build.
    #[error("{step} failed:\n{message}")]
    Build {
        /// Short description of the step, such as `make prepare`.
        step: String,
        /// Output of the program that failed.
        message: String,
    },
    /// The objects need symbols that `symbols.txt` does not list.
    #[error("{0}")]
    Drift(Message),
    /// The end of a command was requested, by a signal or an embedding program.
    #[error("stopped")]
    Stopped,
    /// The object cannot be loaded.
    #[error("{0}")]
    Load(Message),
}

fn missing(what: &str, packages: &str) -> Message {
    Message::new(format!("building an engine needs {what}")).with_help(format!("apt-get install {packages}"))
}

impl From<KernelError> for Message {
    fn from(error: KernelError) -> Self {
        match error {
            KernelError::Input(message) | KernelError::Drift(message) | KernelError::Load(message) => message,
            KernelError::Missing { what, packages } => missing(&what, &packages),
            KernelError::Io { path, error } => Self::in_file(&path, error.to_string()),
            error @ (KernelError::Build { .. } | KernelError::Stopped) => Self::new(error.to_string()),
        }
    }
}

impl KernelError {
    /// Whether the user's input is the cause, including tools that are not installed and trees that do not
    /// compile.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Input(_) | Self::Missing { .. } | Self::Build { .. } | Self::Drift(_))
    }
}

/// Returns a function for `map_err` that adds the path to an I/O error.
pub(crate) fn io_error_at(path: &Path) -> impl FnOnce(std::io::Error) -> KernelError + use<> {
    let path = path.to_owned();
    move |error| KernelError::Io { path, error }
}
