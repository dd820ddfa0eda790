// SPDX-License-Identifier: GPL-2.0-or-later
//! Bandwidth limits of a workload in the scheduler's types.

use fairlab_sched::state::group::bandwidth::{Bandwidth, BandwidthError};
use fairlab_sched::units::Nanos;
use fairlab_workload::workload::GroupSpec;

/// Returns the bandwidth of a group; `None` if it has no quota.
pub(crate) fn bandwidth_of(group: &GroupSpec) -> Result<Option<Bandwidth>, BandwidthError> {
    let quota = group.quota.map(|quota| to_bandwidth(Some(quota.quota_us), quota.period_us, quota.burst_us));
    quota.transpose()
}

/// Converts quota, period and burst from microseconds to the scheduler's type.
pub(crate) fn to_bandwidth(quota_us: Option<u64>, period_us: u64, burst_us: u64) -> Result<Bandwidth, BandwidthError> {
    let micros = |us: u64| Nanos(us.saturating_mul(1000));
    Bandwidth::new(quota_us.map(micros), micros(period_us), micros(burst_us))
}
