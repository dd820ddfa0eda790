# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `misfit-left`: a task is too big for its CPU while a bigger CPU idles."""

from registry import about_cpu, sampled_rule
from sampled import Periods


def misfit(case):
    """A task that stays on a small CPU, because load balancing ignores misfit tasks (6.1)."""
    case.options += ["--kernel", "6.1", "--set", "no_misfit=1"]
    big = case.pick(800, 1024)
    lines = ["cpus 8", "topo llc=4 pkg=8", "levels MP", f"caps 446 446 446 446 {big} {big} {big} 1024", f"scale {case.pick(0, 1)}"]
    cpu = case.random.randrange(4)
    lines.append(f"task big cpu={cpu} mask={cpu} run 10s")
    lines.append(f"affinity {case.pick(20, 40)}ms big {case.pick('0-7', '0-7', '2-6')}")
    return [*lines, f"task hog n={case.pick(1, 2)} cpu=4 mask=4-7 loop run {case.pick(2, 30)}ms sleep {case.pick(1, 20)}ms"]


@sampled_rule("misfit-left", "misfit", severity="medium", question=about_cpu, recipes={misfit: 2})
class Misfit(Periods):
    def holds(self, cpu):
        capacities = [row["capacity"] for row in self.log.cpus]
        current = self.state.currents[cpu]
        if self.state.cpus[cpu]["is_idle"] or self.state.fits.get(current) != "TooSmall":
            return False
        task = self.state.tasks[current]
        is_free = lambda other: self.state.cpus[other]["is_idle"] and other not in self.state.offline
        return any(is_free(other) and capacities[other] > capacities[cpu] for other in task["cpus"])
