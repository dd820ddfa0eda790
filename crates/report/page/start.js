// SPDX-License-Identifier: GPL-2.0-or-later
// Starts the page. Modules do not load from `file://`, and a worker must not load those of the page: each is text in the page,
// and gets a Blob URL where it is imported. The list is in the order of imports.
"use strict";

/** Imports a module of a list of names and texts. */
function importFrom(modules, entry) {
  const urls = {};
  for (const { name, text } of modules) {
    const linked = text.replace(/from "\.\/([\w.-]+)"/g, (_, imported) => `from "${urls[imported]}"`);
    urls[name] = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
  }
  return import(urls[entry]);
}

{
  const modules = JSON.parse(document.getElementById("modules").textContent);
  const script = `"use strict"; ${importFrom}
    let worker;
    onmessage = async ({ data }) => {
      worker ??= importFrom(data.modules, data.entry);
      (await worker).answer(data);
    };`;
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  importFrom(modules, "main.mjs").then(({ start }) => start((wasm, entry = "worker.mjs") => {
    const worker = new Worker(url);
    worker.postMessage({ id: 0, wasm, modules, entry });
    return worker;
  }, () => importFrom(JSON.parse(document.getElementById("editor").textContent), "editor.mjs")));
}
