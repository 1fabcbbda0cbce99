// The rule that turns probabilities into events: expected time right, less a cost per change.
import { checkOptions, duration, isRow, show } from "./checks.js";
import { Heads } from "./heads.js";
import { HeadRules, RuleCore } from "./rule_core.js";

const OPTIONS = [
  "changeCost", "leaveCost", "minDuration", "mergeGap", "bias", "evidence", "minProbability", "pad", "shift", "ignore", "maxGap",
  "maxDuration", "maxDelay",
];
const EVIDENCE = ["time", "log"];
/** The smallest probability that `evidence: "log"` takes the logarithm of. */
const FLOOR = 1e-3;
const BY_CLASS = ["changeCost", "leaveCost", "minDuration", "bias"];
const OPTIONAL = ["maxGap", "maxDuration", "maxDelay"];

/** How events are decided: the path of classes with the most expected time right. */
export class EventRule {
  #compiled = {};

  /** Costs and durations are numbers in the unit of the times, or text such as "30s"; some are for all classes, or by class. */
  constructor(options = {}) {
    if (typeof options !== "object" || options === null || isRow(options)) {
      throw new TypeError(`options is ${show(options)}; give it as { changeCost: "30s" }`);
    }
    checkOptions("EventRule", options, OPTIONS);
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined && value !== null));
    const { changeCost = 0, leaveCost = 0, minDuration = 0, mergeGap, bias = 0 } = given;
    const { evidence = "time", minProbability, pad = [0, 0], shift = 0, ignore = [] } = given;
    this.changeCost = byClass("changeCost", changeCost, span);
    this.leaveCost = byClass("leaveCost", leaveCost, span);
    this.minDuration = byClass("minDuration", minDuration, span);
    this.mergeGap = mergeGap === undefined ? undefined : byClass("mergeGap", mergeGap, span);
    this.bias = byClass("bias", bias, checkBias);
    this.evidence = evidence;
    this.minProbability = minProbability;
    if (!isRow(pad) || pad.length !== 2) {
      throw new RangeError(`pad is ${show(pad)}; it must be a pair: the time before and the time after`);
    }
    this.pad = Object.freeze(Array.from(pad, (side) => span("pad", side)));
    this.shift = span("shift", shift);
    const names = typeof ignore === "string" || typeof ignore[Symbol.iterator] !== "function" ? [ignore] : [...ignore];
    this.ignore = Object.freeze([...new Set(names.map(String))]);
    for (const name of OPTIONAL) {
      this[name] = given[name] === undefined ? undefined : span(name, given[name]);
      if (this[name] === 0) throw new RangeError(`${name} is 0; it must not be 0: give a positive duration, or null`);
    }
    if (!EVIDENCE.includes(evidence)) {
      throw new RangeError(`evidence is ${show(evidence)}; it must be one of ${EVIDENCE.join(", ")}`);
    }
    if (minProbability !== undefined && !(typeof minProbability === "number" && minProbability > 0 && minProbability < 1)) {
      throw new RangeError(`minProbability is ${show(minProbability)}; it must be a number between 0 and 1`);
    }
    Object.freeze(this);
  }

  /** The options that make the same rule: those that are not the default, and the cost of a change. */
  get options() {
    const isDefault = {
      leaveCost: 0, minDuration: 0, bias: 0, evidence: "time", pad: "0,0", shift: 0, ignore: "",
    };
    const entries = OPTIONS.map((name) => [name, this[name]]).filter(([name, value]) => {
      const plain = isRow(value) ? value.join() : value;
      return name === "changeCost" || (value !== undefined && plain !== isDefault[name]);
    });
    return structuredClone(Object.fromEntries(entries));
  }

  /** Raise for a class that is named here and is not one of these. */
  check(classes) {
    const heads = classes instanceof Heads ? classes : Heads.exclusive(classes);
    const names = heads.shown.map(String);
    if (isObject(this.mergeGap) && heads.isExclusive) {
      throw new RangeError(
        `mergeGap is ${show(this.mergeGap)}, but the classes exclude each other; only several labels at once have gaps of ` +
          "their own: give one duration, or minDuration of what is between",
      );
    }
    for (const argument of [...BY_CLASS, "mergeGap"]) {
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
    const [minProbability, maxGap, maxDelay, maxDuration] = [
      this.minProbability ?? 0, this.maxGap ?? Infinity, this.maxDelay ?? Infinity, this.maxDuration ?? Infinity,
    ];
    if (minProbability > 0 && minProbability < 1e-30) {
      throw new RangeError(`minProbability is ${minProbability}; it must be at least 1e-30`);
    }
    if (minProbability > 0) enter.push(Math.max(...enter)); // "uncertain" costs as the dearest class to enter
    const settings = {
      floor: FLOOR, minProbability, maxGap, maxDelay, maxDuration, mergeGap: this.mergeGap ?? -1,
      padBefore: this.pad[0], padAfter: this.pad[1], shift: this.shift,
    };
    const each = {
      enter, leave: numbersOf(this.leaveCost, names), bias: numbersOf(this.bias, names),
      minDuration: numbersOf(this.minDuration, names), ignore: names.map((name) => Number(this.ignore.includes(name))),
    };
    return new RuleCore(names.length, type, this.evidence === "log", settings, each);
  }
}

const isObject = (value) => typeof value === "object" && value !== null;

/** One number, or one for each class that is named, checked. */
function byClass(argument, value, check) {
  if (!isObject(value) || isRow(value)) return check(argument, value);
  const checked = Object.create(null);
  for (const [name, x] of value instanceof Map ? value : Object.entries(value)) {
    checked[name] = check(`${argument}[${show(String(name))}]`, x);
  }
  return Object.freeze(checked);
}

/** A duration that is neither negative nor infinite. */
function span(argument, value) {
  const length = duration(argument, value);
  if (length >= 0 && length < Infinity) return length;
  throw new RangeError(`${argument} is ${show(value)}; it must not be negative, and finite`);
}

function checkBias(argument, value) {
  if (typeof value === "number" && value >= -1 && value <= 1) return value;
  throw new RangeError(`${argument} is ${show(value)}; it must be a number from -1 to 1`);
}

function requireKnown(argument, named, classes) {
  const unknown = named.find((name) => !classes.includes(name));
  if (unknown !== undefined) throw new RangeError(`${argument} names ${show(unknown)}; the classes are ${show(classes)}`);
}

/** The number of each class; 0 where it is not named. */
function numbersOf(value, names) {
  return names.map((name) => (isObject(value) ? (value[name] ?? 0) : value));
}
