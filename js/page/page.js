// The page: the stream that is shown, the filter and the rule over it, and the pictures.
import { load } from "../src/index.js";
import { drawLanes, drawProbs, swatch } from "./charts.js";
import { readCsv } from "./csv.js";
import { fillEventHeader, listenToTable, setEvents } from "./event_table.js";
import { describeEvents, eventFile, eventsOf, fillDownloads } from "./events.js";
import { accuracy, columnsOf, counted, labelsOf, observations, openStream, switchesPerHour, takeRows } from "./rows.js";
import { SPANS, asJson, kinds, logarithm, makeFilter, showSettings, showTexts, sourceControls, takeControl, tunedSettings, usedRule } from "./settings.js";
import { element, page } from "./state.js";
import { chosenStream, fillStreams, markStream, shownIndex } from "./streams.js";
import "./style.css";
import { clock, dateWriter, withoutZone, zonesOf } from "./times.js";

// ---- times ----

function useZone(zone) {
  page.zone = zone;
  page.timeText = zone.zone === null ? (time) => clock(Math.round(time)) : dateWriter(zone.zone);
  if (zone.name === "seconds") page.timeText = (time) => String(Number(time.toPrecision(12)));
}

// ---- the numbers below the sliders ----

function measure(labels) {
  const perHour = switchesPerHour(page.stream, labels);
  const rate = Number.isNaN(perHour) ? "unknown" : perHour.toFixed(1);
  return { rate, share: page.stream.labelled ? `${(100 * accuracy(page.stream, labels)).toFixed(1)} %` : null };
}

/** What the settings do, a sentence each. */
function describe() {
  const before = (page.stream.before ??= measure(page.stream.raw));
  const after = measure(page.result.labels);
  const sentences = [`Changes an hour: ${before.rate} as predicted, ${after.rate} filtered.`, ...describeEvents(page.stream, page.result.events, page.result.rule)];
  if (after.share !== null) sentences.push(`Accuracy by the labels: ${before.share} as predicted, ${after.share} filtered.`);
  return sentences.flatMap((textContent) => [Object.assign(document.createElement("span"), { textContent }), " "]);
}

// ---- drawing ----

/** The rows of the lanes: the labels, what each source predicts, and the filter; then the events. */
function lanesOf() {
  const lanes = page.data.sources.map((name, s) => {
    const rows = page.stream.rowsOf[s];
    return { name, times: Float64Array.from(rows, (i) => page.stream.time[i]), labels: Int16Array.from(rows, (i) => page.stream.raw[i]) };
  }).filter(({ times }) => times.length > 0);
  const truth = page.stream.labelled ? [{ name: "label", times: page.stream.time, labels: page.stream.label }] : [];
  return [...truth, ...lanes, { name: "filtered", times: page.stream.time, labels: page.stream.raw }, { name: "events", events: [] }];
}

function shownColumns() {
  const s = page.data.sources.indexOf(element("shown").value.slice(1));
  if (s < 0) return columnsOf(page.stream.time, page.result.probs);
  const rows = page.stream.rowsOf[s].filter((i) => page.stream.raw[i] >= 0);
  return columnsOf(Float64Array.from(rows, (i) => page.stream.time[i]), takeRows(page.stream.probs, rows, Float64Array));
}

/** Filter a stream with the settings. */
function filterStream(of) {
  const filter = makeFilter();
  const beta = new Float64Array(of.time.length);
  for (let i = 0; i < beta.length; i++) beta[i] = page.settings.beta[of.source[i]];
  return { filter, probs: filter.run(observations(of, page.settings.channelled), { beta, dt: of.dt }) };
}

/** Filter the stream that is shown, unless only the rule has changed; decide its events, and draw both. */
function redraw(kept = null) {
  const same = kept?.of === page.stream;
  const { filter, probs } = same ? kept : filterStream(page.stream);
  const rule = usedRule();
  page.result = { of: page.stream, filter, probs, rule, labels: same ? kept.labels : labelsOf(probs), events: eventsOf(rule, page.stream, probs) };
  page.charts.lanesOf.at(-2).labels = page.result.labels;
  page.charts.lanesOf.at(-1).events = page.result.events;
  page.charts.lanes.redraw(false);
  if (!same) drawProbabilities();
  element("numbers").replaceChildren(...describe());
  frames.words = requestAnimationFrame(() => guarded(writeWords));
}

/** What can wait for the next frame: the table and the file of the settings. */
function writeWords() {
  setEvents(page.result.events);
  element("json").textContent = asJson(page.result.filter);
}

function drawProbabilities() {
  page.charts.probs.setData(shownColumns(), false);
  const [min, max] = page.view;
  page.charts.probs.setScale("x", { min, max });
}

const frames = { redraw: 0, words: 0 };
/** Draw in the next frame; `kept` is what the filter gave, where its settings and the stream are the same. */
function redrawSoon(kept = null) {
  const same = frames.redraw === 0 ? kept : null; // a frame that is cancelled may have been for the filter
  for (const frame of Object.values(frames)) cancelAnimationFrame(frame);
  frames.redraw = requestAnimationFrame(() => {
    frames.redraw = 0;
    guarded(() => redraw(same));
  });
}

/** Errors are words on the page. */
async function guarded(work) {
  try {
    await work();
    element("message").hidden = true;
  } catch (error) {
    element("message").textContent = error.message;
    element("message").hidden = false;
  }
}

/** Show the times between two; or all of them, for null. Never less than a few steps, and never beyond the stream. */
function setView(wanted) {
  const [first, last] = [page.stream.time[0], page.stream.time.at(-1) + page.data.step];
  const whole = last - first;
  const width = Math.min(whole, Math.max(4 * page.data.step, wanted === null ? whole : wanted[1] - wanted[0]));
  const start = wanted === null ? first : Math.min(Math.max((wanted[0] + wanted[1] - width) / 2, first), last - width);
  const [min, max] = (page.view = [start, start + width]);
  for (const chart of [page.charts.lanes, page.charts.probs]) chart.setScale("x", { min, max });
  element("span").textContent = `${page.timeText(min)} to ${page.timeText(max)} (${page.zone.name})`;
}

/** The most probable classes of a row, in words. */
function showRow(row) {
  const [times, ...columns] = page.charts?.probs.data ?? [[]];
  if (row === null || row === undefined || !(row < times.length)) return;
  const order = columns.map((_, k) => k).sort((a, b) => columns[b][row] - columns[a][row]);
  const parts = order.slice(0, 3).map((k) => `${page.tuned.filter.classes[k]} ${(100 * columns[k][row]).toFixed(0)} %`);
  element("row").textContent = `${page.timeText(times[row])}${page.zone.text === undefined ? "" : ` (${page.zone.name})`}: ${parts.join(", ")}`;
}

function moveView(move) {
  const [start, end] = page.view;
  const width = end - start;
  const moved = {
    all: null,
    in: [start + width / 4, end - width / 4], out: [start - width / 2, end + width / 2],
    left: [start - width / 2, end - width / 2], right: [start + width / 2, end + width / 2],
  };
  setView(moved[move]);
}

/** Take the tuned settings of a stream, and show them: those of the label that it has, of several labels at once. */
function useConfig(index) {
  const config = page.data.configs[index];
  if (config === page.config) return;
  Object.assign(page, { config, tuned: load(config) });
  element("kind").replaceChildren(...kinds().map(([value, text]) => new Option(text, value)));
  element("weights").replaceChildren(element("weightsTitle"), ...page.data.sources.map(sourceControls));
  page.settings = tunedSettings();
  showSettings();
}

async function showStream(index) {
  useConfig(page.data.streams[index].config);
  page.stream = await openStream(page.data.streams[index]);
  markStream(index);
  makeCharts();
}

/** Make the pictures anew, for another stream or zone. */
function makeCharts() {
  for (const chart of page.charts === null ? [] : [page.charts.lanes, page.charts.probs]) chart.destroy();
  const lanes = lanesOf();
  page.charts = {
    lanesOf: lanes,
    lanes: drawLanes(element("lanes"), page.data.classes, page.zone.zone, lanes, setView),
    probs: drawProbs(element("probs"), page.data.classes, page.zone.zone, setView, showRow),
  };
  element("lanes").chart = page.charts.lanes;
  element("probs").chart = page.charts.probs;
  element("lanes").setAttribute("aria-label", `The class over time: ${lanes.map(({ name }) => name).join(", ")}, from the top`);
  element("probs").setAttribute("aria-label", "The probability of each class over time");
  element("row").textContent = "";
  setView(null);
  redraw();
}

// ---- files ----

function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** The filtered rows of the stream, as `classfilter filter` names the columns. */
function asCsv() {
  const K = page.data.classes.length;
  const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = Array.from(page.stream.time, (time, i) => [
    time, page.data.sources[page.stream.source[i]], ...page.result.probs.subarray(i * K, (i + 1) * K), page.tuned.filter.classes[page.result.labels[i]],
  ]);
  const header = ["time", "source", ...page.tuned.filter.classes.map((name) => `f_${name}`), "class"];
  return [header, ...lines].map((line) => line.map(String).map(cell).join(",")).join("\n") + "\n";
}

/** The events of all streams in the page, with the settings that it shows. */
async function eventsOfAll() {
  const lists = [];
  for (const packed of page.data.streams) {
    const of = await openStream(packed);
    lists.push(eventsOf(page.result.rule, of, filterStream(of).probs));
  }
  return lists.flat();
}

async function saveEvents(format) {
  const all = element("eventsOf").value === "all";
  const list = all ? await eventsOfAll() : page.result.events;
  save(`events.${format}`, eventFile(list, format));
}

// ---- listening ----

function listenToPictures() {
  const keys = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", Home: "all" };
  for (const id of ["lanes", "probs"]) {
    element(id).addEventListener("keydown", (event) => {
      if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      moveView(keys[event.key]);
    });
    new ResizeObserver(() => {
      const chart = page.charts?.[id];
      if (chart && element(id).clientWidth > 0) chart.setSize({ width: element(id).clientWidth, height: chart.height });
    }).observe(element(id));
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const chart of [page.charts.lanes, page.charts.probs]) chart.redraw(false);
  });
  element("view").addEventListener("click", ({ target }) => {
    if (target.dataset.view !== undefined) moveView(target.dataset.view);
  });
  element("shown").addEventListener("input", drawProbabilities);
  element("zone").addEventListener("input", ({ target }) => {
    useZone(zonesOf(page.data)[target.value]);
    makeCharts();
  });
}

function listen() {
  element("controls").addEventListener("submit", (event) => event.preventDefault());
  element("controls").addEventListener("input", ({ target }) => {
    if (target.id === "stream" || target.id === "streamName") {
      const index = chosenStream(target);
      return index === null ? undefined : guarded(() => showStream(index));
    }
    return guarded(() => {
      takeControl(target);
      showTexts();
      redrawSoon(SPANS.includes(target.id) ? page.result : null);
    });
  });
  for (const [id, step] of [["streamBefore", -1], ["streamAfter", 1]]) {
    element(id).addEventListener("click", () => guarded(() => showStream(shownIndex + step)));
  }
  element("restore").addEventListener("click", () => {
    page.settings = tunedSettings();
    showSettings();
    redrawSoon();
  });
  element("copy").addEventListener("click", () => navigator.clipboard.writeText(element("json").textContent).then(
    () => (element("copy").textContent = "Copied"),
    () => getSelection().selectAllChildren(element("json")),
  ));
  element("save").addEventListener("click", () => save("settings.json", element("json").textContent));
  element("saveRows").addEventListener("click", () => save("filtered.csv", asCsv()));
  element("formats").addEventListener("click", ({ target }) => {
    if (target.dataset.format !== undefined) guarded(() => saveEvents(target.dataset.format));
  });
  listenToTable((times) => {
    setView(times);
    element("lanes").scrollIntoView({ block: "nearest" });
  });
}

/** Show streams, from the first on: those that Python embedded, or those of a file. */
async function show(data) {
  page.data = data;
  page.config = null;
  const zones = zonesOf(data);
  useZone(zones[0] ?? withoutZone(data));
  for (const part of document.querySelectorAll("[data-script]")) part.hidden = false;
  fillStreams();
  fillDownloads();
  element("zones").hidden = zones.length === 0;
  element("zone").replaceChildren(...zones.map(({ text }, i) => new Option(text, i)));
  element("shown").replaceChildren(new Option("filtered", "="), ...data.sources.map((name) => new Option(`as predicted by ${name}`, `:${name}`)));
  element("legend").replaceChildren(...data.classes.map((name, k) => {
    const item = document.createElement("span");
    item.append(swatch(k), ` ${name}`);
    return item;
  }));
  const hundredths = (value) => Math.round(100 * logarithm(value)) / 100;
  Object.assign(element("halfLife"), { min: hundredths(data.step / 4), max: hundredths(data.step * 20000) });
  await showStream(0);
}

/** Read a file that was chosen or dropped, if there is one. */
function openFile(file) {
  if (file === undefined) return;
  guarded(async () => show(readCsv(await file.text(), file.name)));
}

/** Without data, the page asks for a file. */
function askForFile() {
  element("open").hidden = false;
  element("file").addEventListener("input", ({ target }) => openFile(target.files[0]));
  for (const name of ["dragover", "dragleave", "drop"]) {
    addEventListener(name, (event) => {
      event.preventDefault();
      element("open").classList.toggle("over", name === "dragover");
      if (name === "drop") openFile(event.dataTransfer.files[0]);
    });
  }
}

element("data").counted = counted;
const embedded = JSON.parse(element("data").textContent);
fillEventHeader();
listen();
listenToPictures();
if (embedded === null) askForFile();
else guarded(() => show(embedded));
