// What the two filters share: a state, and the calls that change it.
import { core, numbers, place } from "./core.js";
import { checkNumber, isRow, rowError, settingsError, takeNumbers, takeRow, takeRows } from "./checks.js";
import { prediction, predictions } from "./predictions.js";

const ROWS_AT_A_TIME = 4096;
const NOTHING = Object.freeze({});

export class Filter {
  #kind;
  #names;
  #type;
  #block;
  #call;
  #start;
  #state;
  #sizes;
  #temperature; // of what is returned; 1 changes nothing
  #options;
  #views = null;

  /**
   * @param classes  The names of the classes.
   * @param kind     "dirichlet" or "sticky": how the functions of the core begin.
   * @param type     Float64Array or Float32Array.
   * @param block    The settings, as the core prepared them.
   * @param scratch  The bytes of memory that a call needs.
   * @param start    The numbers of the state before any data.
   * @param options  Those that make the same filter.
   */
  constructor(classes, kind, type, block, scratch, start, options) {
    const suffix = type === Float64Array ? "f64" : "f32";
    this.#kind = kind;
    this.#names = classes;
    this.#type = type;
    this.#block = block;
    this.#call = Object.fromEntries(
      ["start", "read", "update", "run"].map((name) => [name, core[`${kind}_${name}_${suffix}`]]),
    );
    this.#call.temper = core[`temper_${suffix}`];
    const size = type.BYTES_PER_ELEMENT;
    const row = classes.length * size;
    this.#sizes = [block.size, start.length * size, scratch, 4, row, row];
    this.#start = new type(start.length);
    this.#state = new type(start.length);
    this._restore(start);
    this.#start.set(this.#state);
    this.#temperature = options.temperature;
    this.#options = structuredClone(options);
    void this.probs; // refuses a temperature out of range
  }

  /** "dirichlet" or "sticky". */
  get kind() {
    return this.#kind;
  }

  /** The classes, in the order of the probabilities. */
  get classes() {
    return this.#names;
  }

  get dtype() {
    return this.#type === Float64Array ? "float64" : "float32";
  }

  /** The options that make the same filter. */
  get options() {
    return structuredClone(this.#options);
  }

  /** An independent filter with the same settings, in the same state. */
  copy() {
    const copy = new this.constructor(this.classes, this.#options);
    copy.state = this.state;
    return copy;
  }

  /** The most probable class; of several, the first. */
  get label() {
    return this.#names[argmax(this.#state.subarray(-this.#names.length))];
  }

  /** The current class probabilities. */
  get probs() {
    const memory = this.#memory();
    memory.state.set(this.#state);
    this.#call.read(memory.block, memory.stateAt, memory.outAt);
    if (this.#temperature !== 1) this.#temper(1, memory.outAt);
    return memory.out.slice();
  }

  /** Let `dt` time units pass, then observe a prediction: a probability per class, in order or by name, or a class. */
  update(probs, options = NOTHING) {
    let beta = 1;
    let dt = 1;
    for (const key in options) {
      const value = options[key];
      if (key === "beta") beta = value === undefined ? 1 : checkNumber("beta", value);
      else if (key === "dt") dt = value === undefined ? 1 : checkNumber("dt", value);
      else throw new TypeError(`update() has no option ${key}; it takes probs, beta and dt`);
    }
    const row = isRow(probs) ? probs : prediction(probs, this.#names);
    const memory = this.#memory();
    takeRow("probs", row, memory.observed);
    memory.state.set(this.#state);
    const { block, stateAt, observedAt, outAt, scratchAt } = memory;
    const status = this.#call.update(block, stateAt, observedAt, beta, dt, outAt, scratchAt);
    if (status !== 0) throw rowError(status, undefined, memory.observed, beta, dt);
    this.#state.set(memory.state);
    if (this.#temperature !== 1) this.#temper(1, outAt);
    return memory.out.slice();
  }

  /** As `update`, with the row of each head: here there is one. */
  _observe([row], beta, dt) {
    return this.update(row, { beta, dt });
  }

  /** Update with every row in turn: exactly a loop of `update`, to the bit. */
  run(probs, options = NOTHING) {
    for (const key in options) {
      if (key !== "beta" && key !== "dt") throw new TypeError(`run() has no option ${key}; it takes probs, beta and dt`);
    }
    const K = this.#names.length;
    const observed = takeRows(predictions(probs, this.#names), K, this.#type);
    const rows = observed.length / K;
    const beta = takeNumbers("beta", options.beta, rows, this.#type);
    const dt = takeNumbers("dt", options.dt, rows, this.#type);
    const out = this.#runRows(observed, rows, beta, dt);
    if (ArrayBuffer.isView(probs)) return out;
    return Array.from({ length: rows }, (_, i) => out.subarray(i * K, (i + 1) * K));
  }

  #runRows(observed, rows, beta, dt) {
    const K = this.#names.length;
    const size = this.#type.BYTES_PER_ELEMENT;
    const most = Math.min(rows, ROWS_AT_A_TIME);
    const parts = [...this.#sizes.slice(0, 4), most * K * size, most * K * size, most * size, most * size];
    const [block, stateAt, scratchAt, rowAt, observedAt, outAt, betaAt, dtAt] = place(...parts);
    this.#block.load();
    const view = (address, count) => numbers(this.#type, address, count);
    const state = view(stateAt, this.#state.length);
    const out = new this.#type(rows * K);
    state.set(this.#state);
    for (let first = 0; first < rows; first += ROWS_AT_A_TIME) {
      const count = Math.min(ROWS_AT_A_TIME, rows - first);
      view(observedAt, count * K).set(observed.subarray(first * K, (first + count) * K));
      for (const [{ values, stride }, at] of [[beta, betaAt], [dt, dtAt]]) {
        const part = stride === 1 ? values.subarray(first, first + count) : values;
        view(at, part.length).set(part);
      }
      const status = this.#call.run(
        block, stateAt, count, observedAt, betaAt, beta.stride, dtAt, dt.stride, outAt, scratchAt, rowAt,
      );
      if (status !== 0) {
        const row = first + new Uint32Array(core.memory.buffer, rowAt, 1)[0];
        const at = ({ values, stride }) => values[row * stride];
        throw rowError(status, row, observed.subarray(row * K, (row + 1) * K), at(beta), at(dt));
      }
      if (this.#temperature !== 1) this.#temper(count, outAt);
      out.set(view(outAt, count * K), first * K);
    }
    this.#state.set(state);
    return out;
  }

  /** Temper rows of estimates in the core's memory; the state has no temperature. */
  #temper(rows, address) {
    const status = this.#call.temper(this.#names.length, this.#temperature, rows, address);
    if (status !== 0) throw settingsError(status, { temperature: this.#temperature });
  }

  /** Return to the state before any data. */
  reset() {
    this.#state.set(this.#start);
  }

  /** The numbers of the state. */
  _numbers() {
    return this.#state.slice();
  }

  /** Set the state to what `_numbers` returned. */
  _setNumbers(values) {
    this.#state.set(values);
  }

  /** Set the state, if the core accepts it. */
  _restore(values) {
    const count = this.#state.length;
    const size = count * this.#type.BYTES_PER_ELEMENT;
    const [block, stateAt, , , valuesAt] = place(...this.#sizes.slice(0, 4), size);
    this.#block.load();
    numbers(this.#type, valuesAt, count).set(values);
    const status = this.#call.start(block, valuesAt, stateAt);
    if (status !== 0) throw settingsError(status);
    this.#state.set(numbers(this.#type, stateAt, count));
  }

  /** The core's memory with this filter's settings in it, as views that `update` writes to and reads from. */
  #memory() {
    if (this.#views === null || this.#views.buffer !== core.memory.buffer) {
      const [block, stateAt, scratchAt, , observedAt, outAt] = place(...this.#sizes);
      const K = this.#names.length;
      this.#views = {
        block, stateAt, scratchAt, observedAt, outAt,
        state: numbers(this.#type, stateAt, this.#state.length),
        observed: numbers(this.#type, observedAt, K),
        out: numbers(this.#type, outAt, K),
        buffer: core.memory.buffer,
      };
    }
    this.#block.load();
    return this.#views;
  }
}

/** The index of the largest number; of several, the first. */
export function argmax(values) {
  let best = 0;
  for (let k = 1; k < values.length; k++) if (values[k] > values[best]) best = k;
  return best;
}
