// SPDX-License-Identifier: GPL-2.0-or-later
// Tables and charts below the timeline.

// Metrics by task family ---------------------------------------------------------------------------------------------------------

/**
 * Columns of the table of metrics. `of` reads a family of a summary, `total` a summary; both may find nothing. `help` is the
 * definition of the metric.
 */
const METRICS = [
  { name: "tasks", of: (f) => f.tasks, total: (s) => s.totals.tasks, text: count, help: "tasks that were forked" },
  { name: "CPU time", of: (f) => f.run_ns, total: (s) => s.totals.busy_ns, text: duration, help: "time on a CPU, summed over tasks" },
  { name: "waiting", of: (f) => f.wait_ns, total: (s) => s.totals.wait_ns, text: duration, help: "time runnable without a CPU, summed over tasks" },
  { name: "wake-ups", of: (f) => f.wakeups, total: (s) => s.totals.wakeups, text: count, help: "wake-ups, without forks" },
  ...[["p50", "p50_ns"], ["p99", "p99_ns"], ["max", "max_ns"]].map(([name, key]) => ({ group: "wake-up latency", name,
    of: (f) => f.wake_to_run?.[key], text: duration, help: "from the cause of a wake-up until the task runs" })),
  ...[["p50", "p50_ns"], ["p99", "p99_ns"], ["max", "max_ns"]].map(([name, key]) => ({ group: "runqueue latency", name,
    of: (f) => f.wakeup_latency?.[key], text: duration, help: "from sched_wakeup to sched_switch" })),
  { name: "switches", of: (f) => f.voluntary_switches + f.involuntary_switches, total: (s) => s.totals.switches, text: count,
    help: "switches away from a task; in the last row all switches" },
  { name: "migrations", of: (f) => f.migrations, total: (s) => s.totals.migrations, text: count, help: "migrations to another CPU" },
  { name: "missed timers", of: (f) => f.timers?.missed, total: (s) => sumOf(s.families.map((f) => f.timers?.missed)), text: count,
    help: "periods whose timer had expired before the task came to it" },
  { name: "energy", of: (f) => f.residency?.energy_uj, total: (s) => s.energy?.busy_uj, text: energy,
    help: "energy of CPUs while they were busy" },
];
/** An energy with three digits. */
function energy(uj) {
  if (uj < 1e3) return `${uj} µJ`;
  return uj < 1e6 ? `${(uj / 1e3).toPrecision(3)} mJ` : `${(uj / 1e6).toPrecision(3)} J`;
}

/** Number of families in the table, those with the most CPU time. */
const MAX_FAMILIES = 200;

/** The sum of those values that are numbers; undefined if none is. */
function sumOf(values) {
  const numbers = values.filter(isNumber);
  return numbers.length ? numbers.reduce((sum, value) => sum + value, 0) : undefined;
}

/** The difference of a value to that of the base run; an empty text if either is missing. */
function difference(value, before, text) {
  if (!isNumber(value) || !isNumber(before)) return "";
  if (value === before) return "\u00b10";
  if (before === 0) return `+${text(value)}`;
  const change = 100 * (value - before) / before;
  return `${change > 0 ? "+" : "\u2212"}${Math.abs(change).toFixed(Math.abs(change) < 100 ? 1 : 0)} %`;
}

/** A cell with a value, a bar of its share, and the difference to the base run. */
function valueCell(value, text, share, change) {
  const cell = element("td", isNumber(value) ? text(value) : "\u2013");
  if (share > 0) {
    cell.classList.add("bar");
    cell.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
  }
  if (change !== null) cell.append(element("small", change));
  return cell;
}

/** The table of metrics: a row for each family of the run or of the base run, and one for all tasks. */
function drawMetrics() {
  const families = (run) => new Map(run.summary.families.map((family) => [family.name, family]));
  const own = families(run), before = families(base), isCompared = run !== base;
  const names = [...new Set([...own.keys(), ...before.keys()])];
  const largest = new Set(rankedFamilies.filter((name) => names.includes(name)).slice(0, MAX_FAMILIES));
  const shown = names.filter((name) => largest.has(name));
  const valueOf = (metric, family) => family && metric.of(family);
  const metrics = METRICS.filter((metric) => names.some((name) => isNumber(valueOf(metric, own.get(name))) || isNumber(valueOf(metric, before.get(name)))));
  const body = shown.map((name) => {
    const row = document.createElement("tr"), head = element("td", name);
    head.title = own.has(name) ? name : `${name}: only in the base run`;
    row.append(head, ...metrics.map((metric) => {
      const value = valueOf(metric, own.get(name));
      const most = Math.max(...shown.map((other) => valueOf(metric, own.get(other)) ?? 0));
      const change = isCompared ? difference(value, valueOf(metric, before.get(name)), metric.text) : null;
      return valueCell(value, metric.text, value / most || 0, change);
    }));
    return row;
  });
  const total = document.createElement("tr");
  total.className = "total";
  total.append(element("td", "all"), ...metrics.map((metric) => {
    const value = metric.total?.(run.summary);
    return valueCell(value, metric.text, 0, isCompared ? difference(value, metric.total?.(base.summary), metric.text) : null);
  }));
  const table = [document.createElement("thead"), document.createElement("tbody")];
  table[0].append(...metricHeads(metrics));
  table[1].append(...body, total);
  $("metrics").replaceChildren(...table);
  const left = names.length - shown.length;
  const what = isCompared ? `Run ${run.name}; the second line of a cell is the difference to the base run ${base.name}.` : runs.length > 1 ? `Base run ${base.name}.` : "";
  $("metricsnote").textContent = `${what} Bars compare the families of a column.${left ? ` ${plural(left, "family").replace("familys", "families")} with less CPU time not shown.` : ""}`.trim();
}

/** Two rows of heads: groups of metrics, and metrics. */
function metricHeads(metrics) {
  const groups = document.createElement("tr"), names = document.createElement("tr");
  groups.append(element("th", "family"));
  names.append(element("th", ""));
  for (const [index, { group, name, help }] of metrics.entries()) {
    const head = element("th", group ? name : "");
    head.title = help;
    names.append(head);
    if (group && metrics[index - 1]?.group === group) {
      groups.lastChild.colSpan += 1;
    } else {
      const top = element("th", group ?? name);
      top.title = help;
      groups.append(top);
    }
  }
  return [groups, names];
}

// CPUs over time -----------------------------------------------------------------------------------------------------------------

/** The values that the heat map shows: what they are called, the greatest, and a value as text. */
const SERIES = {
  util: { title: "util_avg", most: () => 1024, text: (value) => `${value} of 1024`, ends: ["0", "1024"] },
  khz: { title: "frequency, share of the CPU's maximum", most: (cpu) => cpu.highest_khz || Infinity,
    text: (value) => value ? `${(value / 1000).toFixed(0)} MHz` : "no frequency is recorded", ends: ["0 %", "100 %"] },
  nr_running: { title: "runnable tasks", most: () => mostRunning(), text: (value) => `${(value / 100).toFixed(2)} tasks`,
    ends: ["0", () => (mostRunning() / 100).toFixed(1)] },
};

/** The most runnable tasks on a CPU, in hundredths, at least one task. */
const mostRunning = () => Math.max(100, ...run.cpus.map((cpu) => Math.max(...cpu.nr_running)));

const heatRowHeight = () => Math.max(2, Math.min(18, Math.floor(320 / run.cpus.length)));

/** Draws a bar with the colours from the least to the greatest value, and a title. */
function colourScale(g, x, y, title, [low, high]) {
  const text = (end) => typeof end === "function" ? end() : end, length = 80;
  g.fillStyle = style("--quiet");
  g.textAlign = "left";
  g.fillText(`${title}:  ${text(low)}`, x, y);
  const left = x + g.measureText(`${title}:  ${text(low)}`).width + 6;
  for (let at = 0; at < length; at++) {
    g.fillStyle = shade(at / (length - 1));
    g.fillRect(left + at, y - 6, 1.5, 12);
  }
  g.fillStyle = style("--quiet");
  g.fillText(text(high), left + length + 6, y);
}

function drawHeat() {
  const key = $("series").value, { title, most, ends } = SERIES[key], nr = run.cpus.length;
  const rowHeight = heatRowHeight(), bottom = nr * rowHeight;
  const { g, width } = surface("heat", bottom + AXIS + 24);
  timeAxis(g, { from: 0, to: run.length_ns, left: LEFT, right: width, bottom });
  rowLabels(g, nr, rowHeight, (place) => `CPU ${place}`);
  const step = (width - LEFT) / page.parts;
  run.cpus.forEach((cpu, place) => {
    const highest = most(cpu);
    cpu[key].forEach((value, part) => {
      g.fillStyle = shade(value / highest);
      g.fillRect(LEFT + part * step, place * rowHeight, step + .5, rowHeight - (rowHeight > 4 ? 1 : 0));
    });
  });
  colourScale(g, LEFT, bottom + AXIS + 12, title, ends);
  heatNote();
}

/** Describes the heat map, or one cell of it. */
function heatNote(cpu = null, part = 0) {
  const length = run.length_ns / page.parts;
  $("heatnote").textContent = cpu === null
    ? `Averages over ${page.parts} parts of the run, each ${duration(length)} long.`
    : `CPU ${cpu}, ${instant(part * length)} to ${instant((part + 1) * length)}: ${SERIES[$("series").value].text(run.cpus[cpu][$("series").value][part])}`;
}

function listenToHeat() {
  $("heat").addEventListener("pointermove", (event) => {
    const box = $("heat").getBoundingClientRect();
    const cpu = Math.floor((event.clientY - box.top) / heatRowHeight());
    const part = Math.floor((event.clientX - box.left - LEFT) / (box.width - LEFT) * page.parts);
    if (cpu >= 0 && cpu < run.cpus.length && part >= 0 && part < page.parts) heatNote(cpu, part); else heatNote();
  });
  $("heat").addEventListener("pointerleave", () => heatNote());
}

// Runqueue latency ---------------------------------------------------------------------------------------------------------------

/** Shares of wake-ups that have a line: each further one is ten times as rare, so that the tail has as much room as the rest. */
const SHARES = [0, .5, .9, .99, .999, .9999, .99999, .999999];
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
const DASH_STYLES = ["solid", "dashed", "dotted", "dashed"];

/** Draws the distribution of a family's runqueue latencies, for all runs. */
function drawLatency() {
  const name = $("family").value, { g, width, height } = surface("latency", 260);
  const curves = runs.map((run) => {
    const sizes = Object.entries(run.latencies[name] ?? {}).map(([size, nr]) => [Number(size), nr]).sort((a, b) => a[0] - b[0]);
    return { sizes, total: sizes.reduce((sum, [, nr]) => sum + nr, 0) };
  });
  const all = curves.flatMap(({ sizes }) => sizes.map(([size]) => size));
  const runColour = (index) => category(index);
  $("latencylegend").replaceChildren(...runs.map((run, index) => legendItem(runColour(index),
    curves[index].total ? `${run.name}: ${plural(curves[index].total, "wake-up")}` : `${run.name}: no wake-ups`, DASH_STYLES[index % DASH_STYLES.length])));
  $("latencynote").textContent = all.length
    ? "Runqueue latency is the time from sched_wakeup to sched_switch. A point of a line is the share of wake-ups with at most this latency."
    : "No task of this family was woken.";
  if (!all.length) return;
  const low = latencyOf(Math.min(...all)), high = latencyOf(Math.max(...all) + 1);
  const rarest = Math.min(...curves.filter(({ total }) => total).map(({ total }) => 1 / total));
  const left = 70, top = 34, bottom = height - 42, right = width - 12, decades = Math.max(1, Math.ceil(-Math.log10(rarest)));
  const x = (ns) => left + Math.log(ns / low) / Math.log(high / low) * (right - left);
  const y = (share) => bottom - Math.min(decades, -Math.log10(Math.max(1e-12, 1 - share))) / decades * (bottom - top);
  latencyAxes(g, { low, high, x, y, left, top, bottom, right });
  curves.forEach(({ sizes, total }, index) => {
    let below = 0;
    g.strokeStyle = runColour(index);
    g.lineWidth = 2;
    g.setLineDash(DASHES[index % DASHES.length]);
    g.beginPath();
    for (const [size, nr] of sizes) {
      g.lineTo(x(latencyOf(size)), y(below / total));
      below += nr;
      g.lineTo(x(latencyOf(size + 1)), y(below / total));
    }
    g.stroke();
  });
  g.setLineDash([]);
  g.lineWidth = 1;
}

function latencyAxes(g, { low, high, x, y, left, top, bottom, right }) {
  g.strokeStyle = style("--line");
  g.fillStyle = style("--quiet");
  g.textAlign = "right";
  let lastY = Infinity;
  for (const share of SHARES) {
    const at = y(share);
    if (lastY - at < 15) continue;
    lastY = at;
    g.beginPath(); g.moveTo(left, at); g.lineTo(right, at); g.stroke();
    g.fillText(`${Number((100 * share).toPrecision(6))} %`, left - 5, at);
  }
  g.textAlign = "center";
  let lastX = -Infinity;
  for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10) {
    for (const ns of [decade, 2 * decade, 5 * decade].filter((ns) => ns >= low && ns <= high)) {
      const at = x(ns), [unit, size] = UNITS.find(([, size]) => ns >= size) ?? ["ns", 1], text = `${ns / size} ${unit}`;
      const half = g.measureText(text).width / 2, middle = Math.min(at, right + 8 - half);
      if (middle - half < lastX + 14) continue;
      lastX = middle + half;
      g.beginPath(); g.moveTo(at, top); g.lineTo(at, bottom); g.stroke();
      g.fillText(text, middle, bottom + 12);
    }
  }
  g.fillText("runqueue latency (logarithmic)", (left + right) / 2, bottom + 31);
  g.textAlign = "left";
  g.fillText("share of wake-ups with at most this latency", 8, 14);
}

/** The least latency in ns that is counted under a number: an octave has `per_octave` numbers at equal distances. */
function latencyOf(size) {
  return 2 ** Math.floor(size / page.per_octave) * (1 + size % page.per_octave / page.per_octave);
}

// Selections, balancing, migrations, topology ------------------------------------------------------------------------------------

/** Fills a table: the first row has the heads. A cell is a text, or an element. */
function fillTable(id, rows) {
  $(id).replaceChildren(...rows.map((cells, index) => {
    const row = document.createElement("tr");
    row.append(...cells.map((cell) => typeof cell === "string" ? element(index ? "td" : "th", cell) : cell));
    return row;
  }));
}

function drawTables() {
  const counted = (rows) => {
    const total = rows.reduce((sum, [, nr]) => sum + nr, 0) || 1;
    return rows.sort((a, b) => b[1] - a[1]).map(([name, nr]) => [String(name), valueCell(nr, count, nr / total, null), percent(nr / total)]);
  };
  const pairs = (object) => Object.entries(object ?? {}).filter(([, nr]) => isNumber(nr) && nr > 0);
  const list = run.summary.selection.by_rule;
  const rules = Array.isArray(list) ? list.map((row) => Array.isArray(row) ? row : [row.rule ?? row.name, row.count]) : pairs(list);
  fillTable("rules", [["rule", "selections", "share"], ...counted(rules)]);
  fillTable("balance", [["event", "number"], ...pairs(run.summary.balance).map(([name, nr]) => [name.replaceAll("_", " "), count(nr)])]);
  const scanned = pairs(run.scanned).map(([nr, times]) => [plural(Number(nr), "CPU"), times]);
  fillTable("scanned", [["scanned", "wake-ups", "share"], ...counted(scanned).slice(0, 24)]);
}

/** Draws how many tasks migrated from each CPU to each CPU. */
function drawMigrations() {
  const nr = Math.ceil(run.cpus.length / run.cpus_per_cell), top = 22;
  const size = Math.max(3, Math.min(26, Math.floor(Math.min($("migrations").clientWidth - LEFT, 520) / nr)));
  const { g } = surface("migrations", top + nr * size + AXIS + 24);
  const most = Math.max(1, ...run.migrations.map(([, , number]) => number));
  g.fillStyle = style("--quiet");
  g.textAlign = "left";
  g.fillText("rows: from CPU, columns: to CPU", 8, 11);
  for (const [from, to, number] of run.migrations) {
    g.fillStyle = shade(Math.log(1 + number) / Math.log(1 + most));
    g.fillRect(LEFT + to * size, top + from * size, size - (size > 4 ? 1 : 0), size - (size > 4 ? 1 : 0));
  }
  g.fillStyle = style("--quiet");
  for (let place = 0; place < nr; place += Math.ceil(26 / size)) {
    g.textAlign = "right";
    g.fillText(place * run.cpus_per_cell, LEFT - 5, top + place * size + size / 2);
    g.textAlign = "center";
    g.fillText(place * run.cpus_per_cell, LEFT + place * size + size / 2, top + nr * size + AXIS / 2);
  }
  colourScale(g, 8, top + nr * size + AXIS + 12, "migrations (logarithmic)", ["0", count(most)]);
  const total = run.migrations.reduce((sum, [, , number]) => sum + number, 0);
  const cells = run.cpus_per_cell > 1 ? ` A cell stands for ${run.cpus_per_cell} CPUs.` : "";
  $("migrationsnote").textContent = `${plural(total, "migration")}; at most ${count(most)} from one CPU to another.${cells}`;
}

/** Draws nodes, caches and cores as boxes. */
function drawTopology() {
  const boxes = (parent, cpus, levels) => {
    const [level, ...rest] = levels;
    if (!level) {
      for (const cpu of cpus) {
        const box = element("span", cpu);
        box.title = `CPU ${cpu}: capacity ${run.cpus[cpu].capacity} of 1024`;
        parent.append(box);
      }
      return;
    }
    const units = new Map();
    for (const cpu of cpus) units.set(run.cpus[cpu][level], [...(units.get(run.cpus[cpu][level]) ?? []), cpu]);
    if (units.size === cpus.length || (units.size === 1 && level === "core")) return boxes(parent, cpus, rest);
    for (const [unit, own] of units) {
      const box = document.createElement("div");
      if (level !== "core") box.append(element("b", `${level} ${unit}`));
      boxes(box, own, rest);
      parent.append(box);
    }
  };
  $("topology").replaceChildren();
  boxes($("topology"), run.cpus.map((_, cpu) => cpu), ["node", "llc", "core"]);
}
