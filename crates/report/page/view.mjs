// SPDX-License-Identifier: GPL-2.0-or-later
// What the page shows of one or two runs: timelines, reasons, findings, metrics and charts.
import { drawLatencies, drawMigrations, showAbout, showCounts, showTopology } from "./charts.mjs";
import { COLOURS, FADED_COLOUR, KERNEL_COLOUR, THROTTLED_COLOUR, WAITS_COLOUR, category, css, shade } from "./colours.mjs";
import { byId, element, fillSelect, legendItem, section, tableRow, textElement } from "./dom.mjs";
import { findingLists, waitSentence } from "./findings.mjs";
import { duration, moment, percent, plural } from "./format.mjs";
import { LagChart } from "./lags.mjs";
import { rankedFamilies, showMetrics } from "./metrics.mjs";
import { differences, firstEndingAfter } from "./timeline-data.mjs";
import { laneMost } from "./timeline-draw.mjs";
import { Timeline } from "./timeline.mjs";

/** Most time that is shown around a moment, in ns. */
const MOMENT_VIEW = 1e8;
/** Colours of the lags of arm A and arm B. */
const LAG_COLOURS = [COLOURS[0], COLOURS[5]];
/** Most segments of an arm that are listed as text, and most families in the legend. */
const MAX_LISTED = 200, MAX_LEGEND = 24;
/** CPUs that are busy for a smaller part of the time in all arms have no row. */
const FOLDED_BELOW = 0.002;
const HINT = element("p", { className: "quiet", textContent: "Click a bar, or a gap: the reason appears here." });
const POINT_HINT = "Point at a bar for details. Wheel, + and \u2212 zoom; drag and arrow keys move.";

/**
 * @typedef {import("./arm.mjs").Arm} Arm
 * @typedef {import("./client.mjs").Question} Question
 * @typedef {import("./timeline.mjs").Point} Point
 * @typedef {import("./client.mjs").Claim} Claim
 * @typedef {(arm: number, question: Question, at: number) => Promise<Claim[]>} Explainer Returns claims.
 */

export class View {
  /** @type {Arm[]} */
  arms = [];
  titles = ["A", "B"];
  /** File that was saved last. @type {{ name: string, content: Blob } | null} */
  saved = null;
  /** Times and CPUs at which the arms begin to differ. @type {{ at: number, cpu: number }[]} */
  #differences = [];

  /** @param {import("./charts.mjs").Constants} constants @param {Explainer} explain @param {(error: unknown) => void} onFailure */
  constructor(constants, explain, onFailure) {
    this.constants = constants;
    this.explain = explain;
    this.onFailure = onFailure;
    this.timeline = new Timeline(byId("timeline"), (point) => this.#choose(point), () => {
      this.#showSegments();
      this.#drawLags();
    });
    this.lagChart = new LagChart(byId("lag"));
    this.#listen();
  }

  #listen() {
    const { timeline } = this;
    timeline.onHover = (point) => { byId("hover").textContent = point ? this.#pointText(point) : POINT_HINT; };
    timeline.onHover(null);
    byId("lane").onchange = () => this.#recolour();
    byId("colour").onchange = () => this.#recolour();
    byId("task").oninput = () => this.#recolour();
    byId("task").onkeydown = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape") return;
      byId("task").value = "";
      this.#recolour();
    };
    byId("next-difference").onclick = () => this.#showNextDifference();
    byId("as-table").ontoggle = () => this.#showSegments();
    byId("lag-task").onchange = () => this.chooseLag(byId("lag-task").value);
    byId("lag").onpointermove = (/** @type {PointerEvent} */ event) => { byId("lag-value").textContent = this.lagChart.textAt(event.offsetX); };
    byId("family").onchange = () => this.#drawLatencies();
    byId("save-png").onclick = () => byId("timeline").toBlob((/** @type {Blob} */ image) => this.save("fairlab.png", image.type, image));
    byId("save-svg").onclick = () => this.save("fairlab.svg", "image/svg+xml", timeline.svg());
    byId("charts").ontoggle = () => this.#drawCharts();
    const redraw = () => this.#drawCharts();
    new ResizeObserver(redraw).observe(byId("latency"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  }

  /** Shows runs as far as they have come. @param {Arm[]} arms @param {string[]} titles Short names of the arms. */
  showProgress(arms, titles) {
    const { timeline } = this;
    this.arms = timeline.arms = arms;
    this.titles = titles;
    timeline.titles = titles;
    timeline.families = familiesOf(arms);
    timeline.cpus = busyCpus(arms);
    byId("folded").textContent = foldedText(Math.max(...arms.map(({ rows }) => rows.length)) - timeline.cpus.length, arms.length);
    this.#showLegend();
    timeline.draw();
  }

  /** Removes what belongs to the runs shown before. */
  clear() {
    this.timeline.chosen = this.timeline.difference = null;
    this.timeline.findings = this.timeline.moves = [];
    byId("hover").textContent = POINT_HINT;
    this.#differences = [];
    byId("next-difference").hidden = true;
    byId("findings").replaceChildren();
    this.showReasons([HINT]);
    byId("results").setAttribute("aria-busy", "true");
  }

  /** Shows all of runs that have ended. */
  showEnded() {
    const { arms, timeline } = this, isOneRun = arms.length > 1 && arms[0].ended?.digest === arms[1].ended?.digest;
    byId("results").removeAttribute("aria-busy");
    byId("metrics-note").textContent = showMetrics("metrics", arms);
    timeline.findings = arms.map((arm) => (arm.ended?.findings ?? []).filter(({ at_ns }) => at_ns > 0).map(({ at_ns }) => at_ns));
    const lists = (isOneRun ? arms.slice(0, 1) : arms).map((arm, number) => {
      const title = isOneRun ? "Both arms" : arms.length > 1 ? `Arm ${this.titles[number]}` : "This run";
      const show = (/** @type {string} */ name, /** @type {number} */ from, /** @type {number} */ at, /** @type {Question} */ question, /** @type {string[]} */ known) => {
        timeline.chosen = null;
        timeline.moves = [];
        timeline.showMoment(from, MOMENT_VIEW);
        this.ask(number, question, at, name, () => timeline.chosen === null, known);
        byId("timeline").scrollIntoView({ block: "nearest" });
      };
      return findingLists(arm, "AB"[number], title,
        (finding) => show(`Arm ${"AB"[number]}, ${finding.rule}, ${moment(finding.at_ns)}`, finding.at_ns, finding.at_ns, finding.question, finding.explanation),
        (wait) => {
          this.chooseLag(arm.threads[wait.thread].name);
          show(waitSentence(arm, wait), wait.since_ns, wait.since_ns + wait.length_ns - 1, wait.question, wait.explanation);
        });
    });
    byId("findings").replaceChildren(...lists.map(({ findings }) => findings));
    byId("waits").replaceChildren(...lists.map(({ waits }) => waits));
    const isComparable = arms.every(({ resolution, workload, machine }) => resolution === 0 && workload === arms[0].workload && machine === arms[0].machine);
    this.#differences = arms.length > 1 && !isOneRun && isComparable ? differences(arms) : [];
    byId("next-difference").hidden = this.#differences.length === 0;
    this.#showLags();
    fillSelect(byId("family"), rankedFamilies(arms).filter((name) => arms.some((arm) => arm.ended?.details.latencies[name])).map((name) => [name, name]));
    this.#drawCharts();
    timeline.draw();
  }

  /** The first time at which the drawn arms differ, if it is known. @returns {number | undefined} */
  get firstDifference() {
    return this.#differences[0]?.at;
  }

  /** Saves a file. @param {string} name @param {string} type @param {BlobPart} part */
  save(name, type, part) {
    const content = new Blob([part], { type }), link = element("a", { href: URL.createObjectURL(content), download: name });
    link.click();
    URL.revokeObjectURL(link.href);
    this.saved = { name, content };
  }

  /** @param {(string | Node)[]} content */
  verdict(content, isError = false) {
    byId("verdict").classList.toggle("error", isError);
    // The timeline is that of an earlier run.
    byId("timeline").classList.toggle("stale", isError);
    byId("verdict").replaceChildren(...content);
  }

  /** @param {Node[]} content */
  showReasons(content) {
    byId("why").replaceChildren(...content);
  }

  /**
   * Asks for a reason and shows the answer, if it is still wanted.
   * @param {number} arm @param {Question} question @param {number} at @param {string} title
   * @param {() => boolean} isWanted @param {string[]} known Explanation that the page contains.
   */
  async ask(arm, question, at, title, isWanted, known = []) {
    const { arms } = this;
    try {
      const claims = known.length > 0 ? [{ kind: "known", text: known }] : await this.explain(arm, question, at);
      if (arms !== this.arms || !isWanted()) return;
      this.showReasons([section(title, claims.flatMap(({ text }) => text))]);
      this.timeline.moves = movesOf(claims, arm);
      this.timeline.draw();
    } catch (error) {
      if (arms === this.arms) this.onFailure(error);
    }
  }

  /** Chooses the task of the lag chart, if it has lags. @param {string} name */
  chooseLag(name) {
    const select = byId("lag-task");
    if (![...select.options].some((option) => option.value === name)) return;
    select.value = name;
    this.lagChart.choose(this.arms, name);
    this.#drawLags();
  }

  /** @param {Point} point */
  #choose(point) {
    const { timeline } = this, { arm, cpu, at, task, wait } = point, name = task ?? timeline.threadAt(point)?.name ?? "idle";
    this.chooseLag(name);
    const isWanted = () => timeline.chosen === point;
    if (wait) return this.ask(arm, wait.question, wait.since_ns + wait.length_ns - 1, waitSentence(this.arms[arm], wait), isWanted, wait.explanation);
    if (task) return this.ask(arm, { task }, at, `Arm ${"AB"[arm]}, ${moment(at)}: ${task}`, isWanted);
    return this.ask(arm, { cpu }, at, `Arm ${"AB"[arm]}, CPU ${cpu}, ${moment(at)}: ${name}`, isWanted);
  }

  #showNextDifference() {
    const { timeline } = this, { at: after, cpu: last } = timeline.chosen ?? { at: this.firstDifference ?? 0, cpu: Infinity };
    const next = this.#differences.find(({ at, cpu }) => at > after || (at === after && cpu > last)) ?? this.#differences[0];
    timeline.showMoment(next.at, MOMENT_VIEW);
    timeline.choose({ arm: 1, cpu: next.cpu, at: next.at });
  }

  #recolour() {
    const { timeline } = this;
    timeline.lane = byId("lane").value;
    timeline.colouring = byId("colour").value;
    timeline.wanted = byId("task").value.trim().toLowerCase();
    byId("colour").disabled = !timeline.hasTasks;
    timeline.chosen = null;
    this.#showLegend();
    timeline.draw();
  }

  #showLegend() {
    const { lane, colouring, families } = this.timeline;
    const scale = (/** @type {string[]} */ texts) => texts.map((text, index) => legendItem(text, css(shade(index / (texts.length - 1)))));
    const items = lane === "util" ? scale(["util_avg 0", "256", "512", "768", "1024"])
      : lane === "khz" ? scale(["frequency 0 %", "50 %", "100 % of the CPU's maximum"])
        : lane === "nr_running" ? scale(["no runnable task", `${(laneMost(this.timeline, undefined) / 100).toFixed(1)} runnable tasks`])
        : lane === "idle" ? scale(["not idle", `idle state ${(laneMost(this.timeline, undefined) / 100 - 1).toFixed(0)}`])
          : colouring === "waited" ? [1e3, 1e4, 1e5, 1e6, 1e7].map((ns) => legendItem(`waited ${duration(ns)}`, css(shade(Math.log(1 + ns / 1e3) / Math.log(1 + 1e4)))))
            : colouring === "thread" ? [legendItem("neighbouring tasks differ in colour", category(0)), legendItem("kernel", KERNEL_COLOUR)]
              : [...families.slice(0, MAX_LEGEND).map((name, index) => legendItem(name, category(index))), legendItem("kernel", KERNEL_COLOUR)];
    if (lane === "threads") items.push(legendItem("waits for a CPU", WAITS_COLOUR), legendItem("throttled", THROTTLED_COLOUR));
    const hidden = this.timeline.hasTasks && colouring === "family" ? families.length - MAX_LEGEND : 0;
    if (hidden > 0) items.push(legendItem(`${hidden} more, in the colours above`, FADED_COLOUR));
    if (this.arms.length > 1) items.unshift(legendItem("arm A", "var(--quiet)"), legendItem("arm B", "var(--quiet)", "hatched"));
    byId("legend").replaceChildren(...items);
    const { resolution = 0 } = this.arms.find(({ resolution }) => resolution > 0) ?? {};
    const merged = resolution > 0 ? ` Segments shorter than ${duration(resolution)} are merged with their neighbours.` : "";
    byId("timeline-note").textContent = this.timeline.hasTasks ? `\u25bc: end of a long wait, or a finding.${merged}`
      : `Averages over ${this.arms[0]?.series[0]?.util.length ?? ""} equal parts of the run, shown once it has ended.`;
  }

  /** What a point shows, in words. @param {Point} point */
  #pointText(point) {
    const { timeline } = this, { arm: number, cpu, at, wait } = point, arm = this.arms[number], where = `Arm ${"AB"[number]}, CPU ${cpu}, `;
    const details = arm.ended?.details, series = arm.series[cpu], { lane } = timeline;
    if (lane !== "tasks" && lane !== "threads" && details && series) {
      const values = series[lane], value = values[Math.floor(at / details.series_ns * values.length)] ?? 0;
      const text = { util: `util_avg ${value} of 1024`, khz: value > 0 ? `${(value / 1000).toFixed(0)} MHz` : "no frequency is recorded",
        nr_running: `${(value / 100).toFixed(2)} runnable tasks`, idle: value > 0 ? `idle state ${(value / 100 - 1).toFixed(2)} on average` : "not idle" };
      return `${where}${moment(at)}: ${text[lane]}`;
    }
    if (wait) return waitSentence(arm, wait);
    const index = timeline.segmentAt(point);
    if (index === null) {
      return point.task ? `Arm ${"AB"[number]}, ${moment(at)}: ${point.task} does not run` : `${where}${moment(at)}: ${timeline.threadAt(point)?.name ?? "idle"}`;
    }
    const row = /** @type {import("./timeline-data.mjs").Row} */ (timeline.rowOf(point)), { name, pid } = arm.threads[row.thread[index]], length = row.end[index] - row.start[index], from = moment(row.start[index]);
    if (row.nr[index] > 1) {
      return `${where}from ${from} for ${duration(length)}: tasks ran ${plural(row.nr[index], "time")}, ${percent(row.busy[index] / length)} of the time; longest ${name} (pid ${pid})`;
    }
    const throttled = row.throttled[index] > 0 ? ` and ${duration(row.throttled[index])} for runtime of a limit` : "";
    const rule = row.rule[index] > 0 ? this.constants.rules[row.rule[index] - 1] : null, selection = rule ? `. Its last CPU selection: ${rule[0]}. ${rule[1]}` : "";
    return `${where}${from}: ${name} (pid ${pid}) ran ${duration(length)} after waiting ${duration(row.waited[index])} for a CPU${throttled}${selection}`;
  }

  /** Fills the list of tasks with lags. The chosen task stays. */
  #showLags() {
    const names = LagChart.tasks(this.arms);
    byId("lags").hidden = names.length === 0;
    fillSelect(byId("lag-task"), names.map((name) => [name, name]));
    this.chooseLag(byId("lag-task").value);
  }

  #drawLags() {
    if (!byId("lags").hidden) this.lagChart.draw(this.timeline.view, this.timeline.layout().gutter, LAG_COLOURS);
  }

  #drawLatencies() {
    drawLatencies(this.arms, this.titles, byId("family").value, this.constants);
  }

  #drawCharts() {
    if (!byId("charts").open || !this.arms.every(({ ended }) => ended)) return;
    this.#drawLatencies();
    showCounts(this.arms, this.titles);
    drawMigrations(this.arms, this.titles);
    showTopology(this.arms[0]);
    showAbout(this.arms, this.titles, this.constants);
  }

  /** Lists the segments of the chosen CPU that are in view, for readers who do not see the timeline. */
  #showSegments() {
    if (!byId("as-table").open) return;
    const { timeline } = this, cpu = timeline.chosen?.cpu ?? timeline.cpus[0], { from, to } = timeline.view;
    const rows = this.arms.flatMap((arm, number) => {
      const row = arm.rows[cpu], cells = [];
      for (let index = row ? firstEndingAfter(row, from) : 0; row && index < row.length && row.start[index] < to && cells.length < MAX_LISTED; index++) {
        const { name = "" } = arm.threads[row.thread[index]] ?? {};
        cells.push(["AB"[number], name, moment(row.start[index]), duration(row.end[index] - row.start[index]), duration(row.waited[index])]);
      }
      return cells;
    });
    byId("segments-title").textContent = `CPU ${cpu}, ${moment(Math.round(from))} to ${moment(Math.round(to))}`;
    byId("segments").tBodies[0].replaceChildren(...rows.map((texts) => tableRow(texts)));
  }
}

/** Wake-ups and the last migration in the claims of an explanation: each selection of a CPU, with the enqueueing that follows. @param {Claim[]} claims @param {number} arm */
function movesOf(claims, arm) {
  return claims.flatMap(({ kind, waker_cpu, cpu = 0, at_ns = 0, scanned_cpus = [], last_at_ns = 0, from = 0, to = 0 }, index) => {
    if (kind === "migrations") return [{ arm, isMigration: true, scanned: [], from: { cpu: from, at: last_at_ns }, to: { cpu: to, at: last_at_ns } }];
    if (kind !== "selection" || waker_cpu === undefined) return [];
    const enqueued = claims.slice(index).find(({ kind }) => kind === "enqueue");
    return [{ arm, isMigration: false, scanned: scanned_cpus, from: { cpu: waker_cpu, at: at_ns }, to: { cpu: enqueued?.cpu ?? cpu, at: enqueued?.at_ns ?? at_ns } }];
  });
}

/** @param {number} nr @param {number} nrArms */
function foldedText(nr, nrArms) {
  const where = nrArms > 1 ? " in both arms" : "";
  return nr === 0 ? "" : `${nr} ${nr === 1 ? "CPU is" : "CPUs are"} idle${where} and not shown.`;
}

/** @param {Arm[]} arms */
function familiesOf(arms) {
  const names = arms.flatMap((arm) => arm.threads.map((thread) => thread.is_kernel ? null : thread.family));
  return [...new Set(names.filter((name) => name !== null))];
}

/** CPUs that are busy in an arm. @param {Arm[]} arms */
function busyCpus(arms) {
  const isBusy = (/** @type {number} */ cpu) => arms.some((arm) => {
    const row = arm.rows[cpu];
    let busy = row?.running ? arm.at - row.running.since : 0;
    for (let index = 0; row && index < row.length && busy <= FOLDED_BELOW * arm.at; index++) busy += row.end[index] - row.start[index];
    return busy > FOLDED_BELOW * arm.at;
  });
  return Array.from({ length: Math.max(...arms.map(({ rows }) => rows.length)) }, (_, cpu) => cpu).filter(isBusy);
}
