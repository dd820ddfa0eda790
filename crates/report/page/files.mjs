// SPDX-License-Identifier: GPL-2.0-or-later
// Files of the reader: workloads, recorded traces and machines.

/** Largest file that is read, in bytes. */
const MAX_FILE = 64e6;
/** Endings of files that are workloads, whatever they contain. */
const WORKLOADS = /\.(scn|rec)$/;

/**
 * @typedef {import("./client.mjs").Message} Message
 * @typedef {{ name: string, text: string }} NamedText
 * @typedef {{ workload?: NamedText, trace?: NamedText, machine?: NamedText }} OpenedFile
 * @typedef {{ opened?: OpenedFile, error?: Message }} OpenAnswer
 */

/**
 * Reads a file. A workload needs no second module.
 * @param {File} file
 * @param {() => Promise<import("./client.mjs").Client>} startTools Starts a worker with the second module.
 * @returns {Promise<OpenAnswer>}
 */
export async function readFile(file, startTools) {
  const { name, size } = file;
  if (size > MAX_FILE) {
    const help = "convert a trace with `fairlab import`, and use `fairlab run` for large files";
    return { error: { text: "the file is larger than 64 MB", help, place: { file: name, line: null, column: null, source_line: null } } };
  }
  if (WORKLOADS.test(name)) return { opened: { workload: { name, text: await file.text() } } };
  const tools = await startTools();
  try {
    const { answer } = await tools.ask({ open: { name } }, new Uint8Array(await file.arrayBuffer()));
    return /** @type {any} */ (answer);
  } finally {
    tools.end();
  }
}
