// SPDX-License-Identifier: GPL-2.0-or-later
//! Distance between two CPUs, on which the latency of a cache line depends.

use super::cpus::nr_units;
use fairlab_sched::topology::CpuPlace;
use std::ops::Index;

/// Smallest hardware unit that contains two CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Distance {
    /// One core: SMT siblings.
    Core,
    /// One cluster.
    Cluster,
    /// One last-level cache.
    Cache,
    /// One package.
    Package,
    /// Different packages.
    System,
}

const NR_DISTANCES: usize = Distance::ALL.len();

impl Distance {
    /// All distances, nearest first.
    pub const ALL: [Self; 5] = [Self::Core, Self::Cluster, Self::Cache, Self::Package, Self::System];

    /// Returns the name in machine files: the key of the unit in `[cpus]`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Cluster => "cluster",
            Self::Cache => "llc",
            Self::Package => "package",
            Self::System => "system",
        }
    }

    /// Returns the distance between the CPUs at two places. A CPU and itself are in one core.
    #[inline]
    pub const fn between(a: &CpuPlace, b: &CpuPlace) -> Self {
        if a.core == b.core {
            Self::Core
        } else if a.cluster == b.cluster {
            Self::Cluster
        } else if a.llc == b.llc {
            Self::Cache
        } else if a.package == b.package {
            Self::Package
        } else {
            Self::System
        }
    }

    /// Returns the distances between different CPUs of a machine, nearest first.
    pub fn of_pairs(places: &[CpuPlace]) -> impl Iterator<Item = Self> {
        let (cores, clusters) = (nr_units(places, |place| place.core), nr_units(places, |place| place.cluster));
        let (caches, packages) = (nr_units(places, |place| place.llc), nr_units(places, |place| place.package));
        // Units nest, so two lie in one larger unit exactly if there are more of them.
        let has = [places.len() > cores as usize, cores > clusters, clusters > caches, caches > packages, packages > 1];
        Self::ALL.into_iter().zip(has).filter_map(|(distance, has)| has.then_some(distance))
    }
}

/// A value for each distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByDistance<T>([T; NR_DISTANCES]);

impl<T: Copy> ByDistance<T> {
    /// Returns the value of each distance from a function.
    pub fn from_fn(value: impl Fn(Distance) -> T) -> Self {
        Self(Distance::ALL.map(value))
    }

    /// Returns the values with a function applied.
    #[must_use]
    pub fn map(self, change: impl Fn(T) -> T) -> Self {
        Self(self.0.map(change))
    }

    /// Returns one value within a last-level cache, and another beyond it.
    pub const fn near_and_far(near: T, far: T) -> Self {
        Self([near, near, near, far, far])
    }
}

impl<T> Index<Distance> for ByDistance<T> {
    type Output = T;

    #[inline]
    fn index(&self, distance: Distance) -> &T {
        &self.0[distance as usize]
    }
}
