// Nanoseconds per step of run(), at K = 6; prints one number per line of settings. See tests/js/bench.py for the ratio.
import { DirichletFilter, StickyFilter } from "./src/index.js";

const K = 6;
const ROWS = 20_000;
const REPEATS = 7;

/** Rows of a class that stays, with noise, by a small generator that Python can repeat. */
function rows() {
  let seed = 1;
  const uniform = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  const probs = new Float64Array(ROWS * K);
  for (let i = 0; i < ROWS; i++) {
    const row = probs.subarray(i * K, (i + 1) * K);
    for (let k = 0; k < K; k++) row[k] = 0.05 + uniform() + (k === Math.floor(i / 500) % K ? 1 : 0);
    const total = row.reduce((sum, p) => sum + p, 0);
    for (let k = 0; k < K; k++) row[k] /= total;
  }
  return probs;
}

const probs = rows();
const cases = {
  "dirichlet, weight 0.3": [new DirichletFilter(K, { gamma: 0.95 }), 0.3],
  "dirichlet, weight 1": [new DirichletFilter(K, { gamma: 0.95 }), 1],
  "dirichlet, weight 0.3, float32": [new DirichletFilter(K, { gamma: 0.95, dtype: "float32" }), 0.3],
  "sticky, weight 0.3": [new StickyFilter(K, { stay: 0.95 }), 0.3],
};
const best = Object.fromEntries(Object.keys(cases).map((name) => [name, Infinity]));
for (let repeat = 0; repeat < REPEATS; repeat++) {
  for (const [name, [filter, beta]] of Object.entries(cases)) {
    const start = performance.now();
    filter.run(probs, { beta });
    best[name] = Math.min(best[name], ((performance.now() - start) * 1e6) / ROWS);
  }
}
console.log(JSON.stringify(best));
