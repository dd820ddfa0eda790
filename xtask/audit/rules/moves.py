# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `ping-pong`: tasks that return to the CPU from which they came, soon after they left it."""

from collections import defaultdict

from registry import rule

BACK_WITHIN = 1_000_000
MIN_RETURNS, RETURNS_PER_SECOND = 20, 50


def ping_pong(case):
    """Tasks whose affinity sends them to another CPU and back."""
    lines = ["cpus 4", f"task t n={case.pick(2, 2, 3)} cpu=0 run 10s\ntask other n={case.pick(1, 2)} cpu=2 loop run 1ms sleep 2ms"]
    for task in case.random.sample(["t0", "t1"], case.pick(1, 2)):
        first, every = case.pick(5000, 20000, 21000), case.pick(300, 450)
        lines += [f"affinity {first + 2 * every * pair + every * half}us {task} {half}" for pair in range(60) for half in (1, 0)]
    return lines


def quick_returns(log):
    """Returns the migrations with which tasks came back soon, by family. Only tasks that returned often count."""
    last, returns, families = {}, defaultdict(list), defaultdict(list)
    for event in log.of("migrate", counted=True):
        number = event["task"]
        before = last.get(number)
        if before and before["from"] == event["to"] and event["t"] - before["t"] <= BACK_WITHIN:
            returns[number].append(event)
        last[number] = event
    length = max(log.end - log.from_t, 1)
    for number, events in returns.items():
        nr = len(events)
        if nr >= MIN_RETURNS and nr * 1_000_000_000 > RETURNS_PER_SECOND * length and log.family_of(number):
            families[log.family_of(number)] += events
    return families


def rows(log, _families):
    return {family: {"count": len(events), "total_ns": 0, "worst_ns": 0} for family, events in quick_returns(log).items()}


@rule("ping-pong", "ping-pong", severity="low", rows=rows, recipes={ping_pong: 1})
def check(checker, finding, evidence, _numbers):
    log, start = checker.log, checker.at.start
    checker.expect(finding, "within", evidence["within_ns"], BACK_WITHIN)
    events = quick_returns(log)[evidence["family"]]
    last = max((event["t"] for event in events), default=0)
    recent = [log.forks[event["task"]]["index"] for event in events if event["t"] == last]
    checker.expect(finding, "most recent", evidence["task"], log.name_of(min(recent)) if recent else None)
    checker.expect(finding, "at", (finding["at_ns"], finding["last_ns"]), (last - start, last - start))
