// Logits as class probabilities.
import { show, vector } from "./checks.js";

/** Softmax of one row of logits, divided by a temperature; a row of NaN, a missing observation, stays NaN. */
export function softmax(scores, temperature = 1) {
  if (typeof temperature !== "number" || !(temperature > 0 && temperature < Infinity)) {
    throw new RangeError(`temperature is ${show(temperature)}; it must be positive and finite`);
  }
  const row = vector("scores", scores, Float64Array);
  if (row.length < 2) throw new RangeError(`scores has shape (${row.length},); it must be (K,), one per class`);
  if (row.every(Number.isNaN)) return row;
  const highest = row.reduce((most, score) => Math.max(most, score));
  if (!Number.isFinite(highest)) {
    throw new RangeError(`scores is ${show(row)}; it must hold finite numbers, or only NaN where nothing was observed`);
  }
  const powers = row.map((score) => Math.exp((score - highest) / temperature));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}
