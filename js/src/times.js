// Times and durations in seconds.
import { float, general, repr } from "./text.js";

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
export function duration(name, value) {
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

export function positiveDuration(name, value) {
  const length = duration(name, value);
  if (length > 0 && length < Infinity) return length;
  throw new RangeError(`${name} is ${repr(value)}; it must be positive and finite`);
}

/** Times as seconds: numbers of a unit are divided. One warning says where the unit looks wrong, unless it is given as "s". */
export class TimeReader {
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
