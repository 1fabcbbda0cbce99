// The compiled part of an event rule. It never changes, and a state is an array of bytes that never changes either.
import { Block, borrow, core, numbers, place } from "./core.js";
import { rowError, settingsError } from "./checks.js";

const ROWS_AT_A_TIME = 4096;
/** A state is begun with so many nodes and slots, and gets twice as many where they are full. */
const FIRST_NODES = 16;
const FIRST_SLOTS = 8;
/** A row, or the end of a stream, gives so many events at most: two more than there are nodes in the largest state. */
const MOST_EVENTS = 4096 + 2;
/** Start, end and probability as doubles, then the class and whether it was forced. */
const EVENT_BYTES = 32;
const BAD_TIME = 27;
const FUNCTIONS = ["bytes", "start", "last", "needed", "grow", "run", "finish", "current", "starts", "piece"];

export class RuleCore {
  #classes;
  #type;
  #call;
  #block;
  #longest;
  #slots = 0;
  #views = {};

  /**
   * @param classes  Their number.
   * @param type     Float64Array or Float32Array, that of the rows.
   * @param log      Whether the evidence is the logarithm.
   * @param settings The numbers of the whole rule, in the order of events_prepare.
   * @param each     Numbers of the classes: enter, leave, bias, minDuration, ignore.
   */
  constructor(classes, type, log, settings, each) {
    const suffix = type === Float64Array ? "f64" : "f32";
    this.#classes = classes;
    this.#type = type;
    this.#call = Object.fromEntries(FUNCTIONS.map((name) => [name, core[`events_${name}_${suffix}`]]));
    this.#longest = settings.maxDuration;
    if (each.minDuration.some((length) => length > 0)) this.#slots = FIRST_SLOTS;
    const columns = [each.enter, each.leave, each.bias, each.minDuration, each.ignore];
    const padded = columns.flatMap((column) => [...column, ...new Array(classes + 1 - column.length).fill(0)]);
    const all = [...Object.values(settings), ...padded];
    const size = core[`events_size_${suffix}`](classes);
    const [block, numbersAt] = borrow(size, all.length * 8);
    numbers(Float64Array, numbersAt, all.length).set(all);
    const status = core[`events_prepare_${suffix}`](block, classes, log, numbersAt);
    if (status !== 0) throw settingsError(status);
    this.#block = new Block(size);
  }

  /** The state of a new stream. */
  start() {
    this.#block.load();
    const [block] = place(this.#block.size);
    const bytes = this.#call.bytes(block, FIRST_NODES, this.#slots);
    const [, stateAt] = place(this.#block.size, bytes);
    this.#call.start(block, stateAt, FIRST_NODES, this.#slots);
    return numbers(Uint8Array, stateAt, bytes).slice();
  }

  /**
   * Take rows, one after the other in an array: the new state, and the events and starts that are final by now. An error does
   * not number a row that is `alone`.
   */
  run(state, times, probs, alone = false) {
    const K = this.#classes;
    const rows = times.length;
    const most = Math.min(rows, ROWS_AT_A_TIME);
    const found = [];
    const starts = [];
    let memory = this.#load(state, most);
    for (let row = 0; row < rows; ) {
      const { block, countsAt, timesAt, probsAt, eventsAt, stateAt } = memory;
      const count = Math.min(most, rows - row);
      memory.times.set(rows === count ? times : times.subarray(row, row + count));
      memory.probs.set(rows === count ? probs : probs.subarray(row * K, (row + count) * K));
      const status = this.#call.run(block, stateAt, count, timesAt, probsAt, eventsAt, most + MOST_EVENTS, countsAt);
      const [events, taken] = memory.counts;
      if (status !== 0) {
        const failed = row + taken;
        const last = failed > 0 ? times[failed - 1] : this.#call.last(stateAt);
        const ofRow = probs.subarray(failed * K, (failed + 1) * K);
        throw failedRow(status, alone ? undefined : failed, times[failed], last, ofRow);
      }
      this.#read(memory, events, found, starts);
      row += taken;
      if (row < rows && this.#call.needed(block, stateAt) > memory.bytes) memory = this.#load(memory.state.slice(), most);
    }
    return { state: memory.state.slice(), events: found, starts };
  }

  /** End the stream: its last events, and the starts that were not told before. */
  finish(state) {
    const memory = this.#load(state);
    const found = [];
    const starts = [];
    this.#call.finish(memory.block, memory.stateAt, memory.eventsAt, memory.countsAt);
    this.#read(memory, memory.counts[0], found, starts);
    return { events: found, starts };
  }

  /** The event that would be the last one if the stream ended now, where it lasts to that end; a list of one, or of none. */
  current(state) {
    const { block, stateAt, copyAt, eventsAt } = this.#load(state);
    const open = this.#call.current(block, stateAt, copyAt, eventsAt);
    return open === 0 ? [] : [{ ...eventsFrom(eventsAt, 1)[0], confirmed: open === 2 }];
  }

  /** The core's memory with the rule and a state in it, which has room for the next row. */
  #load(state, rows = 0) {
    const memory = this.#memory(state.length, rows);
    this.#block.load();
    memory.state.set(state);
    const needed = this.#call.needed(memory.block, memory.stateAt);
    if (needed === state.length) return memory;
    const larger = this.#memory(needed, rows);
    numbers(Uint8Array, larger.copyAt, state.length).set(state);
    this.#call.grow(larger.block, larger.copyAt, larger.stateAt);
    return larger;
  }

  /** Addresses and views for so many rows and a state of so many bytes; those of the last call, where they still hold. */
  #memory(bytes, rows) {
    const last = this.#views;
    if (last.bytes === bytes && last.rows === rows && last.buffer === core.memory.buffer) return last;
    const [K, size] = [this.#classes, this.#type.BYTES_PER_ELEMENT];
    const parts = [8, rows * 8, rows * K * size, (rows + MOST_EVENTS + 1) * EVENT_BYTES, bytes, bytes];
    const [block, countsAt, timesAt, probsAt, eventsAt, stateAt, copyAt] = place(this.#block.size, ...parts);
    this.#views = {
      bytes, rows, block, countsAt, timesAt, probsAt, eventsAt, stateAt, copyAt,
      counts: numbers(Uint32Array, countsAt, 2),
      times: numbers(Float64Array, timesAt, rows),
      probs: numbers(this.#type, probsAt, rows * K),
      state: numbers(Uint8Array, stateAt, bytes),
      buffer: core.memory.buffer,
    };
    return this.#views;
  }

  /** Add so many events to a list, divided where they are too long, and the starts that are final after them to another. */
  #read({ block, eventsAt, copyAt, stateAt }, count, found, starts) {
    for (const [i, event] of eventsFrom(eventsAt, count).entries()) {
      if (!(event.end - event.start > this.#longest)) {
        found.push(event);
        continue;
      }
      for (let n = 0; this.#call.piece(block, eventsAt + i * EVENT_BYTES, n, copyAt) !== 0; n++) {
        found.push(...eventsFrom(copyAt, 1));
      }
    }
    const more = this.#call.starts(block, stateAt, eventsAt, count);
    if (more > 0) starts.push(...eventsFrom(eventsAt, more));
  }
}

/** The rules of all heads, with the methods of `RuleCore`: each head is decided by itself. */
export class HeadRules {
  #heads;
  #rules;

  /** @param rules Of each head, for its classes; null where no event of it is reported. */
  constructor(heads, rules) {
    this.#heads = heads;
    this.#rules = rules.map((rule, h) => ({ rule, h })).filter(({ rule }) => rule !== null);
  }

  start() {
    return this.#rules.map(({ rule }) => rule.start());
  }

  /** `probs` are whole rows of columns; events are in order of their end, starts of their time; then of their column. */
  run(states, times, probs, alone) {
    const parts = this.#rules.map(({ rule, h }, i) => {
      const own = this.#heads.rowsOf(h, probs);
      // A sum may round to a little more than 1; what is not near it, the core refuses.
      const rows = this.#heads.isLabel(h) ? own.map((p) => Math.max(p, 0)) : own;
      return rule.run(states[i], times, rows, alone);
    });
    return { state: parts.map(({ state }) => state), ...this.#inOrder(parts) };
  }

  finish(states) {
    return this.#inOrder(this.#rules.map(({ rule }, i) => rule.finish(states[i])));
  }

  #inOrder(parts) {
    return {
      events: this.#joined(parts.map(({ events }) => events)).sort(byEnd),
      starts: this.#joined(parts.map(({ starts }) => starts)).sort(byStart),
    };
  }

  current(states) {
    return this.#joined(this.#rules.map(({ rule }, i) => rule.current(states[i])));
  }

  /** The events of all heads, with their column; off, the first class of a label, has none. */
  #joined(parts) {
    return parts.flatMap((events, i) => {
      const { h } = this.#rules[i];
      const first = this.#heads.starts[h] - Number(this.#heads.isLabel(h));
      return events.map((event) => ({ ...event, label: first + event.label }));
    });
  }
}

const byEnd = (a, b) => a.end - b.end || a.label - b.label;
const byStart = (a, b) => a.start - b.start || a.label - b.label;

function eventsFrom(address, count) {
  const reals = numbers(Float64Array, address, 4 * count);
  const whole = numbers(Int32Array, address, 8 * count);
  return Array.from({ length: count }, (_, i) => ({
    label: whole[8 * i + 6], start: reals[4 * i], end: reals[4 * i + 1], probability: reals[4 * i + 2],
  }));
}

function failedRow(status, row, time, last, probs) {
  if (status !== BAD_TIME) return rowError(status, row, probs, 1, 1);
  const rule =
    time < last
      ? `it must not be before the last one, ${last}: put the rows in order of time`
      : "it must be finite, and at most 1e30 after the last one";
  return new RangeError(`time${row === undefined ? "" : ` in row ${row}`} is ${time}; ${rule}`);
}
