// The controls of the page: how the file is written, and the settings of the filter.
import { lengthAt, placeOf } from "./settings.js";
import { readColumns } from "./layout.js";

export const element = (id) => document.getElementById(id);
const logarithm = (value) => Math.log10(Math.min(Math.max(value, 1e-30), 1e30));
const short = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(3))) : "∞");
const names = (text) => text.split(",").map((name) => name.trim()).filter((name) => name !== "");

/** How the file is written, as the controls say. `settings` may know the classes. */
export function formOf(settings) {
  const typed = names(element("classes").value);
  const twice = typed.find((name, i) => typed.indexOf(name) < i);
  if (twice !== undefined) throw new RangeError(`"Classes" names '${twice}' more than once; name each once`);
  const fromSettings = settings?.classes ?? null;
  if (fromSettings !== null && typed.length > 0 && [...typed].sort().join() !== [...fromSettings].sort().join()) {
    throw new RangeError('"Classes" and the settings name different classes; leave "Classes" empty');
  }
  const form = Object.fromEntries(["scores", "unit", "separator"].map((id) => [id, element(id).value]));
  return {
    ...form, unit: form.unit || undefined, separator: form.separator || undefined,
    columns: readColumns(element("columns").value), sort: element("sort").checked,
    independent: element("independent").checked, known: fromSettings ?? (typed.length > 0 ? typed : null),
  };
}

/** Forget what was said of another file. */
export function resetForm() {
  for (const id of ["scores", "unit", "separator"]) element(id).selectedIndex = 0;
  for (const id of ["columns", "classes"]) element(id).value = "";
  for (const id of ["independent", "sort"]) element(id).checked = false;
}

/** Put the settings into the controls. */
export function showSettings(settings, step, sources) {
  const [low, high] = [logarithm(step / 4), logarithm(step * 5000)].map((value) => Math.round(20 * value) / 20);
  Object.assign(element("halfLife"), { min: low, max: high, value: logarithm(settings.halfLife ?? 10 * step) });
  element("kind").value = settings.kind;
  element("floor").value = logarithm(settings.floor ?? 1e-3);
  for (const id of ["kind", "halfLife", "floor"]) element(id).disabled = settings.fixed !== null;
  const several = sources.length > 1;
  element("weights").hidden = !several;
  element("weights").replaceChildren(element("weightsTitle"), ...(several ? sources.map((name) => weightSlider(name, settings)) : []));
  for (const id of ["changeCost", "minDuration"]) {
    const length = settings.rule[id];
    element(id).disabled = typeof length !== "number";
    if (typeof length === "number") element(id).value = placeOf(length, step);
  }
}

function weightSlider(source, { beta, fixed }) {
  const weight = typeof beta === "number" ? beta : (beta[source] ?? 1);
  const label = document.createElement("label");
  const text = Object.assign(document.createElement("span"), { textContent: source, title: source });
  const input = Object.assign(document.createElement("input"), { type: "range", min: 0, max: 1, step: 0.01, value: weight });
  input.dataset.source = source;
  input.disabled = fixed?.kind === "multi_label";
  label.append(text, input, document.createElement("output"));
  return label;
}

/** The numbers beside the sliders. */
export function showTexts(settings, unit) {
  const { rule, fixed } = settings;
  element("halfLifeText").textContent = fixed === null ? `${short(settings.halfLife)}${unit}` : "as loaded";
  element("floorText").textContent = fixed === null ? String(settings.floor) : "as loaded";
  for (const id of ["changeCost", "minDuration"]) {
    element(`${id}Text`).textContent = typeof rule[id] === "number" ? `${rule[id]}${unit}` : "by class";
  }
  for (const input of element("weights").querySelectorAll("input")) input.nextElementSibling.textContent = input.value;
}

/** Settings with what a control says; what was not touched stays as it was loaded, to the bit. */
export function withControl(before, { id, value, dataset }, step, sources) {
  if (id === "stream") return before;
  const settings = { ...before, text: undefined };
  if (id === "kind") return { ...settings, kind: value, options: settings.kind === value ? settings.options : {} };
  if (id === "halfLife") return { ...settings, decay: null, halfLife: Number((10 ** Number(value)).toPrecision(3)) };
  if (id === "floor") return { ...settings, floor: Number((10 ** Number(value)).toPrecision(2)) };
  if (id === "changeCost" || id === "minDuration") return { ...settings, rule: { ...settings.rule, [id]: lengthAt(Number(value), step) } };
  if (dataset.source === undefined) return settings;
  const all = typeof settings.beta === "number" ? Object.fromEntries(sources.map((name) => [name, settings.beta])) : settings.beta;
  return { ...settings, beta: Object.assign(Object.create(null), all, { [dataset.source]: Number(value) }) };
}
