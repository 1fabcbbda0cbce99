// The rows of a table, checked: times, streams, sources, and a probability per class.
import { checkRow } from "../src/checks.js";
import { prediction } from "../src/predictions.js";
import { softmax } from "../src/scores.js";
import { repr } from "../src/text.js";
import { withPoints } from "./csv.js";
import { isNumberHere, labelClasses, layoutOf } from "./layout.js";
import { readTimes, shown } from "./times.js";

const CELL_NUMBER = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|nan|inf|infinity)$/i;
const SUM_REMEDY =
  'if one class is true at a time, normalise it ("Scores": logits or percentages, where they are); if several may be true at once, or none, tick "Several may be true at once"';

/**
 * The rows of a table. `form` has what the page knows of it: `columns`, names in the table by names here; `known`, the classes;
 * `scores`, what the numbers are; `unit`, of times that are numbers; `independent`, whether several may be true at once.
 */
export function readRows(table, form) {
  const layout = layoutOf(table.names, form);
  const place = (row) => ` in row ${row}${table.line === undefined ? "" : ` (line ${row + table.line})`}`;
  const cellsOf = (here) => table.columns[table.names.indexOf(layout.columns.get(here))];
  const has = (here) => layout.columns.has(here);
  const columns = new Map([...layout.columns.keys()].map((here) => [here, cellsOf(here)]));
  if (table.separator !== undefined && table.separator !== ",") readPoints(table, layout, columns, place);
  const count = table.columns[0]?.length ?? 0;
  if (count === 0) throw new RangeError("the table has no rows; choose another file");
  const labelled = ["prediction", "label"].filter(has);
  const classes = layout.classes ?? labelClasses(labelled.map((here) => [layout.columns.get(here), columns.get(here)]));
  const zone = table.zones?.get(layout.columns.get("time"));
  const { time, kind } = readTimes(timeCells(columns.get("time"), table.isText), form.unit, zone, place);
  const read = layout.labels ? fromLabels : fromScores;
  return {
    count, classes, time, timeKind: kind, layout, place,
    source: factorize(has("source") ? columns.get("source") : null, "default", count, (cell) => checkSource(cell, place)),
    stream: factorize(has("stream") ? columns.get("stream") : null, null, count, (cell) => checkStream(cell, place)),
    label: has("label") ? tryLabels(columns.get("label"), classes, place) : null,
    ...read(columns, classes, form, layout, table, place),
  };
}

function readPoints(table, layout, columns, place) {
  const here = [...columns.keys()].filter(isNumberHere);
  const line = (row) => place(row).replace(/^ in row \d+/, "");
  const pointed = withPoints(here.map((name) => columns.get(name)), here.map((name) => layout.columns.get(name)), line);
  here.forEach((name, i) => {
    columns.set(name, pointed[i]);
    table.columns[table.names.indexOf(layout.columns.get(name))] = pointed[i]; // as the result has them
  });
}

/** Times of text that are all numbers are numbers: "nan" is then one that is not finite. */
function timeCells(cells, isText) {
  const numbers = isText && cells.every((cell) => cell === null || CELL_NUMBER.test(cell.trim()));
  return numbers ? cells.map((cell) => (cell === null ? null : toNumber(cell))) : cells;
}

const toNumber = (text) => (/[nf]/i.test(text) ? Number(text.toLowerCase().replace(/inf(inity)?/, "Infinity").replace("nan", "NaN")) : Number(text));

/** A column of numbers, NaN where there is nothing. */
function numbersOf(cells, name, { isText }, place) {
  const out = new Float64Array(cells.length);
  cells.forEach((cell, row) => {
    if (cell === null) out[row] = NaN;
    else if (isText && CELL_NUMBER.test(cell.trim())) out[row] = toNumber(cell.trim().replace("-nan", "nan"));
    else if (!isText && (typeof cell === "number" || typeof cell === "bigint")) out[row] = Number(cell);
    else throw new RangeError(`column ${name}${place(row)} is ${shown(cell)}; it must hold numbers, and nothing where there are none`);
  });
  return out;
}

/** The probabilities of the columns p_<class>, row after row. Where a row has none of them, its label counts. */
function fromScores(columns, classes, form, layout, table, place) {
  const K = classes.length;
  const scores = classes.map((name) => numbersOf(columns.get(`p_${name}`), layout.columns.get(`p_${name}`), table, place));
  const count = scores[0].length;
  const probs = new Float64Array(count * K);
  const hard = new Uint8Array(count);
  const take = form.independent ? labelScores : classProbabilities;
  for (let row = 0; row < count; row++) {
    const given = scores.map((column) => column[row]);
    probs.set(take(given, form.scores, classes, layout, place(row)), row * K);
  }
  if (!form.independent && columns.has("prediction")) {
    const missing = Array.from({ length: count }, (_, row) => row).filter((row) => scores.every((column) => Number.isNaN(column[row])));
    const named = new Map(["prediction", "confidence"].filter((name) => columns.has(name)).map((name) => [name, missing.map((row) => columns.get(name)[row])]));
    const of = fromLabels(named, classes, form, layout, table, (i) => place(missing[i]));
    missing.forEach((row, i) => {
      probs.set(of.probs.subarray(i * K, (i + 1) * K), row * K);
      hard[row] = of.hard[i];
    });
  }
  return { probs, hard };
}

/** One row of class probabilities, checked by the core. */
function classProbabilities(given, scores, classes, layout, where) {
  if (scores === "logits") return within(where, () => softmax(given));
  const row = scores === "percent" ? given.map((score) => score / 100) : given;
  try {
    checkRow(Float64Array.from(row));
  } catch (error) {
    const sum = given.reduce((total, score) => total + score, 0);
    const least = Math.min(...given);
    let remedy = SUM_REMEDY;
    if (Number.isNaN(sum)) remedy = "a missing observation has no numbers at all: fill in the others, or remove these";
    else if (scores === "probabilities" && least < 0) remedy = 'if these are logits, choose "Scores": logits';
    else if (scores === "probabilities" && Math.abs(sum - 100) <= 5) remedy = 'these look like percentages: choose "Scores": percentages';
    else if (layout.guessed) remedy += `; the columns ${repr(classes.map((name) => `p_${name}`))} were taken as classes: if not all are, give "Classes"`;
    const problem = Number.isNaN(sum) || least < 0 ? `is ${repr(given)}` : `sums to ${repr(sum)}`;
    throw new RangeError(`probs${where} ${problem}; ${remedy}`, { cause: error });
  }
  return row;
}

/** One row of scores of several labels at once: each lies in [0, 1]. */
function labelScores(given, scores, classes, _, where) {
  return given.map((score, k) => {
    const refuse = (rule) => new RangeError(`probs${where}, class ${repr(classes[k])}, is ${repr(score)}; ${rule}`);
    if (scores === "logits") {
      if (Math.abs(score) === Infinity) throw refuse("it must be finite");
      const small = Math.exp(-Math.abs(score));
      return (score < 0 ? small : 1) / (1 + small);
    }
    const p = scores === "percent" ? score / 100 : score;
    if (p < 0 || p > 1) throw refuse('it must lie in [0, 1]: choose "Scores", where they are percentages or logits');
    return p;
  });
}

/** The probabilities of labels, with their confidence where it is given; the rest is spread evenly over the other classes. */
function fromLabels(columns, classes, form, layout, table, place) {
  const labels = labelIndices(columns.get("prediction"), classes, "prediction", place);
  const K = classes.length;
  const probs = new Float64Array(labels.length * K);
  const hard = new Uint8Array(labels.length);
  if (columns.has("confidence") && form.scores === "logits") {
    throw new RangeError("the scores are logits, but confidence must be a probability or a percentage; choose one of these");
  }
  const most = form.scores === "percent" ? 100 : 1;
  const confidence = columns.has("confidence") ? numbersOf(columns.get("confidence"), layout.columns.get("confidence"), table, place) : null;
  labels.forEach((k, row) => {
    const top = confidence === null ? NaN : confidence[row] / most;
    if (k >= 0 && (top < 0 || top > 1)) {
      const remedy = confidence[row] > most && confidence[row] <= 100 ? ': for percentages, choose "Scores": percentages' : "";
      throw new RangeError(`confidence${place(row)} is ${confidence[row]}; it must lie in [0, ${most}]${remedy}`);
    }
    const sure = k >= 0 && !Number.isNaN(top);
    hard[row] = k >= 0 && !sure ? 1 : 0;
    probs.set(prediction(k < 0 ? null : k, classes, sure ? { confidence: top } : { certain: true }), row * K);
  });
  return { probs, hard };
}

/** The class of each label, -1 where it is missing; a number may be text. */
function labelIndices(cells, classes, what, place) {
  const known = new Map([["-1", -1], ...classes.map((_, k) => [String(k), k])]);
  if (classes.every((name) => /^-?\d+$/.test(name))) {
    known.clear();
    known.set("-1", -1);
    for (const [k, name] of classes.entries()) known.set(String(Number(name)), k);
  }
  for (const [k, name] of classes.entries()) known.set(name, k);
  return cells.map((cell, row) => {
    if (cell === null || cell === "" || Number.isNaN(cell)) return -1;
    const k = known.get(String(cell));
    if (k !== undefined) return k;
    const remedy = `give a name, an index from 0 to ${classes.length - 1}, or -1 where it is unknown`;
    throw new RangeError(`${what}${place(row)} is ${shown(cell)}; the classes are ${repr(classes)}: ${remedy}`);
  });
}

/** True classes, for the picture only: a filter does not use them, and those that are no classes are not shown. */
function tryLabels(cells, classes, place) {
  try {
    return labelIndices(cells, classes, "label", place);
  } catch {
    return null;
  }
}

/** A column as the numbers of its different cells, in order of appearance. */
function factorize(cells, single, count, check) {
  if (cells === null) return { codes: new Uint32Array(count), names: [single] };
  const numbers = new Map();
  const codes = Uint32Array.from(cells, (cell, row) => {
    const known = numbers.get(cell);
    if (known !== undefined) return known;
    check(cell)(row);
    numbers.set(cell, numbers.size);
    return numbers.size - 1;
  });
  return { codes, names: [...numbers.keys()] };
}

const checkSource = (cell, place) => (row) => {
  if (typeof cell === "string" || Number.isInteger(cell) || typeof cell === "bigint") return;
  throw new RangeError(`source${place(row)} is ${cell === null ? "nothing" : shown(cell)}; it must be a name: fill it in`);
};

const checkStream = (cell, place) => (row) => {
  if (cell === null || Number.isNaN(cell)) throw new RangeError(`stream${place(row)} is nothing; every row needs one: fill it in`);
};

function within(where, work) {
  try {
    return work();
  } catch (error) {
    throw new RangeError(error.message.replace(/^scores/, `scores${where}`));
  }
}
