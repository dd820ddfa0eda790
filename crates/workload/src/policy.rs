// SPDX-License-Identifier: GPL-2.0-or-later
//! The scheduling policies, with their names in scenarios and in rt-app's files.

/// Declares the policies: variant, the word of scenarios with its parameters, the name of rt-app.
macro_rules! policies {
    ($($variant:ident $word:literal $name:literal)*) => {
        /// A policy without its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum PolicyKind {
            $($variant,)*
        }

        impl PolicyKind {
            /// All policies.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word of scenarios, as it is explained: `fifo=P`.
            pub(crate) const fn syntax(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The kernel's name, which rt-app's files use.
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
    /// The word of scenarios, up to the `=` if it has one.
    pub(crate) fn word(self) -> &'static str {
        let syntax = self.syntax();
        &syntax[..syntax.find('=').map_or(syntax.len(), |at| at + 1)]
    }

    /// Whether it is one of the fair class.
    pub(crate) const fn is_fair(self) -> bool {
        match self {
            Self::Normal | Self::Batch | Self::Idle => true,
            Self::Fifo | Self::RoundRobin | Self::Deadline => false,
        }
    }
}
