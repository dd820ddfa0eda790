// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory comes zeroed from the process and is never reused: a run ends with its process, and no decision
 * depends on addresses.
 */
#include "local.h"

struct kmem_cache { unsigned int size; };

struct kmem_cache *kmalloc_caches[NR_KMALLOC_TYPES][KMALLOC_SHIFT_HIGH + 1];

/* Trees with allocation profiling have the functions under other names, behind macros. */
#ifdef FL_NOPROF
#define ALLOCATION(name) name##_noprof
#else
#define ALLOCATION(name) name
#endif

void *ALLOCATION(__kmalloc)(size_t size, gfp_t flags) { return fl_host_zalloc(size); }
void *ALLOCATION(kmem_cache_alloc)(struct kmem_cache *cache, gfp_t flags) { return fl_host_zalloc(cache->size); }

#ifdef FL_NOPROF
void *__kmalloc_node_noprof(DECL_BUCKET_PARAMS(size, b), gfp_t flags, int node) { return fl_host_zalloc(size); }
void *__kmalloc_cache_noprof(struct kmem_cache *cache, gfp_t flags, size_t size) { return fl_host_zalloc(size); }
void *__kmalloc_cache_node_noprof(struct kmem_cache *cache, gfp_t flags, int node, size_t size) { return fl_host_zalloc(size); }
void *__kmalloc_large_noprof(size_t size, gfp_t flags) { return fl_host_zalloc(size); }
void *__kmalloc_large_node_noprof(size_t size, gfp_t flags, int node) { return fl_host_zalloc(size); }
#else
void *kmem_cache_alloc_node(struct kmem_cache *cache, gfp_t flags, int node) { return fl_host_zalloc(cache->size); }
void *__kmalloc_node(size_t size, gfp_t flags, int node) { return fl_host_zalloc(size); }
void *kmalloc_trace(struct kmem_cache *cache, gfp_t flags, size_t size) { return fl_host_zalloc(size); }
void *kmalloc_node_trace(struct kmem_cache *cache, gfp_t flags, int node, size_t size) { return fl_host_zalloc(size); }
#endif

void kmem_cache_free(struct kmem_cache *cache, void *memory) { }
void kfree(const void *memory) { }

static struct kmem_cache *new_cache(unsigned int size)
{
	struct kmem_cache *cache = fl_host_zalloc(sizeof(*cache));

	cache->size = size;
	return cache;
}

#ifdef FL_CACHE_ARGS
struct kmem_cache *__kmem_cache_create_args(const char *name, unsigned int size, struct kmem_cache_args *args, slab_flags_t flags)
{
	return new_cache(size);
}
#else
struct kmem_cache *kmem_cache_create(const char *name, unsigned int size, unsigned int align, slab_flags_t flags, void (*ctor)(void *))
{
	return new_cache(size);
}
#endif

/* Older trees take allocations of constant size from these caches. */
void fl_make_caches(void)
{
	int type, i;

	for (type = 0; type < NR_KMALLOC_TYPES; type++)
		for (i = 0; i <= KMALLOC_SHIFT_HIGH; i++)
			kmalloc_caches[type][i] = new_cache(i == 1 ? 96 : i == 2 ? 192 : 1u << i);
}

/* ---- per-CPU areas: a copy of the object's data, and room behind it for allocations at run time ---- */

#define ROOM (4UL << 20)

extern char __per_cpu_start[], __per_cpu_end[];
static unsigned long used, limit;

void fl_make_percpu_areas(void)
{
	unsigned long fixed = __per_cpu_end - __per_cpu_start;
	int cpu;

	used = ALIGN(fixed, SMP_CACHE_BYTES);
	limit = used + ROOM;
	for (cpu = 0; cpu < fl_nr_cpus; cpu++) {
		char *area = fl_host_zalloc(limit);

		memcpy(area, __per_cpu_start, fixed);
		__per_cpu_offset[cpu] = area - __per_cpu_start;
	}
}

/* An allocation has not been used before, so it is still zero. */
static void __percpu *room_for(size_t size, size_t align)
{
	unsigned long at = ALIGN(used, max_t(size_t, align, sizeof(long)));

	used = at + size;
	if (used > limit)
		fl_host_stop(FL_STOP_SHIM, "the room for what is allocated per CPU is used up");
	return (void __percpu *)(__per_cpu_start + at);
}

#ifdef FL_NOPROF
void __percpu *pcpu_alloc_noprof(size_t size, size_t align, bool reserved, gfp_t flags) { return room_for(size, align); }
#else
void __percpu *__alloc_percpu(size_t size, size_t align) { return room_for(size, align); }
#endif

void free_percpu(void __percpu *memory) { }
