// SPDX-License-Identifier: GPL-2.0-or-later
/* The CPUs, the topology that they share, and the levels of sched domains that follow from it. */
#include "local.h"

int fl_nr_cpus;
struct fl_place fl_place[NR_CPUS];

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

/* Files of this folder are not instrumented, so this function reports itself. */
unsigned long fl_frequency_of(int cpu)
{
	__cyg_profile_func_enter(fl_frequency_of, NULL);
	__cyg_profile_func_exit(fl_frequency_of, NULL);
	return fl_place[cpu].frequency;
}

struct cpumask __cpu_possible_mask, __cpu_online_mask, __cpu_present_mask, __cpu_active_mask, __cpu_dying_mask;
const DECLARE_BITMAP(cpu_all_bits, NR_CPUS) = CPU_BITS_ALL;
atomic_t __num_online_cpus;

const struct cpumask *cpu_coregroup_mask(int cpu) { return &fl_place[cpu].in_llc; }
const struct cpumask *cpu_clustergroup_mask(int cpu) { return &fl_place[cpu].in_cluster; }

/* Newer trees also pass the level of the mask. */
#ifdef FL_MASK_OF_LEVEL
#define MASK_OF(cpu) struct sched_domain_topology_level *level, int cpu
#else
#define MASK_OF(cpu) int cpu
#endif
static const struct cpumask *core_mask(MASK_OF(cpu)) { return &fl_place[cpu].in_core; }
static const struct cpumask *cluster_mask(MASK_OF(cpu)) { return &fl_place[cpu].in_cluster; }
static const struct cpumask *llc_mask(MASK_OF(cpu)) { return &fl_place[cpu].in_llc; }
static const struct cpumask *package_mask(MASK_OF(cpu)) { return &fl_place[cpu].in_package; }
static const struct cpumask *everybody(MASK_OF(cpu)) { return cpu_online_mask; }
static int core_flags(void) { return cpu_smt_flags(); }
static int llc_flags(void) { return cpu_core_flags(); }
static int cluster_flags(void) { return cpu_cluster_flags(); }

unsigned int fl_max_cpus(void) { return NR_CPUS; }

#ifdef CONFIG_NUMA
static struct cpumask cpus_of_node[MAX_NUMNODES];
static int distance_of[MAX_NUMNODES][MAX_NUMNODES];
DEFINE_PER_CPU(int, numa_node);
nodemask_t node_states[NR_NODE_STATES];
unsigned int nr_node_ids = 1, nr_online_nodes = 1;
#ifndef FL_RECLAIM_DISTANCE
int node_reclaim_distance = RECLAIM_DISTANCE;
#endif
struct pglist_data *node_data[MAX_NUMNODES];

const struct cpumask *cpumask_of_node(int node)
{
	return node == NUMA_NO_NODE ? cpu_all_mask : &cpus_of_node[node];
}

int fl_node_distance(int from, int to)
{
	int given = distance_of[from][to];

	return given ? given : from == to ? LOCAL_DISTANCE : REMOTE_DISTANCE;
}

void fl_node_distances(int nr_nodes, const unsigned int *distances)
{
	int from, to;

	for (from = 0; from < nr_nodes; from++)
		for (to = 0; to < nr_nodes; to++)
			distance_of[from][to] = distances[from * nr_nodes + to];
}

static void join_node(int cpu, int node)
{
	enum node_states state;

	if (node >= MAX_NUMNODES)
		fl_host_stop(FL_STOP_SHIM, "there are more NUMA nodes than CONFIG_NODES_SHIFT allows");
	per_cpu(numa_node, cpu) = node;
	cpumask_set_cpu(cpu, &cpus_of_node[node]);
	for (state = 0; state < NR_NODE_STATES; state++)
		node_set(node, node_states[state]);
	nr_node_ids = nr_online_nodes = max_t(unsigned int, nr_node_ids, node + 1);
}
#else
void fl_node_distances(int nr_nodes, const unsigned int *distances) { }
static void join_node(int cpu, int node) { }
#endif

static void assign(int cpu, struct cpumask *mask, bool is_in)
{
	if (is_in)
		cpumask_set_cpu(cpu, mask);
}

void fl_set_places(const struct fl_cpu *cpus)
{
	int cpu, other;

	for (cpu = 0; cpu < fl_nr_cpus; cpu++) {
		const struct fl_cpu *mine = &cpus[cpu];
		struct fl_place *place = &fl_place[cpu];

		place->core = mine->core;
		place->cluster = mine->cluster;
		place->llc = mine->llc;
		place->package = mine->package;
		place->node = mine->node;
		place->capacity = mine->capacity;
		place->frequency = SCHED_CAPACITY_SCALE;
		for (other = 0; other < fl_nr_cpus; other++) {
			const struct fl_cpu *theirs = &cpus[other];

			assign(other, &place->in_core, theirs->core == mine->core);
			assign(other, &place->in_cluster, theirs->cluster == mine->cluster);
			assign(other, &place->in_llc, theirs->llc == mine->llc);
			assign(other, &place->in_package, theirs->package == mine->package);
		}
		join_node(cpu, mine->node);
		cpumask_set_cpu(cpu, &__cpu_possible_mask);
		cpumask_set_cpu(cpu, &__cpu_present_mask);
		cpumask_set_cpu(cpu, &__cpu_online_mask);
	}
	atomic_set(&__num_online_cpus, fl_nr_cpus);
}

static void show(int cpu, struct cpumask *mask, bool belongs, bool online)
{
	if (online && belongs)
		cpumask_set_cpu(cpu, mask);
	else if (!online)
		cpumask_clear_cpu(cpu, mask);
}

/* A CPU that is offline is in no masks but its own, and a node whose CPUs are all offline has no CPUs. */
void fl_set_online(int cpu, bool online)
{
	const struct fl_place *mine = &fl_place[cpu];
	int other;

	show(cpu, &__cpu_online_mask, true, online);
	atomic_set(&__num_online_cpus, cpumask_weight(&__cpu_online_mask));
#ifdef CONFIG_NUMA
	show(cpu, &cpus_of_node[mine->node], true, online);
	if (cpumask_empty(&cpus_of_node[mine->node]))
		node_clear(mine->node, node_states[N_CPU]);
	else
		node_set(mine->node, node_states[N_CPU]);
#endif
	for (other = 0; other < fl_nr_cpus; other++) {
		struct fl_place *theirs = &fl_place[other];

		if (other == cpu)
			continue;
		show(cpu, &theirs->in_core, theirs->core == mine->core, online);
		show(cpu, &theirs->in_cluster, theirs->cluster == mine->cluster, online);
		show(cpu, &theirs->in_llc, theirs->llc == mine->llc, online);
		show(cpu, &theirs->in_package, theirs->package == mine->package, online);
	}
}

#if HAS_SCHED_DEBUG
#define NAMED(text) .name = text,
#else
#define NAMED(text)
#endif

/* From the lowest to the highest, a letter each; levels between NUMA nodes are added by the kernel. */
void fl_set_levels(const char *levels)
{
	static const struct { char letter; struct sched_domain_topology_level level; } known[] = {
		{ 'S', { .mask = core_mask, .sd_flags = core_flags, NAMED("SMT") } },
		{ 'C', { .mask = cluster_mask, .sd_flags = cluster_flags, NAMED("CLS") } },
		{ 'M', { .mask = llc_mask, .sd_flags = llc_flags, NAMED("MC") } },
		{ 'P', { .mask = package_mask, NAMED("PKG") } },
		{ 'A', { .mask = everybody, NAMED("ALL") } },
	};
	static struct sched_domain_topology_level table[ARRAY_SIZE(known) + 1];
	int nr = 0, i;

	for (; *levels && nr < ARRAY_SIZE(known); levels++)
		for (i = 0; i < ARRAY_SIZE(known); i++)
			if (known[i].letter == *levels)
				table[nr++] = known[i].level;
	set_sched_topology(table);
}
