// Many live streams: each row of any stream, as it comes, gives an estimate.
import { arrayType, checkOptions, checkRow, checkWeight, isRow, show, takeRow } from "./checks.js";
import { headsOf } from "./heads.js";
import { LiveEvents, noRule, ruleOf } from "./live_events.js";
import { StreamTable } from "./stream_table.js";
import { TimeReader } from "./times.js";

const DEFAULT_SOURCE = "default";
const OPTIONS = ["beta", "channel", "policy", "expireAfter", "maxStreams", "maxJump", "unit", "events"];

/** One state per stream, for any number of streams that come and go; it equals a filter for each, to the bit. */
export class Tracker {
  #filter;
  #heads;
  #beta;
  #channel;
  #policy;
  #start;
  #table;
  #times;
  #live; // null where no events are decided

  /** `filter` is a filter, or what `load` returns: then weights, channels, policy and rule come with it. */
  constructor(filter, options = {}) {
    checkOptions("Tracker", options, OPTIONS);
    const pipe = filter?.filter === undefined ? { filter } : filter;
    const named = typeof pipe.beta === "number" || Object.keys(pipe.beta ?? {}).length > 0;
    const weights = named ? pipe.beta : 1;
    const { beta = weights, channel = pipe.channel ?? {}, policy = pipe.policy ?? null } = options;
    const rule = ruleOf(options.events, pipe);
    this.#filter = pipe.filter.copy();
    this.#live = rule === null ? null : new LiveEvents(rule, this.#filter);
    this.#table = new StreamTable(options, (stream, { events }) => this.#live?.end(stream, events));
    this.#filter.reset();
    this.#start = this.#filter._numbers();
    this.#heads = headsOf(this.#filter);
    this.#times = new TimeReader(options.unit, fastest(this.#filter));
    const known = Object.entries(channel).filter(([, one]) => one != null);
    this.#channel = new Map(known.map(([source, one]) => [source, this.#heads.channels(source, one)]));
    if (!this.#heads.isExclusive && policy?.budget !== undefined) {
      throw new RangeError("policy is Adaptive, which is for classes that exclude each other; give Periodic, or a tracker for each label");
    }
    this.#policy = policy?.copy() ?? null;
    this.#policy?.reset();
    this.#beta =
      typeof beta === "object" && beta !== null
        ? new Map(Object.entries(beta).map(([name, value]) => [name, this.#heads.weight(`beta[${show(name)}]`, value)]))
        : checkWeight("beta", beta);
  }

  get classes() {
    return this.#filter.classes;
  }

  /** How much time without a row ends a stream. */
  get expireAfter() {
    return this.#table.limits.expireAfter;
  }

  /** The largest number of streams. */
  get maxStreams() {
    return this.#table.limits.maxStreams;
  }

  /** How much later than the last row of its stream a row may be. */
  get maxJump() {
    return this.#table.limits.maxJump;
  }

  /** What times that are numbers count; undefined where they stay as they are. */
  get unit() {
    return this.#times.unit;
  }

  /** The names of all streams; the one whose last row came first is first. */
  get streams() {
    return this.#table.names;
  }

  get size() {
    return this.#table.size;
  }

  has(stream) {
    return this.#table.has(stream);
  }

  /** Observe one row; return the estimate of its stream. An error leaves everything as it was. */
  update(stream, time, source, probs, options) {
    const at = this.#times.read("time", time);
    const name = String(source ?? DEFAULT_SOURCE);
    const beta = this.#weight(name);
    const row = options === undefined && this.#heads.isExclusive && isRow(probs) ? probs : this.#prediction(name, probs, options);
    const entry = this.#table.step(stream, at, () => this.#checked(row));
    const known = entry?.value;
    const dt = entry === undefined ? 0 : at - entry.time;
    const observed = this.#observed(name, row);
    this.#filter._setNumbers(known?.state ?? this.#start);
    const before = this.#policy === null ? null : (known?.estimate.slice() ?? this.#filter.probs);
    const estimate = this.#filter._observe(observed, beta, dt);
    const state = this.#filter._numbers();
    const policy = (known?.policy ?? this.#policy)?.copy() ?? null; // the stream's own one stays as it is if this fails
    policy?.called(name, observed[0], before, dt);
    const last = policy === null ? null : new Map(known?.last).set(name, at);
    const events = this.#live === null ? null : this.#eventsAfter(stream, known, at, estimate, row, beta);
    this.#table.put(stream, at, { state, estimate, policy, last, events });
    this.#times.see(dt);
    return estimate.slice();
  }

  /** What the rule knows of a stream after a row; where that begins the stream anew, `known` is undefined. */
  #eventsAfter(stream, known, at, estimate, row, beta) {
    const isAnew = known === undefined && this.#table.has(stream);
    const before = isAnew ? this.#live.anew(this.#table.get(stream).value.events) : known?.events;
    return this.#live.note(stream, this.#live.after(before, at, estimate, row, beta));
  }

  /** The source that the policy would call for a stream at a time; nothing changes. */
  nextSource(stream, time) {
    if (this.#policy === null) {
      throw new RangeError("the tracker has no policy; give one, such as new Periodic({ every: 12 })");
    }
    const at = this.#times.read("time", time);
    const known = this.#table.continued(stream, at)?.value;
    if (known === undefined) return this.#policy.choose(this.#probsOf(this.#start), {});
    const since = Object.fromEntries([...known.last].map(([name, last]) => [name, at - last]));
    return known.policy.choose(known.estimate.slice(), since);
  }

  /** The last estimate of a stream. */
  probs(stream) {
    return this.#table.get(stream).value.estimate.slice();
  }

  /** The most probable class of a stream; of several labels at once, those that are on. */
  label(stream) {
    this.#filter._setNumbers(this.#table.get(stream).value.state);
    return this.#filter.label;
  }

  /** The time of a stream's last row. */
  time(stream) {
    return this.#table.get(stream).time;
  }

  /** The events that were confirmed since the last call, each once; of a stream that is dropped or over, all are. */
  popEvents() {
    if (this.#live === null) throw noRule();
    return this.#live.pop((stream) => {
      if (!this.#table.has(stream)) return [];
      const { value } = this.#table.get(stream);
      const { confirmed } = value.events;
      value.events = { ...value.events, confirmed: [] };
      return confirmed;
    });
  }

  /**
   * The events whose start became final since the last call, each once, with the end null: what an alarm needs. Those that
   * `popEvents` has returned by then are not among them.
   */
  popStarts() {
    if (this.#live === null) throw noRule();
    return this.#live.popStarts();
  }

  /** The event of a stream that goes on at present, with the end null, or null; of several labels at once, a list of them. */
  current(stream) {
    if (this.#live === null) throw noRule();
    return this.#live.current(stream, this.#table.get(stream).value.events);
  }

  /** Forget streams; their last events are confirmed. */
  drop(streams) {
    if (typeof streams === "string") throw new TypeError(`streams is ${show(streams)}; give a list: [${show(streams)}]`);
    this.#table.drop([...new Set(streams)]);
  }

  /** Set the clock of all streams to now; forget the streams that are over, and return them. */
  expire(now) {
    if (this.expireAfter === undefined) throw new RangeError("the tracker has no expireAfter; give it one");
    return this.#table.expire(this.#times.read("now", now));
  }

  #probsOf(state) {
    this.#filter._setNumbers(state);
    return this.#filter.probs;
  }

  #weight(name) {
    if (typeof this.#beta === "number") return this.#beta;
    const weight = this.#beta.get(name);
    if (weight !== undefined) return weight;
    const names = show([...this.#beta.keys()]);
    throw new RangeError(`source is ${show(name)}, which has no weight; beta names ${names}: add it there`);
  }

  /** A prediction as the filter gets it, corrected by the channel of its source. */
  #observed(source, row) {
    const channels = this.#channel.get(source);
    return this.#heads.observed(channels === undefined ? row : this.#checked(row), channels);
  }

  /** A prediction in the order of the classes. */
  #prediction(source, probs, options = {}) {
    if (typeof options !== "object" || options === null) {
      throw new TypeError(`options is ${show(options)}; give it as { confidence: 0.9 }`);
    }
    checkOptions("update", options, ["confidence"]);
    if (!this.#heads.isExclusive && options.confidence !== undefined) {
      throw new RangeError("confidence is given, but probs holds no classes; leave it out: scores need none");
    }
    return this.#heads.read(probs, arrayType(this.#filter.dtype), { ...options, certain: this.#channel.has(source) });
  }

  /** A prediction as a row of numbers, or its error. */
  #checked(probs) {
    if (!this.#heads.isExclusive) return probs; // they were checked when they were read
    const row = new (arrayType(this.#filter.dtype))(this.classes.length);
    takeRow("probs", probs, row);
    checkRow(row);
    return row;
  }
}

/** What a time unit leaves of the past; of several heads, the least. */
function fastest(filter) {
  const rates = (filter.filters ?? [filter]).map(({ options: { gamma, stay = gamma } }) => stay);
  return rates.reduce((least, rate) => (rate < least ? rate : least));
}
