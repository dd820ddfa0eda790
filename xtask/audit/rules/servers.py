# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `fair-server`: fair tasks that got a CPU only because the CPU's fair server ran them."""

from findings import LATENCY, STARVATION
from moment import Moment
from registry import rule

# Longest time between the pick of a server and the switch to the task.
MAX_SWITCH = 1_000_000


def fair_server(case):
    """Fair tasks behind a real-time task, with servers of short periods that change."""
    cpus = case.pick(1, 2, 2, 4)
    lines = [f"cpus {cpus}", f"task spin fifo=50 cpu=0 mask=0-0 start={case.pick(0, 3, 20)}ms {case.pick('run 10s', 'loop run 40ms sleep 2ms')}"]
    sleeps = case.pick("run 10s", "run 10s", f"loop run {case.pick(1, 3, 8)}ms sleep {case.pick(1, 5)}ms")
    lines.append(f"task poor n={case.pick(1, 2, 3)} cpu=0 mask=0-0 nice={case.pick(0, 5)} {sleeps}")
    lines.append(f"server 0ms 0-{cpus - 1} {case.pick(2, 5, 10)}ms {case.pick(20, 30, 50)}ms")
    for _ in range(case.pick(0, 1, 2, 3)):
        lines.append(f"server {case.at()} {case.cpus_of(cpus)} {case.pick(0, 1, 4, 9)}ms {case.pick(10, 25, 60)}ms")
    lines.append(f"task other cpu=0 loop run {case.pick(300, 900)}us sleep 2ms")
    if case.maybe(0.3):
        lines.append(f"policy {case.at()} spin fair")
    return lines


def check_families(checker, findings):
    """Checks that each family with such waits has a finding."""
    if any(event["step"] == "Picked" for event in checker.log.of("server", counted=True)):
        reported = {finding["evidence"]["family"] for finding in findings}
        served = {wait["family"] for wait in served_waits(checker.log) if wait["family"]}
        if reported != served:
            checker.fail("fair-server", "families", sorted(reported), sorted(served))


@rule("fair-server", "fair-server", check_all=check_families, recipes={fair_server: 2})
def check(checker, finding, evidence, _numbers):
    waits = [wait for wait in served_waits(checker.log) if wait["family"] == evidence["family"]]
    checker.expect(finding, "count", finding["count"], len(waits))
    checker.expect(finding, "total", finding["total_ns"], sum(wait["ns"] for wait in waits))
    worst = max((wait["ns"] for wait in waits), default=0)
    checker.expect(finding, "worst", finding["worst_ns"], worst)
    checker.expect(finding, "severity", finding["severity"], "high" if worst > STARVATION else "medium")
    checker.expect(finding, "awaited", finding["awaited"], "a CPU")
    first = next((wait for wait in waits if wait["ns"] == worst), None)
    if first:
        reported = evidence["task"], evidence["cpu"], finding["at_ns"]
        checker.expect(finding, "task, CPU and time", reported, (first["task"], first["cpu"], first["until"] - checker.at.start - 1))


def served_waits(log):
    """Returns the waits of fair tasks behind higher classes that ended with a pick of the fair server."""
    moment, picked, waits = Moment(log), {}, []
    for index, event in enumerate(log.events):
        if event["e"] == "server" and event["step"] == "Picked" and index >= log.reset_index:
            picked[event["cpu"]] = event["t"]
        if event["e"] == "switch" and index >= log.reset_index and event["next"] in moment.forks:
            wait = served_wait(log, moment, picked, event)
            waits += [wait] if wait else []
        moment.handle(event)
    return waits


def served_wait(log, moment, picked, event):
    """Returns the wait that a switch ends, if the fair server has ended it."""
    number, until = event["next"], event["t"]
    task = moment.tasks[number]
    since = max(task.since, log.from_t) if task.state == "waits" else until
    if until - since <= LATENCY:
        return None
    at = picked.pop(event["cpu"], None)
    if at is None or at < since or until - at > MAX_SWITCH:
        return None
    places = [(max(t, log.from_t), cpu) for t, cpu in task.places]
    ranks = moment.rank_times(places, until)
    if 2 * (ranks[2] + ranks[3]) <= until - since:
        return None
    name = log.name_of(log.forks[number]["index"])
    return {"family": log.family_of(number), "task": name, "cpu": event["cpu"], "ns": until - since, "until": until}
