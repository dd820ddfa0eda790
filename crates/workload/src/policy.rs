// SPDX-License-Identifier: GPL-2.0-or-later
//! Scheduling policies with their names in scenarios and in rt-app's files.

use fairlab_sched::task::Policy;

/// Declares the policies: variant, syntax in scenarios with its parameters, name in rt-app's files.
macro_rules! policies {
    ($($variant:ident $word:literal $name:literal)*) => {
        /// Scheduling policy without its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum PolicyKind {
            $($variant,)*
        }

        impl PolicyKind {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Syntax in scenarios with parameters, as help texts show it: `fifo=P`.
            pub(crate) const fn syntax(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// Kernel name of the policy, which rt-app's files use.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

policies! {
    Normal "fair" "SCHED_OTHER"
    Batch "batch" "SCHED_BATCH"
    Idle "idlepol" "SCHED_IDLE"
    Fifo "fifo=P" "SCHED_FIFO"
    RoundRobin "rr=P" "SCHED_RR"
    Deadline "dl=RUNTIME/DEADLINE/PERIOD" "SCHED_DEADLINE"
}

impl PolicyKind {
    /// Keyword in scenarios, up to and including the `=` if the policy has parameters.
    pub(crate) fn keyword(self) -> &'static str {
        let syntax = self.syntax();
        &syntax[..syntax.find('=').map_or(syntax.len(), |at| at + 1)]
    }

    /// Whether the policy belongs to the fair class.
    pub(crate) const fn is_fair(self) -> bool {
        match self {
            Self::Normal | Self::Batch | Self::Idle => true,
            Self::Fifo | Self::RoundRobin | Self::Deadline => false,
        }
    }
}

/// Returns a policy as one word: that of a task's options in a scenario.
pub fn policy_word(policy: Policy) -> String {
    match policy {
        Policy::Normal => "fair".to_owned(),
        Policy::Batch => "batch".to_owned(),
        Policy::Idle => "idlepol".to_owned(),
        Policy::Fifo(priority) => format!("fifo={priority}"),
        Policy::RoundRobin(priority) => format!("rr={priority}"),
        Policy::Deadline { runtime, deadline, period } => format!("dl={}/{}/{}", runtime.0, deadline.0, period.0),
    }
}
