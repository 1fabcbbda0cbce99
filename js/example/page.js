// The page: a file in, sliders, timelines, files out.
import { DirichletFilter, StickyFilter, toToml } from "../src/index.js";
import { readTable, writeTable } from "./table.js";
import { drawLabels, drawProbs, timeAt } from "./timeline.js";
import { simulate } from "./simulate.js";

const element = (id) => document.getElementById(id);
let table = null;
let result = null;
let view = null; // the times in the pictures; all of them for null

function open(text) {
  try {
    table = readTable(text);
    const steps = table.rows.slice(1).map((row, i) => row.time - table.rows[i].time).filter((step) => step > 0);
    const usual = steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 1;
    element("halfLife").value = Math.log10(10 * usual);
    element("stream").replaceChildren(...table.streams.map((name) => new Option(name || "all rows", name)));
    element("weights").replaceChildren(element("weights").firstElementChild, ...table.sources.map(weightSlider));
    element("summary").textContent =
      `Rows: ${table.rows.length}. Streams: ${table.streams.length}. Sources: ${table.sources.join(", ")}. ` +
      `Classes: ${table.classes.join(", ")}.`;
    element("message").textContent = "";
    element("view").hidden = false;
    view = null;
    draw();
  } catch (error) {
    table = null;
    element("view").hidden = true;
    element("message").textContent = error.message;
  }
}

function weightSlider(source) {
  const label = document.createElement("label");
  const input = Object.assign(document.createElement("input"), { type: "range", min: 0, max: 1, step: 0.01, value: 1 });
  input.dataset.source = source;
  const value = document.createElement("output");
  label.append(`${source} `, input, " ", value);
  return label;
}

function settings() {
  const beta = new Map();
  for (const input of element("weights").querySelectorAll("input")) {
    beta.set(input.dataset.source, Number(input.value));
    input.nextElementSibling.textContent = input.value;
  }
  const halfLife = Number((10 ** Number(element("halfLife").value)).toPrecision(3));
  const floor = Number((10 ** Number(element("floor").value)).toPrecision(2));
  element("halfLifeText").textContent = String(halfLife);
  element("floorText").textContent = String(floor);
  return { kind: element("kind").value, halfLife, floor, beta };
}

/** The rows of each stream, in order of time, through one filter. */
function filterTable({ kind, halfLife, floor, beta }) {
  const filter = new (kind === "sticky" ? StickyFilter : DirichletFilter)(table.classes, { halfLife, floor });
  const filtered = new Array(table.rows.length);
  for (const stream of table.streams) {
    const order = table.rows.map((_, i) => i).filter((i) => String(table.rows[i].stream) === stream);
    order.sort((a, b) => table.rows[a].time - table.rows[b].time);
    const rows = order.map((i) => table.rows[i]);
    const dt = rows.map((row, i) => (i === 0 ? 0 : row.time - rows[i - 1].time));
    filter.reset();
    const weights = rows.map((row) => beta.get(String(row.source)));
    filter.run(rows.map((row) => row.probs), { beta: weights, dt }).forEach((probs, i) => (filtered[order[i]] = probs));
  }
  return { filter, filtered };
}

function largest(probs) {
  return Number.isNaN(probs[0]) ? -1 : probs.reduce((best, p, k) => (p > probs[best] ? k : best), 0);
}

function switches(labels) {
  const seen = labels.filter((label) => label >= 0);
  return `${seen.filter((label, i) => i > 0 && label !== seen[i - 1]).length} switches`;
}

function draw() {
  if (table === null) return;
  try {
    result = filterTable(settings());
  } catch (error) {
    element("message").textContent = error.message;
    return;
  }
  element("message").textContent = "";
  const shown = table.rows.map((_, i) => i).filter((i) => String(table.rows[i].stream) === element("stream").value);
  shown.sort((a, b) => table.rows[a].time - table.rows[b].time);
  const times = shown.map((i) => table.rows[i].time);
  const raw = shown.map((i) => largest(table.rows[i].probs));
  const probs = shown.map((i) => result.filtered[i]);
  const steady = probs.map(largest);
  const shownTimes = timesInView(times);
  drawLabels(element("raw"), table.classes, times, raw, shownTimes);
  drawLabels(element("filtered"), table.classes, times, steady, shownTimes);
  drawProbs(element("probs"), table.classes, times, probs, shownTimes);
  element("span").textContent = `${shownTimes.map((time) => Number(time.toPrecision(12))).join(" to ")}`;
  element("rawSwitches").textContent = switches(raw);
  element("filteredSwitches").textContent = switches(steady);
}

/** The times to show: those of the view, as far as the stream has them. */
function timesInView(times) {
  const [first, last] = [times[0], times[times.length - 1]];
  if (view === null || view[0] >= last || view[1] <= first) return [first, last];
  return [Math.max(view[0], first), Math.min(view[1], last)];
}

function moveView(move) {
  const [from, to] = element("span").textContent.split(" to ").map(Number);
  const step = (to - from) / 4;
  const moved = {
    all: null, in: [from + step, to - step], out: [from - 2 * step, to + 2 * step],
    left: [from - 2 * step, to - 2 * step], right: [from + 2 * step, to + 2 * step],
  };
  view = moved[move];
  drawSoon();
}

function zoomByDragging(canvas) {
  let start = null;
  const at = (event) => timeAt(canvas, event, element("span").textContent.split(" to ").map(Number));
  canvas.addEventListener("pointerdown", (event) => (start = at(event)));
  canvas.addEventListener("pointerup", (event) => {
    const ends = [start, at(event)].sort((a, b) => a - b);
    if (start !== null && ends[1] > ends[0]) view = ends;
    start = null;
    drawSoon();
  });
  canvas.addEventListener("dblclick", () => moveView("all"));
}

let frame = 0;
function drawSoon() {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(draw);
}

function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

element("file").addEventListener("change", async (event) => open(await event.target.files[0].text()));
element("view-buttons").addEventListener("click", ({ target }) => {
  if (target.dataset.view !== undefined) moveView(target.dataset.view);
});
["raw", "filtered", "probs"].forEach((id) => zoomByDragging(element(id)));
element("demo").addEventListener("click", () => open(simulate()));
element("controls").addEventListener("input", drawSoon);
globalThis.addEventListener("resize", drawSoon);
element("saveSettings").addEventListener("click", () => save("settings.toml", toToml(result.filter, { beta: Object.fromEntries(settings().beta) })));
element("saveResult").addEventListener("click", () => {
  const labels = result.filtered.map((probs) => table.classes[largest(probs)]);
  save("filtered.csv", writeTable(table, result.filtered, labels));
});
for (const type of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(type, async (event) => {
    event.preventDefault();
    element("drop").classList.toggle("over", type === "dragover");
    const file = type === "drop" ? event.dataTransfer.files[0] : undefined;
    if (file !== undefined) open(await file.text());
  });
}
