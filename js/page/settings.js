// The settings of the filter, and the controls that show and change them.
import { DirichletFilter, EventRule, StickyFilter } from "../src/index.js";
import { element, page } from "./state.js";

const hasTransitions = () => page.tuned.filter.options.transitions !== undefined;
const tunedKind = () => (hasTransitions() ? "transitions" : page.tuned.filter.kind);
export const kinds = () => [
  ...(hasTransitions() ? [["transitions", "sticky, estimated transitions"]] : []), ["sticky", "sticky"], ["dirichlet", "Dirichlet"],
];

export function tunedSettings() {
  const { options } = page.tuned.filter;
  const decay = options.gamma ?? (hasTransitions() ? undefined : options.stay) ?? null;
  const halfLife = decay === null ? 10 * page.data.step : Math.log(0.5) / Math.log(decay);
  return {
    kind: tunedKind(), decay, halfLife, floor: options.floor,
    beta: page.data.sources.map((name) => page.tuned.beta[name]),
    channelled: page.data.sources.map((name) => page.tuned.channel[name] !== undefined),
    rule: page.tuned.rule,
  };
}

export function makeFilter() {
  const { kind, halfLife, decay, floor } = page.settings;
  const { options } = page.tuned.filter;
  const left = decay ?? 0.5 ** (1 / halfLife);
  if (kind === "transitions") return new StickyFilter(page.tuned.filter.classes, { ...options, floor });
  if (kind === "sticky") {
    const { prior, temperature, dtype } = options;
    const start = page.tuned.filter.kind === "sticky" ? { prior } : {};
    return new StickyFilter(page.tuned.filter.classes, { stay: left, ...start, floor, temperature, dtype });
  }
  const others = page.tuned.filter.kind === "dirichlet" ? options : { estimate: "mean", temperature: options.temperature, dtype: options.dtype };
  return new DirichletFilter(page.tuned.filter.classes, { ...others, gamma: left, floor });
}

/** The rule for events; where the settings have none, each stretch of one class is an event. Of one label, only where it is on. */
export const usedRule = () => page.settings.rule ?? new EventRule({ ignore: page.data.independent ? [page.tuned.filter.classes[0]] : [] });

/** The settings as JSON, with the keys of Python; the smoother is left out where it was tuned for a filter of another form. */
export function asJson(filter) {
  const { settings, config, data } = page;
  const { prepared, ...options } = snakeCased(filter.options);
  const channels = data.sources.filter((_, s) => settings.channelled[s]).map((name) => [name, config.channel[name]]);
  const form = ({ kind, channelled, rule }) => JSON.stringify([kind, channelled, SPANS.map((id) => typeof (rule?.[id] ?? 0))]);
  const sections = {
    ...config, filter: filter.kind, options, prepared,
    beta: Object.fromEntries(data.sources.map((name, s) => [name, settings.beta[s]])),
    channel: channels.length > 0 ? Object.fromEntries(channels) : undefined,
    events: settings.rule === page.tuned.rule ? config.events : snakeCased(settings.rule.options),
    smoother: form(settings) === form(tunedSettings()) ? config.smoother : undefined,
  };
  return JSON.stringify(sections, null, 1).replace(/\[[^[\]{}]*\]/g, (list) => list.replace(/\n\s*/g, " ")); // numbers in one line
}

const snakeCased = (options) =>
  Object.fromEntries(Object.entries(options).map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]));

// ---- the controls ----

export const logarithm = (value) => Math.log10(Math.min(Math.max(value, 1e-30), 1e30));
const short = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(3))) : "∞");
/** Spans of time that a slider has, as 0 and then by their logarithm: 0 to 1000 is 0 to 20,000 steps. */
const SPAN_DECADES = Math.log10(80000);
const spanAt = (place) => (place <= 0 ? 0 : Number((page.data.step / 4 * 10 ** (SPAN_DECADES * (place - 1) / 999)).toPrecision(3)));
const placeOf = (span) => (span <= 0 ? 0 : Math.max(1, Math.round(1 + (999 * logarithm((4 * span) / page.data.step)) / SPAN_DECADES)));
/** The settings of the rule that have a slider: each is a number, or an object with one for each class. */
export const SPANS = ["changeCost", "minDuration"];
const isNumber = (value) => typeof value === "number";

/** Put the settings into the controls. */
export function showSettings() {
  element("kind").value = page.settings.kind;
  element("halfLife").value = logarithm(page.settings.halfLife);
  element("floor").value = logarithm(page.settings.floor);
  for (const id of SPANS) {
    const span = page.settings.rule?.[id] ?? 0;
    element(id).value = placeOf(isNumber(span) ? span : Math.max(0, ...Object.values(span)));
  }
  page.data.sources.forEach((_, s) => {
    element(`weight${s}`).value = page.settings.beta[s];
    if (element(`channel${s}`) !== null) element(`channel${s}`).checked = page.settings.channelled[s];
  });
  showTexts();
}

export function showTexts() {
  const fixed = page.settings.kind === "transitions";
  element("halfLife").disabled = fixed;
  const sticky = page.settings.kind !== "dirichlet";
  element("memory").textContent = sticky ? "Dwell" : "Half-life";
  element("halfLifeText").textContent = fixed ? "estimated" : `${short(sticky ? dwell() : page.settings.halfLife)} s`;
  element("floorText").textContent = String(page.settings.floor);
  for (const id of SPANS) {
    const span = page.settings.rule?.[id] ?? 0;
    element(`${id}Text`).textContent = isNumber(span) ? `${short(span)} s` : "by class";
  }
  page.data.sources.forEach((_, s) => (element(`weight${s}Text`).textContent = short(page.settings.beta[s])));
}

/** The mean time in a class of a sticky filter. */
function dwell() {
  const { classes, kind, options } = page.tuned.filter;
  const prior = kind === "sticky" ? options.prior : classes.map(() => 1 / classes.length);
  return page.settings.halfLife / (Math.LN2 * (1 - prior.reduce((sum, share) => sum + share * share, 0)));
}

/** Take what a control says; what was not touched stays as it was tuned, to the bit. */
export function takeControl({ id, value, checked, dataset }) {
  const s = Number(dataset.source);
  if (id === "kind") {
    page.settings.kind = value;
    page.settings.decay = value === tunedKind() && page.settings.halfLife === tunedSettings().halfLife ? tunedSettings().decay : null;
  } else if (id === "halfLife") {
    page.settings.halfLife = Number((10 ** Number(value)).toPrecision(3));
    page.settings.decay = null;
  } else if (id === "floor") page.settings.floor = Number((10 ** Number(value)).toPrecision(2));
  else if (SPANS.includes(id)) page.settings.rule = new EventRule({ ...usedRule().options, [id]: spanFor(id, Number(value)) });
  else if (id === `weight${s}`) page.settings.beta[s] = Number(value);
  else if (id === `channel${s}`) page.settings.channelled[s] = checked;
}

/** One span for all classes; of several labels at once, it is that of on. */
function spanFor(id, place) {
  const span = spanAt(place);
  return id === "minDuration" && page.data.independent ? { [page.tuned.filter.classes[1]]: span } : span;
}

export function sourceControls(name, s) {
  const text = Object.assign(document.createElement("span"), { textContent: name, title: name });
  const input = Object.assign(document.createElement("input"), { type: "range", min: 0, max: 1, step: 0.01, id: `weight${s}` });
  const output = Object.assign(document.createElement("output"), { id: `weight${s}Text` });
  const weight = document.createElement("label");
  weight.append(text, input, output);
  input.dataset.source = s;
  const group = document.createElement("div");
  group.append(weight);
  if (page.tuned.channel[name] === undefined) return group;
  const box = Object.assign(document.createElement("input"), { type: "checkbox", id: `channel${s}` });
  const check = Object.assign(document.createElement("label"), { className: "check" });
  box.dataset.source = s;
  check.append(box, "through its channel");
  group.append(check);
  return group;
}
