// Settings from a TOML file, or from the JSON that `classfilter export --json` writes.
import { Channel } from "./channel.js";
import { checkWeight } from "./checks.js";
import { DirichletFilter } from "./dirichlet.js";
import { Adaptive, Periodic } from "./policy.js";
import { StickyFilter } from "./sticky.js";
import { repr } from "./text.js";
import { parseToml } from "./toml.js";

const KINDS = { dirichlet: DirichletFilter, sticky: StickyFilter };
const POLICIES = { periodic: Periodic, adaptive: Adaptive };
// "expected" says what each source did when tuned, "events" how events are decided: neither changes a result of the
// filter, and neither is used here.
const KEYS = ["classes", "filter", "options", "prepared", "beta", "channel", "policy", "expected", "events"];

/** A fresh filter, the weights and channels of the sources, and a policy or null. */
export function load(config) {
  const content = typeof config === "string" ? parse(config) : config;
  if (!isSection(content)) throw new TypeError(`config is ${repr(config)}; give the text of a TOML file, or of the JSON of it`);
  const unknown = Object.keys(content).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw new RangeError(`unknown key ${unknown}; there are ${KEYS.join(", ")}`);
  const { classes, filter: kind, prepared } = content;
  if (classes === undefined) throw new RangeError('classes is missing; give their names: "classes": ["walk", "sit"]');
  if (!Array.isArray(classes) || !classes.every((name) => typeof name === "string" || Number.isInteger(name))) {
    throw new RangeError(`classes is ${repr(classes)}; it must be a list of text or whole numbers`);
  }
  if (!Object.hasOwn(KINDS, kind)) {
    throw new RangeError(`filter is ${repr(kind)}; it must be one of ${Object.keys(KINDS).join(", ")}`);
  }
  for (const title of ["options", "beta", "channel", "policy"]) {
    const forAll = title === "beta" && typeof content.beta === "number";
    if (content[title] !== undefined && !isSection(content[title]) && !forAll) {
      throw new RangeError(`${title} is ${repr(content[title])}; it must be an object`);
    }
  }
  const options = camelCased(content.options ?? {});
  const filter = new KINDS[kind](classes, prepared === undefined ? options : { ...options, prepared });
  const beta =
    typeof content.beta === "number"
      ? checkWeight("beta", content.beta)
      : mapped(content.beta, (weight, source) => checkWeight(`beta.${source}`, weight));
  const channel = mapped(content.channel, (section, source) => makeChannel(source, section, classes.length));
  return { filter, beta, channel, policy: content.policy === undefined ? null : makePolicy(content.policy, beta) };
}

const parse = (text) => (text.trimStart().startsWith("{") ? JSON.parse(text) : parseToml(text));

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
    throw new RangeError(`policy.kind is ${repr(kind)}; it must be one of ${Object.keys(POLICIES).join(", ")}`);
  }
  const policy = within("policy", () => new POLICIES[kind](camelCased(options)));
  const sources = typeof beta === "number" ? [] : Object.keys(beta);
  for (const source of [policy.strong, policy.weak]) {
    if (sources.length > 0 && !sources.includes(source)) {
      throw new RangeError(`policy calls ${repr(source)}, but beta names ${repr(sources)}: add it there`);
    }
  }
  return policy;
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
function mapped(section, change) {
  const entries = Object.entries(section ?? {}).map(([key, value]) => [key, change(value, key)]);
  return Object.assign(Object.create(null), Object.fromEntries(entries));
}

/** The names of options in JavaScript: half_life is halfLife. */
function camelCased(options) {
  const renamed = Object.entries(options).map(([key, value]) => [
    key.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()),
    value,
  ]);
  return Object.fromEntries(renamed);
}
