// Times in seconds.
import { show } from "./checks.js";

/** How many of each unit of numbers a second has. */
const PER_SECOND = { s: 1, ms: 1e3, us: 1e6, ns: 1e9 };
/** Larger numbers are hardly UNIX seconds, which reach it in the year 5138; milliseconds did so in 1973. */
const LARGEST_SECONDS = 1e11;
const LOOKS_LIKE = [["ms", "milliseconds"], ["us", "microseconds"], ["ns", "nanoseconds"]];
/** So many half-lives later a thousandth of the past is left: each row stands alone. */
const ALONE = 10;
const FIRST_STEPS = 9;

/** Times as seconds: numbers of a unit are divided. One warning says where the unit looks wrong, unless it is given as "s". */
export class TimeReader {
  #perSecond;
  #halfLife;
  #quiet;
  #steps = [];

  /** `rate` is what a time unit leaves of the past. */
  constructor(unit, rate) {
    if (unit !== undefined && !Object.hasOwn(PER_SECOND, unit)) {
      throw new RangeError(`unit is ${show(unit)}; it must be one of ${Object.keys(PER_SECOND).join(", ")}`);
    }
    this.unit = unit;
    this.#perSecond = PER_SECOND[unit ?? "s"];
    this.#halfLife = Math.log(0.5) / Math.log(rate);
    this.#quiet = unit === "s";
  }

  read(name, time) {
    const isDate = time instanceof Date;
    if (!isDate && typeof time !== "number") throw new TypeError(`${name} is ${show(time)}; give a number or a Date`);
    const at = isDate ? time.getTime() / 1000 : time / this.#perSecond;
    if (!Number.isFinite(at)) throw new RangeError(`${name} is ${at}; it must be finite`);
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
    const figures = `the median step is ${median}, ${Number((halfLives).toPrecision(3))} half-lives (${Number(this.#halfLife.toPrecision(6))})`;
    this.#warn(
      `time does not fit the filter: ${figures}; each row stands alone, so nothing is filtered: give a half-life in the unit ` +
        'of the times, or their unit, such as unit: "ms"',
    );
  }

  #checkUnit(name, time) {
    const [unit, words] = LOOKS_LIKE[Math.floor((Math.log10(Math.abs(time)) - 11) / 3)] ?? [];
    if (unit === undefined) return;
    const remedy = `give unit: "${unit}", or unit: "s" if the numbers are right as they are`;
    this.#warn(`${name} is ${show(time)}, which looks like ${words} since 1970; ${remedy}`);
  }

  #warn(text) {
    this.#quiet = true; // once is enough
    console.warn(`classfilter: ${text}`);
  }
}
