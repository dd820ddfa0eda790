// SPDX-License-Identifier: GPL-2.0-or-later
// Timeline of two arms, one above the other, on a canvas.
import { axisMoment, moment } from "./format.mjs";
import { Raster, palette } from "./raster.mjs";
import { firstEndingAfter } from "./timeline-data.mjs";

/** Colours of families that colour-blind people tell apart (Okabe and Ito), and of tasks of the kernel. */
export const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800"];
export const KERNEL_COLOUR = "#8a939c";
const GUTTER = 62, AXIS = 20, TITLE = 18, GAP = 8;
const ROW_HEIGHTS = { min: 4, max: 18 };
/** Height that the rows of an arm should not exceed, in pixels. */
const ARM_HEIGHT = 330;
const MIN_SPAN = 1000;
/** Least width in pixels of a segment with a name. */
const NAME_FROM = 46;
/** Most names that are drawn. */
const MAX_NAMES = 300;

/**
 * @typedef {{ arm: number, cpu: number, at: number }} Point
 * @typedef {{ from: number, to: number }} View
 */

export class Timeline {
  /** @type {import("./arm.mjs").ArmRun[]} */
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
  /** @type {View} */
  view = { from: 0, to: 1e8 };
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
      this.#drawNow();
      this.drawMs = performance.now() - began;
      this.onDraw();
    });
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

  /** @param {number} factor @param {number} [at] Time that stays where it is. */
  zoom(factor, at = (this.view.from + this.view.to) / 2) {
    const { from, to } = this.view, span = Math.min(this.length, Math.max(MIN_SPAN, (to - from) * factor));
    const start = at - (at - from) * span / (to - from);
    this.show(start, start + span);
  }

  #layout() {
    const nr = Math.max(1, this.cpus.length);
    const row = Math.max(ROW_HEIGHTS.min, Math.min(ROW_HEIGHTS.max, Math.floor(ARM_HEIGHT / nr)));
    const arm = TITLE + nr * row;
    return { row, arm, height: AXIS + 2 * arm + GAP };
  }

  /** Top of the rows of an arm. @param {number} arm */
  #top(arm) {
    return AXIS + arm * (this.#layout().arm + GAP) + TITLE;
  }

  /** @param {number} at */
  #x(at) {
    const { from, to } = this.view;
    return GUTTER + (at - from) / (to - from) * (this.canvas.clientWidth - GUTTER);
  }

  /** Point under a position of the canvas. @param {number} x @param {number} y @returns {Point | null} */
  pointAt(x, y) {
    const { row } = this.#layout(), { from, to } = this.view;
    for (const arm of this.arms.keys()) {
      const index = Math.floor((y - this.#top(arm)) / row);
      if (index < 0 || index >= this.cpus.length || x < GUTTER) continue;
      const at = from + (x - GUTTER) * (to - from) / (this.canvas.clientWidth - GUTTER);
      return { arm, cpu: this.cpus[index], at: Math.floor(at) };
    }
    return null;
  }

  /** Place of the rows: width before them, and the top of each. */
  geometry() {
    const { row } = this.#layout();
    const rows = this.arms.flatMap((_, arm) => this.cpus.map((cpu, index) => ({ arm, cpu, top: this.#top(arm) + index * row })));
    return { gutter: GUTTER, rows };
  }

  /** Colour of each thread of an arm. @param {import("./arm.mjs").ArmRun} arm */
  threadColours(arm) {
    const colours = this.#colours().map(rgb);
    return Array.from(this.#familyOf(arm), (family) => colours[family]);
  }

  /** Colour of an idle CPU. */
  background() {
    return rgb(getComputedStyle(this.canvas).backgroundColor);
  }

  /** Thread that ran at a point; null if the CPU was idle. @param {Point} point */
  threadAt({ arm, cpu, at }) {
    const run = this.arms[arm], row = run.rows[cpu];
    if (!row) return null;
    const index = firstEndingAfter(row, at);
    if (index < row.length) return row.start[index] <= at ? run.threads[row.thread[index]] : null;
    return row.running && row.running.since <= at && at < run.at ? run.threads[row.running.thread] : null;
  }

  /** Family of each thread of an arm, as a position in the palette. @param {import("./arm.mjs").ArmRun} arm */
  #familyOf(arm) {
    const kernel = this.families.length, known = new Map(this.families.map((family, index) => [family, index]));
    return Uint16Array.from(arm.threads, (thread) => {
      if (!thread || thread.family === null || thread.is_kernel) return kernel;
      return known.get(thread.family) ?? kernel;
    });
  }

  /** Colour of each family; the last one is that of kernel threads. */
  #colours() {
    return [...this.families.map((_, family) => COLOURS[family % COLOURS.length]), KERNEL_COLOUR];
  }

  /** Rows of an arm as an image. @param {import("./arm.mjs").ArmRun} arm @param {number} scale Pixels of the image per pixel of the page. */
  #raster(arm, scale) {
    const { row } = this.#layout(), familyOf = this.#familyOf(arm), gap = row > 6 ? Math.max(1, Math.round(scale)) : 0;
    const width = Math.round((this.canvas.clientWidth - GUTTER) * scale), height = Math.round(this.cpus.length * row * scale) || 1;
    const raster = new Raster(width, height, palette(this.#colours().map(rgb), this.background()));
    this.cpus.forEach((cpu, index) => {
      const top = Math.round(index * row * scale), next = Math.round((index + 1) * row * scale);
      if (arm.rows[cpu]) raster.drawRow(arm.rows[cpu], familyOf, this.view, arm.at, top, next - top - gap);
    });
    return raster;
  }

  /** The timeline as SVG. */
  svg() {
    const { row, height } = this.#layout(), width = this.canvas.clientWidth, style = getComputedStyle(this.canvas), { from, to } = this.view;
    const text = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ content, anchor = "start") =>
      `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${style.color}">${escaped(content)}</text>`;
    const parts = this.arms.flatMap((arm, number) => {
      const raster = this.#raster(arm, 1), top = this.#top(number);
      const rects = this.cpus.flatMap((cpu, index) => {
        const y = top + index * row, bars = raster.stretches(index * row).map(({ from, to, colour }) =>
          `<rect x="${GUTTER + from}" y="${y}" width="${to - from}" height="${row > 6 ? row - 1 : row}" fill="${colour}"/>`);
        return row >= 10 ? [...bars, text(GUTTER - 6, y + row / 2 + 4, `CPU ${cpu}`, "end")] : bars;
      });
      return [text(2, top - 5, this.titles[number]), ...rects];
    });
    const legend = this.families.map((family, index) => `<tspan fill="${COLOURS[index % COLOURS.length]}"> \u25a0 </tspan>${escaped(family)}`).join(" ");
    return [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + 20}" viewBox="0 0 ${width} ${height + 20}" font-family="sans-serif" font-size="11">`,
      `<rect width="100%" height="100%" fill="${style.backgroundColor}"/>`,
      text(GUTTER, 13, moment(Math.round(from))), text(width, 13, moment(Math.round(to)), "end"), ...parts,
      `<text x="${GUTTER}" y="${height + 14}" fill="${style.color}">${legend}</text>`, "</svg>\n"].join("\n");
  }

  #drawNow() {
    const { canvas } = this, { height } = this.#layout(), width = canvas.clientWidth, scale = devicePixelRatio;
    const style = getComputedStyle(canvas), ink = style.color, quiet = style.getPropertyValue("--quiet");
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
    context.fillStyle = style.backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    if (this.arms.length === 0 || width <= GUTTER) return;
    this.arms.forEach((arm, number) => {
      context.putImageData(this.#raster(arm, scale).image, Math.round(GUTTER * scale), Math.round(this.#top(number) * scale));
    });
    context.scale(scale, scale);
    context.font = `11px ${style.fontFamily}`;
    context.textBaseline = "middle";
    this.#drawAxis(context, ink, quiet);
    this.arms.forEach((arm, number) => this.#drawArm(context, arm, number, ink, quiet));
    this.#drawMarks(context, style.getPropertyValue("--mark"), ink);
  }

  /** @param {CanvasRenderingContext2D} context @param {string} ink @param {string} quiet */
  #drawAxis(context, ink, quiet) {
    const { from, to } = this.view, width = this.canvas.clientWidth - GUTTER;
    const wanted = (to - from) * 90 / Math.max(90, width), power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= wanted) ?? wanted;
    context.fillStyle = ink;
    context.strokeStyle = quiet;
    context.textAlign = "center";
    context.globalAlpha = 1;
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const text = axisMoment(at, step), x = this.#x(at), half = context.measureText(text).width / 2;
      context.fillText(text, Math.max(GUTTER + half, Math.min(GUTTER + width - half, x)), AXIS / 2);
      context.fillRect(x, AXIS - 3, 1, 3);
    }
  }

  /**
   * Draws title, numbers of CPUs and names of wide segments.
   * @param {CanvasRenderingContext2D} context @param {import("./arm.mjs").ArmRun} arm @param {number} number
   * @param {string} ink @param {string} quiet
   */
  #drawArm(context, arm, number, ink, quiet) {
    const { row } = this.#layout(), top = this.#top(number);
    context.textAlign = "left";
    context.fillStyle = ink;
    context.font = `600 ${context.font}`;
    context.fillText(this.titles[number], 2, top - TITLE / 2);
    context.font = context.font.replace(/^(bold|600) /, "");
    for (const at of this.findings[number] ?? []) {
      const x = this.#x(at);
      if (x < GUTTER || x > this.canvas.clientWidth) continue;
      context.beginPath();
      context.moveTo(x - 4, top - 8);
      context.lineTo(x + 4, top - 8);
      context.lineTo(x, top - 1);
      context.fill();
    }
    const every = Math.ceil(11 / row);
    context.fillStyle = quiet;
    context.textAlign = "right";
    this.cpus.forEach((cpu, index) => {
      if (index % every === 0) context.fillText(`CPU ${cpu}`, GUTTER - 6, top + (index + 0.5) * row);
    });
    if (row >= 12) this.#drawNames(context, arm, top, row, this.#familyOf(arm));
  }

  /**
   * Draws the names of wide segments.
   * @param {CanvasRenderingContext2D} context @param {import("./arm.mjs").ArmRun} arm
   * @param {number} top @param {number} height @param {Uint16Array} familyOf
   */
  #drawNames(context, arm, top, height, familyOf) {
    const { from, to } = this.view, perPixel = (to - from) / (this.canvas.clientWidth - GUTTER);
    let nr = 0;
    context.textAlign = "left";
    this.cpus.forEach((cpu, index) => {
      const row = arm.rows[cpu];
      if (!row) return;
      let last = -1;
      for (let at = firstEndingAfter(row, from); at < row.length && row.start[at] < to && nr < MAX_NAMES; at++) {
        const start = Math.max(from, row.start[at]), width = (Math.min(to, row.end[at]) - start) / perPixel;
        if (width < NAME_FROM) {
          // Without a wide segment in sight, a crowded row costs no more than its pixels.
          if (++last > 4000) break;
          continue;
        }
        nr++;
        context.fillStyle = inkOn(this.#colours()[familyOf[row.thread[at]]]);
        const text = shortened(context, arm.threads[row.thread[at]]?.name ?? "", width - 8);
        context.fillText(text, this.#x(start) + 4, top + (index + 0.5) * height);
      }
    });
  }

  /** @param {CanvasRenderingContext2D} context @param {string} mark @param {string} ink */
  #drawMarks(context, mark, ink) {
    const { height, row } = this.#layout(), width = this.canvas.clientWidth;
    if (this.difference !== null) {
      const x = this.#x(this.difference), isBefore = x < GUTTER, isAfter = x > width;
      context.fillStyle = context.strokeStyle = mark;
      if (!isBefore && !isAfter) {
        context.setLineDash([4, 3]);
        context.beginPath();
        context.moveTo(x, AXIS);
        context.lineTo(x, height);
        context.stroke();
        context.setLineDash([]);
      }
      const text = `${isBefore ? "\u25c0 " : ""}first difference ${moment(this.difference)}${isAfter ? " \u25b6" : ""}`;
      const room = context.measureText(text).width + 4;
      context.textAlign = "left";
      context.fillText(text, Math.max(GUTTER + 90, Math.min(width - room, x + 4)), AXIS + TITLE / 2);
    }
    if (this.chosen) {
      const { arm, cpu, at } = this.chosen, index = this.cpus.indexOf(cpu), x = this.#x(at);
      if (index < 0 || x < GUTTER || x > width) return;
      context.strokeStyle = ink;
      context.lineWidth = 2;
      context.strokeRect(x - 3, this.#top(arm) + index * row - 1, 6, row + 1);
      context.lineWidth = 1;
    }
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
    canvas.addEventListener("pointermove", (event) => {
      if (!gesture || !pointers.has(event.pointerId)) return;
      pointers.set(event.pointerId, event.offsetX);
      const [x, second] = pointers.values(), { view, xs: [first, other] } = gesture;
      if (!gesture.hasMoved && Math.abs(first - x) < 5) return;
      gesture.hasMoved = true;
      const perPixel = (view.to - view.from) / (canvas.clientWidth - GUTTER);
      // What was under the pointers stays under them.
      const factor = second === undefined ? 1 : Math.abs(other - first) / Math.max(10, Math.abs(second - x));
      const start = view.from + (first - GUTTER) * perPixel - (x - GUTTER) * perPixel * factor;
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
    this.draw();
    this.onChoose(point);
  }

  /** @param {string} key @returns {(() => void) | undefined} */
  #keyAction(key) {
    const { from, to } = this.view, part = (to - from) / 8;
    const chosen = this.chosen ?? { arm: 0, cpu: this.cpus[0] ?? 0, at: Math.floor((from + to) / 2) };
    const rowBy = (/** @type {number} */ by) => () => {
      const rows = this.arms.flatMap((_, arm) => this.cpus.map((cpu) => ({ arm, cpu })));
      const index = rows.findIndex(({ arm, cpu }) => arm === chosen.arm && cpu === chosen.cpu) + by;
      if (rows[index]) this.choose({ ...rows[index], at: chosen.at });
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
  #chooseSegment({ arm, cpu, at }, by) {
    const row = this.arms[arm]?.rows[cpu];
    if (!row) return;
    const index = firstEndingAfter(row, at), isInside = index < row.length && row.start[index] <= at;
    const wanted = by > 0 ? index + (isInside ? 1 : 0) : index - 1;
    if (wanted < 0 || wanted >= row.length) return;
    const start = row.start[wanted], { from, to } = this.view;
    if (start < from || start > to) this.show(start - (to - from) / 2, start + (to - from) / 2);
    this.choose({ arm, cpu, at: start });
  }
}

/** @param {string} colour @returns {[number, number, number]} */
function rgb(colour) {
  if (colour.startsWith("#")) return /** @type {[number, number, number]} */ ([1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)));
  const parts = colour.match(/[\d.]+/g)?.map(Number) ?? [];
  return [parts[0] ?? 255, parts[1] ?? 255, parts[2] ?? 255];
}

/** @param {string} text */
function escaped(text) {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** Colour of text on a colour. @param {string} colour */
function inkOn(colour) {
  const [red, green, blue] = rgb(colour);
  return 0.3 * red + 0.59 * green + 0.11 * blue > 120 ? "#000" : "#fff";
}

/** Text that is cut to a width. @param {CanvasRenderingContext2D} context @param {string} text @param {number} width */
function shortened(context, text, width) {
  let kept = text;
  while (kept && context.measureText(kept).width > width) kept = kept.slice(0, -1);
  return kept;
}
