// SPDX-License-Identifier: GPL-2.0-or-later
//! Scheduler features: the switches of debugfs `sched/features`, with the names and defaults of 6.1 and 6.12.
//!
//! Scenarios, the command line, kernel profiles, studies and the book's page of switches are derived from
//! this list.

use crate::types::commits::{self, Commit};
use crate::types::series::KernelSeries;

/// A release of Linux: major and minor number.
pub type Release = (u32, u32);

/// A kernel change that changed the default of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormerDefault {
    /// First release with the change: that of [`FormerDefault::commit`].
    pub release: Release,
    /// Commit that changed the default.
    pub commit: Commit,
    /// Behaviour before the change, in a clause; `None` if another switch of the same release has the
    /// description.
    pub description: Option<&'static str>,
}

impl FormerDefault {
    /// Returns a change with its description.
    pub(crate) const fn new(commit: Commit, description: &'static str) -> Self {
        Self { release: commit.release, commit, description: Some(description) }
    }

    /// Returns a change that another switch describes.
    pub(crate) const fn without_description(commit: Commit) -> Self {
        Self { release: commit.release, commit, description: None }
    }
}

/// A run in which a switch makes a difference; scenario paths are relative to `scenarios/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demo {
    /// Scenario whose digest differs between the values, and the observable difference.
    Digest(&'static str, &'static str),
    /// Arguments of `fairlab run`, the file first, with which the warnings of the scheduler differ; and the
    /// observable difference.
    Complaints(&'static [&'static str], &'static str),
    /// Reason why no run shows a difference.
    NoRun(&'static str),
    /// Demos with the rules of 6.1 and of 6.12, where one cannot serve for both.
    BySeries(&'static Self, &'static Self),
}

impl Demo {
    /// Returns the demo with the rules of a series.
    pub fn of_series(self, series: KernelSeries) -> Self {
        match self {
            Self::BySeries(v6_1, v6_12) => match series {
                KernelSeries::V6_1 => *v6_1,
                KernelSeries::V6_12 => *v6_12,
            },
            demo => demo,
        }
    }
}

use Demo::{BySeries, Complaints, Digest, NoRun};

/// Arguments of a run with a long scheduling latency: the kernel wakes many tasks on one CPU, with a cost.
pub(crate) const LONG_LATENCY: &[&str] = &[
    "switches/latency-warn.json",
    "--machine",
    "scenarios/switches/slow-wakeups.toml",
    "--prices",
    "Wakeup=1000000",
    "--features",
    "LATENCY_WARN",
];

/// Declares the features: variant, kernel name, default, the only series that has it if not both have, meaning, demo,
/// and the former behaviour if a kernel change inverted the default.
macro_rules! features {
    ($($variant:ident $name:literal $default:literal $(only $series:ident)? $doc:literal => $shown:expr
        $(, $before:expr)?;)*) => {
        /// A scheduler feature (`sched_feat`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Feature {
            $(#[doc = $doc] $variant,)*
        }

        impl Feature {
            /// Features of both series, in the order of each kernel.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Series of the kernel that alone has the feature; `None` if both have it.
            pub fn only_in(self) -> Option<KernelSeries> {
                match self { $(Self::$variant => None$(.or(Some(KernelSeries::$series)))?,)* }
            }

            /// Name of the feature in the kernel.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Whether the feature is enabled by default.
            pub const fn default_enabled(self) -> bool {
                match self { $(Self::$variant => $default,)* }
            }

            /// Returns the meaning of the feature in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }

            /// Returns a run in which the feature makes a difference.
            pub const fn shown(self) -> Demo {
                match self { $(Self::$variant => $shown,)* }
            }

            /// Returns the kernel change before which the default was inverted.
            pub fn before(self) -> Option<FormerDefault> {
                match self { $(Self::$variant => None$(.or(Some($before)))?,)* }
            }
        }
    };
}

features! {
    GentleFairSleepers "GENTLE_FAIR_SLEEPERS" true only V6_1 "A task that slept gets half a latency period of credit, not a whole one." =>
        Digest("switches/sleeper.scn", "how soon the sleeper preempts");
    StartDebit "START_DEBIT" true only V6_1 "A new task starts one slice behind, so that forking gains nothing." =>
        Digest("switches/fork.scn", "when the new tasks run for the first time");
    PlaceLag "PLACE_LAG" true only V6_12 "A task that joins a queue gets back the lag with which it left." =>
        Digest(EEVDF_DEMO, "when a woken task runs");
    PlaceDeadlineInitial "PLACE_DEADLINE_INITIAL" true only V6_12 "A new task gets half a slice, so that it runs soon." =>
        Digest(EEVDF_DEMO, "when new tasks run for the first time");
    PlaceRelDeadline "PLACE_REL_DEADLINE" true only V6_12 "A task keeps the time to its deadline when it moves or changes." =>
        Digest(EEVDF_DEMO, "when a task runs whose nice value has changed");
    RunToParity "RUN_TO_PARITY" true only V6_12 "The running task keeps its slice while it is eligible." =>
        Digest(EEVDF_DEMO, "how long tasks run at a time");
    PreemptShort "PREEMPT_SHORT" true only V6_12 "A woken task with a shorter slice ends the running task's slice." =>
        Digest(EEVDF_DEMO, "when the tasks with short slices run");
    NextBuddy "NEXT_BUDDY" false "Prefer the task that was woken last." =>
        Digest("switches/buddies.scn", "which task runs after a wake-up that did not preempt");
    LastBuddy "LAST_BUDDY" true only V6_1 "Prefer the task that was preempted by a wake-up: its cache is warm." =>
        Digest("switches/buddies.scn", "which task runs after one that preempted");
    PickBuddy "PICK_BUDDY" true only V6_12 "The next buddy is picked before others if it is eligible." =>
        Digest(EEVDF_DEMO, "which task of a group runs when another one sleeps");
    CacheHotBuddy "CACHE_HOT_BUDDY" true "A buddy counts as cache-hot for load balancing." =>
        BySeries(
            &Digest("switches/cache-hot-buddy.scn", "which task a busy CPU pulls"),
            &Digest(EEVDF_BALANCE, "which task a busy CPU pulls"),
        );
    DelayDequeue "DELAY_DEQUEUE" true only V6_12 "A task that goes to sleep without being eligible stays queued until it has made up for that." =>
        Digest(EEVDF_DEMO, "when sleeping tasks leave the queue");
    DelayZero "DELAY_ZERO" true only V6_12 "A task whose dequeue was delayed leaves with a lag of at most zero." =>
        Digest(EEVDF_DEMO, "when a task runs that was woken after it had made up");
    WakeupPreemption "WAKEUP_PREEMPTION" true "A woken task may preempt the running one." =>
        Digest("wakeup-preemption.scn", "the editor's latency");
    Hrtick "HRTICK" false "End slices by a high-resolution timer instead of the tick." =>
        Digest("fair-share.scn", "slices of their exact length instead of whole ticks");
    HrtickDl "HRTICK_DL" false "End deadline budgets by a high-resolution timer." =>
        Digest("deadline.scn", "budgets that end on time instead of at the next tick");
    DoubleTick "DOUBLE_TICK" false "Check for preemption at the tick even while the slice timer is armed." =>
        BySeries(
            &Digest("switches/double-tick.scn", "when the heavy task is preempted by one that woke"),
            &NoRun("6.12 reads the feature at the end of a tick, after which nothing follows."),
        );
    NontaskCapacity "NONTASK_CAPACITY" true "Interrupt and real-time pressure lowers the capacity that is left for the fair class." =>
        Digest("interrupts.scn", "whether tasks avoid the CPUs that interrupts use");
    TtwuQueue "TTWU_QUEUE" true "Wake-ups on CPUs that share no cache are queued and activated there." =>
        Digest("numa.scn", "call-function interrupts for wake-ups across caches");
    SisProp "SIS_PROP" false only V6_1 "Bound the scan for an idle CPU by average idle time and measured scan cost (before 5.19)." =>
        Digest("scan-before-6.0.scn", "how many CPUs a search scans"),
        FormerDefault::without_description(commits::SIS_UTIL);
    SisUtil "SIS_UTIL" true "Bound the scan for an idle CPU by the utilisation of the last-level cache's CPUs." =>
        Digest("scan-limit.scn", "how many CPUs a search scans"),
        FormerDefault::new(commits::SIS_UTIL, "the search for an idle CPU is bounded by average idle time and measured cost (`--set scan_cost=NS` for each scanned CPU; 0 sets no bound)");
    WarnDoubleClock "WARN_DOUBLE_CLOCK" false "Warn when a runqueue's clock is updated twice under one lock." =>
        NoRun(NO_DOUBLE_CLOCK);
    RtPushIpi "RT_PUSH_IPI" false "Pull real-time tasks by interrupts that ask overloaded CPUs to push." =>
        Digest("switches/rt-push.scn", "interrupts that ask overloaded CPUs to push"),
        FormerDefault::new(commits::RT_PUSH_IPI, "real-time tasks are pulled by interrupts that ask overloaded CPUs to push (RT_PUSH_IPI; off since late 6.1 stable releases, which the profile 6.1 includes)");
    RtRuntimeShare "RT_RUNTIME_SHARE" false "Runqueues may borrow each other's real-time runtime." =>
        BySeries(
            &Digest("switches/rt-share.scn", "whether the real-time task is throttled"),
            &NoRun("6.12 throttles real-time tasks only with CONFIG_RT_GROUP_SCHED."),
        ),
        FormerDefault::new(commits::RT_RUNTIME_SHARE, "runqueues borrow each other's real-time runtime (RT_RUNTIME_SHARE)");
    LbMin "LB_MIN" false "Load balancing leaves tasks of very small load where they are." =>
        Digest("idle-policy.scn", "whether tasks of small load are moved");
    AttachAgeLoad "ATTACH_AGE_LOAD" true "Age a task's averages when it is attached to another runqueue." =>
        Digest("switches/attach-age.scn", "the frequency after the task has come back");
    WaIdle "WA_IDLE" true "wake_affine: prefer whichever of this and the previous CPU is idle." =>
        Digest("numa.scn", "whether a wake-up goes to the waker's CPU");
    WaWeight "WA_WEIGHT" true "wake_affine: compare the loads of this and the previous CPU." =>
        Digest("numa.scn", "whether a wake-up goes to the waker's CPU");
    WaBias "WA_BIAS" true "wake_affine: half the imbalance margin is in favour of this CPU." =>
        Digest("numa.scn", "whether a wake-up goes to the waker's CPU");
    UtilEst "UTIL_EST" true "Estimate a task's utilisation by its utilisation before it slept." =>
        Digest("misfit.scn", "how early a task counts as too big for its CPU");
    UtilEstFastup "UTIL_EST_FASTUP" true only V6_1 "The estimated utilisation follows increases at once." =>
        Digest("misfit.scn", "how early a task counts as too big for its CPU"),
        FormerDefault::new(commits::UTIL_EST_FASTUP, "a task's estimated utilisation follows increases only gradually");
    LatencyWarn "LATENCY_WARN" false "Warn when a CPU does not reschedule for a long time although it should." =>
        Complaints(LONG_LATENCY, "whether the scheduler warns of a CPU that does not reschedule");
    NiRandom "NI_RANDOM" true "Newly-idle balancing runs with a probability that follows its past success." =>
        Digest("newidle.scn", "which newly-idle CPUs balance"),
        FormerDefault::new(commits::PROPORTIONAL_NEWIDLE, "newly-idle balancing is not randomised (a change of late 6.1 stable releases, which the profile 6.1 includes)");
    AltPeriod "ALT_PERIOD" true only V6_1 "The scheduling period counts all tasks of the hierarchy, not only the entities of the queue." =>
        Digest("switches/alt-period.scn", "how long the heavy task runs at a time"),
        FormerDefault::new(commits::ALTERNATIVE_SLICE, "the scheduling period counts a queue's own entities only, and slices have no lower bound");
    BaseSlice "BASE_SLICE" true only V6_1 "No slice is shorter than the minimal granularity." =>
        Digest("switches/base-slice.scn", "how long the light tasks run at a time"),
        FormerDefault::without_description(commits::ALTERNATIVE_SLICE);
}

/// Scenario in which CPUs of 6.12 pull tasks from each other.
pub(crate) const EEVDF_BALANCE: &str = "switches/eevdf-balance.scn";

/// Scenario that shows the features of EEVDF.
pub(crate) const EEVDF_DEMO: &str = "switches/eevdf.scn";

const NO_DOUBLE_CLOCK: &str = "In none: no path updates a clock twice under one lock, and the reference did not warn in random scenarios. A test runs all scenarios with it.";

/// A feature is a bit of a [`FeatureSet`].
const _: () = assert!(Feature::ALL.len() <= u64::BITS as usize);

impl Feature {
    /// Features of a series, in the order of its kernel.
    pub fn of_series(series: KernelSeries) -> impl Iterator<Item = Self> + Clone {
        Self::ALL.iter().copied().filter(move |feature| feature.exists_in(series))
    }

    /// Whether the kernel of a series has the feature.
    pub fn exists_in(self, series: KernelSeries) -> bool {
        self.only_in().is_none_or(|only| only == series)
    }

    /// Returns the feature with this kernel name, if the kernel of a series has it.
    pub fn from_name_in(series: KernelSeries, name: &str) -> Option<Self> {
        Self::from_name(name).filter(|feature| feature.exists_in(series))
    }

    /// Returns the feature with this kernel name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|feature| feature.name() == name)
    }
}

/// Set of enabled features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureSet(u64);

impl Default for FeatureSet {
    fn default() -> Self {
        let mut set = Self(0);
        for &feature in Feature::ALL {
            set.set(feature, feature.default_enabled());
        }
        set
    }
}

impl FeatureSet {
    /// Whether a feature is enabled.
    #[inline]
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & (1 << feature as u8) != 0
    }

    /// Whether slices or budgets may end by timer.
    pub(crate) const fn uses_hrtick(self) -> bool {
        self.has(Feature::Hrtick) || self.has(Feature::HrtickDl)
    }

    /// Enables or disables a feature.
    pub const fn set(&mut self, feature: Feature, on: bool) {
        if on {
            self.0 |= 1 << feature as u8;
        } else {
            self.0 &= !(1 << feature as u8);
        }
    }
}
