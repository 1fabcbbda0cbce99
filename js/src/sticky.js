// The sticky filter: a hidden Markov model whose class tends to stay.
import { Block, borrow, core, numbers } from "./core.js";
import { arrayType, checkNumber, checkOptions, classNames, decay, positiveDuration, settingsError, squareMatrix, vector } from "./checks.js";
import { Filter } from "./filter.js";

const OPTIONS = ["stay", "dwell", "prior", "transitions", "interval", "floor", "temperature", "dtype", "prepared"];

export class StickyFilter extends Filter {
  constructor(classes, options = {}) {
    checkOptions("StickyFilter", options, OPTIONS);
    const names = classNames(classes);
    const K = names.length;
    const { transitions, interval = 1, prepared, floor = 1e-3, temperature = 1, dtype = "float64" } = options;
    const type = arrayType(dtype);
    const suffix = type === Float64Array ? "f64" : "f32";
    const hasRates = transitions !== undefined;
    if (hasRates) checkTransitions(options);
    const prior = vector("prior", options.prior ?? new Array(K).fill(1 / K), type);
    if (prior.length !== K) {
      throw new RangeError(`prior has shape (${prior.length},); it must have one entry per class, shape (${K},)`);
    }
    const stay = hasRates ? 1 : stayOf(options, prior);
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
    const dynamics = hasRates ? { transitions, interval: positiveDuration("interval", interval), prepared } : { stay };
    super(names, "sticky", type, new Block(size), scratch, start, { ...dynamics, prior: Array.from(prior), floor, temperature, dtype });
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
}

function stayOf({ stay, dwell }, prior) {
  if (dwell === undefined) return decay("stay", stay, undefined, 0.99);
  if (stay !== undefined) throw new RangeError("stay and dwell are both given; give one of them");
  return 0.5 ** (1 / positiveDuration("dwell", dwell) / halfLives(prior));
}

/** The time in which a class is drawn again with probability 1/2, for a dwell of 1: it may be drawn as it was. */
const halfLives = (prior) => Math.LN2 * (1 - prior.reduce((sum, share) => sum + share * share, 0));

/** The rates of transitions, a logarithm of a matrix, are computed in Python only. */
function checkTransitions({ stay, dwell, prior, prepared }) {
  if (stay !== undefined || dwell !== undefined) {
    const other = stay === undefined ? "dwell" : "stay";
    throw new RangeError(`transitions and ${other} are both given; give one of them`);
  }
  if (prepared?.rates === undefined || prior === undefined) {
    throw new RangeError(
      "transitions need rates and a prior that Python computes: load a file that Pipeline.save writes",
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
