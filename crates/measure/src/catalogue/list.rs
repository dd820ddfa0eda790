// SPDX-License-Identifier: GPL-2.0-or-later
//! All metrics, by their paths, and the numbers in results that are no metrics.

use super::MetricDirection::{Less, More, Neither};
use super::{Combination, MetricDirection, MetricInfo};

const SWITCHES: &str = "`sched_switch`";
const SWITCHES_AND_WAKEUPS: &str = "`sched_wakeup`, `sched_wakeup_new`, `sched_switch`";
const THROTTLING: &str = "throttling of groups, of real-time and of deadline tasks";
const LOOPS: &str = "beginnings of rt-app's loops";
const HOTPLUG: &str = "CPUs that go offline and come back";
const PLACEMENTS: &str = "decisions of `select_task_rq()`";
const PASSES: &str = "decisions of `load_balance()`";
const KICKS: &str = "decisions of `nohz_balancer_kick()` and `kick_ilb()`";
const SEARCHES: &str = "counters of `select_idle_sibling()`";
const BLOCKED: &str = "calls of `update_blocked_averages()`";
const COUNTERS: &str = "the machine's counters";
const IDLE: &str = "entries into and exits from idle states";
const FREQUENCIES: &str = "`sched_switch`, `cpu_frequency`";
const PHASES: &str = "phases of kernel paths";
const BANDWIDTH: &str = "`cpu.stat` of the cgroup";
const RESPONSES: &str = "what tasks do with the objects by which they hand work on";
const RESPONSE_PATHS: &str = "critical paths of responses";
const TIMERS: &str = "arrivals at timers and their expiry";
const SOFTIRQS: &str = "arrivals of packets, wake-ups of ksoftirqd";
const MARKS: &str = "marks of the benchmark's model";
const EXITS: &str = "`sched_process_exit`";

const DOMAIN_SCANS: &str = "runqueues scanned in domain searches";
const MEASURED: &str = "measured time";
const RUNNABLE: &str = "runnable time of each task";

const NO_POWER: &str = "absent without power values in the machine's file";
const NO_RESPONSES: &str = "absent if the workload defines no responses";
const NO_ENDED_RESPONSE: &str = "absent if no response has ended";
const NO_LATE_RESPONSE: &str = "absent if no late response has ended";
const NO_DEADLINE: &str = "absent without a deadline";
const NO_RESPONSE_OF_RANK: &str = "null if the response of this rank was lost or dropped";
const NO_TIMERS: &str = "null without periodic timers";
const NO_COSTS: &str = "absent on a machine without costs";
const NO_FAIRNESS: &str = "absent with fewer than two tasks that were runnable";
const NO_IDLE_POWER: &str = "null if time was spent in an idle state of unknown power";
const NOT_SETTLED: &str = "absent without `--warmup settled`";
const BUILT_IN: &str = "absent with a compiled-kernel engine";

/// Properties of a count or a time that adds up over a run.
const fn sum(unit: &'static str, better: MetricDirection, from: &'static str) -> MetricInfo {
    let combination = Combination::Sum;
    MetricInfo { path: "", unit, better, combination, per: "", from, undefined: "", is_latency: false }
}

/// Properties of a rate, a ratio, a duration or a quantile.
const fn level(unit: &'static str, better: MetricDirection, from: &'static str) -> MetricInfo {
    MetricInfo { combination: Combination::No, ..sum(unit, better, from) }
}

const fn max(unit: &'static str, better: MetricDirection, from: &'static str) -> MetricInfo {
    MetricInfo { combination: Combination::Max, ..sum(unit, better, from) }
}

const fn latency(better: MetricDirection, from: &'static str) -> MetricInfo {
    MetricInfo { is_latency: true, undefined: "null without any latency", ..level("ns", better, from) }
}

impl MetricInfo {
    const fn at(self, path: &'static str) -> Self {
        Self { path, ..self }
    }

    const fn per(self, per: &'static str) -> Self {
        Self { per, ..self }
    }

    const fn null(self, undefined: &'static str) -> Self {
        Self { undefined, ..self }
    }
}

/// Defines the metrics: rows of properties, each with the paths that have them.
macro_rules! metrics {
    ($($properties:expr => $($path:literal)+;)+) => {
        /// All metrics.
        pub const METRICS: &[MetricInfo] = &[$($($properties.at($path)),+),+];
    };
}

metrics! {
    sum("ns", Neither, "simulated time") => "duration_ns";
    level("ns", Neither, "`sched_switch`, `sched_wakeup`, `sched_migrate_task`").null(NOT_SETTLED) =>
        "settling.after_ns";
    sum("", Neither, "`sched_process_fork`") => "totals.tasks";
    sum("ns", Neither, SWITCHES) => "totals.busy_ns" "totals.idle_ns";
    sum("ns", Neither, HOTPLUG) => "totals.offline_ns";
    sum("ns", Less, SWITCHES_AND_WAKEUPS) => "totals.wait_ns";
    sum("ns", Less, THROTTLING) => "totals.throttled_ns";
    level("ppm", More, SWITCHES_AND_WAKEUPS).per(RUNNABLE).null(NO_FAIRNESS) => "totals.fairness_ppm";
    sum("ns", Less, COUNTERS) => "totals.kernel_ns";
    sum("", Neither, COUNTERS) => "totals.events" "totals.switches" "totals.ticks" "totals.ipis";
    sum("", Neither, "`sched_wakeup`") => "totals.wakeups";
    sum("", Neither, "`sched_migrate_task`") => "totals.migrations";
    sum("", Neither, SOFTIRQS) => "totals.softirqs.packets" "totals.softirqs.ksoftirqd_wakeups";
    sum("", Less, SOFTIRQS) => "totals.softirqs.packets_dropped";
    max("", Less, SOFTIRQS) => "totals.softirqs.longest_backlog";
    sum("", Neither, RESPONSES).null(NO_RESPONSES) => "responses[].count" "responses[].open";
    sum("", Less, RESPONSES).null(NO_RESPONSES) =>
        "responses[].lost" "responses[].dropped" "responses[].dropped_at[].count";
    sum("", Less, RESPONSES).null(NO_DEADLINE) => "responses[].late";
    sum("ns", Less, RESPONSE_PATHS).null(NO_ENDED_RESPONSE) =>
        "responses[].parts.running_ns" "responses[].parts.slow_ns" "responses[].parts.cpu_ns"
        "responses[].parts.idle_exit_ns" "responses[].parts.quota_ns" "responses[].parts.mutex_ns"
        "responses[].parts.object_ns" "responses[].parts.queue_ns" "responses[].parts.sleep_ns"
        "responses[].parts.interrupt_ns" "responses[].parts.kernel_ns" "responses[].parts.other_ns";
    sum("ns", Less, RESPONSE_PATHS).null(NO_LATE_RESPONSE) =>
        "responses[].late_parts.running_ns" "responses[].late_parts.slow_ns" "responses[].late_parts.cpu_ns"
        "responses[].late_parts.idle_exit_ns" "responses[].late_parts.quota_ns" "responses[].late_parts.mutex_ns"
        "responses[].late_parts.object_ns" "responses[].late_parts.queue_ns" "responses[].late_parts.sleep_ns"
        "responses[].late_parts.interrupt_ns" "responses[].late_parts.kernel_ns" "responses[].late_parts.other_ns";
    max("ns", Less, RESPONSE_PATHS).null(NO_ENDED_RESPONSE) => "responses[].longest.ns";
    sum("ns", Less, RESPONSE_PATHS).null("absent if no response waited for a CPU") => "responses[].behind[].ns";
    level("ns", Less, RESPONSES).null(NO_RESPONSE_OF_RANK) =>
        "responses[].time.min_ns" "responses[].time.p50_ns" "responses[].time.p90_ns" "responses[].time.p99_ns";
    level("ns", Less, RESPONSES).null("null with lost or dropped responses") => "responses[].time.mean_ns";
    max("ns", Less, RESPONSES).null(NO_RESPONSE_OF_RANK) => "responses[].time.max_ns";
    sum("", Neither, "`sched_process_fork`") => "families[].tasks";
    sum("ns", Neither, SWITCHES) => "families[].run_ns" "families[].run_by_capacity[][]";
    sum("ns", Less, SWITCHES_AND_WAKEUPS) => "families[].wait_ns";
    sum("", More, LOOPS).null("absent for tasks without loops") => "families[].work.loops";
    sum("", More, SWITCHES) => "families[].work.activations";
    sum("ns", More, FREQUENCIES) => "families[].work.full_speed_ns" "totals.full_speed_ns";
    sum("ns", Less, THROTTLING) => "families[].throttled_ns" "families[].runtime_waits[].ns";
    max("ns", Less, SWITCHES_AND_WAKEUPS).null("absent if no task waited") => "families[].longest_wait.ns";
    max("ns", Less, THROTTLING) => "families[].runtime_waits[].longest.ns";
    level("ppm", More, SWITCHES_AND_WAKEUPS).per(RUNNABLE).null(NO_FAIRNESS) => "families[].fairness_ppm";
    sum("", Neither, "`sched_wakeup`") => "families[].wakeups";
    latency(Less, "timer expiries, device interrupts, `sched_waking`, `sched_switch`") => "families[].wake_to_run";
    latency(Less, SWITCHES_AND_WAKEUPS) => "families[].wakeup_latency";
    sum("", Neither, SWITCHES) => "families[].voluntary_switches" "families[].involuntary_switches";
    sum("", Neither, "`sched_migrate_task`") => "families[].migrations";
    sum("", Neither, TIMERS).null(NO_TIMERS) => "families[].timers.arrivals" "families[].timers.slack.count";
    sum("", Less, TIMERS).null(NO_TIMERS) => "families[].timers.missed";
    level("ns", More, TIMERS).null(NO_TIMERS) =>
        "families[].timers.slack.min_ns" "families[].timers.slack.mean_ns" "families[].timers.slack.p1_ns"
        "families[].timers.slack.p10_ns" "families[].timers.slack.p50_ns" "families[].timers.slack.max_ns";
    latency(Less, TIMERS) => "families[].timers.wakeup_latency";
    sum("ns", Neither, FREQUENCIES) => "families[].residency.points[].ns";
    sum("uJ", Less, FREQUENCIES).null(NO_POWER) => "families[].residency.points[].uj" "families[].residency.energy_uj";
    sum("ns", Less, FREQUENCIES).null(BUILT_IN) =>
        "families[].residency.too_small_ns" "families[].residency.too_large_ns";
    sum("ns", Neither, SWITCHES) => "cpus[].busy_ns" "cpus[].stopper_ns" "cpus[].idle_ns";
    sum("ns", Neither, HOTPLUG) => "cpus[].offline_ns";
    sum("ns", Neither, "time lost to interrupts (`irq`)") => "cpus[].interrupt_ns";
    sum("ns", Neither, "time that a hypervisor took (`steal`)") => "cpus[].stolen_ns";
    sum("", Neither, COUNTERS) => "cpus[].switches" "cpus[].ticks" "cpus[].reschedule_ipis" "cpus[].call_function_ipis";
    sum("ns", Less, COUNTERS) => "cpus[].kernel_ns";
    sum("ns", Neither, COUNTERS) => "cpus[].kernel_in_idle_ns";
    sum("", Neither, SOFTIRQS) => "cpus[].softirqs.packets" "cpus[].softirqs.ksoftirqd_wakeups";
    sum("", Less, SOFTIRQS) => "cpus[].softirqs.packets_dropped";
    max("", Less, SOFTIRQS) => "cpus[].softirqs.longest_backlog";
    sum("ns", Neither, FREQUENCIES) => "cpus[].frequencies[].ns" "cpus[].frequencies[].idle_ns";
    sum("", Neither, IDLE) => "cpus[].idle_states[].entries";
    sum("ns", Neither, IDLE) => "cpus[].idle_states[].ns";
    sum("ns", Neither, SWITCHES) =>
        "cgroups[].usage_ns" "cgroups[].entitlement.got_ns" "cgroups[].entitlement.due_ns"
        "cgroups[].bandwidth.used_ns" "cgroups[].bandwidth.available_ns";
    sum("", Neither, BANDWIDTH) => "cgroups[].bandwidth.nr_periods" "cgroups[].bandwidth.nr_bursts";
    sum("", Less, BANDWIDTH) => "cgroups[].bandwidth.nr_throttled";
    sum("ns", Less, BANDWIDTH) => "cgroups[].bandwidth.throttled_ns";
    sum("ns", Neither, BANDWIDTH) => "cgroups[].bandwidth.burst_ns";
    sum("", Neither, PLACEMENTS).null(BUILT_IN) =>
        "selection.wakeups" "selection.forks" "selection.execs" "selection.stayed" "selection.scans"
        "selection.cpus_scanned" "selection.by_rule[][]";
    sum("", Neither, PASSES).null(BUILT_IN) =>
        "balance.passes" "balance.moved" "balance.tasks_moved" "balance.active" "balance.failed";
    sum("", Neither, KICKS).null(BUILT_IN) => "balance.kicks";
    sum("", Neither, "the scheduler's operation counts") => "work{}";
    sum("uJ", Less, FREQUENCIES).null(NO_POWER) =>
        "energy.busy_uj" "energy.domains[].busy_uj" "energy.domains[].opps[].busy_uj";
    sum("uJ", Less, IDLE).null(NO_IDLE_POWER) => "energy.idle_uj" "energy.domains[].idle_uj";
    sum("ns", Neither, FREQUENCIES).null(NO_POWER) =>
        "energy.domains[].opps[].busy_ns" "energy.domains[].opps[].idle_ns";
    sum("ns", Neither, IDLE).null(NO_POWER) => "energy.domains[].idle_states[].ns";
    sum("uJ", Less, IDLE).null("null if the state's power is unknown") => "energy.domains[].idle_states[].uj";
    sum("", Neither, SEARCHES).null(BUILT_IN) =>
        "measure.search.total.sis_search" "measure.search.total.sis_domain_search" "measure.search.total.sis_scanned"
        "measure.search.total.sis_failed" "measure.search.per_cpu[].sis_search"
        "measure.search.per_cpu[].sis_domain_search" "measure.search.per_cpu[].sis_scanned"
        "measure.search.per_cpu[].sis_failed";
    level("%", More, SEARCHES).per("scanned runqueues").null(BUILT_IN) =>
        "measure.search.ratios.se_eff%" "measure.search.cpu_mean.se_eff%";
    level("%", More, SEARCHES).per(DOMAIN_SCANS).null(BUILT_IN) =>
        "measure.search.ratios.dom_eff%" "measure.search.cpu_mean.dom_eff%";
    level("%", More, SEARCHES).per("searches").null(BUILT_IN) =>
        "measure.search.ratios.fast_rate%" "measure.search.ratios.success_rate%" "measure.search.cpu_mean.fast_rate%"
        "measure.search.cpu_mean.success_rate%";
    sum("", Neither, KICKS).null(BUILT_IN) =>
        "measure.kicks[].calls" "measure.kicks[].interrupts" "measure.kicks[].nobody_idle"
        "measure.kicks[].by_reason{}";
    sum("", Neither, KICKS).null(BUILT_IN) => "measure.no_kicks[].by_reason{}";
    sum("", Neither, BLOCKED).null(BUILT_IN) =>
        "measure.blocked.calls" "measure.blocked.cfs_rqs" "measure.blocked.by_caller[].calls"
        "measure.blocked.by_caller[].cfs_rqs";
    level("/s", Neither, BLOCKED).per(MEASURED).null(BUILT_IN) =>
        "measure.blocked.calls_per_s" "measure.blocked.by_caller[].calls_per_s";
    sum("", Neither, PASSES).null(BUILT_IN) =>
        "measure.passes[].passes" "measure.passes[].not_ours" "measure.passes[].balanced" "measure.passes[].moved"
        "measure.passes[].active" "measure.passes[].failed" "measure.passes[].cpus" "measure.passes[].locked"
        "measure.passes[].locks" "measure.passes[].emptied" "measure.passes[].raced" "measure.passes[].redos"
        "measure.passes[].tasks_looked_at" "measure.passes[].tasks_moved";
    level("ns", Neither, PASSES).null("null for passes other than newly-idle balancing") =>
        "measure.passes[].max_newidle_lb_cost_ns";
    sum("", Less, "warnings of the scheduler") =>
        "measure.complaints[].double_clock" "measure.complaints[].resched_latency";
    max("ns", Less, "warnings of the scheduler") => "measure.complaints[].worst_latency_ns";
    latency(Less, PHASES).null(NO_COSTS) => "measure.times[].call" "measure.times[].lock_wait";
    sum("ns", Less, PHASES).null(NO_COSTS) => "measure.times[].total_ns" "measure.times[].waited_ns";
    sum("", Neither, PHASES).null(NO_COSTS) => "measure.times[].usecs[][]";
    sum("", Less, "the rule of the finding") => "findings[].count";
    sum("ns", Less, "the rule of the finding") => "findings[].total_ns";
    max("ns", Less, "the rule of the finding") => "findings[].worst_ns";
    level("s", Less, EXITS) => "bench.time_s";
    level("us", Less, EXITS).per("round trips").null("absent if the run was cut off") => "bench.usecs_per_op";
    level("ns", Less, EXITS).per("operations").null("absent if the run was cut off") => "bench.ns_per_op";
    level("/s", More, EXITS).per("`time_s`").null("absent if the run was cut off") => "bench.ops_per_s";
    sum("s", Neither, "simulated time") => "bench.elapsed_s" "bench.total_time_s" "bench.runtime_s" "bench.real_time_s";
    level("/s", More, MARKS).per(MEASURED) =>
        "bench.per_instance[]" "bench.sum" "bench.per_s" "bench.average_rps" "bench.bogo_ops_per_s";
    level("", Neither, "marks of the benchmark's model, `sched_switch`").per("transactions") =>
        "bench.on_one_cpu" "bench.moves_per_transaction" "bench.on_one_cpu_quarters[]";
    level("ns", Neither, "marks of the benchmark's model, `sched_switch`").null("absent if the pairs are not stacked at the end") =>
        "bench.stacked_after_ns";
    latency(Less, MARKS) => "bench.latency";
    sum("", More, MARKS) => "bench.transactions" "bench.bogo_ops" "bench.operations[][]";
    level("ms", Less, MARKS) => "bench.latency_ms[]";
    sum("", Neither, MARKS) =>
        "bench.samples" "bench.percentiles[].samples" "bench.wakeup_latency_us.samples"
        "bench.wakeup_latency_us.percentiles[].samples" "bench.request_latency_us.samples"
        "bench.request_latency_us.percentiles[].samples" "bench.rps.samples" "bench.rps.percentiles[].samples";
    level("us", Less, MARKS) =>
        "bench.percentiles[].value" "bench.min_us" "bench.wakeup_latency_us.percentiles[].value"
        "bench.wakeup_latency_us.min" "bench.request_latency_us.percentiles[].value" "bench.request_latency_us.min";
    max("us", Less, MARKS) => "bench.max_us" "bench.wakeup_latency_us.max" "bench.request_latency_us.max";
    level("/s", More, MARKS) => "bench.rps.percentiles[].value" "bench.rps.min";
    max("/s", More, MARKS) => "bench.rps.max";
    sum("", Neither, SWITCHES) => "bench.switches" "bench.involuntary";
    level("MB/s", More, MARKS).per(MEASURED) => "bench.throughput_mb_s";
    max("ms", Less, MARKS) => "bench.max_latency_ms";
    latency(Less, "timer expiries, marks of the benchmark's model") => "bench.threads[].latency";
    level("ns", Less, "timer expiries, marks of the benchmark's model") => "bench.threads[].last_ns";
}

/// Numbers in results that are not measured, by the reason. A path that ends in `{}` has all keys.
pub const NO_METRICS: &[(&str, &[&str])] = &[
    ("setting: requested length", &["cut_short_of_ns"]),
    (
        "number of a CPU",
        &[
            "cpus[].cpu",
            "cpus[].llc",
            "energy.unknown_cpus[]",
            "energy.domains[].cpus[]",
            "engine.log[].cpu",
            "families[].residency.points[].cpus[]",
            "measure.kicks[].cpu",
            "measure.no_kicks[].cpu",
            "measure.complaints[].cpu",
        ],
    ),
    (
        "property of the machine",
        &[
            "responses[].behind[].cpus[]",
            "cpus[].capacity",
            "cpus[].frequencies[].khz",
            "cpus[].frequencies[].part",
            "energy.domains[].opps[].khz",
            "energy.domains[].opps[].power_uw",
            "energy.domains[].idle_states[].power_uw",
            "families[].residency.points[].capacity",
            "families[].residency.points[].khz",
            "families[].residency.points[].part",
        ],
    ),
    (
        "setting of the workload",
        &["cgroups[].bandwidth.quota_ns", "cgroups[].bandwidth.period_ns", "responses[].deadline_ns"],
    ),
    ("time of a kernel message", &["engine.log[].at_ns"]),
    (
        "setting `costs` of compiled kernels that are compared",
        &["engine.uncommon[].calls", "engine.uncommon[].cost_ps"],
    ),
    (
        "time of the worst or the last occurrence",
        &["findings[].at_ns", "responses[].longest.start_ns", "findings[].last_ns", "findings[].only_in_first_ns"],
    ),
    ("value in the sentence of a finding", &["findings[].evidence{}"]),
    ("CPU of the question about a finding", &["findings[].question.balance", "findings[].question.cpu"]),
    ("number of a domain level", &["measure.passes[].level"]),
    ("number of a response", &["responses[].longest.number"]),
    ("time since which a task is stuck", &["standstill.stuck[].since_ns"]),
    ("time of a lost wake-up", &["standstill.lost_wakeups[].at_ns"]),
    ("speed of the simulation", &["speed.wall_s", "speed.events_per_s", "speed.simulated_per_s"]),
    ("memory of the simulation", &["speed.peak_rss_bytes"]),
    (
        "setting of the benchmark",
        &[
            "bench.percentiles[].percent",
            "bench.wakeup_latency_us.percentiles[].percent",
            "bench.request_latency_us.percentiles[].percent",
            "bench.rps.percentiles[].percent",
            "bench.rps_goal",
            "bench.clients",
            "bench.threads[].priority",
            "bench.threads[].interval_us",
        ],
    ),
    ("number of a thread", &["bench.threads[].thread"]),
];
