// Several labels at once: one filter of two classes, off and on, for each label.
import { arrayType, checkNumber, checkOptions, classNames, isRow, show, takeNumbers, vector } from "./checks.js";
import { pairs, scoreRow, scoreRows } from "./label_scores.js";

const NOTHING = Object.freeze({});

export class MultiLabelFilter {
  #labels;
  #filters; // of each label; labels of the same settings share one, and its own state is not used
  #type;
  #start;
  #states;

  /** `filter` is a filter of two classes for all labels, or an object or a Map with one for each. Its state is not used. */
  constructor(labels, filter) {
    this.#labels = classNames(labels, 1, "labels");
    this.#filters = filtersOf(this.#labels, filter);
    const precisions = [...new Set(this.#filters.map((one) => one.dtype))].sort();
    if (precisions.length > 1) throw new RangeError(`filter has filters of ${show(precisions)}; give one dtype`);
    this.#type = arrayType(precisions[0]);
    this.#start = this.#filters.map((one) => one._numbers());
    this.#states = this.#start;
  }

  get kind() {
    return "multi_label";
  }

  /** The labels, in the order of the scores. */
  get classes() {
    return this.#labels;
  }

  get dtype() {
    return this.#filters[0].dtype;
  }

  /** The filter of two classes of each label, in its initial state. */
  get filters() {
    return this.#filters.map((filter, i) => {
      const copy = filter.copy();
      copy._setNumbers(this.#start[i]);
      return copy;
    });
  }

  /** The current probability of each label. */
  get probs() {
    return this.#type.from(this.#filters, (filter, i) => {
      filter._setNumbers(this.#states[i]);
      return filter.probs[1];
    });
  }

  /** The labels that are on: more probable than not. */
  get label() {
    const { probs } = this;
    return this.#labels.filter((_, i) => probs[i] > 0.5);
  }

  /** All that the filter remembers, the state of each label; assign it to restore. */
  get state() {
    return this.#filters.map((filter, i) => {
      filter._setNumbers(this.#states[i]);
      return filter.state;
    });
  }

  set state(states) {
    const L = this.#labels.length;
    if (!Array.isArray(states) || states.length !== L) {
      throw new RangeError(`state has ${states?.length ?? 0} parts; it must have ${L}, one per label`);
    }
    this.#states = this.#filters.map((filter, i) => {
      filter.state = states[i];
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
    const L = this.#labels.length;
    const weights = isRow(beta) ? vector("beta", beta, Float64Array) : checkNumber("beta", beta);
    if (typeof weights !== "number" && weights.length !== L) {
      throw new RangeError(`beta has ${weights.length} entries, but there are ${L} labels; give one number, or one per label`);
    }
    return this._observe(pairs(scoreRow(scores, this.#labels, this.#type)), weights, checkNumber("dt", dt));
  }

  /** As `update`, with probabilities of off and on of each label, as channels return them. */
  _observe(rows, beta, dt) {
    const estimate = new this.#type(this.#labels.length);
    this.#states = this.#filters.map((filter, i) => {
      filter._setNumbers(this.#states[i]);
      const weight = typeof beta === "number" ? beta : beta[i];
      estimate[i] = filter.update(rows.subarray(2 * i, 2 * i + 2), { beta: weight, dt })[1];
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
    const L = this.#labels.length;
    const rows = scoreRows(scores, this.#labels, this.#type);
    const T = rows.length / L;
    const dt = options.dt ?? 1;
    takeNumbers("dt", dt, T, this.#type);
    const weights = this.#weights(options.beta ?? 1, T);
    const out = new this.#type(rows.length);
    this.#states = this.#filters.map((filter, i) => {
      filter._setNumbers(this.#states[i]);
      const ofLabel = this.#type.from({ length: T }, (_, row) => rows[row * L + i]);
      const found = filter.run(pairs(ofLabel), { beta: weights(i), dt });
      for (let row = 0; row < T; row++) out[row * L + i] = found[2 * row + 1];
      return filter._numbers();
    });
    if (ArrayBuffer.isView(scores)) return out;
    return Array.from({ length: T }, (_, row) => out.subarray(row * L, (row + 1) * L));
  }

  /** The weights of a label's rows. */
  #weights(beta, T) {
    const L = this.#labels.length;
    if (!Array.isArray(beta) || !beta.some(isRow)) {
      takeNumbers("beta", beta, T, this.#type);
      return () => beta;
    }
    if (beta.length !== T || beta.some((row) => !isRow(row) || row.length !== L)) {
      throw new RangeError(`beta has ${beta.length} rows; it must be a number, ${T} numbers, or ${T} rows of ${L}, one per label`);
    }
    const each = beta.map((row) => vector("beta", row, this.#type));
    return (i) => each.map((row) => row[i]);
  }

  /** Return to the state before any data. */
  reset() {
    this.#states = this.#start;
  }

  /** An independent filter with the same settings, in the same state. */
  copy() {
    const copy = new MultiLabelFilter(this.#labels, new Map(this.#labels.map((label, i) => [label, this.#filters[i]])));
    copy._setNumbers(this.#states);
    return copy;
  }

  /** The numbers of the state of each label. */
  _numbers() {
    return this.#states;
  }

  /** Set the state to what `_numbers` returned. */
  _setNumbers(states) {
    this.#states = states;
  }
}

/** A fresh filter for each label; those that share one go on sharing it. */
function filtersOf(labels, given) {
  const isOne = typeof given?.update === "function" || typeof given !== "object" || given === null;
  const named = isOne ? null : new Map((given instanceof Map ? [...given] : Object.entries(given)).map(([k, f]) => [String(k), f]));
  if (named !== null && (named.size !== labels.length || labels.some((label) => !named.has(String(label))))) {
    throw new RangeError(`filter names ${show([...named.keys()])}, but the labels are ${show(labels)}; name each label once`);
  }
  const fresh = new Map();
  return labels.map((label) => {
    const filter = named === null ? given : named.get(String(label));
    const K = typeof filter?.update === "function" ? filter.classes?.length : undefined;
    if (K !== 2) {
      const what = K === undefined ? `is ${show(filter)}` : `of ${show(label)} has ${K} classes`;
      const remedy = "give one, such as new StickyFilter(2, { halfLife: 10 })";
      throw new RangeError(`filter ${what}; each label needs a filter of two classes, off and on: ${remedy}`);
    }
    if (!fresh.has(filter)) {
      fresh.set(filter, filter.copy());
      fresh.get(filter).reset();
    }
    return fresh.get(filter);
  });
}
