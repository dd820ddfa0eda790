// SPDX-License-Identifier: GPL-2.0-or-later
//! Preemption model of a machine's kernel.

use super::error::DescriptionFault;
use super::keys::KeyValue;
use toml::Spanned;

/// Preemption model: where a task in a system call may be preempted (`preempt=` of the kernel's command line).
// DIFFERS: voluntary preemption has points inside long system calls. The modelled calls are short, so the model
// treats it as none: a task is preempted when its call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preemption {
    /// Only when the system call returns.
    None,
    /// At points that the kernel names.
    Voluntary,
    /// Anywhere, except while a lock is held.
    Full,
}

impl Preemption {
    const NAMES: [(Self, &'static str); 3] =
        [(Self::None, "none"), (Self::Voluntary, "voluntary"), (Self::Full, "full")];
}

impl KeyValue for Preemption {
    type Raw = String;
    const RANGE: &'static str = "`none`, `voluntary`, `full`";

    fn read(raw: &Spanned<String>) -> Result<Self, DescriptionFault> {
        let name = raw.get_ref().as_str();
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(model, _)| *model).ok_or_else(|| {
            let help = "write \"none\", \"voluntary\" or \"full\"; lazy preemption (6.13 and later) is not modelled";
            DescriptionFault::from_value(raw, format!("there is no preemption model `{name}`"), help)
        })
    }

    fn written(self) -> String {
        let (_, name) = Self::NAMES.iter().find(|(model, _)| *model == self).expect("every model has a name");
        format!("\"{name}\"")
    }
}
