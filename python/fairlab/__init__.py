# SPDX-License-Identifier: GPL-2.0-or-later
"""Simulator of Linux's fair scheduler.

The package offers the functions of the command ``fairlab`` with the names of its options: :func:`run` a workload on a simulated machine,
:func:`compare` arms with statistics, :func:`sweep` over a plan, :func:`evaluate` settings for an optimiser. Results are Arrow tables,
which polars, pandas, pyarrow and DuckDB read in one line.

Examples
--------
>>> import fairlab
>>> from fairlab import phase
>>> ui = fairlab.Task("ui", phase.run(ms=2) + phase.timer(ms=16))
>>> run = fairlab.run(fairlab.Workload.of(ui, fairlab.hog(instance=2)), machine="hikey960", for_="200ms")
>>> run.summary["families"][0]["name"]
'ui'
>>> run.table("wakeups").column_names
['t_ns', 'cpu', 'pid', 'comm', 'target_cpu', 'is_new']
"""

from fairlab import phase
from fairlab._command import FairlabWarning, command
from fairlab._experiment import Bench, Comparison, bench, compare, evaluate
from fairlab._machine import Machine, machines
from fairlab._native import BalanceRequest, CpuSample, Error, IdleRequest, InputError, RunError, WakeRequest, __version__
from fairlab._policy import BalancePolicy, IdlePolicy, WakePolicy
from fairlab._run import Run, run
from fairlab._settings import BenchOptions, RepeatOptions, RunOptions, Variant
from fairlab._sweep import Swept, sweep
from fairlab._table import Table
from fairlab._workload import Response, Task, Workload, hog, periodic

#: Former name of :class:`CpuSample`.
CpuLook = CpuSample

__all__ = [
    "BalancePolicy",
    "BalanceRequest",
    "Bench",
    "BenchOptions",
    "Comparison",
    "CpuLook",
    "CpuSample",
    "Error",
    "FairlabWarning",
    "IdlePolicy",
    "IdleRequest",
    "InputError",
    "Machine",
    "RepeatOptions",
    "Response",
    "Run",
    "RunError",
    "RunOptions",
    "Swept",
    "Table",
    "Task",
    "Variant",
    "WakePolicy",
    "WakeRequest",
    "Workload",
    "__version__",
    "bench",
    "command",
    "compare",
    "evaluate",
    "hog",
    "machines",
    "periodic",
    "phase",
    "run",
    "sweep",
]
