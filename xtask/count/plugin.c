// SPDX-License-Identifier: GPL-2.0-or-later
//
// QEMU plugin that counts what a kernel executes, for `cargo xtask count`. For QEMU 7.2 and newer with `-accel tcg,thread=single`.
//
// The plugin follows calls and returns of each task, and so knows for every instruction which system call or interrupt (the side)
// and which part of the kernel it works for. It counts instructions, loads, stores, calls, and cache lines that have to come from
// another CPU: a directory of 64-byte lines by physical address records which CPUs hold a line. Caches are unlimited, so the counts
// contain no capacity misses.
//
// The guest program (guest.c) controls the counting by stores to MARK_PAGE. A round in which an ignored function ran is dropped,
// unless the guest asks to keep it.
//
// Reads `functions`, sorted by address: "ADDRESS FLAGS SIDE PART NAME". SIDE and PART are "-", or what the function and its callees
// count for until a callee names another one. FLAGS are letters, or "-":
//     i  invalidates a round
//     v  entered by an interrupt or exception
//     s  switches stacks; its first load comes from the next task
//     n  first function of a new task
// Writes `count.N` for the measurement N:
//     "rounds KEPT DROPPED"
//     "F SIDE PART NAME INSTRUCTIONS LOADS STORES TRANSFERS UPGRADES CALLS ENTRIES RETURNS INDIRECT ATOMICS"   by function
//     "L SIDE PHYSICAL VIRTUAL TRANSFERS UPGRADES"                                    by cache line
// A transfer is an access to a line that only other CPUs hold. An upgrade is a store to a line that this CPU and others hold. Entries
// are those calls that changed the side or the part. Indirect calls include jumps; the return by which a retpoline calls is one of them,
// and no return. Atomic operations read and write memory, or store exclusively.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Declarations of qemu-plugin.h that are used, so that no header has to be installed.
typedef uint64_t plugin_id;
typedef uint32_t mem_info;
struct tb;
struct insn;
struct hwaddr;
struct qemu_info {
	const char *target_name;
};
#define API __attribute__((visibility("default")))
API int qemu_plugin_version = 1;
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct tb *));
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct tb *, void (*)(unsigned, void *), int, void *);
extern size_t qemu_plugin_tb_n_insns(const struct tb *);
extern struct insn *qemu_plugin_tb_get_insn(const struct tb *, size_t);
extern uint64_t qemu_plugin_insn_vaddr(const struct insn *);
extern const void *qemu_plugin_insn_data(const struct insn *);
extern size_t qemu_plugin_insn_size(const struct insn *);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct insn *, void (*)(unsigned, void *), int, void *);
extern void qemu_plugin_register_vcpu_mem_cb(struct insn *, void (*)(unsigned, mem_info, uint64_t, void *), int, int, void *);
extern struct hwaddr *qemu_plugin_get_hwaddr(mem_info, uint64_t);
extern uint64_t qemu_plugin_hwaddr_phys_addr(const struct hwaddr *);
extern bool qemu_plugin_mem_is_store(mem_info);
enum { NO_REGS = 0, READ_WRITE = 3 };

#define MARK_PAGE 0x777700000000ull
enum mark { BEGIN = 0, END = 8, ROUND = 16, KEEP_IGNORED = 24, WATCH = 64 };

enum { MAX_FUNCTIONS = 262144, MAX_NAMES = 1024, MAX_CPUS = 32, MAX_DEPTH = 192, MAX_TASKS = 4096 };
enum { LINE_BITS = 22, COUNTER_BITS = 20 };

struct function {
	uint64_t address;
	bool is_ignored, is_vector, is_switch, is_new_task;
	short side, part; // -1: those of the caller
	char name[80];
};

// Counts of one function on one side for one part, or of one line on one side.
struct counts {
	uint64_t instructions, loads, stores, transfers, upgrades, calls, entries, returns, indirect, atomics;
};
struct counter {
	uint64_t key, virtual;
	struct counts round, total;
	bool is_touched;
};

struct line {
	uint64_t key; // physical line + 1; 0 in a free slot
	uint32_t sharers;
};

struct frame {
	uint64_t return_address;
	short side, part;
	bool is_tail;      // reached by a jump: returns with its caller
	bool is_interrupt; // ends with the return from an interrupt
};
struct task {
	uint64_t key;
	int depth;
	struct frame frames[MAX_DEPTH];
};

enum ending { OTHER, CALL, RETURN, INTERRUPT_RETURN };
struct block {
	uint64_t start, end;
	struct function *function;
	unsigned nr_instructions; // without string instructions
	unsigned nr_atomics;
	bool is_entry, is_kernel;
	bool is_return, is_indirect; // see `counts`
	enum ending ending;
};

struct cpu {
	const struct block *previous;
	struct task *task;
	struct counter *counter;
	const void *repeated; // string instruction of the last block, if it has no other
	bool awaits_task;
};

static struct function *functions; // [0] stands for user space
static int nr_functions;
static char names[MAX_NAMES][32];
static int nr_names;
static short side_user, part_user, side_entry, part_entry;
static struct counter *counters, **touched;
static int nr_counters, nr_touched;
static struct line *lines;
static struct task *tasks;
static int nr_tasks;
static struct cpu cpus[MAX_CPUS];
static bool is_arm, counting, watching, keep_ignored, saw_ignored;
static int measurement;
static uint64_t kept, dropped;

static uint64_t slot(uint64_t key, int bits) { return (key * 0x9E3779B97F4A7C15ull) >> (64 - bits); }

static void fail(const char *message)
{
	fprintf(stderr, "plugin: %s\n", message);
	exit(1);
}

static short name_index(const char *name)
{
	if (!strcmp(name, "-"))
		return -1;
	for (int i = 0; i < nr_names; i++)
		if (!strcmp(names[i], name))
			return i;
	if (nr_names == MAX_NAMES)
		fail("too many names of sides and parts");
	snprintf(names[nr_names], sizeof(names[0]), "%s", name);
	return nr_names++;
}

static struct line *line_of(uint64_t physical)
{
	uint64_t key = (physical >> 6) + 1, at = slot(key, LINE_BITS);

	while (lines[at].key != key) {
		if (!lines[at].key) {
			lines[at].key = key;
			break;
		}
		at = (at + 1) & ((1u << LINE_BITS) - 1);
	}
	return &lines[at];
}

static struct counter *counter_of(uint64_t key)
{
	uint64_t at = slot(key, COUNTER_BITS);
	struct counter *counter;

	while (counters[at].key != key) {
		if (!counters[at].key) {
			if (++nr_counters > (1 << COUNTER_BITS) * 3 / 4)
				fail("too many counters");
			counters[at].key = key;
			break;
		}
		at = (at + 1) & ((1u << COUNTER_BITS) - 1);
	}
	counter = &counters[at];
	if (!counter->is_touched) {
		counter->is_touched = true;
		touched[nr_touched++] = counter;
	}
	return counter;
}

// Keys of counters: of a function, and of a line. Neither is 0, as sides start at 1.
static uint64_t function_key(short side, short part, int function) { return (uint64_t)side << 48 | (uint64_t)part << 32 | function; }
static uint64_t line_key(short side, uint64_t physical) { return 1ull << 63 | (uint64_t)side << 48 | physical >> 6; }

static void add(struct counts *sum, const struct counts *more)
{
	sum->instructions += more->instructions;
	sum->loads += more->loads;
	sum->stores += more->stores;
	sum->transfers += more->transfers;
	sum->upgrades += more->upgrades;
	sum->calls += more->calls;
	sum->entries += more->entries;
	sum->returns += more->returns;
	sum->indirect += more->indirect;
	sum->atomics += more->atomics;
}

static void end_round(bool keep)
{
	for (int i = 0; i < nr_touched; i++) {
		struct counter *counter = touched[i];

		if (keep)
			add(&counter->total, &counter->round);
		memset(&counter->round, 0, sizeof(counter->round));
		counter->is_touched = false;
	}
	nr_touched = 0;
	saw_ignored = false;
	for (int i = 0; i < MAX_CPUS; i++)
		cpus[i].counter = NULL;
}

static void write_counts(void)
{
	char name[32];
	FILE *file;

	sprintf(name, "count.%d", measurement++);
	file = fopen(name, "w");
	if (!file)
		fail("cannot write the counts");
	fprintf(file, "rounds %lu %lu\n", kept, dropped);
	for (int i = 0; i < 1 << COUNTER_BITS; i++) {
		const struct counter *counter = &counters[i];
		const struct counts *t = &counter->total;
		const char *side = names[counter->key >> 48 & 0x7fff];

		if (counter->key >> 63 && (t->transfers || t->upgrades))
			fprintf(file, "L %s %lx %lx %lu %lu\n", side, (counter->key << 16 >> 16) << 6, counter->virtual, t->transfers, t->upgrades);
		else if (!(counter->key >> 63) && t->instructions)
			fprintf(file, "F %s %s %s %lu %lu %lu %lu %lu %lu %lu %lu %lu %lu\n", side, names[counter->key >> 32 & 0xffff],
				functions[counter->key & 0xffffffff].name, t->instructions, t->loads, t->stores, t->transfers, t->upgrades, t->calls,
				t->entries, t->returns, t->indirect, t->atomics);
	}
	fclose(file);
}

static void begin_measurement(void)
{
	end_round(false);
	memset(counters, 0, sizeof(*counters) << COUNTER_BITS);
	nr_counters = 0;
	kept = dropped = 0;
	counting = true;
}

static void on_mark(enum mark mark)
{
	bool keep = keep_ignored || !saw_ignored;

	switch (mark) {
	case WATCH:
		watching = true;
		break;
	case KEEP_IGNORED:
		keep_ignored = true;
		break;
	case BEGIN:
		begin_measurement();
		break;
	case ROUND:
		kept += keep;
		dropped += !keep;
		end_round(keep);
		break;
	case END:
		counting = keep_ignored = false;
		write_counts();
		break;
	}
}

static struct task *task_of(uint64_t key)
{
	for (int i = 0; i < nr_tasks; i++)
		if (tasks[i].key == key)
			return &tasks[i];
	if (nr_tasks == MAX_TASKS)
		fail("too many tasks");
	tasks[nr_tasks].key = key;
	return &tasks[nr_tasks++];
}

static void push(struct task *task, const struct function *function, uint64_t return_address, bool is_tail)
{
	const struct frame *caller = task->depth ? &task->frames[task->depth - 1] : NULL;
	struct frame *frame = &task->frames[task->depth];

	if (task->depth == MAX_DEPTH)
		return;
	frame->side = function->side >= 0 ? function->side : caller ? caller->side : side_entry;
	frame->part = function->part >= 0 ? function->part : caller ? caller->part : part_entry;
	frame->return_address = is_tail && caller ? caller->return_address : return_address;
	frame->is_tail = is_tail && caller;
	frame->is_interrupt = function->is_vector;
	task->depth++;
}

// Removes the frames that end with a return to this address: the topmost one that expects it, and those above. Returns whether
// there is one.
static bool pop_return(struct task *task, uint64_t address)
{
	int at = task->depth - 1;

	while (at >= 0 && task->frames[at].return_address != address) {
		if (task->frames[at].is_interrupt)
			return false;
		at--;
	}
	if (at < 0)
		return false;
	while (task->frames[at].is_tail && at > 0)
		at--;
	task->depth = at;
	return true;
}

static bool pop_interrupt(struct task *task)
{
	int at = task->depth - 1;

	while (at >= 0 && !task->frames[at].is_interrupt)
		at--;
	if (at >= 0)
		task->depth = at;
	return at >= 0;
}

// Follows calls, jumps, returns and interrupts from one block to the next.
static void follow(struct task *task, const struct block *previous, const struct block *block)
{
	enum ending ending = previous && previous->is_kernel ? previous->ending : OTHER;
	bool has_returned = false;

	if (!previous || !previous->is_kernel || (block->is_entry && block->function->is_new_task))
		task->depth = 0;
	else if (ending == INTERRUPT_RETURN)
		has_returned = pop_interrupt(task);
	else if (ending == RETURN)
		has_returned = pop_return(task, block->start);
	// A return that found its frame has not entered a function, even where one begins.
	if (!block->is_entry || has_returned)
		return;
	if (ending == CALL && !block->function->is_vector)
		push(task, block->function, previous->end, false);
	else
		push(task, block->function, 0, !block->function->is_vector);
}

static void on_block(unsigned index, void *data)
{
	const struct block *block = data, *previous;
	struct cpu *cpu = &cpus[index];
	short side = side_user, part = part_user, side_before, part_before;

	if (!watching)
		return;
	previous = cpu->previous;
	cpu->previous = block;
	if (!cpu->task)
		cpu->task = task_of(index + 1);
	side_before = part_before = -1;
	if (block->is_kernel) {
		struct task *task = cpu->task;

		if (task->depth && previous && previous->is_kernel) {
			side_before = task->frames[task->depth - 1].side;
			part_before = task->frames[task->depth - 1].part;
		}
		follow(task, previous, block);
		side = task->depth ? task->frames[task->depth - 1].side : side_entry;
		part = task->depth ? task->frames[task->depth - 1].part : part_entry;
		if (block->function->is_switch && block->is_entry)
			cpu->awaits_task = true;
	}
	if (!counting)
		return;
	cpu->counter = counter_of(function_key(side, part, block->function - functions));
	cpu->counter->round.instructions += block->nr_instructions;
	cpu->counter->round.returns += block->is_return;
	cpu->counter->round.indirect += block->is_indirect;
	cpu->counter->round.atomics += block->nr_atomics;
	if (block->nr_instructions)
		cpu->repeated = NULL;
	if (block->is_entry) {
		cpu->counter->round.calls++;
		cpu->counter->round.entries += side != side_before || part != part_before;
	}
	if (block->function->is_ignored)
		saw_ignored = true;
}

// Counts a string instruction once, although QEMU executes it for each element. data identifies it.
static void on_string_instruction(unsigned index, void *data)
{
	struct cpu *cpu = &cpus[index];

	if (counting && cpu->counter && cpu->repeated != data)
		cpu->counter->round.instructions++;
	cpu->repeated = data;
}

static void on_access(unsigned index, mem_info info, uint64_t address, void *data)
{
	bool store = qemu_plugin_mem_is_store(info), is_transfer, is_upgrade;
	struct cpu *cpu = &cpus[index];
	struct hwaddr *hwaddr;
	uint64_t physical;
	struct line *line;

	(void)data;
	if ((address & ~0xfffull) == MARK_PAGE) {
		if (store)
			on_mark(address & 0xfff);
		return;
	}
	if (!watching)
		return;
	if (cpu->awaits_task && !store) {
		cpu->awaits_task = false;
		cpu->task = task_of(address);
	}
	hwaddr = qemu_plugin_get_hwaddr(info, address);
	if (!hwaddr)
		return;
	physical = qemu_plugin_hwaddr_phys_addr(hwaddr);
	line = line_of(physical);
	is_transfer = line->sharers && !(line->sharers & (1u << index));
	is_upgrade = !is_transfer && store && (line->sharers & ~(1u << index));
	line->sharers = store ? 1u << index : line->sharers | 1u << index;
	if (!counting || !cpu->counter)
		return;
	if (store)
		cpu->counter->round.stores++;
	else
		cpu->counter->round.loads++;
	if (is_transfer || is_upgrade) {
		struct counter *of_line = counter_of(line_key(cpu->counter->key >> 48, physical));

		of_line->virtual = address;
		of_line->round.transfers += is_transfer;
		of_line->round.upgrades += is_upgrade;
		cpu->counter->round.transfers += is_transfer;
		cpu->counter->round.upgrades += is_upgrade;
	}
}

static enum ending ending_arm(uint32_t word)
{
	if (word >> 26 == 0x25 || (word & 0xfefff000) == 0xd63f0000) // BL; BLR, BLRA*
		return CALL;
	if ((word & 0xfffffc1f) == 0xd65f0000 || (word & 0xfffffbff) == 0xd65f0bff) // RET, RETA*
		return RETURN;
	if (word == 0xd69f03e0 || (word & 0xfffffbff) == 0xd69f0bff) // ERET, ERETA*
		return INTERRUPT_RETURN;
	return OTHER;
}

// Returns the place of an instruction's code after its prefixes.
static size_t opcode_x86(const uint8_t *bytes, size_t size)
{
	static const uint8_t PREFIXES[] = { 0x66, 0xf2, 0xf3, 0x2e, 0x3e, 0x26, 0x36, 0x64, 0x65 };
	size_t at = 0;

	while (at + 1 < size && (memchr(PREFIXES, bytes[at], sizeof(PREFIXES)) || (bytes[at] & 0xf0) == 0x40))
		at++;
	return at;
}

// Whether it is a string instruction with a prefix that repeats it.
static bool is_repeated(const uint8_t *bytes, size_t size)
{
	size_t at = opcode_x86(bytes, size);

	return (memchr(bytes, 0xf3, at) || memchr(bytes, 0xf2, at)) &&
	       ((bytes[at] >= 0xa4 && bytes[at] <= 0xa7) || (bytes[at] >= 0xaa && bytes[at] <= 0xaf));
}

static enum ending ending_x86(const uint8_t *bytes, size_t size)
{
	size_t at = opcode_x86(bytes, size);

	switch (bytes[at]) {
	case 0xe8:
		return CALL;
	case 0xff:
		return at + 1 < size && (bytes[at + 1] >> 3 & 7) == 2 ? CALL : OTHER;
	case 0xc2:
	case 0xc3:
		return RETURN;
	case 0xcf:
		return INTERRUPT_RETURN;
	default:
		return OTHER;
	}
}

// Whether an instruction reads and writes memory atomically: with a lock prefix, or an exchange with memory.
static bool is_atomic_x86(const uint8_t *bytes, size_t size)
{
	size_t at = 0;
	bool locked = false;

	while (at + 1 < size && (bytes[at] == 0xf0 || opcode_x86(bytes + at, size - at))) {
		locked |= bytes[at] == 0xf0;
		at++;
	}
	return locked || ((bytes[at] == 0x86 || bytes[at] == 0x87) && at + 1 < size && bytes[at + 1] >> 6 != 3);
}

// Store exclusive; compare and swap; other atomic operations of ARMv8.1.
static bool is_atomic_arm(uint32_t word)
{
	return (word & 0x3fe08000) == 0x08000000 || (word & 0x3fa07c00) == 0x08a07c00 || (word & 0x3f208c00) == 0x38200000;
}

static bool is_atomic(const uint8_t *bytes, size_t size)
{
	uint32_t word = 0;

	memcpy(&word, bytes, size < sizeof(word) ? size : sizeof(word));
	return is_arm ? is_atomic_arm(word) : is_atomic_x86(bytes, size);
}

// Whether a block ends with a call or jump to an address in a register or in memory.
static bool is_indirect_x86(const uint8_t *bytes, size_t size)
{
	size_t at = opcode_x86(bytes, size);
	int operation = at + 1 < size ? bytes[at + 1] >> 3 & 7 : 0;

	return bytes[at] == 0xff && (operation == 2 || operation == 4);
}

static struct function *function_at(uint64_t address)
{
	int low = 0, high = nr_functions;

	if (!(address >> 63))
		return &functions[0];
	while (low < high) {
		int middle = (low + high + 1) / 2;

		if (functions[middle].address <= address)
			low = middle;
		else
			high = middle - 1;
	}
	return &functions[low];
}

static void on_translation(plugin_id id, struct tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct insn *last = qemu_plugin_tb_get_insn(tb, n - 1);
	struct block *block = malloc(sizeof(*block));
	const void *data = qemu_plugin_insn_data(last);
	size_t size = qemu_plugin_insn_size(last);
	bool is_retpoline, is_indirect;
	uint32_t word = 0;

	(void)id;
	if (!block)
		fail("out of memory");
	memcpy(&word, data, size < sizeof(word) ? size : sizeof(word));
	block->start = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
	block->end = qemu_plugin_insn_vaddr(last) + size;
	block->function = function_at(block->start);
	block->nr_instructions = 0;
	block->is_kernel = block->start >> 63;
	block->is_entry = block->is_kernel && block->function->address == block->start;
	block->ending = is_arm ? ending_arm(word) : ending_x86(data, size);
	block->nr_atomics = 0;
	is_retpoline = block->ending == RETURN && !strncmp(block->function->name, "__x86_indirect_", 15);
	block->is_return = block->is_kernel && block->ending == RETURN && !is_retpoline;
	is_indirect = is_arm ? (word & 0xfedff000) == 0xd61f0000 : is_retpoline || is_indirect_x86(data, size);
	block->is_indirect = block->is_kernel && is_indirect;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, NO_REGS, block);
	for (size_t i = 0; i < n; i++) {
		struct insn *insn = qemu_plugin_tb_get_insn(tb, i);

		// The address identifies a string instruction, in whichever block it is.
		void *identity = (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn);

		if (!is_arm && is_repeated(qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_string_instruction, NO_REGS, identity);
		else
			block->nr_instructions++;
		block->nr_atomics += is_atomic(qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn));
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, NO_REGS, READ_WRITE, NULL);
	}
}

static void read_functions(void)
{
	FILE *file = fopen("functions", "r");
	char flags[16], side[32], part[32];

	strcpy(functions[0].name, "user");
	if (!file)
		fail("no file functions");
	for (struct function *f = &functions[1]; nr_functions + 1 < MAX_FUNCTIONS; f++, nr_functions++) {
		if (fscanf(file, "%lx %15s %31s %31s %79s", &f->address, flags, side, part, f->name) != 5)
			break;
		f->is_ignored = strchr(flags, 'i');
		f->is_vector = strchr(flags, 'v');
		f->is_switch = strchr(flags, 's');
		f->is_new_task = strchr(flags, 'n');
		f->side = name_index(side);
		f->part = name_index(part);
	}
	fclose(file);
}

API int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	is_arm = !strcmp(info->target_name, "aarch64");
	functions = calloc(MAX_FUNCTIONS, sizeof(*functions));
	counters = calloc(1u << COUNTER_BITS, sizeof(*counters));
	touched = calloc(1u << COUNTER_BITS, sizeof(struct counter *));
	lines = calloc(1u << LINE_BITS, sizeof(*lines));
	tasks = calloc(MAX_TASKS, sizeof(*tasks));
	if (!functions || !counters || !touched || !lines || !tasks)
		return -1;
	nr_names = 1; // 0 stays free, so that no key is 0
	side_user = part_user = name_index("user");
	side_entry = part_entry = name_index("entry");
	read_functions();
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
