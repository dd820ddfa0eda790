// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";
// State of the page, formats, colours, verdict, lists and explanations. timeline.js draws the CPUs over time, lags.js the lag of
// a task, figures.js the tables and charts below them.
const page = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const runs = page.runs.map(decode);
/** The run to which differences refer. */
const base = runs[0];
/** The run that is shown: with several runs the second one, so that differences can be seen at once. */
let run = runs[Math.min(1, runs.length - 1)];
let view = wholeRun();

/**
 * State of the timeline: the range of time that it shows, in ns; its first row; the CPU of the keyboard; the marked segment,
 * `{ cpu, i }`; the chosen row of a list, `{ list, index }`.
 */
function wholeRun() {
  return { from: 0, to: run.length_ns, top: 0, cpu: 0, mark: null, chosen: null };
}

/** A reader of numbers that are encoded as LEB128, in base64. */
function reader(base64) {
  const text = atob(base64);
  let at = 0;
  const number = () => {
    let value = 0, factor = 1;
    for (;;) {
      const byte = text.charCodeAt(at++);
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  };
  return { number, isEnd: () => at >= text.length };
}

/** Decodes the segments of a run into one array per field and CPU, and its lags. */
function decode(run) {
  const { number } = reader(run.segments);
  run.segments = null;
  if (run.lags) run.lags = decodeLags(run.lags);
  run.rows = run.cpus.map(() => {
    const nr = number();
    const row = { nr, start: new Float64Array(nr), end: new Float64Array(nr), thread: new Uint32Array(nr),
      busy: new Float64Array(nr), several: new Uint32Array(nr), waited: new Float64Array(nr),
      throttled: new Float64Array(nr), rule: new Uint8Array(nr) };
    let last = 0;
    for (let i = 0; i < nr; i++) {
      row.start[i] = last + number();
      last = row.end[i] = row.start[i] + number();
      row.thread[i] = number();
      row.several[i] = number();
      row.busy[i] = row.several[i] > 1 ? number() : last - row.start[i];
      row.waited[i] = number();
      row.throttled[i] = number();
      row.rule[i] = number();
    }
    return row;
  });
  return run;
}

// Formats ------------------------------------------------------------------------------------------------------------------------

/** Units of time, largest first, with their size in ns. */
const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]];

/** A duration in its largest unit, with three digits unless more are asked for. */
function duration(ns, digits = 3) {
  const [unit, size] = UNITS.find(([, size]) => Math.abs(ns) >= size) ?? ["ns", 1];
  const value = ns / size, decimals = size === 1 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
  return `${value.toFixed(decimals)} ${unit}`;
}

/** A time from the start of the run, in seconds, with six decimals like a kernel trace unless fewer are asked for. */
const instant = (ns, decimals = 6) => `${(ns / 1e9).toFixed(decimals)} s`;
const count = (n) => Number(n).toLocaleString("en");
const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const taskName = (thread) => run.threads[thread][0];
const isNumber = (value) => typeof value === "number";

// Colours ------------------------------------------------------------------------------------------------------------------------

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const isDark = () => getComputedStyle(document.documentElement).colorScheme.includes("dark");

// Categories have the colours of M. Okabe and K. Ito, "Color Universal Design" (2008). Readers with any kind of colour vision can
// distinguish them. Black is invisible on a dark page and yellow on a light one, so each scheme leaves out one of the two.
const OKABE_ITO = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"];
const SEVERITY = { high: "#d55e00", medium: "#e69f00", low: "#56b4e9" };
const palette = () => [...OKABE_ITO, isDark() ? "#f0e442" : "#000000"];
/** The colour of a category by its index; the colours repeat after seven. */
const category = (index) => palette()[index % palette().length];

// Values have colours of the map cividis: J. Nunez, C. Anderson, R. Renslow, "Optimizing colormaps with consideration for color
// vision deficiency to enable accurate interpretation of scientific data", PLoS ONE 13(7), 2018.
const CIVIDIS = ["#00224e", "#1a386f", "#434e6c", "#61656f", "#7d7c78", "#9b9476", "#bcae6c", "#dec958", "#fee838"]
  .map((colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)));

/** The colour of a value from 0 to 1. */
function shade(value) {
  const at = Math.max(0, Math.min(1, value)) * (CIVIDIS.length - 1), low = Math.min(Math.floor(at), CIVIDIS.length - 2);
  return `rgb(${CIVIDIS[low].map((part, i) => Math.round(part + (CIVIDIS[low + 1][i] - part) * (at - low))).join(" ")})`;
}

/** Families in the order of their CPU time in all runs: the first seven have colours, which are the same in all runs. */
const rankedFamilies = (() => {
  const times = new Map();
  for (const { families, summary } of runs) {
    for (const name of families) times.set(name, times.get(name) ?? 0);
    for (const { name, run_ns } of summary.families) times.set(name, (times.get(name) ?? 0) + run_ns);
  }
  return [...times.keys()].sort((a, b) => times.get(b) - times.get(a));
})();
const NR_COLOURED = 7;

function familyColour(name) {
  const rank = rankedFamilies.indexOf(name);
  return rank >= 0 && rank < NR_COLOURED ? category(rank) : style("--other");
}

// Verdict and lists --------------------------------------------------------------------------------------------------------------

/** The result of a run in a sentence or two. */
function verdict(run) {
  const { findings } = run;
  if (!findings) return "fairlab looks for findings only in runs of its built-in scheduler.";
  if (!findings.length) return "No findings.";
  const worst = findings[0], at = isNumber(worst.at_ns) ? `, at ${instant(worst.at_ns, 3)}` : "";
  if (findings.length === 1) return `1 finding, ${worst.severity}: ${worst.headline}${at}.`;
  const parts = Object.keys(SEVERITY).map((name) => [findings.filter(({ severity }) => severity === name).length, name]);
  return `${findings.length} findings: ${parts.filter(([nr]) => nr).map((part) => part.join(" ")).join(", ")}. Worst: ${worst.headline}${at}.`;
}

/** An element with a text, and with a class if one is given. */
function element(tag, text, className = "") {
  return Object.assign(document.createElement(tag), { textContent: text, className });
}

/** Fills a list box with rows of elements. */
function fillList(id, rows, ifEmpty) {
  const items = rows.map((cells, index) => {
    const item = document.createElement("li");
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", view.chosen?.list === id && view.chosen.index === index);
    item.append(...cells);
    return item;
  });
  $(id).replaceChildren(...(items.length ? items : [element("li", ifEmpty, "quiet")]));
}

function drawLists() {
  const nr = run === base || !base.findings ? "" : ` Base run ${base.name}: ${base.findings.length ? plural(base.findings.length, "finding") : "no findings"}.`;
  $("verdict").textContent = verdict(run) + nr;
  fillList("findings", (run.findings ?? []).map(({ severity, rule, sentence, at_ns }) => {
    const badge = element("span", severity, "severity");
    badge.style.setProperty("--severity", SEVERITY[severity]);
    return [badge, element("span", rule), element("span", isNumber(at_ns) ? instant(at_ns) : "whole run", "time"),
      element("span", `${sentence}.`, "sentence")];
  }), "none");
  fillList("waits", run.waits.map((wait) => [
    element("b", lasted(wait)), element("span", `${taskName(wait.thread)} on CPU ${wait.cpu}, for ${wait.awaited}`),
    element("span", instant(wait.since_ns), "time"),
  ]), "none");
}

/** Chooses a row of a list: the timeline moves there, and the explanation appears. */
function choose(list, index) {
  const item = (list === "findings" ? run.findings ?? [] : run.waits)[index];
  if (!item) return;
  view.chosen = { list, index };
  view.mark = null;
  if (list === "waits") {
    chooseLagTask(item.thread);
    const margin = Math.max(item.length_ns / 2, 1e4);
    show(item.since_ns - margin, item.since_ns + item.length_ns + margin);
    view.cpu = item.cpu;
    view.top = item.cpu - Math.floor(rows().shown / 2);
  } else if (isNumber(item.at_ns)) {
    const margin = 1.5 * Math.max(item.worst_ns, 1e6);
    show(item.at_ns - margin, item.at_ns + margin);
  } else {
    show(0, run.length_ns);
  }
  drawLists();
  $(list).children[index].scrollIntoView({ block: "nearest" });
  drawExplanation();
  const { top } = $("explanation").getBoundingClientRect();
  if (top < 0 || top > innerHeight - 90) $("explanation").scrollIntoView({ block: "center" });
}

/** The chosen row of a list, if there is one. */
function chosenItem() {
  return view.chosen && (view.chosen.list === "findings" ? run.findings : run.waits)[view.chosen.index];
}

/** The length of a wait; a lower bound if it has not ended. */
function lasted({ length_ns, is_open }, digits) {
  return `${is_open ? "\u2265 " : ""}${duration(length_ns, digits)}`;
}

/** A wait in a sentence. */
function waitSentence(wait) {
  const { thread, cpu, length_ns, since_ns, is_open, awaited } = wait, until = instant(since_ns + length_ns);
  const end = is_open ? `; it has not ended at ${until}, on CPU ${cpu}` : `, until ${until} on CPU ${cpu}`;
  return `${taskName(thread)} waited ${lasted(wait, 4)} for ${awaited} from ${instant(since_ns)} on${end}.`;
}

function drawExplanation() {
  const item = chosenItem();
  if (!item) {
    $("explanation").replaceChildren(element("p", "Choose a finding, a wait or a mark \u25bc in the timeline: the explanation appears here.", "quiet"));
    return;
  }
  const isWait = view.chosen.list === "waits", at = isWait ? item.since_ns + item.length_ns - 1 : item.at_ns;
  const sentences = document.createElement("ul");
  const none = !run.findings ? "Explanations need the built-in scheduler."
    : isNumber(at) ? "There is no explanation of this moment." : "The finding is about the whole run: there is no single moment to explain.";
  sentences.append(...(item.explanation.length ? item.explanation : [none]).map((sentence) => element("li", sentence.trim())));
  const parts = [element("h3", isWait ? waitSentence(item) : `${item.rule}: ${item.headline}.`), sentences];
  if (item.explanation.length) parts.push(element("code", `fairlab explain DIR ${item.question} --at ${at}ns`, "quiet"));
  $("explanation").replaceChildren(...parts);
}

/** Lets a list box react to clicks and keys. */
function listenToList(id) {
  const rows = () => [...$(id).querySelectorAll("[role=option]")];
  $(id).addEventListener("click", (event) => {
    const index = rows().indexOf(event.target.closest("li"));
    if (index >= 0) choose(id, index);
  });
  $(id).addEventListener("keydown", (event) => {
    const here = view.chosen?.list === id ? view.chosen.index : -1, last = rows().length - 1;
    const index = { ArrowDown: Math.min(here + 1, last), ArrowUp: Math.max(here - 1, 0), Home: 0, End: last }[event.key];
    if (index === undefined) return;
    event.preventDefault();
    choose(id, index);
  });
}

// The whole page -----------------------------------------------------------------------------------------------------------------

/** A canvas that is as wide as its place on the page, with this height in CSS pixels. */
function surface(id, height) {
  const canvas = $(id), scale = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  const width = canvas.clientWidth;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const g = canvas.getContext("2d");
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.font = "12px system-ui, sans-serif";
  g.textBaseline = "middle";
  return { g, width, height };
}

function drawSubject() {
  const { run: subject, engine } = run.summary;
  const scheduler = engine ? `${engine.name} (Linux ${engine.version})` : `Linux ${subject.kernel}`;
  const workload = subject.workload.split("/").pop();
  const machine = subject.machine === "scenario" ? "" : ` on ${subject.machine}`;
  $("subject").textContent = `${workload}${machine}, ${plural(run.cpus.length, "CPU")}, ${scheduler}, ${duration(run.length_ns)}`;
  const { warnings = [], assumptions = [] } = run.summary;
  const rows = [["workload", subject.workload], ["kind", subject.kind], ["machine", subject.machine], ["scheduler", scheduler],
    ["length", duration(run.length_ns)], ["digest", run.summary.digest], ["fairlab", page.fairlab],
    ...warnings.map((text) => ["warning", text]), ...assumptions.map((text) => ["assumption", text])];
  $("about").replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    row.append(...cells.map((cell) => element("td", cell)));
    return row;
  }));
}

function drawAll() {
  drawSubject(); drawLists(); drawExplanation(); drawLegend(); drawTimeline(); drawLagLegend(); drawLags();
  drawMetrics(); drawHeat(); drawLatency(); drawTables(); drawMigrations(); drawTopology();
}

function start() {
  $("run").replaceChildren(...runs.map((run, index) => new Option(index ? run.name : `${run.name}${runs.length > 1 ? " (base)" : ""}`, index)));
  $("run").selectedIndex = runs.indexOf(run);
  $("runs").hidden = runs.length < 2;
  const families = rankedFamilies.filter((name) => runs.some((run) => run.latencies[name]));
  $("family").replaceChildren(...families.map((name) => new Option(name, name)));
  $("run").onchange = () => {
    run = runs[$("run").selectedIndex];
    view = wholeRun();
    drawHint();
    fillLagTasks();
    drawAll();
  };
  $("theme").onclick = () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    drawAll();
  };
  $("series").onchange = drawHeat;
  $("family").onchange = drawLatency;
  listenToList("findings");
  listenToList("waits");
  listenToTimeline();
  listenToLags();
  fillLagTasks();
  listenToHeat();
  drawHint();
  window.addEventListener("resize", drawAll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  drawAll();
}
