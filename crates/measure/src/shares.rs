// SPDX-License-Identifier: GPL-2.0-or-later
//! Arithmetic of shares: the CPU time that weights entitle tasks or groups to.

use fairlab_sched::units::Nanos;

/// Length of a window, which covers the ticks and load-balance passes that even out shares.
pub const WINDOW: Nanos = Nanos::from_millis(200);

/// CPU time that a task or a group got in a window, and what it could have got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Weight of the task or group.
    pub weight: u64,
    /// CPU time in ns.
    pub got: u64,
    /// Most CPU time that it can use, in ns.
    pub most: u64,
}

/// CPU time that a task or a group got, and the CPU time that its weight entitles it to.
#[derive(Clone, Copy, Debug)]
pub struct UnfairShare {
    /// CPU time that it got.
    pub got: Nanos,
    /// CPU time to which its weight entitles it.
    pub due: Nanos,
    /// End of the window.
    pub at: Nanos,
}

impl UnfairShare {
    /// Returns the share of a window of `length` that ends at `at`, if it is unfair: less than half of what is due,
    /// by at least a fifth of the window.
    pub fn from_window(got: u64, due: u64, length: Nanos, at: Nanos) -> Option<Self> {
        let is_unfair = got.saturating_mul(2) < due && (due - got).saturating_mul(5) > length.0;
        is_unfair.then_some(Self { got: Nanos(got), due: Nanos(due), at })
    }

    /// Returns the missed CPU time.
    pub fn missed(&self) -> Nanos {
        self.due - self.got
    }
}

/// Returns the fair share in ns of each member in the total CPU time: by weight, and at most what it can use.
pub fn fair_shares(set: &[Share]) -> Vec<u64> {
    let mut due = vec![None; set.len()];
    loop {
        let open = || (0..set.len()).filter(|&place| due[place].is_none());
        let given: u64 = due.iter().flatten().sum();
        let left = set.iter().map(|share| share.got).sum::<u64>().saturating_sub(given);
        let weight: u64 = open().map(|place| set[place].weight).sum::<u64>().max(1);
        let part = |place: usize| (u128::from(left) * u128::from(set[place].weight) / u128::from(weight)) as u64;
        // A member whose share exceeds what it can use gets that; the others divide the rest.
        match open().find(|&place| part(place) > set[place].most) {
            Some(place) => due[place] = Some(set[place].most),
            None => return (0..set.len()).map(|place| due[place].unwrap_or_else(|| part(place))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_weights_and_no_member_has_more_than_it_can_use() {
        let share = |weight, got, most| Share { weight, got, most };
        let task = |weight, got| share(weight, got, 100);
        assert_eq!(fair_shares(&[task(1024, 150), task(1024, 50)]), [100, 100]);
        assert_eq!(fair_shares(&[task(3072, 100), task(1024, 20)]), [90, 30]);
        assert_eq!(fair_shares(&[task(9000, 100), task(1000, 30), task(1000, 70)]), [100, 50, 50]);
        assert_eq!(fair_shares(&[share(1024, 300, 400), share(1024, 100, 400)]), [200, 200]);
        assert_eq!(fair_shares(&[share(1024, 300, 400), share(1024, 100, 100)]), [300, 100], "one task, one CPU");
    }

    #[test]
    fn less_than_half_and_a_missed_fifth_of_the_window_are_unfair() {
        let of = |got, due| UnfairShare::from_window(got, due, Nanos(100), Nanos(0)).map(|share| share.missed().0);
        assert_eq!([of(20, 41), of(20, 40), of(5, 25), of(4, 25)], [Some(21), None, None, Some(21)]);
    }
}
