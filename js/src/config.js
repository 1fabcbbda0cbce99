// Settings as JSON, with the keys of the file that Python saves.
import { Channel } from "./channel.js";
import { checkWeight, show } from "./checks.js";
import { DirichletFilter } from "./dirichlet.js";
import { EventRule } from "./event_rule.js";
import { Heads, headsOf } from "./heads.js";
import { MultiLabelFilter } from "./multi_label.js";
import { Adaptive, Periodic } from "./policy.js";
import { StickyFilter } from "./sticky.js";

const KINDS = { dirichlet: DirichletFilter, sticky: StickyFilter };
const POLICIES = { periodic: Periodic, adaptive: Adaptive };
// "expected" says what each source did when tuned, "smoother" what smooths: neither is used here.
const KEYS = ["classes", "scores", "filter", "options", "prepared", "beta", "channel", "policy", "expected", "events", "smoother", "heads", "labels"];
const OF_A_HEAD = ["filter", "options", "prepared", "beta", "channel"];
const REMEDY = "Pipeline.save and classfilter tune write it";

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
  for (const title of ["options", "beta", "channel", "policy", "events", "smoother", "expected", "heads", "labels"]) {
    const forAll = title === "beta" && typeof content.beta === "number";
    if (content[title] !== undefined && !isSection(content[title]) && !forAll) {
      throw new RangeError(`${title} is ${show(content[title])}; it must be an object`);
    }
  }
  if (scores !== "probabilities" && scores !== "independent") {
    throw new RangeError(`scores is ${show(scores)}; it must be "probabilities" or "independent"`);
  }
  const needless = ["labels", "heads"].find((title) => scores === "probabilities" && content[title] !== undefined);
  if (needless !== undefined) throw new RangeError(`${needless} needs "scores": "independent": it is for multi-label settings`);
  const pipe = scores === "independent" ? pipelineOfHeads(content, headsIn(content, classes)) : pipelineOf(content, classes);
  const { policy, events } = content;
  return {
    ...pipe,
    policy: policy === undefined ? null : makePolicy(policy, pipe.beta),
    rule: events === undefined ? null : makeRule(events, headsOf(pipe.filter)),
  };
}

/** The filter, the weights and the channels of settings. */
function pipelineOf({ filter: kind, options = {}, prepared, beta, channel }, classes) {
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

/** The heads of settings, in the order of their columns; without a section for them, each class is a label. */
function headsIn({ heads }, classes) {
  if (heads === undefined) return Heads.of(classes);
  const place = ([name, own]) => classes.map(String).indexOf(own?.length > 0 ? `${name}:${own[0]}` : name);
  const ordered = Object.entries(heads).sort((a, b) => place(a) - place(b));
  const layout = within("heads", () => Heads.of(new Map(ordered.map(([name, own]) => [name, own?.length > 0 ? own : null]))));
  if (layout.shown.join("\n") === classes.join("\n")) return layout;
  throw new RangeError(`classes is ${show(classes)}, but the heads have ${show(layout.shown)}; give these, in this order`);
}

/** The same of several heads: settings that all share, or a section for each. */
function pipelineOfHeads(content, heads) {
  const { names, sizes } = heads;
  const classesOf = (h) => Array.from({ length: sizes[h] }, (_, k) => k);
  const sections = content.labels ?? {};
  const given = Object.keys(sections);
  if (given.length === 0 && sizes.every((size) => size === sizes[0])) {
    const { filter, ...sources } = pipelineOf(content, classesOf(0));
    return { filter: new MultiLabelFilter(heads, filter), ...sources };
  }
  if (given.length !== names.length || names.some((name) => !given.includes(name))) {
    throw new RangeError(`labels has sections for ${show(given)}, but classes is ${show(names)}; give one each`);
  }
  const parts = names.map((name, h) => {
    checkObject(`labels.${name}`, sections[name], OF_A_HEAD);
    return within(`labels.${name}`, () => pipelineOf(sections[name], classesOf(h)));
  });
  const byHead = (of) => fromKeys(names, (name) => of(parts[names.indexOf(name)], name));
  const bySource = (title, of) => fromKeys(new Set(parts.flatMap((part) => Object.keys(part[title]))), (source) => byHead(of(source)));
  const weightOf = (source) => ({ beta }, name) => {
    if (Object.hasOwn(Object(beta), source)) return beta[source];
    throw new RangeError(`labels.${name}.beta has no weight for ${show(source)}; add it`);
  };
  const shared = new Set(parts.map(({ beta }) => (typeof beta === "number" ? beta : Object.keys(beta).length > 0 ? null : 1)));
  if (shared.size > 1 && !shared.has(null)) {
    throw new RangeError("beta is one number for all sources, but not the same for all labels");
  }
  return {
    filter: new MultiLabelFilter(heads, new Map(parts.map(({ filter }, h) => [names[h], filter]))),
    beta: shared.has(null) ? bySource("beta", weightOf) : parts[0].beta,
    channel: bySource("channel", (source) => ({ channel }) => channel[source] ?? null),
  };
}

function parse(text) {
  try {
    const content = JSON.parse(text);
    requireUniqueKeys(text);
    return content;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new RangeError(`config is not JSON (${error.message}); ${REMEDY}`);
  }
}

/** `JSON.parse` takes the last of several; `text` is valid JSON. */
function requireUniqueKeys(text) {
  const objects = [];
  let last;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)) {
    if (token === "{" || token === "[") objects.push(new Set());
    else if (token === "}" || token === "]") objects.pop();
    else if (token === ":") {
      const key = JSON.parse(last);
      if (objects.at(-1).has(key)) throw new RangeError(`key ${key} appears twice; keep one`);
      objects.at(-1).add(key);
    }
    last = token;
  }
}

function makeChannel(source, section, K) {
  const title = `channel.${source}`;
  checkObject(title, section, ["matrix", "prior"]);
  if (section.matrix === undefined) throw new RangeError(`${title}.matrix is missing; add it`);
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

function makeRule(section, heads) {
  return within("events", () => {
    const rule = new EventRule(camelCased(section));
    rule.check(heads);
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

function checkObject(title, section, allowed) {
  if (!isSection(section)) throw new RangeError(`${title} is ${show(section)}; it must be an object`);
  const unknown = Object.keys(section).find((key) => !allowed.includes(key));
  if (unknown !== undefined) throw new RangeError(`unknown key ${title}.${unknown}; there are ${allowed.join(", ")}`);
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
