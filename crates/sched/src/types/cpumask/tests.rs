// SPDX-License-Identifier: GPL-2.0-or-later
use crate::types::cpumask::*;
use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::vec::Vec;

/// Returns a set of CPUs that differs for each seed, as a mask and as an ordered set. Every second one is in a part of
/// the machine.
fn sample(nr_cpus: usize, seed: u64) -> (CpuMask, BTreeSet<u32>) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut mask = CpuMask::new(nr_cpus);
    let mut set = BTreeSet::new();
    for cpu in 0..nr_cpus as u32 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (first, length) = (nr_cpus as u64 * (seed % 3) / 4, nr_cpus as u64 / (seed % 7 + 1));
        let is_in_part = seed.is_multiple_of(2) || (first..first + length).contains(&u64::from(cpu));
        if is_in_part && state.is_multiple_of(seed % 5 + 1) {
            mask.set(CpuId(cpu));
            set.insert(cpu);
        }
    }
    (mask, set)
}

fn list(cpus: impl Iterator<Item = CpuId>) -> Vec<u32> {
    cpus.map(|cpu| cpu.0).collect()
}

const SIZES: [usize; 13] = [1, 2, 63, 64, 65, 127, 128, 192, 255, 256, 257, 1000, 4096];

#[test]
fn a_mask_agrees_with_an_ordered_set() {
    for nr_cpus in SIZES {
        for seed in 1..20 {
            let (mask, set) = sample(nr_cpus, seed);
            assert_eq!(list(mask.iter()), set.iter().copied().collect::<Vec<_>>());
            assert_eq!(mask.weight(), set.len());
            assert_eq!(mask.is_empty(), set.is_empty());
            assert_eq!(mask.first().map(|cpu| cpu.0), set.first().copied());
            for cpu in 0..nr_cpus as u32 {
                assert_eq!(mask.contains(CpuId(cpu)), set.contains(&cpu));
                assert_eq!(mask.next_from(CpuId(cpu)).map(|cpu| cpu.0), set.range(cpu..).next().copied());
                let but = set.iter().copied().find(|&other| other != cpu);
                assert_eq!(mask.any_but(CpuId(cpu)).map(|cpu| cpu.0), but);
            }
            assert_eq!(mask.next_from(CpuId(nr_cpus as u32)), None);
        }
    }
}

#[test]
fn wrapping_starts_at_any_cpu_and_visits_each_member_once() {
    for nr_cpus in SIZES {
        let (mask, set) = sample(nr_cpus, 3);
        let (other, others) = sample(nr_cpus, 11);
        let step = nr_cpus.div_ceil(200);
        for start in (0..nr_cpus as u32).step_by(step) {
            let expected: Vec<_> = set.range(start..).chain(set.range(..start)).copied().collect();
            assert_eq!(list(mask.iter_wrap_from(CpuId(start))), expected);
            assert_eq!(mask.next_wrap(CpuId(start)).map(|cpu| cpu.0), expected.first().copied());
            let both: Vec<_> = expected.into_iter().filter(|cpu| others.contains(cpu)).collect();
            assert_eq!(list(mask.iter_and_wrap_from(&other, CpuId(start))), both);
        }
    }
}

#[test]
fn operations_on_two_masks_agree_with_ordered_sets() {
    for nr_cpus in SIZES {
        for seed in 1..12 {
            let ((a, sa), (b, sb)) = (sample(nr_cpus, seed), sample(nr_cpus, seed + 7));
            let both: Vec<_> = sa.intersection(&sb).copied().collect();
            assert_eq!(list(a.iter_and(&b)), both);
            assert_eq!(a.first_and(&b).map(|cpu| cpu.0), both.first().copied());
            assert_eq!(a.weight_and(&b), both.len());
            assert_eq!(a.intersects(&b), !both.is_empty());
            assert_eq!(a.is_subset_of(&b), sa.is_subset(&sb));
            let mut result = a.clone();
            result.and_with(&b);
            assert_eq!(list(result.iter()), both);
            assert!(result.is_subset_of(&a));
            result.copy_from(&a);
            assert_eq!(result, a);
            result.or_with(&b);
            assert_eq!(list(result.iter()), sa.union(&sb).copied().collect::<Vec<_>>());
            result.and_not_with(&b);
            assert_eq!(list(result.iter()), sa.difference(&sb).copied().collect::<Vec<_>>());
            result.assign_and(&a, &b);
            assert_eq!(list(result.iter()), both);
        }
    }
}

#[test]
fn the_full_mask_has_no_cpu_beyond_the_machine() {
    for nr_cpus in SIZES {
        let mut full = CpuMask::full(nr_cpus);
        assert_eq!(full.weight(), nr_cpus);
        assert_eq!(full.iter().last(), Some(CpuId(nr_cpus as u32 - 1)));
        assert!(!full.contains(CpuId(nr_cpus as u32)));
        full.clear(CpuId(0));
        assert_eq!(full.weight(), nr_cpus - 1);
        full.clear_all();
        assert_eq!(full, CpuMask::new(nr_cpus));
    }
}

#[test]
fn a_mask_prints_as_the_kernel_lists_cpus() {
    let mask = CpuMask::from_cpus(100, [0, 1, 2, 5, 63, 64, 99].map(CpuId));
    assert_eq!(mask.to_string(), "0-2,5,63-64,99");
    assert_eq!(CpuMask::new(8).to_string(), "");
}

#[test]
#[should_panic(expected = "cpu 8 of a machine of 8")]
fn a_cpu_beyond_the_machine_cannot_be_set() {
    CpuMask::new(8).set(CpuId(8));
}
