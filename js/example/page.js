// The page: a file in, sliders, pictures, files out.
import { EventRule, events, toToml, writeEvents } from "../src/index.js";
import { timeWriter } from "./axis.js";
import { element, formOf, resetForm, showSettings, showTexts, withControl } from "./controls.js";
import { drawLanes, drawProbs, timeAt } from "./lanes.js";
import { openFile } from "./open_file.js";
import { commandArguments, save, withZones, writeTable } from "./results.js";
import { readRows } from "./rows.js";
import { chainOf, loadedSettings, newSettings } from "./settings.js";
import { eventRows, givenLanes, lanesOf, legendItems } from "./shown.js";
import { simulate } from "./simulate.js";
import { columnsOf, filterStream, largest, rowsByStream, usualStep } from "./streams.js";

let file = null; // its name and its bytes
let data = null; // its table, its rows, and how it is written
let settings = null;
let view = null; // the times in the pictures; all of them for null
let span = null; // those that are shown
let opened = 0;

/** Errors are words on the page. */
async function guarded(work) {
  element("page").ariaBusy = "true";
  let words = "";
  try {
    await work();
  } catch (error) {
    words = error.message;
  }
  element("message").textContent = words;
  element("page").ariaBusy = "false";
}

/** Take files that were dropped or chosen: settings, and rows. */
async function take(files) {
  const list = [...files];
  const tables = list.filter(({ name }) => !/\.(toml|json)$/i.test(name));
  const configs = list.filter(({ name }) => /\.(toml|json)$/i.test(name));
  await guarded(async () => {
    if (tables.length > 1 || configs.length > 1) throw new RangeError(`there are ${list.length} files; drop one of rows, and perhaps one of settings`);
    const loaded = configs.length === 0 ? null : loadedSettings(await configs[0].text());
    if (tables.length > 0) {
      file = { name: tables[0].name, bytes: new Uint8Array(await tables[0].arrayBuffer()) };
      resetForm();
      settings = null;
    }
    if (loaded !== null) settings = loaded;
    if (loaded !== null) element("independent").checked = loaded.independent;
    await read();
  });
}

/** Read the file as the controls say, and show it. */
async function read() {
  const turn = (opened += 1);
  element("view").hidden = true;
  element("origin").textContent = "";
  data = null;
  try {
    const form = formOf(settings);
    if (settings?.classes !== undefined && settings.independent !== form.independent) {
      const what = settings.independent ? "several may be true at once: tick it" : "classes exclude each other: untick it";
      throw new RangeError(`in the settings, ${what}, or choose a file of rows again to leave them out`);
    }
    const table = await openFile(file.name, file.bytes, { separator: form.separator, time: form.columns.get("time") });
    if (turn !== opened) return;
    const rows = { ...readRows(table, form), independent: form.independent };
    const streams = rowsByStream(rows, form.sort);
    const step = usualStep(rows.time, streams);
    if (settings?.classes === undefined) settings = newSettings(step);
    columnsOf(rows.classes, settings.fixed?.classes ?? settings.names ?? rows.classes);
    data = { table, rows, streams, step, form, sources: rows.source.names.map(String) };
  } catch (error) {
    element("format").open = true;
    throw error;
  }
  view = null;
  const { rows, streams, step, sources } = data;
  element("stream").replaceChildren(...rows.stream.names.map((name, i) => new Option(String(name ?? "all rows"), i)));
  element("streamControl").hidden = streams.length < 2;
  element("origin").textContent = originWords();
  showSettings(settings, step, sources);
  element("view").hidden = false;
  draw();
}

function originWords() {
  const { rows, streams, sources } = data;
  const count = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
  const parts = [count(rows.count, "row")];
  if (streams.length > 1) parts.push(count(streams.length, "stream"));
  if (sources.length > 1) parts.push(`sources ${sources.join(", ")}`);
  const what = `${parts.join(", ")}; ${rows.independent ? "labels" : "classes"}: ${rows.classes.join(", ")}.`;
  const large = rows.timeKind.kind === "number" && !data.form.unit && rows.time.some((time) => Math.abs(time) > 1e11);
  const note = large ? ' The times look like milliseconds or less since 1970: choose "Unit of time".' : "";
  if (file.simulated) return `This is a simulation: one classifier, one prediction per second, and what was true. ${what} Your own file replaces it.`;
  return `${file.name}: ${what}${note}`;
}

const chain = () => ({ ...chainOf(settings, data.rows.classes, data.sources, data.rows.independent), rule: new EventRule(settings.rule) });

/** The events of a stream that was filtered. */
function eventsOf(index, stream, { rule, filter }) {
  const { stream: { names }, independent } = data.rows;
  const scores = independent ? "independent" : "probabilities";
  return events(rule, { classes: filter.classes.map(String), times: stream.time, probs: stream.probs, stream: names[index], scores });
}

/** A function that computes again only where something is another thing than the last time. */
function remembered(compute) {
  let [known, value] = [[], undefined];
  return (keys, ...given) => {
    if (known.length !== keys.length || keys.some((key, i) => key !== known[i])) [value, known] = [compute(...given), keys];
    return value;
  };
}

const filtered = remembered(filterStream);
const decided = remembered(eventsOf);
const given = remembered(givenLanes);

function draw() {
  const { rows, step, form } = data;
  const now = chain();
  const index = Number(element("stream").value);
  const { kind, decay, halfLife, floor, options, fixed, beta, channel } = settings;
  const stream = filtered([data, index, kind, decay, halfLife, floor, options, fixed, beta, channel], rows, data.streams[index], now);
  const found = decided([stream, settings.rule], index, stream, now);
  const classes = now.filter.classes.map(String);
  const columns = columnsOf(rows.classes, now.filter.classes);
  showTexts(settings, rows.timeKind.kind === "number" && !form.unit ? "" : " s");
  const { lanes, words } = lanesOf(given([data, index, String(classes)], rows, stream.rows, stream.time, columns, step), stream, classes, found, step);
  element("summary").textContent = words;
  element("legend").replaceChildren(...legendItems(classes));
  span = timesInView(stream.time);
  const write = timeWriter(rows.timeKind);
  element("span").textContent = `${write(span[0])} to ${write(span[1])}${rows.timeKind.zone ? ` ${rows.timeKind.zone}` : ""}`;
  drawLanes(element("lanes"), lanes, classes, span, rows.timeKind);
  element("lanes").setAttribute("aria-label", `The class over time: ${lanes.map(({ name }) => name).join(", ")}, from the top. ${words}`);
  drawProbs(element("probs"), stream.time, stream.probs, classes.length, span, rows.timeKind);
  const listed = eventRows(found, rows.timeKind);
  element("eventRows").replaceChildren(...listed.rows);
  element("moreEvents").textContent = listed.more === 0 ? "" : `And ${listed.more} more, which the files have.`;
  element("same").hidden = file.simulated; // there is no such file
  const same = commandArguments(file.name, form).join(" ");
  const suffix = rows.timeKind.kind === "span" && file.name.endsWith(".parquet") ? "parquet" : "csv"; // CSV has no spans of time
  element("command").textContent = `classfilter filter ${same} -o filtered.${suffix}\nclassfilter events ${same} -o events.csv`;
}

/** The times to show: those of the view, as far as the stream has them. */
function timesInView(times) {
  const [first, last] = [times[0], times.at(-1) + data.step];
  if (view === null || view[0] >= last || view[1] <= first) return [first, last];
  return [Math.max(view[0], first), Math.min(view[1], last)];
}

function moveView(move) {
  const [from, to] = span;
  const step = (to - from) / 4;
  const moved = {
    all: null, in: [from + step, to - step], out: [from - 2 * step, to + 2 * step],
    left: [from - 2 * step, to - 2 * step], right: [from + 2 * step, to + 2 * step],
  };
  view = moved[move];
  drawSoon();
}

function zoomable(canvas) {
  let start = null;
  canvas.addEventListener("pointerdown", (event) => (start = timeAt(canvas, event, span)));
  canvas.addEventListener("pointerup", (event) => {
    const ends = [start, timeAt(canvas, event, span)].sort((a, b) => a - b);
    if (start !== null && ends[1] > ends[0]) view = ends;
    start = null;
    drawSoon();
  });
  canvas.addEventListener("dblclick", () => moveView("all"));
  const keys = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", Home: "all" };
  canvas.addEventListener("keydown", (event) => {
    if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    moveView(keys[event.key]);
  });
}

let frame = 0;
function drawSoon() {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => data !== null && guarded(draw));
}

function saveRows() {
  const { table, rows, streams } = data;
  const now = chain();
  const classes = now.filter.classes.map(String);
  const K = classes.length;
  const order = columnsOf(rows.classes, now.filter.classes);
  const columns = rows.classes.map(() => new Array(rows.count));
  const cells = new Array(rows.count);
  streams.forEach((own, s) => {
    const { probs } = filterStream(rows, own, now);
    const best = largest(probs, K);
    own.forEach((row, i) => {
      for (let k = 0; k < K; k++) columns[order[k]][row] = probs[i * K + k];
      cells[row] = rows.independent ? classes.filter((_, k) => probs[i * K + k] > 0.5).join(",") : classes[best[i]];
    });
  });
  save("filtered.csv", writeTable(withZones(table), rows.classes, columns, { name: rows.independent ? "labels" : "class", cells }));
}

function saveEvents(format) {
  const now = chain();
  const found = data.streams.flatMap((own, s) => eventsOf(s, filterStream(data.rows, own, now), now));
  const { time, timeKind: { kind, zone } } = data.rows;
  const dates = kind === "date";
  // Formats of seconds count from the first row.
  const start = dates && format !== "csv" && format !== "json" ? time.reduce((least, at) => Math.min(least, at)) : null;
  const named = /^[+-]/.test(zone ?? "") ? "UTC" : zone; // as the command line, whose tables have no offsets
  save(`events.${format}`, writeEvents(found, format, { dates, zone: named, start }));
}

function saveSettings() {
  const { filter, beta, channel, rule } = chain();
  save("settings.toml", settings.text ?? toToml(filter, { beta, channel, rule }));
}

element("file").addEventListener("change", ({ target }) => take(target.files));
element("formatControls").addEventListener("change", () => guarded(read));
element("controls").addEventListener("input", ({ target }) => {
  settings = withControl(settings, target, data.step, data.sources);
  drawSoon();
});
element("viewButtons").addEventListener("click", ({ target }) => {
  if (target.dataset.view !== undefined) moveView(target.dataset.view);
});
for (const id of ["lanes", "probs"]) zoomable(element(id));
globalThis.addEventListener("resize", drawSoon);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawSoon);
element("saveResult").addEventListener("click", () => guarded(saveRows));
element("saveSettings").addEventListener("click", () => guarded(saveSettings));
element("saveEvents").addEventListener("click", ({ target }) => {
  if (target.dataset.format !== undefined) guarded(() => saveEvents(target.dataset.format));
});
for (const type of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(type, (event) => {
    event.preventDefault();
    element("drop").classList.toggle("over", type === "dragover");
    if (type === "drop" && event.dataTransfer.files.length > 0) take(event.dataTransfer.files);
  });
}
file = { name: "simulated.csv", simulated: true, bytes: new TextEncoder().encode(simulate()) };
guarded(read);
