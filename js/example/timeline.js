// Timelines on a canvas.

/** Okabe and Ito's colours, which the colour-blind can distinguish. */
const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"];
const MARGIN = 96;

export const colour = (k) => COLOURS[k % COLOURS.length];

function begin(canvas, classes) {
  canvas.style.height = `${Math.max(144, 18 * classes.length)}px`;
  const scale = globalThis.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const text = getComputedStyle(canvas).color;
  const lane = height / classes.length;
  classes.forEach((name, k) => {
    context.fillStyle = colour(k);
    context.fillRect(0, lane * (k + 0.5) - 5, 10, 10);
    context.fillStyle = text;
    context.fillText(String(name), 14, lane * (k + 0.5), MARGIN - 18);
  });
  return { context, width: width - MARGIN, height, lane };
}

/** Where each time lies between the first and the last. */
function positions(times, width) {
  const first = times[0];
  const span = times[times.length - 1] - first || 1;
  return (i) => MARGIN + ((times[i] - first) / span) * width;
}

/** A lane for each class; a block where it was the label. */
export function drawLabels(canvas, classes, times, labels) {
  const { context, width, lane } = begin(canvas, classes);
  const x = positions(times, width);
  for (let start = 0, end; start < labels.length; start = end) {
    for (end = start + 1; end < labels.length && labels[end] === labels[start]; end++);
    if (labels[start] < 0) continue;
    context.fillStyle = colour(labels[start]);
    const right = end < labels.length ? x(end) : MARGIN + width;
    context.fillRect(x(start), lane * labels[start] + 1, Math.max(right - x(start), 0.75), lane - 2);
  }
}

/** A line for each class, from 0 at the bottom to 1 at the top. */
export function drawProbs(canvas, classes, times, rows) {
  const { context, width, height } = begin(canvas, classes);
  const x = positions(times, width);
  const stride = Math.max(1, Math.floor(rows.length / (4 * width)));
  classes.forEach((_, k) => {
    context.strokeStyle = colour(k);
    context.beginPath();
    for (let i = 0; i < rows.length; i += stride) context.lineTo(x(i), (height - 4) * (1 - rows[i][k]) + 2);
    context.stroke();
  });
}
