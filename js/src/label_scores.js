// Scores of several labels at once: each lies in [0, 1] by itself, and they need not sum to 1.
import { checkWeight, isRow, show } from "./checks.js";
import { prediction } from "./predictions.js";

/** One score per label, in order or by name, as numbers of a type; NaN where a label was not observed. `row` is for errors. */
export function scoreRow(scores, labels, type, row) {
  const L = labels.length;
  const place = row === undefined ? "" : ` in row ${row}`;
  const refused = (problem, rule) => new RangeError(`scores${place} ${problem}; it must be ${rule}`);
  const noNumbers = () => refused(`is ${show(scores)}`, `${L} numbers: give one score per label, NaN where there is none`);
  let cells = scores;
  if (scores === null) cells = new Array(L).fill(NaN);
  else if (typeof scores === "number") {
    if (L > 1) throw refused("has shape ()", `(${L},), one score per label`);
    cells = [scores];
  } else if (!isRow(scores)) {
    if (typeof scores !== "object" || ArrayBuffer.isView(scores)) throw noNumbers();
    cells = prediction(scores, labels, { row });
  }
  if (cells.length !== L) throw refused(`has shape (${cells.length},)`, `(${L},), one score per label`);
  const values = new type(L);
  for (let i = 0; i < L; i++) {
    if (cells[i] !== null && typeof cells[i] !== "number") throw noNumbers();
    const score = cells[i] ?? NaN;
    if (score < 0 || score > 1) {
      const name = show(String(labels[i]));
      const where = row === undefined ? `scores[${name}]` : `scores in row ${row}, class ${name},`;
      const rule = "it must lie in [0, 1]: percentages need a division by 100, logits a sigmoid";
      throw new RangeError(`${where} is ${score}; ${rule}`);
    }
    values[i] = score;
  }
  return values;
}

/** The scores of many rows, one after the other; a typed array holds whole rows, and of one label a list of numbers is enough. */
export function scoreRows(rows, labels, type) {
  const L = labels.length;
  const isFlat = ArrayBuffer.isView(rows) && isRow(rows);
  if (isFlat && rows.length % L !== 0) {
    throw new RangeError(`scores has ${rows.length} numbers, not whole rows of ${L}; give one score per label`);
  }
  if (!isFlat && !Array.isArray(rows)) {
    throw new TypeError(`scores is ${show(rows)}; it must be numbers, (T, ${L}): give one score per label, NaN where there is none`);
  }
  if (!isFlat && L > 1 && rows.length > 0 && rows.every((row) => typeof row === "number")) {
    throw new RangeError(`scores has shape (${rows.length},); it must be (T, ${L}), one score per label`);
  }
  const count = isFlat ? rows.length / L : rows.length;
  const values = new type(count * L);
  for (let i = 0; i < count; i++) {
    values.set(scoreRow(isFlat ? rows.subarray(i * L, (i + 1) * L) : rows[i], labels, type, i), i * L);
  }
  return values;
}

/** Scores as the rows of filters of two classes, off and on, in the precision of the scores. */
export function pairs(scores) {
  const rows = new scores.constructor(2 * scores.length);
  scores.forEach((score, i) => {
    rows[2 * i] = 1 - score;
    rows[2 * i + 1] = score;
  });
  return rows;
}

/** The weight of a source, checked: a number for all labels, or one for each, in order. */
export function weightOfLabels(name, weight, labels) {
  if (typeof weight !== "object" || weight === null) return checkWeight(name, weight);
  const each = ofEach(name, weight, labels);
  return labels.map((label) => checkWeight(`beta[${show(String(label))}]`, each.get(String(label))));
}

/** The channels of a source, checked: for each label one, or null. */
export function channelsOfLabels(source, channel, labels) {
  const name = `channel[${show(source)}]`;
  const isOne = channel === null || typeof channel?.apply === "function";
  const each = isOne || typeof channel !== "object" ? null : ofEach(name, channel, labels);
  return labels.map((label) => {
    const one = (each === null ? channel : each.get(String(label))) ?? null;
    if (one !== null && (typeof one.apply !== "function" || one.prior.length !== 2)) {
      throw new RangeError(
        `${name} is no channel of two classes; a label has two classes, off and on: give a Channel of two classes, ` +
          "or one for each label",
      );
    }
    return one;
  });
}

/** One row of scores as probabilities of off and on, corrected by the channels of its source. */
export function corrected(scores, channels) {
  const rows = pairs(scores);
  channels?.forEach((channel, i) => {
    if (channel !== null) rows.set(channel.apply(rows.subarray(2 * i, 2 * i + 2)), 2 * i);
  });
  return rows;
}

function ofEach(name, given, labels) {
  const entries = given instanceof Map ? [...given] : Object.entries(given);
  const named = new Map(entries.map(([label, value]) => [String(label), value]));
  const wanted = labels.map(String);
  if (named.size !== wanted.length || wanted.some((label) => !named.has(label))) {
    throw new RangeError(`${name} names ${show([...named.keys()])}, but the labels are ${show(wanted)}; name each label once`);
  }
  return named;
}
