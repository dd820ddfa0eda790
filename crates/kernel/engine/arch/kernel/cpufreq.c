// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Replaces a cpufreq driver and the devices behind it. The tree's own schedutil requests a frequency, which
 * takes effect at once; if the driver sleeps, schedutil wakes its thread, which is a task of fairlab. Power
 * values make an energy model. A domain without schedutil stays at its given frequency.
 */
#include "local.h"
#include <linux/cpu.h>
#include <linux/cpufreq.h>
#include <linux/energy_model.h>
#include <linux/kthread.h>

struct point { unsigned int khz, uw; };

struct domain {
	struct cpufreq_policy policy;
	unsigned int nr_points, rate_limit_us;
	unsigned int user_khz, thermal_khz, fixed_khz;	/* limits; constant frequency, if any */
	bool counts_idling, sleeps;
	struct point *points;
	struct kthread_worker *worker;			/* of the governor, if its driver sleeps */
	struct kthread_work *asked;			/* work that its thread is to do */
	unsigned int wanted_khz;			/* frequency that the work requests; 0: no change */
};

static struct domain *domains[NR_CPUS];		/* in the order of fl_frequency_domain() */
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

/* ---- functions of cpufreq that schedutil calls ---- */

static struct domain *domain_behind(struct cpufreq_policy *policy) { return container_of(policy, struct domain, policy); }

unsigned int cpufreq_policy_transition_delay_us(struct cpufreq_policy *policy)
{
	return domain_behind(policy)->rate_limit_us;
}

void cpufreq_enable_fast_switch(struct cpufreq_policy *policy) { policy->fast_switch_enabled = !domain_behind(policy)->sleeps; }
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

/* Without a count, a CPU has always idled since the last call. */
unsigned long tick_nohz_get_idle_calls_cpu(int cpu)
{
	static unsigned long nr_reads;

	if (domain_of[cpu] && domain_of[cpu]->counts_idling)
		return fl_place[cpu].idle_calls;
	return ++nr_reads;
}

#ifdef FL_EFFICIENT_FREQUENCIES
static bool is_skipped(const struct domain *domain, const struct point *point)
{
	const struct cpufreq_frequency_table *table = domain->policy.freq_table;

	return table && (table[point - domain->points].flags & CPUFREQ_INEFFICIENT_FREQ);
}
#else
static bool is_skipped(const struct domain *domain, const struct point *point) { return false; }
#endif

/*
 * The lowest frequency that is not less, or the highest; `skips`: without those that cost no less than a
 * higher one.
 */
static const struct point *point_for(const struct domain *domain, unsigned long khz, bool skips)
{
	const struct point *point = domain->points, *highest = point + domain->nr_points - 1;

	while (point < highest && (point->khz < khz || (skips && is_skipped(domain, point))))
		point++;
	return point;
}

static unsigned long part_of_highest(const struct domain *domain, unsigned long khz)
{
	return khz * SCHED_CAPACITY_SCALE / domain->points[domain->nr_points - 1].khz;
}

unsigned int cpufreq_driver_resolve_freq(struct cpufreq_policy *policy, unsigned int khz)
{
	const struct domain *domain = domain_behind(policy);
	unsigned int found;

	khz = clamp(khz, policy->min, policy->max);
	found = point_for(domain, khz, true)->khz;
	return found <= policy->max ? found : point_for(domain, khz, false)->khz;
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

/* ---- a governor whose driver sleeps: it queues a work for its thread, which calls the driver ---- */

static struct domain *starts;		/* whose governor starts */
static struct domain *works;		/* whose thread is at work */

struct task_struct *kthread_create_on_node(int (*act)(void *), void *data, int node, const char *name, ...)
{
	starts->worker = data;
	return fl_unlisted_task();
}

void kthread_bind_mask(struct task_struct *p, const struct cpumask *mask) { }
int kthread_stop(struct task_struct *p) { return 0; }
void kthread_flush_worker(struct kthread_worker *worker) { }
void __kthread_init_worker(struct kthread_worker *worker, const char *name, struct lock_class_key *key) { }

static struct domain *domain_with(struct kthread_worker *worker)
{
	int i;

	for (i = 0; i < nr_domains; i++)
		if (domains[i]->worker == worker)
			return domains[i];
	fl_host_stop(FL_STOP_SHIM, "a work names a thread that does not exist");
}

bool kthread_queue_work(struct kthread_worker *worker, struct kthread_work *work)
{
	struct domain *domain = domain_with(worker);
	int i;

	domain->asked = work;
	for (i = 0; domains[i] != domain; i++)
		;
	fl_tell(FL_GOVERNOR, fl_state.cpu, i, 0, 0);
	return true;
}

bool kthread_cancel_work_sync(struct kthread_work *work)
{
	int i;

	for (i = 0; i < nr_domains; i++)
		if (domains[i]->asked == work)
			domains[i]->asked = NULL;
	return false;
}

/*
 * A kernel runs it in an interrupt of the same CPU; the machine delivers that interrupt to the thread (see
 * the linker's --wrap).
 */
bool __wrap_irq_work_queue(struct irq_work *work)
{
	work->func(work);
	return true;
}

int __cpufreq_driver_target(struct cpufreq_policy *policy, unsigned int khz, unsigned int relation)
{
	struct domain *domain = domain_behind(policy);

	if (domain != works)
		return cpufreq_driver_fast_switch(policy, khz);
	khz = cpufreq_driver_resolve_freq(policy, khz);
	domain->wanted_khz = khz == policy->cur ? 0 : khz;
	return 0;
}

/* The thread takes its work. Returns the frequency that its driver has to switch to, or 0. */
unsigned int fl_begin_transition(unsigned int domain)
{
	struct kthread_work *work;

	works = domains[domain];
	works->wanted_khz = 0;
	work = works->asked;
	works->asked = NULL;
	if (work)
		work->func(work);
	works = NULL;
	return domains[domain]->wanted_khz;
}

void fl_end_transition(unsigned int domain, unsigned int khz)
{
	cpufreq_driver_fast_switch(&domains[domain]->policy, khz);
}

/* ---- the energy model ---- */

void *devm_kmalloc(struct device *dev, size_t size, gfp_t flags) { return fl_host_zalloc(size); }

#ifdef FL_POWER_IN_MICROWATTS
#define REGISTER(dev, nr, powers, cpus) em_dev_register_perf_domain(dev, nr, powers, cpus, true)
#define IN_UNITS(uw) (uw)
#else
#define REGISTER(dev, nr, powers, cpus) em_dev_register_perf_domain(dev, nr, powers, cpus)
/* Trees before 5.11 have room for small numbers, and only require that all have one unit. */
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
	const struct point *point = point_for(domain, *khz, false);

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

/* ---- functions that fairlab calls ---- */

void fl_frequency_domain(const struct fl_frequency_domain *spec)
{
	struct domain *domain = fl_host_zalloc(sizeof(*domain));
	struct cpufreq_policy *policy = &domain->policy;
	unsigned int i;

	domain->nr_points = spec->nr_points;
	domain->rate_limit_us = spec->rate_limit_us;
	domain->counts_idling = spec->holds_when_busy;
	domain->sleeps = spec->sleeps;
	domain->points = fl_host_zalloc(spec->nr_points * sizeof(*domain->points));
	for (i = 0; i < spec->nr_points; i++)
		domain->points[i] = (struct point) { spec->khz[i], spec->uw ? spec->uw[i] : 0 };
	for (i = 0; i < spec->nr_cpus; i++) {
		cpumask_set_cpu(spec->cpus[i], policy->cpus);
		cpumask_set_cpu(spec->cpus[i], policy->related_cpus);
		domain_of[spec->cpus[i]] = domain;
	}
	domain->fixed_khz = spec->fixed_khz;
	domain->user_khz = domain->thermal_khz = spec->khz[spec->nr_points - 1];
	policy->cpu = spec->cpus[0];
	policy->dvfs_possible_from_any_cpu = true;
	policy->min = policy->cpuinfo.min_freq = spec->khz[0];
	policy->max = policy->cpuinfo.max_freq = spec->khz[spec->nr_points - 1];
	policy->cur = spec->fixed_khz ? spec->fixed_khz : policy->max;
	policy->governor = spec->fixed_khz ? &nobody : cpufreq_default_governor();
#ifdef FL_EFFICIENT_FREQUENCIES
	if (spec->skips_inefficient) {
		policy->freq_table = fl_host_zalloc((spec->nr_points + 1) * sizeof(*policy->freq_table));
		policy->freq_table_sorted = CPUFREQ_TABLE_SORTED_ASCENDING;
		for (i = 0; i < spec->nr_points; i++)
			policy->freq_table[i].frequency = spec->khz[i];
		policy->freq_table[i].frequency = CPUFREQ_TABLE_END;
	}
#endif
	domains[nr_domains++] = domain;
}

/* Whether frequencies that cost no less than a higher one can be left out. */
int fl_skips_inefficient(void)
{
#ifdef FL_EFFICIENT_FREQUENCIES
	return 1;
#else
	return 0;
#endif
}

/* Before sched domains are built: frequencies and energy models. */
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

/* Once tasks can run. Sched domains are built again, since only now they can take energy into account. */
void fl_start_governors(void)
{
	int i;

	for (i = 0; i < nr_domains; i++) {
		struct cpufreq_policy *policy = &domains[i]->policy;

		starts = domains[i];
		if (policy->governor != &nobody && (policy->governor->init(policy) || policy->governor->start(policy)))
			fl_host_stop(FL_STOP_SHIM, "schedutil does not start");
	}
	if (nr_domains)
		partition_sched_domains(1, NULL, NULL);
}

/*
 * A CPU went offline or came online: the governor of its domain stops, and starts again with the online CPUs.
 */
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

/*
 * ---- frequency limits of the user and of cooling devices, each a share of the highest frequency, of 1024
 * ----
 */

/* Returns the capacity that a CPU loses at a frequency. */
static unsigned long capacity_lost(int cpu, unsigned long khz, unsigned long highest)
{
	unsigned long capacity = fl_place[cpu].capacity;

	return capacity - capacity * khz / highest;
}

/*
 * In newer trees the lower limit also takes capacity, at once. Without a frequency domain a cooling device limits the
 * CPU all the same.
 */
static void limit_capacity(int cpu, unsigned long khz, unsigned long highest)
{
#ifdef FL_CPUFREQ_PRESSURE
	per_cpu(cpufreq_pressure, cpu) = capacity_lost(cpu, khz, highest);
#endif
}

/* The highest frequency that is not more, or the lowest. */
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
	unsigned long highest;

	fl_execute_on(cpu);
	if (!domain) {
		if (is_thermal) {
			fl_place[other].pressure = capacity_lost(other, part, SCHED_CAPACITY_SCALE);
			limit_capacity(other, part, SCHED_CAPACITY_SCALE);
		}
		return;
	}
	policy = &domain->policy;
	*(is_thermal ? &domain->thermal_khz : &domain->user_khz) = allowed_khz(domain, part);
	policy->max = min(domain->user_khz, domain->thermal_khz);
	highest = domain->points[domain->nr_points - 1].khz;
	for_each_cpu(other, policy->related_cpus) {
		if (is_thermal)
			fl_place[other].pressure = capacity_lost(other, domain->thermal_khz, highest);
		limit_capacity(other, policy->max, highest);
	}
	if (policy->governor == &nobody)
		cpufreq_driver_fast_switch(policy, domain->fixed_khz);
	else
		policy->governor->limits(policy);
}
