// SPDX-License-Identifier: GPL-2.0-or-later
//! Counters of a run and of its CPUs.

use crate::base::clock::START;
use crate::parts::speed::CpuFrequency;
use fairlab_sched::units::Nanos;

/// Counters of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct CpuCounters {
    pub ticks: u64,
    /// Number of context switches.
    pub switches: u64,
    /// Reschedule interrupts sent to the CPU.
    pub resched_ipis: u64,
    /// Call-function interrupts sent to the CPU.
    pub call_ipis: u64,
    /// Time in which the idle task ran.
    pub idle: Nanos,
    /// Time at each frequency, up to the last change of frequency, or start or end of the idle task.
    frequencies: FrequencyTimes,
    /// Time in kernel paths, including waits for locks; 0 without a cost model.
    pub kernel: Nanos,
    /// Share of `kernel` in which the idle task ran.
    pub kernel_in_idle: Nanos,
    /// Time in which tasks did work of their own.
    pub work: Nanos,
    /// Number of waits for a runqueue lock.
    pub lock_waits: u64,
    /// Total duration of the waits for runqueue locks.
    pub lock_wait_time: Nanos,
    /// Number of runqueue cache lines transferred to this CPU.
    pub line_transfers: u64,
    /// Time spent waiting for transfers to other CPUs, in picoseconds; excludes the CPU's own transfers.
    pub line_wait_ps: u64,
    /// Packets that arrived from outside.
    pub packets: u64,
    /// Packets dropped because the backlog was full.
    pub packets_dropped: u64,
    /// Maximum number of packets and messages that waited for the CPU's softirq.
    pub max_backlog: u64,
    /// Number of wake-ups of the CPU's ksoftirqd.
    pub ksoftirqd_wakeups: u64,
    /// Start of the idle task's present run.
    idle_since: Option<Nanos>,
    /// Start of the time at the present frequency.
    frequency_since: Nanos,
    /// Whether the CPU is offline, so that its time counts for no frequency and is no kernel time.
    is_offline: bool,
}

/// Time of a CPU at each frequency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrequencyTimes {
    /// Time at each frequency, in ascending order.
    pub whole: Vec<(CpuFrequency, Nanos)>,
    /// Share of it in which the idle task ran.
    pub idle: Vec<(CpuFrequency, Nanos)>,
}

impl FrequencyTimes {
    fn add(&mut self, freq: CpuFrequency, time: Nanos, is_idle: bool) {
        add_time(&mut self.whole, freq, time);
        if is_idle {
            add_time(&mut self.idle, freq, time);
        }
    }
}

/// Counters of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names describe their content")]
pub struct MachineCounters {
    pub events: u64,
    pub switches: u64,
    /// Number of wake-ups, including those of new tasks.
    pub wakeups: u64,
    pub migrations: u64,
    pub per_cpu: Vec<CpuCounters>,
}

impl CpuCounters {
    /// Returns the counters of a CPU that idles at the start of the run, with capacity for `nr_frequencies`
    /// frequencies.
    pub(crate) fn new(nr_frequencies: usize) -> Self {
        Self {
            idle_since: Some(START),
            frequency_since: START,
            frequencies: FrequencyTimes {
                whole: Vec::with_capacity(nr_frequencies),
                idle: Vec::with_capacity(nr_frequencies),
            },
            ..Self::default()
        }
    }

    /// Begins a run of the idle task.
    #[inline]
    pub(crate) fn begin_idle(&mut self, now: Nanos) {
        self.idle_since = Some(now);
    }

    /// Ends the idle task's run, whose time has been accounted.
    #[inline]
    pub(crate) fn end_idle(&mut self) {
        self.idle_since = None;
    }

    /// Adds the idle time up to now, and the time at the present frequency.
    #[inline]
    pub(crate) fn add_idle_time(&mut self, now: Nanos, freq: CpuFrequency) {
        self.add_frequency_time(now, freq);
        if let Some(since) = &mut self.idle_since {
            self.idle += now - core::mem::replace(since, now);
        }
    }

    /// Adds the time at the present frequency. Must be called before the frequency changes and when the idle
    /// task starts or stops.
    #[inline]
    pub(crate) fn add_frequency_time(&mut self, now: Nanos, freq: CpuFrequency) {
        let time = now - core::mem::replace(&mut self.frequency_since, now);
        if time > Nanos::ZERO && !self.is_offline {
            self.frequencies.add(freq, time, self.idle_since.is_some());
        }
    }

    /// Records that the CPU goes offline or comes back. Its time at the present frequency must have been added.
    pub(crate) fn set_online(&mut self, is_online: bool) {
        self.is_offline = !is_online;
    }

    /// Returns the time at each frequency up to `at`, if the present frequency is `freq`.
    pub(crate) fn frequency_times(&self, at: Nanos, freq: CpuFrequency) -> FrequencyTimes {
        let mut times = self.frequencies.clone();
        let time = at.saturating_since(self.frequency_since);
        if time > Nanos::ZERO && !self.is_offline {
            times.add(freq, time, self.idle_since.is_some());
        }
        times
    }

    /// Returns the time in kernel paths and the share of it in which the idle task ran, with an amount that
    /// was not added yet.
    pub(crate) fn kernel_times(&self, unaccounted: Nanos) -> (Nanos, Nanos) {
        let unaccounted = if self.is_offline { Nanos::ZERO } else { unaccounted };
        let in_idle = if self.idle_since.is_some() { unaccounted } else { Nanos::ZERO };
        (self.kernel + unaccounted, self.kernel_in_idle + in_idle)
    }

    /// Adds time in kernel paths, except on a CPU that is offline.
    #[inline]
    pub(crate) fn add_kernel_time(&mut self, time: Nanos) {
        if self.is_offline {
            return;
        }
        self.kernel += time;
        if self.idle_since.is_some() {
            self.kernel_in_idle += time;
        }
    }

    /// Adds a wait for a runqueue lock.
    pub(crate) fn add_lock_wait(&mut self, time: Nanos) {
        self.lock_waits += 1;
        self.lock_wait_time += time;
    }

    /// Records the length of the backlog.
    pub(crate) fn record_backlog(&mut self, length: usize) {
        self.max_backlog = self.max_backlog.max(length as u64);
    }
}

/// Adds `time` to the entry of a frequency. The list is in ascending order.
fn add_time(times: &mut Vec<(CpuFrequency, Nanos)>, freq: CpuFrequency, time: Nanos) {
    match times.binary_search_by_key(&freq, |&(freq, _)| freq) {
        Ok(place) => times[place].1 += time,
        Err(place) => times.insert(place, (freq, time)),
    }
}
