// SPDX-License-Identifier: GPL-2.0-or-later
//! A tracer that measures the duration of idle-CPU searches, with a cost of its own.
//!
//! Probes at the beginning and the end of a function write to data that all CPUs share (return-probe
//! instances, maps). Rules:
//! 1. Each search is charged the cost once, at its end, within the measured time.
//! 2. One CPU is served at a time, in order of arrival; the others wait in the kernel.
//!
//! The results therefore include the tracer's cost, as with a real tracer. The tracer is off by default.

/// State of the tracer. Times are in picoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracer {
    /// Cost of a search; 0 without a tracer.
    cost_ps: u64,
    /// Time at which all CPUs that have arrived are served.
    free_at: u64,
    /// Whether each CPU is in a search.
    is_in_search: Vec<bool>,
}

impl Tracer {
    pub(crate) fn new(price_ps: u64, nr_cpus: usize) -> Self {
        Self { cost_ps: price_ps, free_at: 0, is_in_search: vec![false; if price_ps > 0 { nr_cpus } else { 0 }] }
    }

    /// Whether searches are traced.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.cost_ps > 0
    }

    /// Records the end of a phase of a selection on a CPU. `searches_on` says whether its search continues.
    /// Returns the time that the tracer adds, in picoseconds.
    pub(crate) fn record_selection(&mut self, cpu: usize, searches_on: bool, at: u64) -> u64 {
        let was_in_search = std::mem::replace(&mut self.is_in_search[cpu], searches_on);
        if !was_in_search || searches_on {
            return 0;
        }
        self.free_at = self.free_at.max(at) + self.cost_ps;
        self.free_at - at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_charged_once_at_its_end_and_waits_for_those_before_it() {
        let mut tracer = Tracer::new(300, 3);
        assert_eq!(tracer.record_selection(2, false, 0), 0, "no search");
        assert_eq!(
            [
                tracer.record_selection(0, true, 0),
                tracer.record_selection(0, true, 50),
                tracer.record_selection(0, false, 100)
            ],
            [0, 0, 300]
        );
        assert_eq!([tracer.record_selection(1, true, 100), tracer.record_selection(1, false, 150)], [0, 550]);
        assert_eq!(
            [tracer.record_selection(2, true, 900), tracer.record_selection(2, false, 1000)],
            [0, 300],
            "no CPU waits any more"
        );
    }
}
