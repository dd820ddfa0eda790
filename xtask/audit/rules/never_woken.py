# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `never-woken`: tasks that can never run again."""

from collections import defaultdict

from findings import BLOCK_NS, AtMost
from log import replay_tasks
from registry import rule


def never_woken(case):
    """Tasks whose waker ends."""
    lines = [f"cpus {case.pick(1, 2, 4)}", f"task wa run {case.pick(1, 5)}ms wake wb sleep 2ms run 1ms wake wb exit"]
    lines.append("task wb loop wait run 300us")
    lines.append(f"task stuck n={case.pick(1, 3)} run 1ms sleep {case.pick(1, 5)}ms wait run 1ms")
    return [*lines, f"task other n=2 loop run {case.pick(1, 4)}ms sleep 2ms"]


def rows(log, families):
    """Returns bounds of the findings about tasks that wait for ever: these are blocked until the end."""
    if not families:
        return {}
    tasks, blocked = replay_tasks(log), defaultdict(list)
    for number in log.forks:
        intervals = tasks[number].intervals
        if log.family_of(number) and intervals and intervals[-1][2] == "blocked":
            blocked[log.family_of(number)].append(log.cut(intervals[-1][0], log.end) + BLOCK_NS)
    return {
        family: {"count": AtMost(len(times)), "total_ns": AtMost(sum(times)), "worst_ns": AtMost(max(times))}
        for family, times in blocked.items()
    }


@rule("never-woken", "never-woken", severity="high", checks_task=False, rows=rows, recipes={never_woken: 1})
@rule("never-woken", "lost-wakeup", severity="high", checks_task=False, is_fault=True)
def check(checker, finding, evidence, _numbers):
    ends = [(number, task) for number, task in checker.at.workload()
            if checker.log.family_of(number) == evidence["family"] and task.state == "sleeps"]
    checker.expect_true(finding, "sleeping tasks", finding["count"] <= len(ends))
    # With costs, a task blocks before the switch to the next one.
    lead = BLOCK_NS if checker.log.machine["has_costs"] else 0
    # `wait` of a scenario waits for the semaphore with the name of the task.
    semaphore = evidence.get("blocked_on", "").removeprefix("the semaphore ")
    if semaphore in checker.log.names.values():
        checker.expect(finding, "semaphore", semaphore, evidence["task"])
    named = [task for number, task in ends if checker.log.name_of(checker.log.forks[number]["index"]) == evidence["task"]]
    begins = [task.since - checker.at.start for task in named]
    checker.expect_true(finding, "since", any(since - lead <= evidence["since_ns"] <= since for since in begins))
    worst = checker.log.end - max(checker.log.from_t, checker.at.start + evidence["since_ns"])
    checker.expect(finding, "worst", finding["worst_ns"], worst)
    checker.expect_true(finding, "total", finding["worst_ns"] <= finding["total_ns"] <= finding["count"] * worst)
