// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What stands for a cpufreq driver and the devices behind it: the tree's own schedutil asks for a frequency, and it is there at once. Powers
 * make an energy model. A domain without schedutil stays at the frequency that it was given.
 */
#include "local.h"
#include <linux/cpu.h>
#include <linux/cpufreq.h>
#include <linux/energy_model.h>

struct point { unsigned int khz, uw; };

struct domain {
	struct cpufreq_policy policy;
	unsigned int nr_points, rate_limit_us;
	unsigned int user_khz, thermal_khz, fixed_khz;	/* limits; where it stays, if it does */
	bool counts_idling;
	struct point *points;
};

static struct domain *domains[NR_CPUS];		/* in the order in which they were told */
static int nr_domains;
static struct domain *domain_of[NR_CPUS];
static struct device *device_of[NR_CPUS];
static struct cpufreq_governor nobody = { .name = "userspace" };

#ifdef FL_CONSTANT_BUS
const struct bus_type cpu_subsys;
#else
struct bus_type cpu_subsys;
#endif
#ifdef FL_CPUFREQ_PRESSURE
DEFINE_PER_CPU(unsigned long, cpufreq_pressure);
#endif

static struct cpufreq_policy *policy_of(unsigned int cpu) { return domain_of[cpu] ? &domain_of[cpu]->policy : NULL; }

struct device *get_cpu_device(unsigned int cpu) { return device_of[cpu]; }
struct cpufreq_policy *cpufreq_cpu_get(unsigned int cpu) { return policy_of(cpu); }
struct cpufreq_policy *cpufreq_cpu_get_raw(unsigned int cpu) { return policy_of(cpu); }
void cpufreq_cpu_put(struct cpufreq_policy *policy) { }

/* ---- what schedutil asks of the rest of cpufreq ---- */

static struct domain *domain_behind(struct cpufreq_policy *policy) { return container_of(policy, struct domain, policy); }

unsigned int cpufreq_policy_transition_delay_us(struct cpufreq_policy *policy)
{
	return domain_behind(policy)->rate_limit_us;
}

void cpufreq_enable_fast_switch(struct cpufreq_policy *policy) { policy->fast_switch_enabled = true; }
void cpufreq_disable_fast_switch(struct cpufreq_policy *policy) { policy->fast_switch_enabled = false; }
#ifdef FL_READY_FOR_EAS
bool cpufreq_ready_for_eas(const struct cpumask *cpus)
{
	unsigned int cpu;

	for_each_cpu(cpu, cpus)
		if (!domain_of[cpu] || domain_of[cpu]->policy.governor == &nobody)
			return false;
	return true;
}
#endif
bool cpufreq_driver_test_flags(u16 flags) { return false; }
bool cpufreq_driver_has_adjust_perf(void) { return false; }
bool have_governor_per_policy(void) { return true; }
struct kobject *get_governor_parent_kobj(struct cpufreq_policy *policy) { return NULL; }

void gov_attr_set_init(struct gov_attr_set *set, struct list_head *user)
{
	INIT_LIST_HEAD(&set->policy_list);
	list_add(user, &set->policy_list);
	set->usage_count = 1;
}

/* Without a count of them a CPU has always idled since somebody looked. */
unsigned long tick_nohz_get_idle_calls_cpu(int cpu)
{
	static unsigned long looks;

	if (domain_of[cpu] && domain_of[cpu]->counts_idling)
		return fl_place[cpu].idle_calls;
	return ++looks;
}

/* The lowest one that is not less, or the highest. */
static const struct point *point_for(const struct domain *domain, unsigned long khz)
{
	const struct point *point = domain->points, *highest = point + domain->nr_points - 1;

	while (point < highest && point->khz < khz)
		point++;
	return point;
}

static unsigned long part_of_highest(const struct domain *domain, unsigned long khz)
{
	return khz * SCHED_CAPACITY_SCALE / domain->points[domain->nr_points - 1].khz;
}

unsigned int cpufreq_driver_resolve_freq(struct cpufreq_policy *policy, unsigned int khz)
{
	return point_for(domain_behind(policy), clamp(khz, policy->min, policy->max))->khz;
}

unsigned int cpufreq_driver_fast_switch(struct cpufreq_policy *policy, unsigned int khz)
{
	struct domain *domain = domain_behind(policy);
	unsigned long part;
	int cpu;

	khz = cpufreq_driver_resolve_freq(policy, khz);
	if (khz == policy->cur)
		return khz;
	policy->cur = khz;
	part = part_of_highest(domain, khz);
	for_each_cpu(cpu, policy->related_cpus) {
		fl_place[cpu].frequency = part;
		fl_tell(FL_FREQUENCY, cpu, 0, part, 0);
	}
	return khz;
}

/* ---- the energy model ---- */

void *devm_kmalloc(struct device *dev, size_t size, gfp_t flags) { return fl_host_zalloc(size); }

#ifdef FL_POWER_IN_MICROWATTS
#define REGISTER(dev, nr, powers, cpus) em_dev_register_perf_domain(dev, nr, powers, cpus, true)
#define IN_UNITS(uw) (uw)
#else
#define REGISTER(dev, nr, powers, cpus) em_dev_register_perf_domain(dev, nr, powers, cpus)
/* Trees before 5.11 have room for small numbers, and ask only that all are of one unit. */
static unsigned int highest_uw;
#define UNIT_UW DIV_ROUND_UP(highest_uw, EM_MAX_POWER)
#define IN_UNITS(uw) max(1u, (uw) / UNIT_UW)
#endif

#ifdef FL_POWER_BEFORE_DEVICE
static int power_at(unsigned long *power, unsigned long *khz, struct device *dev)
#else
static int power_at(struct device *dev, unsigned long *power, unsigned long *khz)
#endif
{
	const struct domain *domain = domain_of[dev->id];
	const struct point *point = point_for(domain, *khz);

	if (point->khz < *khz)
		return -EINVAL;
	*khz = point->khz;
	*power = IN_UNITS(point->uw);
	return 0;
}

static void give_energy_model(struct domain *domain)
{
	static struct em_data_callback powers = EM_DATA_CB(power_at);
	struct device *first = device_of[domain->policy.cpu];
	int cpu;

	if (REGISTER(first, domain->nr_points, &powers, domain->policy.cpus))
		fl_host_stop(FL_STOP_SHIM, "the tree refuses the energy model");
	for_each_cpu(cpu, domain->policy.cpus)
		device_of[cpu]->em_pd = first->em_pd;
}

/* ---- the laboratory's ---- */

void fl_frequency_domain(const struct fl_frequency_domain *told)
{
	struct domain *domain = fl_host_zalloc(sizeof(*domain));
	struct cpufreq_policy *policy = &domain->policy;
	unsigned int i;

	domain->nr_points = told->nr_points;
	domain->rate_limit_us = told->rate_limit_us;
	domain->counts_idling = told->holds_when_busy;
	domain->points = fl_host_zalloc(told->nr_points * sizeof(*domain->points));
	for (i = 0; i < told->nr_points; i++)
		domain->points[i] = (struct point) { told->khz[i], told->uw ? told->uw[i] : 0 };
	for (i = 0; i < told->nr_cpus; i++) {
		cpumask_set_cpu(told->cpus[i], policy->cpus);
		cpumask_set_cpu(told->cpus[i], policy->related_cpus);
		domain_of[told->cpus[i]] = domain;
	}
	domain->fixed_khz = told->fixed_khz;
	domain->user_khz = domain->thermal_khz = told->khz[told->nr_points - 1];
	policy->cpu = told->cpus[0];
	policy->dvfs_possible_from_any_cpu = true;
	policy->min = policy->cpuinfo.min_freq = told->khz[0];
	policy->max = policy->cpuinfo.max_freq = told->khz[told->nr_points - 1];
	policy->cur = told->fixed_khz ? told->fixed_khz : policy->max;
	policy->governor = told->fixed_khz ? &nobody : cpufreq_default_governor();
	domains[nr_domains++] = domain;
}

/* Before sched domains are built: who has a frequency, and what it costs. */
void fl_make_frequency_domains(void)
{
	int cpu, i;

	for (cpu = 0; cpu < fl_nr_cpus; cpu++) {
		device_of[cpu] = fl_host_zalloc(sizeof(struct device));
		device_of[cpu]->bus = &cpu_subsys;
		device_of[cpu]->id = cpu;
	}
#ifndef FL_POWER_IN_MICROWATTS
	for (i = 0; i < nr_domains; i++)
		highest_uw = max(highest_uw, domains[i]->points[domains[i]->nr_points - 1].uw);
#endif
	for (i = 0; i < nr_domains; i++) {
		struct cpufreq_policy *policy = &domains[i]->policy;

		for_each_cpu(cpu, policy->cpus)
			fl_place[cpu].frequency = part_of_highest(domains[i], policy->cur);
		if (domains[i]->points[0].uw)
			give_energy_model(domains[i]);
	}
}

/* Once tasks can run. Sched domains are built again, since only now they can count with energy. */
void fl_start_governors(void)
{
	int i;

	for (i = 0; i < nr_domains; i++) {
		struct cpufreq_policy *policy = &domains[i]->policy;

		if (policy->governor != &nobody && (policy->governor->init(policy) || policy->governor->start(policy)))
			fl_host_stop(FL_STOP_SHIM, "schedutil does not start");
	}
	if (nr_domains)
		partition_sched_domains(1, NULL, NULL);
}

/* A CPU has gone or come: the governor of its domain stops, and starts again with those that work now. */
void fl_restart_governor(int cpu)
{
	struct domain *domain = domain_of[cpu];
	struct cpufreq_policy *policy;

	if (!domain || domain->policy.governor == &nobody)
		return;
	policy = &domain->policy;
	if (!cpumask_empty(policy->cpus))
		policy->governor->stop(policy);
	cpumask_and(policy->cpus, policy->related_cpus, cpu_online_mask);
	if (cpumask_empty(policy->cpus))
		return;
	if (policy->governor->start(policy))
		fl_host_stop(FL_STOP_SHIM, "schedutil does not start");
	policy->governor->limits(policy);
}

/* ---- limits: what the user allows, and what heat leaves, each part of the highest, of 1024 ---- */

static void press(int cpu, unsigned long part)
{
	unsigned long capacity = fl_place[cpu].capacity;

	fl_place[cpu].pressure = capacity - capacity * part / SCHED_CAPACITY_SCALE;
}

/* The highest one that is not more, or the lowest. */
static unsigned int allowed_khz(const struct domain *domain, unsigned long part)
{
	const struct point *point = domain->points + domain->nr_points - 1;
	unsigned long khz = (unsigned long)point->khz * part / SCHED_CAPACITY_SCALE;

	while (point > domain->points && point->khz > khz)
		point--;
	return point->khz;
}

void fl_limit(int cpu, int other, int is_thermal, unsigned long part)
{
	struct domain *domain = domain_of[other];
	struct cpufreq_policy *policy;

	fl_execute_on(cpu);
	if (!domain) {
		if (is_thermal)
			press(other, part);
		return;
	}
	policy = &domain->policy;
	*(is_thermal ? &domain->thermal_khz : &domain->user_khz) = allowed_khz(domain, part);
	policy->max = min(domain->user_khz, domain->thermal_khz);
	if (is_thermal)
		for_each_cpu(other, policy->related_cpus)
			press(other, part_of_highest(domain, domain->thermal_khz));
	if (policy->governor == &nobody)
		cpufreq_driver_fast_switch(policy, domain->fixed_khz);
	else
		policy->governor->limits(policy);
}
