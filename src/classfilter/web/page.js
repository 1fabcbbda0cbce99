// The page: the stream that is shown, the filter and the rule over it, and the pictures.
let usedConfig = null;
let stream = null;
let view = null;
let charts = null;
let result = null;

// ---- times ----

const zones = zonesOf(data);
let shownZone = zones[0] ?? withoutZone(data);
let timeText = null;

function useZone(zone) {
  shownZone = zone;
  timeText = zone.zone === null ? (time) => clock(Math.round(time)) : dateWriter(zone.zone);
  if (zone.name === "seconds") timeText = (time) => String(Number(time.toPrecision(12)));
}

// ---- the numbers below the sliders ----

function measure(labels) {
  const perHour = switchesPerHour(stream, labels);
  const rate = Number.isNaN(perHour) ? "unknown" : perHour.toFixed(1);
  return { rate, share: stream.labelled ? `${(100 * accuracy(stream, labels)).toFixed(1)} %` : null };
}

/** What the settings do, a sentence each. */
function describe() {
  const before = (stream.before ??= measure(stream.raw));
  const after = measure(result.labels);
  const sentences = [`Changes an hour: ${before.rate} as predicted, ${after.rate} filtered.`, ...describeEvents(stream, result.events, result.rule)];
  if (after.share !== null) sentences.push(`Accuracy by the labels: ${before.share} as predicted, ${after.share} filtered.`);
  return sentences.flatMap((textContent) => [Object.assign(document.createElement("span"), { textContent }), " "]);
}

// ---- drawing ----

/** The rows of the lanes: the labels, what each source predicts, and the filter; then the events. */
function lanesOf() {
  const lanes = data.sources.map((name, s) => {
    const rows = stream.rowsOf[s];
    return { name, times: Float64Array.from(rows, (i) => stream.time[i]), labels: Int16Array.from(rows, (i) => stream.raw[i]) };
  }).filter(({ times }) => times.length > 0);
  const truth = stream.labelled ? [{ name: "label", times: stream.time, labels: stream.label }] : [];
  return [...truth, ...lanes, { name: "filtered", times: stream.time, labels: stream.raw }, { name: "events", events: [] }];
}

function shownColumns() {
  const s = data.sources.indexOf(element("shown").value.slice(1));
  if (s < 0) return columnsOf(stream.time, result.probs);
  const rows = stream.rowsOf[s].filter((i) => stream.raw[i] >= 0);
  return columnsOf(Float64Array.from(rows, (i) => stream.time[i]), takeRows(stream.probs, rows, Float64Array));
}

/** Filter a stream with the settings. */
function filterStream(of) {
  const filter = makeFilter();
  const beta = new Float64Array(of.time.length);
  for (let i = 0; i < beta.length; i++) beta[i] = settings.beta[of.source[i]];
  return { filter, probs: filter.run(observations(of, settings.channelled), { beta, dt: of.dt }) };
}

/** Filter the stream that is shown, unless only the rule has changed; decide its events, and draw both. */
function redraw(kept = null) {
  const same = kept?.of === stream;
  const { filter, probs } = same ? kept : filterStream(stream);
  const rule = usedRule();
  result = { of: stream, filter, probs, rule, labels: same ? kept.labels : labelsOf(probs), events: eventsOf(rule, stream, probs) };
  charts.lanesOf.at(-2).labels = result.labels;
  charts.lanesOf.at(-1).events = result.events;
  charts.lanes.redraw(false);
  if (!same) drawProbabilities();
  element("numbers").replaceChildren(...describe());
  frames.words = requestAnimationFrame(() => guarded(writeWords));
}

/** What can wait for the next frame: the table and the file of the settings. */
function writeWords() {
  setEvents(result.events);
  element("toml").textContent = asToml(result.filter);
}

function drawProbabilities() {
  charts.probs.setData(shownColumns(), false);
  charts.probs.setScale("x", { min: view[0], max: view[1] });
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
  const [first, last] = [stream.time[0], stream.time.at(-1) + data.step];
  const whole = last - first;
  const width = Math.min(whole, Math.max(4 * data.step, wanted === null ? whole : wanted[1] - wanted[0]));
  const start = wanted === null ? first : Math.min(Math.max((wanted[0] + wanted[1] - width) / 2, first), last - width);
  view = [start, start + width];
  for (const chart of [charts.lanes, charts.probs]) chart.setScale("x", { min: view[0], max: view[1] });
  element("span").textContent = `${timeText(view[0])} to ${timeText(view[1])} (${shownZone.name})`;
}

/** The most probable classes of a row, in words. */
function showRow(row) {
  const [times, ...columns] = charts?.probs.data ?? [[]];
  if (row === null || row === undefined || !(row < times.length)) return;
  const order = columns.map((_, k) => k).sort((a, b) => columns[b][row] - columns[a][row]);
  const parts = order.slice(0, 3).map((k) => `${tuned.filter.classes[k]} ${(100 * columns[k][row]).toFixed(0)} %`);
  element("row").textContent = `${timeText(times[row])}${zones.length > 0 ? ` (${shownZone.name})` : ""}: ${parts.join(", ")}`;
}

function moveView(move) {
  const [start, end] = view;
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
  if (index === usedConfig) return;
  usedConfig = index;
  tuned = classfilter.load(data.configs[index]);
  element("kind").replaceChildren(...kinds().map(([value, text]) => new Option(text, value)));
  element("weights").replaceChildren(element("weightsTitle"), ...data.sources.map(sourceControls));
  settings = tunedSettings();
  showSettings();
}

async function showStream(index) {
  useConfig(data.streams[index].config);
  stream = await openStream(data.streams[index]);
  markStream(index);
  makeCharts();
}

/** Make the pictures anew, for another stream or zone. */
function makeCharts() {
  for (const chart of charts === null ? [] : [charts.lanes, charts.probs]) chart.destroy();
  const lanes = lanesOf();
  charts = {
    lanesOf: lanes,
    lanes: drawLanes(element("lanes"), data.classes, shownZone.zone, lanes, setView),
    probs: drawProbs(element("probs"), data.classes, shownZone.zone, setView, showRow),
  };
  element("lanes").chart = charts.lanes;
  element("probs").chart = charts.probs;
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
  const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = Array.from(stream.time, (time, i) => [
    time, data.sources[stream.source[i]], ...result.probs.subarray(i * K, (i + 1) * K), tuned.filter.classes[result.labels[i]],
  ]);
  const header = ["time", "source", ...tuned.filter.classes.map((name) => `f_${name}`), "class"];
  return [header, ...lines].map((line) => line.map(String).map(cell).join(",")).join("\n") + "\n";
}

/** The events of all streams in the page, with the settings that it shows. */
async function eventsOfAll() {
  const lists = [];
  for (const packed of data.streams) {
    const of = await openStream(packed);
    lists.push(eventsOf(result.rule, of, filterStream(of).probs));
  }
  return lists.flat();
}

async function saveEvents(format) {
  const all = element("eventsOf").value === "all";
  const zoneOfAll = new Set(data.streams.map(({ zone }) => zone));
  const zone = all ? (zoneOfAll.size === 1 ? stream.zone : "UTC") : stream.zone;
  const list = all ? await eventsOfAll() : result.events;
  save(`events.${format}`, eventFile(list, format, zone, stream.time[0]));
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
      const chart = charts?.[id];
      if (chart && element(id).clientWidth > 0) chart.setSize({ width: element(id).clientWidth, height: chart.height });
    }).observe(element(id));
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const chart of [charts.lanes, charts.probs]) chart.redraw(false);
  });
  element("view").addEventListener("click", ({ target }) => {
    if (target.dataset.view !== undefined) moveView(target.dataset.view);
  });
  element("shown").addEventListener("input", drawProbabilities);
  element("zone").addEventListener("input", ({ target }) => {
    useZone(zones[target.value]);
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
      redrawSoon(SPANS.includes(target.id) ? result : null);
    });
  });
  for (const [id, step] of [["streamBefore", -1], ["streamAfter", 1]]) {
    element(id).addEventListener("click", () => guarded(() => showStream(shownIndex + step)));
  }
  element("restore").addEventListener("click", () => {
    settings = tunedSettings();
    showSettings();
    redrawSoon();
  });
  element("copy").addEventListener("click", () => navigator.clipboard.writeText(element("toml").textContent).then(
    () => (element("copy").textContent = "Copied"),
    () => getSelection().selectAllChildren(element("toml")),
  ));
  element("save").addEventListener("click", () => save("settings.toml", element("toml").textContent));
  element("saveRows").addEventListener("click", () => save("filtered.csv", asCsv()));
  element("eventsOf").addEventListener("input", showDownloads);
  element("formats").addEventListener("click", ({ target }) => {
    if (target.dataset.format !== undefined) guarded(() => saveEvents(target.dataset.format));
  });
  listenToTable((times) => {
    setView(times);
    element("lanes").scrollIntoView({ block: "nearest" });
  });
}

await guarded(async () => {
  for (const part of document.querySelectorAll("[data-script]")) part.hidden = false;
  fillStreams();
  fillEventHeader();
  fillDownloads();
  useZone(shownZone);
  element("zones").hidden = zones.length === 0;
  element("zone").append(...zones.map(({ text }, i) => new Option(text, i)));
  element("shown").append(new Option("filtered", "="), ...data.sources.map((name) => new Option(`as predicted by ${name}`, `:${name}`)));
  element("legend").append(...data.classes.map((name, k) => {
    const item = document.createElement("span");
    item.append(swatch(k), ` ${name}`);
    return item;
  }));
  const hundredths = (value) => Math.round(100 * logarithm(value)) / 100;
  Object.assign(element("halfLife"), { min: hundredths(data.step / 4), max: hundredths(data.step * 20000) });
  listen();
  listenToPictures();
  await showStream(0);
});
