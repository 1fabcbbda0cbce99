// Predictions of one classifier that flickers, one per second, and what was true, as CSV.

const CLASSES = ["walk", "sit", "sleep"];

export function simulate(rows = 1800) {
  let seed = 11;
  const uniform = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  let label = 0;
  let mistaken = 0;
  const lines = [["time", ...CLASSES.map((name) => `p_${name}`), "label"]];
  for (let time = 0; time < rows; time++) {
    if (uniform() < 1 / 150) label = (label + 1 + Math.floor(uniform() * 2)) % CLASSES.length;
    if (uniform() < 0.3) mistaken = Math.floor(uniform() * CLASSES.length); // errors last for some rows
    const shown = uniform() < 0.6 ? label : mistaken;
    const scores = CLASSES.map((_, k) => 0.1 + uniform() + (k === shown ? 2 : 0));
    const total = scores.reduce((sum, score) => sum + score, 0);
    lines.push([time, ...scores.map((score) => (score / total).toFixed(6)), CLASSES[label]]);
  }
  return lines.map((line) => line.join(",")).join("\n") + "\n";
}
