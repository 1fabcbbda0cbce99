// The rule that turns probabilities into events: expected time right, less a cost per change.
import { checkOptions, duration, isRow, show } from "./checks.js";
import { Heads } from "./heads.js";
import { CORE, EVIDENCE, OPTIONS } from "./rule_options.js";
import { HeadRules, RuleCore } from "./rule_core.js";

/** The smallest probability that `evidence: "log"` takes the logarithm of. */
const FLOOR = 1e-3;
const BY_CLASS = OPTIONS.filter(({ byClass }) => byClass).map(({ name }) => name);

/** How events are decided: the path of classes with the most expected time right. */
export class EventRule {
  #compiled = {};

  /** Costs and durations are numbers in the unit of the times, or text such as "30s"; some are for all classes, or by class. */
  constructor(options = {}) {
    if (typeof options !== "object" || options === null || isRow(options)) {
      throw new TypeError(`options is ${show(options)}; give it as { changeCost: "30s" }`);
    }
    checkOptions("EventRule", options, OPTIONS.map(({ name }) => name));
    for (const option of OPTIONS) {
      const { name, core, byClass } = option;
      const value = options[name] ?? option.default;
      this[name] = value === undefined ? undefined : (byClass ? byClassOf : checked)(option, value);
      if (core === Infinity && this[name] === 0) throw new RangeError(`${name} is 0; it must not be 0: give a positive ${option.kind}, or null`);
    }
    Object.freeze(this);
  }

  /** The options that make the same rule: those that are not the default, and the cost of a change. */
  get options() {
    const isDefault = (option) => JSON.stringify(this[option.name]) === JSON.stringify(option.default);
    const given = OPTIONS.filter((option) => option.name === "changeCost" || !isDefault(option));
    return structuredClone(Object.fromEntries(given.map(({ name }) => [name, this[name]])));
  }

  /** Raise for a class that is named here and is not one of these. */
  check(classes) {
    const heads = classes instanceof Heads ? classes : Heads.exclusive(classes);
    const names = heads.shown.map(String);
    if (isObject(this.mergeGap) && heads.isExclusive) {
      throw new RangeError(
        `mergeGap is ${show(this.mergeGap)}, but the classes exclude each other; only several labels at once have gaps of ` +
          "their own: give one duration, or minDuration of the classes in between",
      );
    }
    for (const argument of BY_CLASS) {
      if (isObject(this[argument])) requireKnown(argument, Object.keys(this[argument]), names);
    }
    requireKnown("ignore", this.ignore, names);
    const missing = names.find((name) => isObject(this.changeCost) && !Object.hasOwn(this.changeCost, name));
    if (missing !== undefined) {
      throw new RangeError(`changeCost has no cost of entering ${show(missing)}; name every class, or give one number for all`);
    }
    const longest = Math.max(...numbersOf(this.minDuration, names));
    if (this.maxDelay < longest) {
      throw new RangeError(
        `maxDelay is ${this.maxDelay}; it must not be below the longest minimum duration, ${longest}`,
      );
    }
    if (names.every((name) => this.ignore.includes(name))) throw new RangeError("ignore has all classes; leave one of them out");
  }

  /** The rules of the core for the columns of a filter: one for each head. */
  _compiled(heads, type) {
    const key = JSON.stringify([heads, type.name]);
    if (this.#compiled.key !== key) {
      this.check(heads);
      const rules = heads.columns.map((shown, h) => this.#ofHead(heads, h, shown.map(String), type));
      this.#compiled = { key, core: new HeadRules(heads, rules) };
    }
    return this.#compiled.core;
  }

  /** The rule of one head; null where all of its classes are ignored. The settings of a label are those of on. */
  #ofHead(heads, h, shown, type) {
    if (shown.every((name) => this.ignore.includes(name))) return null;
    if (heads.isExclusive) return this.#ofClasses(shown, type);
    const [label] = shown;
    const of = (given) => (isObject(given) ? given[label] : given);
    const { options } = this;
    const own = { ...options, mergeGap: of(this.mergeGap) };
    if (heads.isLabel(h)) {
      const on = (given) => ({ on: of(given) ?? 0 });
      Object.assign(own, { changeCost: of(this.changeCost), ignore: "off", leaveCost: on(this.leaveCost) });
      return new EventRule({ ...own, minDuration: on(this.minDuration), bias: on(this.bias) }).#ofClasses(["off", "on"], type);
    }
    return new EventRule({ ...own, ignore: this.ignore.filter((name) => shown.includes(name)) }).#ofClasses(shown, type);
  }

  #ofClasses(names, type) {
    const enter = numbersOf(this.changeCost, names);
    if (this.minProbability !== undefined) enter.push(Math.max(...enter)); // "uncertain" costs as the dearest class to enter
    const others = { floor: FLOOR, padBefore: this.pad[0], padAfter: this.pad[1] };
    const ofCore = Object.fromEntries(OPTIONS.map(({ name, core }) => [name, this[name] ?? core]));
    const settings = Object.fromEntries(CORE.map((name) => [name, others[name] ?? ofCore[name]]));
    const each = {
      enter, leave: numbersOf(this.leaveCost, names), bias: numbersOf(this.bias, names),
      minDuration: numbersOf(this.minDuration, names), ignore: names.map((name) => Number(this.ignore.includes(name))),
    };
    return new RuleCore(names.length, type, this.evidence === "log", settings, each);
  }
}

const isObject = (value) => typeof value === "object" && value !== null;

/** One value, or one for each class that is named, checked. */
function byClassOf(option, value) {
  if (!isObject(value) || isRow(value)) return checked(option, value);
  const each = Object.create(null);
  for (const [name, x] of value instanceof Map ? value : Object.entries(value)) {
    each[name] = checked(option, x, `${option.name}[${show(String(name))}]`);
  }
  return Object.freeze(each);
}

function checked(option, value, argument = option.name) {
  return CHECKS[option.kind](argument, value, option);
}

/** A duration that is neither negative nor infinite. */
function span(argument, value) {
  const length = duration(argument, value);
  if (length >= 0 && length < Infinity) return length;
  throw new RangeError(`${argument} is ${show(value)}; it must be finite and not negative`);
}

const CHECKS = {
  cost: span,
  duration: span,
  number(argument, value, { least, most }) {
    if (typeof value === "number" && value >= least && value <= most) return value;
    throw new RangeError(`${argument} is ${show(value)}; it must be a number from ${least} to ${most}`);
  },
  pair(argument, value) {
    if (isRow(value) && value.length === 2) return Object.freeze(Array.from(value, (side) => span(argument, side)));
    throw new RangeError(`${argument} is ${show(value)}; it must be a pair: the time before and the time after`);
  },
  evidence(argument, value) {
    if (EVIDENCE.includes(value)) return value;
    throw new RangeError(`${argument} is ${show(value)}; it must be one of ${EVIDENCE.join(", ")}`);
  },
  classes(_, value) {
    const names = typeof value === "string" || typeof value[Symbol.iterator] !== "function" ? [value] : [...value];
    return Object.freeze([...new Set(names.map(String))]);
  },
};

function requireKnown(argument, named, classes) {
  const unknown = named.find((name) => !classes.includes(name));
  if (unknown !== undefined) throw new RangeError(`${argument} names ${show(unknown)}; the classes are ${show(classes)}`);
}

/** The number of each class; 0 where it is not named. */
function numbersOf(value, names) {
  return names.map((name) => (isObject(value) ? (value[name] ?? 0) : value));
}
