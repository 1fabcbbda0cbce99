// Predictions of a weak classifier every second and a strong one every twelve, as CSV.

const CLASSES = ["walk", "sit", "sleep"];

export function simulate(rows = 3000) {
  let seed = 7;
  const uniform = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  let label = 0;
  let mistaken = 0;
  const lines = [["time", "source", ...CLASSES.map((name) => `p_${name}`)]];
  for (let time = 0; time < rows; time++) {
    if (uniform() < 0.01) label = Math.floor(uniform() * CLASSES.length);
    const strong = time % 12 === 0;
    if (uniform() < 0.3) mistaken = Math.floor(uniform() * CLASSES.length); // errors last for some rows
    const shown = uniform() < (strong ? 0.95 : 0.55) ? label : mistaken;
    const scores = CLASSES.map((_, k) => 0.1 + uniform() + (k === shown ? 2 : 0));
    const total = scores.reduce((sum, score) => sum + score, 0);
    lines.push([time, strong ? "strong" : "weak", ...scores.map((score) => (score / total).toFixed(6))]);
  }
  return lines.map((line) => line.join(",")).join("\n") + "\n";
}
