// SPDX-License-Identifier: GPL-2.0-or-later
// Repeats arms in the WebAssembly modules of the page, and prints for each case the answer with
// their comparison, and the digest of the trace of arm B.
// Arguments: directory of the built page, file with the cases.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [directory, casesFile] = process.argv.slice(2).map((path) => resolve(path));
const load = async (name) => {
  const glue = await import(pathToFileURL(join(directory, `${name}.mjs`)).href);
  glue.initSync({ module: new WebAssembly.Module(readFileSync(join(directory, `${name}.wasm`))) });
  return glue;
};
const { LabService } = await load("lab");
const { LabTools } = await load("lab-tools");

for (const { specs, names, nr_seeds } of JSON.parse(readFileSync(casesFile, "utf8"))) {
  const service = new LabService(), tools = new LabTools(), encoder = new TextEncoder();
  // In the reverse order: answers of several workers come in any order.
  for (let repetition = nr_seeds - 1; repetition >= 0; repetition--) {
    specs.forEach((spec, arm) => {
      const answer = service.ask(JSON.stringify({ measure: { run: 1, spec, seed: repetition + 1 } }));
      const added = tools.ask(JSON.stringify({ "add-run": { arm, repetition } }), encoder.encode(answer.json));
      answer.free();
      if (added !== '{"added":{}}') throw new Error(added);
    });
  }
  console.log(tools.ask(JSON.stringify({ compare: { arms: names, first_seed: 1, command: [] } }), new Uint8Array()));
  const saved = service.ask(JSON.stringify({ "save-trace": { run: 1, spec: specs[1] } }));
  console.log(createHash("sha256").update(saved.trace).digest("hex"));
}
