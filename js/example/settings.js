// The settings: what the sliders say, or a file of settings, as a filter with weights and channels.
import { DirichletFilter, MultiLabelFilter, StickyFilter, load } from "../src/index.js";

const KINDS = { dirichlet: DirichletFilter, sticky: StickyFilter };

/** The settings that a page starts with: nothing is tuned, and the past counts for some rows. */
export function newSettings(step) {
  const round = (value) => Number(value.toPrecision(3));
  const rule = { changeCost: round(3 * step), minDuration: 0 };
  return { kind: "dirichlet", decay: null, halfLife: round(10 * step), floor: 1e-3, options: {}, fixed: null, beta: {}, channel: {}, rule };
}

/** The settings of a TOML or JSON file; what no slider can show stays as the file has it. */
export function loadedSettings(text) {
  const { filter, beta, channel, rule } = load(text);
  const named = typeof beta === "number" || Object.keys(beta).length > 0;
  const independent = filter.kind === "multi_label";
  const settings = {
    kind: filter.kind, classes: filter.classes.map(String), independent, beta: named ? beta : 1, channel, fixed: null,
    text: text.trimStart().startsWith("{") ? undefined : text,
    rule: { changeCost: 0, minDuration: 0, ...rule?.options },
  };
  if (independent || filter.options.transitions !== undefined) return { ...settings, fixed: filter };
  const { gamma, stay, floor, ...options } = filter.options;
  const decay = gamma ?? stay;
  return { ...settings, decay, halfLife: Math.log(0.5) / Math.log(decay), floor, options, names: filter.classes };
}

/** A fresh filter of the classes, with the weights of the sources. */
export function chainOf(settings, classes, sources, independent) {
  const { fixed, kind, decay, halfLife, floor, options, channel } = settings;
  const beta = typeof settings.beta === "number" ? settings.beta : Object.assign(Object.create(null), settings.beta);
  if (settings.classes === undefined) for (const source of sources) beta[source] ??= 1;
  if (fixed !== null) return { filter: fixed.copy(), beta, channel };
  const rate = decay ?? 0.5 ** (1 / halfLife);
  const how = { ...options, floor, [kind === "sticky" ? "stay" : "gamma"]: rate };
  const filter = independent ? new MultiLabelFilter(classes, new KINDS[kind](2, how)) : new KINDS[kind](settings.names ?? classes, how);
  return { filter, beta, channel };
}

/** The length that a slider of whole numbers means: 0, then from a tenth of a step on, twenty per power of ten. */
export const lengthAt = (place, step) => (place === 0 ? 0 : Number((step * 10 ** ((place - 21) / 20)).toPrecision(2)));

/** The place of a length on such a slider. */
export const placeOf = (length, step) => (length <= 0 ? 0 : Math.max(1, Math.round(20 * Math.log10(length / step)) + 21));
