// Settings as JSON, with the keys of the file that Python saves.
import { Channel } from "./channel.js";
import { checkWeight, show } from "./checks.js";
import { DirichletFilter } from "./dirichlet.js";
import { EventRule } from "./event_rule.js";
import { MultiLabelFilter } from "./multi_label.js";
import { Adaptive, Periodic } from "./policy.js";
import { StickyFilter } from "./sticky.js";

const KINDS = { dirichlet: DirichletFilter, sticky: StickyFilter };
const POLICIES = { periodic: Periodic, adaptive: Adaptive };
// "expected" says what each source did when tuned, "smoother" what smooths: neither is used here.
const KEYS = ["classes", "scores", "filter", "options", "prepared", "beta", "channel", "policy", "expected", "events", "smoother", "labels"];
const OF_A_LABEL = ["filter", "options", "prepared", "beta", "channel"];
const TWO = [0, 1];
const REMEDY = "classfilter export --json writes it from a file of settings";

/** A fresh filter, the weights and channels of the sources; a policy and a rule for events, or null. `config` is text or an object. */
export function load(config) {
  const content = typeof config === "string" ? parse(config) : config;
  if (!isSection(content)) throw new TypeError(`config is ${show(config)}; give settings as JSON: ${REMEDY}`);
  const unknown = Object.keys(content).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw new RangeError(`unknown key ${unknown}; there are ${KEYS.join(", ")}`);
  const { classes, scores = "probabilities" } = content;
  if (classes === undefined) throw new RangeError('classes is missing; give their names: "classes": ["walk", "sit"]');
  if (!Array.isArray(classes) || !classes.every((name) => typeof name === "string" || Number.isInteger(name))) {
    throw new RangeError(`classes is ${show(classes)}; it must be a list of text or whole numbers`);
  }
  for (const title of ["options", "beta", "channel", "policy", "events", "smoother", "expected", "labels"]) {
    const forAll = title === "beta" && typeof content.beta === "number";
    if (content[title] !== undefined && !isSection(content[title]) && !forAll) {
      throw new RangeError(`${title} is ${show(content[title])}; it must be an object`);
    }
  }
  if (scores !== "probabilities" && scores !== "independent") {
    throw new RangeError(`scores is ${show(scores)}; it must be "probabilities" or "independent"`);
  }
  if (scores === "probabilities" && content.labels !== undefined) {
    throw new RangeError('labels needs "scores": "independent": several labels at once');
  }
  const chain = scores === "independent" ? chainOfLabels(content, classes) : chainOf(content, classes);
  const { policy, events } = content;
  return {
    ...chain,
    policy: policy === undefined ? null : makePolicy(policy, chain.beta),
    rule: events === undefined ? null : makeRule(events, classes, scores === "independent"),
  };
}

/** The filter, the weights and the channels of settings. */
function chainOf({ filter: kind, options = {}, prepared, beta, channel }, classes) {
  if (!Object.hasOwn(KINDS, kind)) {
    throw new RangeError(`filter is ${show(kind)}; it must be one of ${Object.keys(KINDS).join(", ")}`);
  }
  const named = camelCased(options);
  return {
    filter: new KINDS[kind](classes, prepared === undefined ? named : { ...named, prepared }),
    beta:
      typeof beta === "number"
        ? checkWeight("beta", beta)
        : mapped(beta, (weight, source) => checkWeight(`beta.${source}`, weight)),
    channel: mapped(channel, (section, source) => makeChannel(source, section, classes.length)),
  };
}

/** The same of several labels at once: settings that all share, or a section for each label. */
function chainOfLabels(content, labels) {
  const { labels: sections } = content;
  if (sections === undefined || Object.keys(sections).length === 0) {
    const { filter, ...sources } = chainOf(content, TWO);
    return { filter: new MultiLabelFilter(labels, filter), ...sources };
  }
  const names = labels.map(String);
  const given = Object.keys(sections);
  if (given.length !== names.length || names.some((name) => !given.includes(name))) {
    throw new RangeError(`labels has sections for ${show(given)}, but classes is ${show(labels)}; give one each`);
  }
  const lanes = names.map((name) => laneOf(name, sections[name]));
  const filters = new Map(); // equal ones are one
  const ofLabel = lanes.map(({ filter }, i) => {
    const { filter: kind, options } = sections[names[i]];
    const key = JSON.stringify([kind, options]);
    if (!filters.has(key)) filters.set(key, filter);
    return [labels[i], filters.get(key)];
  });
  const all = (title) => [...new Set(lanes.flatMap((lane) => Object.keys(lane[title])))];
  const byLabel = (of) => fromKeys(names, (name) => of(lanes[names.indexOf(name)]));
  const channel = fromKeys(all("channel"), (source) => byLabel((lane) => lane.channel[source] ?? null));
  const filter = new MultiLabelFilter(labels, new Map(ofLabel));
  return { filter, beta: weightsOf(lanes, names, all("beta"), byLabel), channel };
}

function weightsOf(lanes, names, sources, byLabel) {
  if (sources.length === 0) {
    const each = lanes.map(({ beta }) => (typeof beta === "number" ? beta : 1));
    if (new Set(each).size > 1) throw new RangeError("beta is one number for all sources, but not the same for all labels");
    return lanes[0].beta;
  }
  lanes.forEach(({ beta }, i) => {
    const missing = sources.find((source) => !Object.hasOwn(Object(beta), source));
    if (missing !== undefined) {
      throw new RangeError(`labels.${names[i]}.beta has no weight for ${show(missing)}; add it`);
    }
  });
  return fromKeys(sources, (source) => byLabel((lane) => lane.beta[source]));
}

function laneOf(name, section) {
  if (!isSection(section) || Object.keys(section).some((key) => !OF_A_LABEL.includes(key))) {
    throw new RangeError(`labels.${name} may have ${OF_A_LABEL.join(", ")}`);
  }
  return within(`labels.${name}`, () => chainOf(section, TWO));
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RangeError(`config is not JSON (${error.message}); ${REMEDY}`);
  }
}

function makeChannel(source, section, K) {
  const title = `channel.${source}`;
  const known = isSection(section) && Object.keys(section).every((key) => key === "matrix" || key === "prior");
  if (!known || section.matrix === undefined) {
    throw new RangeError(`${title} must be an object with a matrix and maybe a prior`);
  }
  const channel = within(title, () => new Channel(section.matrix, section.prior));
  if (channel.prior.length !== K) {
    throw new RangeError(`${title} has ${channel.prior.length} classes, but the filter has ${K}`);
  }
  return channel;
}

function makePolicy({ kind, ...options }, beta) {
  if (!Object.hasOwn(POLICIES, kind)) {
    throw new RangeError(`policy.kind is ${show(kind)}; it must be one of ${Object.keys(POLICIES).join(", ")}`);
  }
  const policy = within("policy", () => new POLICIES[kind](camelCased(options)));
  const sources = typeof beta === "number" ? [] : Object.keys(beta);
  for (const source of [policy.strong, policy.weak]) {
    if (sources.length > 0 && !sources.includes(source)) {
      throw new RangeError(`policy calls ${show(source)}, but beta names ${show(sources)}: add it there`);
    }
  }
  return policy;
}

function makeRule(section, classes, independent) {
  return within("events", () => {
    const rule = new EventRule(camelCased(section));
    rule.check(classes, independent);
    return rule;
  });
}

/** What `make` returns; its errors begin with a title. */
function within(title, make) {
  try {
    return make();
  } catch (error) {
    throw new error.constructor(`${title}: ${error.message}`);
  }
}

const isSection = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** An object with the same keys; one without a prototype, so that a source may have any name. */
const mapped = (section, change) => fromKeys(Object.keys(section ?? {}), (key) => change(section[key], key));

function fromKeys(keys, make) {
  const made = Object.create(null);
  for (const key of keys) made[key] = make(key);
  return made;
}

/** The names of options in JavaScript: half_life is halfLife. */
function camelCased(options) {
  const renamed = Object.entries(options).map(([key, value]) => [
    key.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()),
    value,
  ]);
  return Object.fromEntries(renamed);
}
