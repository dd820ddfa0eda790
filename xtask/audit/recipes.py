# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenarios of random runs that produce what tasks drawn freely rarely meet: a throttled class, nested quotas, changes of
affinity. Each recipe returns statements, and adds options of the run to its case. Recipes that exist for one rule of findings
are in the module of the rule, in `rules`.
"""

import registry
import rules  # fills the registry


def real_time_throttling(case):
    """Real-time tasks beyond the runtime of their class (6.1)."""
    cpus = case.pick(1, 2, 3)
    period = case.pick(20, 50, 80)
    case.options += ["--kernel", "6.1", "--set", f"rt_period_us={period * 1000}", "--set", f"rt_runtime_us={period * case.pick(300, 500, 800)}"]
    lines = [f"cpus {cpus}", f"feature RT_RUNTIME_SHARE {case.pick(0, 0, 1)}"]
    lines.append(f"task rt {case.pick('fifo', 'rr')}={case.pick(5, 50)} n={case.pick(1, 1, 2)} cpu=0 mask=0-0 {case.pick('run 10s', 'loop run 30ms sleep 1ms')}")
    lines.append(f"task late fifo=2 cpu=0 loop run {case.pick(200, 3000)}us sleep {case.pick(1, 4)}ms")
    return [*lines, "task poor n=2 cpu=0 loop run 2ms sleep 1ms", *case.some_changes(["poor0", "late", "poor1"], cpus, 2)]


def deadline_throttling(case):
    """Deadline tasks that use up their runtime, yield it, or wake after their deadline."""
    cpus = case.pick(1, 2, 4)
    lines = [f"cpus {cpus}"]
    for place in range(case.pick(1, 2)):
        reclaim = case.pick("", "", " reclaim")
        program = case.pick("run 10s", "run 4ms sleep 3ms", "run 500us yield run 200us sleep 7ms", "loop runr 500us 4ms sleepr 1ms 9ms")
        lines.append(f"task dl{place} dl={case.pick('1ms/4ms/10ms', '2ms/8ms/8ms', '1ms/20ms/20ms')}{reclaim} cpu=0 start={place}ms {program}")
    lines.append(f"task fair n={case.pick(1, 3)} cpu=0 loop run {case.pick(1, 5)}ms sleep {case.pick(1, 3)}ms")
    lines.append(f"task rt fifo=7 cpu=0 loop run 1ms sleep {case.pick(2, 6)}ms")
    return lines + case.some_changes(["rt"], cpus, 2)


def nested_quotas(case):
    """Groups whose parents have quotas, which change, and tasks that move between them."""
    cpus = case.pick(1, 2, 4, 8)
    quota = lambda: f"quota={case.pick(1, 2, 4)}ms period={case.pick(10, 20, 30)}ms"
    lines = [f"cpus {cpus}", f"group top {quota()}", f"group mid parent=top {case.pick('', quota())}", f"group low parent=mid {quota()}"]
    names = []
    for group in ("low", "mid", "top"):
        lines.append(f"task {group}t group={group} n=2 cpu={case.random.randrange(cpus)} {case.pick('run 10s', 'loop run 3ms sleep 1ms', 'loop run 600us sleep 900us')}")
        names += [f"{group}t0", f"{group}t1"]
    lines.append("task free cpu=0 loop run 2ms sleep 2ms")
    for _ in range(case.pick(0, 1, 3)):
        lines.append(f"quota {case.at()} {case.pick('top', 'mid', 'low')} {case.pick('2ms', 'none', '5ms')} 15ms")
        lines.append(f"move {case.at()} {case.pick(*names)} {case.pick('/', 'low', 'top')}")
    return lines + case.some_changes(names, cpus, 1)


def thresholds(case):
    """Waits, jobs and misses that are exactly as long, or as many, as rules of findings allow."""
    if case.maybe(0.4):
        case.length_ms = case.pick(200, 400)
        lines = ["cpus 2", "task long dl=3ms/4ms/10ms cpu=1 loop run 3ms every 10ms"]
        lines.append(f"task short dl=3ms/{case.pick(5, 5, 4)}ms/10ms cpu=1 loop run {case.pick(2, 2, 1)}ms every 10ms")
        jobs = "run 1ms sleep 9ms " * 19
        return [*lines, f"task once dl=2ms/4ms/10ms cpu=1 loop {jobs}run 6ms sleep 4ms"]
    if case.maybe(0.2):
        # The fair server ends a wait after its period without its runtime.
        case.length_ms = 700
        return ["cpus 1", "task spin fifo=50 cpu=0 run 10s", "task poor cpu=0 run 10s", f"server 0ms 0 50ms {case.pick(550, 551)}ms"]
    case.length_ms = case.pick(300, 700, 5200)
    limit, more = case.pick((4, 16), (4, 16), (10, 30), (50, 5400), (500, 600), (501, 600))
    lines = ["cpus 2", f"task spin fifo=9 cpu=0 mask=0 loop run {limit}ms sleep {more}ms", "task still cpu=0 mask=0 run 10s"]
    # Half of each period is the quota of a group whose task always wants to run.
    lines += ["affinity 1ms still 0-1", "tune nr_migrate 0"]
    quota = ["group g quota=10ms period=20ms", "task limited group=g cpu=0 mask=0 run 10s"]
    return lines + quota * case.maybe(0.5)


def many_switches(case):
    """A wait with more switches than a history has: two real-time tasks of one priority yield to each other."""
    case.length_ms = case.pick(120, 160)
    spin = f"task spin n=2 fifo=9 cpu=0 mask=0 loop run {case.pick(7, 9)}us yield"
    return [f"cpus {case.pick(1, 2)}", spin, f"task poor n={case.pick(1, 2)} cpu=0 mask=0 run 10s"]


def changes(case):
    """Tasks of all classes with many changes: affinity, cpusets, classes, hotplug."""
    cpus = case.nr_cpus = case.pick(2, 4, 6)
    lines = [f"cpus {cpus}", f"cpuset s0 cpus={case.cpus_of(cpus)}", f"cpuset s1 cpus={case.cpus_of(cpus)}"]
    names = []
    for place in range(case.pick(3, 5, 8)):
        where = case.pick("", "", "cpuset=s0", "cpuset=s1", f"mask={case.cpus_of(cpus)}")
        lines.append(f"task t{place} {case.pick('fair', 'fair', 'fair', 'batch', 'fifo=3')} cpu={case.random.randrange(cpus)} {where} {case.program()}")
        names.append(f"t{place}")
    lines += case.some_changes(names, cpus, case.pick(4, 8, 14))
    for _ in range(case.pick(0, 1, 3)):
        lines.append(f"setcpus {case.at()} {case.pick('s0', 's1')} {case.cpus_of(cpus)}")
        lines.append(f"attach {case.at()} {case.pick(*names)} {case.pick('/', 's0', 's1')}")
    if case.maybe(0.4):
        case.hotplug(lines)
    return lines


# General recipes, each with the number of its entries in the list from which runs are drawn.
GENERAL = {real_time_throttling: 3, deadline_throttling: 1, nested_quotas: 1, thresholds: 2, many_switches: 1, changes: 2}
# Order of recipes in that list. Others follow: a list that grows at its end leaves most seeds their runs.
ORDER = [
    "fair_server", "real_time_throttling", "deadline_throttling", "nested_quotas", "exceeded_quota", "cut_slice", "limited_lag",
    "unfair_share", "unfair_groups", "thresholds", "many_switches", "never_woken", "misfit", "low_frequency", "flapping", "changes",
    "starvation", "ping_pong", "vain_kicks",
]


def all_recipes():
    """Returns the list from which runs are drawn: general recipes, and those of rules."""
    numbers = {**GENERAL, **{recipe: nr for rule in registry.RULES for recipe, nr in rule.recipes.items()}}
    place = lambda recipe: ORDER.index(recipe.__name__) if recipe.__name__ in ORDER else len(ORDER)
    recipes = sorted(numbers, key=lambda recipe: (place(recipe), recipe.__name__))
    return [recipe for recipe in recipes for _ in range(numbers[recipe])]


RECIPES = all_recipes()
