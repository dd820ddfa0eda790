# SPDX-License-Identifier: GPL-2.0-or-later
"""Does it make a difference? An experiment with statistics, and its answer in the form that a mailing list knows."""

# %%
import fairlab

# %% A limit of the search for idle CPUs came with 6.0. Ten repetitions, each with its own seed, in both arms the same.
found = fairlab.compare(
    bench="hackbench -g 2 -l 20",
    machine="xeon-1s-112",
    arms={"5.19": {"kernel": "5.19"}, "6.1": {"kernel": "6.1"}},
    runs=10,
    metric=["time", "CPUs scanned"],
)
print(found)

# %% The same for an answer to a patch.
print(found.text("mmtests"))

# %% Every run, for a picture.
print(found.runs.column_names, len(found.runs))
