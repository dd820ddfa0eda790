// SPDX-License-Identifier: GPL-2.0-or-later
//! Command line of `fairlab import`.

use crate::values::hints;
use clap::{Args as ClapArgs, ValueEnum, ValueHint};
use fairlab_traces::import::LeapHandling;

const EXAMPLES: &str = "\
TRACE is a trace.dat of trace-cmd, a perf.data, ftrace text (the kernel's trace file, trace-cmd report, perf script, \
atrace), text of babeltrace2 (LTTng), a page of systrace, or a trace of Perfetto; also compressed with gzip or zstd. Record at least sched_switch; each of these events makes the workload more \
exact:

  trace-cmd record -e sched_switch -e sched_waking -e sched_wakeup \\
      -e sched_wakeup_new -e sched_migrate_task -e sched_process_fork \\
      -e sched_process_exec -e sched_process_exit -e task_rename \\
      -e cgroup_attach_task -e cpu_idle -e cpu_frequency -- COMMAND

Examples:
  fairlab import trace.dat                      contents, and missing events
  fairlab import trace.dat --machine board.toml -o board.rec
  fairlab run board.rec --machine xeon-2s-224   run it on another machine
  fairlab replay trace.dat --as-recorded --machine board.toml";

#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct ImportArgs {
    /// Trace to read; `-` is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) trace: String,
    /// Machine on which the trace was recorded, for capacities, frequencies and idle states: a name or a TOML
    /// file [default: described by the trace]
    #[arg(long, value_name = "NAME|PATH", value_parser = hints::text(hints::machines))]
    pub(crate) machine: Option<String>,
    /// Write the workload, for `fairlab run` and all other commands; `-` is standard output
    #[arg(short, long, value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<String>,
    #[command(flatten)]
    pub(crate) leaps: LeapArgs,
}

/// Option of all commands that read traces.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub(crate) struct LeapArgs {
    /// Treatment of events whose time stamps leap, far from their neighbours on the CPU: reject (the trace),
    /// drop (the events), keep
    #[arg(long, value_enum, value_name = "TREATMENT", default_value_t = Leaps::Reject, hide_possible_values = true)]
    leaps: Leaps,
}

/// Values of `--leaps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Leaps {
    Reject,
    Drop,
    Keep,
}

impl LeapArgs {
    pub(crate) const fn handling(self) -> LeapHandling {
        match self.leaps {
            Leaps::Reject => LeapHandling::Reject,
            Leaps::Drop => LeapHandling::Drop,
            Leaps::Keep => LeapHandling::Keep,
        }
    }
}
