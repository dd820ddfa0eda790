# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules `starvation`, `late-wakeup` and `throttled`: tasks that wait long for a CPU or for runtime."""

from collections import Counter

from findings import LATENCY, STARVATION, rows_of_waits
from registry import rule

RANKS = {"idle-task": 0, "real-time": 2, "deadline": 3}
RULE_OF = {"cpu": "starvation", "wakeup-latency": "late-wakeup", "wakeup-latency-of-deadline": "late-wakeup", "runtime": "throttled"}


def starvation(case):
    """Tasks that wait for longer than half a second behind a real-time task, up to the fair server's first turn."""
    case.length_ms = case.pick(700, 1100)
    spin = f"task spin fifo=50 cpu=0 start={case.pick(0, 5, 40)}ms run 10s"
    return [f"cpus {case.pick(1, 1, 2)}", spin, f"task poor n={case.pick(1, 2)} cpu=0 mask=0-0 run 10s", "task nap loop run 1ms sleep 9ms"]


@rule("starvation", "wait", severity="high", rows=rows_of_waits("starvation"), recipes={starvation: 1})
@rule("late-wakeup", "wait", severity="medium", rows=rows_of_waits("late-wakeup"))
@rule("throttled", "wait", severity="medium", rows=rows_of_waits("throttled"))
def check(checker, finding, evidence, numbers):
    measure = evidence["measure"]
    checker.expect(finding, "rule", finding["rule"], RULE_OF[measure])
    limit = {"cpu": STARVATION, "wakeup-latency": LATENCY, "runtime": LATENCY}.get(measure)
    if measure == "wakeup-latency-of-deadline":
        checker.expect_true(finding, "limit", evidence["limit_ns"] in checker.deadline_of.values() or len(checker.deadline_of) == 0)
    else:
        checker.expect(finding, "limit", evidence["limit_ns"], limit)
    checker.expect_true(finding, "worst above the limit", finding["worst_ns"] > evidence["limit_ns"])
    state = "throttled" if measure == "runtime" else "waits"
    if measure in ("cpu", "runtime"):
        numbers = [number for number in numbers if is_worst(checker, finding, number, state)]
    else:
        # The last part of a latency may be throttled time, which it does not contain.
        numbers = [number for number in numbers if checker.at.tasks[number].state in ("waits", "throttled")]
    checker.expect_true(finding, "worst wait", bool(numbers))
    checker.expect_true(finding, "awaited", bool(finding["awaited"]))
    if measure == "cpu":
        checker.expect(finding, "awaited", finding["awaited"], "a CPU")
    if finding["is_open"]:
        checker.expect(finding, "end", checker.at.now + 1, checker.log.end)
    shares = shares_of(checker, numbers[0]) if len(numbers) == 1 and checker.at.tasks[numbers[0]].state == "waits" else None
    if shares is not None:
        ranks = {rank: name for name, rank in RANKS.items()}
        most = [rank for rank, ns in shares.items() if 2 * ns > shares.total()]
        checker.expect(finding, "behind", evidence["behind"], ranks.get(most[0]) if most else None)
    elif measure == "runtime":
        checker.expect(finding, "behind", evidence["behind"], None)
    else:
        # Two tasks of the name waited as long, or the wait ended throttled: the log does not tell which shares are the finding's.
        evidence.ignore("behind")


def is_worst(checker, finding, number, state):
    """Whether a task has waited for the worst time at the moment before the wait ends."""
    task = checker.at.tasks[number]
    if task.state != state:
        return False
    return checker.at.now + 1 - max(task.since, checker.log.from_t) == finding["worst_ns"]


def shares_of(checker, number):
    """Returns the times by rank of what ran on a task's CPUs in its wait; None if a class is unknown."""
    places = [(max(t, checker.log.from_t), cpu) for t, cpu in checker.at.tasks[number].places]
    times = Counter(checker.at.rank_times(places, checker.at.now + 1))
    return None if None in times else times
