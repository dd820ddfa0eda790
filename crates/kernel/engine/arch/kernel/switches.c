// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Features and tunables of the tree. The tree declares its tunables when its initialisation functions create
 * files in debugfs and below /proc/sys/kernel. Such a file is written as a user writes it: with text, by the
 * handler of the tree.
 */
#include "local.h"
#include <linux/debugfs.h>
#include <linux/sysctl.h>

/* ---- features ---- */

static const char *const feature_names[] = {
#define SCHED_FEAT(name, enabled) #name,
#include "features.h"
#undef SCHED_FEAT
};

/* Without SCHED_DEBUG, features are constants. Without jump labels, a feature is a bit. */
#define NR_FEATURES (HAS_SCHED_DEBUG ? ARRAY_SIZE(feature_names) : 0)
#define FEATURE_BITS ((unsigned int *)&sysctl_sched_features)

const struct fl_feature *fl_features(unsigned int *nr)
{
	static struct fl_feature features[ARRAY_SIZE(feature_names)];
	unsigned int i;

	for (i = 0; i < NR_FEATURES; i++)
		features[i] = (struct fl_feature) { feature_names[i], *FEATURE_BITS >> i & 1 };
	*nr = NR_FEATURES;
	return features;
}

int fl_set_feature(const char *name, int on)
{
	unsigned int i;

	for (i = 0; i < NR_FEATURES; i++) {
		if (strcmp(feature_names[i], name))
			continue;
		*FEATURE_BITS = on ? *FEATURE_BITS | 1u << i : *FEATURE_BITS & ~(1u << i);
		return 0;
	}
	return -ENOENT;
}

/* ---- tunables ---- */

#ifdef FL_CONST_CTL_TABLE
#define CTL_TABLE const struct ctl_table
#else
#define CTL_TABLE struct ctl_table
#endif
#ifdef FL_CONST_REGISTERED_TABLE
#define REGISTERED_TABLE const struct ctl_table
#else
#define REGISTERED_TABLE struct ctl_table
#endif

#define PREFIX "sched_"		/* of names below /proc/sys/kernel */
#define WRITABLE 0222

/* Files below /proc/sys have a table, those in debugfs a value. */
struct tunable {
	const char *name;
	u32 *value;
	CTL_TABLE *table;
};

static struct tunable *tunables;
static unsigned int nr_tunables, room;

static struct tunable *find_tunable(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_tunables; i++)
		if (!strcmp(tunables[i].name, name))
			return &tunables[i];
	return NULL;
}

static void add_tunable(const char *name, u32 *value, CTL_TABLE *table)
{
	if (find_tunable(name))
		return;
	if (nr_tunables == room) {
		tunables = fl_grown(tunables, room, 2 * room + 32, sizeof(*tunables));
		room = 2 * room + 32;
	}
	tunables[nr_tunables++] = (struct tunable) { name, value, table };
}

/* Directories in debugfs have no content; only the address of the scheduler's own one matters. */
static struct dentry scheduler_directory, other_directory;

struct dentry *debugfs_create_dir(const char *name, struct dentry *parent)
{
	return !parent && name && !strcmp(name, "sched") ? &scheduler_directory : &other_directory;
}

void debugfs_create_u32(const char *name, umode_t mode, struct dentry *parent, u32 *value)
{
	if (parent == &scheduler_directory && (mode & WRITABLE))
		add_tunable(name, value, NULL);
}

static bool is_number(const struct ctl_table *file)
{
	return (file->mode & WRITABLE) && file->data && file->maxlen == sizeof(int) && file->proc_handler;
}

#ifdef FL_SIZE_OF_REGISTERED_TABLE
void __register_sysctl_init(const char *path, REGISTERED_TABLE *table, const char *name, size_t size)
#else
void __register_sysctl_init(const char *path, REGISTERED_TABLE *table, const char *name)
#endif
{
#ifdef FL_SIZE_OF_REGISTERED_TABLE
	REGISTERED_TABLE *end = table + size;
#else
	REGISTERED_TABLE *end = table;

	while (end->procname)
		end++;
#endif
	for (; table < end; table++)
		if (!strncmp(table->procname, PREFIX, strlen(PREFIX)) && is_number(table))
			add_tunable(table->procname + strlen(PREFIX), NULL, table);
}

/* Older trees declare these files outside of the scheduler. */
static void add_tunables_of_older_trees(void)
{
#ifndef FL_BASE_SLICE
	add_tunable("latency_ns", &sysctl_sched_latency, NULL);
	add_tunable("min_granularity_ns", &sysctl_sched_min_granularity, NULL);
	add_tunable("wakeup_granularity_ns", &sysctl_sched_wakeup_granularity, NULL);
	add_tunable("child_runs_first", &sysctl_sched_child_runs_first, NULL);
#endif
#if HAS_SCHED_DEBUG
	add_tunable("migration_cost_ns", (u32 *)&sysctl_sched_migration_cost, NULL);
	add_tunable("nr_migrate", (u32 *)&sysctl_sched_nr_migrate, NULL);
#endif
	if (fl_bandwidth_slice_us())
		add_tunable("cfs_bandwidth_slice_us", fl_bandwidth_slice_us(), NULL);
}

/* Limits of numbers, to which tables refer. Trees have different ones, in different orders. */
static void set_limit(const void *where, int value) { fl_limits((const int *)where - sysctl_vals)[0] = value; }

static void set_limits(void)
{
	set_limit(SYSCTL_ONE, 1);
#ifdef SYSCTL_TWO
	set_limit(SYSCTL_TWO, 2);
#endif
#ifdef SYSCTL_THREE
	set_limit(SYSCTL_THREE, 3);
#endif
#ifdef SYSCTL_FOUR
	set_limit(SYSCTL_FOUR, 4);
#endif
#ifdef SYSCTL_ONE_HUNDRED
	set_limit(SYSCTL_ONE_HUNDRED, 100);
#endif
#ifdef SYSCTL_TWO_HUNDRED
	set_limit(SYSCTL_TWO_HUNDRED, 200);
#endif
#ifdef SYSCTL_ONE_THOUSAND
	set_limit(SYSCTL_ONE_THOUSAND, 1000);
#endif
#ifdef SYSCTL_THREE_THOUSAND
	set_limit(SYSCTL_THREE_THOUSAND, 3000);
#endif
	set_limit(SYSCTL_INT_MAX, INT_MAX);
#ifdef SYSCTL_MAXOLDUID
	set_limit(SYSCTL_MAXOLDUID, 65535);
#endif
#ifdef SYSCTL_NEG_ONE
	set_limit(SYSCTL_NEG_ONE, -1);
#endif
}

extern initcall_t fl_late_initcalls[], fl_late_initcalls_end[];

/* Runs the last initialisation functions, among which those are that create files. */
void fl_run_late_initcalls(void)
{
	initcall_t *call;

	set_limits();
	for (call = fl_late_initcalls; call < fl_late_initcalls_end; call++)
		(*call)();
	add_tunables_of_older_trees();
}

/* ---- handlers of files with numbers, which the tree's own handlers call ---- */

/* Copies between the text of a file and an integer that lies in a range. Only writing is needed. */
static int write_integer(CTL_TABLE *table, int write, const char *text, long long min, long long max)
{
	long long number;

	if (!write)
		return -EOPNOTSUPP;
	if (sscanf(text, "%lld", &number) != 1 || number < min || number > max)
		return -EINVAL;
	*(int *)table->data = (int)number;
	return 0;
}

static long long least_of(const struct ctl_table *table, bool is_unsigned)
{
	if (!table->extra1)
		return is_unsigned ? 0 : (long long)INT_MIN;
	return is_unsigned ? (long long)*(unsigned int *)table->extra1 : *(int *)table->extra1;
}

static long long most_of(const struct ctl_table *table, bool is_unsigned)
{
	if (!table->extra2)
		return is_unsigned ? (long long)UINT_MAX : INT_MAX;
	return is_unsigned ? (long long)*(unsigned int *)table->extra2 : *(int *)table->extra2;
}

int proc_dointvec(CTL_TABLE *table, int write, void *text, size_t *size, loff_t *at)
{
	return write_integer(table, write, text, INT_MIN, INT_MAX);
}

int proc_dointvec_minmax(CTL_TABLE *table, int write, void *text, size_t *size, loff_t *at)
{
	return write_integer(table, write, text, least_of(table, false), most_of(table, false));
}

int proc_douintvec_minmax(CTL_TABLE *table, int write, void *text, size_t *size, loff_t *at)
{
	return write_integer(table, write, text, least_of(table, true), most_of(table, true));
}

/* A change of energy-aware scheduling builds the performance domains again. */
void rebuild_sched_domains(void) { partition_sched_domains(1, NULL, NULL); }

/* ---- functions that fairlab calls ---- */

static struct fl_tunable show_tunable(const struct tunable *tunable)
{
	const struct ctl_table *table = tunable->table;
	bool is_unsigned;

	if (!table)
		return (struct fl_tunable) { tunable->name, *tunable->value, 0, UINT_MAX };
	is_unsigned = table->proc_handler == proc_douintvec_minmax;
	return (struct fl_tunable) {
		.name = tunable->name,
		.value = is_unsigned ? (long long)*(unsigned int *)table->data : *(int *)table->data,
		.min = least_of(table, is_unsigned),
		.max = most_of(table, is_unsigned),
	};
}

const struct fl_tunable *fl_tunables(unsigned int *nr)
{
	static struct fl_tunable *shown;
	unsigned int i;

	if (!shown)
		shown = fl_host_zalloc(nr_tunables * sizeof(*shown));
	for (i = 0; i < nr_tunables; i++)
		shown[i] = show_tunable(&tunables[i]);
	*nr = nr_tunables;
	return shown;
}

/* Writes a tunable as the running task of a CPU. Negative numbers of a file in debugfs wrap around. */
int fl_set_tunable(int cpu, const char *name, long long value)
{
	struct tunable *tunable = find_tunable(name);
	char text[24];
	size_t size;
	loff_t at = 0;

	if (!tunable)
		return -ENOENT;
	fl_execute_on(cpu);
	if (!tunable->table) {
		if (value < INT_MIN || value > UINT_MAX)
			return -EINVAL;
		*tunable->value = (u32)value;
		return 0;
	}
	size = snprintf(text, sizeof(text), "%lld", value);
	return tunable->table->proc_handler(tunable->table, 1, text, &size, &at);
}
