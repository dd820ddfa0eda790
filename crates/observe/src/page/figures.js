// SPDX-License-Identifier: GPL-2.0-or-later

/** Fills a table: rows of cells, the first of which are its heads. */
function table(id, rows) {
  const body = rows.map((cells, place) => {
    const row = document.createElement("tr");
    for (const cell of cells) {
      const element = document.createElement(place === 0 ? "th" : "td");
      element.textContent = cell;
      row.append(element);
    }
    return row;
  });
  $(id).replaceChildren(...body);
}

/** A row of key figures: a value for each run, and how the last differs from the first. */
function figure(name, value, text) {
  const values = runs.map((run) => value(run.summary));
  if (values.every((value) => value === undefined || value === null)) return [];
  const [first, last] = [values[0], values[values.length - 1]];
  const change = runs.length > 1 && first ? [(100 * (last - first) / first).toFixed(1) + " %"] : runs.length > 1 ? ["-"] : [];
  return [[name, ...values.map((value) => value === undefined || value === null ? "-" : text(value)), ...change]];
}

function drawFigures() {
  const count = (n) => Number(n).toLocaleString("en");
  const head = ["", ...runs.map((run) => run.name), ...(runs.length > 1 ? ["change"] : [])];
  const rows = [head,
    ...figure("length", (s) => s.duration_ns, time),
    ...figure("CPU time of tasks", (s) => s.totals.busy_ns, time),
    ...figure("waiting of tasks", (s) => s.totals.wait_ns, time),
    ...figure("wake-ups", (s) => s.totals.wakeups, count),
    ...figure("switches", (s) => s.totals.switches, count),
    ...figure("migrations", (s) => s.totals.migrations, count),
    ...figure("energy of busy CPUs", (s) => s.energy?.busy_uj, (uj) => (uj / 1e6).toFixed(3) + " J"),
  ];
  for (const { name } of runs[0].summary.families.slice(0, 24)) {
    const of = (get) => (summary) => get(summary.families.find((family) => family.name === name));
    rows.push(...figure(`${name}: CPU time`, of((family) => family?.run_ns), time),
      ...figure(`${name}: waiting`, of((family) => family?.wait_ns), time));
    for (const [label, key] of [["p50", "p50_ns"], ["p99", "p99_ns"], ["max", "max_ns"]]) {
      rows.push(...figure(`${name}: latency ${label}`, of((family) => family?.wakeup_latency?.[key]), time));
    }
  }
  table("figures", rows);
}

/** A figure of each CPU over time, as colours. */
function drawHeat() {
  const what = $("series").value, nr = run.cpus.length;
  const rowHeight = Math.max(2, Math.min(18, Math.floor(320 / nr)));
  const { g, width } = surface("heat", nr * rowHeight);
  const most = { util: () => 1024, khz: (cpu) => cpu.highest_khz || 1024000,
    nr_running: () => 100 * Math.max(1, ...run.cpus.map((cpu) => Math.max(...cpu.nr_running) / 100)) }[what];
  const step = (width - LEFT) / page.parts;
  run.cpus.forEach((cpu, place) => {
    if (place % Math.ceil(13 / rowHeight) === 0) {
      g.fillStyle = style("--quiet");
      g.textAlign = "right";
      g.fillText("CPU " + place, LEFT - 5, place * rowHeight + rowHeight / 2);
    }
    const highest = most(cpu);
    cpu[what].forEach((value, part) => {
      const share = Math.min(1, value / highest);
      g.fillStyle = isDark() ? `hsl(28 80% ${8 + 52 * share}%)` : `hsl(28 85% ${97 - 50 * share}%)`;
      g.fillRect(LEFT + part * step, place * rowHeight, step + .5, rowHeight - (rowHeight > 4 ? 1 : 0));
    });
  });
  const unit = { util: "0 to 1024", khz: "part of each CPU's highest frequency",
    nr_running: `0 to ${(most(run.cpus[0]) / 100).toFixed(1)}` }[what];
  $("heatnote").textContent = `The stronger the colour, the more: ${unit}. ${page.parts} parts of ${time(run.length_ns / page.parts)}.`;
}

/** Distributions of a family in all runs: the part of wake-ups that took no longer. */
function drawLatency() {
  const name = $("family").value;
  const { g, width, height } = surface("latency", 220);
  const of = (run) => Object.entries(run.latencies[name] || {}).map(([size, nr]) => [Number(size), nr]);
  const sizes = runs.flatMap((run) => of(run).map(([size]) => size));
  if (!sizes.length) { $("latencynote").textContent = "No task of this family was woken."; return; }
  const low = Math.floor(Math.min(...sizes) / page.per_octave), high = Math.floor(Math.max(...sizes) / page.per_octave) + 1;
  const ns = (size) => 2 ** (size / page.per_octave);
  const x = (size) => LEFT + (size / page.per_octave - low) / (high - low) * (width - LEFT - 10);
  const y = (part) => 10 + (1 - part) * (height - 34);
  g.textAlign = "center";
  for (let octave = low; octave <= high; octave++) {
    g.strokeStyle = style("--line");
    g.beginPath(); g.moveTo(x(octave * page.per_octave), y(1)); g.lineTo(x(octave * page.per_octave), y(0)); g.stroke();
    g.fillStyle = style("--quiet");
    if ((octave - low) % Math.ceil((high - low) / (width / 70)) === 0) g.fillText(time(2 ** octave), x(octave * page.per_octave), height - 11);
  }
  g.textAlign = "right";
  for (const part of [0, .5, .9, .99]) g.fillText(100 * part + " %", LEFT - 5, y(part));
  runs.forEach((run, place) => {
    const all = of(run).sort((a, b) => a[0] - b[0]), total = all.reduce((sum, [, nr]) => sum + nr, 0);
    let sum = 0;
    g.strokeStyle = hue(place);
    g.lineWidth = 2;
    g.beginPath();
    for (const [size, nr] of all) {
      g.lineTo(x(size), y(sum / total));
      sum += nr;
      g.lineTo(x(size + 1), y(sum / total));
    }
    g.stroke();
    g.lineWidth = 1;
    g.fillStyle = hue(place);
    g.textAlign = "left";
    g.fillText(`${run.name}: ${total.toLocaleString("en")} wake-ups`, LEFT + 10, 20 + 16 * place);
  });
  $("latencynote").textContent = "From the wake-up to the CPU: the part of wake-ups that took no longer.";
}

function drawTables() {
  const share = (rows, text) => {
    const total = rows.reduce((sum, [, nr]) => sum + nr, 0) || 1;
    return rows.sort((a, b) => b[1] - a[1]).map(([name, nr]) => [text(name), nr.toLocaleString("en"), (100 * nr / total).toFixed(1) + " %"]);
  };
  const pairs = (object) => Object.entries(object || {}).filter(([, nr]) => typeof nr === "number" && nr > 0);
  const listed = (list) => Array.isArray(list) ? list.map((row) => Array.isArray(row) ? row : [row.rule ?? row.name, row.count]) : pairs(list);
  table("rules", [["rule", "selections", ""], ...share(listed(run.summary.selection.by_rule), String)]);
  table("balance", [["", "number"], ...pairs(run.summary.balance).map(([name, nr]) => [name.replaceAll("_", " "), nr.toLocaleString("en")])]);
  const scanned = share(pairs(run.scanned), (nr) => nr + (nr === "1" ? " CPU" : " CPUs"));
  table("scanned", [["in a wake-up", "selections", ""], ...scanned.slice(0, 24)]);
}

function drawMigrations() {
  const nr = Math.ceil(run.cpus.length / run.cpus_per_cell);
  const size = Math.max(3, Math.min(26, Math.floor(Math.min($("migrations").clientWidth - LEFT, 520) / nr)));
  const { g } = surface("migrations", nr * size + AXIS);
  const most = Math.max(1, ...run.migrations.map(([, , count]) => count));
  for (const [from, to, count] of run.migrations) {
    const heat = Math.log(1 + count) / Math.log(1 + most);
    g.fillStyle = isDark() ? `hsl(200 80% ${10 + 55 * heat}%)` : `hsl(200 85% ${95 - 55 * heat}%)`;
    g.fillRect(LEFT + to * size, from * size, size - (size > 4 ? 1 : 0), size - (size > 4 ? 1 : 0));
  }
  g.fillStyle = style("--quiet");
  const every = Math.ceil(26 / size);
  for (let place = 0; place < nr; place += every) {
    g.textAlign = "right";
    g.fillText(place * run.cpus_per_cell, LEFT - 5, place * size + size / 2);
    g.textAlign = "center";
    g.fillText(place * run.cpus_per_cell, LEFT + place * size + size / 2, nr * size + AXIS / 2);
  }
  const total = run.migrations.reduce((sum, [, , count]) => sum + count, 0);
  const cells = run.cpus_per_cell > 1 ? ` A cell is ${run.cpus_per_cell} CPUs.` : "";
  $("migrationsnote").textContent = `${total.toLocaleString("en")} migrations from (rows) to (columns); most between two: ${most.toLocaleString("en")}.${cells}`;
}

/** Nodes, caches and cores as boxes. */
function drawTopology() {
  const boxes = (parent, cpus, levels) => {
    const [level, ...rest] = levels;
    if (!level) {
      for (const cpu of cpus) {
        const element = document.createElement("span");
        element.textContent = cpu;
        element.title = `CPU ${cpu}: capacity ${run.cpus[cpu].capacity}`;
        parent.append(element);
      }
      return;
    }
    const units = new Map();
    for (const cpu of cpus) units.set(run.cpus[cpu][level], [...(units.get(run.cpus[cpu][level]) || []), cpu]);
    if (units.size === cpus.length || (units.size === 1 && level === "core")) return boxes(parent, cpus, rest);
    for (const [unit, own] of units) {
      const box = document.createElement("div");
      if (level !== "core") box.append(Object.assign(document.createElement("b"), { textContent: `${level} ${unit}` }));
      boxes(box, own, rest);
      parent.append(box);
    }
  };
  $("topology").replaceChildren();
  boxes($("topology"), run.cpus.map((_, cpu) => cpu), ["node", "llc", "core"]);
}

function legend() {
  const items = $("colour").value === "family" ? run.families.slice(0, 40).map((name, place) => {
    const item = document.createElement("li"), box = document.createElement("i");
    box.style.background = hue(place);
    item.append(box, name);
    return item;
  }) : [];
  $("legend").replaceChildren(...items);
}

function drawAll() {
  const { run: subject, digest } = run.summary;
  $("subject").textContent = `${subject.workload}: ${subject.kind} on ${subject.machine}, ${run.cpus.length} CPUs, ${run.summary.engine ? `${run.summary.engine.name} (Linux ${run.summary.engine.version})` : `kernel ${subject.kernel}`}, ${time(run.length_ns)}, digest ${digest}, fairlab ${page.fairlab}`;
  $("note").textContent = run.resolution_ns ? `Tasks that ran less than ${time(run.resolution_ns)} are drawn together with their neighbours.` : "Every time that a task ran is there.";
  legend(); drawFigures(); drawTimeline(); drawHeat(); drawLatency(); drawTables(); drawMigrations(); drawTopology();
}

$("run").replaceChildren(...runs.map((run, place) => new Option(run.name, place)));
const families = [...new Set(runs.flatMap((run) => Object.keys(run.latencies)))];
$("family").replaceChildren(...families.map((name) => new Option(name, name)));
listen();
drawAll();
