// The settings of the filter, and the controls that show and change them.
const hasTransitions = () => tuned.filter.options.transitions !== undefined;
const tunedKind = () => (hasTransitions() ? "transitions" : tuned.filter.kind);
const kinds = () => [
  ...(hasTransitions() ? [["transitions", "sticky, estimated transitions"]] : []), ["sticky", "sticky"], ["dirichlet", "Dirichlet"],
];
let settings = null;

function tunedSettings() {
  const { options } = tuned.filter;
  const decay = options.gamma ?? (hasTransitions() ? undefined : options.stay) ?? null;
  const halfLife = decay === null ? 10 * data.step : Math.log(0.5) / Math.log(decay);
  return {
    kind: tunedKind(), decay, halfLife, floor: options.floor,
    beta: data.sources.map((name) => tuned.beta[name]),
    channelled: data.sources.map((name) => tuned.channel[name] !== undefined),
    rule: tuned.rule,
  };
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

/** The rule for events; where the settings have none, each stretch of one class is an event. Of one label, only where it is on. */
const usedRule = () => settings.rule ?? new classfilter.EventRule({ ignore: data.independent ? [tuned.filter.classes[0]] : [] });

/** Whether the settings have the form that they were tuned in, by what `of` takes from them: then a difference fits over them. */
const hasTunedForm = (of) => JSON.stringify(of(settings)) === JSON.stringify(of(tunedSettings()));

/** The section of the smoother: what differs from the filter or, where that would not fit over it, all of it. */
function smootherSection({ smoother, wholeSmoother }) {
  if (smoother === null) return null;
  const { events: differing = {}, ...rows } = smoother;
  const { events: all = {}, ...allRows } = wholeSmoother;
  const removed = Object.entries(differing).filter(([, entry]) => entry === false);
  const rule = hasTunedForm(({ rule: one }) => SPANS.map((id) => typeof (one?.[id] ?? 0))) ? differing : { ...Object.fromEntries(removed), ...all };
  const form = hasTunedForm(({ kind, channelled }) => [kind, channelled]) ? rows : { ...allRows, channel: wholeChannels(allRows.channel ?? {}) };
  const sections = Object.entries({ ...form, events: rule });
  return new Map(sections.filter(([, entry]) => typeof entry !== "object" || entriesIn(entry) > 0));
}

const entriesIn = (section) => (section instanceof Map ? section.size : Object.keys(section).length);

/** The channels of the smoother, and false for a source that the filter has one of, and the smoother none. */
function wholeChannels(channels) {
  const unused = data.sources.filter((name, s) => settings.channelled[s] && !Object.hasOwn(channels, name));
  return new Map([...Object.entries(channels), ...unused.map((name) => [name, false])]);
}

/** The settings as a TOML file. */
function asToml(filter) {
  const named = (values) => Object.assign(Object.create(null), Object.fromEntries(data.sources.map((name, s) => [name, values(s, name)])));
  return classfilter.toToml(filter, {
    beta: named((s) => settings.beta[s]),
    channel: named((s, name) => (settings.channelled[s] ? tuned.channel[name] : null)),
    rule: settings.rule,
    smoother: smootherSection(data.kept[usedConfig]),
  }) + data.kept[usedConfig].others;
}

// ---- the controls ----

const logarithm = (value) => Math.log10(Math.min(Math.max(value, 1e-30), 1e30));
const short = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(3))) : "∞");
/** Spans of time that a slider has, as 0 and then by their logarithm: 0 to 1000 is 0 to 20,000 steps. */
const SPAN_DECADES = Math.log10(80000);
const spanAt = (place) => (place <= 0 ? 0 : Number((data.step / 4 * 10 ** (SPAN_DECADES * (place - 1) / 999)).toPrecision(3)));
const placeOf = (span) => (span <= 0 ? 0 : Math.max(1, Math.round(1 + (999 * logarithm((4 * span) / data.step)) / SPAN_DECADES)));
/** The settings of the rule that have a slider: each is a number, or an object with one for each class. */
const SPANS = ["changeCost", "minDuration"];
const isNumber = (value) => typeof value === "number";

/** Put the settings into the controls. */
function showSettings() {
  element("kind").value = settings.kind;
  element("halfLife").value = logarithm(settings.halfLife);
  element("floor").value = logarithm(settings.floor);
  for (const id of SPANS) {
    const span = settings.rule?.[id] ?? 0;
    element(id).value = placeOf(isNumber(span) ? span : Math.max(0, ...Object.values(span)));
  }
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
  for (const id of SPANS) {
    const span = settings.rule?.[id] ?? 0;
    element(`${id}Text`).textContent = isNumber(span) ? `${short(span)} s` : "by class";
  }
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
  else if (SPANS.includes(id)) settings.rule = new classfilter.EventRule({ ...usedRule().options, [id]: spanFor(id, Number(value)) });
  else if (id === `weight${s}`) settings.beta[s] = Number(value);
  else if (id === `channel${s}`) settings.channelled[s] = checked;
}

/** One span for all classes; of several labels at once, it is that of on. */
function spanFor(id, place) {
  const span = spanAt(place);
  return id === "minDuration" && data.independent ? { [tuned.filter.classes[1]]: span } : span;
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
