# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `stretched`: families whose work took at least twice the CPU time that it takes on the fastest CPU."""

from collections import Counter, defaultdict

from log import replay_tasks
from metrics import Residency, kinds
from registry import about_first_of_family, sampled_rule
from sampled import SampledRule


def check(checker, finding, evidence, _numbers):
    residency = Residency(checker.log, replay_tasks(checker.log), kinds(checker.log))
    members = [number for number in checker.log.forks if checker.log.family_of(number) == evidence["family"]]
    points, lost_to_capacity, lost_to_frequency = Counter(), 0, 0
    for number in members:
        points.update(residency.points[number])
    for (cpus, (_, part)), ns in points.items():
        at_highest = ns * min(checker.log.cpus[cpus[0]]["capacity"], 1024) // 1024
        lost_to_capacity += ns - at_highest
        lost_to_frequency += at_highest - at_highest * min(part, 1024) // 1024
    lost = lost_to_capacity + lost_to_frequency
    ran, most = points.total(), max(points.values())
    longest = []
    for (cpus, (khz, part)), ns in points.items():
        if ns == most:
            longest.append((khz, part * 100 // 1024, checker.log.cpus[cpus[0]]["capacity"]))
    checker.expect(finding, "ran", evidence["ran_ns"], ran)
    checker.expect(finding, "work", evidence["work_ns"], ran - lost)
    checker.expect(finding, "lost", (finding["total_ns"], finding["worst_ns"]), (lost, lost))
    checker.expect(finding, "by frequency", evidence["is_by_frequency"], lost_to_frequency >= lost_to_capacity)
    checker.expect(finding, "severity", finding["severity"], "medium" if lost_to_frequency >= lost_to_capacity else "low")
    checker.expect(finding, "percent", evidence["percent"], most * 100 // ran)
    reported = evidence.get("khz"), evidence["speed_percent"], evidence["capacity"]
    checker.expect_true(finding, f"longest {reported}", reported in longest)
    checker.expect_true(finding, "long", lost >= ran - lost and lost_to_frequency * 20 >= checker.log.end - checker.log.from_t)


@sampled_rule("stretched", "stretched", question=about_first_of_family, check=check)
class Stretched(SampledRule):
    def reset(self):
        pass

    def times(self, tasks):
        """Returns the time from fork to exit and the runnable time of each family."""
        lifetimes, runnable = Counter(), Counter()
        for number, fork in self.log.forks.items():
            family, born = self.log.family_of(number), max(fork["t"], self.log.from_t)
            ended = self.log.end
            for since, until, state, _ in tasks[number].intervals:
                if state == "ended":
                    ended = min(ended, since)
                if state in ("waiting", "throttled", "running"):
                    runnable[family] += max(until - max(since, self.log.from_t), 0)
            lifetimes[family] += max(ended - born, 0)
        return lifetimes, runnable

    def expected(self):
        capacities = {row["capacity"] for row in self.log.cpus}
        if not self.log.machine["scale_work"] or not self.log.domains and len(capacities) == 1:
            return {}
        tasks = replay_tasks(self.log)
        lifetimes, runnable = self.times(tasks)
        residency = Residency(self.log, tasks, kinds(self.log))
        points, rows = defaultdict(Counter), {}
        for task in self.log.forks:
            points[self.log.family_of(task)].update(residency.points[task])
        for family, times in points.items():
            ran, to_capacity, to_frequency = times.total(), 0, 0
            for (cpus, (_, part)), ns in times.items():
                at_highest = ns * min(self.log.cpus[cpus[0]]["capacity"], 1024) // 1024
                to_capacity += ns - at_highest
                to_frequency += at_highest - at_highest * min(part, 1024) // 1024
            lost = to_capacity + to_frequency
            has_slept = (lifetimes[family] - runnable[family]) * 10 > lifetimes[family]
            if not family or has_slept or 2 * lost < ran or to_frequency * 20 < self.log.end - self.log.from_t or not ran:
                continue
            row = {"count": 1, "total_ns": lost, "worst_ns": lost, "at_ns": self.log.end - self.log.machine["t"] - 1}
            rows[family] = {**row, "severity": "medium" if to_frequency >= to_capacity else "low", "evidence.ran_ns": ran}
        return rows
