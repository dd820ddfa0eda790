# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule `vain-kicks`: an idle CPU is kicked to balance for the tickless CPUs, and no task moves."""

from registry import rule

MIN_KICKS, PER_MOVE = 100, 50


def vain_kicks(case):
    """Busy CPUs with a task each, whose ticks kick idle CPUs that find nothing to move."""
    case.length_ms = case.pick(600, 800)
    cpus = case.pick(6, 8)
    nap = f"task q cpu={cpus - 2} loop run {case.pick(2, 3)}ms sleep {case.pick(1, 2)}ms"
    return [f"cpus {cpus}", f"task p n={cpus - 2} cpu=0 run 10s", nap]


def is_request(kick):
    """Whether a kick asked an idle CPU to balance."""
    return kick["kicked"] and kick["flags"] & 1 and kick["target"] is not None


def count(log):
    """Returns the number of kicks of idle CPUs, that of kicks after which a task moved, and the last kick."""
    pending, nr_kicks, with_moves, last = set(), 0, 0, None
    for event in log.of("kick", "pass", counted=True):
        if event["e"] == "kick":
            if is_request(event):
                nr_kicks, last = nr_kicks + 1, event
                pending.add(event["target"])
        elif event["moved"] > 0 and event["on"] in pending:
            pending.remove(event["on"])
            with_moves += 1
    return nr_kicks, with_moves, last


def rows(log, _families):
    """Returns the number of kicks that moved no task, unless they were few or moved enough."""
    nr_kicks, with_moves, _ = count(log)
    is_found = nr_kicks >= MIN_KICKS and with_moves * PER_MOVE < nr_kicks
    return {None: {"count": nr_kicks - with_moves, "total_ns": 0, "worst_ns": 0}} if is_found else {}


def about_target(checker, _evidence):
    return {"balance": count(checker.log)[2]["target"]}


@rule("vain-kicks", "wasted-kicks", severity="low", question=about_target, rows=rows, recipes={vain_kicks: 2})
def check(checker, finding, evidence, _numbers):
    nr_kicks, with_moves, kick = count(checker.log)
    checker.expect(finding, "kicks", (evidence["nr_kicks"], evidence["nr_with_moves"]), (nr_kicks, with_moves))
    last = kick["t"] - checker.at.start if kick else None
    checker.expect(finding, "last", (finding["at_ns"], finding["last_ns"]), (last, last))
