// SPDX-License-Identifier: GPL-2.0-or-later
//! Results of benchmarks that run to their end and report the elapsed time: hackbench, `perf bench sched`, a
//! kernel build.

use super::{BenchObserver, BenchResult, RunProgress};
use fairlab_machine::observer::{MachineEvent, Observer};
use fairlab_machine::sim::START;
use fairlab_sched::ctx::PrevState;
use fairlab_sched::probe::{Event, SchedObserver};
use fairlab_sched::units::Nanos;
use fairlab_workload::bench::hackbench::Hackbench;
use fairlab_workload::bench::kernel_build::KernelBuild;
use fairlab_workload::bench::micro::Micro;
use fairlab_workload::bench::pipe::Pipe;
use serde::Serialize;

/// Output format of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElapsedFormat {
    /// Format of the hackbench program.
    Hackbench(Hackbench),
    /// Format of `perf bench sched messaging`.
    Messaging(Hackbench),
    /// Format of `perf bench sched pipe`.
    Pipe(Pipe),
    /// Format of the shell's `time make`.
    Build(KernelBuild),
    /// Format of fairlab's microbenchmarks.
    Micro(Micro),
    /// Name and time of a program without an output of its own.
    Plain(&'static str),
}

/// Observer of the time at which the last task exited so far.
#[derive(Clone, Copy, Debug)]
pub struct LastExit(Nanos);

impl Default for LastExit {
    fn default() -> Self {
        Self(START)
    }
}

impl LastExit {
    /// Time of the last exit since the start of the run; 0 without one.
    pub fn elapsed(&self) -> Nanos {
        self.0 - START
    }
}

impl SchedObserver for LastExit {
    #[inline]
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        if let Event::Switch { prev_state: PrevState::Dead, .. } = event {
            self.0 = now;
        }
    }
}

impl<E> Observer<E> for LastExit {}

/// Observer that measures the time from the start of the first task until the last task exits.
#[derive(Clone, Debug)]
pub struct ElapsedObserver {
    words: ElapsedFormat,
    begun: Option<Nanos>,
    last_exit: LastExit,
}

/// Result of a benchmark that runs to its end.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ElapsedResult {
    /// Time in seconds from the start of the first task until the last task exited, or until the end of an
    /// incomplete run.
    pub time_s: f64,
    /// Whether all tasks have exited.
    pub is_done: bool,
    /// Nanoseconds per operation of a microbenchmark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns_per_op: Option<f64>,
    /// Microseconds per round trip of `perf bench sched pipe`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usecs_per_op: Option<f64>,
    /// Round trips per second of `perf bench sched pipe`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
}

impl ElapsedObserver {
    /// Creates the observer of a benchmark with this output format.
    pub fn new(words: ElapsedFormat) -> Self {
        Self { words, begun: None, last_exit: LastExit::default() }
    }

    /// Time of the last exit since the start of the first task.
    pub fn elapsed(&self) -> Nanos {
        self.last_exit.elapsed() - self.begun()
    }

    /// Start of the first task since the start of the run.
    fn begun(&self) -> Nanos {
        self.begun.map_or(Nanos::ZERO, |begun| begun - START)
    }

    /// Returns the result of a run.
    pub fn result(&self, reached: RunProgress) -> ElapsedResult {
        let is_done = reached.is_done;
        let time = if is_done { self.elapsed() } else { reached.elapsed.saturating_since(self.begun()) };
        let per_op = |loops: u64| time.0 as f64 / 1e3 / loops as f64;
        let (usecs_per_op, ops_per_s) = match self.words {
            ElapsedFormat::Pipe(Pipe { loops, .. }) if is_done => (Some(per_op(loops)), Some(1e6 / per_op(loops))),
            _ => (None, None),
        };
        let ns_per_op = match self.words {
            ElapsedFormat::Micro(micro) if is_done => Some(micro.per_operation_ns(time)),
            _ => None,
        };
        ElapsedResult { time_s: time.0 as f64 / 1e9, is_done, ns_per_op, usecs_per_op, ops_per_s }
    }

    fn text(&self, result: &ElapsedResult, cpu_s: f64) -> String {
        let time = result.time_s;
        let total = format!("     Total time: {time:.3} [sec]\n");
        let page = match self.words {
            ElapsedFormat::Hackbench(bench) => format!(
                "Running in {} mode with {} groups using {} file descriptors each (== {} tasks)\nEach sender will pass {} \
                 messages of {} bytes\nTime: {time:.3}\n",
                if bench.threads { "threaded" } else { "process" },
                bench.groups,
                2 * bench.fds,
                2 * bench.fds * bench.groups,
                bench.loops,
                bench.data_size
            ),
            ElapsedFormat::Messaging(bench) => format!(
                "# Running 'sched/messaging' benchmark:\n# {} sender and receiver {} per group\n# {} groups == {} {} \
                 run\n\n{total}",
                bench.fds,
                if bench.threads { "threads" } else { "processes" },
                bench.groups,
                2 * bench.fds * bench.groups,
                if bench.threads { "threads" } else { "processes" }
            ),
            ElapsedFormat::Pipe(Pipe { loops, threads }) => format!(
                "# Running 'sched/pipe' benchmark:\n# Executed {loops} pipe operations between two {}\n\n{total}\n{:>15.6} \
                 usecs/op\n{:>15.0} ops/sec\n",
                if threads { "threads" } else { "processes" },
                result.usecs_per_op.unwrap_or(f64::NAN),
                result.ops_per_s.unwrap_or(f64::NAN).floor()
            ),
            ElapsedFormat::Build(bench) => {
                let clock = |s: f64| format!("{}m{:.3}s", (s / 60.0) as u64, s % 60.0);
                format!(
                    "make -j{}: {} objects\n\nreal\t{}\nuser\t{}\n",
                    bench.jobs,
                    bench.objects,
                    clock(time),
                    clock(cpu_s)
                )
            }
            ElapsedFormat::Micro(micro) => format!(
                "{}: {:.1} ns per {}, {} rounds\n",
                micro.test.name(),
                result.ns_per_op.unwrap_or(f64::NAN),
                micro.test.unit(),
                micro.rounds
            ),
            ElapsedFormat::Plain(name) => format!("{name}: {time:.6} s\n"),
        };
        if result.is_done { page } else { page + "The run was cut off before all tasks had ended.\n" }
    }
}

impl SchedObserver for ElapsedObserver {
    #[inline]
    fn event(&mut self, now: Nanos, event: &Event<'_>) {
        self.last_exit.event(now, event);
    }
}

impl Observer for ElapsedObserver {
    fn machine_event(&mut self, now: Nanos, event: &MachineEvent) {
        // Kernel threads come after the benchmark's own tasks.
        if let MachineEvent::Forked { spec: 0, .. } = event {
            self.begun.get_or_insert(now);
        }
    }
}

impl BenchObserver for ElapsedObserver {
    fn reset(&mut self) -> bool {
        false
    }

    fn outcome(&self, reached: RunProgress, _measured: Nanos) -> BenchResult {
        let result = self.result(reached);
        BenchResult::new(self.text(&result, reached.cpu_ns as f64 / 1e9), &result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(words: ElapsedFormat, time_s: f64) -> String {
        let per_op = matches!(words, ElapsedFormat::Pipe { .. }).then_some(8.091_833);
        let result = ElapsedResult {
            time_s,
            is_done: true,
            ns_per_op: None,
            usecs_per_op: per_op,
            ops_per_s: per_op.map(|us| 1e6 / us),
        };
        ElapsedObserver::new(words).text(&result, 61.5)
    }

    #[test]
    fn each_benchmark_has_its_own_output_format() {
        let bench = Hackbench::default();
        assert_eq!(
            page(ElapsedFormat::Hackbench(bench), 0.1234),
            "Running in process mode with 10 groups using 40 file descriptors each (== 400 tasks)\nEach sender will pass 100 \
             messages of 100 bytes\nTime: 0.123\n"
        );
        assert_eq!(
            page(ElapsedFormat::Messaging(bench), 0.308),
            "# Running 'sched/messaging' benchmark:\n# 20 sender and receiver processes per group\n# 10 groups == 400 processes \
             run\n\n     Total time: 0.308 [sec]\n"
        );
        assert_eq!(
            page(ElapsedFormat::Pipe(Pipe { loops: 1_000_000, threads: false }), 8.091_833),
            "# Running 'sched/pipe' benchmark:\n# Executed 1000000 pipe operations between two processes\n\n     Total time: \
             8.092 [sec]\n\n       8.091833 usecs/op\n         123581 ops/sec\n"
        );
        let build = KernelBuild { jobs: 8, objects: 5, seed: 0 };
        assert_eq!(page(ElapsedFormat::Build(build), 9.25), "make -j8: 5 objects\n\nreal\t0m9.250s\nuser\t1m1.500s\n");
        assert_eq!(page(ElapsedFormat::Plain("program"), 0.25), "program: 0.250000 s\n");
    }
}
