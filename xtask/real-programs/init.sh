#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# First process of the guest of `cargo xtask real-programs` and `cargo xtask background`: prepares the system, and runs /script, which uses the functions below.
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin HOME=/
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tracefs tracefs /sys/kernel/tracing
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /etc
echo '127.0.0.1 localhost' >/etc/hosts
mount -t tmpfs shm /dev/shm
ip link set lo up
# The C library resolves names only with an address beside 127.0.0.1.
ip address add 10.0.0.1/8 dev lo
cd /tmp
T=/sys/kernel/tracing
echo x86-tsc >$T/trace_clock
echo 60000 >$T/buffer_size_kb

# Marks the begin or end of an untraced run, with the number of context switches since boot.
mark() {
	read -r words </tmp/switches
	echo "$1 $words" >$T/trace_marker
}

# quiet COMMAND...: runs a command without events between its marks.
quiet() {
	echo 1 >$T/tracing_on
	grep ctxt /proc/stat >/tmp/switches
	mark begin
	"$@" >/tmp/output 2>&1 || cat /tmp/output
	grep ctxt /proc/stat >/tmp/switches
	mark end
	echo 0 >$T/tracing_on
	cat $T/trace
	echo >$T/trace
}

# traced COMMAND...: records the system calls, switches, wake-ups and forks of a command.
traced() {
	for event in raw_syscalls sched/sched_switch sched/sched_waking sched/sched_process_fork irq_vectors/local_timer_entry; do
		echo 1 >$T/events/$event/enable
	done
	echo 1 >$T/tracing_on
	"$@" >/tmp/output 2>&1 || cat /tmp/output
	echo 0 >$T/tracing_on
	echo 0 >$T/events/enable
	cat $T/trace
	echo >$T/trace
}

# background SECONDS: records the threads, timers and softirqs that run while the shell sleeps.
background() {
	for event in sched/sched_switch timer/timer_start timer/timer_expire_entry timer/timer_expire_exit irq/softirq_entry irq/softirq_exit \
		workqueue/workqueue_execute_start irq_vectors/local_timer_entry; do
		echo 1 >$T/events/$event/enable
	done
	echo 1 >$T/tracing_on
	sleep $1
	echo 0 >$T/tracing_on
	echo 0 >$T/events/enable
	cat $T/trace
	echo >$T/trace
}

# load: keeps every CPU busy with a loop in user space.
load() {
	for cpu in $(seq $(nproc)); do
		sh -c 'while :; do :; done' &
	done
}

echo 0 >$T/tracing_on
echo >$T/trace
echo "KERNEL $(uname -r)"
. /script
echo DONE
poweroff -f
