// SPDX-License-Identifier: GPL-2.0-or-later
//! Scenarios of the conformance kit, from the simplest to those with several CPUs.

/// Case of the conformance kit.
#[derive(Clone, Copy, Debug)]
pub struct ConformanceCase {
    /// Folder and name, such as `one-cpu/abcd`.
    pub name: &'static str,
    /// Text of the scenario. Its first line is a comment with the title.
    pub scenario: &'static str,
}

impl ConformanceCase {
    /// Returns the title: the comment in the first line.
    pub fn title(&self) -> &'static str {
        title_of(self.scenario)
    }
}

/// Returns the comment in the first line of a scenario, or an empty text.
pub(super) fn title_of(scenario: &str) -> &str {
    scenario.lines().next().and_then(|line| line.strip_prefix('#')).unwrap_or_default().trim()
}

macro_rules! cases {
    ($($name:literal)*) => {
        /// All cases, in the order in which a scheduler should be taken through them.
        pub const CASES: &[ConformanceCase] = &[$(ConformanceCase {
            name: $name,
            scenario: include_str!(concat!("../../conformance/", $name, ".scn")),
        },)*];
    };
}

cases! {
    "one-cpu/abcd"
    "one-cpu/aaccbbcc"
    "one-cpu/baaccbdd"
    "one-cpu/bccaabcc"
    "one-cpu/weights"
    "one-cpu/new-tasks"
    "one-cpu/no-place-lag"
    "one-cpu/no-delay-dequeue"
    "one-cpu/lag-limits"
    "one-cpu/delayed-dequeue"
    "one-cpu/no-delay-zero"
    "one-cpu/no-run-to-parity"
    "one-cpu/short-slices"
    "one-cpu/no-preempt-short"
    "one-cpu/yield"
    "one-cpu/policies"
    "one-cpu/buddy"
    "groups/fair-groups"
    "groups/nested"
    "groups/slices"
    "groups/delayed-groups"
    "groups/idle-group"
    "cpus/wakers"
    "cpus/moves"
    "cpus/balancing"
    "cpus/group-balancing"
}
