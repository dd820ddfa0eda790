// SPDX-License-Identifier: GPL-2.0-or-later
// Comparison of repetitions: a table of the arms with the intervals of their changes, and notes on the method.
import { byId, element, fillTable, textElement } from "./dom.mjs";

/**
 * The fields of `RowTexts` in `crates/experiment/src/report/compared.rs`.
 * @typedef {{ metric: string, values: [string, string], change: string, verdict: string, factor: number | null,
 *   factor_interval: [number, number] | null, p_corrected: number | null, could_show_percent: number | null }} RowTexts
 * @typedef {{ rows: RowTexts[], others: string, other_rows: RowTexts[] }} ArmTable
 * @typedef {{ title: string, arms: string[], command: string[], comparison: { repetitions: number }, verdicts: { text: string }[], notes: { kind: string, text: string }[],
 *   tables: ArmTable[] }} ComparedArms
 */

/** Factors at which the axis of the bars can end. */
const AXIS_ENDS = [1.1, 1.25, 1.5, 2, 4, 10, 100];
/** Kinds of notes on the method, which follow all metrics. */
const METHOD = ["repetitions", "per-second", "equal-work", "repeated-tests", "tests", "intervals", "needed-repetitions", "partial"];
/** Rows of the table, those that change most. */
const MAX_ROWS = 60;

/** Shows a comparison. @param {ComparedArms} compared @param {string[]} titles Short names of the arms. */
export function showComparison({ arms, tables, notes }, titles = arms) {
  byId("repeated").hidden = false;
  const ranked = rankedMetrics(tables), shown = ranked.slice(0, MAX_ROWS), nrLeft = ranked.length - shown.length;
  const all = tables.map(({ rows, other_rows }) => new Map([...rows, ...other_rows].map((row) => [row.metric, row])));
  byId("changes-scroll").hidden = shown.length === 0;
  const end = axisEnd(shown.flatMap((metric) => all.map((rows) => rows.get(metric))));
  fillTable("changes", headOf(titles), shown.map((metric) => rowOf(metric, all.map((rows) => rows.get(metric)), end)));
  byId("changes-note").textContent = shown.length === 0 ? ""
    : `Bars: factor of the first arm with its 95 % interval, from \u00f7${end} to \u00d7${end} on a logarithmic scale; the line in the middle is no change. \u00b1: standard deviation of the runs in percent.${nrLeft > 0 ? ` ${nrLeft} more metrics differ less.` : ""}`;
  const sentences = tables.length === 1 ? [tables[0].others] : tables.map(({ others }, arm) => others && `${titles[arm + 1]}: ${others}`);
  const itemsOf = (/** @type {string[]} */ texts) => texts.filter(Boolean).map((text) => textElement("li", text));
  const [method, others] = [true, false].map((isMethod) => notes.filter(({ kind }) => METHOD.includes(kind) === isMethod).map(({ text }) => text));
  byId("repeat-notes").replaceChildren(...itemsOf([...sentences, ...others]));
  byId("method-notes").replaceChildren(...itemsOf(method));
  showAll(tables, titles);
}

/** Lists all metrics of all arms with p-values, now or once the reader opens the list. @param {ArmTable[]} tables @param {string[]} titles */
function showAll(tables, titles) {
  const details = byId("all-metrics");
  const fill = () => {
    if (!details.open) return;
    const head = ["Metric", ...tables.length > 1 ? ["Arm"] : [], `${titles[0]} \u00b1%`, tables.length > 1 ? "Arm \u00b1%" : `${titles[1]} \u00b1%`, "Change % (95 %)", "p", "Verdict", "Could show"];
    const rows = tables.flatMap(({ rows, other_rows }, arm) => [...rows, ...other_rows].map(({ metric, values, change, verdict, p_corrected, could_show_percent }) => [
      metric, ...tables.length > 1 ? [titles[arm + 1]] : [], ...values, change, p_corrected?.toFixed(4) ?? "", verdict,
      could_show_percent !== null ? `${could_show_percent.toFixed(2)} %` : "",
    ]));
    fillTable("all-rows", head, rows);
  };
  details.ontoggle = fill;
  fill();
}

/** Metrics that differ in an arm, the most changed first. @param {ArmTable[]} tables */
function rankedMetrics(tables) {
  /** @type {Map<string, number>} */
  const sizes = new Map();
  for (const { metric, factor } of tables.flatMap(({ rows }) => rows)) {
    sizes.set(metric, Math.max(sizes.get(metric) ?? 0, factor !== null && factor > 0 ? Math.abs(Math.log(factor)) : 0));
  }
  return [...sizes].sort(([, left], [, right]) => right - left).map(([metric]) => metric);
}

/** @param {string[]} titles */
function headOf(titles) {
  if (titles.length === 2) return ["Metric", `${titles[0]} \u00b1%`, `${titles[1]} \u00b1%`, "Change % (95 %)", "Verdict"];
  return ["Metric", ...titles.map((title) => `${title} \u00b1%`)];
}

/** The cells of a metric. @param {string} metric @param {(RowTexts | undefined)[]} rows One of each arm but the first. @param {number} end */
function rowOf(metric, rows, end) {
  const name = element("th", { scope: "row", textContent: metric }), first = rows.find((row) => row)?.values[0] ?? "";
  const cells = rows.map((row) => {
    if (!row) return [textElement("td", "\u2013")];
    const { values, change, verdict } = row;
    const changed = rows.length === 1 ? element("td", { textContent: change })
      : element("td", { textContent: values[1] }, element("small", { textContent: `${change} ${verdict}`.trim() }));
    drawInterval(changed, row, end);
    changed.classList.toggle("better", verdict === "better");
    changed.classList.toggle("worse", verdict === "worse");
    return rows.length === 1 ? [values[1], changed, element("td", { textContent: verdict, className: verdict })] : [changed];
  });
  return [name, first, ...cells.flat()];
}

/** Draws the factor of a row and its interval into a cell. @param {HTMLElement} cell @param {RowTexts} row @param {number} end */
function drawInterval(cell, { factor, factor_interval }, end) {
  if (factor === null) return;
  const place = (/** @type {number} */ value) => 50 + 50 * Math.max(-1, Math.min(1, Math.log(Math.max(value, 1e-9)) / Math.log(end)));
  const [from, to] = (factor_interval ?? [factor, factor]).map(place);
  cell.classList.add("interval");
  cell.style.setProperty("--from", `${from}%`);
  cell.style.setProperty("--to", `${to}%`);
  cell.style.setProperty("--at", `${place(factor)}%`);
}

/** The factor at which the axis ends: the smallest that has most intervals. @param {(RowTexts | undefined)[]} rows */
function axisEnd(rows) {
  const bounds = rows.flatMap((row) => row?.factor_interval ?? row?.factor ?? []).filter((factor) => factor > 0).map((factor) => Math.max(factor, 1 / factor));
  bounds.sort((left, right) => left - right);
  const most = bounds[Math.floor(0.9 * bounds.length)] ?? 1;
  return AXIS_ENDS.find((end) => end >= most) ?? AXIS_ENDS[AXIS_ENDS.length - 1];
}
