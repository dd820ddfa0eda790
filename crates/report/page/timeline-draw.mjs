// SPDX-License-Identifier: GPL-2.0-or-later
// Draws timelines, on their canvas and as SVG.
import { category, inkOn } from "./colours.mjs";
import { axisMoment, moment } from "./format.mjs";
import { Raster, palette } from "./raster.mjs";
import { firstEndingAfter } from "./timeline-data.mjs";

/** Least width in pixels of a segment with a name. */
const NAME_FROM = 46;
/** Most names that are drawn. */
const MAX_NAMES = 300;
/** Least height in pixels of a row that is separated from the next one. */
const GAP_FROM = 7;
/** Strip before the rows of an arm, in pixels: its width, its distance from the rows, and the distance of its lines in arm B. */
const STRIP = 5, STRIP_GAP = 2, STRIP_LINES = 5;
/** Distance of labels from the rows, in pixels. */
const LABEL_GAP = STRIP + STRIP_GAP + 2;

/**
 * @typedef {import("./timeline.mjs").Timeline} Timeline
 * @typedef {import("./arm.mjs").Arm} Arm
 */

/** Greatest value of a CPU in the lane of a timeline. @param {Timeline} timeline @param {import("./client.mjs").CpuDetails | undefined} cpu */
export function laneMost({ arms, lane }, cpu) {
  if (lane === "util") return 1024;
  if (lane === "khz") return cpu?.highest_khz || Infinity;
  if (lane === "tasks" || lane === "threads") return 1;
  return arms.reduce((most, arm) => arm.series.reduce((max, series) => series[lane].reduce((max, value) => Math.max(max, value), max), most), 100);
}

/** Rows of an arm as an image. @param {Timeline} timeline @param {Arm} arm @param {number} scale Pixels of the image per pixel of the page. */
function rasterOf(timeline, arm, scale) {
  const { canvas, lane, view } = timeline, names = timeline.rowNames(), { row, gutter } = timeline.layout(), classes = timeline.threadClasses(arm);
  const gap = row >= GAP_FROM ? Math.max(1, Math.round(scale)) : 0;
  const width = Math.max(1, Math.round((canvas.clientWidth - gutter) * scale)), height = Math.round(names.length * row * scale) || 1;
  const raster = new Raster(width, height, palette(timeline.colours(), timeline.background()));
  const most = lane === "nr_running" || lane === "idle" ? laneMost(timeline, undefined) : 0;
  names.forEach(({ cpu, task }, index) => {
    const top = Math.round(index * row * scale), next = Math.round((index + 1) * row * scale), height = next - top - gap, of = arm.rows[cpu];
    const details = arm.ended?.details, series = arm.series[cpu];
    if (task !== undefined) {
      drawTask(timeline, raster, arm, task, classes, top, height);
    } else if (lane !== "tasks" && lane !== "threads") {
      if (details && series) raster.drawSeries(series[lane], most || laneMost(timeline, details.cpus[cpu]), view, details.series_ns, top, height);
    } else if (of) {
      raster.drawRow(of, timeline.keysOf(of, classes), view, arm.at, top, height);
    }
  });
  return raster;
}

/**
 * Draws the row of a task: bars where it runs, a line in the middle where it waits or is throttled.
 * @param {Timeline} timeline @param {Raster} raster @param {Arm} arm @param {string} task @param {Uint16Array} classes
 * @param {number} top @param {number} height
 */
function drawTask(timeline, raster, arm, task, classes, top, height) {
  const rows = timeline.taskRowsOf(arm).get(task), nr = arm.threads.length, { view } = timeline;
  if (!rows) return;
  raster.drawRow(rows.runs, timeline.keysOf(rows.runs, classes), view, arm.at, top, height);
  if (timeline.colouring === "waited") return;
  const last = timeline.colours().length - 1;
  const familyOf = Uint16Array.from({ length: 3 * nr }, (_, thread) => thread < nr ? classes[thread] : thread < 2 * nr ? last - 1 : last);
  const thickness = Math.max(1, Math.round(height / 4));
  raster.drawRow(rows.all, { keys: rows.all.thread, familyOf, running: 0 }, view, arm.at, top + Math.floor((height - thickness) / 2), thickness);
}

/** @param {Timeline} timeline */
export function drawTimeline(timeline) {
  const { canvas, arms } = timeline, { height, gutter } = timeline.layout();
  const width = canvas.clientWidth, scale = devicePixelRatio, style = getComputedStyle(canvas);
  const quiet = style.getPropertyValue("--quiet");
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
  context.fillStyle = style.backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  if (arms.length === 0 || width <= gutter) return;
  arms.forEach((arm, number) => {
    context.putImageData(rasterOf(timeline, arm, scale).image, Math.round(gutter * scale), Math.round(timeline.top(number) * scale));
  });
  context.scale(scale, scale);
  context.font = `11px ${style.fontFamily}`;
  context.textBaseline = "middle";
  drawAxis(timeline, context, style.color, quiet);
  arms.forEach((arm, number) => {
    drawTitle(timeline, context, number, style.color);
    drawLabels(timeline, context, number, quiet);
    if (arms.length > 1) drawStrip(timeline, context, number, quiet);
    drawBorders(timeline, context, arm, number, quiet);
    if (timeline.lane === "tasks" && timeline.layout().row >= 12) drawNames(timeline, context, arm, number);
    drawWaits(timeline, context, arm, number, style.color, style.backgroundColor);
  });
  drawDifference(timeline, context, style.getPropertyValue("--mark"));
  drawMoves(timeline, context, style.color);
  drawChosen(timeline, context, style.color);
}

/** @param {Timeline} timeline @param {CanvasRenderingContext2D} context @param {string} ink @param {string} quiet */
function drawAxis(timeline, context, ink, quiet) {
  const { from, to } = timeline.view, { gutter, axis } = timeline.layout(), width = timeline.canvas.clientWidth - gutter;
  const wanted = (to - from) * 90 / Math.max(90, width), power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= wanted) ?? wanted;
  context.fillStyle = ink;
  context.strokeStyle = quiet;
  context.textAlign = "center";
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const text = axisMoment(at, step), x = timeline.x(at), half = context.measureText(text).width / 2;
    context.fillText(text, Math.max(gutter + half, Math.min(gutter + width - half, x)), axis / 2);
    context.fillRect(x, axis - 3, 1, 3);
  }
}

/** Draws the title of an arm and the marks of its findings. @param {Timeline} timeline @param {CanvasRenderingContext2D} context @param {number} number @param {string} ink */
function drawTitle(timeline, context, number, ink) {
  const { canvas, titles, findings } = timeline, { gutter, title } = timeline.layout(), top = timeline.top(number);
  context.textAlign = "left";
  context.fillStyle = ink;
  context.font = `600 ${context.font}`;
  context.fillText(titles[number] ?? "", 2, top - title / 2);
  context.font = context.font.replace(/^(bold|600) /, "");
  for (const at of findings[number] ?? []) {
    const x = timeline.x(at);
    if (x < gutter || x > canvas.clientWidth) continue;
    context.beginPath();
    context.moveTo(x - 4, top - 8);
    context.lineTo(x + 4, top - 8);
    context.lineTo(x, top - 1);
    context.fill();
  }
}

/** @param {Timeline} timeline @param {CanvasRenderingContext2D} context @param {number} number @param {string} quiet */
function drawLabels(timeline, context, number, quiet) {
  const { row, gutter } = timeline.layout(), top = timeline.top(number), every = Math.ceil(11 / row);
  context.fillStyle = quiet;
  context.textAlign = "right";
  timeline.rowNames().forEach(({ label }, index) => {
    if (index % every === 0) context.fillText(shortened(context, label, gutter - LABEL_GAP - 2), gutter - LABEL_GAP, top + (index + 0.5) * row);
  });
}

/** Draws what tells the arms apart without colours: a strip before their rows, solid for arm A, hatched for arm B. @param {Timeline} timeline @param {CanvasRenderingContext2D} context @param {number} number @param {string} quiet */
function drawStrip(timeline, context, number, quiet) {
  const { gutter, arm, title } = timeline.layout(), left = gutter - STRIP_GAP - STRIP, top = timeline.top(number), height = arm - title;
  context.fillStyle = context.strokeStyle = quiet;
  if (number === 0) return context.fillRect(left, top, STRIP, height);
  context.save();
  context.beginPath();
  context.rect(left, top, STRIP, height);
  context.clip();
  context.lineWidth = 1.5;
  context.beginPath();
  for (let y = top; y < top + height + STRIP; y += STRIP_LINES) {
    context.moveTo(left, y);
    context.lineTo(left + STRIP, y - STRIP);
  }
  context.stroke();
  context.restore();
}

/** Draws lines between rows of different last-level caches, strong ones between nodes. @param {Timeline} timeline @param {CanvasRenderingContext2D} context @param {Arm} arm @param {number} number @param {string} quiet */
function drawBorders(timeline, context, arm, number, quiet) {
  const { canvas, cpus } = timeline, { row } = timeline.layout(), top = timeline.top(number), details = arm.ended?.details.cpus;
  if (!details || timeline.isByTask) return;
  context.fillStyle = quiet;
  for (let index = 1; index < cpus.length; index++) {
    const above = details[cpus[index - 1]], below = details[cpus[index]];
    if (!above || !below || (above.node === below.node && above.llc === below.llc)) continue;
    const thickness = above.node === below.node ? 1 : 2;
    context.fillRect(0, top + index * row - thickness, canvas.clientWidth, thickness);
  }
}

/** Draws the names of wide segments. @param {Timeline} timeline @param {CanvasRenderingContext2D} context @param {Arm} arm @param {number} number */
function drawNames(timeline, context, arm, number) {
  const { from, to } = timeline.view, { row: height, gutter } = timeline.layout();
  const perPixel = (to - from) / (timeline.canvas.clientWidth - gutter), top = timeline.top(number);
  const colours = timeline.colours(), classes = timeline.threadClasses(arm);
  let nr = 0;
  context.textAlign = "left";
  timeline.cpus.forEach((cpu, index) => {
    const row = arm.rows[cpu];
    if (!row) return;
    const { keys, familyOf } = timeline.keysOf(row, classes);
    let last = -1;
    for (let at = firstEndingAfter(row, from); at < row.length && row.start[at] < to && nr < MAX_NAMES; at++) {
      const start = Math.max(from, row.start[at]), width = (Math.min(to, row.end[at]) - start) / perPixel;
      if (width < NAME_FROM) {
        // Without a wide segment in sight, a crowded row costs no more than its pixels.
        if (++last > 4000) break;
        continue;
      }
      nr++;
      context.fillStyle = inkOn(colours[familyOf[keys[at]]]);
      const text = shortened(context, arm.threads[row.thread[at]]?.name ?? "", width - 8);
      context.fillText(text, timeline.x(start) + 4, top + (index + 0.5) * height);
    }
  });
}

/** Draws triangles where long waits end. @param {Timeline} timeline @param {CanvasRenderingContext2D} context @param {Arm} arm @param {number} number @param {string} ink @param {string} back */
function drawWaits(timeline, context, arm, number, ink, back) {
  const { row } = timeline.layout(), { from, to } = timeline.view, top = timeline.top(number);
  if (timeline.isByTask) return;
  context.fillStyle = ink;
  context.strokeStyle = back;
  for (const { cpu, since_ns, length_ns } of arm.ended?.details.waits ?? []) {
    const index = timeline.cpus.indexOf(cpu), at = since_ns + length_ns;
    if (index < 0 || at < from || at > to) continue;
    const x = timeline.x(at), y = top + index * row;
    context.beginPath();
    context.moveTo(x - 4, y);
    context.lineTo(x + 4, y);
    context.lineTo(x, y + 7);
    context.closePath();
    context.fill();
    context.stroke();
  }
}

/** @param {Timeline} timeline @param {CanvasRenderingContext2D} context @param {string} mark */
function drawDifference(timeline, context, mark) {
  if (timeline.difference === null) return;
  const { height, gutter, title } = timeline.layout(), width = timeline.canvas.clientWidth;
  const x = timeline.x(timeline.difference), isBefore = x < gutter, isAfter = x > width, top = timeline.top(0) - title;
  context.fillStyle = context.strokeStyle = mark;
  if (!isBefore && !isAfter) {
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, height);
    context.stroke();
    context.setLineDash([]);
  }
  const text = `${isBefore ? "\u25c0 " : ""}first difference ${moment(timeline.difference)}${isAfter ? " \u25b6" : ""}`;
  const room = context.measureText(text).width + 4;
  context.textAlign = "left";
  context.fillText(text, Math.max(gutter + 90, Math.min(width - room, x + 4)), top + title / 2);
}

/** Draws arrows from wakers to the runqueues of the tasks that they woke, dashed arrows for migrations, and squares on the CPUs that a scan checked. @param {Timeline} timeline @param {CanvasRenderingContext2D} context @param {string} ink */
function drawMoves(timeline, context, ink) {
  if (timeline.isByTask) return;
  const { row, gutter } = timeline.layout(), width = timeline.canvas.clientWidth;
  context.save();
  context.beginPath();
  context.rect(gutter, 0, width - gutter, timeline.layout().height);
  context.clip();
  context.strokeStyle = context.fillStyle = ink;
  context.lineWidth = 1.5;
  for (const { arm, isMigration, from, to, scanned } of timeline.moves) {
    context.setLineDash(isMigration ? [4, 3] : []);
    for (const index of scanned.map((cpu) => timeline.cpus.indexOf(cpu)).filter((index) => index >= 0)) {
      const side = Math.min(8, Math.max(3, row - 2));
      context.strokeRect(timeline.x(from.at) - side / 2, timeline.top(arm) + (index + 0.5) * row - side / 2, side, side);
    }
    const [start, end] = [from, to].map(({ cpu, at }) => ({ x: timeline.x(at), index: timeline.cpus.indexOf(cpu) }));
    if (start.index < 0 || end.index < 0) continue;
    const [startY, endY] = [start, end].map(({ index }) => timeline.top(arm) + (index + 0.5) * row);
    const angle = Math.atan2(endY - startY, end.x - start.x);
    context.beginPath();
    context.arc(start.x, startY, 3, 0, 2 * Math.PI);
    context.fill();
    context.beginPath();
    context.moveTo(start.x, startY);
    context.lineTo(end.x, endY);
    for (const side of [-0.5, 0.5]) {
      context.moveTo(end.x, endY);
      context.lineTo(end.x - 8 * Math.cos(angle + side), endY - 8 * Math.sin(angle + side));
    }
    context.stroke();
  }
  context.restore();
}

/** @param {Timeline} timeline @param {CanvasRenderingContext2D} context @param {string} ink */
function drawChosen(timeline, context, ink) {
  if (!timeline.chosen) return;
  const { arm, cpu, at, task } = timeline.chosen, x = timeline.x(at), { row, gutter } = timeline.layout();
  const index = timeline.rowNames().findIndex((row) => timeline.isByTask ? row.task === task : row.cpu === cpu);
  if (index < 0 || x < gutter || x > timeline.canvas.clientWidth) return;
  context.strokeStyle = ink;
  context.lineWidth = 2;
  context.strokeRect(x - 3, timeline.top(arm) + index * row - 1, 6, row + 1);
  context.lineWidth = 1;
}

/** The timeline as SVG. @param {Timeline} timeline */
export function timelineSvg(timeline) {
  const { arms, canvas, families, titles } = timeline, { row, height, gutter, title, arm: armHeight } = timeline.layout();
  const width = canvas.clientWidth, style = getComputedStyle(canvas), { from, to } = timeline.view, quiet = style.getPropertyValue("--quiet");
  const lines = `<path d="M0 ${STRIP_LINES}L${STRIP_LINES} 0" stroke="${quiet}" stroke-width="1.5"/>`;
  const hatching = `<pattern id="arm-b" width="${STRIP_LINES}" height="${STRIP_LINES}" patternUnits="userSpaceOnUse">${lines}</pattern>`;
  const text = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ content, anchor = "start") =>
    `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${style.color}">${escaped(content)}</text>`;
  const parts = arms.flatMap((arm, number) => {
    const raster = rasterOf(timeline, arm, 1), top = timeline.top(number);
    const rects = timeline.rowNames().flatMap(({ label }, index) => {
      const y = top + index * row, bars = raster.stretches(index * row).map(({ from, to, colour }) =>
        `<rect x="${gutter + from}" y="${y}" width="${to - from}" height="${row >= GAP_FROM ? row - 1 : row}" fill="${colour}"/>`);
      return row >= 10 ? [...bars, text(gutter - LABEL_GAP, y + row / 2 + 4, label, "end")] : bars;
    });
    const fill = number === 0 ? quiet : "url(#arm-b)";
    const strip = `<rect x="${gutter - STRIP_GAP - STRIP}" y="${top}" width="${STRIP}" height="${armHeight - title}" fill="${fill}"/>`;
    return [text(2, top - 5, titles[number] ?? ""), ...arms.length > 1 ? [strip] : [], ...rects];
  });
  const legend = families.map((family, index) => `<tspan fill="${category(index)}"> \u25a0 </tspan>${escaped(family)}`).join(" ");
  return [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + 20}" viewBox="0 0 ${width} ${height + 20}" font-family="sans-serif" font-size="11">`,
    `<rect width="100%" height="100%" fill="${style.backgroundColor}"/>`, hatching,
    text(gutter, 13, moment(Math.round(from))), text(width, 13, moment(Math.round(to)), "end"), ...parts,
    `<text x="${gutter}" y="${height + 14}" fill="${style.color}">${legend}</text>`, "</svg>\n"].join("\n");
}

/** @param {string} text */
function escaped(text) {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** Text that is cut to a width. @param {CanvasRenderingContext2D} context @param {string} text @param {number} width */
function shortened(context, text, width) {
  let kept = text;
  while (kept && context.measureText(kept).width > width) kept = kept.slice(0, -1);
  return kept;
}
