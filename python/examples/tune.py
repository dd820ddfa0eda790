# SPDX-License-Identifier: GPL-2.0-or-later
"""Tune for latency and energy.

Optuna looks for settings of the scheduler at which a phone's frames are in time and little energy is used. What comes is no single answer but
the front of those settings of which none is better in both.
"""

# %%
import sys

import fairlab
import optuna

trials = int(sys.argv[1]) if len(sys.argv) > 1 else 40
work = fairlab.Workload.of(
    fairlab.periodic("frame", period_ms=16.667, run_ms=4),
    fairlab.periodic("audio", period_ms=5, run_ms=0.4),
    fairlab.periodic("pool", period_ms=8, run_ms=2, instance=4),
)


# %%
def objective(trial: optuna.Trial) -> tuple[float, float]:
    params = {
        "governor": trial.suggest_categorical("governor", ["schedutil", "performance", "powersave"]),
        "wakeup_granularity_ns": trial.suggest_int("wakeup_granularity_ns", 100_000, 10_000_000, log=True),
        "migration_cost_ns": trial.suggest_int("migration_cost_ns", 10_000, 5_000_000, log=True),
        "TTWU_QUEUE": trial.suggest_categorical("TTWU_QUEUE", [True, False]),
    }
    told = fairlab.evaluate(params, workload=work, machine="hikey960", for_=1, metrics=["frame: wake to run p99", "energy.busy_uj"])
    return told["frame: wake to run p99"] / 1e3, told["energy.busy_uj"] / 1e6


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(directions=["minimize", "minimize"], sampler=optuna.samplers.NSGAIISampler(seed=1))
study.optimize(objective, n_trials=trials)

# %%
for best in sorted(study.best_trials, key=lambda trial: trial.values):
    latency, energy = best.values
    print(f"p99 {latency:8.1f} us  {energy:.3f} J  {best.params}")
