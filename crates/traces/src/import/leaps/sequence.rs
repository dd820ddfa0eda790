// SPDX-License-Identifier: GPL-2.0-or-later
//! Longest sequence of times that do not decrease.

/// Returns for each time whether it belongs to the longest non-decreasing sequence. Of several longest ones
/// the earliest times win. `O(n log n)`, and `O(n)` for sorted times.
pub(super) fn longest(times: &[u64]) -> Vec<bool> {
    // Index of the lowest last time of a sequence of each length, and the predecessor of each time.
    let mut last_of: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(times.len());
    for (index, &at) in times.iter().enumerate() {
        let is_longest = last_of.last().is_none_or(|&last| times[last] <= at);
        let length = if is_longest { last_of.len() } else { last_of.partition_point(|&last| times[last] <= at) };
        before.push(length.checked_sub(1).map(|length| last_of[length]));
        if length == last_of.len() {
            last_of.push(index);
        } else {
            last_of[length] = index;
        }
    }
    let mut belongs = vec![false; times.len()];
    let mut index = last_of.last().copied();
    while let Some(of_sequence) = index {
        belongs[of_sequence] = true;
        index = before[of_sequence];
    }
    belongs
}

/// Returns a function from a position to the next time in the sequence. Positions must not decrease.
pub(super) fn next_right<'a>(times: &'a [u64], belongs: &'a [bool]) -> impl FnMut(usize) -> Option<u64> + 'a {
    let mut next = 0;
    move |position| {
        next = next.max(position);
        while next < belongs.len() && !belongs[next] {
            next += 1;
        }
        times.get(next).copied()
    }
}
