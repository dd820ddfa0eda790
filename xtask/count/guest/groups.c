// SPDX-License-Identifier: GPL-2.0-or-later
// Task groups: nested ones for the calling process, and many with a task each.
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_GROUPS = 64 };
static pid_t group_tasks[MAX_GROUPS];
static int nr_group_tasks;

static bool put(const char *directory, const char *file, const char *text)
{
	char path[256];
	int fd;
	bool is_written;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_WRONLY);
	is_written = fd >= 0 && write(fd, text, strlen(text)) > 0;
	if (!is_written)
		printf("cannot write %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return is_written;
}

static bool mount_groups(void)
{
	static bool is_mounted;

	if (is_mounted)
		return true;
	mkdir("/cg", 0755);
	if (mount("cg", "/cg", "cgroup2", 0, NULL)) {
		perror("mount cgroup2");
		return false;
	}
	is_mounted = put("/cg", "cgroup.subtree_control", "+cpu");
	return is_mounted;
}

// Moves the process into the innermost of nested groups. Returns whether that is possible.
bool enter_group(int depth)
{
	char path[128] = "/cg";

	if (!mount_groups())
		return false;
	for (int i = 0; i < depth; i++) {
		if (i && !put(path, "cgroup.subtree_control", "+cpu"))
			return false;
		strcat(path, "/nested");
		mkdir(path, 0755);
	}
	return put(path, "cgroup.procs", "0");
}

// Moves the process back to the root group and removes nested ones.
void leave_groups(void)
{
	char path[128] = "/cg/nested/nested/nested/nested/nested";

	put("/cg", "cgroup.procs", "0");
	while (strlen(path) > 3) {
		rmdir(path);
		*strrchr(path, '/') = 0;
	}
}

// Runs shortly every 200 ms: the group keeps some load, and CPUs are not busy even if instructions are slow.
static void run_now_and_then(void)
{
	struct timespec pause = { 0, 200000000 };

	for (;;) {
		for (volatile int i = 0; i < 300; i++)
			;
		nanosleep(&pause, NULL);
	}
}

// Starts a task in each of several groups, on the CPU of the caller.
void start_group_tasks(int nr_groups)
{
	char path[64];

	if (!mount_groups())
		return;
	for (nr_group_tasks = 0; nr_group_tasks < nr_groups; nr_group_tasks++) {
		pid_t child;

		snprintf(path, sizeof(path), "/cg/busy%d", nr_group_tasks);
		mkdir(path, 0755);
		child = fork();
		if (!child) {
			put(path, "cgroup.procs", "0");
			run_now_and_then();
		}
		group_tasks[nr_group_tasks] = child;
	}
	usleep(300000);
}

void stop_group_tasks(void)
{
	char path[64];

	for (int i = 0; i < nr_group_tasks; i++) {
		kill(group_tasks[i], SIGKILL);
		waitpid(group_tasks[i], NULL, 0);
		snprintf(path, sizeof(path), "/cg/busy%d", i);
		rmdir(path);
	}
}
