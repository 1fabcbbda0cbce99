// The Dirichlet filter: the Bayesian filter of "Classification Filtering" (Bayram, MLSP 2025).
import { Block, borrow, core, numbers } from "./core.js";
import { arrayType, checkNumber, checkOptions, classNames, decay, settingsError, show, vector } from "./checks.js";
import { Filter } from "./filter.js";

const OPTIONS = [
  "gamma", "halfLife", "estimate", "floor", "anchor", "prior", "priorWeight", "maxConcentration", "tolerance",
  "bounded", "temperature", "dtype",
];

export class DirichletFilter extends Filter {
  constructor(classes, options = {}) {
    checkOptions("DirichletFilter", options, OPTIONS);
    const names = classNames(classes);
    const K = names.length;
    const gamma = decay("gamma", options.gamma, options.halfLife, 0.9);
    const { estimate = "mode", floor = 1e-3, anchor = 0, priorWeight = 1, tolerance = 0 } = options;
    const { bounded = true, temperature = 1, dtype = "float64" } = options;
    if (estimate !== "mode" && estimate !== "mean") {
      throw new RangeError(`estimate is ${show(estimate)}; it must be "mode" or "mean"`);
    }
    if (typeof bounded !== "boolean") throw new RangeError(`bounded is ${show(bounded)}; it must be true or false`);
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
        `priorWeight is ${show(priorWeight)}; it must be positive: without it the first observation has no mode`,
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
    if (priorWeight > 1e9) throw new RangeError(`priorWeight is ${priorWeight}; it must lie in [0, 1e9]`);
    const scratch = core[`dirichlet_scratch_${suffix}`](K);
    super(names, "dirichlet", type, new Block(size), scratch, [priorWeight, ...prior], {
      gamma, estimate, floor, anchor, prior: Array.from(prior), priorWeight, maxConcentration, tolerance, bounded, temperature,
      dtype,
    });
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
}
