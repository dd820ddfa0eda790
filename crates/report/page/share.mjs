// SPDX-License-Identifier: GPL-2.0-or-later
// State of the page as a part of its address: version, and JSON that is compressed.

/** Version of the state. */
const VERSION = "1";
/** Largest state that is read, in characters. */
const MAX_LENGTH = 1 << 20;
/** Largest state once it is expanded, in bytes. */
const MAX_BYTES = 16 << 20;

/**
 * @typedef {{ spec: import("./live.mjs").Spec, change: import("./knobs.mjs").Change, lesson?: string }} State `lesson` is the name of an open lesson.
 */

/** @param {ReadableStream} stream @param {number} limit */
async function bytesOf(stream, limit) {
  const parts = [], reader = stream.getReader();
  for (let total = 0; ;) {
    const { done, value } = await reader.read();
    if (done) break;
    total += value.length;
    if (total > limit) throw new Error("it is too large");
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** Returns the state as a fragment of an address. @param {State} state */
export async function encodeState(state) {
  const stream = new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = await bytesOf(stream, MAX_BYTES);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `#${VERSION}.${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/**
 * Reads a state. The spec is checked when it is opened.
 * @param {string} fragment @returns {Promise<State>}
 */
export async function decodeState(fragment) {
  const [, version, text] = fragment.match(/^#([^.]*)\.([\w-]*)$/) ?? [];
  if (version === undefined) throw new Error("it does not have the form #VERSION.STATE");
  if (version !== VERSION) throw new Error(`its version is ${version.slice(0, 20)}, this page reads version ${VERSION}`);
  if (text.length > MAX_LENGTH) throw new Error("it is too large");
  let state;
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    state = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(await bytesOf(stream, MAX_BYTES)));
  } catch (error) {
    throw new Error("it is damaged: copy the whole link", { cause: error });
  }
  expectKeys(state, ["spec", "change", "lesson"], "the state");
  expectKeys(state.spec, ["workload", "settings"], "spec");
  expectKeys(state.spec.settings, null, "settings");
  expectKeys(state.spec.workload, ["file"], "workload");
  expectKeys(state.spec.workload.file, ["given", "text"], "file");
  expectKeys(state.change, ["features", "tunables"], "change");
  expectValues(state.change.features, "boolean", "features");
  expectValues(state.change.tunables, "number", "tunables");
  if (typeof state.spec.workload.file.given !== "string") throw new Error("`given` is not text");
  if (state.lesson !== undefined && typeof state.lesson !== "string") throw new Error("`lesson` is not text");
  return state;
}

/** @param {unknown} value @param {string[] | null} keys All keys that the value may have. @param {string} name */
function expectKeys(value, keys, name) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`\`${name}\` is missing, or no object`);
  const unknown = Object.keys(value).find((key) => keys && !keys.includes(key));
  if (unknown !== undefined) throw new Error(`${name} has the unknown key \`${unknown.slice(0, 40)}\``);
}

/** @param {unknown} values @param {string} type @param {string} name */
function expectValues(values, type, name) {
  expectKeys(values, null, name);
  for (const [key, value] of Object.entries(/** @type {object} */ (values))) {
    if (typeof value !== type) throw new Error(`\`${key.slice(0, 40)}\` in ${name} is no ${type}`);
  }
}
