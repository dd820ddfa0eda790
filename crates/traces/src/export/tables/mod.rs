// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables of a run, one for each kind of event, for notebooks and databases.
//!
//! A table is one entry of [`TABLES`]; [`rows`] turns a record into rows. The formats write one file per
//! table into a directory: [`csv`], and `parquet` with the feature of that name. Times are in nanoseconds on
//! the machine's clock.

pub(super) mod csv;
#[cfg(feature = "parquet")]
pub(super) mod parquet;
mod rows;

use super::record::TraceRecord;
use super::thread::ThreadTable;
use std::io;

#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'a> {
    Int(i64),
    Text(&'a str),
    /// Unknown or not applicable.
    Null,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellKind {
    Int,
    Text,
}

macro_rules! tables {
    ($($table:ident $name:literal [$($column:literal $kind:ident),* $(,)?])*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Table {
            $($table,)*
        }

        /// All tables, in the order of the enum: name and columns.
        pub(super) const TABLES: &[(&str, &[(&str, CellKind)])] = &[
            $(($name, &[$(($column, CellKind::$kind)),*]),)*
        ];
    };
}

tables! {
    Tasks "tasks" ["pid" Int, "tgid" Int, "comm" Text, "prio" Int, "is_kernel" Int]
    Switches "switches"
        ["t_ns" Int, "cpu" Int, "prev_pid" Int, "prev_comm" Text, "prev_prio" Int, "prev_state" Text, "next_pid" Int,
         "next_comm" Text, "next_prio" Int]
    Wakings "wakings" ["t_ns" Int, "cpu" Int, "waker_pid" Int, "pid" Int, "comm" Text, "target_cpu" Int]
    Wakeups "wakeups" ["t_ns" Int, "cpu" Int, "pid" Int, "comm" Text, "target_cpu" Int, "is_new" Int]
    Migrations "migrations" ["t_ns" Int, "cpu" Int, "pid" Int, "comm" Text, "orig_cpu" Int, "dest_cpu" Int]
    Forks "forks" ["t_ns" Int, "cpu" Int, "parent_pid" Int, "pid" Int, "comm" Text]
    Exits "exits" ["t_ns" Int, "cpu" Int, "pid" Int, "comm" Text]
    Waits "waits" ["t_ns" Int, "cpu" Int, "pid" Int, "comm" Text, "delay_ns" Int]
    Runtimes "runtimes" ["t_ns" Int, "cpu" Int, "pid" Int, "comm" Text, "runtime_ns" Int]
    Idle "idle" ["t_ns" Int, "cpu" Int, "state" Int]
    Frequencies "frequencies" ["t_ns" Int, "cpu" Int, "khz" Int]
    Ipis "ipis" ["t_ns" Int, "cpu" Int, "target_cpu" Int, "reason" Text]
    Averages "averages"
        ["t_ns" Int, "cpu" Int, "of" Text, "pid" Int, "load_avg" Int, "runnable_avg" Int, "util_avg" Int, "util_est_enqueued" Int,
         "util_est_ewma" Int]
    Counters "counters" ["t_ns" Int, "cpu" Int, "counter" Text, "value" Int]
    Selections "selections"
        ["t_ns" Int, "cpu" Int, "pid" Int, "comm" Text, "kind" Text, "sync" Int, "prev_cpu" Int, "target" Int, "chosen_cpu" Int,
         "affine" Text, "rule" Text, "nr_scanned" Int, "nr_cores_scanned" Int, "nr_idle_scan" Int]
    Passes "passes"
        ["t_ns" Int, "cpu" Int, "dst_cpu" Int, "level" Int, "idle" Text, "verdict" Text, "balanced" Text, "local_type" Text,
         "busiest_type" Text, "busiest_cpu" Int, "migration_type" Text, "imbalance" Int, "nr_cpus" Int, "nr_locks" Int,
         "nr_scanned" Int, "nr_moved" Int, "redos" Int, "emptied" Int]
    Kicks "kicks" ["t_ns" Int, "cpu" Int, "reason" Text, "flags" Int, "target_cpu" Int, "kicked" Int]
    Paths "paths" ["t_ns" Int, "cpu" Int, "path" Text, "took_ns" Int, "waited_ns" Int, "ends" Int]
    Lags "lags"
        ["t_ns" Int, "cpu" Int, "pid" Int, "comm" Text, "moment" Text, "is_delayed" Int, "vruntime" Int, "avg_vruntime" Int, "lag" Int,
         "deadline" Int, "slice_ns" Int, "weight" Int]
    Markers "markers" ["t_ns" Int, "pid" Int, "comm" Text, "marker" Text, "event" Text, "thread_loop" Int, "phase" Int, "phase_loop" Int]
}

impl Table {
    fn columns(self) -> &'static [(&'static str, CellKind)] {
        TABLES[self as usize].1
    }
}

pub(super) trait TableRows {
    /// Adds a row, which has a value for each column.
    fn add(&mut self, table: Table, cells: &[Cell<'_>]);

    /// Writes buffered rows and completes the files.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn has_failed(&self) -> bool {
        false
    }
}

#[derive(Default)]
pub(super) struct TableSink<R>(pub(super) R);

impl<R: TableRows> super::sink::TraceSink for TableSink<R> {
    fn record(&mut self, threads: &ThreadTable, record: &TraceRecord<'_>) {
        rows::visit(threads, record, |table, cells| self.0.add(table, cells));
    }

    fn finish(&mut self, threads: &ThreadTable) -> io::Result<()> {
        for info in threads.iter() {
            let [pid, tgid, prio, is_kernel] =
                [info.pid, info.tgid, info.prio, info.is_kernel.into()].map(i64::from).map(Cell::Int);
            self.0.add(Table::Tasks, &[pid, tgid, Cell::Text(info.comm.as_str()), prio, is_kernel]);
        }
        self.0.finish()
    }

    fn has_failed(&self) -> bool {
        self.0.has_failed()
    }
}
