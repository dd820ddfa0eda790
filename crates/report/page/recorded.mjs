// SPDX-License-Identifier: GPL-2.0-or-later
// Runs that were recorded when the page was written.
import { readLags } from "./lags.mjs";
import { readRows, readSeries } from "./timeline-data.mjs";

/**
 * The fields of `PageRun` in `crates/report/src/lib.rs`.
 * @typedef {import("./client.mjs").Details & { name: string, summary: import("./client.mjs").Summary, length_ns: number,
 *   resolution_ns: number, threads: import("./client.mjs").Thread[], segments: string, series: string,
 *   lags: { resolution_ns: number, samples: string } | null, findings: import("./client.mjs").Finding[] | null }} RecordedRun
 */

/** @param {string} text Bytes in base64. */
const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** Reads a recorded run. @param {RecordedRun} recorded @returns {import("./arm.mjs").Arm} */
export function recordedArm({ name, summary, length_ns, resolution_ns, threads, segments, series, lags, findings, ...details }) {
  const { workload, machine, kernel } = summary.run, { engine } = summary;
  return {
    name,
    workload,
    machine,
    scheduler: engine ? `${engine.name} (Linux ${engine.version})` : `Linux ${kernel}`,
    rows: readRows(bytesOf(segments), details.cpus.length),
    threads,
    at: length_ns,
    length: length_ns,
    resolution: resolution_ns,
    ended: { digest: summary.digest, duration_ns: length_ns, findings, summary, details },
    series: readSeries(bytesOf(series)),
    lags: lags ? readLags(bytesOf(lags.samples)) : new Map(),
  };
}
