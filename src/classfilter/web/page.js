// The page: settings, the filter, and the pictures of one stream.
const hasTransitions = () => tuned.filter.options.transitions !== undefined;
const tunedKind = () => (hasTransitions() ? "transitions" : tuned.filter.kind);
const kinds = () => [
  ...(hasTransitions() ? [["transitions", "sticky, estimated transitions"]] : []), ["sticky", "sticky"], ["dirichlet", "Dirichlet"],
];
let usedConfig = null;
let settings = null;
let stream = null;
let view = null;
let charts = null;

/** What the filter gets: the rows, those of some sources through their channels. */
function observations() {
  const wanted = String(settings.channelled);
  if (stream.observed?.wanted === wanted) return stream.observed.rows;
  const all = stream.probs.slice();
  stream.corrected.forEach((channel, s) => {
    if (channel === null || !settings.channelled[s]) return;
    channel.rows.forEach((i, j) => all.set(channel.probs.subarray(j * K, (j + 1) * K), i * K));
  });
  stream.observed = { wanted, rows: all };
  return all;
}

function makeFilter() {
  const { kind, halfLife, decay, floor } = settings;
  const { options } = tuned.filter;
  const left = decay ?? 0.5 ** (1 / halfLife);
  if (kind === "transitions") return new classfilter.StickyFilter(tuned.filter.classes, { ...options, floor });
  if (kind === "sticky") {
    const { prior, temperature, dtype } = options;
    const start = tuned.filter.kind === "sticky" ? { prior } : {};
    return new classfilter.StickyFilter(tuned.filter.classes, { stay: left, ...start, floor, temperature, dtype });
  }
  const others = tuned.filter.kind === "dirichlet" ? options : { estimate: "mean", temperature: options.temperature, dtype: options.dtype };
  return new classfilter.DirichletFilter(tuned.filter.classes, { ...others, gamma: left, floor });
}

function tunedSettings() {
  const { options } = tuned.filter;
  const decay = options.gamma ?? (hasTransitions() ? undefined : options.stay) ?? null;
  const halfLife = decay === null ? 10 * data.step : Math.log(0.5) / Math.log(decay);
  return {
    kind: tunedKind(), decay, halfLife, floor: options.floor,
    beta: data.sources.map((name) => tuned.beta[name]),
    channelled: data.sources.map((name) => tuned.channel[name] !== undefined),
  };
}

// ---- the numbers below the sliders ----

function measure(labels) {
  const perHour = switchesPerHour(stream, labels);
  const rate = Number.isNaN(perHour) ? "unknown" : perHour.toFixed(1);
  return { rate, share: stream.label.some((label) => label >= 0) ? `${(100 * accuracy(stream, labels)).toFixed(1)} %` : null };
}

function describe(filtered) {
  const before = (stream.before ??= measure(stream.raw));
  const after = measure(filtered);
  const words = `Switches per hour: ${before.rate} as predicted, ${after.rate} filtered.`;
  if (after.share === null) return words;
  return `${words} Accuracy by the labels: ${before.share} as predicted, ${after.share} filtered.`;
}

// ---- drawing ----

/** The rows of the lanes: the labels, what each source predicts, and the filter. */
function lanesOf(filtered) {
  const lanes = data.sources.map((name, s) => {
    const rows = rowsOf(stream.source, s);
    return { name, times: Float64Array.from(rows, (i) => stream.time[i]), labels: Int16Array.from(rows, (i) => stream.raw[i]) };
  }).filter(({ times }) => times.length > 0);
  const all = { name: "filtered", times: stream.time, labels: filtered };
  const truth = stream.label.some((label) => label >= 0) ? [{ name: "label", times: stream.time, labels: stream.label }] : [];
  return [...truth, ...lanes, all];
}

function shownColumns(filtered) {
  const s = data.sources.indexOf(element("shown").value.slice(1));
  if (s < 0) return columnsOf(stream.time, filtered);
  const rows = rowsOf(stream.source, s).filter((i) => stream.raw[i] >= 0);
  return columnsOf(Float64Array.from(rows, (i) => stream.time[i]), takeRows(stream.probs, rows, Float64Array));
}

let result = null;

/** Filter the stream with the settings, and draw it. */
function redraw() {
  const filter = makeFilter();
  const beta = new Float64Array(stream.time.length);
  for (let i = 0; i < beta.length; i++) beta[i] = settings.beta[stream.source[i]];
  const probs = filter.run(observations(), { beta, dt: stream.dt });
  result = { filter, probs, labels: labelsOf(probs) };
  charts.filteredLane.labels = result.labels;
  charts.lanes.redraw(false);
  drawProbabilities();
  element("numbers").textContent = describe(result.labels);
  const named = (values) => Object.assign(Object.create(null), Object.fromEntries(data.sources.map((name, s) => [name, values(s, name)])));
  element("toml").textContent = classfilter.toToml(filter, {
    beta: named((s) => settings.beta[s]),
    channel: named((s, name) => (settings.channelled[s] ? tuned.channel[name] : null)),
  });
}

function drawProbabilities() {
  charts.probs.setData(shownColumns(result.probs), false);
  charts.probs.setScale("x", { min: view[0], max: view[1] });
}

let frame = 0;
function redrawSoon() {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => guarded(redraw));
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
  element("span").textContent = `${timeText(view[0])} to ${timeText(view[1])}${zone ? ` ${zone}` : ""}`;
}

const zone = knownZone(data.zone);
const timeText = zone === null ? (time) => clock(Math.round(time)) : dateWriter(zone);

/** The most probable classes of a row, in words. */
function showRow(row) {
  const [times, ...columns] = charts?.probs.data ?? [[]];
  if (row === null || row === undefined || !(row < times.length)) return;
  const order = columns.map((_, k) => k).sort((a, b) => columns[b][row] - columns[a][row]);
  const parts = order.slice(0, 3).map((k) => `${tuned.filter.classes[k]} ${(100 * columns[k][row]).toFixed(0)} %`);
  element("row").textContent = `${timeText(times[row])}: ${parts.join(", ")}`;
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
  for (const chart of charts === null ? [] : [charts.lanes, charts.probs]) chart.destroy();
  const lanes = lanesOf(stream.raw);
  charts = {
    filteredLane: lanes.at(-1),
    lanes: drawLanes(element("lanes"), data.classes, zone, lanes, setView),
    probs: drawProbs(element("probs"), data.classes, zone, setView, showRow),
  };
  element("lanes").chart = charts.lanes;
  element("probs").chart = charts.probs;
  element("lanes").setAttribute("aria-label", `The class over time: ${lanes.map(({ name }) => name).join(", ")}, from the top`);
  element("probs").setAttribute("aria-label", "The probability of each class over time");
  setView(null);
  redraw();
}

// ---- the controls ----

const logarithm = (value) => Math.log10(Math.min(Math.max(value, 1e-30), 1e30));
const short = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(3))) : "∞");

/** Put the settings into the controls. */
function showSettings() {
  element("kind").value = settings.kind;
  element("halfLife").value = logarithm(settings.halfLife);
  element("floor").value = logarithm(settings.floor);
  data.sources.forEach((_, s) => {
    element(`weight${s}`).value = settings.beta[s];
    if (element(`channel${s}`) !== null) element(`channel${s}`).checked = settings.channelled[s];
  });
  showTexts();
}

function showTexts() {
  const fixed = settings.kind === "transitions";
  element("halfLife").disabled = fixed;
  element("halfLifeText").textContent = fixed ? "estimated" : `${short(settings.halfLife)} s`;
  element("floorText").textContent = String(settings.floor);
  data.sources.forEach((_, s) => (element(`weight${s}Text`).textContent = short(settings.beta[s])));
}

/** Take what a control says; what was not touched stays as it was tuned, to the bit. */
function takeControl({ id, value, checked, dataset }) {
  const s = Number(dataset.source);
  if (id === "kind") {
    settings.kind = value;
    settings.decay = value === tunedKind() && settings.halfLife === tunedSettings().halfLife ? tunedSettings().decay : null;
  } else if (id === "halfLife") {
    settings.halfLife = Number((10 ** Number(value)).toPrecision(3));
    settings.decay = null;
  } else if (id === "floor") settings.floor = Number((10 ** Number(value)).toPrecision(2));
  else if (id === `weight${s}`) settings.beta[s] = Number(value);
  else if (id === `channel${s}`) settings.channelled[s] = checked;
}

function sourceControls(name, s) {
  const text = Object.assign(document.createElement("span"), { textContent: name, title: name });
  const input = Object.assign(document.createElement("input"), { type: "range", min: 0, max: 1, step: 0.01, id: `weight${s}` });
  const output = Object.assign(document.createElement("output"), { id: `weight${s}Text` });
  const weight = document.createElement("label");
  weight.append(text, input, output);
  input.dataset.source = s;
  const group = document.createElement("div");
  group.append(weight);
  if (tuned.channel[name] === undefined) return group;
  const box = Object.assign(document.createElement("input"), { type: "checkbox", id: `channel${s}` });
  const check = Object.assign(document.createElement("label"), { className: "check" });
  box.dataset.source = s;
  check.append(box, "through its channel");
  group.append(check);
  return group;
}

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

function listen() {
  element("controls").addEventListener("submit", (event) => event.preventDefault());
  element("controls").addEventListener("input", ({ target }) => {
    if (target.id === "stream") return guarded(() => showStream(Number(target.value)));
    takeControl(target);
    showTexts();
    return redrawSoon();
  });
  element("restore").addEventListener("click", () => {
    settings = tunedSettings();
    showSettings();
    redrawSoon();
  });
  element("shown").addEventListener("input", drawProbabilities);
  element("view").addEventListener("click", ({ target }) => {
    if (target.dataset.view !== undefined) moveView(target.dataset.view);
  });
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
  element("copy").addEventListener("click", () => navigator.clipboard.writeText(element("toml").textContent).then(
    () => (element("copy").textContent = "Copied"),
    () => getSelection().selectAllChildren(element("toml")),
  ));
  element("save").addEventListener("click", () => save("settings.toml", element("toml").textContent));
  element("saveRows").addEventListener("click", () => save("filtered.csv", asCsv()));
}

await guarded(async () => {
  element("play").hidden = false;
  element("stream").append(...data.streams.map(({ name }, i) => new Option(name, i)));
  element("shown").append(new Option("filtered", "="), ...data.sources.map((name) => new Option(`as predicted by ${name}`, `:${name}`)));
  element("legend").append(...data.classes.map((name, k) => {
    const item = document.createElement("span");
    item.append(swatch(k), ` ${name}`);
    return item;
  }));
  const hundredths = (value) => Math.round(100 * logarithm(value)) / 100;
  Object.assign(element("halfLife"), { min: hundredths(data.step / 4), max: hundredths(data.step * 20000) });
  listen();
  await showStream(0);
});
