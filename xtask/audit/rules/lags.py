# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `lag-limited`: a task leaves the runqueue with its lag far beyond the limit again and again."""

from collections import defaultdict

from registry import sampled_rule
from sampled import Occurrences, SampledRule

MIN_DEPARTURES, DEPARTURES_PER_SECOND = 20, 5
NICE_0_WEIGHT = 1024


def limited_lag(case):
    """Batch tasks with small slices, which wait for the end of long slices."""
    # Departures that are many, but not in each second.
    is_slow = case.maybe(0.3)
    case.length_ms = 5600 if is_slow else case.pick(600, 900)
    lines = ["cpus 1", f"task hog slice={case.pick(20, 24, 28)}ms n={case.pick(1, 1, 2)} cpu=0 run 10s"]
    pause = "200ms" if is_slow else f"{case.pick(500, 1000)}us"
    return lines + [f"task poor batch slice=100us cpu=0 nice={case.pick(0, 0, -3)} loop run {case.pick(30, 50)}us sleep {pause}"]


@sampled_rule("lag-limited", "limited-lag", severity="low", recipes={limited_lag: 2})
class LimitedLag(SampledRule):
    def reset(self):
        self.found = defaultdict(Occurrences)

    def event(self, event):
        if event["e"] != "limited_lag" or abs(event["lag"]) <= 2 * abs(event["kept"]):
            return
        family = self.log.family_of(event["task"])
        if family:
            ns = abs(event["lag"] - event["kept"]) * event["weight"] // NICE_0_WEIGHT
            self.found[family, event["lag"] > 0].add(event["t"], ns, event)

    def expected(self):
        length, rows = self.log.end - self.log.from_t, {}
        for (family, is_due), found in self.found.items():
            if found.count < MIN_DEPARTURES or found.count * 1_000_000_000 <= DEPARTURES_PER_SECOND * length:
                continue
            event = found.what
            evidence = {"evidence.task": self.state.name(event["task"]), "evidence.kept_ns": event["kept"], "evidence.lag_ns": event["lag"]}
            rows[family, is_due] = {**found.row(self.log, event["t"]), **evidence}
        return rows
