// SPDX-License-Identifier: GPL-2.0-or-later
// Lists of workloads, machines and kernels.
import { byId } from "./dom.mjs";

/** Start of the value of a machine that the reader has opened: its name may be that of another machine. */
const OPENED = "opened:";

export class Choices {
  /** Machines that the reader has opened, by their values in the list. @type {Map<string, import("./live.mjs").InputFile>} */
  #opened = new Map();

  /** The machine of a value in the list. @param {string} value */
  machine(value) {
    return this.#opened.get(value) ?? value;
  }

  /**
   * Fills the lists.
   * @param {import("./knobs.mjs").Catalogue} catalogue @param {import("./live.mjs").Spec} spec @param {string[]} workloads Names.
   */
  show({ machines, kernels }, { workload, settings }, workloads) {
    byId("workload").replaceChildren(...workloads.map((name) => new Option(name.replace(/^scenarios\//, ""), name)));
    byId("workload").value = workload.file?.given ?? "";
    const { machine = "", kernel = "" } = settings, chosen = typeof machine === "object" ? OPENED + machine.given : machine;
    if (typeof machine === "object") this.#opened.set(chosen, machine);
    const opened = [...this.#opened].map(([value, { given }]) => new Option(given, value));
    const known = machines.map(({ name, nr_cpus }) => new Option(`${name} (${nr_cpus} CPUs)`, name));
    const isKnown = [...opened, ...known].some(({ value }) => value === chosen);
    const unknown = chosen === "" || isKnown ? [] : [new Option(chosen, chosen)];
    byId("machine").replaceChildren(new Option("of the workload", ""), ...unknown, ...opened, ...known);
    byId("machine").value = chosen;
    byId("kernel").replaceChildren(new Option("of the workload", ""), ...kernels.map(({ name }) => new Option(name, name)).reverse());
    byId("kernel").value = kernel;
  }
}
