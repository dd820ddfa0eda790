// SPDX-License-Identifier: GPL-2.0-or-later
// What memory belongs to: slab caches by page, kernel stacks and per-CPU areas. Printed after each measurement, so that the lines
// of the plugin can be resolved.
//
//     "SLAB PHYSICAL NAME"  a page of a slab cache, where it has changed
//     "STACK BEGIN END"     virtual addresses of a kernel stack
//     "PERCPU CPU OFFSET"   offset of a CPU's area from the addresses of per-CPU symbols
#define _GNU_SOURCE
#include "guest.h"
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, PAGE_STRUCT = 64, MAX_SEGMENTS = 64, MAX_CACHES = 512, CACHE_BYTES = 512 };
enum { SLAB_BIT = 7, TAIL_BIT = 16 }; // of /proc/kpageflags

static int memory = -1, flags = -1;
static Elf64_Phdr segments[MAX_SEGMENTS];
static int nr_segments;
static char known_names[MAX_CACHES][64];
static int nr_known;
static struct cache {
	uint64_t address;
	const char *name; // NULL: not a slab cache
} caches[8192];
static int nr_caches;
static const char **owners; // by page of RAM, as printed

static bool read_kernel(uint64_t address, void *to, size_t size)
{
	for (int i = 0; i < nr_segments; i++) {
		const Elf64_Phdr *s = &segments[i];

		if (address >= s->p_vaddr && address + size <= s->p_vaddr + s->p_memsz)
			return pread(memory, to, size, s->p_offset + (address - s->p_vaddr)) == (ssize_t)size;
	}
	return false;
}

static void read_known_names(void)
{
	FILE *file = fopen("/proc/slabinfo", "r");
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (line[0] != '#' && nr_known < MAX_CACHES && sscanf(line, "%63s", known_names[nr_known]) == 1)
			nr_known++;
	if (file)
		fclose(file);
}

// Returns the name of the slab cache at an address: the one known name that the structure points to. This needs no offsets.
static const char *cache_name(uint64_t address)
{
	uint64_t words[CACHE_BYTES / 8];
	struct cache *cache;
	char text[64];

	for (int i = 0; i < nr_caches; i++)
		if (caches[i].address == address)
			return caches[i].name;
	if (nr_caches == sizeof(caches) / sizeof(caches[0]))
		return NULL;
	cache = &caches[nr_caches++];
	cache->address = address;
	cache->name = NULL;
	if (!read_kernel(address, words, sizeof(words)))
		return NULL;
	for (int i = 0; i < CACHE_BYTES / 8 && !cache->name; i++) {
		if (words[i] >> 63 == 0 || !read_kernel(words[i], text, sizeof(text)))
			continue;
		for (int known = 0; known < nr_known; known++)
			if (!strncmp(text, known_names[known], sizeof(text)))
				cache->name = known_names[known];
	}
	return cache->name;
}

static const char *name_in_page_struct(const uint64_t *page)
{
	for (int i = 1; i < PAGE_STRUCT / 8; i++) {
		const char *name = page[i] >> 63 && !(page[i] & 7) ? cache_name(page[i]) : NULL;

		if (name)
			return name;
	}
	return NULL;
}

// The array of page structures that describes a segment of RAM, by its size. Returns 0 if none fits.
static uint64_t page_structs_of(const Elf64_Phdr *ram)
{
	uint64_t size = ram->p_memsz / PAGE * PAGE_STRUCT;

	for (int i = 0; i < nr_segments; i++)
		if (segments[i].p_memsz >= size && segments[i].p_memsz <= size + 2 * PAGE && segments[i].p_vaddr != ram->p_vaddr)
			return segments[i].p_vaddr;
	return 0;
}

static void print_slabs_of(const Elf64_Phdr *ram)
{
	uint64_t structs = page_structs_of(ram), first = ram->p_paddr / PAGE;
	uint64_t batch[PAGE / 8], page[PAGE_STRUCT / 8];
	const char *name = NULL;

	if (!structs || !owners)
		return;
	structs += first * PAGE_STRUCT % PAGE; // the segment begins with the page that holds the first structure
	for (uint64_t at = 0; at < ram->p_memsz / PAGE; at++) {
		uint64_t pfn = first + at, bits;

		if (at % (PAGE / 8) == 0 && pread(flags, batch, sizeof(batch), pfn * 8) <= 0)
			return;
		bits = batch[at % (PAGE / 8)];
		if (!(bits >> SLAB_BIT & 1 || (bits >> TAIL_BIT & 1 && name))) {
			name = NULL;
			continue;
		}
		if (!(bits >> TAIL_BIT & 1))
			name = read_kernel(structs + at * PAGE_STRUCT, page, sizeof(page)) ? name_in_page_struct(page) : NULL;
		if (name && owners[pfn] != name) {
			owners[pfn] = name;
			printf("SLAB %lx %s\n", pfn * PAGE, name);
		}
	}
}

static void print_stacks(void)
{
	FILE *file = fopen("/proc/vmallocinfo", "r");
	char line[256], caller[128];
	unsigned long begin, end;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx-%lx %*u %127s", &begin, &end, caller) == 3 &&
		    (strstr(caller, "dup_task_struct") || strstr(caller, "copy_process") || strstr(caller, "thread_stack") ||
		     strstr(caller, "kernel_clone")))
			printf("STACK %lx %lx\n", begin, end);
	if (file)
		fclose(file);
}

static void print_areas(uint64_t offsets)
{
	uint64_t offset;

	for (int cpu = 0; cpu < nr_cpus(); cpu++)
		if (read_kernel(offsets + 8 * cpu, &offset, sizeof(offset)))
			printf("PERCPU %d %lx\n", cpu, offset);
}

// Opens kernel memory. The command line has "per_cpu_offset=ADDRESS".
void open_kernel_memory(const char *command_line)
{
	const char *offsets = strstr(command_line, "per_cpu_offset=");
	uint64_t nr_pages = 0;
	Elf64_Ehdr header;

	memory = open("/proc/kcore", O_RDONLY);
	flags = open("/proc/kpageflags", O_RDONLY);
	if (memory < 0 || flags < 0 || pread(memory, &header, sizeof(header), 0) != sizeof(header))
		return;
	for (int i = 0; i < header.e_phnum && nr_segments < MAX_SEGMENTS; i++) {
		Elf64_Phdr *s = &segments[nr_segments];

		if (pread(memory, s, sizeof(*s), header.e_phoff + i * header.e_phentsize) == sizeof(*s) && s->p_type == PT_LOAD)
			nr_segments++;
	}
	for (int i = 0; i < nr_segments; i++)
		if ((segments[i].p_paddr + segments[i].p_memsz) / PAGE > nr_pages && page_structs_of(&segments[i]))
			nr_pages = (segments[i].p_paddr + segments[i].p_memsz) / PAGE;
	if (nr_pages < 1u << 24)
		owners = calloc(nr_pages + 1, sizeof(*owners));
	read_known_names();
	if (offsets)
		print_areas(strtoull(strchr(offsets, '=') + 1, NULL, 16));
}

void print_owners(void)
{
	for (int i = 0; i < nr_segments; i++)
		if (segments[i].p_paddr != (Elf64_Addr)-1)
			print_slabs_of(&segments[i]);
	print_stacks();
}
