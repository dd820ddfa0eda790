# SPDX-License-Identifier: GPL-2.0-or-later
"""Random chains of tasks that hand work on, from a seed: files of rt-app and scenarios with responses."""

import json
import random


class Chain:
    """Stages, the objects between them, clients, quotas and costs of a run."""

    def __init__(self, seed):
        self.seed, self.random = seed, random.Random(f"chain {seed}")
        self.length_ms = self.pick(20, 50, 120)
        self.files, self.options = {}, []
        if self.maybe(0.3):
            self.scenario()
        else:
            self.rt_app()
        if self.maybe(0.2):
            self.options += ["--warmup", f"{self.random.randrange(1, self.length_ms)}ms"]
        self.options += ["--kernel", self.pick("6.1", "6.12"), "--for", f"{self.length_ms}ms"]

    def maybe(self, chance):
        return self.random.random() < chance

    def pick(self, *values):
        return self.random.choice(values)

    def workload(self):
        return next(iter(self.files))

    def work(self):
        """Returns a length in microseconds, which is often short."""
        return self.pick(50, 300, 1000, 2000, 4000, self.random.randrange(1, 6000))

    def cpus(self, nr_cpus):
        return sorted(self.random.sample(range(nr_cpus), self.random.randrange(1, nr_cpus + 1)))

    # Files of rt-app.

    def rt_app(self):
        nr_cpus = self.pick(1, 2, 4)
        machine = self.pick(None, None, "hikey960", "laptop-8")
        if machine is None:
            self.files["run.json"] = ""
            self.files["machine.toml"] = f'name = "plain"\n[cpus]\ncount = {nr_cpus}\n'
            machine = "machine.toml"
        else:
            nr_cpus = 8
            self.files["run.json"] = ""
        self.options += ["--machine", machine]
        nr_stages = self.random.randrange(1, 5)
        tasks, points = {}, []
        for client in range(self.pick(1, 1, 2, 3)):
            name = f"client{client}"
            tasks[name] = self.client(name, nr_stages, points)
        for stage in range(nr_stages):
            name = f"stage{stage}"
            tasks[name] = self.stage(stage, nr_stages, name, points)
        if self.maybe(0.3):
            tasks["load"] = {"instance": self.pick(1, 2, 4), "run": self.work(), "sleep": self.work()}
        if self.maybe(0.3):
            tasks["child"] = {"instance": 0, "loop": 1, "run": self.work(), "sem_post": "joined"}
        for task in tasks.values():
            if self.maybe(0.3) and "cgroup" not in task:
                task["cpus"] = self.cpus(nr_cpus)
            if self.maybe(0.15):
                task["cgroup"] = "/limited"
        self.add_forks(tasks)
        file = {
            "tasks": tasks, "cgroups": {"/limited": {"cpu.max": f"{self.pick(1000, 3000)} {self.pick(5000, 20000)}"}},
            "responses": self.responses(tasks, points),
        }
        self.files["run.json"] = json.dumps(file, indent=1)

    def events(self, *pairs):
        """Numbers the keys of events, so that they differ."""
        return {f"{key}{number}": value for number, (key, value) in enumerate(pairs)}

    def timer(self):
        return {"ref": self.pick("unique", "unique", "grid"), "period": self.pick(1000, 3000, 8333), "mode": self.pick("absolute", "relative")}

    def hand_on(self, target):
        """Returns events that hand work to a stage, by its kind of object."""
        return {
            "sem": [("sem_post", f"s{target}")], "sem2": [("sem_post", f"s{target}"), ("sem_post", f"s{target}")],
            "cond": [("signal", f"c{target}")], "broad": [("broad", f"c{target}")], "suspend": [("resume", f"stage{target}")],
        }[self.kind_of(target)]

    def kind_of(self, stage):
        return random.Random(f"kind {self.seed} {stage}").choice(["sem", "sem", "sem2", "cond", "broad", "suspend"])

    def wait_for(self, stage):
        """Returns events that wait for work of a stage."""
        kind = self.kind_of(stage)
        if kind.startswith("sem"):
            return [("sem_wait", f"s{stage}")] * (2 if kind == "sem2" and self.maybe(0.5) else 1)
        if kind == "suspend":
            return [("suspend", f"stage{stage}")]
        return [("lock", f"m{stage}"), ("wait", {"ref": f"c{stage}", "mutex": f"m{stage}"}), ("unlock", f"m{stage}")]

    def client(self, name, nr_stages, points):
        pairs = [("run", self.work())] if self.maybe(0.8) else []
        pairs += self.hand_on(self.random.randrange(nr_stages))
        if self.maybe(0.3):
            pairs.append(("run", self.work()))
        if self.maybe(0.3):
            pairs += self.hand_on(self.random.randrange(nr_stages))
        if self.maybe(0.3):
            pairs.append(("sem_wait", "reply"))
        if self.maybe(0.2):
            pairs.append(("barrier", "meeting"))
        if self.maybe(0.2):
            pairs.insert(self.random.randrange(len(pairs)), ("point", f"p {name}"))
            points.append(f"{name}.p {name}")
        pairs.insert(self.pick(0, len(pairs)), ("timer", self.timer()))
        return self.events(*pairs)

    def stage(self, stage, nr_stages, name, points):
        pairs = self.wait_for(stage)
        if self.maybe(0.15):
            pairs += self.wait_for(stage)
        for _ in range(self.random.randrange(3)):
            pairs.append(self.pick(("run", self.work()), ("sleep", self.work()), ("run", self.work()), ("runtime", self.work())))
        if self.maybe(0.2):
            pairs += [("lock", "m"), ("run", self.work()), ("unlock", "m")]
        if self.maybe(0.3):
            pairs.append(("point", f"p {name}"))
            points.append(f"{name}.p {name}")
        if stage + 1 < nr_stages and self.maybe(0.9):
            pairs += self.hand_on(stage + 1)
        elif self.maybe(0.5):
            pairs.append(("sem_post", self.pick("reply", "unused")))
        if self.maybe(0.15):
            pairs.append(("barrier", "meeting"))
        task = self.events(*pairs)
        if not any(key.startswith(("run", "sleep")) for key in task) and self.kind_of(stage) == "suspend":
            task["run"] = 10
        if self.maybe(0.2):
            task["instance"] = self.pick(2, 3)
        return task

    def add_forks(self, tasks):
        if "child" in tasks:
            name = self.pick(*[name for name in tasks if name.startswith(("client", "stage"))])
            nr_children = self.pick(1, 2)
            forks = {f"fork{number}": "child" for number in range(nr_children)}
            joins = {f"sem_wait_join{number}": "joined" for number in range(nr_children)}
            tasks[name] = {**forks, **(joins if self.maybe(0.7) else {}), **tasks[name]}

    def responses(self, tasks, points):
        found = {}
        is_event = lambda key: not key.startswith(("instance", "loop", "cpus", "cgroup", "timer", "point"))
        for number in range(self.pick(1, 1, 2)):
            client = self.pick(*[name for name in tasks if name.startswith("client")])
            timers = [key for key in tasks[client] if key.startswith("timer")]
            start = f"{client}.{self.pick(*timers)}"
            if self.maybe(0.25):
                start = f"{client}.{self.pick(*[key for key in tasks[client] if is_event(key)])}"
            if points and self.maybe(0.2):
                start = self.pick(*points)
            response = {"from": start}
            if points and self.maybe(0.5):
                response["to"] = self.pick(*points)
            elif self.maybe(0.2):
                name = self.pick(*[name for name in tasks if name != "child"])
                keys = [key for key in tasks[name] if is_event(key)]
                if keys:
                    response["to"] = f"{name}.{self.pick(*keys)}"
            if self.maybe(0.7):
                response["deadline"] = self.pick(1000, 5000, 20000)
            found[f"r{number}"] = response
        return found

    # Scenarios.

    def scenario(self):
        nr_cpus, nr_stages = self.pick(1, 2, 4), self.random.randrange(1, 4)
        lines, points = [f"cpus {nr_cpus}", "group g quota=2ms period=8ms"], []
        program = lambda parts: " ".join(parts)
        hand = lambda stage: self.pick(f"wake w{stage}", f"wakesync w{stage}", f"post q{stage}", f"post q{stage} post q{stage}")
        for client in range(self.pick(1, 2)):
            parts = [f"run {self.work()}us"] + [hand(self.random.randrange(nr_stages)) for _ in range(self.pick(1, 1, 2))]
            if self.maybe(0.4):
                parts.insert(self.random.randrange(len(parts) + 1), f"point b{client}")
                points.append(f"b{client}")
            parts.insert(self.pick(0, len(parts)), f"every {self.pick(1, 3, 8)}ms")
            lines.append(f"task c{client} cpu={self.random.randrange(nr_cpus)} {self.group()}{program(parts)}")
        for stage in range(nr_stages):
            for kind, wait in (("w", "wait"), ("q", f"take q{stage}")):
                parts = [wait] * self.pick(1, 1, 1, 2)
                parts += [self.pick(f"run {self.work()}us", f"sleep {self.work()}us run 1us", f"lock m run {self.work()}us unlock m", "yield run 5us")]
                if self.maybe(0.4):
                    parts.append(f"point {kind}{stage}")
                    points.append(f"{kind}{stage}")
                if stage + 1 < nr_stages:
                    parts.append(hand(stage + 1))
                start = f"start={self.work()}us " if self.maybe(0.2) else ""
                lines.append(f"task {kind}{stage} cpu={self.random.randrange(nr_cpus)} {start}{self.group()}{program(parts)}")
        if self.maybe(0.2):
            # Wakes a client before its timer expires.
            lines.append(f"task early cpu=0 sleep {self.work()}us run 10us wake c0")
        if self.maybe(0.3):
            lines.append(f"packets 0-{nr_cpus - 1} {self.pick(3, 7)}ms 1 w0")
        for number in range(self.pick(1, 2)):
            start = self.pick("c0.every", *points)
            end = f" to={self.pick(*points)}" if points and self.maybe(0.5) else ""
            deadline = f" deadline={self.pick(1, 5, 20)}ms" if self.maybe(0.7) else ""
            lines.append(f"response r{number} from={start}{end}{deadline}")
        self.files["run.scn"] = "\n".join(lines) + "\n"

    def group(self):
        return "group=g " if self.maybe(0.15) else ""
