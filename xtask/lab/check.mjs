// SPDX-License-Identifier: GPL-2.0-or-later
// Runs cases in the WebAssembly module, whole and in steps, and prints a line of JSON for each.
// Arguments: directory of the built page, file with the cases.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [directory, casesFile] = process.argv.slice(2).map((path) => resolve(path));
const load = (name) => import(pathToFileURL(join(directory, name)).href);
const { initSync, LabService } = await load("lab.mjs");
const { appendPart, emptyRow } = await load("timeline-data.mjs");
const module = new WebAssembly.Module(readFileSync(join(directory, "lab.wasm")));
initSync({ module });

function ask(service, request) {
  const answer = service.ask(JSON.stringify(request));
  const asked = { json: JSON.parse(answer.json), segments: answer.segments };
  answer.free();
  return asked;
}

/** Runs a spec. Returns its digest and the segments of each CPU, or an error. */
function run(service, spec, stepNs) {
  const { json: { opened, error } } = ask(service, { open: { run: 1, spec } });
  if (error) return { error: error.text };
  const rows = Array.from({ length: opened.nr_cpus }, emptyRow);
  for (let until = stepNs; ; until += stepNs) {
    const { json, segments } = ask(service, { step: { run: 1, until_ns: until } });
    if (json.error) return { error: json.error.text };
    appendPart(rows, segments, json.part.is_restart);
    if (json.part.ended) return { digest: json.part.ended.digest, rows };
  }
}

const segmentsOf = ({ rows }) => rows.map((row) => Array.from(row.start.subarray(0, row.length), (start, index) =>
  [start, row.end[index], row.thread[index]]));
const waitsOf = ({ rows }) => rows.map((row) => Array.from(row.waited.subarray(0, row.length)));

for (const { name, spec, step_ns, questions } of JSON.parse(readFileSync(casesFile, "utf8"))) {
  const service = new LabService();
  const whole = run(service, spec, Number.MAX_SAFE_INTEGER), steps = run(service, spec, step_ns);
  const explanations = questions.map(({ question, at_ns }) => {
    const { json } = ask(service, { explain: { run: 1, spec, question, at_ns } });
    return json.explained ?? { error: json.error.text };
  });
  service.free();
  const outcome = (of) => of.digest ?? `error: ${of.error}`;
  const timeline = (of) => of.rows && [segmentsOf(of), waitsOf(of)];
  console.log(JSON.stringify({
    name, whole: outcome(whole), steps: outcome(steps), explanations, segments: whole.rows ? segmentsOf(whole) : null,
    is_timeline_equal: JSON.stringify(timeline(whole)) === JSON.stringify(timeline(steps)),
  }));
}
