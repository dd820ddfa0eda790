// SPDX-License-Identifier: GPL-2.0-or-later
//! Scheduler features: the switches of debugfs `sched/features`, with the names and defaults of 6.1.
//!
//! The list here is the only one: scenarios, the command line, named kernels, studies and the book's page of switches follow it.

/// A release of Linux: major and minor number.
pub type Release = (u32, u32);

/// A change of the kernel before which a switch stood otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormerDefault {
    /// The first release with the change.
    pub release: Release,
    /// How it was before, in a clause; `None` if that of another switch, which the same change concerns, tells.
    pub told: Option<&'static str>,
}

impl FormerDefault {
    /// A change that this switch tells of.
    pub(crate) const fn reported(release: Release, told: &'static str) -> Self {
        Self { release, told: Some(told) }
    }

    /// A change that another switch tells of.
    pub(crate) const fn with_another(release: Release) -> Self {
        Self { release, told: None }
    }
}

/// How a switch is seen to make a difference: in a run of a file, given as a path under `scenarios/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demo {
    /// The digest of the run of this scenario differs between the positions. And what is to be seen there.
    Digest(&'static str, &'static str),
    /// What the scheduler complains of in this run differs: the arguments of `fairlab run`, the file first. And what is to be seen.
    Complaints(&'static [&'static str], &'static str),
    /// No run shows it; why.
    NoRun(&'static str),
}

use Demo::{Complaints, Digest, NoRun};

/// Where a CPU cannot reschedule for long: the kernel wakes many tasks there, at a price.
pub(crate) const LONG_LATENCY: &[&str] =
    &["switches/latency-warn.json", "--machine", "scenarios/switches/slow-wakeups.toml", "--features", "LATENCY_WARN"];

/// Declares the features once: variant, kernel name, default, meaning, where it shows, and how it was before a change if there
/// was one: then it stood the other way round.
macro_rules! features {
    ($($variant:ident $name:literal $default:literal $doc:literal => $shown:expr $(, $before:expr)?;)*) => {
        /// A switch of the scheduler.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Feature {
            $(#[doc = $doc] $variant,)*
        }

        impl Feature {
            /// All features, in the kernel's order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The kernel's name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Whether it is on in 6.1 unless somebody switches it off.
            pub const fn default_enabled(self) -> bool {
                match self { $(Self::$variant => $default,)* }
            }

            /// What it does, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }

            /// Where it makes a difference.
            pub const fn shown(self) -> Demo {
                match self { $(Self::$variant => $shown,)* }
            }

            /// The change before which it stood the other way round.
            pub fn before(self) -> Option<FormerDefault> {
                match self { $(Self::$variant => None$(.or(Some($before)))?,)* }
            }
        }
    };
}

features! {
    GentleFairSleepers "GENTLE_FAIR_SLEEPERS" true "A task that slept gets half a latency period of credit, not a whole one." =>
        Digest("switches/sleeper.scn", "how soon the sleeper preempts");
    StartDebit "START_DEBIT" true "A new task starts one slice behind, so that forking gains nothing." =>
        Digest("switches/fork.scn", "when the new tasks run for the first time");
    NextBuddy "NEXT_BUDDY" false "Prefer the task that was woken last." =>
        Digest("switches/buddies.scn", "who runs after a wake-up that did not preempt");
    LastBuddy "LAST_BUDDY" true "Prefer the task that was preempted by a wake-up: its cache is warm." =>
        Digest("switches/buddies.scn", "who runs after a task that preempted");
    CacheHotBuddy "CACHE_HOT_BUDDY" true "A buddy counts as cache-hot for load balancing." =>
        Digest("switches/cache-hot-buddy.scn", "which task a busy CPU pulls");
    WakeupPreemption "WAKEUP_PREEMPTION" true "A woken task may preempt the running one." =>
        Digest("wakeup-preemption.scn", "the editor's latency");
    Hrtick "HRTICK" false "End slices by a high-resolution timer instead of the tick." =>
        Digest("fair-share.scn", "slices of their exact length instead of whole ticks");
    HrtickDl "HRTICK_DL" false "End deadline budgets by a high-resolution timer." =>
        Digest("deadline.scn", "budgets that end on time instead of at the next tick");
    DoubleTick "DOUBLE_TICK" false "Check for preemption at the tick even while the slice timer is armed." =>
        Digest("switches/double-tick.scn", "when the heavy task gives way to one that woke");
    NontaskCapacity "NONTASK_CAPACITY" true "Interrupt and real-time pressure lowers the capacity that is left for the fair class." =>
        Digest("interrupts.scn", "whether tasks avoid the CPUs that interrupts use");
    TtwuQueue "TTWU_QUEUE" true "Wake-ups on CPUs that share no cache are queued and activated there." =>
        Digest("numa.scn", "call-function interrupts for wake-ups across caches");
    SisProp "SIS_PROP" false "Bound the scan for an idle CPU by average idle time and measured scan cost (before 5.19)." =>
        Digest("scan-before-6.0.scn", "how many CPUs a search looks at"),
        FormerDefault::with_another((6, 0));
    SisUtil "SIS_UTIL" true "Bound the scan for an idle CPU by the utilisation of the last-level cache's CPUs." =>
        Digest("scan-limit.scn", "how many CPUs a search looks at"),
        FormerDefault::reported((6, 0), "the search for an idle CPU is bounded by average idle time and measured cost (`--set scan_cost=NS` for each CPU looked at; at 0 nothing bounds it)");
    WarnDoubleClock "WARN_DOUBLE_CLOCK" false "Complain when a runqueue's clock is updated twice under one lock." =>
        NoRun(NO_DOUBLE_CLOCK);
    RtPushIpi "RT_PUSH_IPI" false "Pull real-time tasks by asking overloaded CPUs to push, with interrupts." =>
        Digest("switches/rt-push.scn", "interrupts that ask overloaded CPUs to push");
    RtRuntimeShare "RT_RUNTIME_SHARE" false "Runqueues may borrow each other's real-time runtime." =>
        Digest("switches/rt-share.scn", "whether the real-time task is throttled");
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
    UtilEst "UTIL_EST" true "Remember a task's utilisation of before it slept." =>
        Digest("misfit.scn", "how early a task counts as too big for its CPU");
    UtilEstFastup "UTIL_EST_FASTUP" true "The remembered utilisation follows increases at once." =>
        Digest("misfit.scn", "how early a task counts as too big for its CPU"),
        FormerDefault::reported((5, 5), "a task's remembered utilisation follows increases only by and by");
    LatencyWarn "LATENCY_WARN" false "Complain when a CPU does not reschedule for long though it should." =>
        Complaints(LONG_LATENCY, "whether the scheduler complains of a CPU that does not reschedule");
    NiRandom "NI_RANDOM" true "Newly-idle balancing tries in proportion to its past success, by the dice." =>
        Digest("newidle.scn", "which newly-idle CPUs look for work"),
        FormerDefault::reported((6, 1), "newly-idle balancing does not throw dice (a change of late 6.1 stable releases, which the set 6.1 has)");
    AltPeriod "ALT_PERIOD" true "The scheduling period counts all tasks below, not only the entities of the queue." =>
        Digest("switches/alt-period.scn", "how long the heavy task runs at a time"),
        FormerDefault::reported((5, 13), "the scheduling period counts a queue's own entities only, and slices have no lower bound");
    BaseSlice "BASE_SLICE" true "No slice is shorter than the minimal granularity." =>
        Digest("switches/base-slice.scn", "how long the light tasks run at a time"),
        FormerDefault::with_another((5, 13));
}

const NO_DOUBLE_CLOCK: &str = "In none: no path updates a clock twice under one lock, nor did the reference complain in random scenarios. A test runs all scenarios with it.";

/// A feature is a bit of a [`FeatureSet`].
const _: () = assert!(Feature::ALL.len() <= u32::BITS as usize);

impl Feature {
    /// The feature with a kernel name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|feature| feature.name() == name)
    }
}

/// Which features are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureSet(u32);

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
    /// Whether a feature is on.
    #[inline]
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & (1 << feature as u8) != 0
    }

    /// Switches a feature.
    pub const fn set(&mut self, feature: Feature, on: bool) {
        if on {
            self.0 |= 1 << feature as u8;
        } else {
            self.0 &= !(1 << feature as u8);
        }
    }
}
