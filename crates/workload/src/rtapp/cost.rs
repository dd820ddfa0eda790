// SPDX-License-Identifier: GPL-2.0-or-later
//! Cost of memory and I/O events, which become work.
//!
//! `DIFFERS:` the time that rt-app spends in `mem`, `memrun` and `iorun` depends on caches and devices, which
//! fairlab does not model. In fairlab these events are work of fixed length, which scales with the capacity
//! and frequency of the CPU like any other work, and they do not disturb each other. A task that writes to a
//! device also waits for it, each time for as long as the device takes for the bytes written; a kernel
//! throttles writers like that only once much memory is dirty.
//!
//! Source of the numbers: measured once on an AMD EPYC server (Linux, gcc -O2, warm buffers, best of several
//! runs), rounded to two digits. They are an assumption about any other machine.

use fairlab_sched::units::Nanos;

/// `memset()` of a 4 MiB buffer: `mem`.
const MEMSET_PS_PER_BYTE: u64 = 10;

/// Load or store of a byte by a loop that the compiler does not vectorise: `memrun` read and write.
const BYTE_ACCESS_PS: u64 = 270;

/// `write()` to `/dev/null`, of any size.
const WRITE_CALL_NS: u64 = 200;

/// `write()` to a file in memory, for each byte in addition to [`WRITE_CALL_NS`].
const WRITE_PS_PER_BYTE: u64 = 75;

/// Time of a device for each byte that is written: 500 MB/s, as a fast flash memory. Not measured.
const DEVICE_PS_PER_BYTE: u64 = 2_000;

/// Dependent load from the next cache line: `memrun` chase, sequential.
const NEXT_LINE_PS: u64 = 1_200;

/// Dependent load from a random cache line: `memrun` chase, random. Pairs of the largest buffer in bytes, and
/// the cost in ps.
const RANDOM_LINE_PS: [(u64, u64); 4] = [(32 << 10, 1_100), (512 << 10, 3_800), (8 << 20, 15_000), (u64::MAX, 150_000)];

/// Work of `mem`, which clears this many bytes.
pub(super) fn clear(bytes: u64) -> Nanos {
    in_nanos(bytes * MEMSET_PS_PER_BYTE)
}

/// Work of `iorun`, which writes this many bytes in pieces of the buffer's size.
pub(super) fn write(bytes: u64, buffer: u64, to_null_device: bool) -> Nanos {
    let calls = bytes.div_ceil(buffer) * WRITE_CALL_NS * 1000;
    in_nanos(if to_null_device { calls } else { calls + bytes * WRITE_PS_PER_BYTE })
}

/// Wait of the writer for the device in `iorun`.
pub(super) fn wait_for_device(bytes: u64) -> Nanos {
    in_nanos(bytes * DEVICE_PS_PER_BYTE)
}

/// Work of `memrun` read or write, which accesses this many bytes one by one.
pub(super) fn touch(bytes: u64) -> Nanos {
    in_nanos(bytes * BYTE_ACCESS_PS)
}

/// Work of `memrun` chase, which follows this many pointers.
pub(super) fn chase(count: u64, buffer: u64, random: bool) -> Nanos {
    let by_size = RANDOM_LINE_PS.iter().find(|(size, _)| buffer <= *size);
    let (_, random_ps) = by_size.expect("the last size is the largest number");
    in_nanos(count * if random { *random_ps } else { NEXT_LINE_PS })
}

/// Converts picoseconds, rounding up so that every action takes time. Counts are below 2^31 and costs below
/// 2^18 ps, so that nothing overflows.
fn in_nanos(ps: u64) -> Nanos {
    Nanos(ps.div_ceil(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_grow_with_what_is_moved_and_never_overflow() {
        assert_eq!(clear(1_000_000), Nanos(10_000));
        assert_eq!(clear(1), Nanos(1));
        assert_eq!(write(100, 4096, true), Nanos(200));
        assert_eq!(write(8193, 4096, false), Nanos(600 + 615));
        assert_eq!(wait_for_device(500_000), Nanos::from_millis(1));
        assert!(chase(1000, 64 << 20, true) > chase(1000, 16 << 10, true));
        let most = u64::from(u32::MAX >> 1);
        assert!(chase(most, u64::MAX, true) > touch(most) && write(most, 1, false) > write(most, 1, true));
    }
}
