// SPDX-License-Identifier: GPL-2.0-or-later
//! Sums of a run summary that must be equal.
//!
//! Builds with assertions check them for every summary, `fairlab check` for its run.

use crate::cpus::CpuSummary;
use crate::families::FamilySummary;
use crate::summary::RunSummary;

impl RunSummary {
    /// Returns the sums that differ, as sentences. A difference is a bug of an observer.
    ///
    /// Rules:
    /// 1. Busy, idle and offline time of a CPU are the measured time, and so are its times at all frequencies.
    /// 2. Idle states and kernel time of the idle task are the idle time.
    /// 3. Run time of tasks and stoppers is the busy time of the CPUs.
    /// 4. A family's run time is the sum by capacity and by operating point.
    /// 5. Switches and migrations of parts are those of the run; placements by rule are all placements.
    /// 6. Energy of the domains is the energy of the run, and so is that of their operating points.
    pub fn broken_sums(&self) -> Vec<String> {
        let mut sums = Sums::default();
        self.cpus.iter().for_each(|cpu| sums.check_cpu(cpu, self.duration_ns));
        self.families.iter().for_each(|family| sums.check_family(family));
        let of_cpus = |what: fn(&CpuSummary) -> u64| self.cpus.iter().map(what).sum::<u64>();
        let of_families = |what: fn(&FamilySummary) -> u64| self.families.iter().map(what).sum::<u64>();
        let totals = &self.totals;
        let busy = of_families(|family| family.run_ns) + of_cpus(|cpu| cpu.stopper_ns);
        sums.check("run time of tasks and stoppers, and busy time of CPUs", busy, totals.busy_ns);
        sums.check("switches of CPUs and of the run", of_cpus(|cpu| cpu.switches), totals.switches);
        let selection = &self.selection;
        let by_rule = selection.by_rule.iter().map(|(_, count)| count).sum();
        let placed = selection.wakeups + selection.forks + selection.execs;
        sums.check("placements by rule and by kind", by_rule, placed);
        if let Some(energy) = &self.energy {
            let busy = energy.domains.iter().map(|domain| domain.busy_uj).sum();
            sums.check("busy energy of domains and of the run", busy, energy.busy_uj);
            for domain in &energy.domains {
                let busy = domain.opps.iter().map(|opp| opp.busy_uj).sum();
                sums.check("busy energy of operating points and of their domain", busy, domain.busy_uj);
            }
        }
        sums.0
    }
}

#[derive(Default)]
struct Sums(Vec<String>);

impl Sums {
    fn check(&mut self, what: &str, one: u64, two: u64) {
        if one != two {
            self.0.push(format!("{what}: {one} and {two}"));
        }
    }

    fn check_cpu(&mut self, cpu: &CpuSummary, duration_ns: u64) {
        let name = |what: &str| format!("CPU {}: {what}", cpu.cpu);
        let online = duration_ns - cpu.offline_ns;
        self.check(&name("busy and idle time, and online time"), cpu.busy_ns + cpu.idle_ns, online);
        if !cpu.frequencies.is_empty() {
            let times = cpu.frequencies.iter().map(|time| time.ns).sum();
            self.check(&name("times at frequencies, and online time"), times, online);
            let idle = cpu.frequencies.iter().map(|time| time.idle_ns).sum();
            self.check(&name("idle times at frequencies, and idle time"), idle, cpu.idle_ns);
        }
        if !cpu.idle_states.is_empty() {
            let states = cpu.idle_states.iter().map(|state| state.ns).sum::<u64>() + cpu.kernel_in_idle_ns;
            self.check(&name("idle states and kernel time in idle, and idle time"), states, cpu.idle_ns);
        }
    }

    fn check_family(&mut self, family: &FamilySummary) {
        let name = |what: &str| format!("{}: {what}", family.name);
        let by_capacity = family.run_by_capacity.iter().map(|(_, ns)| ns).sum();
        self.check(&name("run time by capacity, and run time"), by_capacity, family.run_ns);
        if let Some(residency) = &family.residency {
            let points = residency.points.iter().map(|point| point.ns).sum();
            self.check(&name("residency, and run time"), points, family.run_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_whose_states_do_not_fill_its_time_is_reported() {
        let cpu = CpuSummary { cpu: 3, busy_ns: 4, idle_ns: 5, ..CpuSummary::default() };
        let mut summary = RunSummary { duration_ns: 9, cpus: vec![cpu], ..RunSummary::default() };
        summary.totals.busy_ns = 4;
        summary.families = vec![FamilySummary { run_ns: 4, run_by_capacity: vec![(1024, 4)], ..Default::default() }];
        assert_eq!(summary.broken_sums(), [""; 0]);
        summary.cpus[0].offline_ns = 2;
        summary.families[0].run_by_capacity[0].1 = 3;
        assert_eq!(
            summary.broken_sums(),
            ["CPU 3: busy and idle time, and online time: 9 and 7", ": run time by capacity, and run time: 3 and 4"]
        );
    }
}
