// Arguments as numbers, and the errors of invalid ones: they name the argument, the value, the place and the remedy.
import { borrow, core, message, numbers } from "./core.js";

export const BAD_DT = 13;
const BAD_BETA = 12;
const PROBS_SUM = 11;
/** Which entry of a row each status of the core is about. */
const BAD_ENTRY = { 8: (p) => p < 0, 9: (p) => p > 1e30, 10: Number.isNaN };
/** The option that each status of the core is about. */
const BAD_OPTION = {
  2: "gamma", 3: "floor", 4: "anchor", 5: "prior", 6: "eta", 7: "maxConcentration", 15: "stay", 16: "prior", 19: "tolerance", 30: "temperature",
};
export const BAD_STATE = 18;
/** The seconds of each unit that the text of a duration may have. */
const SECONDS = { ms: 1e-3, s: 1, m: 60, min: 60, h: 3600, d: 86400 };
const DURATION = /^([0-9.eE+-]+?)\s*(ms|s|min|m|h|d|)$/;

/** A value in a message: text in quotes, lists and objects with their entries. */
export function show(value) {
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return `[${Array.from(value, show).join(", ")}]`;
  if (typeof value !== "object" || value === null || value instanceof Date) return String(value);
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return `{${entries.map(([key, entry]) => `${show(key)}: ${show(entry)}`).join(", ")}}`;
}

/** How long something lasts as a number: "30s", or a number as it is, in the unit of the times. */
export function duration(name, value) {
  if (typeof value === "number") return value;
  const match = typeof value === "string" ? DURATION.exec(value.trim()) : null;
  const count = match === null ? NaN : Number(match[1]);
  if (Number.isNaN(count)) {
    throw new RangeError(`${name} is ${show(value)}; it must be a duration: give a number, or text such as 500ms, 60s, 5m or 2h`);
  }
  return count * (SECONDS[match[2]] ?? 1);
}

export function positiveDuration(name, value) {
  const length = duration(name, value);
  if (length > 0 && length < Infinity) return length;
  throw new RangeError(`${name} is ${show(value)}; it must be positive and finite`);
}

/** The array type of a precision. */
export function arrayType(dtype) {
  if (dtype === "float64") return Float64Array;
  if (dtype === "float32") return Float32Array;
  throw new RangeError(`dtype is ${typeof dtype === "string" ? dtype : show(dtype)}; it must be float64 or float32`);
}

/** The classes: the names, or 0 to K - 1 for a count; at least so many. */
export function classNames(classes, least = 2, what = "classes") {
  if (typeof classes === "string") {
    throw new TypeError(`${what} is the text ${show(classes)}; give a list of names, or their number`);
  }
  const names = typeof classes === "number" ? Array.from({ length: Math.max(0, Math.trunc(classes) || 0) }, (_, k) => k) : null;
  if (names === null && typeof classes?.[Symbol.iterator] !== "function") {
    throw new TypeError(`${what} is ${show(classes)}; give a list of names, or their number`);
  }
  const list = names ?? Array.from(classes);
  if (list.length < least) {
    throw new RangeError(`${what} is ${show(classes)}; at least ${least === 2 ? "two are" : "one is"} needed`);
  }
  const twice = list.find((name, k) => list.indexOf(name) < k);
  if (new Set(list).size < list.length) throw new RangeError(`${what} names ${show(twice)} more than once`);
  return Object.freeze(list);
}

/** Raise for an option that `known` does not have. */
export function checkOptions(what, options, known) {
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) throw new TypeError(`unknown option ${key}; ${what} has ${known.join(", ")}`);
  }
}

export function checkNumber(name, value) {
  if (typeof value !== "number") throw new TypeError(`${name} must be a number, got ${show(value)}`);
  return value;
}

export function checkWeight(name, value) {
  if (typeof value !== "number" || !(value >= 0 && value <= 1)) {
    throw new RangeError(`${name} is ${show(value)}; it must be a number in [0, 1]`);
  }
  return value;
}

export function checkSteps(name, value, least = 1) {
  if (!Number.isInteger(value) || value < least) {
    throw new RangeError(`${name} is ${show(value)}; it counts steps and must be ${least} or more`);
  }
  return value;
}

/** What a time unit leaves: itself, or that of a half-life, or the default. */
export function decay(name, rate, halfLife, fallback) {
  if (halfLife === undefined) return rate === undefined ? fallback : checkNumber(name, rate);
  if (rate !== undefined) throw new RangeError(`${name} and halfLife are both given; give one of them`);
  return 0.5 ** (1 / positiveDuration("halfLife", halfLife));
}

/** Whether a value is a list of entries, such as one number per class. */
export const isRow = (value) => Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));

export function noNumber(name, value) {
  return new TypeError(`${name} must hold numbers, got ${show(value)}`);
}

/** Copy a row of numbers; null is NaN. */
function copyRow(name, row, to, start) {
  for (let k = 0; k < row.length; k++) {
    const value = row[k];
    if (typeof value === "number") to[start + k] = value;
    else if (value === null) to[start + k] = NaN;
    else if (isRow(value)) throw new RangeError(`${name} has 2 dimensions; it must have 1`);
    else throw noNumber(name, row);
  }
}

/** One number per class into `to`. */
export function takeRow(name, row, to) {
  if (!isRow(row)) throw noNumber(name, row);
  if (row.length !== to.length) throw wrongLength(name, row.length, to.length);
  copyRow(name, row, to, 0);
}

function wrongLength(name, length, classes) {
  const rest = name === "probs" ? "; give one probability per class" : "";
  return new RangeError(`${name} has ${length} entries, but the filter has ${classes} classes${rest}`);
}

/** A list of numbers as an array of a type. */
export function vector(name, values, type) {
  if (!isRow(values)) throw noNumber(name, values);
  const copy = new type(values.length);
  copyRow(name, values, copy, 0);
  return copy;
}

/** A square matrix, row after row. */
export function squareMatrix(name, rows) {
  if (!Array.isArray(rows) || !rows.every(isRow)) throw noNumber(name, rows);
  const K = rows.length;
  const unequal = rows.find((row) => row.length !== K);
  if (unequal !== undefined) {
    throw new RangeError(`${name} has shape (${K}, ${unequal.length}); it must be square, one row per class`);
  }
  const matrix = new Float64Array(K * K);
  rows.forEach((row, k) => copyRow(name, row, matrix, k * K));
  return matrix;
}

/** Rows of K numbers as one array; the same array where it is one already. */
export function takeRows(probs, K, type) {
  if (ArrayBuffer.isView(probs)) {
    if (!isRow(probs)) throw noNumber("probs", probs);
    if (probs.length % K !== 0) {
      throw new RangeError(`probs has ${probs.length} numbers, not whole rows of ${K}; give one probability per class`);
    }
    return probs instanceof type ? probs : type.from(probs);
  }
  if (!Array.isArray(probs)) throw noNumber("probs", probs);
  if (probs.length > 0 && !probs.some(isRow)) throw new RangeError("probs has 1 dimensions; it must have 2");
  const flat = new type(probs.length * K);
  probs.forEach((row, i) => {
    if (!isRow(row)) throw noNumber("probs", row);
    if (row.length !== K) throw wrongLength("probs", row.length, K);
    copyRow("probs", row, flat, i * K);
  });
  return flat;
}

/** A number for all rows (stride 0), or one per row (stride 1). */
export function takeNumbers(name, values, rows, type) {
  if (values === undefined || typeof values === "number") return { values: type.of(values ?? 1), stride: 0 };
  const array = vector(name, values, type);
  if (array.length !== rows) {
    const rest = `but probs has ${rows} rows; give one number, or one per row`;
    throw new RangeError(`${name} has ${array.length} entries, ${rest}`);
  }
  return { values: array, stride: 1 };
}

/** The error of settings or of a state that the core rejects; `options` has the values. */
export function settingsError(status, options = {}) {
  const name = BAD_OPTION[status];
  const value = options[name];
  return new RangeError(value === undefined ? message(status) : `${name} is ${show(value)}; ${message(status)}`);
}

/** The error of an update that failed; `row` is undefined for a single one. */
export function rowError(status, row, probs, beta, dt) {
  const place = row === undefined ? "" : ` in row ${row}`;
  const rejected = (what, remedy) => new RangeError(`${what}; ${message(status)}${remedy}`);
  if (status === BAD_BETA) return rejected(`beta${place} is ${beta}`, ": 0 ignores the observation, 1 trusts it fully");
  if (status === BAD_DT) return rejected(`dt${place} is ${dt}`, ": put the observations in order of time");
  if (status === PROBS_SUM) {
    const sum = probs.reduce((total, p) => total + p, 0);
    return rejected(
      `probs${place} sums to ${sum}`,
      ": logits need softmax, percentages a division by 100; scores of classes that may be true at once need a MultiLabelFilter",
    );
  }
  if (!Object.hasOwn(BAD_ENTRY, status)) return new RangeError(`${message(status)}${place}`);
  const k = probs.findIndex(BAD_ENTRY[status]);
  return rejected(`probs[${row === undefined ? k : `${row}, ${k}`}] is ${probs[k]}`, ": logits need softmax, a missing observation is a row of NaN only");
}

/** Raise for a row that no filter would take. */
export function checkRow(row) {
  const [observedAt] = borrow(row.length * Float64Array.BYTES_PER_ELEMENT);
  numbers(Float64Array, observedAt, row.length).set(row);
  const status = core.check_row(row.length, observedAt);
  if (status !== 0) throw rowError(status, undefined, row, 1, 0);
}
