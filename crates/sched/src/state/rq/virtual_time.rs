// SPDX-License-Identifier: GPL-2.0-or-later
//! Virtual time of a cfs_rq under EEVDF: the weighted average of its entities' virtual runtimes.
//!
//! Models `avg_vruntime_add()`, `avg_vruntime_sub()`, `avg_vruntime()` and `vruntime_eligible()` (6.12.117). With
//! weights `w` and virtual runtimes `v`, the virtual time is `sum(w * v) / sum(w)`. The sums contain waiting entities
//! only, and virtual runtimes in them count from an origin that follows the average, so that products stay small.

/// Virtual runtime and weight of a running entity, which is not in the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningEntity {
    /// Virtual runtime in ns.
    pub vruntime: u64,
    /// Weight without the extra bits of resolution.
    pub weight: i64,
}

/// Virtual time of a cfs_rq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualTime {
    /// Origin of the virtual runtimes in `sum_w_vruntime` (`zero_vruntime`).
    pub zero_vruntime: u64,
    /// Sum of the virtual runtimes from the origin, each times its weight (`avg_vruntime`).
    pub sum_w_vruntime: i64,
    /// Sum of the weights (`avg_load`).
    pub sum_weight: i64,
}

impl Default for VirtualTime {
    /// Returns the virtual time of an empty cfs_rq, which begins shortly before it wraps.
    fn default() -> Self {
        Self { zero_vruntime: (1u64 << 20).wrapping_neg(), sum_w_vruntime: 0, sum_weight: 0 }
    }
}

impl VirtualTime {
    /// Returns a virtual runtime relative to the origin (`entity_key()`).
    #[inline]
    const fn key(&self, vruntime: u64) -> i64 {
        vruntime.wrapping_sub(self.zero_vruntime) as i64
    }

    /// Adds an entity that begins to wait.
    pub const fn add(&mut self, vruntime: u64, weight: i64) {
        self.sum_w_vruntime = self.sum_w_vruntime.wrapping_add(self.key(vruntime).wrapping_mul(weight));
        self.sum_weight += weight;
    }

    /// Removes an entity that no longer waits.
    pub const fn sub(&mut self, vruntime: u64, weight: i64) {
        self.sum_w_vruntime = self.sum_w_vruntime.wrapping_sub(self.key(vruntime).wrapping_mul(weight));
        self.sum_weight -= weight;
    }

    /// Returns both sums with the running entity.
    #[inline]
    fn sums(&self, running: Option<RunningEntity>) -> (i64, i64) {
        match running {
            Some(RunningEntity { vruntime, weight }) => {
                let product = self.key(vruntime).wrapping_mul(weight);
                (self.sum_w_vruntime.wrapping_add(product), self.sum_weight + weight)
            }
            None => (self.sum_w_vruntime, self.sum_weight),
        }
    }

    /// Returns the virtual time, rounded down, and makes it the origin (`avg_vruntime()`).
    ///
    /// Rounded down, an entity at the virtual time is eligible. Without a waiting entity the virtual time is that of the
    /// running one, or the origin.
    pub fn advance(&mut self, running: Option<RunningEntity>) -> u64 {
        let delta = if self.sum_weight != 0 {
            let (sum, weight) = self.sums(running);
            sum.div_euclid(weight)
        } else {
            running.map_or(0, |running| self.key(running.vruntime))
        };
        self.sum_w_vruntime = self.sum_w_vruntime.wrapping_sub(self.sum_weight.wrapping_mul(delta));
        self.zero_vruntime = self.zero_vruntime.wrapping_add(delta as u64);
        self.zero_vruntime
    }

    /// Returns the condition under which an entity is eligible now.
    #[inline]
    pub fn eligibility(&self, running: Option<RunningEntity>) -> Eligibility {
        let (sum_w_vruntime, sum_weight) = self.sums(running);
        Eligibility { all: Self { sum_w_vruntime, sum_weight, ..*self } }
    }
}

/// Condition under which an entity of a cfs_rq is eligible (`vruntime_eligible()`).
#[derive(Clone, Copy, Debug)]
pub struct Eligibility {
    /// Sums of all entities, the running one included.
    all: VirtualTime,
}

impl Eligibility {
    /// Whether an entity with this virtual runtime is owed service: its lag is not negative.
    ///
    /// Compares products, because a quotient would lose precision.
    #[inline]
    pub const fn has(&self, vruntime: u64) -> bool {
        self.all.sum_w_vruntime >= self.all.key(vruntime).wrapping_mul(self.all.sum_weight)
    }
}
