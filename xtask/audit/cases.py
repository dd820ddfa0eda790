# SPDX-License-Identifier: GPL-2.0-or-later
"""Random runs for the audit: machine, workload and settings from a seed.

A case has a recipe of ingredients. Whether an ingredient took effect is decided by the event log of the run, not
by the recipe: a hotplug operation that the kernel rejects does not count.
"""

import random

from recipes import RECIPES

# Part of the cases that follow a recipe.
RECIPE_PART = 0.45

# Smallest number of runs of 2,000 in which each ingredient must have taken effect.
QUOTA = 50
# Ingredients of which a big audit must check enough explanations.
EXPLAINED = [
    "quota throttling", "quota throttling in nested groups", "real-time throttling", "deadline throttling", "delayed dequeue",
    "limited lag", "slices of tasks", "fair servers that ran tasks", "fair-server changes", "class changes", "affinity changes",
    "cpuset changes", "hotplug", "several kinds of CPUs", "SMT", "costs", "steal time", "exec", "batch and idle tasks",
]


def without(options, name):
    """Returns options without the one of this name, and its value."""
    place = options.index(name) if name in options else len(options)
    return [*options[:place], *options[place + 2 :]]


class Case:
    """Files and options of a run."""

    def __init__(self, seed, has_deadlines=True):
        self.seed, self.has_deadlines = seed, has_deadlines
        self.random = random.Random(f"audit {seed}")
        self.files, self.options, self.is_cut = {}, [], False
        self.length_ms = self.random.choice([20, 60, 120, 200])
        self.nr_cpus = self.random.choice([1, 2, 3, 4, 6, 8, 12])
        self.has_machine = False
        if self.maybe(RECIPE_PART):
            self.recipe()
            return
        self.has_machine = self.maybe(0.7)
        if self.has_machine:
            self.machine()
        if self.maybe(0.2):
            self.recorded()
        else:
            self.scenario()
        self.settings()

    def recipe(self):
        """Writes the scenario of a recipe. Its machine is its own, and so are its settings but for measured times."""
        self.length_ms = self.pick(200, 300, 400)
        lines = self.pick(*RECIPES)(self)
        self.nr_cpus = int(lines[0].split()[1])
        self.files["run.scn"] = "\n".join([*lines, f"end {self.length_ms}ms"]) + "\n"
        if self.maybe(0.1):
            self.options += ["--warmup", f"{self.random.randrange(1, self.length_ms // 8)}ms"]

    def maybe(self, chance):
        return self.random.random() < chance

    def pick(self, *values):
        return self.random.choice(values)

    def cpus(self):
        """Returns a range of CPUs as text."""
        return self.cpus_of(self.nr_cpus)

    def cpus_of(self, nr_cpus):
        """Returns a range of the first CPUs as text."""
        low = self.random.randrange(nr_cpus)
        return f"{low}-{self.random.randrange(low, nr_cpus)}"

    def some_changes(self, tasks, nr_cpus, most):
        """Returns up to `most` changes of tasks: affinity, class, weight."""
        lines = []
        for _ in range(self.random.randrange(most + 1)):
            task = self.pick(*tasks)
            lines.append(self.pick(
                f"affinity {self.at()} {task} {self.cpus_of(nr_cpus)}", f"policy {self.at()} {task} {self.policy()}",
                f"policy {self.at()} {task} {self.pick('fair', 'batch', 'fifo=4')}", f"nice {self.at()} {task} {self.pick(-5, 3, 19)}",
            ))
        return lines

    def at(self):
        return f"{self.random.randrange(1, self.length_ms * 1000)}us"

    def machine(self):
        """Writes a machine file: threads, capacities, frequencies with power, turbo, idle states, interrupts."""
        lines = [f'name = "m{self.seed}"', "hz = " + self.pick("100", "250", "300", "1000")]
        if self.maybe(0.5):
            lines.append('base = "hikey960"')
            self.nr_cpus = 8
        lines += [f"tick_skew_ns = {self.pick(0, 0, 1_000, 80_000)}", f"ipi_ns = {self.pick(0, 500, 3_000)}"]
        lines.append(f"scale_work = {self.pick('true', 'false')}")
        lines.append(f'idle_governor = "{self.pick("menu", "teo")}"')
        has_base = any(line.startswith("base") for line in lines)
        threads = 2 if self.nr_cpus % 2 == 0 and not has_base and self.maybe(0.5) else 1
        lines += ["[cpus]", f"count = {self.nr_cpus}"]
        if threads == 2:
            lines += ["threads_per_core = 2", f'numbering = "{self.pick("threads-last", "core-major")}"']
            lines += ["[smt]", f"throughput_percent = [100, {self.pick(110, 125, 160)}]", 'source = "drawn"']
        if has_base or (threads == 1 and self.maybe(0.5)):
            self.clusters(lines)
        elif self.maybe(0.8):
            lines += ["[turbo]", "base_khz = 2_000_000"]
            cores = sorted(self.random.sample(range(1, self.nr_cpus // threads + 1), 1))
            lines += [f"busy_cores = [{cores[0]}, {self.nr_cpus // threads}]" if cores[0] < self.nr_cpus // threads
                      else f"busy_cores = [{cores[0]}]"]
            lines += ["khz = [4_000_000, 3_700_000]" if cores[0] < self.nr_cpus // threads else "khz = [3_600_000]"]
            lines += ['source = "drawn"']
        if self.maybe(0.8):
            self.idle_states(lines)
        self.files["machine.toml"] = "\n".join(lines) + "\n"
        self.options += ["--machine", "machine.toml"]

    def clusters(self, lines):
        """Adds CPU types of two capacities and their frequency domains."""
        split = self.nr_cpus // 2
        spans = [(0, split - 1, 400), (split, self.nr_cpus - 1, 1024)] if split else [(0, 0, 1024)]
        for low, high, capacity in spans:
            lines += ["[[cpu_type]]", f'name = "t{low}"', f'cpus = "{low}-{high}"', f"capacity = {capacity}"]
        has_power = self.maybe(0.7)
        for low, high, _ in spans:
            khz = sorted(self.random.sample(range(400_000, 3_000_000), self.random.randrange(1, 5)))
            khz = [max(value, khz[-1] // 8) for value in khz]
            khz = sorted(set(khz))
            lines += ["[[frequency_domain]]", f'cpus = "{low}-{high}"', f"khz = {khz}"]
            if has_power:
                lines += [f"power_uw = {[50_000 + value // 5 for value in khz]}"]

    def idle_states(self, lines):
        exit_ns, residency_ns = 0, 0
        for place in range(self.random.randrange(1, 4)):
            exit_ns += self.random.randrange(100, 40_000)
            residency_ns += exit_ns + self.random.randrange(0, 60_000)
            lines += ["[[idle_state]]", f'name = "S{place}"', f"exit_latency_ns = {exit_ns}"]
            lines += [f"target_residency_ns = {residency_ns}"]
            if self.maybe(0.7):
                lines.append(f"power_uw = {30_000 // (place + 1)}")

    def scenario(self):
        """Writes a scenario with tasks of all classes, groups, cpusets and changes."""
        lines = [f"cpus {self.nr_cpus}"]
        if not self.has_machine:
            self.scenario_machine(lines)
        lines.append(f"end {self.length_ms}ms")
        groups = self.groups(lines)
        cpusets = []
        if self.maybe(0.3):
            cpusets = ["s0", "s1"][: self.random.randrange(1, 3)]
            lines += [f"cpuset {name} cpus={self.cpus()}" for name in cpusets]
        tasks = self.tasks(lines, groups, cpusets)
        for _ in range(self.random.randrange(0, 6)):
            lines.append(self.change(tasks, groups, cpusets))
        if self.maybe(0.5):
            self.hotplug(lines)
        if self.maybe(0.15):
            lines.append(f"packets {self.cpus()} {self.pick(200, 1000, 3000)}us {self.pick(1, 5, 40)} {tasks[0]}")
        if self.maybe(0.3):
            name = self.pick("NI_RANDOM", "WARN_DOUBLE_CLOCK", "LATENCY_WARN", "SIS_UTIL", "WAKEUP_PREEMPTION")
            lines.append(f"feature {name} {self.pick(0, 1)}")
        self.files["run.scn"] = "\n".join(lines) + "\n"

    def scenario_machine(self, lines):
        if self.nr_cpus % 2 == 0 and self.maybe(0.4):
            lines += ["topo smt=2"]
        has_capacities = self.maybe(0.3)
        if has_capacities:
            lines.append("caps " + " ".join(str(self.pick(300, 600, 1024)) for _ in range(self.nr_cpus - 1)) + " 1024")
            lines.append("scale 1" if self.maybe(0.5) else "scale 0")
        if self.maybe(0.4):
            split = self.random.randrange(self.nr_cpus)
            steps = self.pick("500000 1000000", "300000:20000 900000:90000 1200000:200000")
            # Only CPUs of one kind have the same power values.
            lines.append(f"fdom 0-{split} " + ("500000 1000000" if has_capacities else steps))
        elif self.maybe(0.4):
            lines += [f"freq {self.at()} {self.random.randrange(self.nr_cpus)} {self.pick(256, 512, 768, 1024)}"]
        if self.maybe(0.25):
            lines.append(f"irq {self.cpus()} {self.pick(1, 4)}ms {self.pick(50, 400)}us")
        if self.maybe(0.35):
            lines.append(f"steal {self.cpus()} {self.pick(2, 7)}ms {self.pick(80, 900)}us")

    def groups(self, lines):
        groups = []
        for place in range(self.random.randrange(0, 4)):
            parent = f" parent={self.pick(*groups)}" if groups and self.maybe(0.4) else ""
            quota = f" quota={self.pick(1, 2, 5)}ms period={self.pick(5, 10, 20)}ms" if self.maybe(0.6) else ""
            burst = " burst=1ms" if quota and self.maybe(0.4) else ""
            lines.append(f"group g{place}{parent}{quota}{burst} shares={self.pick(100, 1024, 5000)}")
            groups.append(f"g{place}")
        return groups

    def policy(self):
        policy = self.pick(
            "fair", "fair", "fair", "fair", "batch", "idlepol", f"fifo={self.random.randrange(1, 99)}",
            f"rr={self.random.randrange(1, 99)}", "dl=1ms/5ms/5ms", "dl=2ms/10ms/20ms",
        )
        return policy if self.has_deadlines or not policy.startswith("dl") else "fair"

    def tasks(self, lines, groups, cpusets):
        names, pairs = [], self.maybe(0.5)
        for place in range(self.random.randrange(1, 8)):
            name, policy = f"t{place}", self.policy()
            options = [policy, f"cpu={self.random.randrange(self.nr_cpus)}", f"start={self.random.randrange(0, 9)}ms"]
            count = self.pick(1, 1, 1, 3)
            if count > 1:
                options.append(f"n={count}")
            if groups and policy in ("fair", "batch", "idlepol") and self.maybe(0.5):
                options.append(f"group={self.pick(*groups)}")
            if policy in ("fair", "batch"):
                options.append(f"nice={self.pick(0, 0, 0, -10, 5, 19)}")
            if not policy.startswith("dl"):
                if cpusets and self.maybe(0.3):
                    options.append(f"cpuset={self.pick(*cpusets)}")
                elif self.maybe(0.3):
                    options.append(f"mask={self.cpus()}")
            if self.maybe(0.2):
                options.append(f"umin={self.pick(0, 200)} umax={self.pick(500, 1024)}")
            lines.append(f"task {name} {' '.join(options)} {self.program()}")
            names += [name] if count == 1 else [f"{name}{index}" for index in range(count)]
        if pairs:
            lines.append(f"task wa loop run {self.pick(50, 300)}us {self.pick('wake', 'wakesync')} wb sleep 1ms")
            lines.append("task wb loop wait run 200us")
            names += ["wa", "wb"]
        return names

    def program(self):
        run, sleep = self.random.randrange(20, 4000), self.random.randrange(50, 9000)
        return self.pick(
            f"run {run}us sleep {sleep}us",
            f"run {run}us sleep {sleep}us",
            f"loop runr 10us {run + 20}us sleepr 20us {sleep}us",
            f"loop runx {run}us sleepx {sleep}us",
            f"loop run {run}us every {self.pick(2, 5, 16)}ms",
            f"loop run {run}us every {self.pick(2, 5)}ms",
            "run 1s",
            f"run {run}us yield run {run}us sleep {sleep}us",
            f"run {run}us sleep {sleep}us run {run}us exit",
        )

    def change(self, tasks, groups, cpusets):
        task = self.pick(*tasks)
        changes = [
            f"affinity {self.at()} {task} {self.cpus()}",
            f"affinity {self.at()} {task} {self.cpus()}",
            f"nice {self.at()} {task} {self.pick(-5, 0, 10)}",
            f"policy {self.at()} {task} {self.policy()}",
            f"maxfreq {self.at()} {self.cpus()} {self.pick(300, 700)}",
            f"thermal {self.at()} {self.cpus()} {self.pick(300, 700)}",
        ]
        if groups:
            group = self.pick(*groups)
            changes += [f"move {self.at()} {task} {self.pick('/', group)}", f"shares {self.at()} {group} 500"]
            changes += [f"quota {self.at()} {group} {self.pick('2ms', 'none', '4ms')} 10ms"] * 2
        if cpusets:
            changes += [f"attach {self.at()} {task} {self.pick('/', *cpusets)}"]
            changes += [f"setcpus {self.at()} {self.pick(*cpusets)} {self.cpus()}"]
        return self.pick(*changes)

    def hotplug(self, lines):
        for _ in range(self.random.randrange(1, 3)):
            cpus = self.cpus()
            first = self.random.randrange(1, self.length_ms * 900)
            lines.append(f"offline {first}us {cpus}")
            if self.maybe(0.6):
                lines.append(f"online {self.random.randrange(first, self.length_ms * 1000)}us {cpus}")

    def recorded(self):
        """Writes a recorded workload with forks, program starts, exits and wake-ups."""
        lines = ["recorded 1", f"cpus {self.nr_cpus}", f"end {self.length_ms}ms"]
        children, tasks = self.random.randrange(1, 6), []
        # A task can have the name of its family, or of another one.
        parent, first = self.pick(("parent", "c0"), ("parent", "c0"), ("parent", "child"), ("child family=main", "c0"))
        names = [first, *(f"c{place}" for place in range(1, children))]
        forks = " ".join(f"run 100us fork {name} sleep {self.random.randrange(20, 3000)}us" for name in names)
        tasks += [(f"{parent} cpu=0 start={self.random.randrange(0, 4)}ms", f"exec {forks} exit")]
        for place in range(children):
            work = " ".join(
                f"run {self.random.randrange(10, 4000)}us sleep {self.random.randrange(10, 4000)}us"
                for _ in range(self.random.randrange(1, 9))
            )
            start = self.pick("exec ", "exec run 50us ", "")
            tasks.append((f"{names[place]} family=child cpu=0 forked", f"{start}{work} {self.pick('exit', 'wait')}"))
        wakes = " ".join(f"run 30us wake s sleep {self.random.randrange(50, 2000)}us" for _ in range(9))
        tasks.append((f"w cpu=0 start=1ms nice={self.pick(0, 5)}", wakes + " exit"))
        tasks.append((f"s cpu={self.nr_cpus - 1} start=0ms {self.pick('', 'fifo=5')}", "wait run 70us " * 9 + "exit"))
        for options, program in tasks:
            lines += [f"task {options}", f"do {program}"]
        self.files["run.rec"] = "\n".join(lines) + "\n"

    def settings(self):
        if self.maybe(0.3):
            self.options += ["--warmup", f"{self.random.randrange(1, self.length_ms)}ms"]
            self.options += ["--for", f"{self.random.randrange(1, self.length_ms)}ms"]
        if self.maybe(0.2):
            self.options += ["--seed", str(self.random.randrange(1000)), "--vary"]
        if self.maybe(0.1):
            self.options += ["--perturb", str(self.random.randrange(1, 1000))]
        kernel = self.pick("4.19", "5.4", "5.11", "5.18", "5.19") if self.maybe(0.15) else None
        # Older kernels reject files with what they do not have.
        text = self.files[self.workload()]
        if kernel and not any(word in text for word in ("umin=", "burst=", "slice=", "idle=1")):
            self.options += ["--kernel", kernel]
        if not self.has_machine and self.maybe(0.2):
            self.options += ["--prices", "hikey960"]
        self.is_cut = self.maybe(0.06)
        if self.is_cut:
            self.options = [*without(self.options, "--for"), "--for", "60s"]

    def workload(self):
        return next(name for name in self.files if name != "machine.toml")


def ingredients(log):
    """Returns the ingredients that took effect in a run."""
    kinds = {event["e"] for event in log.events}
    states = {}
    for event in log.of("idle_enter"):
        states.setdefault(event["cpu"], set()).add(event["state"])
    limits = {event["class"] for event in log.of("throttling") if event["on"]}
    limiting = {event["group"] - 1 for event in log.of("throttling") if event["class"] == "fair"}
    made = {event["what"] for event in log.of("changed") if event["result"] == 0}
    ranks = {}
    for event in log.of("prio"):
        ranks.setdefault(event["task"], set()).add(0 if event["prio"] < 0 else 1 if event["prio"] < 100 else 2)
    policies = {(log.specs[fork["spec"]]["policy"] or "Normal").split("(")[0].split()[0] for fork in log.forks.values()}
    return {
        "hotplug": any(event["result"] == 0 for event in log.of("hotplug")),
        "affinity changes": "affinity" in made,
        "cpuset changes": "cpuset" in made or "cpuset" in kinds,
        "class changes": any(len(classes) > 1 for classes in ranks.values()),
        "fair-server changes": "server" in made,
        "fair servers that ran tasks": any(event["step"] == "Picked" for event in log.of("server")),
        "quota throttling": "fair" in limits,
        "quota throttling in nested groups": any(log.groups[group]["parent"] is not None for group in limiting),
        "real-time throttling": "real-time" in limits,
        "deadline throttling": "deadline" in limits,
        "delayed dequeue": any(event["step"] == "Begins" for event in log.of("delay")),
        "limited lag": "limited_lag" in kinds,
        "slices of tasks": "slice" in made or any(spec["slice"] for spec in log.specs),
        "several kinds of CPUs": len({cpu["capacity"] for cpu in log.cpus}) > 1,
        "real-time tasks": bool(policies & {"Fifo", "RoundRobin"}),
        "deadline tasks": "Deadline" in policies,
        "batch and idle tasks": bool(policies & {"Batch", "Idle"}),
        "throttled groups": any(event["on"] for event in log.of("group_throttling")),
        "warm-up": log.reset_index > 0,
        "SMT": log.machine["has_smt"],
        "turbo": log.machine["has_turbo"] and "speed" in kinds,
        "frequencies": not log.machine["has_turbo"] and "speed" in kinds,
        "several idle states on a CPU": any(len(entered) > 1 for entered in states.values()),
        "exec": any(event["kind"] == "Exec" for event in log.of("selection")),
        "exits": any(event["state"] == "X" for event in log.of("switch")),
        "forks by tasks": any(event["t"] > log.machine["t"] and not log.specs[event["spec"]]["is_kthread"] for event in log.of("fork")),
        "interrupts": any(not event["stolen"] for event in log.of("lost")),
        "steal time": any(event["stolen"] for event in log.of("lost")),
        "packets": "backlog" in kinds,
        "timers": "timer" in kinds,
        "costs": log.machine["has_costs"],
        "power values": any(domain["power_uw"] for domain in log.domains),
    }
