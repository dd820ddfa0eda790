// SPDX-License-Identifier: GPL-2.0-or-later
//! A tracer that takes the time of searches for an idle CPU, as an instrument with a price.
//!
//! Probes at the begin and the end of a function write to things that all CPUs share (instances of return probes, maps). Rules:
//! 1. Each search costs the price once, at its end, within the time that is taken.
//! 2. One CPU at a time is served, first come, first served; the others wait for it with what they do in the kernel.
//!
//! Who reads the result knows what a search takes with the tracer, as with a real one. Off unless a run asks for it.

/// What the tracer is doing. Times are in picoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracer {
    /// The price of a search; 0: there is no tracer.
    price_ps: u64,
    /// When it has served all who have come.
    free_at: u64,
    /// Which CPUs are in a search.
    is_in_search: Vec<bool>,
}

impl Tracer {
    pub(super) fn new(price_ps: u64, nr_cpus: usize) -> Self {
        Self { price_ps, free_at: 0, is_in_search: vec![false; if price_ps > 0 { nr_cpus } else { 0 }] }
    }

    /// Whether searches are traced.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.price_ps > 0
    }

    /// A part of a selection on a CPU is over at a time, with or without a search that goes on. Returns what the tracer takes.
    pub(super) fn selected(&mut self, cpu: usize, searches_on: bool, at: u64) -> u64 {
        let was_in_search = std::mem::replace(&mut self.is_in_search[cpu], searches_on);
        if !was_in_search || searches_on {
            return 0;
        }
        self.free_at = self.free_at.max(at) + self.price_ps;
        self.free_at - at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_charged_once_at_its_end_and_waits_for_those_before_it() {
        let mut tracer = Tracer::new(300, 3);
        assert_eq!(tracer.selected(2, false, 0), 0, "no search");
        assert_eq!(
            [tracer.selected(0, true, 0), tracer.selected(0, true, 50), tracer.selected(0, false, 100)],
            [0, 0, 300]
        );
        assert_eq!([tracer.selected(1, true, 100), tracer.selected(1, false, 150)], [0, 550]);
        assert_eq!(
            [tracer.selected(2, true, 900), tracer.selected(2, false, 1000)],
            [0, 300],
            "nobody is there any more"
        );
    }
}
