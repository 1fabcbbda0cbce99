// Heads: what a row is about. Exclusive classes are one head; a label is a head of two classes, off and on, that shows on.
import { checkRow, checkWeight, classNames, isRow, noNumber, show, takeRow, takeRows } from "./checks.js";
import { prediction } from "./predictions.js";

/** The layout of rows: heads by name, the columns that each shows, one head after the other, and how many classes each has. */
export class Heads {
  constructor(names, columns, sizes) {
    const starts = columns.map((_, h) => columns.slice(0, h).reduce((count, shown) => count + shown.length, 0));
    const isExclusive = names.length === 1 && columns[0].length === sizes[0];
    Object.assign(this, { names, columns, sizes, starts, isExclusive, shown: Object.freeze(columns.flat()) });
    Object.freeze(this);
  }

  /** The one head of classes that exclude each other. */
  static exclusive(classes) {
    return new Heads(["class"], [classes], [classes.length]);
  }

  /** A head for each of several labels; or of an object or a Map, heads by name with their classes, null for a label. */
  static of(layout) {
    const isMapping = typeof layout === "object" && layout !== null && (layout instanceof Map || !(Symbol.iterator in layout));
    if (!isMapping) {
      const labels = classNames(layout, 1, "labels");
      return new Heads(labels.map(String), labels.map((label) => [label]), labels.map(() => 2));
    }
    const heads = entriesOf(layout).map(([name, classes]) => [name, classes === null ? null : classNames(classes).map(String)]);
    const names = classNames(heads.map(([name]) => name), 1, "heads");
    const columns = heads.map(([name, classes]) => classes?.map((one) => `${name}:${one}`) ?? [name]);
    return new Heads(names, columns, columns.map((shown) => Math.max(shown.length, 2)));
  }

  isLabel(h) {
    return this.columns[h].length < this.sizes[h];
  }

  /** The columns of a head of whole rows as rows of its classes, in the precision of the columns. */
  rowsOf(h, rows) {
    if (this.isExclusive) return rows;
    const [C, K] = [this.shown.length, this.sizes[h]];
    const own = new rows.constructor((rows.length / C) * K);
    for (let from = this.starts[h], to = 0; from < rows.length; from += C, to += K) {
      if (this.isLabel(h)) own.set([1 - rows[from], rows[from]], to);
      else own.set(rows.subarray(from, from + K), to);
    }
    return own;
  }

  /** Put rows of a head's classes into its columns of whole rows. */
  show(h, own, rows) {
    const [C, K, count] = [this.shown.length, this.sizes[h], this.columns[h].length];
    for (let from = K - count, to = this.starts[h]; to < rows.length; from += K, to += C) rows.set(own.subarray(from, from + count), to);
  }

  /** One row, in order or by name, as numbers of a type; of exclusive classes, also a class. `row` is for errors. */
  read(probs, type, options = {}) {
    if (this.isExclusive) return prediction(probs, this.shown, options);
    const values = new type(this.shown.length);
    if (probs === null) return values.fill(NaN);
    const cells = values.length === 1 && typeof probs === "number" ? [probs] : probs;
    if (typeof cells !== "object") throw noNumber("scores", probs);
    const row = isRow(cells) ? cells : prediction(cells, this.shown, options);
    takeRow("scores", row, values);
    this.starts.forEach((at, h) => {
      if (!this.isLabel(h)) checkRow(values.subarray(at, at + this.sizes[h]));
      else if (row[at] < 0 || row[at] > 1) {
        const name = show(String(this.shown[at]));
        const where = options.row === undefined ? `scores[${name}]` : `scores in row ${options.row}, class ${name},`;
        throw new RangeError(`${where} is ${row[at]}; it must lie in [0, 1]: percentages need a division by 100, logits a sigmoid`);
      }
    });
    return values;
  }

  /** Many rows, one after the other; a typed array holds whole rows, and of one label a list of numbers is enough. */
  readRows(rows, type) {
    const C = this.shown.length;
    const flat = ArrayBuffer.isView(rows) ? takeRows(rows, C, type) : null;
    const list = flat === null ? rows : Array.from({ length: flat.length / C }, (_, i) => flat.subarray(i * C, (i + 1) * C));
    if (!Array.isArray(list)) throw noNumber("scores", rows);
    const values = new type(list.length * C);
    list.forEach((probs, row) => values.set(this.read(probs, type, { row }), row * C));
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
      if (one == null || (typeof one.apply === "function" && one.prior.length === this.sizes[h])) return one ?? null;
      const rule = this.isLabel(h) ? "a label has two, off and on" : `they are ${show(this.columns[h])}`;
      throw new RangeError(`${name} is no channel of ${this.sizes[h]} classes; ${rule}: give a Channel with that many`);
    });
  }

  /** A row as each head's filter gets it, corrected by the channels of its source. */
  observed(row, channels) {
    return this.names.map((_, h) => {
      const own = this.rowsOf(h, row);
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
export const headsOf = (filter) => filter._heads ?? Heads.exclusive(filter.classes);
