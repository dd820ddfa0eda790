// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of whole machines.

mod background;
mod bandwidth;
mod calls;
mod class_changes;
mod common;
mod counted_rounds;
mod cpusets;
mod deadline_servers;
mod delayed_wakeups;
mod distances;
mod exec;
mod futexes;
mod governor_threads;
mod group_clamps;
mod group_moves;
mod hotplug;
mod inheritance;
mod iowait;
mod kept_tick;
mod kernel_sync;
mod kernel_time;
mod ksoftirqd;
mod limits;
mod nr_idle_scan;
mod pace;
mod pm_qos;
mod processor;
mod programs;
mod properties;
mod reclaim;
mod steal;
mod void_changes;
