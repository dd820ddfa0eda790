// SPDX-License-Identifier: GPL-2.0-or-later
// Lag and virtual deadline of one task over time, below the timeline and with its range of time (kernels with EEVDF).

const LAG_HEIGHT = 130;
/** States of a task after a sample, by their index in PHASE_TEXT. */
const RUNS = 1, SLEEPS = 2;
const PHASE_TEXT = ["waits", "runs", "sleeps", "sleeps, still queued"];

/** Decodes the samples of all tasks into one array per field, by thread. */
function decodeLags(lags) {
  const { number, isEnd } = reader(lags.samples), tasks = new Map();
  // Added to the state of a sample whose task has moved to a different CPU since the previous one.
  const MOVED = 4;
  const signed = () => { const value = number(); return value % 2 ? -(value + 1) / 2 : value / 2; };
  while (!isEnd()) {
    const thread = number(), nr = number();
    const task = { nr, at: new Float64Array(nr), phase: new Uint8Array(nr), moved: new Uint8Array(nr), lag: new Float64Array(nr), until: new Float64Array(nr) };
    let last = 0;
    for (let i = 0; i < nr; i++) {
      last = task.at[i] = last + number();
      const phase = number();
      task.phase[i] = phase % MOVED;
      task.moved[i] = phase >= MOVED;
      task.lag[i] = signed();
      task.until[i] = signed();
    }
    tasks.set(thread, task);
  }
  return { tasks, resolution_ns: lags.resolution_ns };
}

/** Fills the list of tasks, those that ran as fair tasks. The task with the largest lag is chosen. */
function fillLagTasks() {
  $("lags").hidden = !run.lags;
  if (!run.lags) return;
  const tasks = [...run.lags.tasks].filter(([thread, { phase }]) => !run.threads[thread][2] && phase.includes(RUNS));
  const largest = ([, { lag }]) => lag.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
  const options = tasks.map(([thread]) => new Option(`${taskName(thread)} (pid ${run.threads[thread][1]})`, thread));
  const ranks = tasks.map(largest);
  $("lagtask").replaceChildren(...options);
  $("lagtask").selectedIndex = ranks.indexOf(Math.max(...ranks));
}

/** Chooses a task, if it has lags. */
function chooseLagTask(thread) {
  const options = [...$("lagtask").options].map(({ value }) => Number(value));
  if (options.includes(thread)) $("lagtask").selectedIndex = options.indexOf(thread);
}

/** The chosen task, or undefined. */
const lagTask = () => run.lags?.tasks.get(Number($("lagtask").value));

/** The last sample at or before a time, or 0. */
function sampleBefore(task, ns) {
  let low = 0, high = task.nr;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (task.at[middle] <= ns) low = middle + 1; else high = middle;
  }
  return Math.max(0, low - 1);
}

function drawLags() {
  const task = lagTask();
  if (!task) return;
  const { g, width } = surface("lag", LAG_HEIGHT + AXIS);
  const first = sampleBefore(task, view.from), last = Math.min(task.nr - 1, sampleBefore(task, view.to) + 1);
  let max = 1e3;
  for (let i = first; i <= last; i++) max = Math.max(max, Math.abs(task.lag[i]), Math.abs(task.until[i]));
  const y = (value) => LAG_HEIGHT / 2 - value / max * (LAG_HEIGHT / 2 - 8);
  timeAxis(g, { from: view.from, to: view.to, left: LEFT, right: width, bottom: LAG_HEIGHT });
  g.fillStyle = style("--quiet");
  g.textAlign = "right";
  for (const value of [max, 0, -max]) g.fillText(duration(value, 2), LEFT - 5, y(value));
  g.save();
  g.beginPath(); g.rect(LEFT, 0, width - LEFT, LAG_HEIGHT); g.clip();
  g.fillStyle = style("--chosen");
  for (let i = first; i <= last; i++) {
    if (task.phase[i] !== RUNS) continue;
    const start = timeToX(task.at[i], width), end = timeToX(i + 1 < task.nr ? task.at[i + 1] : run.length_ns, width);
    g.fillRect(start, 0, Math.max(1, end - start), LAG_HEIGHT);
  }
  g.strokeStyle = style("--line");
  g.beginPath(); g.moveTo(LEFT, y(0)); g.lineTo(width, y(0)); g.stroke();
  lagLine(g, { task, first, last, width, y, of: task.until, colour: category(1), dash: [5, 3] });
  lagLine(g, { task, first, last, width, y, of: task.lag, colour: category(0), dash: [] });
  g.restore();
}

/** Draws a line through the samples of a task while it is queued on one CPU. */
function lagLine(g, { task, first, last, width, y, of, colour, dash }) {
  g.strokeStyle = colour;
  g.lineWidth = 1.5;
  g.setLineDash(dash);
  g.beginPath();
  let isOpen = false;
  for (let i = first; i <= last; i++) {
    const x = timeToX(task.at[i], width), isQueued = task.phase[i] !== SLEEPS;
    if (task.moved[i]) isOpen = false;
    // The lag of a task that leaves is its last one; a deadline has a meaning only while the task is queued.
    if (isOpen && (isQueued || of === task.lag)) g.lineTo(x, y(of[i]));
    if (!isOpen && isQueued) g.moveTo(x, y(of[i]));
    isOpen = isQueued;
  }
  g.stroke();
  g.lineWidth = 1;
  g.setLineDash([]);
}

/** A sample in words. */
function lagText(task, i) {
  const thread = Number($("lagtask").value), isQueued = task.phase[i] !== SLEEPS;
  const deadline = isQueued ? `, virtual deadline in ${duration(task.until[i])}` : "";
  return `${instant(task.at[i])}: ${taskName(thread)} ${PHASE_TEXT[task.phase[i]]}, lag ${duration(task.lag[i])}${deadline}`;
}

function drawLagLegend() {
  if (!run.lags) return;
  $("laglegend").replaceChildren(legendItem(category(0), "lag: positive if the task is owed CPU time", "solid"),
    legendItem(category(1), "virtual time until its deadline", "dashed"), legendItem(style("--chosen"), "runs"));
  const exact = run.lags.resolution_ns
    ? `Of samples closer than ${duration(run.lags.resolution_ns)} only the one with the largest lag is drawn.`
    : "Samples: each wake-up of the task and each switch from or to it.";
  const gaps = "There is no line where the task moves to a different CPU.";
  $("lagnote").textContent = `In virtual time: ns of a task with nice value 0. ${exact} ${gaps}`;
}

function listenToLags() {
  $("lagtask").onchange = () => { drawLags(); $("lagvalue").textContent = ""; };
  $("lag").addEventListener("pointermove", (event) => {
    const task = lagTask(), box = $("lag").getBoundingClientRect();
    if (!task || event.clientX - box.left < LEFT) return;
    const at = view.from + (event.clientX - box.left - LEFT) / (box.width - LEFT) * (view.to - view.from);
    $("lagvalue").textContent = lagText(task, sampleBefore(task, at));
  });
}
