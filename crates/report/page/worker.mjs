// SPDX-License-Identifier: GPL-2.0-or-later
// Worker: answers the page's requests with the WebAssembly module.
import { initSync, LabService } from "./lab.mjs";

/** @type {LabService | undefined} */
let service;
/** @type {WebAssembly.Memory | undefined} */
let memory;

/** The `postMessage` of workers; types of pages have that of windows. */
const send = /** @type {(message: object, transfer?: Transferable[]) => void} */ (/** @type {unknown} */ (postMessage));

/**
 * Answers a message: the compiled module, which is the first one, or a request as JSON.
 * @param {{ id: number, wasm?: WebAssembly.Module, request?: string }} message
 */
export function answer({ id, wasm, request }) {
  try {
    if (wasm) {
      memory = initSync({ module: wasm }).memory;
      service = new LabService();
      return send({ id });
    }
    const answer = /** @type {LabService} */ (service).ask(request ?? "");
    const { json, segments, lags, series, trace } = answer;
    answer.free();
    const buffers = [segments, lags, series, trace].map(({ buffer }) => buffer);
    send({ id, json, segments, lags, series, trace, memory: memory?.buffer.byteLength }, buffers);
  } catch (error) {
    // A panic: the module is unusable from now on.
    send({ id, panic: error instanceof Error ? error.message : String(error) });
  }
}
