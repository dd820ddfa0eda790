# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `overutilized-flapping`: a machine frequently becomes over-utilised and recovers."""

from registry import about_cpu, sampled_rule
from sampled import SampledRule

MIN_EPISODES, EPISODES_PER_SECOND, MIN_PERCENT = 10, 5, 5


def flapping(case):
    """Tasks near the capacity of small CPUs, on a machine with an energy model."""
    is_slow = case.maybe(0.3)
    case.length_ms = 4000 if is_slow else case.pick(900, 1200)
    lines = ["cpus 4", f"levels {case.pick('MA', 'A')}", "caps 400 400 1024 1024", "scale 1"]
    lines += ["fdom 0-1 500000:20000 1000000:80000", "fdom 2-3 500000:90000 1000000:300000 2000000:900000"]
    lines.append(f"task near n=2 cpu=0 mask=0-1 loop {'run 60ms sleep 230ms' if is_slow else case.pick('run 2ms sleep 6ms', 'runx 3ms sleepx 9ms', 'run 6ms sleep 20ms', 'run 10ms sleep 40ms')}")
    return [*lines, f"task other n={case.pick(2, 4, 4)} loop run 1ms sleep 5ms"]


@sampled_rule("overutilized-flapping", "flapping", severity="low", question=about_cpu, recipes={flapping: 1})
class Flapping(SampledRule):
    def reset(self):
        # A period that has begun in the warm-up begins with its end.
        since, cpu = getattr(self, "now", None) or (None, None)
        self.now = (self.log.from_t, cpu) if since is not None else None
        self.count, self.over, self.last, self.longest = int(since is not None), 0, 0, None

    def event(self, event):
        if event["e"] != "overutilized":
            return
        if event["on"]:
            self.count += 1
            self.now = event["t"], event["cpu"]
        elif self.now:
            since, cpu = self.now
            self.over, self.last, self.now = self.over + event["t"] - since, event["t"], None
            if self.longest is None or event["t"] - since > self.longest[0]:
                self.longest = event["t"] - since, since, cpu

    def expected(self):
        length, start = self.log.end - self.log.from_t, self.log.machine["t"]
        over = self.over + (self.log.end - self.now[0] if self.now else 0)
        is_often = self.count >= MIN_EPISODES and self.count * 1_000_000_000 >= EPISODES_PER_SECOND * length
        least = length * MIN_PERCENT // 100
        if not (self.longest and self.state.by_energy and is_often and over >= least and length - min(over, length) >= least):
            return {}
        ns, since, cpu = self.longest
        last = self.log.end if self.now else self.last
        row = {"count": self.count, "total_ns": over, "worst_ns": ns, "at_ns": since - start, "last_ns": last - start}
        return {None: {**row, "evidence.cpu": cpu, "evidence.measured_ns": length}}
