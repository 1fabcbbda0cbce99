// Runs the cases of each line that Python writes to standard input, and prints a line of what the package computes, as the bits of
// its numbers.
import { createInterface } from "node:readline";
import {
  Adaptive, Channel, DirichletFilter, EventRule, MultiLabelFilter, Periodic, StickyFilter, Tracker, events, load, softmax,
  writeEvents,
} from "../../js/dist/classfilter.mjs";

const CLASSES = { Adaptive, DirichletFilter, EventRule, Periodic, StickyFilter };

const decode = (base64) => new Float64Array(new Uint8Array(Buffer.from(base64, "base64")).buffer);
const encode = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");
const number = (value) => (typeof value === "string" ? decode(value) : value);
/** Numbers that JSON lacks come as text. */
const revive = (_, value) => (value === "NaN" ? NaN : value === "Infinity" ? Infinity : value);

/** A policy that tells what it has noted; at an observation without a favourite it fails halfway. */
class Counting {
  noted = { calls: 0 };
  choose() {
    return JSON.stringify(this.noted);
  }
  called(source, observation, probs, dt) {
    this.noted.calls += 1;
    this.noted.dt = dt;
    probs.fill(0);
    if (observation?.[0] === 0.5) throw new Error("the policy failed");
  }
  reset() {
    this.noted = { calls: 0 };
  }
  copy() {
    return Object.assign(new Counting(), { noted: { ...this.noted } });
  }
}

const run = {
  filter({ config, probs, beta, dt }) {
    const { filter } = load(config);
    const out = filter.run(decode(probs), { beta: number(beta), dt: number(dt) });
    return { out: encode(out), state: encode(filter._numbers()), label: filter.label, probs: encode(filter.probs) };
  },
  /** The same by `update`, and two filters in turn, each with the memory of the core to itself. */
  updates({ config, probs, beta, dt }) {
    const { filter } = load(config);
    const other = new DirichletFilter(filter.classes.length + 1, { dtype: filter.dtype });
    const K = filter.classes.length;
    const rows = decode(probs);
    const [weights, times] = [beta, dt].map(number);
    const out = new (filter.probs.constructor)(rows.length);
    for (let i = 0; i * K < rows.length; i++) {
      const at = (values) => (typeof values === "number" ? values : values[i]);
      out.set(filter.update(rows.subarray(i * K, (i + 1) * K), { beta: at(weights), dt: at(times) }), i * K);
      other.update(new Array(K + 1).fill(1 / (K + 1)));
    }
    return { out: encode(out), state: encode(filter.copy()._numbers()) };
  },
  /** Several labels at once: by `run`, by `update` of a copy, and each score by its name. */
  labels({ config, scores, beta, dt }) {
    const { filter } = load(config);
    const L = filter.classes.length;
    const [one, named] = [filter.copy(), filter.copy()];
    const rows = decode(scores);
    const out = filter.run(rows, { beta: number(beta), dt: number(dt) });
    const at = (values, i) => (typeof values === "string" ? decode(values)[i] : (values[i] ?? values));
    const updates = new out.constructor(rows.length);
    const byName = updates.slice();
    for (let i = 0; i * L < rows.length; i++) {
      const row = rows.subarray(i * L, (i + 1) * L);
      const options = { beta: at(beta, i), dt: at(dt, i) };
      updates.set(one.update(row, options), i * L);
      const entries = filter.classes.map((label, k) => [label, Number.isNaN(row[k]) ? null : row[k]]);
      byName.set(named.update(new Map(entries.reverse()), options), i * L);
    }
    const numbers = filter._numbers().map(encode);
    const restored = filter.copy();
    restored.reset();
    restored.state = filter.state;
    const same = JSON.stringify(restored._numbers().map(encode)) === JSON.stringify(numbers);
    const found = { out, updates, byName, probs: filter.probs };
    const encoded = Object.fromEntries(Object.entries(found).map(([name, array]) => [name, encode(array)]));
    return { ...encoded, state: numbers, same, label: filter.label };
  },
  channel({ matrix, prior, probs, single }) {
    const channel = new Channel(matrix, prior ?? undefined);
    const rows = decode(probs);
    return { out: encode(channel.apply(single ? Float32Array.from(rows) : rows)), matrix: channel.matrix };
  },
  adaptive({ config, probs, observed, dt, classes }) {
    const { policy } = load(config);
    const estimates = decode(probs);
    const outputs = decode(observed);
    const times = decode(dt);
    const sources = [];
    let since = Infinity;
    times.forEach((step, i) => {
      since += step;
      const estimate = estimates.subarray(i * classes, (i + 1) * classes);
      const source = policy.choose(estimate, { strong: since });
      policy.called(source, outputs.subarray(i * classes, (i + 1) * classes), estimate, step);
      if (source === "strong") since = 0;
      sources.push(source);
    });
    return { sources, state: encode(Float64Array.from(Object.values(policy.state))) };
  },
  tracker({ config, rows, maxStreams }) {
    const tracker = new Tracker(load(config), { maxStreams });
    const results = rows.map(([stream, time, source, probs]) => {
      const next = tracker.nextSource(stream, time);
      return [next, encode(tracker.update(stream, time, source, probs))];
    });
    return { results, streams: tracker.streams, labels: tracker.streams.map((stream) => tracker.label(stream)) };
  },
  /** Rows of many streams, each with its estimate, what its policy noted, and the streams that are left. */
  streams({ options, steps }) {
    const tracker = new Tracker(new DirichletFilter(2), { ...options, policy: new Counting() });
    const rows = { row: [0.75, 0.25], missing: null, failing: [0.5, 0.5] };
    const results = steps.map(([kind, ...args]) => {
      if (kind === "expire") return { dropped: tracker.expire(...args), held: tracker.streams };
      if (kind === "drop") return { dropped: tracker.drop(args), held: tracker.streams };
      const [stream, time] = args;
      try {
        const before = tracker.nextSource(stream, time);
        const out = encode(tracker.update(stream, time, null, rows[kind]));
        return { before, out, ...JSON.parse(tracker.nextSource(stream, time)), held: tracker.streams };
      } catch (error) {
        const probs = tracker.has(stream) ? encode(tracker.probs(stream)) : null;
        return { message: error.message, probs, held: tracker.streams };
      }
    });
    return { results };
  },
  /** Rows of a tracker, with what it warned of. A time may be a date, in milliseconds since 1970. */
  tracked({ config, options, rows }) {
    const warnings = [];
    const warn = console.warn;
    console.warn = (text) => warnings.push(text);
    const tracker = new Tracker(load(config), options);
    const results = rows.map(([stream, time, ...rest]) => {
      try {
        const at = typeof time === "object" ? new Date(time.date) : time;
        return { out: encode(tracker.update(stream, at, ...rest)), time: tracker.time(stream) };
      } catch (error) {
        return { message: error.message };
      }
    });
    console.warn = warn;
    return { results, warnings };
  },
  /** Predictions of all kinds by `run` of a filter, and by a loop of `update`. */
  predicted({ classes, predictions, dtype }) {
    const [filter, other] = [0, 1].map(() => new DirichletFilter(classes, { dtype }));
    const run = filter.run(predictions).map(encode);
    return { run, update: predictions.map((probs) => encode(other.update(probs))) };
  },
  /** The rate of a dwell, or why it is rejected. */
  dwells: ({ texts }) => texts.map((dwell) => {
    try {
      return new StickyFilter(3, { dwell, prior: [0.5, 0.3, 0.2] }).options.stay;
    } catch (error) {
      return error.message;
    }
  }),
  /** The events of a stream. */
  events({ rule, classes, times, probs, single, scores }) {
    const rows = decode(probs);
    const found = events(new EventRule(rule), {
      classes, scores, times: decode(times), probs: single ? Float32Array.from(rows) : rows, stream: "ann",
    });
    return { events: found };
  },
  /** The same of rows as a program has them, with dates in milliseconds; or why they are refused. */
  eventRows({ rule, options, single }) {
    try {
      const { times, probs, ...rest } = options;
      const at = Array.isArray(times) ? times.map((time) => (time?.date === undefined ? time : new Date(time.date))) : times;
      const rows = single ? probs.map((row) => Float32Array.from(row)) : probs;
      return { events: events(rule === null ? null : new EventRule(rule), { ...rest, times: at, probs: rows }) };
    } catch (error) {
      return { message: error.message };
    }
  },
  /** What each call of a tracker returns, or why it is refused. */
  calls({ config, options, rule, steps }) {
    const tracker = new Tracker(load(config), { ...options, events: rule === undefined ? true : new EventRule(rule) });
    const results = steps.map(([method, ...args]) => {
      try {
        const found = tracker[method](...args);
        return { found: method === "update" ? encode(found) : (found ?? null) };
      } catch (error) {
        return { message: error.message };
      }
    });
    return { results };
  },
  /** Events as the text of a file, or why they are refused. */
  eventFile({ events: list, format, options }) {
    try {
      return { text: writeEvents(list, format, options) };
    } catch (error) {
      return { message: error.message };
    }
  },
  softmax: ({ scores, temperature }) => ({ out: encode(softmax(scores, temperature)) }),
  /** A row that a tracker refuses: the message, and whether the stream is as before. */
  refused({ options, method, call }) {
    const policy = options.policy === undefined ? null : new Counting();
    const tracker = new Tracker(new DirichletFilter(2), { ...options, policy });
    tracker.update("ann", 10, "weak", [0.75, 0.25]);
    const state = () => JSON.stringify([tracker.streams, tracker.time("ann"), [...tracker.probs("ann")]]);
    const before = state();
    try {
      tracker[method](...call);
    } catch (error) {
      return { message: error.message, unchanged: state() === before };
    }
    return { message: null };
  },
  /** Makes a filter or a policy and calls a method; the message of the error, and whether the state stayed. */
  error({ name, args, method, call }) {
    let object;
    try {
      if (name === "Channel") object = new Channel(...args);
      else if (name === "load") object = load(...args);
      else if (name === "MultiLabelFilter") object = new MultiLabelFilter(args[0], filterOf(args[1]));
      else if (name === "Tracker") object = new Tracker(new DirichletFilter(2), ...args);
      else object = new CLASSES[name](...args);
      if (method === undefined) return { message: null };
      if (method === "state") object.state = call[0];
      else object[method](...call);
    } catch (error) {
      const fresh = () => (name === "MultiLabelFilter" ? new MultiLabelFilter(args[0], filterOf(args[1])) : new CLASSES[name](...args));
      const unchanged = object?.state === undefined || same(object.state, fresh().state);
      return { error: error.name, message: error.message, unchanged };
    }
    return { message: null };
  },
};

/** A filter of so many classes, or of each label; anything else as it is. */
function filterOf(given) {
  if (typeof given?.classes === "number") return new StickyFilter(given.classes, given.options);
  return given?.each === undefined ? given : Object.fromEntries(Object.entries(given.each).map(([k, one]) => [k, filterOf(one)]));
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function answer(line) {
  try {
    return { results: JSON.parse(line, revive).map(({ kind, ...rest }) => run[kind](rest)) };
  } catch (error) {
    return { error: error.stack };
  }
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(answer(line)));
