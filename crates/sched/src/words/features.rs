// SPDX-License-Identifier: GPL-2.0-or-later
//! Scheduler features: the switches of debugfs `sched/features`, with the names and defaults of 6.1.

/// Declares the features once: variant, kernel name, default, meaning.
macro_rules! features {
    ($($variant:ident $name:literal $default:literal $doc:literal)*) => {
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
            pub const fn is_default(self) -> bool {
                match self { $(Self::$variant => $default,)* }
            }

            /// What it does, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }
    };
}

features! {
    GentleFairSleepers "GENTLE_FAIR_SLEEPERS" true "A task that slept gets half a latency period of credit, not a whole one."
    StartDebit "START_DEBIT" true "A new task starts one slice behind, so that forking gains nothing."
    NextBuddy "NEXT_BUDDY" false "Prefer the task that was woken last."
    LastBuddy "LAST_BUDDY" true "Prefer the task that was preempted by a wake-up: its cache is warm."
    CacheHotBuddy "CACHE_HOT_BUDDY" true "A buddy counts as cache-hot for load balancing."
    WakeupPreemption "WAKEUP_PREEMPTION" true "A woken task may preempt the running one."
    Hrtick "HRTICK" false "End slices by a high-resolution timer instead of the tick."
    HrtickDl "HRTICK_DL" false "End deadline budgets by a high-resolution timer."
    DoubleTick "DOUBLE_TICK" false "Check for preemption at the tick even while the slice timer is armed."
    NontaskCapacity "NONTASK_CAPACITY" true "Interrupt and real-time pressure lowers the capacity that is left for the fair class."
    TtwuQueue "TTWU_QUEUE" true "Wake-ups on CPUs that share no cache are queued and activated there."
    SisProp "SIS_PROP" false "Bound the scan for an idle CPU by average idle time and measured scan cost (before 5.19)."
    SisUtil "SIS_UTIL" true "Bound the scan for an idle CPU by the utilisation of the last-level cache's CPUs."
    WarnDoubleClock "WARN_DOUBLE_CLOCK" false "Complain when a runqueue's clock is updated twice under one lock."
    RtPushIpi "RT_PUSH_IPI" false "Pull real-time tasks by asking overloaded CPUs to push, with interrupts."
    RtRuntimeShare "RT_RUNTIME_SHARE" false "Runqueues may borrow each other's real-time runtime."
    LbMin "LB_MIN" false "Load balancing leaves tasks of very small load where they are."
    AttachAgeLoad "ATTACH_AGE_LOAD" true "Age a task's averages when it is attached to another runqueue."
    WaIdle "WA_IDLE" true "wake_affine: prefer whichever of this and the previous CPU is idle."
    WaWeight "WA_WEIGHT" true "wake_affine: compare the loads of this and the previous CPU."
    WaBias "WA_BIAS" true "wake_affine: half the imbalance margin is in favour of this CPU."
    UtilEst "UTIL_EST" true "Remember a task's utilisation of before it slept."
    UtilEstFastup "UTIL_EST_FASTUP" true "The remembered utilisation follows increases at once."
    LatencyWarn "LATENCY_WARN" false "Complain when a CPU does not reschedule for long though it should."
    NiRandom "NI_RANDOM" true "Newly-idle balancing tries in proportion to its past success, by the dice."
    AltPeriod "ALT_PERIOD" true "The scheduling period counts all tasks below, not only the entities of the queue."
    BaseSlice "BASE_SLICE" true "No slice is shorter than the minimal granularity."
}

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
            set.set(feature, feature.is_default());
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
