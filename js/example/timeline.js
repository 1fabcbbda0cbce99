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

/** Where a time lies in the picture, and the rows that are in view, with one more on either side. */
function places(times, [from, to], width) {
  const x = (time) => MARGIN + ((time - from) / (to - from || 1)) * width;
  const first = Math.max(0, times.findIndex((time) => time > from) - 1);
  const after = times.findIndex((time) => time > to);
  return { x, first, last: after < 0 ? times.length : after + 1 };
}

/** Where in the times in view a pointer is. */
export function timeAt(canvas, { offsetX }, [from, to]) {
  const share = (offsetX - MARGIN) / (canvas.clientWidth - MARGIN);
  return from + Math.min(1, Math.max(0, share)) * (to - from);
}

/** A lane for each class; a block where it was the label. */
export function drawLabels(canvas, classes, times, labels, view) {
  const { context, width, lane } = begin(canvas, classes);
  const { x, first, last } = places(times, view, width);
  for (let start = first, end; start < last; start = end) {
    for (end = start + 1; end < last && labels[end] === labels[start]; end++);
    if (labels[start] < 0) continue;
    context.fillStyle = colour(labels[start]);
    const left = Math.max(x(times[start]), MARGIN);
    const right = Math.min(end < labels.length ? x(times[end]) : MARGIN + width, MARGIN + width);
    if (right >= left) context.fillRect(left, lane * labels[start] + 1, Math.max(right - left, 0.75), lane - 2);
  }
}

/** A line for each class, from 0 at the bottom to 1 at the top. */
export function drawProbs(canvas, classes, times, rows, view) {
  const { context, width, height } = begin(canvas, classes);
  const { x, first, last } = places(times, view, width);
  const stride = Math.max(1, Math.floor((last - first) / (4 * width)));
  context.beginPath();
  context.rect(MARGIN, 0, width, height);
  context.clip();
  classes.forEach((_, k) => {
    context.strokeStyle = colour(k);
    context.beginPath();
    for (let i = first; i < Math.min(last, rows.length); i += stride) context.lineTo(x(times[i]), (height - 4) * (1 - rows[i][k]) + 2);
    context.stroke();
  });
}
