// SPDX-License-Identifier: GPL-2.0-or-later
// Timelines of one or two arms, one above the other, on a canvas: their view, what is chosen, and their input.
import { COLOURS, KERNEL_COLOUR, NR_SHADES, THROTTLED_COLOUR, WAITS_COLOUR, category, rgb, shade } from "./colours.mjs";
import { drawTimeline, timelineSvg } from "./timeline-draw.mjs";
import { firstEndingAfter, taskRows } from "./timeline-data.mjs";

const AXIS = 20, TITLE = 18, GAP = 8;
/** Least heights of rows in pixels, with the most rows for which they hold. */
const MIN_HEIGHTS = [[4, 300], [2, 1000], [1, Infinity]], MAX_HEIGHT = 18;
/** Width before the rows: of CPUs, and of tasks. */
const GUTTER = 62, TASK_GUTTER = 92;
/** Most rows of tasks. */
const MAX_TASKS = 400;
/** Height that the rows of an arm should not exceed, in pixels, and the least width of a window for which it holds. */
const ARM_HEIGHT = 330, NARROW_HEIGHT = 110, WIDE_FROM = 600;
const MIN_SPAN = 1000;
/** Distance in pixels from the end of a wait, and from the top of a row, up to which a click hits the mark of the wait. */
const MARK_REACH = 7, MARK_HEIGHT = 8;
/** Waits of this length in ns have the last colour. */
const LONG_WAIT = 1e7;
/** Strength of the colour of tasks that a search does not find. */
const FADED = 0.2;

/**
 * @typedef {import("./arm.mjs").Arm} Arm
 * @typedef {{ arm: number, cpu: number, at: number, task?: string, wait?: import("./client.mjs").Wait }} Point A CPU at a time; with `task`, a row of that task.
 * @typedef {{ from: number, to: number }} View
 * @typedef {"tasks" | "threads" | "util" | "khz" | "nr_running" | "idle"} Lane
 * @typedef {"family" | "thread" | "waited"} Colouring
 * @typedef {{ arm: number, isMigration: boolean, from: { cpu: number, at: number }, to: { cpu: number, at: number }, scanned: number[] }} Move
 *   From the CPU of the waker, or from the runqueue before, to the runqueue; and the CPUs that the scan of a wake-up checked.
 */

export class Timeline {
  /** @type {Arm[]} */
  arms = [];
  titles = ["A", "B"];
  /** CPUs that have a row in each arm. @type {number[]} */
  cpus = [];
  /** Names of families; the position decides the colour. @type {string[]} */
  families = [];
  /** Moment of the first difference. @type {number | null} */
  difference = null;
  /** Moments of the findings of each arm. @type {number[][]} */
  findings = [];
  /** @type {Point | null} */
  chosen = null;
  /** Wake-ups and migrations of which the chosen point is a result. @type {Move[]} */
  moves = [];
  /** What a row shows. @type {Lane} */
  lane = "tasks";
  /** @type {Colouring} */
  colouring = "family";
  /** Part of the names of tasks that are not faded. */
  wanted = "";
  /** @type {View} */
  view = { from: 0, to: 1e8 };
  /** Called with the point under the pointer. @type {(point: Point | null) => void} */
  onHover = () => {};
  #isPending = false;
  /** Time that the last drawing took, in milliseconds. */
  drawMs = 0;

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {(point: Point) => void} onChoose
   * @param {() => void} onDraw Called after each drawing.
   */
  constructor(canvas, onChoose, onDraw) {
    this.canvas = canvas;
    this.onChoose = onChoose;
    this.onDraw = onDraw;
    this.#listen();
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** Draws before the next frame. */
  draw() {
    if (this.#isPending) return;
    this.#isPending = true;
    requestAnimationFrame(() => {
      this.#isPending = false;
      const began = performance.now();
      drawTimeline(this);
      this.drawMs = performance.now() - began;
      this.onDraw();
    });
  }

  /** The timeline as SVG. */
  svg() {
    return timelineSvg(this);
  }

  get length() {
    return Math.max(1, ...this.arms.map((arm) => arm.length));
  }

  /** @param {number} from @param {number} to */
  show(from, to) {
    const span = Math.min(this.length, Math.max(MIN_SPAN, to - from));
    const start = Math.max(0, Math.min(this.length - span, from));
    this.view = { from: start, to: start + span };
    this.draw();
  }

  /** Shows a moment in the middle of the view. @param {number} at @param {number} [longest] Longest time in view, in ns. */
  showMoment(at, longest = Infinity) {
    const span = Math.min(this.view.to - this.view.from, longest);
    this.show(at - span / 2, at + span / 2);
  }

  /** @param {number} factor @param {number} [at] Time that stays where it is. */
  zoom(factor, at = (this.view.from + this.view.to) / 2) {
    const { from, to } = this.view, span = Math.min(this.length, Math.max(MIN_SPAN, (to - from) * factor));
    const start = at - (at - from) * span / (to - from);
    this.show(start, start + span);
  }

  /** Whether rows show tasks that run, rather than values. */
  get hasTasks() {
    return this.lane === "tasks" || this.lane === "threads";
  }

  /** Whether a row belongs to a task. */
  get isByTask() {
    return this.lane === "threads" && this.arms.every(({ ended }) => ended);
  }

  /** Names of the rows in each arm: CPUs, or tasks that the search finds. @returns {{ label: string, cpu: number, task?: string }[]} */
  rowNames() {
    if (!this.isByTask) return this.cpus.map((cpu) => ({ label: `CPU ${cpu}`, cpu }));
    const hasRun = (/** @type {string} */ name) => this.arms.some((arm) => this.taskRowsOf(arm).get(name)?.runs.length);
    const threads = this.arms.flatMap((arm) => arm.threads.filter((thread) => !thread.is_kernel && this.isWanted(thread)));
    return [...new Set(threads.map(({ name }) => name))].filter(hasRun).slice(0, MAX_TASKS).map((task) => ({ label: task, cpu: 0, task }));
  }

  /** Whether the search finds a task. @param {import("./client.mjs").Thread} thread */
  isWanted({ name, pid }) {
    return !this.wanted || name.toLowerCase().includes(this.wanted) || String(pid) === this.wanted;
  }

  /** @type {WeakMap<Arm, Map<string, import("./timeline-data.mjs").TaskRow>>} */
  #taskRows = new WeakMap();

  /** Rows of the tasks of an arm that has ended. @param {Arm} arm */
  taskRowsOf(arm) {
    const known = this.#taskRows.get(arm) ?? taskRows(arm);
    this.#taskRows.set(arm, known);
    return known;
  }

  /** Row of a point. @param {{ arm: number, cpu: number, task?: string }} point */
  rowOf({ arm: number, cpu, task }) {
    const arm = this.arms[number];
    return task === undefined ? arm?.rows[cpu] : this.taskRowsOf(arm).get(task)?.runs;
  }

  /** Width before the rows, and heights: of the axis, of a title, of a row, of an arm with its title, of the canvas. */
  layout() {
    const nr = Math.max(1, this.rowNames().length), gutter = this.isByTask ? TASK_GUTTER : GUTTER;
    const [least] = MIN_HEIGHTS.find(([, most]) => nr <= most) ?? [1];
    const row = Math.max(least, Math.min(MAX_HEIGHT, Math.floor((this.canvas.clientWidth < WIDE_FROM ? NARROW_HEIGHT : ARM_HEIGHT) / nr)));
    const arm = TITLE + nr * row, nrArms = Math.max(1, this.arms.length);
    return { gutter, axis: AXIS, title: TITLE, row, arm, height: AXIS + nrArms * arm + (nrArms - 1) * GAP };
  }

  /** Top of the rows of an arm. @param {number} arm */
  top(arm) {
    return AXIS + arm * (this.layout().arm + GAP) + TITLE;
  }

  /** @param {number} at */
  x(at) {
    const { from, to } = this.view, gutter = this.isByTask ? TASK_GUTTER : GUTTER;
    return gutter + (at - from) / (to - from) * (this.canvas.clientWidth - gutter);
  }

  /** Point under a position of the canvas. @param {number} x @param {number} y @returns {Point | null} */
  pointAt(x, y) {
    const { row, gutter } = this.layout(), { from, to } = this.view, names = this.rowNames();
    for (const arm of this.arms.keys()) {
      const index = Math.floor((y - this.top(arm)) / row);
      if (index < 0 || index >= names.length || x < gutter) continue;
      const at = Math.floor(from + (x - gutter) * (to - from) / (this.canvas.clientWidth - gutter));
      if (this.isByTask) return this.#taskPoint(arm, names[index].label, at);
      const { cpu } = names[index], isAtMark = y - this.top(arm) - index * row <= MARK_HEIGHT;
      return { arm, cpu, at, wait: isAtMark ? this.#waitAt(arm, cpu, at) : undefined };
    }
    return null;
  }

  /** Point of a row of a task, with the CPU on which it runs, or ran last. @param {number} arm @param {string} task @param {number} at @returns {Point} */
  #taskPoint(arm, task, at) {
    const of = this.taskRowsOf(this.arms[arm]).get(task), index = of ? firstEndingAfter(of.runs, at) : 0;
    const isInside = of && index < of.runs.length && of.runs.start[index] <= at;
    return { arm, cpu: of?.cpu[isInside ? index : Math.max(0, index - 1)] ?? 0, at, task };
  }

  /** The long wait whose end is marked near a point. @param {number} arm @param {number} cpu @param {number} at */
  #waitAt(arm, cpu, at) {
    const reach = MARK_REACH * (this.view.to - this.view.from) / (this.canvas.clientWidth - GUTTER);
    const waits = this.arms[arm].ended?.details.waits ?? [];
    return waits.find((wait) => wait.cpu === cpu && Math.abs(wait.since_ns + wait.length_ns - at) <= reach);
  }

  /** Place of the rows: width before them, and the top of each. */
  geometry() {
    const { row, gutter } = this.layout(), names = this.rowNames();
    const rows = this.arms.flatMap((_, arm) => names.map(({ cpu, task }, index) => ({ arm, cpu, task, top: this.top(arm) + index * row })));
    return { gutter, rows };
  }

  /** Colour of an idle CPU. */
  background() {
    return rgb(getComputedStyle(this.canvas).backgroundColor);
  }

  /** Colours of the present colouring, as red, green and blue: of values, or of tasks, then of kernel threads, faded, waiting and throttled tasks. */
  colours() {
    if (!this.hasTasks || this.colouring === "waited") {
      return Array.from({ length: NR_SHADES }, (_, index) => shade(index / (NR_SHADES - 1)));
    }
    const background = this.background(), kernel = rgb(KERNEL_COLOUR);
    const faded = /** @type {[number, number, number]} */ (kernel.map((part, at) => Math.round(background[at] + FADED * (part - background[at]))));
    const names = this.colouring === "thread" ? COLOURS : this.families;
    return [...names.map((_, index) => rgb(category(index))), kernel, faded, rgb(WAITS_COLOUR), rgb(THROTTLED_COLOUR)];
  }

  /** Position of each thread of an arm in [colours]. @param {Arm} arm */
  threadClasses(arm) {
    const isByFamily = this.colouring !== "thread", kernel = isByFamily ? this.families.length : COLOURS.length;
    const known = new Map(this.families.map((family, index) => [family, index]));
    return Uint16Array.from(arm.threads, (thread) => {
      if (!thread) return kernel;
      if (!this.isWanted(thread)) return kernel + 1;
      if (thread.family === null || thread.is_kernel) return kernel;
      return isByFamily ? known.get(thread.family) ?? kernel : thread.index % COLOURS.length;
    });
  }

  /** Keys of the segments of a row. @param {import("./timeline-data.mjs").Row} row @param {Uint16Array} classes @returns {import("./raster.mjs").Keys} */
  keysOf(row, classes) {
    if (this.colouring !== "waited") return { keys: row.thread, familyOf: classes, running: row.running ? classes[row.running.thread] : 0 };
    const scale = (NR_SHADES - 1) / Math.log(1 + LONG_WAIT / 1e3), keys = new Uint8Array(row.length);
    for (let index = 0; index < row.length; index++) keys[index] = Math.min(NR_SHADES - 1, Math.log(1 + row.waited[index] / 1e3) * scale);
    return { keys, familyOf: Uint16Array.from({ length: NR_SHADES }, (_, index) => index), running: 0 };
  }

  /** Colour of each thread of an arm. @param {Arm} arm */
  threadColours(arm) {
    const colours = this.colours();
    return Array.from(this.threadClasses(arm), (index) => colours[index]);
  }

  /** Segment at a point, by its index; null if the CPU was idle, or if the segment has not ended. @param {Point} point */
  segmentAt(point) {
    const row = this.rowOf(point);
    if (!row) return null;
    const index = firstEndingAfter(row, point.at);
    return index < row.length && row.start[index] <= point.at ? index : null;
  }

  /** Thread that ran at a point; null if none did. @param {Point} point */
  threadAt(point) {
    const run = this.arms[point.arm], row = this.rowOf(point), index = this.segmentAt(point);
    if (row && index !== null) return run.threads[row.thread[index]];
    return row?.running && row.running.since <= point.at && point.at < run.at ? run.threads[row.running.thread] : null;
  }

  #listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => {
      const point = this.pointAt(event.offsetX, event.offsetY);
      if (!point) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, point.at);
    }, { passive: false });
    // One pointer drags, two zoom.
    /** @type {Map<number, number>} */
    const pointers = new Map();
    /** @type {{ view: View, xs: number[], hasMoved: boolean } | null} */
    let gesture = null;
    const begin = (/** @type {boolean} */ hasMoved) => { gesture = { view: this.view, xs: [...pointers.values()], hasMoved }; };
    canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, event.offsetX);
      canvas.setPointerCapture(event.pointerId);
      begin(pointers.size > 1);
    });
    canvas.addEventListener("pointerleave", () => this.onHover(null));
    canvas.addEventListener("pointermove", (event) => {
      if (!gesture) this.onHover(this.pointAt(event.offsetX, event.offsetY));
      if (!gesture || !pointers.has(event.pointerId)) return;
      pointers.set(event.pointerId, event.offsetX);
      const [x, second] = pointers.values(), { view, xs: [first, other] } = gesture;
      if (!gesture.hasMoved && Math.abs(first - x) < 5) return;
      gesture.hasMoved = true;
      const { gutter } = this.layout(), perPixel = (view.to - view.from) / (canvas.clientWidth - gutter);
      // What was under the pointers stays under them.
      const factor = second === undefined ? 1 : Math.abs(other - first) / Math.max(10, Math.abs(second - x));
      const start = view.from + (first - gutter) * perPixel - (x - gutter) * perPixel * factor;
      this.show(start, start + (view.to - view.from) * factor);
    });
    const end = (/** @type {PointerEvent} */ event) => {
      pointers.delete(event.pointerId);
      if (pointers.size > 0) begin(true); else gesture = null;
    };
    canvas.addEventListener("pointerup", (event) => {
      const point = gesture && !gesture.hasMoved && this.pointAt(event.offsetX, event.offsetY);
      end(event);
      if (point) this.choose(point);
    });
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("keydown", (event) => {
      const action = this.#keyAction(event.key);
      if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      action();
    });
  }

  /** @param {Point} point */
  choose(point) {
    this.chosen = point;
    this.moves = [];
    this.draw();
    this.onChoose(point);
  }

  /** @param {string} key @returns {(() => void) | undefined} */
  #keyAction(key) {
    const { from, to } = this.view, part = (to - from) / 8;
    const { rows } = this.geometry(), { cpu: firstCpu = 0, task: firstTask } = rows[0] ?? {};
    const chosen = this.chosen ?? { arm: 0, cpu: firstCpu, task: firstTask, at: Math.floor((from + to) / 2) };
    const rowBy = (/** @type {number} */ by) => () => {
      const row = rows[rows.findIndex((row) => row.arm === chosen.arm && (this.isByTask ? row.task === chosen.task : row.cpu === chosen.cpu)) + by];
      if (row) this.choose(row.task === undefined ? { arm: row.arm, cpu: row.cpu, at: chosen.at } : this.#taskPoint(row.arm, row.task, chosen.at));
    };
    return {
      "+": () => this.zoom(0.5, chosen.at),
      "=": () => this.zoom(0.5, chosen.at),
      "-": () => this.zoom(2, chosen.at),
      ArrowLeft: () => this.show(from - part, to - part),
      ArrowRight: () => this.show(from + part, to + part),
      Home: () => this.show(0, this.length),
      ArrowUp: rowBy(-1),
      ArrowDown: rowBy(1),
      Enter: () => this.choose(chosen),
      n: () => this.#chooseSegment(chosen, 1),
      p: () => this.#chooseSegment(chosen, -1),
    }[key];
  }

  /** Chooses the next or previous segment on a CPU. @param {Point} point @param {number} by */
  #chooseSegment(point, by) {
    const row = this.rowOf(point), { arm, cpu, at, task } = point;
    if (!row) return;
    const index = firstEndingAfter(row, at), isInside = index < row.length && row.start[index] <= at;
    const wanted = by > 0 ? index + (isInside ? 1 : 0) : index - 1;
    if (wanted < 0 || wanted >= row.length) return;
    const start = row.start[wanted], { from, to } = this.view;
    if (start < from || start > to) this.show(start - (to - from) / 2, start + (to - from) / 2);
    this.choose(task === undefined ? { arm, cpu, at: start } : this.#taskPoint(arm, task, start));
  }
}
