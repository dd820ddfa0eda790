# SPDX-License-Identifier: GPL-2.0-or-later
"""Bring your own trace.

Give a trace of trace-cmd, perf or Perfetto, and the machine on which it was recorded:

    python own_trace.py trace.dat board.toml

Without one a trace is made here, in the form of trace-cmd.
"""

# %%
import sys
import tempfile
from pathlib import Path

import fairlab

if len(sys.argv) > 1:
    trace, machine = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
else:
    trace, machine = str(Path(tempfile.mkdtemp()) / "trace.dat"), "hikey960"
    recorded = fairlab.Workload.of(fairlab.periodic("ui", period_ms=16, run_ms=5), fairlab.periodic("audio", period_ms=5, run_ms=0.5))
    fairlab.run(recorded, machine=machine, for_="500ms", export={"trace-dat": trace})

# %% What tasks did becomes a workload, which runs anywhere.
work = fairlab.Workload.from_trace(trace, machine=machine)
print(work.kind, len(work.text.splitlines()), "lines")

# %% On the machine of the trace, and on others.
for name in (machine, "hikey", "sc7180"):
    run = fairlab.run(work, machine=name)
    families = run.table("families").rows()
    busiest = max(families, key=lambda family: family["run_ns"])
    print(f"{name}: {run.summary['totals']['migrations']} migrations, {busiest['name']} ran {busiest['run_ns'] / 1e6:.1f} ms")
