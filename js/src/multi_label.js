// Several heads at once, such as labels that are on or off: one filter for each.
import { arrayType, checkNumber, checkOptions, isRow, show, takeNumbers, vector } from "./checks.js";
import { argmax } from "./filter.js";
import { Heads } from "./heads.js";

const NOTHING = Object.freeze({});

export class MultiLabelFilter {
  #heads;
  #filters; // of each head; those of the same settings share one, and its own state is not used
  #type;
  #start;
  #states;

  /**
   * `labels` are their names or number, or an object or a Map of heads with their classes, null for a label. `filter` is one for
   * all of them, of two classes for a label, or an object or a Map with one for each. Its state is not used.
   */
  constructor(labels, filter) {
    this.#heads = labels instanceof Heads ? labels : Heads.of(labels);
    this.#filters = filtersOf(this.#heads, filter);
    const precisions = [...new Set(this.#filters.map((one) => one.dtype))].sort();
    if (precisions.length > 1) throw new RangeError(`filter has filters of ${show(precisions)}; give one dtype`);
    this.#type = arrayType(precisions[0]);
    this.#start = this.#filters.map((one) => one._numbers());
    this.#states = this.#start;
  }

  get kind() {
    return "multi_label";
  }

  /** What the columns are. */
  get _heads() {
    return this.#heads;
  }

  /** The labels, or the classes of each head, in the order of the scores. */
  get classes() {
    return this.#heads.shown;
  }

  get dtype() {
    return this.#filters[0].dtype;
  }

  /** The filter of each label or head, in its initial state. */
  get filters() {
    return this.#each(this.#start, (filter) => filter.copy());
  }

  /** The current probability of each label, or of each class of the heads. */
  get probs() {
    const columns = new this.#type(this.classes.length);
    this.#each(this.#states, (filter, h) => this.#heads.show(h, filter.probs, columns));
    return columns;
  }

  /** The labels that are on, more probable than not, and the most probable class of each other head. */
  get label() {
    return this.#each(this.#states, ({ probs }, h) => {
      if (this.#heads.isLabel(h)) return probs[1] > 0.5 ? this.#heads.columns[h] : [];
      return [this.#heads.columns[h][argmax(probs)]];
    }).flat();
  }

  /** All that the filter remembers, the state of each head; assign it to restore. */
  get state() {
    return this.#each(this.#states, (filter) => filter.state);
  }

  set state(states) {
    const H = this.#filters.length;
    if (!Array.isArray(states) || states.length !== H) {
      throw new RangeError(`state has ${states?.length ?? 0} parts; it must have ${H}, one per label`);
    }
    this.#states = this.#filters.map((filter, h) => {
      filter.state = states[h];
      return filter._numbers();
    });
  }

  /**
   * Let `dt` time units pass, then observe one score per label, in order or by name. `beta` is the weight of all, or one for
   * each label. Returns the probability of each label.
   */
  update(scores, options = NOTHING) {
    checkOptions("update()", options, ["beta", "dt"]);
    const { beta = 1, dt = 1 } = options;
    const H = this.#filters.length;
    const weights = isRow(beta) ? vector("beta", beta, Float64Array) : checkNumber("beta", beta);
    if (typeof weights !== "number" && weights.length !== H) {
      throw new RangeError(`beta has ${weights.length} entries, but there are ${H} labels; give one number, or one per label`);
    }
    return this._observe(this.#heads.observed(this.#heads.read(scores, this.#type)), weights, checkNumber("dt", dt));
  }

  /** As `update`, with the row of each head, as channels return them. */
  _observe(rows, beta, dt) {
    const estimate = new this.#type(this.classes.length);
    const weight = (h) => (typeof beta === "number" ? beta : beta[h]);
    this.#states = this.#each(this.#states, (filter, h) => {
      this.#heads.show(h, filter.update(rows[h], { beta: weight(h), dt }), estimate);
      return filter._numbers();
    });
    return estimate;
  }

  /**
   * Update with every row in turn: exactly a loop of `update`, to the bit. `beta` is one weight, one per row, or rows of one
   * per label.
   */
  run(scores, options = NOTHING) {
    checkOptions("run()", options, ["beta", "dt"]);
    const C = this.classes.length;
    const rows = this.#heads.readRows(scores, this.#type);
    const T = rows.length / C;
    const dt = options.dt ?? 1;
    takeNumbers("dt", dt, T, this.#type);
    const weights = this.#weights(options.beta ?? 1, T);
    const out = new this.#type(rows.length);
    this.#states = this.#each(this.#states, (filter, h) => {
      this.#heads.show(h, filter.run(this.#heads.rowsOf(h, rows), { beta: weights(h), dt }), out);
      return filter._numbers();
    });
    if (ArrayBuffer.isView(scores)) return out;
    return Array.from({ length: T }, (_, row) => out.subarray(row * C, (row + 1) * C));
  }

  /** The weights of a head's rows. */
  #weights(beta, T) {
    const H = this.#filters.length;
    if (!Array.isArray(beta) || !beta.some(isRow)) {
      takeNumbers("beta", beta, T, this.#type);
      return () => beta;
    }
    if (beta.length !== T || beta.some((row) => !isRow(row) || row.length !== H)) {
      throw new RangeError(`beta has ${beta.length} rows; it must be a number, ${T} numbers, or ${T} rows of ${H}, one per label`);
    }
    const each = beta.map((row) => vector("beta", row, this.#type));
    return (h) => each.map((row) => row[h]);
  }

  /** What `work` finds for the filter of each head in its state. */
  #each(states, work) {
    return this.#filters.map((filter, h) => {
      filter._setNumbers(states[h]);
      return work(filter, h);
    });
  }

  /** Return to the state before any data. */
  reset() {
    this.#states = this.#start;
  }

  /** An independent filter with the same settings, in the same state. */
  copy() {
    const copy = new MultiLabelFilter(this.#heads, new Map(this.#heads.names.map((name, h) => [name, this.#filters[h]])));
    copy._setNumbers(this.#states);
    return copy;
  }

  /** The numbers of the state of each head. */
  _numbers() {
    return this.#states;
  }

  /** Set the state to what `_numbers` returned. */
  _setNumbers(states) {
    this.#states = states;
  }
}

/** A fresh filter for each head; those that share one go on sharing it. */
function filtersOf(heads, given) {
  const isOne = typeof given?.update === "function" || typeof given !== "object" || given === null;
  const each = isOne ? heads.names.map(() => given) : heads.ofEach("filter", given);
  const fresh = new Map();
  return each.map((filter, h) => {
    const K = typeof filter?.update === "function" ? filter.classes?.length : undefined;
    if (K !== heads.sizes[h]) {
      const what = K === undefined ? `is ${show(filter)}` : `of ${show(heads.names[h])} has ${K} classes`;
      const rule = heads.isLabel(h)
        ? "each label needs a filter of two classes, off and on: give one, such as new StickyFilter(2, { dwell: 30 })"
        : `the head has ${show(heads.columns[h])}: give a filter of these classes`;
      throw new RangeError(`filter ${what}; ${rule}`);
    }
    if (!fresh.has(filter)) {
      fresh.set(filter, filter.copy());
      fresh.get(filter).reset();
    }
    return fresh.get(filter);
  });
}
