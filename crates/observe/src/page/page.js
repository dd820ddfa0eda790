// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";
const page = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const runs = page.runs.map(decode);
let run = runs[0];
/** What of the run is shown, in ns; how far rows are scrolled; which CPU the keyboard is at; which segment is marked. */
let view = { from: 0, to: run.length_ns, top: 0, cpu: 0, mark: null };

/** The segments of a run as arrays for each CPU. */
function decode(run) {
  const text = atob(run.segments);
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
  run.segments = null;
  run.rows = run.cpus.map(() => {
    const nr = number();
    const row = { nr, start: new Float64Array(nr), end: new Float64Array(nr), thread: new Uint32Array(nr),
      busy: new Float64Array(nr), several: new Uint32Array(nr), waited: new Float64Array(nr), rule: new Uint8Array(nr) };
    let last = 0;
    for (let i = 0; i < nr; i++) {
      row.start[i] = last + number();
      last = row.end[i] = row.start[i] + number();
      row.thread[i] = number();
      row.several[i] = number();
      row.busy[i] = row.several[i] > 1 ? number() : last - row.start[i];
      row.waited[i] = number();
      row.rule[i] = number();
    }
    return row;
  });
  return run;
}

/** A time in its unit. */
function time(ns) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]]) {
    if (Math.abs(ns) >= size) return (ns / size).toPrecision(4) + " " + unit;
  }
  return Math.round(ns) + " ns";
}

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const isDark = () => getComputedStyle(document.documentElement).colorScheme.includes("dark");
const hue = (n) => `hsl(${(n * 137.5 + 205) % 360} 58% ${isDark() ? 58 : 46}%)`;

/** The colour of a segment. */
function colour(row, i) {
  const how = $("colour").value;
  if (how === "waited") {
    const heat = Math.min(1, Math.log10(1 + row.waited[i] / 1e3) / 4);
    return `hsl(${210 - 210 * heat} 65% ${isDark() ? 55 : 48}%)`;
  }
  const thread = row.thread[i];
  const family = run.family_of[thread];
  return family < 0 ? style("--quiet") : hue(how === "thread" ? thread : family);
}

/** A canvas in the size in which it is shown, for a height. */
function surface(id, height) {
  const canvas = $(id), scale = window.devicePixelRatio || 1;
  canvas.style.height = height + "px";
  const width = canvas.clientWidth;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const g = canvas.getContext("2d");
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.font = "12px system-ui, sans-serif";
  g.textBaseline = "middle";
  return { g, width, height };
}

const AXIS = 20;
/** Room for the names of CPUs: "CPU 7", "CPU 112", "CPU 4095". */
const LEFT = 42 + 7 * String(Math.max(...runs.map((run) => run.cpus.length)) - 1).length;
/** Height of a row and of the canvas: few CPUs have high rows, many scroll. */
function rows() {
  const nr = run.cpus.length;
  const height = Math.max(6, Math.min(24, Math.floor(460 / nr)));
  return { height, shown: Math.min(nr, Math.floor(620 / height)) };
}

/** The first segment of a row that ends after a time. */
function firstAfter(row, ns) {
  let low = 0, high = row.nr;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.end[middle] <= ns) low = middle + 1; else high = middle;
  }
  return low;
}

let colours = new Map();
function axis(g, width, height) {
  const span = view.to - view.from;
  // As many round times as there is room for.
  const most = Math.max(2, Math.floor((width - LEFT) / 80));
  const least = 10 ** Math.floor(Math.log10(span / most));
  const step = least * [1, 2, 5, 10].find(factor => span / (least * factor) <= most);
  g.fillStyle = style("--quiet");
  g.strokeStyle = style("--line");
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const x = LEFT + (at - view.from) / span * (width - LEFT);
    g.beginPath(); g.moveTo(x, 0); g.lineTo(x, height - AXIS); g.stroke();
    g.textAlign = x > width - 40 ? "right" : "center";
    g.fillText(time(at), x, height - AXIS / 2);
  }
}

function drawTimeline() {
  const { height: rowHeight, shown } = rows();
  const { g, width, height } = surface("timeline", shown * rowHeight + AXIS);
  view.top = Math.max(0, Math.min(view.top, run.cpus.length - shown));
  axis(g, width, height);
  const per = (view.to - view.from) / (width - LEFT);
  colours = new Map();
  for (let place = 0; place < shown; place++) {
    const cpu = place + view.top;
    const y = place * rowHeight;
    g.fillStyle = cpu === view.cpu ? style("--mark") : style("--quiet");
    g.textAlign = "right";
    const every = Math.ceil(13 / rowHeight);
    if (cpu % every === 0) g.fillText("CPU " + cpu, LEFT - 5, y + rowHeight / 2);
    drawRow(g, run.rows[cpu], y, rowHeight - 1, per, width);
  }
  if (view.mark) {
    const { cpu, i } = view.mark, row = run.rows[cpu];
    const x = LEFT + (row.start[i] - view.from) / per;
    g.strokeStyle = style("--text");
    g.strokeRect(x, (cpu - view.top) * rowHeight + .5, Math.max(2, (row.end[i] - row.start[i]) / per), rowHeight - 2);
  }
}

/** A row: segments that are wide enough as they are, others as the part of a pixel in which tasks ran. */
function drawRow(g, row, y, height, per, width) {
  const wanted = $("find").value.trim().toLowerCase();
  let column = -1, busy = 0, most = 0, of = 0;
  const flush = () => {
    if (column >= 0 && busy > 0) {
      g.globalAlpha = Math.min(1, .25 + .75 * busy / per) * (wanted && !isWanted(row.thread[of], wanted) ? .15 : 1);
      g.fillStyle = memo(row, of);
      g.fillRect(LEFT + column, y, 1, height);
    }
    column = -1; busy = 0; most = 0;
  };
  for (let i = firstAfter(row, view.from); i < row.nr && row.start[i] < view.to; i++) {
    const from = (Math.max(row.start[i], view.from) - view.from) / per;
    const to = (Math.min(row.end[i], view.to) - view.from) / per;
    if (to - from >= 1.5) {
      flush();
      const share = row.busy[i] / (row.end[i] - row.start[i]);
      g.globalAlpha = (.25 + .75 * share) * (wanted && !isWanted(row.thread[i], wanted) ? .15 : 1);
      g.fillStyle = memo(row, i);
      g.fillRect(LEFT + from, y, to - from, height);
      if (to - from > 60 && height > 11) {
        g.globalAlpha = 1;
        g.fillStyle = style("--back");
        g.textAlign = "left";
        g.fillText(run.threads[row.thread[i]][0], LEFT + from + 4, y + height / 2, to - from - 8);
      }
      continue;
    }
    const at = Math.floor(from);
    if (at !== column) { flush(); column = at; }
    busy += row.busy[i];
    if (row.busy[i] > most) { most = row.busy[i]; of = i; }
  }
  flush();
  g.globalAlpha = 1;
}

function isWanted(thread, wanted) {
  const [name, pid] = run.threads[thread];
  return name.toLowerCase().includes(wanted) || String(pid) === wanted;
}

function memo(row, i) {
  const how = $("colour").value;
  const key = how === "waited" ? Math.round(4 * Math.log10(1 + row.waited[i])) : row.thread[i];
  if (!colours.has(key)) colours.set(key, colour(row, i));
  return colours.get(key);
}

/** What a segment is, in words. */
function words(cpu, i) {
  const row = run.rows[cpu], [name, pid] = run.threads[row.thread[i]];
  const length = row.end[i] - row.start[i];
  const rule = row.rule[i] ? page.rules[row.rule[i] - 1] : null;
  const why = rule ? ` Put here by ${rule[0]}: ${rule[1]}` : "";
  if (row.several[i] > 1) {
    const share = (100 * row.busy[i] / length).toFixed(1);
    return `CPU ${cpu}, ${time(row.start[i])} for ${time(length)}: ${row.several[i]} times a task ran, ${share} % of the time, longest ${name} (${pid}).`;
  }
  return `CPU ${cpu}, ${time(row.start[i])}: ${name} (${pid}) ran ${time(length)} after waiting ${time(row.waited[i])}.${why}`;
}

/** Which segment is at a point of the timeline. */
function segmentAt(x, y) {
  const box = $("timeline").getBoundingClientRect();
  const cpu = Math.floor((y - box.top) / rows().height) + view.top;
  if (cpu < 0 || cpu >= run.cpus.length || x - box.left < LEFT) return null;
  const per = (view.to - view.from) / (box.width - LEFT);
  const at = view.from + (x - box.left - LEFT) * per;
  const i = firstAfter(run.rows[cpu], at);
  const isThere = i < run.rows[cpu].nr && run.rows[cpu].start[i] <= at + per;
  return { cpu, at, i: isThere ? i : -1 };
}

let pending = false;
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; drawTimeline(); });
}

/** Shows a part of the run, no less than 100 ns. */
function show(from, to) {
  const span = Math.max(100, Math.min(run.length_ns, to - from));
  view.from = Math.max(0, Math.min(run.length_ns - span, from));
  view.to = view.from + span;
  redraw();
}

/** The middle of what is marked, if it can be seen: who zooms wants to see that. */
function marked() {
  if (!view.mark) return undefined;
  const { cpu, i } = view.mark, row = run.rows[cpu];
  const from = Math.max(view.from, row.start[i]), to = Math.min(view.to, row.end[i]);
  return from <= to ? (from + to) / 2 : undefined;
}

function zoom(factor, around) {
  const at = around ?? marked() ?? (view.from + view.to) / 2;
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

/** Marks a segment and tells what it is. */
function mark(cpu, i) {
  const row = run.rows[cpu];
  if (i < 0 || i >= row.nr) return;
  view.mark = { cpu, i };
  view.cpu = cpu;
  if (row.start[i] < view.from || row.end[i] > view.to) {
    const span = view.to - view.from;
    show(row.start[i] - span / 2, row.start[i] + span / 2);
  }
  $("hover").textContent = words(cpu, i);
  redraw();
}

function listen() {
  const canvas = $("timeline");
  let drag = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey) { view.top += Math.sign(event.deltaY) * 4; return redraw(); }
    zoom(event.deltaY > 0 ? 1.25 : .8, segmentAt(event.clientX, event.clientY)?.at);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, from: view.from, to: view.to, top: view.top };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const per = (drag.to - drag.from) / (canvas.clientWidth - LEFT), by = (drag.x - event.clientX) * per;
      view.top = Math.round(drag.top + (drag.y - event.clientY) / rows().height);
      return show(drag.from + by, drag.to + by);
    }
    const at = segmentAt(event.clientX, event.clientY);
    if (at) $("hover").textContent = at.i < 0 ? `CPU ${at.cpu}, ${time(at.at)}: idle` : words(at.cpu, at.i);
  });
  canvas.addEventListener("pointerup", (event) => {
    const isClick = drag && Math.abs(drag.x - event.clientX) + Math.abs(drag.y - event.clientY) < 4;
    drag = null;
    const at = segmentAt(event.clientX, event.clientY);
    if (isClick && at && at.i >= 0) mark(at.cpu, at.i);
  });
  canvas.addEventListener("keydown", (event) => {
    const span = view.to - view.from, row = run.rows[view.cpu];
    const here = view.mark && view.mark.cpu === view.cpu ? view.mark.i : firstAfter(row, view.from) - 1;
    const keys = {
      "+": () => zoom(.5), "=": () => zoom(.5), "-": () => zoom(2), Home: () => show(0, run.length_ns),
      ArrowLeft: () => show(view.from - span / 8, view.to - span / 8),
      ArrowRight: () => show(view.from + span / 8, view.to + span / 8),
      ArrowUp: () => choose(view.cpu - 1), ArrowDown: () => choose(view.cpu + 1),
      PageUp: () => choose(view.cpu - rows().shown), PageDown: () => choose(view.cpu + rows().shown),
      n: () => mark(view.cpu, here + 1), p: () => mark(view.cpu, here - 1),
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  $("in").onclick = () => zoom(.5);
  $("out").onclick = () => zoom(2);
  $("all").onclick = () => show(0, run.length_ns);
  $("colour").onchange = () => { legend(); redraw(); };
  $("find").oninput = redraw;
  $("series").onchange = drawHeat;
  $("family").onchange = drawLatency;
  $("run").onchange = () => choose_run(Number($("run").value));
  $("theme").onclick = () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    drawAll();
  };
  window.addEventListener("resize", drawAll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
}

function choose(cpu) {
  view.cpu = Math.max(0, Math.min(run.cpus.length - 1, cpu));
  const { shown } = rows();
  view.top = Math.max(Math.min(view.top, view.cpu), view.cpu - shown + 1);
  $("hover").textContent = `CPU ${view.cpu}`;
  redraw();
}

function choose_run(place) {
  run = runs[place];
  view = { from: 0, to: run.length_ns, top: 0, cpu: 0, mark: null };
  drawAll();
}
