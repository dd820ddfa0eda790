// SPDX-License-Identifier: GPL-2.0-or-later
// Charts and tables of ended runs: latencies, CPU selection, balancing, migrations, topology.
import { COLOURS, css, shade } from "./colours.mjs";
import { byId, element, fillTable, legendItem, surface, textElement } from "./dom.mjs";
import { count, duration, percent, plural } from "./format.mjs";

/**
 * @typedef {import("./arm.mjs").Arm} Arm
 * @typedef {{ fairlab: string, rules: [string, string][], per_octave: number }} Constants Numbers that Rust and the page share.
 */

/** Shares of wake-ups that have a line: each further one is ten times as rare, so that the tail has as much room as the rest. */
const SHARES = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]], DASH_STYLES = ["solid", "dashed", "dotted", "dashed"];
const HEIGHT = 260, LEFT = 70, TOP = 34, BOTTOM = HEIGHT - 42, RIGHT_MARGIN = 12;
/** @type {[string, number][]} */
const UNITS = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3], ["ns", 1]];
/** Rows of a table of counts. */
const MAX_ROWS = 24;

/** Histogram of a family's runqueue latencies: buckets and numbers of wake-ups. @param {Arm} arm @param {string} family */
function histogramOf(arm, family) {
  const sizes = Object.entries(arm.ended?.details.latencies[family] ?? {}).map(([size, nr]) => ({ size: Number(size), nr }));
  sizes.sort((left, right) => left.size - right.size);
  return { sizes, total: sizes.reduce((sum, { nr }) => sum + nr, 0) };
}

/** Draws the distribution of a family's runqueue latencies in each arm. @param {Arm[]} arms @param {string[]} titles @param {string} family @param {Constants} constants */
export function drawLatencies(arms, titles, family, { per_octave }) {
  const { context, width, style } = surface(byId("latency"), HEIGHT), curves = arms.map((arm) => histogramOf(arm, family));
  /** Least latency in ns of a bucket: an octave has `per_octave` buckets at equal distances. */
  const latencyOf = (/** @type {number} */ size) => 2 ** Math.floor(size / per_octave) * (1 + size % per_octave / per_octave);
  byId("latency-legend").replaceChildren(...arms.map((_, index) => legendItem(
    `${titles[index]}: ${curves[index].total > 0 ? plural(curves[index].total, "wake-up") : "no wake-ups"}`, COLOURS[index % COLOURS.length], DASH_STYLES[index % DASH_STYLES.length])));
  const sizes = curves.flatMap(({ sizes }) => sizes.map(({ size }) => size));
  if (sizes.length === 0) return;
  const low = latencyOf(Math.min(...sizes)), high = latencyOf(Math.max(...sizes) + 1), right = width - RIGHT_MARGIN;
  const rarest = Math.min(...curves.filter(({ total }) => total > 0).map(({ total }) => 1 / total));
  const decades = Math.max(1, Math.ceil(-Math.log10(rarest)));
  const x = (/** @type {number} */ ns) => LEFT + Math.log(ns / low) / Math.log(high / low) * (right - LEFT);
  const y = (/** @type {number} */ share) => BOTTOM - Math.min(decades, -Math.log10(Math.max(1e-12, 1 - share))) / decades * (BOTTOM - TOP);
  drawAxes(context, style, { low, high, right, x, y });
  context.lineWidth = 2;
  curves.forEach(({ sizes, total }, index) => {
    let below = 0;
    context.strokeStyle = COLOURS[index % COLOURS.length];
    context.setLineDash(DASHES[index % DASHES.length]);
    context.beginPath();
    for (const { size, nr } of sizes) {
      context.lineTo(x(latencyOf(size)), y(below / total));
      below += nr;
      context.lineTo(x(latencyOf(size + 1)), y(below / total));
    }
    context.stroke();
  });
}

/**
 * @param {CanvasRenderingContext2D} context @param {CSSStyleDeclaration} style
 * @param {{ low: number, high: number, right: number, x: (ns: number) => number, y: (share: number) => number }} scales
 */
function drawAxes(context, style, { low, high, right, x, y }) {
  const line = (/** @type {number[]} */ from, /** @type {number[]} */ to) => {
    context.beginPath();
    context.moveTo(from[0], from[1]);
    context.lineTo(to[0], to[1]);
    context.stroke();
  };
  context.strokeStyle = style.getPropertyValue("--line");
  context.fillStyle = style.getPropertyValue("--quiet");
  context.textAlign = "right";
  let last = Infinity;
  for (const share of SHARES) {
    const at = y(share);
    if (last - at < 15) continue;
    last = at;
    line([LEFT, at], [right, at]);
    context.fillText(`${Number((100 * share).toPrecision(6))} %`, LEFT - 5, at);
  }
  context.textAlign = "center";
  last = -Infinity;
  for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10) {
    for (const ns of [decade, 2 * decade, 5 * decade].filter((ns) => ns >= low && ns <= high)) {
      const [unit, size] = UNITS.find(([, size]) => ns >= size) ?? ["ns", 1], text = `${ns / size} ${unit}`;
      const at = x(ns), half = context.measureText(text).width / 2, middle = Math.min(at, right + 8 - half);
      if (middle - half < last + 14) continue;
      last = middle + half;
      line([at, TOP], [at, BOTTOM]);
      context.fillText(text, middle, BOTTOM + 12);
    }
  }
  context.fillText("runqueue latency, logarithmic", (LEFT + right) / 2, BOTTOM + 31);
  context.textAlign = "left";
  context.fillText("share of wake-ups with at most this latency", 8, 14);
}

/** Fills a table of counts by name, with a column for each arm. @param {string} id @param {string[]} titles @param {string} head @param {Map<string, number>[]} counts @param {boolean} hasShares */
function fillCounts(id, titles, head, counts, hasShares) {
  const sum = (/** @type {Map<string, number>} */ values) => [...values.values()].reduce((total, value) => total + value, 0) || 1;
  const totals = counts.map(sum), names = [...new Set(counts.flatMap((values) => [...values.keys()]))];
  const most = (/** @type {string} */ name) => Math.max(...counts.map((values) => values.get(name) ?? 0));
  names.sort((left, right) => most(right) - most(left));
  fillTable(id, [head, ...titles], names.slice(0, MAX_ROWS).map((name) => [name, ...counts.map((values, arm) => {
    const value = values.get(name) ?? 0, cell = element("td", { textContent: count(value) });
    if (hasShares) cell.append(textElement("small", percent(value / totals[arm])));
    return cell;
  })]));
}

/** Positive counts by name. @param {Record<string, number>} counts @param {(name: string) => string} [text] */
const positive = (counts, text = (name) => name) =>
  new Map(Object.entries(counts ?? {}).filter(([, nr]) => typeof nr === "number" && nr > 0).map(([name, nr]) => [text(name), nr]));

/** Fills the tables of CPU selection and load balancing. @param {Arm[]} arms @param {string[]} titles */
export function showCounts(arms, titles) {
  const summaries = arms.flatMap((arm) => arm.ended ? [arm.ended.summary] : []);
  const rules = summaries.map(({ selection: { by_rule } }) => positive(Object.fromEntries(by_rule)));
  fillCounts("rules", titles, "Rule of CPU selection", rules, true);
  fillCounts("balance", titles, "Load balancing", summaries.map(({ balance }) => positive(balance, (name) => name.replaceAll("_", " "))), false);
  fillCounts("scanned", titles, "CPUs scanned by a wake-up", arms.map((arm) => positive(arm.ended?.details.scanned ?? {}, (nr) => plural(Number(nr), "CPU"))), true);
}

/** Draws the number of migrations from each CPU to each CPU, arm beside arm. @param {Arm[]} arms @param {string[]} titles */
export function drawMigrations(arms, titles) {
  const canvas = byId("migrations"), all = arms.flatMap((arm) => arm.ended ? [arm.ended.details] : []);
  if (all.length === 0) return;
  const perCell = all[0].cpus_per_cell, nr = Math.max(...all.map(({ cpus }) => Math.ceil(cpus.length / perCell)));
  const margin = 44, room = (canvas.clientWidth - arms.length * margin) / arms.length, size = Math.max(2, Math.min(20, Math.floor(Math.min(room, 420) / nr)));
  const { context, style } = surface(canvas, 40 + nr * size), most = Math.max(1, ...all.flatMap(({ migrations }) => migrations.map(([, , number]) => number)));
  all.forEach(({ migrations }, arm) => {
    const left = margin + arm * (nr * size + margin + 12), top = 36;
    for (const [from, to, number] of migrations) {
      context.fillStyle = css(shade(Math.log(1 + number) / Math.log(1 + most)));
      context.fillRect(left + to * size, top + from * size, size - (size > 4 ? 1 : 0), size - (size > 4 ? 1 : 0));
    }
    context.fillStyle = style.getPropertyValue("--quiet");
    context.textAlign = "left";
    context.fillText(titles[arm], left, 8);
    context.strokeStyle = style.getPropertyValue("--quiet");
    context.setLineDash(DASHES[arm % DASHES.length]);
    context.strokeRect(left - 1.5, top - 1.5, nr * size + 2, nr * size + 2);
    for (let place = 0; place < nr; place += Math.ceil(22 / size)) {
      context.textAlign = "right";
      context.fillText(`${place * perCell}`, left - 5, top + (place + 0.5) * size);
      context.textAlign = "center";
      context.fillText(`${place * perCell}`, left + (place + 0.5) * size, 26);
    }
  });
  const totals = all.map(({ migrations }, arm) => `${titles[arm]}: ${plural(migrations.reduce((sum, [, , number]) => sum + number, 0), "migration")}`);
  const cells = perCell > 1 ? ` A cell stands for ${perCell} CPUs.` : "";
  byId("migrations-note").textContent = `Rows: from CPU, columns: to CPU; the brightest colour stands for ${count(most)}. ${totals.join(", ")}.${cells}`;
}

/** Shows nodes, caches and cores as boxes. @param {Arm} arm */
export function showTopology(arm) {
  const cpus = arm.ended?.details.cpus ?? [];
  /** @param {number[]} own @param {("node" | "llc" | "core")[]} levels @returns {Node[]} */
  const boxes = (own, [level, ...rest]) => {
    if (!level) return own.map((cpu) => element("span", { textContent: cpu, title: `CPU ${cpu}: capacity ${cpus[cpu].capacity} of 1024` }));
    /** @type {Map<number, number[]>} */
    const units = new Map();
    for (const cpu of own) units.set(cpus[cpu][level], [...units.get(cpus[cpu][level]) ?? [], cpu]);
    if (units.size === own.length || (units.size === 1 && level === "core")) return boxes(own, rest);
    return [...units].map(([unit, members]) => element("div", {}, ...level === "core" ? [] : [textElement("b", `${level} ${unit}`)], ...boxes(members, rest)));
  };
  byId("topology").replaceChildren(...boxes([...cpus.keys()], ["node", "llc", "core"]));
}

/** Fills the table about the runs. @param {Arm[]} arms @param {string[]} titles @param {Constants} constants */
export function showAbout(arms, titles, { fairlab }) {
  const row = (/** @type {string} */ name, /** @type {(arm: Arm) => string} */ of) => [element("th", { scope: "row", textContent: name }), ...arms.map(of)];
  const notes = (/** @type {"warnings" | "assumptions"} */ kind) => (/** @type {Arm} */ arm) => arm.ended?.summary[kind]?.join(" ") || "none";
  fillTable("about", ["Run", ...titles], [
    row("workload", (arm) => arm.workload), row("machine", (arm) => arm.machine), row("scheduler", (arm) => arm.scheduler),
    row("length", (arm) => duration(arm.length)), row("digest", (arm) => arm.ended?.digest ?? ""),
    row("warnings", notes("warnings")), row("assumptions", notes("assumptions")), row("fairlab", () => fairlab),
  ]);
}
