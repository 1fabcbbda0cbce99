// What a row of run() and of events() costs at K = 6, in nanoseconds, here and in Python's extension:
// PYTHON=.venv/bin/python node js/bench.mjs
import { spawnSync } from "node:child_process";
import { DirichletFilter, EventRule, StickyFilter, events } from "./dist/classfilter.mjs";

const K = 6;
const ROWS = 20_000;
const ROUNDS = 7;
const CASES = [
  ["dirichlet, weight 0.3", 0.3, new DirichletFilter(K, { gamma: 0.95 })],
  ["dirichlet, weight 1", 1, new DirichletFilter(K, { gamma: 0.95 })],
  ["dirichlet, weight 0.3, float32", 0.3, new DirichletFilter(K, { gamma: 0.95, dtype: "float32" })],
  ["sticky, weight 0.3", 0.3, new StickyFilter(K, { stay: 0.95 })],
  ["events", null, new EventRule({ changeCost: 5 })],
  ["events, minimum duration", null, new EventRule({ changeCost: 5, minDuration: 20 })],
];
const NATIVE = `
import json, sys, time
import numpy as np
import classfilter as cf
probs = np.frombuffer(sys.stdin.buffer.read(), np.float64).reshape(-1, ${K})
cases = [
    (cf.DirichletFilter(${K}, 0.95), 0.3),
    (cf.DirichletFilter(${K}, 0.95), 1.0),
    (cf.DirichletFilter(${K}, 0.95, dtype="float32"), 0.3),
    (cf.StickyFilter(${K}, 0.95), 0.3),
]
rules = [cf.EventRule(5), cf.EventRule(5, min_duration=20)]
cores = [rule.compiled(tuple("abcdef"), np.float64) for rule in rules]
best = [float("inf")] * (len(cases) + len(cores))
for _ in range(3):
    for i, (filter_, beta) in enumerate(cases):
        rows = probs.astype(filter_.dtype)
        start = time.perf_counter()
        filter_.run(rows, beta)
        best[i] = min(best[i], (time.perf_counter() - start) * 1e9 / len(rows))
    times = np.arange(float(len(probs)))
    for i, core in enumerate(cores, len(cases)):
        start = time.perf_counter()
        core.finish(core.run(core.start(), times, probs)[0])
        best[i] = min(best[i], (time.perf_counter() - start) * 1e9 / len(probs))
print(json.dumps(best))
`;

/** Noisy rows of a class that stays for 500 of them. */
function rows() {
  let seed = 1;
  const uniform = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
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
const times = Float64Array.from({ length: ROWS }, (_, i) => i);
const here = CASES.map(() => Infinity);
const native = CASES.map(() => Infinity);
for (let round = 0; round < ROUNDS; round++) {
  for (let repeat = 0; repeat < 3; repeat++) {
    CASES.forEach(([, beta, filter], i) => {
      const observed = filter.dtype === "float32" ? Float32Array.from(probs) : probs;
      const start = performance.now();
      if (filter instanceof EventRule) events(filter, { classes: [..."abcdef"], times, probs });
      else filter.run(observed, { beta });
      here[i] = Math.min(here[i], ((performance.now() - start) * 1e6) / ROWS);
    });
  }
  const python = spawnSync(process.env.PYTHON ?? "python3", ["-c", NATIVE], { input: Buffer.from(probs.buffer) });
  if (python.status !== 0) throw new Error(python.stderr.toString());
  JSON.parse(python.stdout).forEach((time, i) => (native[i] = Math.min(native[i], time)));
}
for (const [i, [name]] of CASES.entries()) {
  const ratio = (here[i] / native[i]).toFixed(2);
  console.log(`${name}: ${here[i].toFixed(0)} ns, native ${native[i].toFixed(0)} ns, ratio ${ratio}`);
}
