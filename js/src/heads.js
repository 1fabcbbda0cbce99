// Heads: what a row is about. Exclusive classes are one head; a label is a head of two classes, off and on, that shows on.
import { checkRow, checkWeight, classNames, isRow, show } from "./checks.js";
import { prediction } from "./predictions.js";

/** The layout of rows: heads by name, the columns that each shows, one head after the other, and how many classes each has. */
export class Heads {
  constructor(names, columns, sizes) {
    const starts = columns.map((_, h) => columns.slice(0, h).reduce((count, shown) => count + shown.length, 0));
    Object.assign(this, { names, columns, sizes, starts, shown: Object.freeze(columns.flat()) });
    Object.freeze(this);
  }

  /** The one head of classes that exclude each other. */
  static exclusive(classes) {
    return new Heads(["class"], [classes], [classes.length]);
  }

  /** A head for each of several labels; or of an object or a Map, heads by name with their classes, null for a label. */
  static of(layout) {
    if (isRow(layout) || typeof layout !== "object" || (!(layout instanceof Map) && layout?.[Symbol.iterator] !== undefined)) {
      const labels = classNames(layout, 1, "labels");
      return new Heads(labels.map(String), labels.map((label) => [label]), labels.map(() => 2));
    }
    const heads = entriesOf(layout ?? {}).map(([name, classes]) => [name, classes === null ? null : classNames(classes).map(String)]);
    const names = classNames(heads.map(([name]) => name), 1, "heads");
    const columns = heads.map(([name, classes]) => classes?.map((one) => `${name}:${one}`) ?? [name]);
    return new Heads(names, columns, columns.map((shown) => Math.max(shown.length, 2)));
  }

  /** Whether there is one head, which shows all of its classes. */
  get isExclusive() {
    return this.names.length === 1 && !this.isLabel(0);
  }

  isLabel(h) {
    return this.columns[h].length < this.sizes[h];
  }

  /** The columns of a head of whole rows as rows of its classes, in the precision of the columns. */
  rowsOf(h, rows) {
    const [C, K, start, label] = [this.shown.length, this.sizes[h], this.starts[h], this.isLabel(h)];
    if (C === K) return rows;
    const own = new rows.constructor((rows.length / C) * K);
    for (let from = start, to = 0; from < rows.length; from += C, to += K) {
      if (label) own.set([1 - rows[from], rows[from]], to);
      else own.set(rows.subarray(from, from + K), to);
    }
    return own;
  }

  /** Put rows of a head's classes into its columns of whole rows. */
  show(h, own, rows) {
    const [C, K, count] = [this.shown.length, this.sizes[h], this.columns[h].length];
    for (let from = K - count, to = this.starts[h]; to < rows.length; from += K, to += C) rows.set(own.subarray(from, from + count), to);
  }

  /** One row of a list, a name each, or a prediction of exclusive classes, as numbers in order; `row` is for errors. */
  read(probs, type, options = {}) {
    return this.isExclusive ? prediction(probs, this.shown, options) : this.#scores(probs, type, options.row);
  }

  #scores(scores, type, row) {
    const labels = this.shown;
    const C = labels.length;
    const place = row === undefined ? "" : ` in row ${row}`;
    const rejected = (problem, rule) => new RangeError(`scores${place} ${problem}; it must be ${rule}`);
    const noNumbers = () => rejected(`is ${show(scores)}`, `${C} numbers: give one score per label, NaN where there is none`);
    let cells = scores;
    if (scores === null) cells = new Array(C).fill(NaN);
    else if (typeof scores === "number") {
      if (C > 1) throw rejected("has shape ()", `(${C},), one score per label`);
      cells = [scores];
    } else if (!isRow(scores)) {
      if (typeof scores !== "object" || ArrayBuffer.isView(scores)) throw noNumbers();
      cells = prediction(scores, labels, { row });
    }
    if (cells.length !== C) throw rejected(`has shape (${cells.length},)`, `(${C},), one score per label`);
    if (Array.from(cells).some((cell) => cell !== null && typeof cell !== "number")) throw noNumbers();
    const values = type.from(cells, (cell) => cell ?? NaN);
    this.names.forEach((_, h) => {
      const at = this.starts[h];
      if (!this.isLabel(h)) checkRow(values.subarray(at, at + this.sizes[h]));
      else if (cells[at] < 0 || cells[at] > 1) {
        const name = show(String(labels[at]));
        const where = row === undefined ? `scores[${name}]` : `scores in row ${row}, class ${name},`;
        throw new RangeError(`${where} is ${cells[at]}; it must lie in [0, 1]: percentages need a division by 100, logits a sigmoid`);
      }
    });
    return values;
  }

  /** Many rows, one after the other; a typed array holds whole rows, and of one label a list of numbers is enough. */
  readRows(rows, type) {
    const C = this.shown.length;
    const isFlat = ArrayBuffer.isView(rows) && isRow(rows);
    if (isFlat && rows.length % C !== 0) {
      throw new RangeError(`scores has ${rows.length} numbers, not whole rows of ${C}; give one score per label`);
    }
    if (!isFlat && !Array.isArray(rows)) {
      throw new TypeError(`scores is ${show(rows)}; it must be numbers, (T, ${C}): give one score per label, NaN where there is none`);
    }
    if (!isFlat && C > 1 && rows.length > 0 && rows.every((row) => typeof row === "number")) {
      throw new RangeError(`scores has shape (${rows.length},); it must be (T, ${C}), one score per label`);
    }
    const count = isFlat ? rows.length / C : rows.length;
    const values = new type(count * C);
    for (let row = 0; row < count; row++) {
      values.set(this.read(isFlat ? rows.subarray(row * C, (row + 1) * C) : rows[row], type, { row }), row * C);
    }
    return values;
  }

  /** The weight of a source, checked: a number for all heads, or one for each, in order. */
  weight(name, weight) {
    if (this.isExclusive || typeof weight !== "object" || weight === null) return checkWeight(name, weight);
    return this.ofEach(name, weight).map((one, h) => checkWeight(`beta[${show(this.names[h])}]`, one));
  }

  /** The channels of a source, checked: for each head one, or null. */
  channels(source, channel) {
    const name = `channel[${show(source)}]`;
    const isOne = channel === null || typeof channel?.apply === "function" || typeof channel !== "object";
    const each = isOne ? this.names.map(() => channel) : this.ofEach(name, channel);
    return each.map((one, h) => {
      if (one != null && (typeof one.apply !== "function" || (one.prior.length !== this.sizes[h] && !this.isExclusive))) {
        const [K, rule] = this.isLabel(h) ? ["two", "a label has two classes, off and on"] : [this.sizes[h], `the head has ${show(this.columns[h])}`];
        throw new RangeError(`${name} is no channel of ${K} classes; ${rule}: give a Channel of ${K} classes, or one for each label`);
      }
      return one ?? null;
    });
  }

  /** A row as each head's filter gets it, corrected by the channels of its source. */
  observed(row, channels) {
    return this.names.map((_, h) => {
      const own = this.isExclusive ? row : this.rowsOf(h, row);
      return channels?.[h] == null ? own : channels[h].apply(own);
    });
  }

  /** What an object or a Map has for each head, in order. */
  ofEach(what, given) {
    const named = new Map(entriesOf(given));
    if (named.size !== this.names.length || this.names.some((name) => !named.has(name))) {
      throw new RangeError(`${what} names ${show([...named.keys()])}, but the labels are ${show(this.names)}; name each label once`);
    }
    return this.names.map((name) => named.get(name));
  }
}

const entriesOf = (given) => (given instanceof Map ? [...given] : Object.entries(given)).map(([name, value]) => [String(name), value]);

/** The heads of a filter. */
export const headsOf = (filter) => filter.heads ?? Heads.exclusive(filter.classes);
