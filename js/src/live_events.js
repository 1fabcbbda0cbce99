// The events of live streams: what a rule knows of each stream, and what it has confirmed.
import { arrayType, show } from "./checks.js";
import { EventRule } from "./event_rule.js";
import { headsOf } from "./heads.js";

const REMEDY = 'give one: events: new EventRule({ changeCost: "30s" })';

/** The rule that a tracker decides events by, of its option `events` and the rule of its pipe; or null. */
export function ruleOf(events, pipe) {
  if (events === undefined || events === null || events === false) return null;
  if (events === true && !pipe.rule) throw new RangeError(`events is true, but the pipeline has no rule; ${REMEDY}`);
  const rule = events === true ? pipe.rule : events;
  if (!(rule instanceof EventRule)) throw new TypeError(`events is ${show(events)}; it must be an EventRule, or true or false`);
  return rule;
}

export function noRule() {
  return new RangeError(`the tracker has no rule for events; ${REMEDY}`);
}

/** A rule, for many streams. What is known of one is the state of the rule and what was confirmed; it never changes. */
export class LiveEvents {
  #core;
  #names;
  #heads;
  #waiting = new Set(); // the streams with events to be fetched, in the order of the first; some may have none
  #ended = []; // what was confirmed of streams that are over
  #started = new Map(); // starts that are final, in order, until they or their events are fetched
  #time = new Float64Array(1);

  constructor(rule, filter) {
    this.#heads = headsOf(filter);
    this.#names = this.#heads.shown.map(String);
    this.#core = rule._compiled(this.#heads, arrayType(filter.dtype));
  }

  /**
   * What is known of a stream after a row; before its first row, `known` is undefined. Before its first prediction, and
   * that of each label, the estimate is only where the filter starts: the rule gets NaN, so that no event is found there.
   */
  after(known, at, estimate, row, beta) {
    this.#time[0] = at;
    const predicted = known?.predicted === true || this.#predicted(known?.predicted, row, beta);
    const rows = predicted === true ? estimate : estimate.slice();
    if (predicted !== true) {
      this.#heads.columns.forEach((shown, h) => {
        const at = this.#heads.starts[h];
        if (!predicted[h]) rows.fill(NaN, at, at + shown.length);
      });
    }
    const { state, events, starts } = this.#core.run(known?.state ?? this.#core.start(), this.#time, rows, true);
    const before = known ?? { confirmed: [], starts: [] };
    const confirmed = events.length === 0 ? before.confirmed : [...before.confirmed, ...events];
    return { state, confirmed, starts: [...(before.starts ?? []), ...starts], predicted };
  }

  /** Of each head, whether there was a prediction by now; true where all have one. */
  #predicted(before, row, beta) {
    const weight = (h) => (typeof beta === "number" ? beta : beta[h]);
    const seen = (h) => !Number.isNaN(row[this.#heads.starts[h]]) && weight(h) > 0;
    const predicted = this.#heads.names.map((_, h) => (before?.[h] ?? false) || seen(h));
    return predicted.every(Boolean) || predicted;
  }

  /** What is known of a stream that begins anew; its old events are not lost. */
  anew(known) {
    const { events, starts } = this.#core.finish(known.state);
    return { state: this.#core.start(), confirmed: [...known.confirmed, ...events], starts };
  }

  /** Take note of a row's starts, and that the stream may have events to be fetched; return what is known of it then. */
  note(stream, { starts, ...known }) {
    this.#noteStarts(stream, starts);
    if (known.confirmed.length > 0) this.#waiting.add(stream);
    return known;
  }

  #noteStarts(stream, starts) {
    for (const { label, start } of starts) {
      const event = { stream, label: this.#names[label], start, end: null, duration: null, probability: null };
      this.#started.set(keyOf(event), event);
    }
  }

  /** End a stream. */
  end(stream, known) {
    const { events, starts } = this.#core.finish(known.state);
    this.#noteStarts(stream, starts);
    for (const event of [...known.confirmed, ...events]) this.#ended.push(this.#event(stream, event));
  }

  /** All events that were not fetched, in order; `take` returns those of a stream that is held, and forgets them. */
  pop(take) {
    const found = this.#ended;
    for (const stream of this.#waiting) for (const event of take(stream)) found.push(this.#event(stream, event));
    this.#ended = [];
    this.#waiting.clear();
    for (const event of found) this.#started.delete(keyOf(event));
    return found;
  }

  /** All starts that were not fetched, in order, but those of events that were. */
  popStarts() {
    const found = [...this.#started.values()];
    this.#started.clear();
    return found;
  }

  /** The event of a stream that goes on at present, or null; of several labels at once, a list of them. */
  current(stream, known) {
    const events = this.#core.current(known.state).map((event) => ({
      ...this.#event(stream, event), end: null, duration: null, final: event.confirmed,
    }));
    return this.#heads.isExclusive ? (events[0] ?? null) : events;
  }

  #event(stream, { label, start, end, probability }) {
    return { stream, label: this.#names[label], start, end, duration: end - start, probability };
  }
}

function keyOf({ stream, label, start }) {
  return JSON.stringify([typeof stream, String(stream), label, start]);
}
