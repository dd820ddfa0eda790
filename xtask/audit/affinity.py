# SPDX-License-Identifier: GPL-2.0-or-later
"""CPUs that tasks may use at a moment: affinity, cpusets and CPU hotplug, as the kernel combines them.

A task whose CPUs are all offline gets others once it needs one. The log does not have that time, so the CPUs of a task are
a set of possible ones. `None` stands for CPUs that changes of a program decide, which the log does not have.
"""


class Affinities:
    """CPUs of all tasks; `Moment` passes the events."""

    def __init__(self, log):
        self.log, self.all = log, frozenset(range(log.nr_cpus))
        self.active = self.all
        self.requested = [self.of_list(cpuset["cpus"]) for cpuset in log.cpusets]
        self.effective = [self.online_part(cpus) for cpus in self.requested]
        self.cpuset_of, self.possible = {}, {}
        # Programs of tasks change their CPUs at times that are not in the log.
        of_changes = [change["spec"] for change in log.changes if change["what"] == "affinity"]
        self.by_program = {spec["spec"] for spec in log.specs if spec["later"].count("affinity") > of_changes.count(spec["spec"])}

    def of_list(self, cpus):
        return self.all if cpus is None else self.all & set(cpus)

    def online_part(self, cpus):
        return cpus & self.active or self.active

    def of_cpuset(self, task):
        """Returns the CPUs of a task's cpuset. Hotplug does not change those of the top one."""
        cpuset = self.cpuset_of.get(task)
        return self.all if cpuset is None else self.effective[cpuset]

    def set(self, task, cpus):
        """Sets the CPUs of a task, unless all of them are offline."""
        if cpus & self.active:
            self.possible[task] = {cpus}

    def change(self, what, now, **subject):
        """Returns the last change of a subject before a time of the machine's clock."""
        until = now - self.log.machine["t"]
        is_meant = lambda change: change["what"] == what and change["at"] <= until and subject.items() <= change.items()
        found = [change for change in self.log.changes if is_meant(change)]
        return max(found, key=lambda change: change["at"]) if found else None

    def fork(self, task, spec):
        wanted, self.cpuset_of[task] = self.of_list(spec["affinity"]), spec["cpuset"]
        within = self.of_cpuset(task)
        self.possible[task] = None if spec["spec"] in self.by_program else {wanted & within or within}
        self.find_stranded()

    def affinity_changed(self, task, spec, now):
        change = self.change("affinity", now, spec=spec)
        if self.possible[task] is None or change is None:
            return
        wanted, cpuset = self.of_list(change["cpus"]), self.cpuset_of[task]
        self.set(task, wanted if cpuset is None else wanted & self.of_cpuset(task))

    def attached(self, task, spec, now):
        self.cpuset_of[task] = self.change("attach", now, spec=spec)["cpuset"]
        self.set(task, self.of_cpuset(task))

    def cpuset_changed(self, cpuset, now):
        self.requested[cpuset] = self.of_list(self.change("setcpus", now, cpuset=cpuset)["cpus"])
        self.update_cpuset(cpuset)

    def update_cpuset(self, cpuset):
        effective = self.online_part(self.requested[cpuset])
        if effective == self.effective[cpuset]:
            return
        self.effective[cpuset] = effective
        for task in [task for task, own in self.cpuset_of.items() if own == cpuset]:
            self.set(task, effective)

    def hotplugged(self, cpu, is_online):
        """Handles a completed hotplug operation. Tasks that lose their last CPU get those of their cpuset, or all."""
        self.active = self.active | {cpu} if is_online else self.active - {cpu}
        self.find_stranded()
        for cpuset in range(len(self.requested)):
            self.update_cpuset(cpuset)

    def find_stranded(self):
        for task, possible in self.possible.items():
            if possible and any(not cpus & self.active for cpus in possible):
                self.possible[task] = possible | {self.of_cpuset(task), self.all}
