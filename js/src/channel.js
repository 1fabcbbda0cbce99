// What a classifier tends to output in each class; it corrects the outputs.
import { borrow, core, numbers } from "./core.js";
import { rowError, show, squareMatrix, takeRows, vector } from "./checks.js";

const MIN_ENTRY = 1e-9;

export class Channel {
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
      throw new RangeError(`${place}: it is ${counts[invalid]}; give counts, 0 or more`);
    }
    if (K < 2) throw new RangeError(`matrix has ${K} row; at least two classes are needed`);
    for (let k = 0; k < K; k++) {
      if (!(sum(counts.subarray(k * K, (k + 1) * K)) > 0)) {
        throw new RangeError(`matrix, row ${k}: it is all 0; give counts of the outputs there`);
      }
    }
    const shares = prior === undefined ? new Float64Array(K).fill(1) : vector("prior", prior, Float64Array);
    if (shares.length !== K || !shares.every(Number.isFinite)) {
      throw new RangeError(`prior is ${show(prior)}; it must be ${K} numbers, one per class`);
    }
    const least = shares.indexOf(Math.min(...shares));
    if (shares[least] <= 0) {
      throw new RangeError(`prior, entry ${least}: it is ${shares[least]}; a share must be positive`);
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
