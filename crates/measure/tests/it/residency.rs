// SPDX-License-Identifier: GPL-2.0-or-later
//! Residency of tasks: kinds of CPU, operating points, capacities that do not fit, and energy.

use fairlab_board::preset;
use fairlab_machine::hardware::Hardware;
use fairlab_machine::sim::{Machine, Setup};
use fairlab_measure::residency::FamilyResidency;
use fairlab_measure::summary::{RunSubject, RunSummary};
use fairlab_measure::summary_observer::SummaryObserver;
use fairlab_sched::series::KernelSeries;
use fairlab_workload::scenario;

/// Runs tasks for a second on a built-in machine.
fn run(machine: &str, tasks: &str) -> RunSummary {
    let description = preset(machine).unwrap_or_else(|| panic!("there is no {machine}"));
    let scenario =
        scenario::parse("test.scn", &format!("cpus {}\nend 1s\n{tasks}", description.nr_cpus()), KernelSeries::V6_1);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let setup = Setup { hardware: Hardware::from_description(&description), ..Setup::from_scenario(scenario) };
    let mut machine = Machine::new(setup).expect("a possible machine");
    let mut recorder = SummaryObserver::new(&machine);
    machine.run(&mut recorder).unwrap_or_else(|error| panic!("{error}"));
    RunSummary::new(RunSubject::default(), &machine, &recorder)
}

fn of<'a>(summary: &'a RunSummary, family: &str) -> (u64, &'a FamilyResidency) {
    let family = summary.families.iter().find(|other| other.name == family).unwrap_or_else(|| panic!("no {family}"));
    (family.run_ns, family.residency.as_ref().expect("the board keeps account"))
}

/// Returns a part of a time in percent.
fn percent(part: u64, whole: u64) -> u64 {
    100 * part / whole
}

#[test]
fn a_hog_on_a_small_cpu_is_on_one_too_small_and_a_light_task_on_a_big_one_on_one_too_large() {
    let summary = run(
        "hikey960",
        "task hog cpu=0 mask=0-0 run 10s\ntask light cpu=4 run 100us every 10ms\ntask heavy cpu=5 mask=5-5 run 10s\n\
         task bound cpu=6 mask=6-6 run 100us every 10ms\naffinity 1us light 0-7\n",
    );
    let (run, hog) = of(&summary, "hog");
    assert!(percent(hog.too_small_ns.expect("told"), run) >= 80 && hog.too_large_ns == Some(0), "{hog:?}");
    let (_, heavy) = of(&summary, "heavy");
    assert_eq!(heavy.too_small_ns, Some(0), "nothing is larger");
    // The task may use no other CPU, so no smaller CPU would suffice.
    assert_eq!(of(&summary, "bound").1.too_large_ns, Some(0));
}

#[test]
fn a_light_task_among_big_cpus_counts_as_on_ones_too_large_if_it_may_use_small_ones() {
    let hogs: String = (0..4).map(|cpu| format!("task hog{cpu} cpu={cpu} mask={cpu}-{cpu} run 10s\n")).collect();
    let summary = run("hikey960", &format!("{hogs}task light n=2 cpu=4 run 500us sleep 3500us\n"));
    let (run, light) = of(&summary, "light");
    assert!(light.on(&[4, 5, 6, 7]) > run / 2, "hogs have the small ones: {light:?}");
    assert!(percent(light.too_large_ns.expect("told"), run) >= 50 && light.too_small_ns == Some(0), "{light:?}");
}

#[test]
fn times_at_operating_points_add_up_to_the_time_on_cpus_and_energies_to_that_of_busy_cpus() {
    for board in ["hikey960", "hikey", "sc7180"] {
        let summary = run(board, "task hog n=3 run 10s\ntask sleeper n=9 run 1ms sleep 3ms\n");
        let mut energy = 0;
        for family in &summary.families {
            let residency = family.residency.as_ref().expect("the board keeps account");
            let sum: u64 = residency.points.iter().map(|point| point.ns).sum();
            assert_eq!(sum, family.run_ns, "{board}: {}", family.name);
            energy += residency.energy_uj.expect("powers are known");
        }
        let whole = summary.energy.as_ref().expect("powers are known").busy_uj;
        // The differences are stoppers, which belong to no family, and rounding.
        assert!(energy <= whole + 200 && energy * 1000 >= whole * 995, "{board}: {energy} of {whole} uJ");
    }
}

#[test]
fn machines_whose_cpus_are_alike_keep_no_account() {
    let summary = run("laptop-8", "task hog n=3 run 10s\n");
    assert!(summary.families.iter().all(|family| family.residency.is_none()));
}
