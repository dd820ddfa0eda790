// SPDX-License-Identifier: GPL-2.0-or-later
// Metrics by task family, of one run, of two beside each other, or of many.
import { element, fillTable } from "./dom.mjs";
import { count, duration, energy, plural } from "./format.mjs";

/**
 * @typedef {import("./arm.mjs").Arm} Arm
 * @typedef {import("./client.mjs").Family} Family
 * @typedef {import("./client.mjs").Summary} Summary
 * @typedef {object} Metric
 * @property {string} name
 * @property {(family: Family) => number | null | undefined} of
 * @property {(summary: Summary) => number | null | undefined} [total]
 * @property {(value: number) => string} text
 * @property {string} help Definition.
 */

/** Percentiles of a latency. @param {string} name @param {"wake_to_run" | "wakeup_latency"} key @param {string} help @returns {Metric[]} */
const latencies = (name, key, help) => /** @type {["p50_ns", "p99_ns", "max_ns"]} */ (["p50_ns", "p99_ns", "max_ns"]).map((field) => (
  { name: `${name} ${field.replace("_ns", "")}`, of: (family) => family[key]?.[field], text: duration, help }));

/** @type {Metric[]} */
const METRICS = [
  ...latencies("wake-up latency", "wake_to_run", "from the cause of a wake-up until the task runs"),
  ...latencies("runqueue latency", "wakeup_latency", "from sched_wakeup to sched_switch"),
  { name: "CPU time", of: (family) => family.run_ns, total: ({ totals }) => totals.busy_ns, text: duration, help: "time on a CPU, summed over tasks" },
  { name: "waiting", of: (family) => family.wait_ns, total: ({ totals }) => totals.wait_ns, text: duration, help: "time runnable without a CPU, summed over tasks" },
  { name: "wake-ups", of: (family) => family.wakeups, total: ({ totals }) => totals.wakeups, text: count, help: "wake-ups, without forks" },
  { name: "switches", of: (family) => family.voluntary_switches + family.involuntary_switches, total: ({ totals }) => totals.switches, text: count,
    help: "switches away from a task; in the last row all switches" },
  { name: "migrations", of: (family) => family.migrations, total: ({ totals }) => totals.migrations, text: count, help: "migrations to another CPU" },
  { name: "missed timers", of: (family) => family.timers?.missed, total: ({ families }) => sumOf(families.map(({ timers }) => timers?.missed)), text: count,
    help: "periods whose timer had expired before the task came to it" },
  { name: "energy", of: (family) => family.residency?.energy_uj, total: (summary) => summary.energy?.busy_uj, text: energy, help: "energy of CPUs while they were busy" },
  { name: "tasks", of: (family) => family.tasks, total: ({ totals }) => totals.tasks, text: count, help: "tasks that were forked" },
];

/** Families in the table, those with the most CPU time. */
const MAX_FAMILIES = 200;
/** Rows of the overview. */
const MAX_ROWS = 20;
/** Factor at which a bar of the overview ends. */
const MAX_FACTOR = 10;

/** @param {unknown} value @returns {value is number} */
const isNumber = (value) => typeof value === "number";

/** The sum of those values that are numbers; undefined if none is. @param {(number | undefined)[]} values */
function sumOf(values) {
  const numbers = values.filter(isNumber);
  return numbers.length > 0 ? numbers.reduce((sum, value) => sum + value, 0) : undefined;
}

/** The difference of a value to another. @param {number} value @param {number} before @param {(value: number) => string} text */
function difference(value, before, text) {
  if (value === before) return "\u00b10";
  if (before === 0) return `+${text(value)}`;
  const change = 100 * (value - before) / before;
  return `${change > 0 ? "+" : "\u2212"}${Math.abs(change).toFixed(Math.abs(change) < 100 ? 1 : 0)} %`;
}

/** Names of all families, the one with the most CPU time first. @param {Arm[]} arms */
export function rankedFamilies(arms) {
  /** @type {Map<string, number>} */
  const times = new Map();
  for (const { name, run_ns } of arms.flatMap((arm) => arm.ended?.summary.families ?? [])) times.set(name, (times.get(name) ?? 0) + run_ns);
  return [...times.keys()].sort((left, right) => (times.get(right) ?? 0) - (times.get(left) ?? 0));
}

/** Summaries of runs, with their families by name. @param {Arm[]} arms */
function summariesOf(arms) {
  const summaries = arms.flatMap((arm) => arm.ended ? [arm.ended.summary] : []);
  return summaries.map((summary) => ({ summary, families: new Map(summary.families.map((family) => [family.name, family])) }));
}

/** A cell with the values of both arms. @param {Metric} metric @param {(number | null | undefined)[]} values @param {number} most Value whose bar is full, or 0. */
function valueCell(metric, values, most) {
  const [value, second] = values.map((value) => isNumber(value) ? metric.text(value) : "\u2013");
  const cell = element("td", { textContent: value }), [a, b] = values;
  if (isNumber(a) && most > 0) {
    cell.classList.add("bar");
    cell.style.setProperty("--share", `${(100 * a / most).toFixed(1)}%`);
  }
  if (values.length > 1) {
    const change = isNumber(a) && isNumber(b) ? difference(b, a, metric.text) : "";
    const isSame = change === "\u00b10";
    cell.append(element("small", { textContent: isSame ? "\u00b10" : `${second} ${change}`.trim(), className: isSame ? "" : "changed" }));
  }
  return cell;
}

/** Fills the table of metrics: a row for each family, and one for all tasks. @param {string} id @param {Arm[]} arms One or two. @returns {string} Note about the table. */
export function showMetrics(id, arms) {
  const runs = summariesOf(arms), names = rankedFamilies(arms), shown = names.slice(0, MAX_FAMILIES);
  const valuesOf = (/** @type {Metric} */ metric, /** @type {string} */ name) => runs.map(({ families }) => {
    const family = families.get(name);
    return family && metric.of(family);
  });
  const metrics = METRICS.filter((metric) => names.some((name) => valuesOf(metric, name).some((value) => isNumber(value))));
  const rows = shown.map((name) => [element("th", { scope: "row", textContent: name }), ...metrics.map((metric) => {
    const most = Math.max(0, ...shown.map((other) => valuesOf(metric, other)[0] ?? 0));
    return valueCell(metric, valuesOf(metric, name), most);
  })]);
  const total = metrics.map((metric) => valueCell(metric, runs.map(({ summary }) => metric.total?.(summary)), 0));
  const heads = metrics.map(({ name, help }) => element("th", { scope: "col", textContent: name, title: help }));
  fillTable(id, ["Family", ...heads], [...rows, [element("th", { scope: "row", textContent: "all" }), ...total]]);
  const left = names.length - shown.length, lines = runs.length > 1 ? "First line arm A, second line arm B. " : "";
  return `${lines}Bars compare the families of a column.${left > 0 ? ` ${plural(left, "more family").replace("familys", "families")} with less CPU time.` : ""}`;
}

/** Fills the overview of more than two runs: the metrics that differ most, as factors of the first run. @param {string} id @param {Arm[]} arms */
export function showOverview(id, arms) {
  const runs = summariesOf(arms);
  const rows = rankedFamilies(arms).slice(0, MAX_FAMILIES).flatMap((name) => METRICS.map((metric) => {
    const values = runs.map(({ families }) => {
      const family = families.get(name);
      return family ? metric.of(family) ?? 0 : 0;
    });
    const logs = values.map((value) => value > 0 && values[0] > 0 ? Math.log(value / values[0]) : 0);
    return { name, metric, values, logs, range: Math.max(...logs) - Math.min(...logs) };
  }));
  rows.sort((left, right) => right.range - left.range);
  fillTable(id, ["Family, metric", ...arms.map(({ name }) => name)], rows.filter(({ range }) => range > 0).slice(0, MAX_ROWS).map(({ name, metric, values, logs }) => [
    element("th", { scope: "row", textContent: `${name}, ${metric.name}`, title: metric.help }),
    ...values.map((value, index) => {
      const cell = element("td", { textContent: metric.text(value), className: "factor" }), share = Math.max(-1, Math.min(1, logs[index] / Math.log(MAX_FACTOR)));
      cell.style.setProperty("--from", `${50 + 50 * Math.min(0, share)}%`);
      cell.style.setProperty("--to", `${50 + 50 * Math.max(0, share)}%`);
      if (index > 0 && logs[index] !== 0) cell.append(element("small", { textContent: `\u00d7${Math.exp(logs[index]).toPrecision(3)}` }));
      return cell;
    }),
  ]));
}
