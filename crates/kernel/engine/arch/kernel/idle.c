// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The loop of the idle task, divided where the machine takes over: it is entered, it is left, it reschedules.
 */
#include "local.h"
#include <linux/cpuidle.h>

static bool is_stopped[NR_CPUS];
static struct cpuidle_state state_of[NR_CPUS];
DEFINE_PER_CPU(struct cpuidle_device *, cpuidle_devices);

bool tick_nohz_tick_stopped(void) { return is_stopped[fl_state.cpu]; }
bool tick_nohz_tick_stopped_cpu(int cpu) { return is_stopped[cpu]; }
int fl_tick_is_stopped(int cpu) { return is_stopped[cpu]; }

/* The tick follows the machine's idle governor, unless balancing for other CPUs has produced work. */
void fl_idle_enter(int cpu, int tick)
{
	fl_execute_on(cpu);
	if (fl_is_dying(cpu)) {
		fl_die(cpu);
		return;
	}
#ifdef FL_RUN_IDLE_BALANCE
	nohz_run_idle_balance(cpu);
#endif
	/* In that case the loop is entered again. */
	if (fl_has_left() || need_resched() || tick == FL_TICK_GOES_ON)
		return;
	fl_place[cpu].idle_calls++;
	if (is_stopped[cpu] || tick == FL_TICK_IS_KEPT)
		return;
	fl_state.irqs_off = 1;
	calc_load_nohz_start();
	nohz_balance_enter_idle(cpu);
	is_stopped[cpu] = true;
	fl_state.irqs_off = 0;
}

void fl_idle_exit(int cpu)
{
	fl_execute_on(cpu);
	if (!is_stopped[cpu])
		return;
	is_stopped[cpu] = false;
	calc_load_nohz_stop();
}

/*
 * Work of a task before it returns to user mode: there newer trees take the tasks of a throttled group away.
 */
static void before_user_mode(void)
{
	while (current->task_works) {
		clear_thread_flag(TIF_NOTIFY_RESUME);
		task_work_run();
		if (need_resched())
			schedule();
	}
}

/*
 * An idle task first runs the functions that are queued for its CPU.
 *
 * A kernel leaves the loop of schedule_idle() with the switch to a task, and a task that is throttled right after its
 * switch is rescheduled by a loop of its own. Here the loop of the idle task goes on, which drops that request if no
 * task is left (SM_IDLE, since 6.12).
 */
void fl_reschedule(int cpu)
{
	fl_execute_on(cpu);
	if (!is_idle_task(current)) {
		if (need_resched())
			schedule();
		before_user_mode();
		return;
	}
	flush_smp_call_function_queue();
	fl_softirqs();
	if (need_resched())
		schedule_idle();
	if (!is_idle_task(current) && !cpu_rq(cpu)->nr_running) {
		set_tsk_need_resched(current);
		if (schedstat_enabled())
			cpu_rq(cpu)->sched_count--;	/* the switch that the loop did not make */
	}
}

int fl_duty(int cpu)
{
	struct task_struct *now = fl_state.running[cpu];

	if (test_tsk_need_resched(now) || now->task_works)
		return FL_DUTY_RESCHEDULE;
	if (is_idle_task(now))
		return FL_DUTY_IDLE;
	return now == fl_stopper_of(cpu) ? FL_DUTY_STOPPER : FL_DUTY_TASK;
}

unsigned int fl_running(int cpu) { return task_thread_info(fl_state.running[cpu])->id; }

/*
 * The PM QoS latency limit changes: all idle CPUs choose their states again. That includes the CPU that
 * executes, which is busy in a kernel but may be idle here.
 */
void fl_wake_idle(int cpu)
{
	fl_execute_on(cpu);
	wake_up_all_idle_cpus();
	wake_up_if_idle(cpu);
}

/* Sets the exit latency of a CPU's idle state, in ns; less than 0: it is in none. */
void fl_exit_latency(int cpu, long long ns)
{
	struct cpuidle_state *state = &state_of[cpu];

	state->exit_latency_ns = ns;
	state->exit_latency = div_s64(ns, NSEC_PER_USEC);
	idle_set_state(cpu_rq(cpu), ns < 0 ? NULL : state);
}
