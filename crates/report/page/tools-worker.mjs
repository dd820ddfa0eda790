// SPDX-License-Identifier: GPL-2.0-or-later
// Worker: answers the page's requests with the second WebAssembly module, which has statistics and no simulator.
import { initSync, LabTools } from "./lab-tools.mjs";

/** @type {LabTools | undefined} */
let tools;
/** @type {WebAssembly.Memory | undefined} */
let memory;

/** The `postMessage` of workers; types of pages have that of windows. */
const send = /** @type {(message: object) => void} */ (/** @type {unknown} */ (postMessage));

/**
 * Answers a message: the compiled module, which is the first one, or a request as JSON with the bytes that it is about.
 * @param {{ id: number, wasm?: WebAssembly.Module, request?: string, content?: Uint8Array }} message
 */
export function answer({ id, wasm, request, content }) {
  try {
    if (wasm) {
      memory = initSync({ module: wasm }).memory;
      tools = new LabTools();
      return send({ id });
    }
    const json = /** @type {LabTools} */ (tools).ask(request ?? "", content ?? new Uint8Array());
    send({ id, json, memory: memory?.buffer.byteLength });
  } catch (error) {
    // A panic: the module is unusable from now on.
    send({ id, panic: error instanceof Error ? error.message : String(error) });
  }
}
