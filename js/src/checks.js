// Arguments as numbers, and the errors of invalid ones: they name the argument, the value, the place and the remedy.
import { borrow, message, numbers } from "./core.js";
import { core } from "./instance.js";
import { float, repr } from "./text.js";
import { positiveDuration } from "./times.js";

const STATUS = { PROBS_NEGATIVE: 8, PROBS_INFINITE: 9, PROBS_SOME_NAN: 10, PROBS_SUM: 11, BAD_BETA: 12, BAD_DT: 13 };
const NOT_CONVERGED = 14;
/** The option that each status of the core refuses, or each number of it, and its rule. */
const SETTINGS = {
  2: { option: "gamma", rule: "must lie in [0, 1]" },
  3: { option: "floor", rule: "must lie in [1e-30, 1)" },
  4: { option: "anchor", rule: "must lie in [0, 1e9]" },
  5: { option: "prior", each: "each alpha", rule: "must be at least 1e-6 and their sum at most maxConcentration" },
  6: { option: "eta", rule: "must lie in [0, 1e9]" },
  7: { option: "maxConcentration", rule: "must lie between the number of classes and 1e12 (float: 1e6)" },
  15: { option: "stay", rule: "must lie in [0, 1]" },
  16: {
    option: "prior",
    each: "each entry of prior",
    rule: "must be at least 1e-6, and their sum within 0.05 of 1",
  },
  19: { option: "tolerance", rule: "must lie in [0, 0.1]" },
  30: {
    option: "temperature",
    rule: "must lie in [0.05, 20]: 1 leaves the probabilities as they are, and above 1 they are less certain",
  },
};
const INVALID = {
  [STATUS.PROBS_NEGATIVE]: {
    test: (p) => p < 0,
    rest: "; a probability must not be negative: logits need softmax",
  },
  [STATUS.PROBS_INFINITE]: { test: (p) => p > 1e30, rest: "; a probability must be finite" },
  [STATUS.PROBS_SOME_NAN]: {
    test: Number.isNaN,
    rest: " while other entries of the row are not; a missing observation is a row of NaN only",
  },
};
export const BAD_DT = STATUS.BAD_DT;
export const BAD_STATE = 18;

/** The array type of a precision. */
export function arrayType(dtype) {
  if (dtype === "float64") return Float64Array;
  if (dtype === "float32") return Float32Array;
  throw new RangeError(`dtype is ${typeof dtype === "string" ? dtype : repr(dtype)}; it must be float64 or float32`);
}

/** The classes: the names, or 0 to K - 1 for a count; at least so many. */
export function classNames(classes, least = 2, what = "classes") {
  if (typeof classes === "string") {
    throw new TypeError(`${what} is the text ${repr(classes)}; give a list of names, or their number`);
  }
  const names = typeof classes === "number" ? Array.from({ length: Math.max(0, Math.trunc(classes) || 0) }, (_, k) => k) : null;
  if (names === null && typeof classes?.[Symbol.iterator] !== "function") {
    throw new TypeError(`${what} is ${repr(classes)}; give a list of names, or their number`);
  }
  const list = names ?? Array.from(classes);
  if (list.length < least) {
    throw new RangeError(`${what} is ${repr(classes)}; at least ${least === 2 ? "two are" : "one is"} needed`);
  }
  const twice = list.find((name, k) => list.indexOf(name) < k);
  if (new Set(list).size < list.length) throw new RangeError(`${what} names ${repr(twice)} more than once`);
  return Object.freeze(list);
}

/** Raise for an option that `known` does not have. */
export function checkOptions(what, options, known) {
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) throw new TypeError(`unknown option ${key}; ${what} has ${known.join(", ")}`);
  }
}

export function checkNumber(name, value) {
  if (typeof value !== "number") throw new TypeError(`${name} must be a number, got ${repr(value)}`);
  return value;
}

export function checkWeight(name, value) {
  if (typeof value !== "number" || !(value >= 0 && value <= 1)) {
    throw new RangeError(`${name} is ${repr(value)}; it must be a number in [0, 1]`);
  }
  return value;
}

export function checkSteps(name, value, least = 1) {
  if (!Number.isInteger(value) || value < least) {
    throw new RangeError(`${name} is ${repr(value)}; it counts steps and must be ${least} or more`);
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
  return new TypeError(`${name} must hold numbers, got ${repr(value)}`);
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

/** Settings and states that the core refuses; of an option among `options`, with its value. */
export function settingsError(status, options = {}) {
  const setting = SETTINGS[status];
  if (setting === undefined) return new RangeError(message(status));
  const { option, each, rule } = setting;
  const value = options[option];
  if (value === undefined) return new RangeError(`${each ?? option} ${rule}`);
  const [text, what] = each === undefined ? [float(value), "it"] : [`[${Array.from(value, float).join(", ")}]`, "each entry"];
  return new RangeError(`${option} is ${text}; ${what} ${rule}`);
}

/** The error of an update that failed; `row` is undefined for a single one. */
export function rowError(status, row, probs, beta, dt) {
  const place = row === undefined ? "" : ` in row ${row}`;
  if (status === STATUS.BAD_BETA) {
    return new RangeError(
      `beta${place} is ${float(beta)}; it must lie in [0, 1]: 0 ignores the observation, 1 trusts it fully`,
    );
  }
  if (status === STATUS.BAD_DT) {
    const rest =
      dt < 0
        ? "it must not be negative: put the observations in order of time"
        : "it must lie in [0, 1e30]: give the time since the last observation";
    return new RangeError(`dt${place} is ${float(dt)}; ${rest}`);
  }
  if (status === STATUS.PROBS_SUM) {
    const sum = float(probs.reduce((total, p) => total + p, 0));
    const one = "if one class is true at a time, normalise it (logits need softmax, percentages a division by 100)";
    const several = "if several may be true at once, or none, the scores are independent: give a MultiLabelFilter";
    return new RangeError(`probs${place} sums to ${sum}; it must be within 0.05 of 1: ${one}; ${several}`);
  }
  const invalid = INVALID[status];
  if (invalid === undefined) {
    const text = `${message(status)}${place}`;
    return status === NOT_CONVERGED ? new Error(text) : new RangeError(text);
  }
  const k = probs.findIndex(invalid.test);
  return new RangeError(`probs[${row === undefined ? k : `${row}, ${k}`}] is ${float(probs[k])}${invalid.rest}`);
}

/** Raise for a row that no filter would take. */
export function checkRow(row) {
  const [observedAt] = borrow(row.length * Float64Array.BYTES_PER_ELEMENT);
  numbers(Float64Array, observedAt, row.length).set(row);
  const status = core.check_row(row.length, observedAt);
  if (status !== 0) throw rowError(status, undefined, row, 1, 0);
}
