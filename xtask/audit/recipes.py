# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenarios of random runs that produce what tasks drawn freely rarely meet: a throttled class, a served fair task, an
unfair share. Each recipe returns statements, and adds options of the run to its case.
"""


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


def starvation(case):
    """Tasks that wait for longer than half a second behind a real-time task, up to the fair server's first turn."""
    case.length_ms = case.pick(700, 1100)
    spin = f"task spin fifo=50 cpu=0 start={case.pick(0, 5, 40)}ms run 10s"
    return [f"cpus {case.pick(1, 1, 2)}", spin, f"task poor n={case.pick(1, 2)} cpu=0 mask=0-0 run 10s", "task nap loop run 1ms sleep 9ms"]


def ping_pong(case):
    """Tasks whose affinity sends them to another CPU and back."""
    lines = ["cpus 4", f"task t n={case.pick(2, 2, 3)} cpu=0 run 10s\ntask other n={case.pick(1, 2)} cpu=2 loop run 1ms sleep 2ms"]
    for task in case.random.sample(["t0", "t1"], case.pick(1, 2)):
        first, every = case.pick(5000, 20000, 21000), case.pick(300, 450)
        lines += [f"affinity {first + 2 * every * pair + every * half}us {task} {half}" for pair in range(60) for half in (1, 0)]
    return lines


def vain_kicks(case):
    """Busy CPUs with a task each, whose ticks kick idle CPUs that find nothing to move."""
    case.length_ms = case.pick(600, 800)
    cpus = case.pick(6, 8)
    nap = f"task q cpu={cpus - 2} loop run {case.pick(2, 3)}ms sleep {case.pick(1, 2)}ms"
    return [f"cpus {cpus}", f"task p n={cpus - 2} cpu=0 run 10s", nap]


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


def exceeded_quota(case):
    """Quota whose slice of each CPU becomes smaller after it was used."""
    cpus = case.pick(4, 8)
    lines = [f"cpus {cpus}", f"group g quota=1ms period={case.pick(50, 100)}ms", f"task t group=g n={cpus * 2} run 10s"]
    time = 2
    while time < case.length_ms:
        lines.append(f"offline {time}ms {cpus - 1}\nonline {time + 1}ms {cpus - 1}")
        # The longer a pause, the less is used beyond the quota.
        time += case.pick(2, 3, 5, 5, 40)
    return lines


def cut_slice(case):
    """Slices of tasks that others cut."""
    cpus = case.pick(1, 2)
    lines = [f"cpus {cpus}", f"task long slice={case.pick(10, 20, 50)}ms n={case.pick(1, 2)} cpu=0 mask=0-0 run 10s"]
    lines.append(f"task radio {case.pick('fifo=9', 'fifo=9', 'rr=3', 'slice=100us')} cpu=0 mask=0-0 loop run {case.pick(50, 100, 200)}us {case.pick('sleep 1ms', 'sleep 2ms', 'sleepx 2ms', 'sleepx 3ms')}")
    lines.append(f"task plain cpu=0 mask=0-0 {case.pick('run 10s', 'loop run 2ms sleep 3ms')}")
    if case.maybe(0.4):
        lines.append(f"slice {case.at()} long{'' if ' n=1 ' in lines[1] else '0'} {case.pick('0', '5ms', '100ms')}")
    return lines


def limited_lag(case):
    """Batch tasks with small slices, which wait for the end of long slices."""
    # Departures that are many, but not in each second.
    is_slow = case.maybe(0.3)
    case.length_ms = 5600 if is_slow else case.pick(600, 900)
    lines = ["cpus 1", f"task hog slice={case.pick(20, 24, 28)}ms n={case.pick(1, 1, 2)} cpu=0 run 10s"]
    pause = "200ms" if is_slow else f"{case.pick(500, 1000)}us"
    return lines + [f"task poor batch slice=100us cpu=0 nice={case.pick(0, 0, -3)} loop run {case.pick(30, 50)}us sleep {pause}"]


def unfair_share(case):
    """One task on each CPU, of which one loses most of its time, in one group or in groups."""
    case.length_ms = case.pick(430, 650)
    cpus, has_groups = case.pick(2, 3), case.maybe(0.5)
    lines = [f"cpus {cpus}", f"irq {cpus - 1} 4ms {case.pick(2600, 3000, 3300)}us"]
    for cpu in range(cpus):
        weight = case.pick(1024, 1024, 3000)
        lines += [f"group g{cpu} shares={weight}"] * has_groups
        group = f"group=g{cpu}" if has_groups else f"nice={case.pick(0, 0, 5, -5)}"
        lines.append(f"task t{cpu} cpu={cpu} mask={cpu} {group} run 10s")
    lines += [f"affinity 1ms t{cpu} 0-{cpus - 1}" for cpu in range(cpus)]
    # A kernel that balances no task leaves them where they are.
    return [*lines, "tune nr_migrate 0"]


def unfair_groups(case):
    """Groups in groups, of which some lose most of their time; weights, tasks, quotas and affinities change."""
    case.length_ms = case.pick(450, 650, 850)
    cpus = case.pick(2, 3)
    lines = [f"cpus {cpus}", f"irq {cpus - 1} 4ms {case.pick(2600, 3000, 3300)}us"]
    has_quota = case.maybe(0.4)
    for cpu in range(cpus):
        lines.append(f"group top{cpu} shares={case.pick(1024, 1024, 2048)}")
        quota = f" quota={case.pick('30ms period=100', '90ms period=100', '170ms period=200', '180ms period=200')}ms" if has_quota and cpu == 0 else ""
        lines += [f"group low{cpu} parent=top{cpu} shares={case.pick(512, 1024)}{quota}", f"group side{cpu} parent=top{cpu}"]
        lines.append(f"task t{cpu} cpu={cpu} mask={cpu} group=low{cpu} {case.pick('run 10s', 'run 10s', 'loop run 180ms sleep 5ms')}")
        if case.maybe(0.3):
            lines.append(f"task s{cpu} cpu={cpu} mask={cpu} group=side{cpu} {case.pick('run 10s', 'loop run 2ms sleep 9ms')}")
    lines += [f"affinity 1ms t{cpu} 0-{cpus - 1}" for cpu in range(cpus)]
    if case.maybe(0.3):
        lines.append(f"shares {case.at()} {case.pick('top0', 'low1')} 3000")
    if case.maybe(0.3):
        lines.append(f"move {case.at()} t{case.pick(0, 1)} {case.pick('side0', 'top1', '/')}")
    return [*lines, "tune nr_migrate 0"]


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


def never_woken(case):
    """Tasks whose waker ends."""
    lines = [f"cpus {case.pick(1, 2, 4)}", f"task wa run {case.pick(1, 5)}ms wake wb sleep 2ms run 1ms wake wb exit"]
    lines.append("task wb loop wait run 300us")
    lines.append(f"task stuck n={case.pick(1, 3)} run 1ms sleep {case.pick(1, 5)}ms wait run 1ms")
    return [*lines, f"task other n=2 loop run {case.pick(1, 4)}ms sleep 2ms"]


def misfit(case):
    """A task that stays on a small CPU, because load balancing ignores misfit tasks (6.1)."""
    case.options += ["--kernel", "6.1", "--set", "no_misfit=1"]
    big = case.pick(800, 1024)
    lines = ["cpus 8", "topo llc=4 pkg=8", "levels MP", f"caps 446 446 446 446 {big} {big} {big} 1024", f"scale {case.pick(0, 1)}"]
    cpu = case.random.randrange(4)
    lines.append(f"task big cpu={cpu} mask={cpu} run 10s")
    lines.append(f"affinity {case.pick(20, 40)}ms big {case.pick('0-7', '0-7', '2-6')}")
    return [*lines, f"task hog n={case.pick(1, 2)} cpu=4 mask=4-7 loop run {case.pick(2, 30)}ms sleep {case.pick(1, 20)}ms"]


def low_frequency(case):
    """Busy CPUs whose frequency is held down, or that have slow CPUs' capacity."""
    has_small = case.maybe(0.4)
    lines, mask = ["cpus 4", "scale 1"] + ["caps 300 300 1024 1024"] * has_small, "mask=0-1 " * has_small
    if case.maybe(0.5):
        lines.append("fdom 0-1 500000 1000000 2000000\nfdom 2-3 400000 2000000")
        lines += [f"{case.pick('thermal', 'maxfreq')} {case.pick(1, 20)}ms {case.pick('0-1', '0-3')} {case.pick(150, 300)}"]
    else:
        lines += [f"freq {case.pick(0, 9)}ms {cpu} {case.pick(200, 400)}" for cpu in range(4)]
    return [*lines, f"task hog n={case.pick(2, 4)} {mask}cpu=0 {case.pick('run 10s', 'loop run 30ms sleep 1ms')}", "task small loop run 300us sleep 3ms"]


def flapping(case):
    """Tasks near the capacity of small CPUs, on a machine with an energy model."""
    is_slow = case.maybe(0.3)
    case.length_ms = 4000 if is_slow else case.pick(900, 1200)
    lines = ["cpus 4", f"levels {case.pick('MA', 'A')}", "caps 400 400 1024 1024", "scale 1"]
    lines += ["fdom 0-1 500000:20000 1000000:80000", "fdom 2-3 500000:90000 1000000:300000 2000000:900000"]
    lines.append(f"task near n=2 cpu=0 mask=0-1 loop {'run 60ms sleep 230ms' if is_slow else case.pick('run 2ms sleep 6ms', 'runx 3ms sleepx 9ms', 'run 6ms sleep 20ms', 'run 10ms sleep 40ms')}")
    return [*lines, f"task other n={case.pick(2, 4, 4)} loop run 1ms sleep 5ms"]


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


RECIPES = [
    fair_server, fair_server, real_time_throttling, real_time_throttling, real_time_throttling, deadline_throttling, nested_quotas, exceeded_quota, cut_slice, cut_slice, limited_lag, limited_lag,
    unfair_share, unfair_share, unfair_share, unfair_groups, unfair_groups, unfair_groups, thresholds, thresholds, many_switches,
    never_woken, misfit, misfit, low_frequency, low_frequency, flapping, changes, changes, starvation,
    ping_pong, vain_kicks, vain_kicks,
]
