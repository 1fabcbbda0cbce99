// The page: a file in, sliders, timelines, files out.
import { DirichletFilter, StickyFilter } from "../src/index.js";
import { readTable, writeTable } from "./table.js";
import { drawLabels, drawProbs } from "./timeline.js";
import { simulate } from "./simulate.js";

const element = (id) => document.getElementById(id);
let table = null;
let result = null;

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
  drawLabels(element("raw"), table.classes, times, raw);
  drawLabels(element("filtered"), table.classes, times, steady);
  drawProbs(element("probs"), table.classes, times, probs);
  element("rawSwitches").textContent = switches(raw);
  element("filteredSwitches").textContent = switches(steady);
}

let frame = 0;
function drawSoon() {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(draw);
}

function toToml() {
  const { kind, halfLife, floor, beta } = settings();
  const decay = kind === "sticky" ? "stay" : "gamma"; // as the filter has it, to the bit
  const text = (value) => JSON.stringify(String(value)).replaceAll("\u007f", "\\u007f");
  const weights = [...beta].map(([source, weight]) => `${text(source)} = ${weight.toFixed(2)}`);
  const number = (value) => (Number.isInteger(value) ? `${value}.0` : String(value).replace("e+", "e"));
  return [
    `classes = [${table.classes.map(text).join(", ")}]`, `filter = "${kind}"`, "", "[options]",
    `${decay} = ${number(result.filter.options[decay])} # half-life ${halfLife}`, `floor = ${number(floor)}`, "", "[beta]", ...weights, "",
  ].join("\n");
}

function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

element("file").addEventListener("change", async (event) => open(await event.target.files[0].text()));
element("demo").addEventListener("click", () => open(simulate()));
element("controls").addEventListener("input", drawSoon);
globalThis.addEventListener("resize", drawSoon);
element("saveSettings").addEventListener("click", () => save("settings.toml", toToml()));
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
