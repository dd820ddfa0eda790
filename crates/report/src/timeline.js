// SPDX-License-Identifier: GPL-2.0-or-later
// The timeline: one row per CPU, one bar for each time that a task ran, marks for the longest waits.

/** Height of an axis with labels, in pixels. */
const AXIS = 20;
/** Width of the labels of rows: "CPU 7", "CPU 112", "CPU 4095". */
const LEFT = 42 + 7 * String(Math.max(...runs.map((run) => run.cpus.length)) - 1).length;
/** Half the width of a mark, and the distance up to which a click hits it. */
const MARK = 5, MARK_REACH = 9;
/** Opacity of tasks that a search does not match. */
const FADED = .15;

/** Height of a row and number of visible rows: the timeline fits the first screen, with room for explanations; many CPUs scroll. */
function rows() {
  const nr = run.cpus.length;
  const above = $("timeline").getBoundingClientRect().top + scrollY;
  const room = Math.max(160, Math.min(300, innerHeight - above - AXIS - 50));
  const height = Math.max(8, Math.min(24, Math.floor(room / nr)));
  return { height, shown: Math.min(nr, Math.floor(room / height)) };
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

/** Draws a time axis below `bottom`, with grid lines: round times, each label with its unit and as many digits as it needs. */
function timeAxis(g, { from, to, left, right, bottom }) {
  const span = to - from;
  const [unit, size] = UNITS.find(([, size]) => to >= size) ?? ["ns", 1];
  const label = (at, step) => `${(at / size).toFixed(Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9)))} ${unit}`;
  const most = Math.max(1, Math.floor((right - left) / (g.measureText(label(to, span / 10)).width + 24)));
  const least = 10 ** Math.floor(Math.log10(span / most));
  const step = least * [1, 2, 5, 10].find((factor) => span / (least * factor) <= most);
  g.fillStyle = style("--quiet");
  g.strokeStyle = style("--line");
  g.textAlign = "center";
  let end = 0;
  for (let nr = Math.ceil(from / step); nr * step <= to; nr++) {
    const x = left + (nr * step - from) / span * (right - left), text = label(nr * step, step), half = g.measureText(text).width / 2;
    const middle = Math.max(half + 2, Math.min(right - half - 2, x));
    g.beginPath(); g.moveTo(x, 0); g.lineTo(x, bottom); g.stroke();
    if (end && middle - half < end + 8) continue;
    g.fillText(text, middle, bottom + AXIS / 2);
    end = middle + half;
  }
}

/** Draws the labels of rows: as many as have room. */
function rowLabels(g, nr, rowHeight, label, isStrong = () => false) {
  const every = Math.ceil(13 / rowHeight);
  g.textAlign = "right";
  for (let place = 0; place < nr; place += every) {
    g.fillStyle = isStrong(place) ? style("--mark") : style("--quiet");
    g.fillText(label(place), LEFT - 5, place * rowHeight + rowHeight / 2);
  }
}

/** Horizontal position of a time. */
const timeToX = (ns, width) => LEFT + (ns - view.from) / (view.to - view.from) * (width - LEFT);

function drawTimeline() {
  const { height: rowHeight, shown } = rows();
  const { g, width } = surface("timeline", shown * rowHeight + AXIS);
  view.top = Math.max(0, Math.min(view.top, run.cpus.length - shown));
  timeAxis(g, { from: view.from, to: view.to, left: LEFT, right: width, bottom: shown * rowHeight });
  rowLabels(g, shown, rowHeight, (place) => `CPU ${place + view.top}`, (place) => place + view.top === view.cpu);
  const paint = { colour: colours(), wanted: $("find").value.trim().toLowerCase(), per: (view.to - view.from) / (width - LEFT) };
  for (let place = 0; place < shown; place++) drawRow(g, run.rows[place + view.top], place * rowHeight, rowHeight - 1, paint);
  drawMarks(g, width, rowHeight, shown);
}

/** A function that returns the colour of a segment; colours are computed once per drawing. */
function colours() {
  const how = $("colour").value, known = new Map();
  const compute = (row, i, thread) => {
    if (how === "waited") return shade(Math.log10(1 + row.waited[i] / 1e3) / 4);
    const family = run.family_of[thread];
    if (family < 0) return style("--other");
    return how === "thread" ? category(thread) : familyColour(run.families[family]);
  };
  return (row, i) => {
    const thread = row.thread[i], key = how === "waited" ? Math.round(4 * Math.log10(1 + row.waited[i])) : thread;
    if (!known.has(key)) known.set(key, compute(row, i, thread));
    return known.get(key);
  };
}

/** Black or white, whichever is easier to read on a colour. */
function textColour(colour) {
  const parts = colour.startsWith("#") ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) : colour.match(/\d+/g).map(Number);
  return .3 * parts[0] + .59 * parts[1] + .11 * parts[2] > 130 ? "#000" : "#fff";
}

/** Draws a row: wide segments as bars, narrow ones as the share of a pixel column in which tasks ran. */
function drawRow(g, row, y, height, { colour, wanted, per }) {
  const opacity = (i, share) => (.25 + .75 * Math.min(1, share)) * (wanted && !matches(row.thread[i], wanted) ? FADED : 1);
  let column = -1, busy = 0, longest = 0, longestIndex = 0;
  const flush = () => {
    if (column >= 0 && busy > 0) {
      g.globalAlpha = opacity(longestIndex, busy / per);
      g.fillStyle = colour(row, longestIndex);
      g.fillRect(LEFT + column, y, 1, height);
    }
    column = -1; busy = 0; longest = 0;
  };
  for (let i = firstAfter(row, view.from); i < row.nr && row.start[i] < view.to; i++) {
    const from = (Math.max(row.start[i], view.from) - view.from) / per;
    const to = (Math.min(row.end[i], view.to) - view.from) / per;
    if (to - from >= 1.5) {
      flush();
      g.globalAlpha = opacity(i, row.busy[i] / (row.end[i] - row.start[i]));
      g.fillStyle = colour(row, i);
      g.fillRect(LEFT + from, y, Math.max(1, to - from - .5), height);
      if (to - from > 60 && height > 11) {
        g.globalAlpha = 1;
        g.fillStyle = textColour(colour(row, i));
        g.textAlign = "left";
        g.fillText(taskName(row.thread[i]), LEFT + from + 4, y + height / 2, to - from - 8);
      }
      continue;
    }
    const at = Math.floor(from);
    if (at !== column) { flush(); column = at; }
    busy += row.busy[i];
    if (row.busy[i] > longest) { longest = row.busy[i]; longestIndex = i; }
  }
  flush();
  g.globalAlpha = 1;
}

/** Whether a search matches a task's name or pid. */
function matches(thread, wanted) {
  const [name, pid] = run.threads[thread];
  return name.toLowerCase().includes(wanted) || String(pid) === wanted;
}

/** Draws triangles where long waits end, a line for the chosen wait or time, and a frame around the marked segment. */
function drawMarks(g, width, rowHeight, shown) {
  const isVisible = (cpu, ns) => cpu >= view.top && cpu < view.top + shown && ns >= view.from && ns <= view.to;
  const item = chosenItem();
  g.strokeStyle = style("--text");
  if (item && isNumber(item.at_ns)) {
    const x = timeToX(item.at_ns, width);
    g.setLineDash([5, 3]);
    g.beginPath(); g.moveTo(x, 0); g.lineTo(x, shown * rowHeight); g.stroke();
    g.setLineDash([]);
  }
  for (const wait of run.waits) {
    const end = wait.since_ns + wait.length_ns, y = (wait.cpu - view.top) * rowHeight;
    if (!isVisible(wait.cpu, end)) continue;
    const x = timeToX(end, width), start = Math.max(LEFT, timeToX(wait.since_ns, width));
    g.fillStyle = style("--text");
    if (wait === item) g.fillRect(start, y, Math.max(2, x - start), 3);
    g.strokeStyle = style("--back");
    g.beginPath(); g.moveTo(x - MARK, y); g.lineTo(x + MARK, y); g.lineTo(x, y + 2 * MARK - 1); g.closePath(); g.fill(); g.stroke();
    g.strokeStyle = style("--text");
  }
  if (view.mark) {
    const { cpu, i } = view.mark, row = run.rows[cpu], x = timeToX(row.start[i], width);
    g.strokeRect(x, (cpu - view.top) * rowHeight + .5, Math.max(2, timeToX(row.end[i], width) - x), rowHeight - 2);
  }
}

/** A segment in words. */
function segmentText(cpu, i) {
  const row = run.rows[cpu], [name, pid] = run.threads[row.thread[i]];
  const length = row.end[i] - row.start[i], start = instant(row.start[i]);
  if (row.several[i] > 1) {
    return `CPU ${cpu}, from ${start} for ${duration(length)}: tasks ran ${row.several[i]} times, ${percent(row.busy[i] / length)} of the time; longest ${name} (pid ${pid}).`;
  }
  const throttled = row.throttled[i] ? ` and ${duration(row.throttled[i], 4)} for runtime of a limit` : "";
  const rule = row.rule[i] ? page.rules[row.rule[i] - 1] : null;
  const why = rule ? ` Its last CPU selection: ${rule[0]}. ${rule[1]}` : "";
  return `CPU ${cpu}, ${start}: ${name} (pid ${pid}) ran ${duration(length, 4)} after waiting ${duration(row.waited[i], 4)} for a CPU${throttled}.${why}`;
}

/** What is at a point of the timeline: CPU, time, index of the segment or -1, index of the wait or -1; null outside. */
function pointAt(x, y) {
  const box = $("timeline").getBoundingClientRect(), { height, shown } = rows();
  const place = Math.floor((y - box.top) / height), cpu = place + view.top;
  if (place < 0 || place >= shown || x - box.left < LEFT - MARK_REACH) return null;
  const per = (view.to - view.from) / (box.width - LEFT);
  const at = view.from + (x - box.left - LEFT) * per;
  const i = firstAfter(run.rows[cpu], at);
  const isThere = i < run.rows[cpu].nr && run.rows[cpu].start[i] <= at + per;
  const distances = run.waits.map((wait) => wait.cpu === cpu ? Math.abs(wait.since_ns + wait.length_ns - at) / per : Infinity);
  const nearest = Math.min(Infinity, ...distances);
  return { cpu, at, i: isThere ? i : -1, wait: nearest <= MARK_REACH ? distances.indexOf(nearest) : -1 };
}

let isRedrawPending = false;
function redraw() {
  if (isRedrawPending) return;
  isRedrawPending = true;
  requestAnimationFrame(() => { isRedrawPending = false; drawTimeline(); drawLags(); });
}

/** Shows a range of time, at least 100 ns of it. */
function show(from, to) {
  const span = Math.min(run.length_ns, Math.max(100, to - from));
  view.from = Math.max(0, Math.min(run.length_ns - span, from));
  view.to = view.from + span;
  redraw();
}

/** The middle of the marked segment if it is visible: zooming keeps it in place. */
function middleOfMark() {
  if (!view.mark) return undefined;
  const { cpu, i } = view.mark, row = run.rows[cpu];
  const from = Math.max(view.from, row.start[i]), to = Math.min(view.to, row.end[i]);
  return from <= to ? (from + to) / 2 : undefined;
}

function zoom(factor, around) {
  const at = around ?? middleOfMark() ?? (view.from + view.to) / 2;
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

/** Chooses a CPU, and scrolls to its row. */
function showCpu(cpu) {
  view.cpu = Math.max(0, Math.min(run.cpus.length - 1, cpu));
  view.top = Math.max(Math.min(view.top, view.cpu), view.cpu - rows().shown + 1);
  redraw();
}

/** Marks a segment and describes it. */
function mark(cpu, i) {
  const row = run.rows[cpu];
  if (i < 0 || i >= row.nr) return;
  view.mark = { cpu, i };
  chooseLagTask(row.thread[i]);
  view.cpu = cpu;
  if (row.start[i] < view.from || row.end[i] > view.to) {
    const span = view.to - view.from;
    show(row.start[i] - span / 2, row.start[i] + span / 2);
  }
  $("hover").textContent = segmentText(cpu, i);
  redraw();
}

function listenToTimeline() {
  const canvas = $("timeline");
  let drag = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey) { view.top += Math.sign(event.deltaY || event.deltaX) * 4; return redraw(); }
    zoom(event.deltaY > 0 ? 1.25 : .8, pointAt(event.clientX, event.clientY)?.at);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, from: view.from, to: view.to, top: view.top };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const per = (drag.to - drag.from) / (canvas.clientWidth - LEFT), by = (drag.x - event.clientX) * per;
      view.top = Math.round(drag.top + (drag.y - event.clientY) / rows().height);
      return show(drag.from + by, drag.to + by);
    }
    const point = pointAt(event.clientX, event.clientY);
    if (!point) return;
    const { cpu, at, i, wait } = point;
    canvas.style.cursor = wait >= 0 ? "pointer" : "";
    $("hover").textContent = wait >= 0 ? waitSentence(run.waits[wait]) : i >= 0 ? segmentText(cpu, i) : `CPU ${cpu}, ${instant(at)}: idle`;
  });
  canvas.addEventListener("pointerup", (event) => {
    const isClick = drag && Math.abs(drag.x - event.clientX) + Math.abs(drag.y - event.clientY) < 4;
    drag = null;
    const point = isClick && pointAt(event.clientX, event.clientY);
    if (!point) return;
    if (point.wait >= 0) choose("waits", point.wait); else mark(point.cpu, point.i);
  });
  canvas.addEventListener("keydown", (event) => {
    const span = view.to - view.from, row = run.rows[view.cpu];
    const here = view.mark && view.mark.cpu === view.cpu ? view.mark.i : firstAfter(row, view.from) - 1;
    const chooseCpu = (cpu) => { showCpu(cpu); $("hover").textContent = `CPU ${view.cpu}`; };
    const keys = {
      "+": () => zoom(.5), "=": () => zoom(.5), "-": () => zoom(2), Home: () => show(0, run.length_ns),
      ArrowLeft: () => show(view.from - span / 8, view.to - span / 8),
      ArrowRight: () => show(view.from + span / 8, view.to + span / 8),
      ArrowUp: () => chooseCpu(view.cpu - 1), ArrowDown: () => chooseCpu(view.cpu + 1),
      PageUp: () => chooseCpu(view.cpu - rows().shown), PageDown: () => chooseCpu(view.cpu + rows().shown),
      n: () => mark(view.cpu, here + 1), p: () => mark(view.cpu, here - 1),
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  $("in").onclick = () => zoom(.5);
  $("out").onclick = () => zoom(2);
  $("all").onclick = () => show(0, run.length_ns);
  $("colour").onchange = () => { drawLegend(); redraw(); };
  $("find").oninput = redraw;
}

/** The meaning of the colours, and how exact the timeline is. */
function drawLegend() {
  const how = $("colour").value;
  let items = [];
  if (how === "family") {
    const own = rankedFamilies.filter((name) => run.families.includes(name));
    const coloured = own.filter((name) => rankedFamilies.indexOf(name) < NR_COLOURED);
    items = coloured.map((name) => [familyColour(name), name]);
    items.push([style("--other"), own.length > coloured.length ? `other tasks (${own.length - coloured.length} more families)` : "other tasks"]);
  } else if (how === "waited") {
    items = [1e3, 1e4, 1e5, 1e6, 1e7].map((ns) => [shade(Math.log10(1 + ns / 1e3) / 4), duration(ns)]);
  }
  $("legend").replaceChildren(...items.map(([colour, text]) => legendItem(colour, text)));
  const exact = run.resolution_ns
    ? `Tasks that ran less than ${duration(run.resolution_ns)} are drawn together with their neighbours.`
    : "Each time that a task ran has its own bar.";
  const meaning = { family: "", thread: "Neighbouring tasks differ in colour. ", waited: "Colour: time that the task waited for the CPU before it ran. " }[how];
  $("note").textContent = `${meaning}${exact} \u25bc: end of a long wait.`;
}

/** How to use the timeline, until the pointer is on it. */
function drawHint() {
  $("hover").textContent = "Point at a bar for details. Wheel or + and \u2212: zoom. Drag or arrow keys: move.";
}

function legendItem(colour, text, dash = null) {
  const item = document.createElement("li"), box = document.createElement("i");
  if (dash) {
    box.className = "line";
    box.style.borderTop = `3px ${dash} ${colour}`;
  } else {
    box.style.background = colour;
  }
  item.append(box, text);
  return item;
}
