/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _ASM_FAIRLAB_TOPOLOGY_H
#define _ASM_FAIRLAB_TOPOLOGY_H

#include <linux/cpumask.h>

/* Topology of each CPU, from the machine's description. */
struct fl_place {
	int core, cluster, llc, package, node;
	unsigned long capacity, frequency, pressure;	/* of 1024 */
	unsigned long idle_calls;			/* how often its tick was to stop */
	struct cpumask in_core, in_cluster, in_llc, in_package;
};
extern struct fl_place fl_place[];

#define topology_physical_package_id(cpu) (fl_place[cpu].package)
#define topology_cluster_id(cpu) (fl_place[cpu].cluster)
#define topology_core_id(cpu) (fl_place[cpu].core)
#define topology_sibling_cpumask(cpu) ((const struct cpumask *)&fl_place[cpu].in_core)
#define topology_cluster_cpumask(cpu) ((const struct cpumask *)&fl_place[cpu].in_cluster)
#define topology_core_cpumask(cpu) ((const struct cpumask *)&fl_place[cpu].in_package)

const struct cpumask *cpu_coregroup_mask(int cpu);
const struct cpumask *cpu_clustergroup_mask(int cpu);

#define arch_scale_cpu_capacity(cpu) (fl_place[cpu].capacity)
/* A call, because scaling by the frequency is counted. */
unsigned long fl_frequency_of(int cpu);
#define arch_scale_freq_capacity(cpu) fl_frequency_of(cpu)
#define arch_scale_freq_invariant() true
#define arch_scale_thermal_pressure(cpu) (fl_place[cpu].pressure)
#define arch_scale_hw_pressure(cpu) (fl_place[cpu].pressure)

#ifdef CONFIG_NUMA
const struct cpumask *cpumask_of_node(int node);
int fl_node_distance(int from, int to);
#define cpumask_of_node cpumask_of_node
#define node_distance(from, to) fl_node_distance(from, to)
#endif

#include <asm-generic/topology.h>

#endif
