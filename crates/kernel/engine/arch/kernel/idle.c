// SPDX-License-Identifier: GPL-2.0-or-later
/* The idle task's loop, cut where the laboratory comes between: it enters, it is left, it reschedules. */
#include "local.h"

static bool is_stopped[NR_CPUS];

bool tick_nohz_tick_stopped(void) { return is_stopped[fl_state.cpu]; }
bool tick_nohz_tick_stopped_cpu(int cpu) { return is_stopped[cpu]; }
int fl_tick_is_stopped(int cpu) { return is_stopped[cpu]; }

/* The tick stops if the laboratory's idle governor wants it to, unless balancing for others has brought work. */
void fl_idle_enter(int cpu, int stops_tick)
{
	fl_execute_on(cpu);
	fl_place[cpu].idle_calls++;
	nohz_run_idle_balance(cpu);
	if (need_resched() || is_stopped[cpu] || !stops_tick)
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

/* An idle task first does what is queued for its CPU. */
void fl_reschedule(int cpu)
{
	fl_execute_on(cpu);
	if (!is_idle_task(current)) {
		schedule();
		return;
	}
	flush_smp_call_function_queue();
	fl_softirqs();
	if (need_resched())
		schedule_idle();
}

int fl_duty(int cpu)
{
	struct task_struct *now = fl_state.running[cpu];

	if (test_tsk_need_resched(now))
		return FL_DUTY_RESCHEDULE;
	if (is_idle_task(now))
		return FL_DUTY_IDLE;
	return now == fl_stopper_of(cpu) ? FL_DUTY_STOPPER : FL_DUTY_TASK;
}

unsigned int fl_running(int cpu) { return task_thread_info(fl_state.running[cpu])->id; }
