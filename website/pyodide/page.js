// Makes each session of the page one that runs: an editor, what it prints, and lanes of what it leaves behind.
"use strict";

const pyodideFiles = {}; // each script in this folder adds its own
const folder = new URL(".", document.currentScript.src).href;
const NAMES = [
  "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip",
  "numpy.whl", "classfilter.whl", "worker.js", "session.py",
];

const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

const loadScript = (name) =>
  new Promise((done, failed) => {
    const script = element("script", { src: `${folder}${name}.js`, onload: done });
    script.onerror = () => failed(new Error(`${name}.js is missing beside the page`));
    document.head.append(script);
  });

/** One Python for all cells. It is loaded for the first run, and again after it was stopped. */
const python = {
  worker: null,
  receive: null,

  async start(tell) {
    tell("Loading Python, 13 MB …");
    if (!pyodideFiles["session.py"]) await Promise.all(NAMES.map(loadScript));
    tell("Starting Python …");
    const { "worker.js": script, ...files } = pyodideFiles;
    const packed = Uint8Array.from(atob(script), (character) => character.charCodeAt(0));
    const source = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
    const text = new Blob([await source.text()], { type: "text/javascript" });
    this.worker = new Worker(URL.createObjectURL(text));
    this.worker.onmessage = ({ data }) => this.receive(data);
    await this.send({ files }, () => {});
  },

  /** Resolves with the last message: the lanes, or that it is ready. */
  send(message, write) {
    return new Promise((done, failed) => {
      this.receive = (data) => {
        if (data.output !== undefined) write(data.output);
        else if (data.error !== undefined) failed(new Error(data.error));
        else done(data);
      };
      this.worker.onerror = (event) => failed(new Error(event.message));
      this.stopped = () => failed(new Error("Stopped."));
      this.worker.postMessage(message);
    });
  },

  stop() {
    this.worker?.terminate();
    this.worker = null;
    this.stopped?.();
  },
};

function drawLanes(figure, { classes, lanes, start, end }) {
  const LENGTH = 1000;
  const x = (time) => ((time - start) / (end - start || 1)) * LENGTH;
  const shape = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const colour = (label) => `class-${classes.indexOf(label) % 8}`;
  const rows = lanes.map(({ name, spans }) => {
    const about = `${name}: ${spans.length} ${spans.length === 1 ? "span" : "spans"}`;
    const svg = shape("svg", { viewBox: `0 0 ${LENGTH} 10`, preserveAspectRatio: "none", role: "img", "aria-label": about });
    for (const [from, to, label] of spans) {
      const bar = shape("rect", { x: x(from), width: Math.max(x(to) - x(from), 0.5), height: 10, class: colour(label) });
      const title = shape("title", {});
      title.textContent = `${label}, ${from} to ${to}`;
      bar.append(title);
      svg.append(bar);
    }
    return element("div", { className: "lane" }, element("span", { textContent: name }), svg);
  });
  const number = (time) => String(Number(time.toPrecision(12)));
  const axis = element("div", { className: "lane axis" }, element("span"));
  axis.append(element("span", {}, element("span", { textContent: number(start) }), element("span", { textContent: number(end) })));
  const key = element("p", { className: "key" });
  for (const label of classes) {
    const mark = shape("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" });
    mark.append(shape("rect", { width: 10, height: 10, class: colour(label) }));
    key.append(element("span", {}, mark, label));
  }
  figure.replaceChildren(...(rows.length ? [...rows, axis, key] : []));
}

function makeCell(block) {
  const code = block.dataset.copy;
  const printed = block.querySelector("code").textContent.split("\n").filter((line) => !/^(>>>|\.\.\.)( |$)/.test(line));
  const editor = element("textarea", { value: code, spellcheck: false, rows: code.split("\n").length, ariaLabel: "Python code" });
  editor.setAttribute("autocapitalize", "off");
  const run = element("button", { type: "button", className: "md-button md-button--primary", textContent: "Run" });
  const stop = element("button", { type: "button", className: "md-button", textContent: "Stop", hidden: true });
  const reset = element("button", { type: "button", className: "md-button", textContent: "Reset", hidden: true });
  const status = element("span", { role: "status", className: "status" });
  const output = element("pre", { className: "output", textContent: printed.join("\n").trimEnd() });
  const figure = element("div", { className: "lanes" });
  const tell = (text) => (status.textContent = text);

  const start = async () => {
    for (const button of document.querySelectorAll(".cell button.md-button--primary")) button.disabled = true;
    stop.hidden = false;
    output.textContent = "";
    try {
      if (!python.worker) await python.start(tell);
      tell("Running …");
      const began = performance.now();
      const { lanes } = await python.send({ code: editor.value }, (text) => output.append(text));
      tell(`${((performance.now() - began) / 1000).toFixed(2)} s`);
      drawLanes(figure, lanes);
    } catch (error) {
      tell(error.message);
      python.stop();
    }
    stop.hidden = true;
    for (const button of document.querySelectorAll(".cell button.md-button--primary")) button.disabled = false;
  };

  run.onclick = start;
  stop.onclick = () => python.stop();
  reset.onclick = () => ((editor.value = code), editor.oninput());
  editor.oninput = () => {
    editor.rows = editor.value.split("\n").length;
    reset.hidden = editor.value === code;
  };
  editor.onkeydown = (event) => {
    if (event.key !== "Enter") return;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      if (!run.disabled) start();
    } else {
      const [indent] = /^ */.exec(editor.value.slice(0, editor.selectionStart).split("\n").at(-1));
      if (!indent) return;
      event.preventDefault();
      editor.setRangeText(`\n${indent}`, editor.selectionStart, editor.selectionEnd, "end");
      editor.oninput();
    }
  };
  block.replaceWith(element("div", { className: "cell" }, editor, element("p", {}, run, stop, reset, status), output, figure));
}

document.querySelectorAll("[data-copy]").forEach(makeCell);
