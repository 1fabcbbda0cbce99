// Many live streams: each row of any stream, as it comes, gives an estimate.
import { arrayType, checkOptions, checkRow, checkWeight, takeRow } from "./checks.js";
import { float, repr } from "./text.js";

const DEFAULT_SOURCE = "default";
const OPTIONS = ["beta", "channel", "policy", "expireAfter", "maxStreams"];

/** One state per stream, for any number of streams that come and go; it equals a filter for each, to the bit. */
export class Tracker {
  #filter;
  #beta;
  #channel;
  #policy;
  #start;
  #streams = new Map(); // the stream whose last row came first is first
  #newest = -Infinity;

  /** `filter` is a filter, or what `load` returns: then weights, channels and policy come with it. */
  constructor(filter, options = {}) {
    checkOptions("Tracker", options, OPTIONS);
    const chain = filter?.filter === undefined ? { filter } : filter;
    const weights = chain.beta !== undefined && Object.keys(chain.beta).length > 0 ? chain.beta : 1;
    const { beta = weights, channel = chain.channel ?? {}, policy = chain.policy ?? null } = options;
    const { expireAfter, maxStreams } = options;
    if (expireAfter !== undefined && !(expireAfter > 0 && expireAfter < Infinity)) {
      throw new RangeError(`expireAfter is ${repr(expireAfter)}; it must be positive and finite`);
    }
    if (maxStreams !== undefined && !(maxStreams >= 1)) {
      throw new RangeError(`maxStreams is ${repr(maxStreams)}; it must be 1 or more`);
    }
    this.expireAfter = expireAfter;
    this.maxStreams = maxStreams;
    this.#filter = chain.filter.copy();
    this.#filter.reset();
    this.#start = this.#filter._numbers();
    this.#channel = new Map(Object.entries(channel).filter(([, one]) => one != null));
    this.#policy = policy?.copy() ?? null;
    this.#policy?.reset();
    this.#beta =
      typeof beta === "object" && beta !== null
        ? new Map(Object.entries(beta).map(([name, value]) => [name, checkWeight(`beta[${repr(name)}]`, value)]))
        : checkWeight("beta", beta);
  }

  get classes() {
    return this.#filter.classes;
  }

  /** The names of all streams; the one whose last row came first is first. */
  get streams() {
    return [...this.#streams.keys()];
  }

  get size() {
    return this.#streams.size;
  }

  has(stream) {
    return this.#streams.has(stream);
  }

  /** Observe one row; return the estimate of its stream. An error leaves everything as it was. */
  update(stream, time, source, probs) {
    const at = seconds(time);
    const name = String(source ?? DEFAULT_SOURCE);
    const beta = this.#weight(name);
    const observed = this.#channel.has(name) ? this.#corrected(name, probs) : probs;
    const known = this.#streams.get(stream);
    const dt = known === undefined ? 0 : at - known.time;
    if (!(dt >= 0 && dt < Infinity) || !Number.isFinite(at)) throw timeError(stream, at, known);
    this.#filter._setNumbers(known === undefined ? this.#start : known.state);
    const before = known?.estimate ?? (this.#policy === null ? null : this.#filter.probs);
    const estimate = this.#filter.update(observed, { beta, dt });
    const state = this.#filter._numbers();
    const policy = known?.policy ?? this.#policy?.copy() ?? null;
    policy?.called(name, observed, before, dt);
    const last = known?.last ?? new Map();
    last.set(name, at);
    this.#streams.delete(stream);
    this.#streams.set(stream, { state, time: at, estimate, policy, last });
    this.#newest = Math.max(this.#newest, at);
    this.#dropOld();
    return estimate.slice();
  }

  /** The source that the policy would call for a stream at a time; nothing changes. */
  nextSource(stream, time) {
    if (this.#policy === null) {
      throw new RangeError("the tracker has no policy; give one, such as new Periodic({ every: 12 })");
    }
    const at = seconds(time);
    const known = this.#streams.get(stream);
    if (known === undefined) return this.#policy.choose(this.#probsOf(this.#start), {});
    const since = Object.fromEntries([...known.last].map(([name, last]) => [name, at - last]));
    return known.policy.choose(known.estimate, since);
  }

  /** The last estimate of a stream. */
  probs(stream) {
    return this.#entry(stream).estimate.slice();
  }

  /** The most probable class of a stream. */
  label(stream) {
    this.#filter._setNumbers(this.#entry(stream).state);
    return this.#filter.label;
  }

  /** The time of a stream's last row. */
  time(stream) {
    return this.#entry(stream).time;
  }

  /** Forget streams. */
  drop(streams) {
    if (typeof streams === "string") throw new TypeError(`streams is ${repr(streams)}; give a list: [${repr(streams)}]`);
    const names = [...streams];
    names.forEach((name) => this.#entry(name));
    names.forEach((name) => this.#streams.delete(name));
  }

  /** Forget the streams without a row for longer than `expireAfter` before now; return them. */
  expire(now) {
    if (this.expireAfter === undefined) throw new RangeError("the tracker has no expireAfter; give it one");
    const at = seconds(now);
    if (!Number.isFinite(at)) throw new RangeError(`now is ${float(at)}; it must be finite`);
    this.#newest = Math.max(this.#newest, at);
    return this.#dropOld();
  }

  #probsOf(state) {
    this.#filter._setNumbers(state);
    return this.#filter.probs;
  }

  #entry(stream) {
    const entry = this.#streams.get(stream);
    if (entry === undefined) throw new RangeError(`there is no stream ${repr(stream)}; it had no row yet, or expired`);
    return entry;
  }

  #weight(name) {
    if (typeof this.#beta === "number") return this.#beta;
    const weight = this.#beta.get(name);
    if (weight !== undefined) return weight;
    const names = repr([...this.#beta.keys()]);
    throw new RangeError(`source is ${repr(name)}, which has no weight; beta names ${names}: add it there`);
  }

  #corrected(name, probs) {
    const row = new (arrayType(this.#filter.dtype))(this.classes.length);
    takeRow("probs", probs, row);
    checkRow(row);
    return this.#channel.get(name).apply(row);
  }

  #dropOld() {
    const dropped = [];
    for (const [stream, { time }] of this.#streams) {
      const old = this.expireAfter !== undefined && this.#newest - time > this.expireAfter;
      if (!old && !(this.#streams.size > this.maxStreams)) break;
      this.#streams.delete(stream);
      dropped.push(stream);
    }
    return dropped;
  }
}

/** A time as a number; a Date in seconds. */
function seconds(time) {
  if (time instanceof Date) return time.getTime() / 1000;
  if (typeof time === "number") return time;
  throw new TypeError(`time is ${repr(time)}; give a number or a Date`);
}

function timeError(stream, at, known) {
  if (!Number.isFinite(at)) return new RangeError(`time is ${float(at)}; it must be finite`);
  const where = at < known.time ? "before" : "too long after";
  return new RangeError(
    `time is ${float(at)}, ${where} ${float(known.time)}, that of the last row of stream ${repr(stream)}; ` +
      "give the rows of a stream in order of time",
  );
}
