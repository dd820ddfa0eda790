# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `frequency-low`: a CPU's frequency is too low for its utilisation, although higher ones exist."""

from registry import about_cpu, sampled_rule
from sampled import Periods


def low_frequency(case):
    """Busy CPUs whose frequency is held down, or that have slow CPUs' capacity."""
    has_small = case.maybe(0.4)
    lines, mask = ["cpus 4", "scale 1"] + ["caps 300 300 1024 1024"] * has_small, "mask=0-1 " * has_small
    if case.maybe(0.5):
        lines.append("fdom 0-1 500000 1000000 2000000\nfdom 2-3 400000 2000000")
        lines += [f"{case.pick('thermal', 'maxfreq')} {case.pick(1, 20)}ms {case.pick('0-1', '0-3')} {case.pick(150, 300)}"]
    else:
        lines += [f"freq {case.pick(0, 9)}ms {cpu} {case.pick(200, 400)}" for cpu in range(4)]
    return [*lines, f"task hog n={case.pick(2, 4)} {mask}cpu=0 {case.pick('run 10s', 'loop run 30ms sleep 1ms')}", "task small loop run 300us sleep 3ms"]


@sampled_rule("frequency-low", "low-frequency", severity="medium", question=about_cpu, recipes={low_frequency: 2})
class LowFrequency(Periods):
    def holds(self, cpu):
        row = self.state.cpus[cpu]
        if row["part"] >= 1024 or row["is_idle"]:
            return False
        return row["util"] + row["util"] // 4 > self.log.cpus[cpu]["capacity"] * row["part"] // 1024
