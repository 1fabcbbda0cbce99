// Written by js/build.mjs from js/src; do not edit.
const module1 = await (async () => {
// The core, compiled in the background: until 2023, Chrome refused to compile more than 4 kB at once in a page.
const { WASM } = wasm;

const bytes = Uint8Array.from(atob(WASM), (character) => character.charCodeAt(0));
const { instance } = await WebAssembly.instantiate(bytes);

/** The functions of `c/binding_impl.h`; their names end in _f32 or _f64. */
const core = instance.exports;

return { core };
})();

const module2 = await (async () => {
// The memory of the core, which one filter at a time has to itself.
const { core } = module1;

const ALIGNMENT = 16;
const START = aligned(core.__heap_base.value);
const PAGE = 65536;

function aligned(address) {
  return Math.ceil(address / ALIGNMENT) * ALIGNMENT;
}

/** The message of a status. */
function message(status) {
  const start = core.strerror(status);
  const memory = new Uint8Array(core.memory.buffer);
  return new TextDecoder().decode(memory.subarray(start, memory.indexOf(0, start)));
}

/** Addresses of parts of the given sizes in bytes, one after the other. Nothing is kept there between calls. */
function place(...sizes) {
  const addresses = [];
  let end = START;
  for (const size of sizes) {
    addresses.push(end);
    end = aligned(end + size);
  }
  const missing = end - core.memory.buffer.byteLength;
  if (missing > 0) core.memory.grow(Math.ceil(missing / PAGE));
  return addresses;
}

/** `count` numbers of a type at an address; only until memory grows. */
function numbers(type, address, count) {
  return new type(core.memory.buffer, address, count);
}

let owner = null;

/** As `place`, for a call whose first part is no block. */
function borrow(...sizes) {
  owner = null;
  return place(...sizes);
}

/**
 * Bytes that a filter or a policy keeps: structures with pointers into themselves, so that they always return to the
 * address at which they were made, the first one of `place`.
 */
class Block {
  #bytes;

  constructor(size) {
    this.#bytes = new Uint8Array(core.memory.buffer, START, size).slice();
    owner = this;
  }

  get size() {
    return this.#bytes.length;
  }

  /** Bring the bytes back, if another call had the memory since. */
  load() {
    if (owner === this) return;
    new Uint8Array(core.memory.buffer, START, this.#bytes.length).set(this.#bytes);
    owner = this;
  }
}

return { message, place, numbers, borrow, Block };
})();

const module3 = await (async () => {
// Values in messages, written as the Python library writes them.

/** A number as Python prints a float: 1.0, 1e-05, nan. */
function float(x) {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
  if (Object.is(x, -0)) return "-0.0";
  const [digits, exponent] = x.toExponential().split("e");
  const power = Number(exponent);
  if (x !== 0 && (power < -4 || power >= 16)) {
    return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  const text = String(x);
  if (text.includes("e")) return `${x.toFixed(20).replace(/0+$/, "")}`;
  return text.includes(".") ? text : `${text}.0`;
}

/** A value as it was typed: whole numbers without a point, text in quotes. */
function repr(value) {
  if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) < 1e16 ? String(value) : float(value);
  if (typeof value === "string") return quoted(value);
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return `[${Array.from(value, repr).join(", ")}]`;
  if (value instanceof Map) return repr(Object.fromEntries(value));
  if (value !== null && typeof value === "object") {
    return `{${Object.entries(value).map(([key, entry]) => `${quoted(key)}: ${repr(entry)}`).join(", ")}}`;
  }
  return String(value);
}

function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t");
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}

/** A number with at most `digits` significant ones, as printf's %g writes it. */
function general(x, digits = 6) {
  if (!Number.isFinite(x)) return float(x);
  if (x === 0) return "0";
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
  const power = Number(exponent);
  if (power < -4 || power >= digits) {
    const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    return `${short}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  const text = x.toFixed(digits - 1 - power);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A character that Python counts as space. */
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

const isBlank = (text) => Array.from(text).every((character) => SPACE.test(character));

return { float, repr, general, SPACE, isBlank };
})();

const module4 = await (async () => {
// Times and durations in seconds.
const { float, general, repr } = module3;

/** The seconds of each unit that the text of a duration may have. */
const SECONDS = { ms: 1e-3, s: 1, m: 60, min: 60, h: 3600, d: 86400 };
const DURATION = /^([0-9.eE+-]+?)\s*(ms|s|min|m|h|d|)$/;
/** How many of each unit of numbers a second has. */
const PER_SECOND = { s: 1, ms: 1e3, us: 1e6, ns: 1e9 };
/** Larger numbers are hardly UNIX seconds, which reach it in the year 5138; milliseconds did so in 1973. */
const LARGEST_SECONDS = 1e11;
const LOOKS_LIKE = [["ms", "milliseconds"], ["us", "microseconds"], ["ns", "nanoseconds"]];
/** So many half-lives later a thousandth of the past is left: each row stands alone. */
const ALONE = 10;
const FIRST_STEPS = 9;

/** How long something lasts as a number: "30s", or a number as it is, in the unit of the times. */
function duration(name, value) {
  if (typeof value === "number") return value;
  const match = typeof value === "string" ? DURATION.exec(value.trim()) : null;
  const count = match === null ? NaN : Number(match[1]);
  if (Number.isNaN(count)) {
    throw new RangeError(
      `${name} is ${repr(value)}; it must be a duration: give a number, or text such as 500ms, 60s, 5m or 2h`,
    );
  }
  return count * (SECONDS[match[2]] ?? 1);
}

function positiveDuration(name, value) {
  const length = duration(name, value);
  if (length > 0 && length < Infinity) return length;
  throw new RangeError(`${name} is ${repr(value)}; it must be positive and finite`);
}

/** Times as seconds: numbers of a unit are divided. One warning says where the unit looks wrong, unless it is given as "s". */
class TimeReader {
  #perSecond;
  #halfLife;
  #quiet;
  #steps = [];

  /** `rate` is what a time unit leaves of the past. */
  constructor(unit, rate) {
    if (unit !== undefined && !Object.hasOwn(PER_SECOND, unit)) {
      throw new RangeError(`unit is ${repr(unit)}; it must be one of ${Object.keys(PER_SECOND).join(", ")}`);
    }
    this.unit = unit;
    this.#perSecond = PER_SECOND[unit ?? "s"];
    this.#halfLife = Math.log(0.5) / Math.log(rate);
    this.#quiet = unit === "s";
  }

  read(name, time) {
    const isDate = time instanceof Date;
    if (!isDate && typeof time !== "number") throw new TypeError(`${name} is ${repr(time)}; give a number or a Date`);
    const at = isDate ? time.getTime() / 1000 : time / this.#perSecond;
    if (!Number.isFinite(at)) throw new RangeError(`${name} is ${float(at)}; it must be finite`);
    if (!this.#quiet && !isDate && Math.abs(at) > LARGEST_SECONDS) this.#checkUnit(name, time);
    return at;
  }

  /** Look at the step from one row of a stream to the next. */
  see(step) {
    if (this.#quiet || this.#steps === null || !(step > 0) || this.#steps.push(step) < FIRST_STEPS) return;
    const median = this.#steps.sort((a, b) => a - b)[(FIRST_STEPS - 1) / 2];
    const halfLives = median / this.#halfLife;
    this.#steps = null;
    if (!(halfLives > ALONE && halfLives < Infinity)) return;
    const figures = `the median step is ${general(median)}, ${general(halfLives, 3)} half-lives (${general(this.#halfLife)})`;
    this.#warn(
      `time does not fit the filter: ${figures}; each row stands alone and nothing is filtered: give a half-life in the unit ` +
        'of the times, or their unit, such as unit: "ms"',
    );
  }

  #checkUnit(name, time) {
    const [unit, words] = LOOKS_LIKE[Math.floor((Math.log10(Math.abs(time)) - 11) / 3)] ?? [];
    if (unit === undefined) return;
    const remedy = `give unit: "${unit}", or unit: "s" if the numbers are right as they are`;
    this.#warn(`${name} is ${repr(time)}, which looks like ${words} since 1970; ${remedy}`);
  }

  #warn(text) {
    this.#quiet = true; // once is enough
    console.warn(`classfilter: ${text}`);
  }
}

return { duration, positiveDuration, TimeReader };
})();

const module5 = await (async () => {
// Arguments as numbers, and the errors of invalid ones: they name the argument, the value, the place and the remedy.
const { borrow, message, numbers } = module2;
const { core } = module1;
const { float, repr } = module3;
const { positiveDuration } = module4;

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
const BAD_DT = STATUS.BAD_DT;
const BAD_STATE = 18;

/** The array type of a precision. */
function arrayType(dtype) {
  if (dtype === "float64") return Float64Array;
  if (dtype === "float32") return Float32Array;
  throw new RangeError(`dtype is ${typeof dtype === "string" ? dtype : repr(dtype)}; it must be float64 or float32`);
}

/** The classes: the names, or 0 to K - 1 for a count; at least so many. */
function classNames(classes, least = 2, what = "classes") {
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
function checkOptions(what, options, known) {
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) throw new TypeError(`unknown option ${key}; ${what} has ${known.join(", ")}`);
  }
}

function checkNumber(name, value) {
  if (typeof value !== "number") throw new TypeError(`${name} must be a number, got ${repr(value)}`);
  return value;
}

function checkWeight(name, value) {
  if (typeof value !== "number" || !(value >= 0 && value <= 1)) {
    throw new RangeError(`${name} is ${repr(value)}; it must be a number in [0, 1]`);
  }
  return value;
}

function checkSteps(name, value, least = 1) {
  if (!Number.isInteger(value) || value < least) {
    throw new RangeError(`${name} is ${repr(value)}; it counts steps and must be ${least} or more`);
  }
  return value;
}

/** What a time unit leaves: itself, or that of a half-life, or the default. */
function decay(name, rate, halfLife, fallback) {
  if (halfLife === undefined) return rate === undefined ? fallback : checkNumber(name, rate);
  if (rate !== undefined) throw new RangeError(`${name} and halfLife are both given; give one of them`);
  return 0.5 ** (1 / positiveDuration("halfLife", halfLife));
}

/** Whether a value is a list of entries, such as one number per class. */
const isRow = (value) => Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));

function noNumber(name, value) {
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
function takeRow(name, row, to) {
  if (!isRow(row)) throw noNumber(name, row);
  if (row.length !== to.length) throw wrongLength(name, row.length, to.length);
  copyRow(name, row, to, 0);
}

function wrongLength(name, length, classes) {
  const rest = name === "probs" ? "; give one probability per class" : "";
  return new RangeError(`${name} has ${length} entries, but the filter has ${classes} classes${rest}`);
}

/** A list of numbers as an array of a type. */
function vector(name, values, type) {
  if (!isRow(values)) throw noNumber(name, values);
  const copy = new type(values.length);
  copyRow(name, values, copy, 0);
  return copy;
}

/** A square matrix, row after row. */
function squareMatrix(name, rows) {
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
function takeRows(probs, K, type) {
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
function takeNumbers(name, values, rows, type) {
  if (values === undefined || typeof values === "number") return { values: type.of(values ?? 1), stride: 0 };
  const array = vector(name, values, type);
  if (array.length !== rows) {
    const rest = `but probs has ${rows} rows; give one number, or one per row`;
    throw new RangeError(`${name} has ${array.length} entries, ${rest}`);
  }
  return { values: array, stride: 1 };
}

/** Settings and states that the core refuses; of an option among `options`, with its value. */
function settingsError(status, options = {}) {
  const setting = SETTINGS[status];
  if (setting === undefined) return new RangeError(message(status));
  const { option, each, rule } = setting;
  const value = options[option];
  if (value === undefined) return new RangeError(`${each ?? option} ${rule}`);
  const [text, what] = each === undefined ? [float(value), "it"] : [`[${Array.from(value, float).join(", ")}]`, "each entry"];
  return new RangeError(`${option} is ${text}; ${what} ${rule}`);
}

/** The error of an update that failed; `row` is undefined for a single one. */
function rowError(status, row, probs, beta, dt) {
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
function checkRow(row) {
  const [observedAt] = borrow(row.length * Float64Array.BYTES_PER_ELEMENT);
  numbers(Float64Array, observedAt, row.length).set(row);
  const status = core.check_row(row.length, observedAt);
  if (status !== 0) throw rowError(status, undefined, row, 1, 0);
}

return { BAD_DT, BAD_STATE, arrayType, classNames, checkOptions, checkNumber, checkWeight, checkSteps, decay, isRow, noNumber, takeRow, vector, squareMatrix, takeRows, takeNumbers, settingsError, rowError, checkRow };
})();

const module6 = await (async () => {
// What a classifier tends to output in each class; it corrects the outputs.
const { borrow, numbers } = module2;
const { rowError, squareMatrix, takeRows, vector } = module5;
const { core } = module1;
const { float, repr } = module3;

const MIN_ENTRY = 1e-9;

class Channel {
  #matrix;
  #prior;
  #logMatrix;
  #logPrior;

  constructor(matrix, prior) {
    const counts = squareMatrix("matrix", matrix);
    const K = matrix.length;
    const invalid = counts.findIndex((count) => !(Number.isFinite(count) && count >= 0));
    if (invalid >= 0) {
      const place = `matrix, row ${Math.floor(invalid / K)}, column ${invalid % K}`;
      throw new RangeError(`${place}: it is ${float(counts[invalid])}; give counts, 0 or more`);
    }
    if (K < 2) throw new RangeError(`matrix has ${K} row; there are two classes or more`);
    for (let k = 0; k < K; k++) {
      if (!(sum(counts.subarray(k * K, (k + 1) * K)) > 0)) {
        throw new RangeError(`matrix, row ${k}: it is all 0; give counts of the outputs there`);
      }
    }
    const shares = prior === undefined ? new Float64Array(K).fill(1) : vector("prior", prior, Float64Array);
    if (shares.length !== K || !shares.every(Number.isFinite)) {
      throw new RangeError(`prior is ${repr(prior)}; it must be ${K} numbers, one per class`);
    }
    const least = shares.indexOf(Math.min(...shares));
    if (shares[least] <= 0) {
      throw new RangeError(`prior, entry ${least}: it is ${float(shares[least])}; a share must be positive`);
    }
    let means = normalised(counts, K);
    // Entries that were raised once stay, so that a saved channel is restored to the bit.
    if (means.some((mean) => mean < MIN_ENTRY / 2)) {
      means = normalised(means.map((mean) => Math.max(mean, MIN_ENTRY)), K);
    }
    this.#matrix = means;
    this.#prior = normalised(shares, K);
    this.#logMatrix = means.map((_, i) => core.log_f64(means[(i % K) * K + Math.floor(i / K)])); // transposed
    this.#logPrior = this.#prior.map((share) => core.log_f64(Math.max(share, 1e-300)));
  }

  /** Mean output in each class; each row sums to 1. */
  get matrix() {
    const K = this.#prior.length;
    return Array.from({ length: K }, (_, k) => Array.from(this.#matrix.subarray(k * K, (k + 1) * K)));
  }

  /** Frequency of each class. */
  get prior() {
    return Array.from(this.#prior);
  }

  /** Correct one output, a list of them, or a typed array of whole rows, in the precision of that array. */
  apply(probs) {
    const K = this.#prior.length;
    const type = probs instanceof Float32Array ? Float32Array : Float64Array;
    const single = Array.isArray(probs) && probs.length > 0 && !probs.some((row) => typeof row === "object" && row !== null);
    const observed = single ? this.#row(probs, type) : takeRows(probs, K, type);
    const out = this.#apply(observed, type);
    if (single || ArrayBuffer.isView(probs)) return out;
    return Array.from({ length: probs.length }, (_, i) => out.subarray(i * K, (i + 1) * K));
  }

  #row(probs, type) {
    const row = vector("probs", probs, type);
    const K = this.#prior.length;
    if (row.length === K) return row;
    const rest = `it must be (T, ${K}) or (${K},): the channel has ${K} classes`;
    throw new RangeError(`probs has shape (${row.length},); ${rest}`);
  }

  #apply(observed, type) {
    const K = this.#prior.length;
    const row = K * type.BYTES_PER_ELEMENT;
    const parts = [K * row, row, observed.byteLength, observed.byteLength, 4];
    const [matrixAt, priorAt, observedAt, outAt, rowAt] = borrow(...parts);
    numbers(type, matrixAt, K * K).set(this.#logMatrix);
    numbers(type, priorAt, K).set(this.#logPrior);
    numbers(type, observedAt, observed.length).set(observed);
    const apply = type === Float64Array ? core.channel_apply_f64 : core.channel_apply_f32;
    const status = apply(K, matrixAt, priorAt, observed.length / K, observedAt, outAt, rowAt);
    if (status !== 0) {
      const i = new Uint32Array(core.memory.buffer, rowAt, 1)[0];
      throw rowError(status, i, observed.subarray(i * K, (i + 1) * K), 1, 1);
    }
    return numbers(type, outAt, observed.length).slice();
  }
}

/** Rows that sum to 1; those that already do, up to rounding, stay as they are. */
function normalised(rows, K) {
  const scaled = new Float64Array(rows.length);
  for (let start = 0; start < rows.length; start += K) {
    const row = rows.subarray(start, start + K);
    const total = sum(row);
    scaled.set(Math.abs(total - 1) < 1e-13 * K ? row : row.map((entry) => entry / total), start);
  }
  return scaled;
}

/** The sum in the order of NumPy, for the same bits: eight at a time, and halves of long rows. */
function sum(row) {
  const n = row.length;
  if (n < 8) return row.reduce((total, entry) => total + entry, 0);
  if (n > 128) {
    const half = Math.floor(n / 2) - (Math.floor(n / 2) % 8);
    return sum(row.subarray(0, half)) + sum(row.subarray(half));
  }
  const r = row.slice(0, 8);
  const whole = n - (n % 8);
  for (let i = 8; i < whole; i++) r[i % 8] += row[i];
  const total = r[0] + r[1] + (r[2] + r[3]) + (r[4] + r[5] + (r[6] + r[7]));
  return row.subarray(whole).reduce((rest, entry) => rest + entry, total);
}

return { Channel };
})();

const module7 = await (async () => {
// Predictions as people have them: numbers in order or by name, a class, a class and how sure it is.
const { isRow, noNumber } = module5;
const { repr } = module3;

/**
 * How probable a class is that comes without confidence, from a source without a channel; the others share the rest. It is
 * that of Python.
 */
const DEFAULT_RELIABILITY = 0.7;

/**
 * One prediction as numbers in the order of the classes; numbers without names are returned as they are. A class, by name or
 * by index, counts with its confidence; `certain` is for a source with a channel, which says how often it is right.
 */
function prediction(probs, classes, { confidence, certain = false, row } = {}) {
  const place = row === undefined ? "" : ` in row ${row}`;
  if (probs === null || typeof probs === "string" || Number.isInteger(probs)) {
    const k = indexOf(probs, classes, place);
    const top = confidence === undefined || k < 0 ? (certain ? 1 : DEFAULT_RELIABILITY) : checkConfidence(confidence);
    return classes.map((_, i) => (k < 0 ? NaN : i === k ? top : (1 - top) / (classes.length - 1)));
  }
  if (confidence !== undefined) {
    throw new RangeError(
      "confidence is given, but probs holds no class; give a class, by name or by index, or leave confidence out",
    );
  }
  if (isRow(probs)) return probs;
  if (typeof probs?.then === "function") throw new TypeError(`probs${place} is a promise; await it`);
  if (typeof probs !== "object" || ArrayBuffer.isView(probs)) throw noNumber("probs", probs);
  return byName(probs instanceof Map ? probs : new Map(Object.entries(probs)), classes, place);
}

/** Predictions of many rows; numbers without names are returned as they are. */
function predictions(rows, classes) {
  const plain = !Array.isArray(rows) || rows.every(isRow) || rows.every((row) => row === null || typeof row === "number");
  return plain ? rows : rows.map((probs, row) => (isRow(probs) ? probs : prediction(probs, classes, { row })));
}

/** The index of a class; -1 where there is none. */
function indexOf(label, classes, place) {
  if (label === null || label === "") return -1;
  const k = typeof label === "number" ? label : classes.findIndex((name) => String(name) === label);
  if (k < classes.length && (k >= 0 || label === -1)) return k;
  const remedy = `give a name, an index from 0 to ${classes.length - 1}, or -1 where it is unknown`;
  throw new RangeError(`probs${place} is ${repr(label)}; the classes are ${repr(classes.map(String))}: ${remedy}`);
}

function checkConfidence(confidence) {
  if (typeof confidence === "number" && confidence >= 0 && confidence <= 1) return confidence;
  const remedy = confidence > 1 && confidence <= 100 ? ": divide percentages by 100" : "";
  throw new RangeError(`confidence is ${repr(confidence)}; it must lie in [0, 1]${remedy}`);
}

/** Numbers by the names of the classes, or all by p_<class>, in the order of the classes. */
function byName(given, classes, place) {
  const wanted = classes.map(String);
  const texts = [...given.keys()].map(String);
  const values = [...given.values()];
  for (const names of [texts, texts.map((text) => (text.startsWith("p_") ? text.slice(2) : null))]) {
    const order = wanted.map((name) => names.indexOf(name));
    if (texts.length === wanted.length && !order.includes(-1)) return order.map((at) => values[at]);
  }
  const isThere = (name) => texts.includes(name) || texts.includes(`p_${name}`);
  const parts = {
    missing: wanted.filter((name) => !isThere(name)),
    unknown: texts.filter((text) => !wanted.includes(text.replace(/^p_/, ""))),
  };
  const rule = Object.entries(parts).filter(([, names]) => names.length > 0).map(([what, names]) => `${what}: ${repr(names)}`);
  throw new RangeError(
    `probs${place} names ${repr(texts)}, but the classes are ${repr(wanted)}; ` +
      [...(rule.length > 0 ? [rule.join(", ")] : []), "name each class once, and no other"].join(": "),
  );
}

return { prediction, predictions };
})();

const module8 = await (async () => {
// What the two filters share: a state, and the calls that change it.
const { numbers, place } = module2;
const { checkNumber, isRow, rowError, settingsError, takeNumbers, takeRow, takeRows } = module5;
const { core } = module1;
const { prediction, predictions } = module7;

const ROWS_AT_A_TIME = 4096;
const NOTHING = Object.freeze({});

class Filter {
  #kind;
  #names;
  #type;
  #block;
  #call;
  #start;
  #state;
  #sizes;
  #temperature;
  #views = null;

  /**
   * @param classes  The names of the classes.
   * @param kind     "dirichlet" or "sticky": how the functions of the core begin.
   * @param type     Float64Array or Float32Array.
   * @param block    The settings, as the core prepared them.
   * @param scratch  The bytes of memory that a call needs.
   * @param start    The numbers of the state before any data.
   * @param temperature  Of what is returned; 1 changes nothing.
   */
  constructor(classes, kind, type, block, scratch, start, temperature) {
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
    this.#temperature = temperature;
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
function argmax(values) {
  let best = 0;
  for (let k = 1; k < values.length; k++) if (values[k] > values[best]) best = k;
  return best;
}

return { Filter, argmax };
})();

const module9 = await (async () => {
// The Dirichlet filter: the Bayesian filter of "Classification Filtering" (Bayram, MLSP 2025).
const { Block, borrow, numbers } = module2;
const { arrayType, checkNumber, checkOptions, classNames, decay, settingsError, vector } = module5;
const { Filter, argmax } = module8;
const { core } = module1;
const { float, repr } = module3;

const OPTIONS = [
  "gamma", "halfLife", "estimate", "floor", "anchor", "prior", "priorWeight", "maxConcentration", "tolerance",
  "bounded", "temperature", "dtype",
];

class DirichletFilter extends Filter {
  #options;

  constructor(classes, options = {}) {
    checkOptions("DirichletFilter", options, OPTIONS);
    const names = classNames(classes);
    const K = names.length;
    const gamma = decay("gamma", options.gamma, options.halfLife, 0.9);
    const { estimate = "mode", floor = 1e-3, anchor = 0, priorWeight = 1, tolerance = 0 } = options;
    const { bounded = true, temperature = 1, dtype = "float64" } = options;
    if (estimate !== "mode" && estimate !== "mean") {
      throw new RangeError(`estimate is ${repr(estimate)}; it must be "mode" or "mean"`);
    }
    if (typeof bounded !== "boolean") throw new RangeError(`bounded is ${repr(bounded)}; it must be true or false`);
    const type = arrayType(dtype);
    checkNumber("floor", floor);
    const largest = Math.max(1e6, 3 / Math.max(floor, 1e-30), 10 * K);
    const { maxConcentration = Math.min(largest, type === Float32Array ? 1e6 : 1e12) } = options;
    const prior = vector("prior", options.prior ?? new Array(K).fill(1), type);
    if (prior.length !== K) {
      throw new RangeError(
        `prior has shape (${prior.length},); it must have one entry per class, shape (${K},)`,
      );
    }
    checkNumber("priorWeight", priorWeight);
    if (!(priorWeight > 0)) {
      throw new RangeError(
        `priorWeight is ${repr(priorWeight)}; it must be positive: without it the first observation has no mode`,
      );
    }
    for (const [name, value] of Object.entries({ anchor, maxConcentration, tolerance, temperature })) {
      checkNumber(name, value);
    }
    const suffix = type === Float64Array ? "f64" : "f32";
    const size = core[`dirichlet_size_${suffix}`](K);
    const [block, priorAt] = borrow(size, prior.byteLength);
    numbers(type, priorAt, K).set(prior);
    const status = core[`dirichlet_prepare_${suffix}`](
      block, K, priorAt, gamma, floor, anchor, maxConcentration, estimate === "mean", tolerance, bounded,
    );
    if (status !== 0) throw settingsError(status, { gamma, floor, anchor, maxConcentration, tolerance, prior });
    if (priorWeight > 1e9) throw new RangeError(`priorWeight is ${float(priorWeight)}; it must lie in [0, 1e9]`);
    const scratch = core[`dirichlet_scratch_${suffix}`](K);
    super(names, "dirichlet", type, new Block(size), scratch, [priorWeight, ...prior], temperature);
    this.#options = {
      gamma, estimate, floor, anchor, prior: Array.from(prior), priorWeight, maxConcentration, tolerance, bounded, temperature,
      dtype,
    };
  }

  /** The options that make the same filter. */
  get options() {
    return structuredClone(this.#options);
  }

  /** The most probable class, that of the largest alpha. */
  get label() {
    return this.classes[argmax(this._numbers().subarray(1))];
  }

  /** All that the filter remembers; assign it to restore. */
  get state() {
    const [eta, ...alpha] = this._numbers();
    return { eta, alpha: arrayType(this.dtype).from(alpha) };
  }

  set state({ eta, alpha }) {
    checkNumber("eta", eta);
    const values = vector("alpha", alpha, arrayType(this.dtype));
    if (values.length !== this.classes.length) {
      throw new RangeError(`alpha has ${values.length} entries, but the filter has ${this.classes.length} classes`);
    }
    this._restore([eta, ...values]);
  }

  /** An independent filter with the same settings, in the same state. */
  copy() {
    const copy = new DirichletFilter(this.classes, this.#options);
    copy.state = this.state;
    return copy;
  }
}

return { DirichletFilter };
})();

const module10 = await (async () => {
// Scores of several labels at once: each lies in [0, 1] by itself, and they need not sum to 1.
const { checkWeight, isRow } = module5;
const { prediction } = module7;
const { float, repr } = module3;

/** One score per label, in order or by name, as numbers of a type; NaN where a label was not observed. `row` is for errors. */
function scoreRow(scores, labels, type, row) {
  const L = labels.length;
  const place = row === undefined ? "" : ` in row ${row}`;
  const refused = (problem, rule) => new RangeError(`scores${place} ${problem}; it must be ${rule}`);
  const noNumbers = () => refused(`is ${repr(scores)}`, `${L} numbers: give one score per label, NaN where there is none`);
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
      const name = repr(String(labels[i]));
      const where = row === undefined ? `scores[${name}]` : `scores in row ${row}, class ${name},`;
      const rule = "it must lie in [0, 1]: percentages need a division by 100, logits a sigmoid";
      throw new RangeError(`${where} is ${float(score)}; ${rule}`);
    }
    values[i] = score;
  }
  return values;
}

/** The scores of many rows, one after the other; a typed array holds whole rows, and of one label a list of numbers is enough. */
function scoreRows(rows, labels, type) {
  const L = labels.length;
  const isFlat = ArrayBuffer.isView(rows) && isRow(rows);
  if (isFlat && rows.length % L !== 0) {
    throw new RangeError(`scores has ${rows.length} numbers, not whole rows of ${L}; give one score per label`);
  }
  if (!isFlat && !Array.isArray(rows)) {
    throw new TypeError(`scores is ${repr(rows)}; it must be numbers, (T, ${L}): give one score per label, NaN where there is none`);
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
function pairs(scores) {
  const rows = new scores.constructor(2 * scores.length);
  scores.forEach((score, i) => {
    rows[2 * i] = 1 - score;
    rows[2 * i + 1] = score;
  });
  return rows;
}

/** The weight of a source, checked: a number for all labels, or one for each, in order. */
function weightOfLabels(name, weight, labels) {
  if (typeof weight !== "object" || weight === null) return checkWeight(name, weight);
  const each = ofEach(name, weight, labels);
  return labels.map((label) => checkWeight(`beta[${repr(String(label))}]`, each.get(String(label))));
}

/** The channels of a source, checked: for each label one, or null. */
function channelsOfLabels(source, channel, labels) {
  const name = `channel[${repr(source)}]`;
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
function corrected(scores, channels) {
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
    throw new RangeError(`${name} names ${repr([...named.keys()])}, but the labels are ${repr(wanted)}; name each label once`);
  }
  return named;
}

return { scoreRow, scoreRows, pairs, weightOfLabels, channelsOfLabels, corrected };
})();

const module11 = await (async () => {
// The compiled part of an event rule. It never changes, and a state is an array of bytes that never changes either.
const { Block, borrow, numbers, place } = module2;
const { rowError, settingsError } = module5;
const { core } = module1;
const { pairs } = module10;
const { float } = module3;

const ROWS_AT_A_TIME = 4096;
/** A state is begun with so many nodes and slots, and gets twice as many where they are full. */
const FIRST_NODES = 16;
const FIRST_SLOTS = 16;
/** A row, or the end of a stream, gives so many events at most: two more than there are nodes in the largest state. */
const MOST_EVENTS = 4096 + 2;
/** Start, end and probability as doubles, then the class and whether it was forced. */
const EVENT_BYTES = 32;
const BAD_TIME = 27;
const MOST_PIECES = 1e6;
const FUNCTIONS = ["bytes", "start", "last", "needed", "grow", "run", "finish", "current", "piece"];

class RuleCore {
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
   * Take rows, one after the other in an array: the new state, and the events that are final by now. An error does not number
   * a row that is `alone`.
   */
  run(state, times, probs, alone = false) {
    const K = this.#classes;
    const rows = times.length;
    const most = Math.min(rows, ROWS_AT_A_TIME);
    const found = [];
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
      if (events > 0) this.#read(memory, events, found);
      row += taken;
      if (row < rows && this.#call.needed(block, stateAt) > 0) memory = this.#load(memory.state.slice(), most);
    }
    return { state: memory.state.slice(), events: found };
  }

  /** End the stream: its last events. */
  finish(state) {
    const memory = this.#load(state);
    const found = [];
    this.#call.finish(memory.block, memory.stateAt, memory.eventsAt, memory.countsAt);
    this.#read(memory, memory.counts[0], found);
    return found;
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
    if (needed === 0) return memory;
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
    const parts = [8, rows * 8, rows * K * size, (rows + MOST_EVENTS) * EVENT_BYTES, bytes, bytes];
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

  /** Add so many events to a list, divided where they are too long. */
  #read({ block, eventsAt, copyAt }, count, found) {
    for (const [i, event] of eventsFrom(eventsAt, count).entries()) {
      const length = event.end - event.start;
      if (length / this.#longest > MOST_PIECES) {
        throw new RangeError(`maxDuration is ${float(this.#longest)}; it would divide an event into more than 1e6 pieces`);
      }
      if (!(length > this.#longest)) {
        found.push(event);
        continue;
      }
      for (let n = 0; this.#call.piece(block, eventsAt + i * EVENT_BYTES, n, copyAt) !== 0; n++) {
        found.push(...eventsFrom(copyAt, 1));
      }
    }
  }
}

/** The rules of several labels, with the methods of `RuleCore`: each label is decided by itself, off and on. */
class LabelRules {
  #rules;
  #count;

  /** @param rules Of each label, for the classes off and on; null where no event of it is reported. */
  constructor(rules) {
    this.#count = rules.length;
    this.#rules = rules.map((rule, label) => ({ rule, label })).filter(({ rule }) => rule !== null);
  }

  start() {
    return this.#rules.map(({ rule }) => rule.start());
  }

  /** `probs` are the probabilities of on; events are in order of their end, then of their label. */
  run(states, times, probs, alone) {
    const L = this.#count;
    const parts = this.#rules.map(({ rule, label }, i) => {
      const on = probs.constructor.from(times, (_, row) => probs[row * L + label]);
      // A sum may round to a little more than 1; what is not near it, the core refuses.
      const { state, events } = rule.run(states[i], times, pairs(on).map((p) => Math.max(p, 0)), alone);
      return { state, events: ofLabel(label, events) };
    });
    return { state: parts.map(({ state }) => state), events: parts.flatMap(({ events }) => events).sort(byEnd) };
  }

  finish(states) {
    return this.#rules.flatMap(({ rule, label }, i) => ofLabel(label, rule.finish(states[i]))).sort(byEnd);
  }

  current(states) {
    return this.#rules.flatMap(({ rule, label }, i) => ofLabel(label, rule.current(states[i])));
  }
}

const ofLabel = (label, events) => events.map((event) => ({ ...event, label }));
const byEnd = (a, b) => a.end - b.end || a.label - b.label;

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
      ? `it must not be before the last one, ${float(last)}: put the rows in order of time`
      : "it must be finite, and at most 1e30 after the last one";
  return new RangeError(`time${row === undefined ? "" : ` in row ${row}`} is ${float(time)}; ${rule}`);
}

return { RuleCore, LabelRules };
})();

const module12 = await (async () => {
// The rule that turns probabilities into events: expected time right, less a cost per change.
const { checkOptions, isRow } = module5;
const { LabelRules, RuleCore } = module11;
const { float, repr } = module3;
const { duration } = module4;

const OPTIONS = [
  "changeCost", "leaveCost", "minDuration", "mergeGap", "bias", "evidence", "minProbability", "pad", "shift", "ignore", "maxGap",
  "maxDuration", "maxDelay",
];
const EVIDENCE = ["time", "log"];
/** The smallest probability that `evidence: "log"` takes the logarithm of. */
const FLOOR = 1e-3;
const BY_CLASS = ["changeCost", "leaveCost", "minDuration", "bias"];
const OPTIONAL = ["maxGap", "maxDuration", "maxDelay"];

/** How events are decided: the path of classes with the most expected time right. */
class EventRule {
  #compiled = {};

  /** Costs and durations are numbers in the unit of the times, or text such as "30s"; some are for all classes, or by class. */
  constructor(options = {}) {
    if (typeof options !== "object" || options === null || isRow(options)) {
      throw new TypeError(`options is ${repr(options)}; give it as { changeCost: "30s" }`);
    }
    checkOptions("EventRule", options, OPTIONS);
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined && value !== null));
    const { changeCost = 0, leaveCost = 0, minDuration = 0, mergeGap, bias = 0 } = given;
    const { evidence = "time", minProbability, pad = [0, 0], shift = 0, ignore = [] } = given;
    this.changeCost = byClass("changeCost", changeCost, span);
    this.leaveCost = byClass("leaveCost", leaveCost, span);
    this.minDuration = byClass("minDuration", minDuration, span);
    this.mergeGap = mergeGap === undefined ? undefined : byClass("mergeGap", mergeGap, span);
    this.bias = byClass("bias", bias, checkBias);
    this.evidence = evidence;
    this.minProbability = minProbability;
    if (!isRow(pad) || pad.length !== 2) {
      throw new RangeError(`pad is ${repr(pad)}; it must be a pair: the time before and the time after`);
    }
    this.pad = Object.freeze(Array.from(pad, (side) => span("pad", side)));
    this.shift = span("shift", shift);
    const names = typeof ignore === "string" || typeof ignore[Symbol.iterator] !== "function" ? [ignore] : [...ignore];
    this.ignore = Object.freeze([...new Set(names.map(String))]);
    for (const name of OPTIONAL) {
      this[name] = given[name] === undefined ? undefined : span(name, given[name]);
      if (this[name] === 0) throw new RangeError(`${name} is 0; it must not be 0: give a positive duration, or null`);
    }
    if (!EVIDENCE.includes(evidence)) {
      throw new RangeError(`evidence is ${repr(evidence)}; it must be one of ${EVIDENCE.join(", ")}`);
    }
    if (minProbability !== undefined && !(typeof minProbability === "number" && minProbability > 0 && minProbability < 1)) {
      throw new RangeError(`minProbability is ${repr(minProbability)}; it must be a number between 0 and 1`);
    }
    Object.freeze(this);
  }

  /** The options that make the same rule: those that are not the default, and the cost of a change. */
  get options() {
    const isDefault = {
      leaveCost: 0, minDuration: 0, bias: 0, evidence: "time", pad: "0,0", shift: 0, ignore: "",
    };
    const entries = OPTIONS.map((name) => [name, this[name]]).filter(([name, value]) => {
      const plain = isRow(value) ? value.join() : value;
      return name === "changeCost" || (value !== undefined && plain !== isDefault[name]);
    });
    return structuredClone(Object.fromEntries(entries));
  }

  /** Raise for a class that is named here and is not one of these; labels that may be true at once are `independent`. */
  check(classes, independent = false) {
    const names = classes.map(String);
    if (isObject(this.mergeGap) && !independent) {
      throw new RangeError(
        `mergeGap is ${repr(this.mergeGap)}, but the classes exclude each other; only several labels at once have gaps of ` +
          "their own: give one duration, or minDuration of what is between",
      );
    }
    for (const argument of [...BY_CLASS, "mergeGap"]) {
      if (isObject(this[argument])) requireKnown(argument, Object.keys(this[argument]), names);
    }
    requireKnown("ignore", this.ignore, names);
    const missing = names.find((name) => isObject(this.changeCost) && !Object.hasOwn(this.changeCost, name));
    if (missing !== undefined) {
      throw new RangeError(`changeCost has no cost of entering ${repr(missing)}; name every class, or give one number for all`);
    }
    const longest = Math.max(...numbersOf(this.minDuration, names));
    if (this.maxDelay < longest) {
      throw new RangeError(
        `maxDelay is ${float(this.maxDelay)}; it must not be below the longest minimum duration, ${float(longest)}`,
      );
    }
    if (names.every((name) => this.ignore.includes(name))) throw new RangeError("ignore has all classes; leave one of them out");
  }

  /** The rule of the core for these classes, in their order; of `independent` ones, one for each label. */
  _compiled(classes, type, independent = false) {
    const names = classes.map(String);
    const key = JSON.stringify([names, type.name, independent]);
    if (this.#compiled.key !== key) {
      this.check(classes, independent);
      this.#compiled = { key, core: independent ? this.#ofLabels(names, type) : this.#ofClasses(names, type) };
    }
    return this.#compiled.core;
  }

  #ofLabels(names, type) {
    const lane = (name) => this.#lane(name)._compiled(["off", "on"], type);
    return new LabelRules(names.map((name) => (this.ignore.includes(name) ? null : lane(name))));
  }

  /** The rule of one of several labels at once: of two classes, off and on. */
  #lane(label) {
    const of = (given) => (isObject(given) ? given[label] : given);
    return new EventRule({
      ...this.options, changeCost: of(this.changeCost), mergeGap: of(this.mergeGap), ignore: "off",
      leaveCost: { on: of(this.leaveCost) ?? 0 }, minDuration: { on: of(this.minDuration) ?? 0 }, bias: { on: of(this.bias) ?? 0 },
    });
  }

  #ofClasses(names, type) {
    const enter = numbersOf(this.changeCost, names);
    const [minProbability, maxGap, maxDelay, maxDuration] = [
      this.minProbability ?? 0, this.maxGap ?? Infinity, this.maxDelay ?? Infinity, this.maxDuration ?? Infinity,
    ];
    if (minProbability > 0 && minProbability < 1e-30) {
      throw new RangeError(`minProbability is ${float(minProbability)}; it must be at least 1e-30`);
    }
    if (minProbability > 0) enter.push(Math.max(...enter)); // "uncertain" costs as the dearest class to enter
    const settings = {
      floor: FLOOR, minProbability, maxGap, maxDelay, maxDuration, mergeGap: this.mergeGap ?? -1,
      padBefore: this.pad[0], padAfter: this.pad[1], shift: this.shift,
    };
    const each = {
      enter, leave: numbersOf(this.leaveCost, names), bias: numbersOf(this.bias, names),
      minDuration: numbersOf(this.minDuration, names), ignore: names.map((name) => Number(this.ignore.includes(name))),
    };
    return new RuleCore(names.length, type, this.evidence === "log", settings, each);
  }
}

const isObject = (value) => typeof value === "object" && value !== null;

/** One number, or one for each class that is named, checked. */
function byClass(argument, value, check) {
  if (!isObject(value) || isRow(value)) return check(argument, value);
  const checked = Object.create(null);
  for (const [name, x] of value instanceof Map ? value : Object.entries(value)) {
    checked[name] = check(`${argument}[${repr(String(name))}]`, x);
  }
  return Object.freeze(checked);
}

/** A duration that is neither negative nor infinite. */
function span(argument, value) {
  const length = duration(argument, value);
  if (length >= 0 && length < Infinity) return length;
  throw new RangeError(`${argument} is ${repr(value)}; it must not be negative, and finite`);
}

function checkBias(argument, value) {
  if (typeof value === "number" && value >= -1 && value <= 1) return value;
  throw new RangeError(`${argument} is ${repr(value)}; it must be a number from -1 to 1`);
}

function requireKnown(argument, named, classes) {
  const unknown = named.find((name) => !classes.includes(name));
  if (unknown !== undefined) throw new RangeError(`${argument} names ${repr(unknown)}; the classes are ${repr(classes)}`);
}

/** The number of each class; 0 where it is not named. */
function numbersOf(value, names) {
  return names.map((name) => (isObject(value) ? (value[name] ?? 0) : value));
}

return { EventRule };
})();

const module13 = await (async () => {
// Several labels at once: one filter of two classes, off and on, for each label.
const { arrayType, checkNumber, checkOptions, classNames, isRow, takeNumbers, vector } = module5;
const { pairs, scoreRow, scoreRows } = module10;
const { repr } = module3;

const NOTHING = Object.freeze({});

class MultiLabelFilter {
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
    if (precisions.length > 1) throw new RangeError(`filter has filters of ${repr(precisions)}; give one dtype`);
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
    throw new RangeError(`filter names ${repr([...named.keys()])}, but the labels are ${repr(labels)}; name each label once`);
  }
  const fresh = new Map();
  return labels.map((label) => {
    const filter = named === null ? given : named.get(String(label));
    const K = typeof filter?.update === "function" ? filter.classes?.length : undefined;
    if (K !== 2) {
      const what = K === undefined ? `is ${repr(filter)}` : `of ${repr(label)} has ${K} classes`;
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

return { MultiLabelFilter };
})();

const module14 = await (async () => {
// Policies: which classifier to call next.
const { Block, borrow, message, numbers, place } = module2;
const { BAD_DT, BAD_STATE, arrayType, checkNumber, checkOptions, checkSteps, settingsError, vector } = module5;
const { core } = module1;
const { float, general, repr } = module3;
const { positiveDuration } = module4;

/** The share of a duration that rounding may lose. */
const ROUNDING = 1e-9;

/** The paper's policy: the strong classifier at regular intervals, the weak one in between. */
class Periodic {
  #steps = 0;

  constructor(options = {}) {
    checkOptions("Periodic", options, ["every", "seconds", "strong", "weak"]);
    const { every, seconds, strong = "strong", weak = "weak" } = options;
    requireTwo(strong, weak);
    if (every !== undefined && seconds !== undefined) {
      throw new RangeError("every and seconds are both given; give one of them");
    }
    this.every = seconds === undefined ? checkSteps("every", every ?? 12) : undefined;
    this.seconds = seconds === undefined ? undefined : positiveDuration("seconds", seconds);
    Object.assign(this, { strong, weak });
  }

  choose(probs, since = {}) {
    const due =
      this.every === undefined
        ? timeSince(since, this.strong) >= this.seconds * (1 - ROUNDING)
        : this.#steps === 0 || this.#steps >= this.every;
    return due ? this.strong : this.weak;
  }

  called(source, observation, probs, dt) {
    this.#steps = source === this.strong ? 1 : this.#steps + (this.#steps > 0 ? 1 : 0);
  }

  get state() {
    return { stepsSinceStrong: this.#steps };
  }

  set state({ stepsSinceStrong }) {
    this.#steps = checkSteps("stepsSinceStrong", stepsSinceStrong, 0);
  }

  reset() {
    this.#steps = 0;
  }

  copy() {
    const { every, seconds, strong, weak } = this;
    const copy = new Periodic({ every, seconds, strong, weak });
    copy.state = this.state;
    return copy;
  }
}

const STATE = [
  "thresholdOffset", "step", "stepsSinceStrong", "disagreement", "residualUncertainty", "accruedBudget",
];
const OPTIONS = [
  "budget", "minGap", "maxGap", "cost", "disagreement", "floor", "horizon", "strong", "weak", "dtype",
];

/** Call the strong classifier when it is most informative, and keep to a budget. */
class Adaptive {
  #type;
  #call;
  #block;
  #state;

  constructor(options = {}) {
    if (options instanceof Adaptive) {
      this.#share(options);
      return;
    }
    checkOptions("Adaptive", options, OPTIONS);
    const { budget = 1 / 12, minGap = 2, disagreement = 0.05, floor = 0.02, horizon = 12 } = options;
    const { strong = "strong", weak = "weak", dtype = "float64" } = options;
    requireTwo(strong, weak);
    checkNumber("budget", budget);
    this.minGap = checkSteps("minGap", minGap);
    this.cost = options.cost === undefined ? undefined : checkCosts(options.cost, strong, weak);
    let unit = 1;
    let weakCost = 0;
    if (this.cost === undefined) {
      this.maxGap = defaultMaxGap(budget, this.minGap, options.maxGap);
    } else {
      if (!(budget > 0 && budget < Infinity)) {
        throw new RangeError(`budget is ${repr(budget)}; it is the cost per time unit, above 0 and finite`);
      }
      this.maxGap = checkSteps("maxGap", options.maxGap ?? 60);
      unit = this.cost[strong] - this.cost[weak];
      weakCost = this.cost[weak];
    }
    checkWithin("maxGap", this.maxGap, this.minGap, 1e6);
    checkWithin("disagreement", disagreement, 0, 1e3);
    checkWithin("floor", floor, 1e-4, 1);
    checkWithin("horizon", horizon, 1, 1e6);
    Object.assign(this, { budget, disagreement, floor, horizon, strong, weak, dtype });
    this.#type = arrayType(dtype);
    const suffix = dtype === "float64" ? "f64" : "f32";
    this.#call = Object.fromEntries(
      ["size", "prepare", "start", "choose", "called"].map((name) => [name, core[`adaptive_${name}_${suffix}`]]),
    );
    const size = this.#call.size();
    const [block] = borrow(size);
    const status = this.#call.prepare(
      block, budget / unit, weakCost / unit, this.minGap, this.maxGap, disagreement, floor, horizon,
      this.cost !== undefined,
    );
    if (status !== 0) throw settingsError(status);
    this.#block = new Block(size);
    this.reset();
  }

  /** The source to call now; nothing changes. `since` is the time since the last call of each source. */
  choose(probs, since = {}) {
    const time = checkNumber("since", timeSince(since, this.strong));
    const estimate = vector("probs", probs, this.#type);
    const [block, stateAt, probsAt, strongAt] = this.#place(estimate);
    const status = this.#call.choose(block, stateAt, estimate.length, probsAt, time, strongAt);
    if (status !== 0) throw policyError(status, probs, undefined, "since", time);
    return new Int32Array(core.memory.buffer, strongAt, 1)[0] === 0 ? this.weak : this.strong;
  }

  /** Take note of a call: its output, the estimate before that, and the time since the step before. */
  called(source, observation, probs, dt) {
    checkNumber("dt", dt);
    const estimate = vector("probs", probs, this.#type);
    const observed = vector("observation", observation, this.#type);
    if (observed.length !== estimate.length) {
      const rest = `but probs ${estimate.length}; give one per class`;
      throw new RangeError(`observation has ${observed.length} entries, ${rest}`);
    }
    const [block, stateAt, probsAt, , observedAt] = this.#place(estimate, observed);
    const strong = source === this.strong;
    const status = this.#call.called(block, stateAt, strong, estimate.length, observedAt, probsAt, dt);
    if (status !== 0) throw policyError(status, probs, observation, "dt", dt);
    this.#state.set(numbers(this.#type, stateAt, STATE.length));
  }

  #place(estimate, observed = estimate) {
    const sizes = [this.#block.size, this.#state.byteLength, estimate.byteLength, 4, observed.byteLength];
    const addresses = place(...sizes);
    this.#block.load();
    numbers(this.#type, addresses[1], STATE.length).set(this.#state);
    numbers(this.#type, addresses[2], estimate.length).set(estimate);
    numbers(this.#type, addresses[4], observed.length).set(observed);
    return addresses;
  }

  /** The state, six numbers; assign it to restore. */
  get state() {
    return Object.fromEntries(STATE.map((name, i) => [name, this.#state[i]]));
  }

  set state(state) {
    checkWithin("thresholdOffset", state.thresholdOffset, -1e3, 1e3);
    checkWithin("step", state.step, 0, 1e30);
    checkWithin("disagreement", state.disagreement, 0, 1);
    checkWithin("residualUncertainty", state.residualUncertainty, 0, 1);
    checkWithin("accruedBudget", state.accruedBudget, 0, this.horizon);
    checkSteps("stepsSinceStrong", state.stepsSinceStrong, 0);
    this.#state = this.#type.from(STATE, (name) => state[name]);
  }

  /** Return to the state before any call. */
  reset() {
    const [stateAt] = borrow(STATE.length * this.#type.BYTES_PER_ELEMENT);
    this.#call.start(stateAt);
    this.#state = numbers(this.#type, stateAt, STATE.length).slice();
  }

  /** An independent policy with the same settings, in the same state. */
  copy() {
    return new Adaptive(this);
  }

  /** Take the settings of another one, which never change, and its state. */
  #share(other) {
    Object.assign(this, other);
    this.#type = other.#type;
    this.#call = other.#call;
    this.#block = other.#block;
    this.#state = other.#state.slice();
  }
}

/** The most steps from one strong call to the next; the budget must fit it. */
function defaultMaxGap(budget, minGap, maxGap) {
  if (!(budget > 0 && budget < 1)) {
    const rest = "it is the share of strong calls, above 0 and below 1 (with cost, it may be more)";
    throw new RangeError(`budget is ${repr(budget)}; ${rest}`);
  }
  const steps = checkSteps("maxGap", maxGap ?? Math.ceil(5 / budget));
  if (!(minGap <= 1 / budget && 1 / budget <= steps)) {
    throw new RangeError(
      `budget is ${repr(budget)}, one strong call in ${general(1 / budget, 3)} steps, which minGap, ${minGap}, ` +
        `and maxGap, ${steps}, do not allow; it must lie between`,
    );
  }
  return steps;
}

/** The time since the last call of a source; infinite if there was none. */
function timeSince(since, source) {
  return Object.hasOwn(since, source) ? since[source] : Infinity;
}

function checkWithin(name, value, low, high) {
  checkNumber(name, value);
  if (!(value >= low && value <= high)) {
    throw new RangeError(`${name} is ${repr(value)}; it must lie in ${general(low)} to ${general(high)}`);
  }
}

function checkCosts(cost, strong, weak) {
  const names = Object.keys(cost);
  if (names.length !== 2 || !names.includes(strong) || !names.includes(weak)) {
    throw new RangeError(`cost names ${repr(names)}; name ${repr(strong)} and ${repr(weak)}`);
  }
  if (!(cost[weak] >= 0 && cost[strong] > cost[weak] && cost[strong] < Infinity)) {
    const rule = `a call of ${repr(strong)} must cost more than one of ${repr(weak)}, and that 0 or more`;
    throw new RangeError(`cost is ${repr(cost)}; ${rule}`);
  }
  return { ...cost };
}

function requireTwo(strong, weak) {
  if (strong === weak) throw new RangeError(`strong and weak are both ${repr(strong)}; name two sources`);
}

function policyError(status, probs, observation, name, time) {
  if (status === BAD_DT) {
    const rest = "it must be finite and not negative: put the steps in order of time";
    return new RangeError(`${name} is ${float(time)}; ${rest}`);
  }
  return new RangeError(
    status === BAD_STATE
      ? `probs is ${repr(probs)}; give the filter's estimate, the probabilities of K classes`
      : `observation is ${repr(observation)}, but ${message(status)}; give probabilities, or NaN only`,
  );
}

return { Periodic, Adaptive };
})();

const module15 = await (async () => {
// The sticky filter: a hidden Markov model whose class tends to stay.
const { Block, borrow, numbers } = module2;
const { arrayType, checkNumber, checkOptions, classNames, decay, settingsError, squareMatrix, vector } = module5;
const { Filter, argmax } = module8;
const { core } = module1;
const { positiveDuration } = module4;

const OPTIONS = ["stay", "halfLife", "prior", "transitions", "interval", "floor", "temperature", "dtype", "prepared"];

class StickyFilter extends Filter {
  #options;

  constructor(classes, options = {}) {
    checkOptions("StickyFilter", options, OPTIONS);
    const names = classNames(classes);
    const K = names.length;
    const { transitions, interval = 1, prepared, floor = 1e-3, temperature = 1, dtype = "float64" } = options;
    const type = arrayType(dtype);
    const suffix = type === Float64Array ? "f64" : "f32";
    const hasRates = transitions !== undefined;
    const stay = hasRates ? 1 : decay("stay", options.stay, options.halfLife, 0.99);
    if (hasRates) checkTransitions(options);
    const prior = vector("prior", options.prior ?? new Array(K).fill(1 / K), type);
    if (prior.length !== K) {
      throw new RangeError(`prior has shape (${prior.length},); it must have one entry per class, shape (${K},)`);
    }
    checkNumber("floor", floor);
    checkNumber("temperature", temperature);
    const rates = hasRates ? square("prepared.rates", prepared.rates, K) : new Float64Array(0);
    const modes = hasRates && prepared.modes ? modeRows(prepared, K, dtype) : null;
    const size = core[`sticky_size_${suffix}`](K, hasRates);
    const scratch = core[`sticky_scratch_${suffix}`](K, hasRates);
    const row = K * type.BYTES_PER_ELEMENT;
    const [block, priorAt, ratesAt, modesAt, matrixAt, scratchAt] = borrow(
      size, row, K * row, (2 + 2 * K) * row, K * row, scratch,
    );
    numbers(type, priorAt, K).set(prior);
    numbers(type, ratesAt, rates.length).set(rates);
    const status = core[`sticky_prepare_${suffix}`](block, K, priorAt, stay, hasRates ? ratesAt : 0, floor);
    if (status !== 0) throw settingsError(status, { stay, floor, prior });
    const start = numbers(type, priorAt, K).slice();
    if (modes !== null) {
      numbers(type, modesAt, modes.length).set(modes);
      core.sticky_set_modes_f64(block, modesAt, prepared.pairs, matrixAt, scratchAt);
    }
    super(names, "sticky", type, new Block(size), scratch, start, temperature);
    const dynamics = hasRates ? { transitions, interval: positiveDuration("interval", interval), prepared } : { stay };
    this.#options = structuredClone({ ...dynamics, prior: Array.from(prior), floor, temperature, dtype });
  }

  /** The options that make the same filter. */
  get options() {
    return structuredClone(this.#options);
  }

  /** The most probable class; of several, the first. */
  get label() {
    return this.classes[argmax(this._numbers())];
  }

  /** All that the filter remembers; assign it to restore. */
  get state() {
    return { probs: this._numbers() };
  }

  set state({ probs }) {
    const values = vector("probs", probs, arrayType(this.dtype));
    if (values.length !== this.classes.length) {
      throw new RangeError(`probs has ${values.length} entries, but the filter has ${this.classes.length} classes`);
    }
    this._restore(values);
  }

  /** An independent filter with the same settings, in the same state. */
  copy() {
    const copy = new StickyFilter(this.classes, this.#options);
    copy.state = this.state;
    return copy;
  }
}

/** The rates of transitions, a logarithm of a matrix, are computed in Python only. */
function checkTransitions({ stay, halfLife, prior, prepared }) {
  if (stay !== undefined || halfLife !== undefined) {
    const other = stay === undefined ? "halfLife" : "stay";
    throw new RangeError(`transitions and ${other} are both given; give one of them`);
  }
  if (prepared?.rates === undefined || prior === undefined) {
    throw new RangeError(
      "transitions need rates and a prior that Python computes: write them with classfilter export --json, and load that",
    );
  }
}

function square(name, rows, K) {
  const matrix = squareMatrix(name, rows);
  if (matrix.length !== K * K) {
    throw new RangeError(`${name} has ${rows.length} rows; it must have one row and one column per class`);
  }
  return matrix;
}

/** The modes of the rates: 2 + 2 K rows of K numbers, in double precision only. */
function modeRows({ modes, pairs }, K, dtype) {
  const fits = Array.isArray(modes) && modes.length === 2 + 2 * K && modes.every((row) => row.length === K);
  if (!fits || dtype !== "float64" || !Number.isInteger(pairs) || pairs < 0 || 2 * pairs > K) {
    throw new RangeError("prepared.modes are for rates in double precision, shape (2 + 2 K, K), with their pairs");
  }
  return vector("prepared.modes", modes.flat(), Float64Array);
}

return { StickyFilter };
})();

const module16 = await (async () => {
// Settings as TOML: what files of settings use of it, and no more. Anything else is refused, with its line.
const { isRow } = module5;
const { float, repr } = module3;

const ESCAPES = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", '"': '"', "\\": "\\" };
const NUMBER = /[+-]?(?:0|[1-9](?:_?[0-9])*)(?:\.[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?/y;

/** The sections of a text as objects without a prototype, so that a key may have any name. */
function parseToml(text) {
  return new Reader(text).read();
}

class Reader {
  #text;
  #at = 0;

  constructor(text) {
    this.#text = text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  }

  read() {
    const root = Object.create(null);
    const titles = new Set();
    let section = root;
    for (this.#skip(); this.#at < this.#text.length; this.#skip()) {
      if (this.#take("[")) {
        const path = this.#path();
        this.#need("]", "a title such as [options] or [channel.weak]");
        if (titles.has(JSON.stringify(path))) this.#fail(`the section [${path.join(".")}] is there twice`);
        titles.add(JSON.stringify(path));
        section = path.reduce((parent, key) => this.#section(parent, key), root);
      } else {
        const key = this.#key();
        this.#need("=", "a key, then = and a value");
        if (Object.hasOwn(section, key)) this.#fail(`${key} is there twice`);
        section[key] = this.#value();
      }
      this.#blank();
      if (this.#at < this.#text.length && this.#text[this.#at] !== "\n") this.#fail("something follows; give it a line of its own");
    }
    return root;
  }

  #section(parent, key) {
    if (!Object.hasOwn(parent, key)) parent[key] = Object.create(null);
    if (typeof parent[key] !== "object" || Array.isArray(parent[key])) this.#fail(`${key} is a value and a section`);
    return parent[key];
  }

  #path() {
    const path = [this.#key()];
    while (this.#take(".")) path.push(this.#key());
    return path;
  }

  #key() {
    this.#blank();
    const character = this.#text[this.#at];
    if (character === '"' || character === "'") return this.#string();
    const [word] = this.#match(/[A-Za-z0-9_-]+/y) ?? this.#fail("a key is letters, digits, _ and -, or text in quotes");
    return word;
  }

  #value() {
    this.#blank();
    const character = this.#text[this.#at];
    if (character === '"' || character === "'") return this.#string();
    if (this.#take("[")) return this.#list();
    const word = this.#match(/true|false/y);
    if (word !== null) return word[0] === "true";
    const number = this.#match(NUMBER);
    if (number === null || /[\w:.+-]/.test(this.#text[this.#at] ?? "")) {
      this.#fail("a value is a number, text in quotes, true, false, or a list of them");
    }
    return Number(number[0].replaceAll("_", ""));
  }

  #list() {
    const items = [];
    for (this.#skip(); !this.#take("]"); this.#skip()) {
      items.push(this.#value());
      this.#skip();
      if (this.#take(",")) continue;
      this.#need("]", "a list has commas between its values and ends with ]");
      break;
    }
    return items;
  }

  #string() {
    const quote = this.#text[this.#at];
    if (this.#text.startsWith(quote.repeat(3), this.#at)) this.#fail("text has no triple quotes here");
    const pattern = quote === "'" ? /'([^'\n]*)'/y : /"((?:[^"\\\n]|\\.)*)"/y;
    const match = this.#match(pattern) ?? this.#fail("text ends in the same line, with the same quote");
    if (/[\x00-\x08\x0b-\x1f\x7f]/.test(match[1])) this.#fail("text has a control character; write it as \\u001f");
    return quote === "'" ? match[1] : match[1].replace(/\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)/g, (_, code) => this.#escape(code));
  }

  #escape(code) {
    if (Object.hasOwn(ESCAPES, code)) return ESCAPES[code];
    const point = code.length > 1 ? Number.parseInt(code.slice(1), 16) : NaN;
    const valid = point < 0xd800 || (point > 0xdfff && point <= 0x10ffff);
    return valid ? String.fromCodePoint(point) : this.#fail(`\\${code} is no escape`);
  }

  #match(pattern) {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match !== null) this.#at = pattern.lastIndex;
    return match;
  }

  #take(character) {
    this.#blank();
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #need(character, what) {
    if (!this.#take(character)) this.#fail(`${repr(character)} is missing: ${what}`);
  }

  #blank() {
    this.#match(/[ \t]*(?:#[^\n]*)?/y);
  }

  /** Past blanks, comments and line ends. */
  #skip() {
    this.#match(/(?:[ \t\n]|#[^\n]*)*/y);
  }

  #fail(why) {
    throw new RangeError(`line ${this.#text.slice(0, this.#at).split("\n").length}: ${why}`);
  }
}

/**
 * A filter, with the weights and channels of its sources and a rule for events, as the TOML that Python's `load` reads. What
 * `load` found of a smoother and of what to expect is written as it was.
 */
function toToml(filter, { beta = {}, channel = {}, rule = null, smoother = null, expected = null } = {}) {
  const names = filter.classes.map((name) => (typeof name === "number" ? String(name) : quoted(name)));
  rule?.check(filter.classes, filter.kind === "multi_label");
  const settings = [...ofRows(filter, beta, channel)];
  if (rule !== null) settings.push(["events", new Map(snakeCased(rule.options))]);
  if (smoother !== null) settings.push(["smoother", smoother]);
  if (expected !== null) settings.push(["expected", expected]);
  return [`classes = [${names.join(", ")}]`, ...section("", settings)].join("\n") + "\n";
}

/** The settings of a filter, its weights and channels; of several labels at once, of all, or of each where they differ. */
function ofRows(filter, beta, channel) {
  if (filter.kind !== "multi_label") return ofClasses(filter, beta, channel);
  const lanes = filter.filters.map((lane, i) => {
    const label = String(filter.classes[i]);
    const of = (given) => (isByLabel(given) ? given[label] : given);
    const each = (entries) => new Map(Object.entries(entries).map(([source, given]) => [source, of(given)]));
    return [label, ofClasses(lane, typeof beta === "number" ? beta : each(beta), each(channel))];
  });
  const texts = new Set(lanes.map(([, lane]) => section("", lane).join("\n")));
  const [[, common]] = lanes;
  return new Map([["scores", "independent"], ...(texts.size === 1 ? common : [["labels", new Map(lanes)]])]);
}

/** Whether a weight or a channel is given for each label. */
const isByLabel = (given) => typeof given === "object" && given !== null && typeof given.apply !== "function";

function ofClasses(filter, beta, channel) {
  const settings = new Map([["filter", filter.kind]]);
  if (typeof beta === "number" && beta !== 1) settings.set("beta", beta);
  settings.set("options", new Map(snakeCased(filter.options)));
  if (typeof beta !== "number" && entriesOf(beta).length > 0) settings.set("beta", beta);
  const used = entriesOf(channel).filter(([, one]) => one);
  const channels = used.map(([source, { matrix, prior }]) => [source, { matrix, prior }]);
  return channels.length > 0 ? settings.set("channel", new Map(channels)) : settings;
}

/** Options by the names of Python; what it computes by itself is left out. */
function snakeCased(options) {
  const renamed = Object.entries(options).map(([name, entry]) => [name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), entry]);
  return renamed.filter(([name, entry]) => name !== "prepared" && entry !== undefined);
}

const entriesOf = (entries) => (Array.isArray(entries) || entries instanceof Map ? [...entries] : Object.entries(entries));

const isSection = (entry) => typeof entry === "object" && !isRow(entry);

/** The lines of a section, and of those within it. */
function section(title, given) {
  const entries = entriesOf(given);
  const inner = entries.filter(([, entry]) => isSection(entry));
  const lines = title !== "" && (inner.length < entries.length || inner.length === 0) ? ["", `[${title}]`] : [];
  for (const [name, entry] of entries) if (!isSection(entry)) lines.push(`${key(name)} = ${value(entry)}`);
  for (const [name, entry] of inner) lines.push(...section(title === "" ? key(name) : `${title}.${key(name)}`, entry));
  return lines;
}

function value(entry) {
  if (typeof entry === "number") return float(entry);
  if (typeof entry === "string") return quoted(entry);
  return typeof entry === "boolean" ? String(entry) : `[${Array.from(entry, value).join(", ")}]`;
}

const key = (name) => (/^[A-Za-z0-9_-]+$/.test(name) ? name : quoted(name));

function quoted(text) {
  const escape = (c) => (c === '"' || c === "\\" ? `\\${c}` : `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `"${String(text).replace(/["\\\x00-\x1f\x7f]/g, escape)}"`;
}

return { parseToml, toToml };
})();

const module17 = await (async () => {
// Settings from a TOML file, or from the JSON that `classfilter export --json` writes.
const { Channel } = module6;
const { checkWeight } = module5;
const { DirichletFilter } = module9;
const { EventRule } = module12;
const { MultiLabelFilter } = module13;
const { Adaptive, Periodic } = module14;
const { StickyFilter } = module15;
const { repr } = module3;
const { parseToml } = module16;

const KINDS = { dirichlet: DirichletFilter, sticky: StickyFilter };
const POLICIES = { periodic: Periodic, adaptive: Adaptive };
// "expected" says what each source did when tuned, "smoother" what smooths: none of them changes a result of the filter, and
// neither is used here, but `toToml` writes them again.
const KEYS = ["classes", "scores", "filter", "options", "prepared", "beta", "channel", "policy", "expected", "events", "smoother", "labels"];
const OF_A_LABEL = ["filter", "options", "prepared", "beta", "channel"];
const TWO = [0, 1];

/** A fresh filter, the weights and channels of the sources; a policy and a rule for events, or null; and what is not used. */
function load(config) {
  const content = typeof config === "string" ? parse(config) : config;
  if (!isSection(content)) throw new TypeError(`config is ${repr(config)}; give the text of a TOML file, or of the JSON of it`);
  const unknown = Object.keys(content).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw new RangeError(`unknown key ${unknown}; there are ${KEYS.join(", ")}`);
  const { classes, scores = "probabilities" } = content;
  if (classes === undefined) throw new RangeError('classes is missing; give their names: "classes": ["walk", "sit"]');
  if (!Array.isArray(classes) || !classes.every((name) => typeof name === "string" || Number.isInteger(name))) {
    throw new RangeError(`classes is ${repr(classes)}; it must be a list of text or whole numbers`);
  }
  for (const title of ["options", "beta", "channel", "policy", "events", "smoother", "expected", "labels"]) {
    const forAll = title === "beta" && typeof content.beta === "number";
    if (content[title] !== undefined && !isSection(content[title]) && !forAll) {
      throw new RangeError(`${title} is ${repr(content[title])}; it must be an object`);
    }
  }
  if (scores !== "probabilities" && scores !== "independent") {
    throw new RangeError(`scores is ${repr(scores)}; it must be "probabilities" or "independent"`);
  }
  if (scores === "probabilities" && content.labels !== undefined) {
    throw new RangeError('labels needs "scores": "independent": several labels at once');
  }
  const chain = scores === "independent" ? chainOfLabels(content, classes) : chainOf(content, classes);
  const { policy, events, smoother = null, expected = null } = content;
  return {
    ...chain,
    policy: policy === undefined ? null : makePolicy(policy, chain.beta),
    rule: events === undefined ? null : makeRule(events, classes, scores === "independent"),
    smoother,
    expected,
  };
}

/** The filter, the weights and the channels of settings. */
function chainOf({ filter: kind, options = {}, prepared, beta, channel }, classes) {
  if (!Object.hasOwn(KINDS, kind)) {
    throw new RangeError(`filter is ${repr(kind)}; it must be one of ${Object.keys(KINDS).join(", ")}`);
  }
  const named = camelCased(options);
  return {
    filter: new KINDS[kind](classes, prepared === undefined ? named : { ...named, prepared }),
    beta:
      typeof beta === "number"
        ? checkWeight("beta", beta)
        : mapped(beta, (weight, source) => checkWeight(`beta.${source}`, weight)),
    channel: mapped(channel, (section, source) => makeChannel(source, section, classes.length)),
  };
}

/** The same of several labels at once: settings that all share, or a section for each label. */
function chainOfLabels(content, labels) {
  const { labels: sections } = content;
  if (sections === undefined || Object.keys(sections).length === 0) {
    const { filter, ...sources } = chainOf(content, TWO);
    return { filter: new MultiLabelFilter(labels, filter), ...sources };
  }
  const names = labels.map(String);
  const given = Object.keys(sections);
  if (given.length !== names.length || names.some((name) => !given.includes(name))) {
    throw new RangeError(`labels has sections for ${repr(given)}, but classes is ${repr(labels)}; give one each`);
  }
  const lanes = names.map((name) => laneOf(name, sections[name]));
  const filters = new Map(); // equal ones are one
  const ofLabel = lanes.map(({ filter }, i) => {
    const { filter: kind, options } = sections[names[i]];
    const key = JSON.stringify([kind, options]);
    if (!filters.has(key)) filters.set(key, filter);
    return [labels[i], filters.get(key)];
  });
  const all = (title) => [...new Set(lanes.flatMap((lane) => Object.keys(lane[title])))];
  const byLabel = (of) => fromKeys(names, (name) => of(lanes[names.indexOf(name)]));
  const channel = fromKeys(all("channel"), (source) => byLabel((lane) => lane.channel[source] ?? null));
  const filter = new MultiLabelFilter(labels, new Map(ofLabel));
  return { filter, beta: weightsOf(lanes, names, all("beta"), byLabel), channel };
}

function weightsOf(lanes, names, sources, byLabel) {
  if (sources.length === 0) {
    const each = lanes.map(({ beta }) => (typeof beta === "number" ? beta : 1));
    if (new Set(each).size > 1) throw new RangeError("beta is one number for all sources, but not the same for all labels");
    return lanes[0].beta;
  }
  lanes.forEach(({ beta }, i) => {
    const missing = sources.find((source) => !Object.hasOwn(Object(beta), source));
    if (missing !== undefined) {
      throw new RangeError(`labels.${names[i]}.beta has no weight for ${repr(missing)}; add it`);
    }
  });
  return fromKeys(sources, (source) => byLabel((lane) => lane.beta[source]));
}

function laneOf(name, section) {
  if (!isSection(section) || Object.keys(section).some((key) => !OF_A_LABEL.includes(key))) {
    throw new RangeError(`labels.${name} may have ${OF_A_LABEL.join(", ")}`);
  }
  return within(`labels.${name}`, () => chainOf(section, TWO));
}

const parse = (text) => (text.trimStart().startsWith("{") ? JSON.parse(text) : parseToml(text));

function makeChannel(source, section, K) {
  const title = `channel.${source}`;
  const known = isSection(section) && Object.keys(section).every((key) => key === "matrix" || key === "prior");
  if (!known || section.matrix === undefined) {
    throw new RangeError(`${title} must be an object with a matrix and maybe a prior`);
  }
  const channel = within(title, () => new Channel(section.matrix, section.prior));
  if (channel.prior.length !== K) {
    throw new RangeError(`${title} has ${channel.prior.length} classes, but the filter has ${K}`);
  }
  return channel;
}

function makePolicy({ kind, ...options }, beta) {
  if (!Object.hasOwn(POLICIES, kind)) {
    throw new RangeError(`policy.kind is ${repr(kind)}; it must be one of ${Object.keys(POLICIES).join(", ")}`);
  }
  const policy = within("policy", () => new POLICIES[kind](camelCased(options)));
  const sources = typeof beta === "number" ? [] : Object.keys(beta);
  for (const source of [policy.strong, policy.weak]) {
    if (sources.length > 0 && !sources.includes(source)) {
      throw new RangeError(`policy calls ${repr(source)}, but beta names ${repr(sources)}: add it there`);
    }
  }
  return policy;
}

function makeRule(section, classes, independent) {
  return within("events", () => {
    const rule = new EventRule(camelCased(section));
    rule.check(classes, independent);
    return rule;
  });
}

/** What `make` returns; its errors begin with a title. */
function within(title, make) {
  try {
    return make();
  } catch (error) {
    throw new error.constructor(`${title}: ${error.message}`);
  }
}

const isSection = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** An object with the same keys; one without a prototype, so that a source may have any name. */
const mapped = (section, change) => fromKeys(Object.keys(section ?? {}), (key) => change(section[key], key));

function fromKeys(keys, make) {
  const made = Object.create(null);
  for (const key of keys) made[key] = make(key);
  return made;
}

/** The names of options in JavaScript: half_life is halfLife. */
function camelCased(options) {
  const renamed = Object.entries(options).map(([key, value]) => [
    key.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()),
    value,
  ]);
  return Object.fromEntries(renamed);
}

return { load };
})();

const module18 = await (async () => {
// Decimal numbers without rounding, as Python's `decimal` has them: a coefficient, and the power of ten of its last digit.
const { float } = module3;

/** The digits to which Python rounds a product. */
const DIGITS = 28;

/** The shortest decimal that is read as this number. */
function exact(x) {
  const [mantissa, power = "0"] = float(Math.abs(x)).split("e");
  const [whole, fraction = ""] = mantissa.split(".");
  return { negative: x < 0 || Object.is(x, -0), digits: BigInt(whole + fraction), power: Number(power) - fraction.length };
}

/** The decimal 0, without digits behind the point. */
const ZERO = Object.freeze({ negative: false, digits: 0n, power: 0 });

function minus(a, b) {
  const power = Math.min(a.power, b.power);
  const difference = signed(a, power) - signed(b, power);
  const negative = difference === 0n ? a.digits === 0n && a.negative && !b.negative : difference < 0n;
  return { negative, digits: difference < 0n ? -difference : difference, power };
}

/** Below, at or above 0, as a is below, at or above b. */
function compare(a, b) {
  const { negative, digits } = minus(a, b);
  return digits === 0n ? 0 : negative ? -1 : 1;
}

/** The number as text without an exponent, which not every reader knows. */
function plain({ negative, digits, power }) {
  const text = digits.toString();
  const sign = negative ? "-" : "";
  if (power >= 0) return sign + text + (digits === 0n ? "" : "0".repeat(power));
  const padded = text.padStart(1 - power, "0");
  return `${sign}${padded.slice(0, power)}.${padded.slice(power)}`;
}

const toNumber = (x) => Number(plain(x));

/** The largest whole number that is not above x, and what is left, from 0 to 1, as digits behind the point. */
function floorAndFraction(x) {
  const { power } = x;
  if (power >= 0) return [signed(x, 0), ""];
  const one = 10n ** BigInt(-power);
  const rest = ((signed(x, power) % one) + one) % one;
  return [(signed(x, power) - rest) / one, rest.toString().padStart(-power, "0").replace(/0+$/, "")];
}

/** x times 1000 as a whole number; of two that are equally near, the even one. */
function thousands(x) {
  const digits = x.digits * 1000n;
  const excess = digits.toString().length - DIGITS;
  const rounded = excess > 0 ? { ...x, digits: halfEven(digits, excess), power: x.power + excess } : { ...x, digits };
  const whole = rounded.power >= 0 ? signed({ ...rounded, negative: false }, 0) : halfEven(rounded.digits, -rounded.power);
  return x.negative ? -whole : whole;
}

/** Digits without so many of the last. */
function halfEven(digits, count) {
  const one = 10n ** BigInt(count);
  const whole = digits / one;
  const twice = 2n * (digits % one);
  return twice > one || (twice === one && whole % 2n === 1n) ? whole + 1n : whole;
}

function signed({ negative, digits, power }, to) {
  const scaled = digits * 10n ** BigInt(power - to);
  return negative ? -scaled : scaled;
}

return { exact, ZERO, minus, compare, plain, toNumber, floorAndFraction, thousands };
})();

const module19 = await (async () => {
// Times of events as dates in ISO 8601, in a zone.
const { exact, floorAndFraction } = module18;
const { float, repr } = module3;

const OFFSET = /^([+-])([01]\d|2[0-3]):([0-5]\d)$/;
const FIRST = new Date(0).setUTCFullYear(1, 0, 1); // `Date.UTC` would take it for 1901
const LAST = Date.UTC(9999, 11, 31, 23, 59, 59);

/** What writes UNIX seconds in a zone, "Europe/Berlin", "+02:00" or "UTC"; without one, as in UTC and without an offset. */
function dateWriter(zone) {
  const offsetAt = offsetsOf(zone);
  return (x) => {
    const [whole, fraction] = floorAndFraction(exact(x));
    const ms = Number(whole) * 1000;
    const local = ms + offsetAt(ms) * 60000;
    if (!(ms >= FIRST && ms <= LAST && local >= FIRST && local <= LAST)) {
      throw new RangeError(`time is ${float(x)}; a date must lie in the years 1 to 9999`);
    }
    const text = new Date(local).toISOString().slice(0, 19) + (fraction === "" ? "" : `.${fraction}`);
    return zone === null ? text : text + offsetText(offsetAt(ms));
  };
}

/** What tells how many minutes a zone is ahead of UTC at a time, in milliseconds. */
function offsetsOf(zone) {
  if (zone === null || zone === "UTC") return () => 0;
  const match = OFFSET.exec(zone);
  if (match !== null) return () => Number(`${match[1]}1`) * (Number(match[2]) * 60 + Number(match[3]));
  const format = zoneFormat(zone);
  return (ms) => {
    if (!(Math.abs(ms) <= 8.64e15)) return 0;
    const { value } = format.formatToParts(ms).find(({ type }) => type === "timeZoneName");
    const [, sign, hours, minutes, seconds] = /^GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(value) ?? [];
    // Local mean time, before there were zones, has seconds: such a date is written in UTC.
    return sign === undefined || seconds !== undefined ? 0 : Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes));
  };
}

function zoneFormat(zone) {
  try {
    if (typeof zone === "string") return new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  } catch {
    // said below
  }
  throw new RangeError(`zone is ${repr(zone)}; it must be a time zone such as "Europe/Berlin" or "+02:00"`);
}

function offsetText(minutes) {
  const size = Math.abs(minutes);
  const two = (n) => String(n).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

return { dateWriter };
})();

const module20 = await (async () => {
// Files of events: what each format makes of their rows, with the bytes of Python.
const { ZERO, compare, exact, minus, plain, thousands, toNumber } = module18;
const { SPACE, float, repr } = module3;
const { duration } = module4;

const COLUMNS = ["stream", "class", "start", "end", "duration", "probability"];
const NA = "n/a";
const RTTM_NA = "<NA>";
const TIERS = ["stream", "class"];

/** CSV with the columns of an event table; times are numbers, or dates. */
function writeCsv(events, writeDate) {
  const rows = events.map(({ stream, label, start, end, probability }) => {
    const times = [start, end].map(exact);
    const texts = writeDate === null ? times.map(plain) : [start, end].map(writeDate);
    return [stream ?? "", label, ...texts, plain(minus(times[1], times[0])), probability === null ? "" : float(probability)];
  });
  const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return [COLUMNS, ...rows].map((row) => `${row.map(quoted).join(",")}\n`).join("");
}

/** JSON as ActivityNet has it; the stream null is the key "". */
function writeJson(events, writeDate) {
  const results = new Map();
  for (const { stream, label, start, end, probability } of events) {
    const times = [start, end].map((x) => (writeDate === null ? float(x) : JSON.stringify(writeDate(x))));
    const entries = [["label", JSON.stringify(label)]];
    if (probability !== null) entries.push(["score", float(probability)]);
    entries.push(["segment", nested("[]", 4, times)]);
    const item = nested("{}", 3, entries.map(([key, text]) => `"${key}": ${text}`));
    if (!results.has(stream ?? "")) results.set(stream ?? "", []);
    results.get(stream ?? "").push(item);
  }
  const streams = [...results].map(([stream, items]) => `${JSON.stringify(stream)}: ${nested("[]", 2, items)}`);
  return `${nested("{}", 0, [`"results": ${nested("{}", 1, streams)}`])}\n`;
}

/** A list or an object in JSON, each entry in a line of its own, so many spaces in and one more. */
function nested([open, close], depth, entries) {
  if (entries.length === 0) return open + close;
  return `${open}\n${entries.map((entry) => " ".repeat(depth + 1) + entry).join(",\n")}\n${" ".repeat(depth)}${close}`;
}

/** A BIDS table of events; `probability` is a column of our own, as BIDS allows. */
function writeTsv(rows) {
  oneStream(rows, "BIDS events.tsv");
  checkNames(rows, /[\t\n\r]/, 'tabs, line breaks or the name "n/a"', "BIDS events.tsv", NA);
  const known = rows.some(({ probability }) => probability !== null);
  const lines = byStart(rows).map(({ label, start, end, probability }) => {
    const cells = [plain(start), plain(minus(end, start)), label];
    return [...cells, ...(known ? [probability === null ? NA : float(probability)] : [])];
  });
  const header = ["onset", "duration", "trial_type", ...(known ? ["probability"] : [])];
  return [header, ...lines].map((cells) => `${cells.join("\t")}\n`).join("");
}

/** Audacity's label track; it has no place for probabilities. */
function writeAudacity(rows) {
  oneStream(rows, "a label track");
  checkNames(rows, /[\t\n\r]/, "tabs or line breaks", "a label track");
  return rows.map(({ label, start, end }) => `${plain(start)}\t${plain(end)}\t${label}\n`).join("");
}

/** RTTM: a line SPEAKER with ten fields for each event. */
function writeRttm(rows) {
  checkNames(rows, SPACE, 'spaces or the name "<NA>"', "RTTM", RTTM_NA);
  const line = ({ stream, label, start, end, probability }) =>
    `SPEAKER ${stream ?? RTTM_NA} 1 ${plain(start)} ${plain(minus(end, start))} ` +
    `${RTTM_NA} ${RTTM_NA} ${label} ${probability === null ? RTTM_NA : float(probability)} ${RTTM_NA}\n`;
  return rows.map(line).join("");
}

/**
 * WebVTT, with times to the millisecond: the first line of a cue is the class, in the voice of its stream, the second the
 * probability.
 */
function writeWebvtt(rows, { probability = true }) {
  checkNames(rows, /[\n\r]/, "line breaks", "WebVTT");
  const cues = byStart(rows).map((row) => {
    const [start, end] = [row.start, row.end].map(thousands);
    if (start < 0n) {
      throw new RangeError(`start is ${float(toNumber(row.start))}; WebVTT has no negative times: give start`);
    }
    if (start === end) {
      throw new RangeError(
        `end is ${float(toNumber(row.end))}, the start ${plain(row.start)}; a cue of WebVTT must last for a millisecond: ` +
          "leave the event out",
      );
    }
    const voice = row.stream === null ? "" : `<v ${escaped(row.stream)}>`;
    const p = row.probability === null || !probability ? "" : `\n${float(row.probability)}`;
    return `\n${clock(start)} --> ${clock(end)}\n${voice}${escaped(row.label)}${p}\n`;
  });
  return `WEBVTT\n${cues.join("")}`;
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Milliseconds as WebVTT has a time: 01:02:03.004. */
function clock(ms) {
  const two = (n) => n.toString().padStart(2, "0");
  const seconds = ms / 1000n;
  return `${two(seconds / 3600n)}:${two((seconds / 60n) % 60n)}:${two(seconds % 60n)}.${(ms % 1000n).toString().padStart(3, "0")}`;
}

/**
 * Praat's TextGrid in the long format. `tiers` says what each holds: all events of a stream, or those of a class. Of a stream
 * whose events overlap there is a tier for each class. `duration` is the end of the last interval.
 */
function writeTextgrid(rows, { tiers = "stream", duration: longest = null }) {
  if (!TIERS.includes(tiers)) throw new RangeError(`tiers is ${repr(tiers)}; it must be one of ${TIERS.join(", ")}`);
  const first = rows.reduce((least, { start }) => (compare(start, least) < 0 ? start : least), ZERO);
  let last = rows.reduce((most, { end }) => (most === null || compare(end, most) > 0 ? end : most), null) ?? first;
  if (longest !== null) {
    const length = exact(duration("duration", longest));
    if (compare(length, last) < 0) {
      throw new RangeError(`duration is ${float(toNumber(length))}; the last event ends at ${plain(last)}`);
    }
    last = length;
  }
  if (compare(last, first) <= 0) {
    throw new RangeError(`events are ${rows.length}, so the file would have no length; give duration`);
  }
  if (tiers === "class") oneStream(rows, "a TextGrid with a tier for each class");
  const groups = groupsOf(rows, tiers);
  const span = [`xmin = ${plain(first)}`, `xmax = ${plain(last)}`];
  const lines = ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", ...span];
  lines.push("tiers? <exists>", `size = ${groups.length}`, "item []:");
  const inside = (depth, texts) => texts.map((text) => " ".repeat(depth) + text);
  groups.forEach(([name, group], i) => {
    const intervals = intervalsOf(group, first, last);
    const tier = ['class = "IntervalTier"', `name = ${quoted(name)}`, ...span, `intervals: size = ${intervals.length}`];
    lines.push(`    item [${i + 1}]:`, ...inside(8, tier));
    intervals.forEach(([start, end, text], j) => {
      const entries = [`xmin = ${plain(start)}`, `xmax = ${plain(end)}`, `text = ${quoted(text)}`];
      lines.push(`        intervals [${j + 1}]:`, ...inside(12, entries));
    });
  });
  return `${lines.join("\n")}\n`;
}

/** The name of each tier, and its events by their start. */
function groupsOf(rows, tiers) {
  const inOrder = byStart(rows);
  const ends = new Map();
  const overlap = new Set();
  for (const { stream, start, end } of inOrder) {
    if (ends.has(stream) && compare(start, ends.get(stream)) < 0) overlap.add(stream);
    ends.set(stream, end);
  }
  const names = ({ stream, label }) =>
    tiers === "class" ? [label, ""] : [stream ?? "", overlap.has(stream) ? label : ""];
  const groups = new Map(rows.map((row) => [JSON.stringify(names(row)), [names(row)[0], []]]));
  for (const row of inOrder) groups.get(JSON.stringify(names(row)))[1].push(row);
  return groups.size === 0 ? [["", []]] : [...groups.values()];
}

/** The intervals of a tier, without gaps between them. */
function intervalsOf(rows, first, last) {
  const intervals = [];
  let at = first;
  for (const { start, end, label } of rows) {
    if (compare(start, at) < 0) {
      throw new RangeError(
        `start is ${float(toNumber(start))}, but the event before ends at ${plain(at)}; intervals of a class must not overlap: ` +
          "merge them",
      );
    }
    if (compare(end, start) === 0) {
      throw new RangeError(`end is ${float(toNumber(end))}, as the start; an interval must have a length: leave it out`);
    }
    if (compare(start, at) > 0) intervals.push([at, start, ""]);
    intervals.push([start, end, label]);
    at = end;
  }
  if (compare(at, last) < 0) intervals.push([at, last, ""]);
  return intervals;
}

const quoted = (text) => `"${text.replaceAll('"', '""')}"`;

const byStart = (rows) => [...rows].sort((a, b) => compare(a.start, b.start));

/** Refuse several streams in a format that has no place for their names. */
function oneStream(rows, where) {
  const count = new Set(rows.map(({ stream }) => stream)).size;
  if (count > 1) {
    throw new RangeError(
      `events have ${count} streams; ${where} has no place for their names: write each stream to a file of its own, ` +
        "or write CSV or JSON",
    );
  }
}

/** Refuse names with characters that a format cannot hold, or that mean something else there. */
function checkNames(rows, forbidden, words, where, taken) {
  rows.forEach(({ label, stream }, i) => {
    for (const [what, name] of [["label", label], ["stream", stream]]) {
      if (name === null || !(forbidden.test(name) || name === taken)) continue;
      const remedy = "rename it, or write CSV or JSON";
      throw new RangeError(`${what} in row ${i} is ${repr(name)}; ${where} cannot hold ${words}: ${remedy}`);
    }
  });
}

return { writeCsv, writeJson, writeTsv, writeAudacity, writeRttm, writeWebvtt, writeTextgrid };
})();

const module21 = await (async () => {
// Events as the text of a file: CSV, BIDS events.tsv, Audacity, RTTM, TextGrid, WebVTT and JSON.
const { isRow } = module5;
const { exact, minus } = module18;
const { dateWriter } = module19;
const { writeAudacity, writeCsv, writeJson, writeRttm, writeTextgrid, writeTsv, writeWebvtt } = module20;
const { float, isBlank, repr } = module3;

const FORMATS = {
  csv: { write: writeCsv, seconds: false, options: [] },
  tsv: { write: writeTsv, seconds: true, options: [] },
  txt: { write: writeAudacity, seconds: true, options: [] },
  rttm: { write: writeRttm, seconds: true, options: [] },
  textgrid: { write: writeTextgrid, seconds: true, options: ["tiers", "duration"] },
  vtt: { write: writeWebvtt, seconds: true, options: ["probability"] },
  json: { write: writeJson, seconds: false, options: [] },
};
const COMMON = ["start", "overlaps", "dates", "zone"];

/**
 * Events as the text of a file, the bytes of Python's `write_events` of the same events.
 *
 * `start` is the time of second 0 of the formats that hold seconds: all but CSV and JSON. With `dates`, the times are dates as
 * UNIX seconds, and CSV and JSON show them in `zone`. `overlaps` allows events of one stream and class that overlap.
 */
function writeEvents(list, format, options = {}) {
  const kind = typeof format === "string" ? FORMATS[format.toLowerCase()] : undefined;
  if (kind === undefined || !Object.hasOwn(FORMATS, format.toLowerCase())) {
    throw new RangeError(`format is ${repr(format)}; the formats are csv, tsv, txt, rttm, vtt, json and TextGrid`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (COMMON.includes(name) || kind.options.includes(name)) continue;
    const known = kind.options.length > 0 ? `; it has ${kind.options.join(", ")}` : "";
    throw new RangeError(`${name} is ${repr(value)}; ${format} has no such option${known}`);
  }
  const { start = null, overlaps = false, dates = false, zone = null } = options;
  const writeDate = dateWriter(zone);
  const events = checked(list, overlaps);
  if (!kind.seconds) {
    if (start !== null) throw new RangeError(`start is ${repr(start)}; ${format} holds times as they are, without it`);
    return unicode(kind.write(events, dates ? writeDate : null));
  }
  if (dates && start === null) {
    throw new RangeError(
      `start is null, but the times are dates and ${format} holds seconds; give the date of second 0, such as ` +
        "start: events[0].start, or write CSV or JSON",
    );
  }
  const zero = exact(start === null ? 0 : secondZero(start));
  const rows = events.map((event) => ({ ...event, start: minus(exact(event.start), zero), end: minus(exact(event.end), zero) }));
  return unicode(kind.write(rows, options));
}

function secondZero(start) {
  const seconds = start instanceof Date ? start.getTime() / 1000 : start;
  if (typeof seconds === "number" && Number.isFinite(seconds)) return seconds;
  throw new RangeError(`start is ${repr(start)}; give a number or a Date`);
}

/** Events with their streams as text, checked. */
function checked(list, overlaps) {
  if (!Array.isArray(list) || list.some((event) => typeof event !== "object" || event === null || isRow(event))) {
    throw new TypeError(`events is ${repr(list)}; give a list of events: { stream, label, start, end, probability }`);
  }
  list.forEach(checkEvent);
  if (!overlaps) checkOverlaps(list);
  const names = new Map();
  return list.map(({ stream = null, label, start, end, probability = null }, i) => {
    const text = stream === null ? null : typeof stream === "string" ? stream : repr(stream);
    if (text !== null && (isBlank(text) || text.includes("\0"))) {
      throw new RangeError(`stream in row ${i} is ${repr(stream)}; it must be a name that is not empty, or null`);
    }
    if (text !== null && names.has(text) && names.get(text) !== stream) {
      throw new RangeError(
        `stream in row ${i} is ${repr(stream)}, which is ${repr(text)} in a file, as another stream is; rename one of them`,
      );
    }
    names.set(text, stream);
    return { stream: text, label, start, end, probability };
  });
}

function checkEvent({ label, start, end = null, probability = null }, i) {
  const refuse = (name, rest) => new RangeError(`${name} in row ${i} is ${rest}`);
  if (typeof label !== "string" || isBlank(label) || label.includes("\0")) {
    throw refuse("label", `${repr(label)}; it must be text that is not empty`);
  }
  if (end === null) throw refuse("end", "null: the event is provisional; leave it out until it is confirmed");
  for (const [name, x] of [["start", start], ["end", end]]) {
    if (!Number.isFinite(x)) throw refuse(name, `${repr(x)}; it must be a finite number`);
  }
  if (end < start) throw refuse("end", `${float(end)}, before the start, ${float(start)}`);
  if (probability !== null && !(typeof probability === "number" && probability >= 0 && probability <= 1)) {
    throw refuse("probability", `${repr(probability)}; it must lie in [0, 1], or be null`);
  }
}

function checkOverlaps(events) {
  const last = new Map(); // of each stream, of each class
  const order = events.map((_, i) => i).sort((a, b) => events[a].start - events[b].start || events[a].end - events[b].end);
  for (const i of order) {
    const { stream = null, label, start } = events[i];
    if (!last.has(stream)) last.set(stream, new Map());
    const before = last.get(stream).get(label);
    last.get(stream).set(label, i);
    if (before === undefined || !(start < events[before].end)) continue;
    const of = `class ${repr(label)}${stream === null ? "" : ` of ${repr(stream)}`}`;
    throw new RangeError(
      `start in row ${i} is ${float(start)}, but row ${before}, also of ${of}, ends at ${float(events[before].end)}; ` +
        "merge them, or give overlaps: true",
    );
  }
}

/** The text, unless half a character is in it, which no file can hold. */
function unicode(text) {
  const half = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.exec(text);
  if (half === null) return text;
  const code = half[0].charCodeAt(0).toString(16);
  throw new RangeError(`events have a name with '\\u${code}', which is not Unicode`);
}

return { writeEvents };
})();

const module22 = await (async () => {
// The events of a whole stream.
const { checkOptions, classNames, takeRows } = module5;
const { EventRule } = module12;
const { repr } = module3;

/**
 * The events of one stream, by their start: of rows of probabilities, as a filter returns them or as they are, and of their
 * times, numbers or dates. With `scores: "independent"`, each of several labels is decided by itself, and events overlap.
 */
function events(rule, options) {
  if (!(rule instanceof EventRule)) throw new TypeError(`rule is ${repr(rule)}; it must be an EventRule`);
  checkOptions("events", options, ["classes", "times", "probs", "stream", "scores"]);
  const { probs, stream = null, scores = "probabilities" } = options;
  if (scores !== "probabilities" && scores !== "independent") {
    throw new RangeError(`scores is ${repr(scores)}; it must be probabilities or independent`);
  }
  const independent = scores === "independent";
  const classes = classNames(options.classes, independent ? 1 : 2);
  const type = isSingle(probs) ? Float32Array : Float64Array;
  const rows = takeRows(probs, classes.length, type);
  const times = seconds(options.times);
  if (times.length * classes.length !== rows.length) {
    const count = rows.length / classes.length;
    throw new RangeError(`times has ${times.length} entries, but probs has ${count} rows; give one time per row`);
  }
  const core = rule._compiled(classes, type, independent);
  const { state, events: confirmed } = core.run(core.start(), times, rows);
  const found = [...confirmed, ...core.finish(state)].sort((a, b) => a.start - b.start || a.label - b.label);
  return found.map(({ label, start, end, probability }) => ({
    stream, label: String(classes[label]), start, end, duration: end - start, probability,
  }));
}

const isSingle = (probs) =>
  probs instanceof Float32Array || (Array.isArray(probs) && probs.length > 0 && probs.every((row) => row instanceof Float32Array));

/** Times as numbers; dates become seconds. */
function seconds(times) {
  if (times instanceof Float64Array) return times;
  if (typeof times !== "object" || times === null || typeof times[Symbol.iterator] !== "function") {
    throw new TypeError(`times is ${repr(times)}; give a number or a Date for each row`);
  }
  return Float64Array.from(times, (time, i) => {
    if (time instanceof Date) return time.getTime() / 1000;
    if (typeof time === "number") return time;
    throw new TypeError(`times[${i}] is ${repr(time)}; give a number or a Date`);
  });
}

return { events };
})();

const module23 = await (async () => {
// Logits as class probabilities.
const { vector } = module5;
const { float, repr } = module3;

/** Softmax of one row of logits, divided by a temperature; a row of NaN, a missing observation, stays NaN. */
function softmax(scores, temperature = 1) {
  if (typeof temperature !== "number" || !(temperature > 0 && temperature < Infinity)) {
    throw new RangeError(`temperature is ${repr(temperature)}; it must be positive and finite`);
  }
  const row = vector("scores", scores, Float64Array);
  if (row.length < 2) throw new RangeError(`scores has shape (${row.length},); it must be (K,), one per class`);
  if (row.every(Number.isNaN)) return row;
  const highest = row.reduce((most, score) => Math.max(most, score));
  if (!Number.isFinite(highest)) {
    const values = Array.from(row, float).join(", ");
    throw new RangeError(`scores is [${values}]; it must hold finite numbers, or only NaN where nothing was observed`);
  }
  const powers = row.map((score) => Math.exp((score - highest) / temperature));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

return { softmax };
})();

const module24 = await (async () => {
// The events of live streams: what a rule knows of each stream, and what it has confirmed.
const { arrayType } = module5;
const { EventRule } = module12;
const { repr } = module3;

const REMEDY = 'give one: events: new EventRule({ changeCost: "30s" })';

/** The rule that a tracker decides events by, of its option `events` and the rule of its chain; or null. */
function ruleOf(events, chain) {
  if (events === undefined || events === null || events === false) return null;
  if (events === true && !chain.rule) throw new RangeError(`events is true, but the chain has no rule; ${REMEDY}`);
  const rule = events === true ? chain.rule : events;
  if (!(rule instanceof EventRule)) throw new TypeError(`events is ${repr(events)}; it must be an EventRule, or true or false`);
  return rule;
}

function noRule() {
  return new RangeError(`the tracker has no rule for events; ${REMEDY}`);
}

/** A rule, for many streams. What is known of one is the state of the rule and what was confirmed; it never changes. */
class LiveEvents {
  #core;
  #names;
  #independent;
  #waiting = new Set(); // the streams with events to be fetched, in the order of the first; some may have none
  #ended = []; // what was confirmed of streams that are over
  #time = new Float64Array(1);

  constructor(rule, filter) {
    this.#independent = filter.kind === "multi_label";
    this.#names = filter.classes.map(String);
    this.#core = rule._compiled(filter.classes, arrayType(filter.dtype), this.#independent);
  }

  /** What is known of a stream after a row; before its first row, `known` is undefined. */
  after(known, at, estimate) {
    this.#time[0] = at;
    const { state, events } = this.#core.run(known?.state ?? this.#core.start(), this.#time, estimate, true);
    const before = known?.confirmed ?? [];
    return { state, confirmed: events.length === 0 ? before : [...before, ...events] };
  }

  /** What is known of a stream that begins anew; its old events are not lost. */
  anew(known) {
    return { state: this.#core.start(), confirmed: this.#finished(known) };
  }

  /** Take note that a stream may have events to be fetched. */
  note(stream, { confirmed }) {
    if (confirmed.length > 0) this.#waiting.add(stream);
  }

  /** End a stream. */
  end(stream, known) {
    for (const event of this.#finished(known)) this.#ended.push(this.#event(stream, event));
  }

  /** All events that were not fetched, in order; `take` returns those of a stream that is held, and forgets them. */
  pop(take) {
    const found = this.#ended;
    for (const stream of this.#waiting) for (const event of take(stream)) found.push(this.#event(stream, event));
    this.#ended = [];
    this.#waiting.clear();
    return found;
  }

  /** The event of a stream that goes on at present, or null; of several labels at once, a list of them. */
  current(stream, known) {
    const events = this.#core.current(known.state).map((event) => ({ ...this.#event(stream, event), end: null, duration: null }));
    return this.#independent ? events : (events[0] ?? null);
  }

  #finished({ state, confirmed }) {
    return [...confirmed, ...this.#core.finish(state)];
  }

  #event(stream, { label, start, end, probability }) {
    return { stream, label: this.#names[label], start, end, duration: end - start, probability };
  }
}

return { ruleOf, noRule, LiveEvents };
})();

const module25 = await (async () => {
// The streams of a tracker by name, and the rules of their times: order, jumps, and when a stream is over.
const { float, general, repr } = module3;
const { positiveDuration } = module4;

/** So many streams that agree on a time set the clock, or all of them where there are fewer. */
const ENOUGH = 3;
const MOST_STRAYS = 8;

/**
 * What a tracker keeps of each stream. A row takes two calls: `step` refuses it, or says what it continues, and `put`
 * replaces that. An error between the two leaves the table as it was.
 */
class StreamTable {
  #entries = new Map(); // the stream whose last row came first is first; an entry that moves is a new object
  #clock; // the time of all streams; undefined before the first row
  #strays = new Map(); // the times of rows further than expireAfter from the clock, by stream
  #walk = this.#entries.entries();
  #first = [];

  #ended;

  /** `ended` is called with a stream and its value before that is forgotten. */
  constructor({ expireAfter, maxStreams, maxJump }, ended) {
    this.#ended = ended;
    if (maxStreams !== undefined && !(typeof maxStreams === "number" && maxStreams >= 1)) {
      throw new RangeError(`maxStreams is ${repr(maxStreams)}; it must be 1 or more`);
    }
    const limit = (name, value) => (value === undefined ? undefined : positiveDuration(name, value));
    this.limits = Object.freeze({
      expireAfter: limit("expireAfter", expireAfter), maxStreams, maxJump: limit("maxJump", maxJump),
    });
  }

  get names() {
    return [...this.#entries.keys()];
  }

  get size() {
    return this.#entries.size;
  }

  has(stream) {
    return this.#entries.has(stream);
  }

  /** The entry of a stream: `time`, that of its last row, and `value`. */
  get(stream) {
    checkName(stream);
    const entry = this.#entries.get(stream);
    if (entry === undefined) {
      throw new RangeError(`there is no stream ${repr(stream)}; it had no row yet, or was dropped`);
    }
    return entry;
  }

  /** The entry that a row at a time would continue; undefined where it would begin the stream. */
  continued(stream, at) {
    checkName(stream);
    const entry = this.#entries.get(stream);
    return entry === undefined || this.#isOver(entry.time, at) ? undefined : entry;
  }

  /**
   * As `continued`, for a row that has come; raise for one that is late, or too far ahead. The time of one too far ahead
   * is remembered, unless `check` raises: the row is no prediction at all.
   */
  step(stream, at, check) {
    checkName(stream);
    const entry = this.#entries.get(stream);
    if (entry === undefined) return undefined;
    if (at < entry.time) throw timeError(stream, at, "before", entry.time);
    this.#confirmJump(stream, at, entry, check);
    if (this.#isOver(entry.time, at)) return undefined;
    if (at - entry.time === Infinity) throw timeError(stream, at, "too long after", entry.time);
    return entry;
  }

  /** Keep a value of a stream that had a row; forget the streams that are over, and those too many. */
  put(stream, at, value) {
    this.#putLast(stream, { time: at, seen: this.#clock, jump: undefined, value });
    if (this.limits.expireAfter !== undefined) {
      this.#noteTime(stream, at);
      this.#entries.get(stream).seen = this.#clock;
    }
    this.#forget();
  }

  /** Forget streams, all or none. */
  drop(streams) {
    streams.forEach((stream) => this.get(stream));
    streams.forEach((stream) => this.#remove(stream));
  }

  /** Set the clock; forget the streams that are over, and return them. */
  expire(now) {
    this.#setClock(now);
    return this.#forget();
  }

  #isOver(last, now) {
    return now - last > this.limits.expireAfter;
  }

  /** Refuse a row far ahead of its stream, unless the one refused before was there, too. */
  #confirmJump(stream, at, entry, check) {
    const { maxJump } = this.limits;
    if (!(at - entry.time > maxJump)) return;
    const since = at - entry.jump;
    if (since >= 0 && since <= maxJump) return;
    check();
    entry.jump = at;
    throw new RangeError(
      `time is ${float(at)}, more than ${general(maxJump)} after ${float(entry.time)}, that of the last row of stream ` +
        `${repr(stream)}; it is rejected, unless the next row of the stream confirms it`,
    );
  }

  /** Move the clock to a row's time if that is near, or if enough streams agree on another one. */
  #noteTime(stream, at) {
    const near = (time) => Math.abs(time - at) <= this.limits.expireAfter;
    const strays = this.#strays;
    if (this.#clock === undefined || near(this.#clock)) {
      this.#clock = Math.max(this.#clock ?? at, at);
      if (strays.size > 0) strays.clear();
      return;
    }
    strays.delete(stream);
    strays.set(stream, at);
    if (strays.size > MOST_STRAYS) strays.delete(strays.keys().next().value);
    const agreed = [...strays].filter(([, time]) => near(time));
    if (agreed.length < Math.min(ENOUGH, this.size)) return;
    this.#setClock(Math.max(...agreed.map(([, time]) => time)));
    strays.clear();
    for (const [name] of agreed) {
      if (this.has(name)) this.#putLast(name, { ...this.#entries.get(name), seen: this.#clock });
    }
  }

  #setClock(now) {
    if (now < this.#clock) for (const entry of this.#entries.values()) entry.seen = Math.min(entry.seen, now);
    this.#clock = now;
  }

  #remove(stream) {
    this.#ended(stream, this.#entries.get(stream).value);
    this.#entries.delete(stream);
  }

  #putLast(stream, entry) {
    this.#entries.delete(stream);
    this.#entries.set(stream, entry);
  }

  #forget() {
    const forgotten = [];
    while (this.size > 0) {
      const [stream, { seen }] = this.#oldest();
      if (!(this.size > this.limits.maxStreams) && !this.#isOver(seen, this.#clock)) break;
      this.#remove(stream);
      forgotten.push(stream);
    }
    return forgotten;
  }

  /** The stream whose last row came first. A new iterator would pass all places that others have left: this one goes on. */
  #oldest() {
    while (this.#first.length === 0 || this.#entries.get(this.#first[0]) !== this.#first[1]) {
      const { value, done } = this.#walk.next();
      if (done) this.#walk = this.#entries.entries();
      this.#first = value ?? [];
    }
    return this.#first;
  }
}

/** Raise for what does not equal itself when it is written again. */
function checkName(stream) {
  if (Number.isNaN(stream)) {
    throw new RangeError("stream is nan, which equals nothing, not even itself; give it a name");
  }
  if ((typeof stream === "object" && stream !== null) || typeof stream === "function") {
    const [what, text] = Array.isArray(stream) ? [repr(stream), stream.join("/")] : ["an object", "site/7"];
    throw new TypeError(`stream is ${what}, which equals no other one; give text or a number, such as ${repr(text)}`);
  }
}

function timeError(stream, at, where, last) {
  return new RangeError(
    `time is ${float(at)}, ${where} ${float(last)}, that of the last row of stream ${repr(stream)}; ` +
      "give the rows of a stream in order of time",
  );
}

return { StreamTable };
})();

const module26 = await (async () => {
// Many live streams: each row of any stream, as it comes, gives an estimate.
const { arrayType, checkOptions, checkRow, checkWeight, isRow, takeRow } = module5;
const { channelsOfLabels, corrected, scoreRow, weightOfLabels } = module10;
const { LiveEvents, noRule, ruleOf } = module24;
const { prediction } = module7;
const { StreamTable } = module25;
const { repr } = module3;
const { TimeReader } = module4;

const DEFAULT_SOURCE = "default";
const OPTIONS = ["beta", "channel", "policy", "expireAfter", "maxStreams", "maxJump", "unit", "events"];

/** One state per stream, for any number of streams that come and go; it equals a filter for each, to the bit. */
class Tracker {
  #filter;
  #labels; // null where the classes exclude each other
  #beta;
  #channel;
  #policy;
  #start;
  #table;
  #times;
  #live; // null where no events are decided

  /** `filter` is a filter, or what `load` returns: then weights, channels, policy and rule come with it. */
  constructor(filter, options = {}) {
    checkOptions("Tracker", options, OPTIONS);
    const chain = filter?.filter === undefined ? { filter } : filter;
    const named = typeof chain.beta === "number" || Object.keys(chain.beta ?? {}).length > 0;
    const weights = named ? chain.beta : 1;
    const { beta = weights, channel = chain.channel ?? {}, policy = chain.policy ?? null } = options;
    const rule = ruleOf(options.events, chain);
    this.#filter = chain.filter.copy();
    this.#live = rule === null ? null : new LiveEvents(rule, this.#filter);
    this.#table = new StreamTable(options, (stream, { events }) => this.#live?.end(stream, events));
    this.#filter.reset();
    this.#start = this.#filter._numbers();
    this.#labels = this.#filter.kind === "multi_label" ? this.#filter.classes : null;
    this.#times = new TimeReader(options.unit, fastest(this.#filter));
    const known = Object.entries(channel).filter(([, one]) => one != null);
    const of = (source, one) => (this.#labels === null ? one : channelsOfLabels(source, one, this.#labels));
    this.#channel = new Map(known.map(([source, one]) => [source, of(source, one)]));
    if (this.#labels !== null && policy?.budget !== undefined) {
      throw new RangeError("policy is Adaptive, which is for classes that exclude each other; give Periodic, or a tracker for each label");
    }
    this.#policy = policy?.copy() ?? null;
    this.#policy?.reset();
    const weight = (name, value) => (this.#labels === null ? checkWeight(name, value) : weightOfLabels(name, value, this.#labels));
    this.#beta =
      typeof beta === "object" && beta !== null
        ? new Map(Object.entries(beta).map(([name, value]) => [name, weight(`beta[${repr(name)}]`, value)]))
        : checkWeight("beta", beta);
  }

  get classes() {
    return this.#filter.classes;
  }

  /** How much time without a row ends a stream. */
  get expireAfter() {
    return this.#table.limits.expireAfter;
  }

  /** The largest number of streams. */
  get maxStreams() {
    return this.#table.limits.maxStreams;
  }

  /** How much later than the last row of its stream a row may be. */
  get maxJump() {
    return this.#table.limits.maxJump;
  }

  /** What times that are numbers count; undefined where they stay as they are. */
  get unit() {
    return this.#times.unit;
  }

  /** The names of all streams; the one whose last row came first is first. */
  get streams() {
    return this.#table.names;
  }

  get size() {
    return this.#table.size;
  }

  has(stream) {
    return this.#table.has(stream);
  }

  /** Observe one row; return the estimate of its stream. An error leaves everything as it was. */
  update(stream, time, source, probs, options) {
    const at = this.#times.read("time", time);
    const name = String(source ?? DEFAULT_SOURCE);
    const beta = this.#weight(name);
    const row = options === undefined && this.#labels === null && isRow(probs) ? probs : this.#prediction(name, probs, options);
    const entry = this.#table.step(stream, at, () => this.#checked(row));
    const known = entry?.value;
    const dt = entry === undefined ? 0 : at - entry.time;
    const observed = this.#observed(name, row);
    this.#filter._setNumbers(known?.state ?? this.#start);
    const before = this.#policy === null ? null : (known?.estimate.slice() ?? this.#filter.probs);
    const estimate = this.#labels === null ? this.#filter.update(observed, { beta, dt }) : this.#filter._observe(observed, beta, dt);
    const state = this.#filter._numbers();
    const policy = (known?.policy ?? this.#policy)?.copy() ?? null; // the stream's own one stays as it is if this fails
    policy?.called(name, this.#labels === null ? observed : row, before, dt);
    const last = policy === null ? null : new Map(known?.last).set(name, at);
    const events = this.#live === null ? null : this.#eventsAfter(stream, known, at, estimate);
    this.#table.put(stream, at, { state, estimate, policy, last, events });
    this.#times.see(dt);
    return estimate.slice();
  }

  /** What the rule knows of a stream after a row; where that begins the stream anew, `known` is undefined. */
  #eventsAfter(stream, known, at, estimate) {
    const isAnew = known === undefined && this.#table.has(stream);
    const before = isAnew ? this.#live.anew(this.#table.get(stream).value.events) : known?.events;
    const events = this.#live.after(before, at, estimate);
    this.#live.note(stream, events);
    return events;
  }

  /** The source that the policy would call for a stream at a time; nothing changes. */
  nextSource(stream, time) {
    if (this.#policy === null) {
      throw new RangeError("the tracker has no policy; give one, such as new Periodic({ every: 12 })");
    }
    const at = this.#times.read("time", time);
    const known = this.#table.continued(stream, at)?.value;
    if (known === undefined) return this.#policy.choose(this.#probsOf(this.#start), {});
    const since = Object.fromEntries([...known.last].map(([name, last]) => [name, at - last]));
    return known.policy.choose(known.estimate.slice(), since);
  }

  /** The last estimate of a stream. */
  probs(stream) {
    return this.#table.get(stream).value.estimate.slice();
  }

  /** The most probable class of a stream; of several labels at once, those that are on. */
  label(stream) {
    this.#filter._setNumbers(this.#table.get(stream).value.state);
    return this.#filter.label;
  }

  /** The time of a stream's last row. */
  time(stream) {
    return this.#table.get(stream).time;
  }

  /** The events that were confirmed since the last call, each once; of a stream that is dropped or over, all are. */
  popEvents() {
    if (this.#live === null) throw noRule();
    return this.#live.pop((stream) => {
      if (!this.#table.has(stream)) return [];
      const { value } = this.#table.get(stream);
      const { state, confirmed } = value.events;
      value.events = { state, confirmed: [] };
      return confirmed;
    });
  }

  /** The event of a stream that goes on at present, with the end null, or null; of several labels at once, a list of them. */
  current(stream) {
    if (this.#live === null) throw noRule();
    return this.#live.current(stream, this.#table.get(stream).value.events);
  }

  /** Forget streams; their last events are confirmed. */
  drop(streams) {
    if (typeof streams === "string") throw new TypeError(`streams is ${repr(streams)}; give a list: [${repr(streams)}]`);
    this.#table.drop([...new Set(streams)]);
  }

  /** Set the clock of all streams to now; forget the streams that are over, and return them. */
  expire(now) {
    if (this.expireAfter === undefined) throw new RangeError("the tracker has no expireAfter; give it one");
    return this.#table.expire(this.#times.read("now", now));
  }

  #probsOf(state) {
    this.#filter._setNumbers(state);
    return this.#filter.probs;
  }

  #weight(name) {
    if (typeof this.#beta === "number") return this.#beta;
    const weight = this.#beta.get(name);
    if (weight !== undefined) return weight;
    const names = repr([...this.#beta.keys()]);
    throw new RangeError(`source is ${repr(name)}, which has no weight; beta names ${names}: add it there`);
  }

  /** A prediction as the filter gets it, corrected by the channel of its source. */
  #observed(source, row) {
    const channel = this.#channel.get(source);
    if (this.#labels !== null) return corrected(row, channel);
    return channel === undefined ? row : channel.apply(this.#checked(row));
  }

  /** A prediction in the order of the classes. */
  #prediction(source, probs, options = {}) {
    if (typeof options !== "object" || options === null) {
      throw new TypeError(`options is ${repr(options)}; give it as { confidence: 0.9 }`);
    }
    checkOptions("update", options, ["confidence"]);
    if (this.#labels !== null) {
      if (options.confidence !== undefined) {
        throw new RangeError("confidence is given, but probs holds no classes; leave it out: scores need none");
      }
      return scoreRow(probs, this.#labels, arrayType(this.#filter.dtype));
    }
    return prediction(probs, this.classes, { ...options, certain: this.#channel.has(source) });
  }

  /** A prediction as a row of numbers, or its error. */
  #checked(probs) {
    if (this.#labels !== null) return probs; // they were checked when they were read
    const row = new (arrayType(this.#filter.dtype))(this.classes.length);
    takeRow("probs", probs, row);
    checkRow(row);
    return row;
  }
}

/** What a time unit leaves of the past; of several labels at once, the least. */
function fastest(filter) {
  const rates = (filter.filters ?? [filter]).map(({ options: { gamma, stay = gamma } }) => stay);
  return rates.reduce((least, rate) => (rate < least ? rate : least));
}

return { Tracker };
})();

const module27 = await (async () => {
const { Channel } = module6;
const { load } = module17;
const { DirichletFilter } = module9;
const { writeEvents } = module21;
const { EventRule } = module12;
const { events } = module22;
const { MultiLabelFilter } = module13;
const { Adaptive, Periodic } = module14;
const { softmax } = module23;
const { StickyFilter } = module15;
const { toToml } = module16;
const { Tracker } = module26;

return { Channel, load, DirichletFilter, writeEvents, EventRule, events, MultiLabelFilter, Adaptive, Periodic, softmax, StickyFilter, toToml, Tracker };
})();

const classfilter = module27;
