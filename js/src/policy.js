// Policies: which classifier to call next.
import { Block, borrow, core, message, numbers, place } from "./core.js";
import { BAD_DT, BAD_STATE, arrayType, checkNumber, checkOptions, checkSteps, positiveDuration, settingsError, show, vector } from "./checks.js";

/** The share of a duration that rounding may lose. */
const ROUNDING = 1e-9;

/** The paper's policy: the strong classifier at regular intervals, the weak one in between. */
export class Periodic {
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
export class Adaptive {
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
        throw new RangeError(`budget is ${show(budget)}; it is the cost per time unit, above 0 and finite`);
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
    throw new RangeError(`budget is ${show(budget)}; ${rest}`);
  }
  const steps = checkSteps("maxGap", maxGap ?? Math.ceil(5 / budget));
  if (!(minGap <= 1 / budget && 1 / budget <= steps)) {
    throw new RangeError(
      `budget is ${show(budget)}, one strong call in ${Number((1 / budget).toPrecision(3))} steps; that number ` +
        `must lie between minGap, ${minGap}, and maxGap, ${steps}`,
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
    throw new RangeError(`${name} is ${show(value)}; it must lie in ${low} to ${high}`);
  }
}

function checkCosts(cost, strong, weak) {
  const names = Object.keys(cost);
  if (names.length !== 2 || !names.includes(strong) || !names.includes(weak)) {
    throw new RangeError(`cost names ${show(names)}; name ${show(strong)} and ${show(weak)}`);
  }
  if (!(cost[weak] >= 0 && cost[strong] > cost[weak] && cost[strong] < Infinity)) {
    const rule = `a call of ${show(strong)} must cost more than one of ${show(weak)}, and that 0 or more`;
    throw new RangeError(`cost is ${show(cost)}; ${rule}`);
  }
  return { ...cost };
}

function requireTwo(strong, weak) {
  if (strong === weak) throw new RangeError(`strong and weak are both ${show(strong)}; name two sources`);
}

function policyError(status, probs, observation, name, time) {
  if (status === BAD_DT) {
    const rest = "it must be finite and not negative: put the steps in order of time";
    return new RangeError(`${name} is ${time}; ${rest}`);
  }
  return new RangeError(
    status === BAD_STATE
      ? `probs is ${show(probs)}; give the filter's estimate, the probabilities of K classes`
      : `observation is ${show(observation)}, but ${message(status)}; give probabilities, or NaN only`,
  );
}
