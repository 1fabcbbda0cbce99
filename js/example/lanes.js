// Pictures of a stream on a canvas: lanes with the class over time, and lines with the probability of each.
import { ticks } from "./axis.js";

/** Okabe and Ito's colours, which the colour-blind can distinguish; blocks have the names of the classes too. */
const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"];
const DARK = new Set(["#0072B2", "#D55E00", "#009E73"]);
const AXIS_HEIGHT = 20;
const LANE_HEIGHT = 34;

export const colour = (k) => COLOURS[k % COLOURS.length];
const marginOf = (width) => (width < 500 ? 68 : 96);

/** An empty picture with its axis: where times lie, and where the drawing ends. */
function begin(canvas, height, view, timeKind) {
  canvas.style.height = `${height + AXIS_HEIGHT}px`;
  const scale = globalThis.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.width = width * scale;
  canvas.height = (height + AXIS_HEIGHT) * scale;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const text = getComputedStyle(canvas).color;
  const left = marginOf(width);
  const x = (time) => left + ((time - view[0]) / (view[1] - view[0] || 1)) * (width - left);
  context.fillStyle = context.strokeStyle = text;
  for (const mark of ticks(view, (width - left) / 110, timeKind)) {
    context.globalAlpha = 0.2;
    context.fillRect(x(mark.time), 0, 1, height);
    context.globalAlpha = 1;
    const half = context.measureText(mark.text).width / 2;
    context.fillText(mark.text, Math.min(Math.max(x(mark.time) - half, left), width - 2 * half), height + AXIS_HEIGHT / 2);
  }
  return { context, text, left, width, height, x };
}

/** Where in the times in view a pointer is. */
export function timeAt(canvas, { offsetX }, [from, to]) {
  const left = marginOf(canvas.clientWidth);
  const share = (offsetX - left) / (canvas.clientWidth - left);
  return from + Math.min(1, Math.max(0, share)) * (to - from);
}

/** One lane for each of `lanes`: its name, its number of rows, and its blocks `{ from, to, k, row }`. */
export function drawLanes(canvas, lanes, classes, view, timeKind) {
  const { context, text, left, width, x } = begin(canvas, LANE_HEIGHT * lanes.length, view, timeKind);
  lanes.forEach(({ name, rows, blocks }, i) => {
    const top = LANE_HEIGHT * i;
    context.fillStyle = text;
    context.fillText(name, 0, top + LANE_HEIGHT / 2, left - 8);
    const each = (LANE_HEIGHT - 6) / rows;
    for (const { from, to, k, row } of blocks) {
      if (to < view[0] || from > view[1]) continue;
      const [start, end] = [Math.max(x(from), left), Math.min(x(to), width)];
      context.fillStyle = colour(k);
      context.fillRect(start, top + 3 + each * row, Math.max(end - start, 0.75), Math.max(each - (rows > 1 ? 1 : 0), 1));
      const label = String(classes[k]);
      if (rows === 1 && end - start > 24 && context.measureText(label).width < end - start - 8) {
        context.fillStyle = DARK.has(colour(k)) ? "#fff" : "#000";
        context.fillText(label, start + 4, top + LANE_HEIGHT / 2);
      }
    }
  });
}

/** The stretches of one class as blocks; -1 is none. A row holds until the next one, the last for `step`. */
export function blocksOf(times, labels, step, row = 0) {
  const blocks = [];
  for (let start = 0, end; start < labels.length; start = end) {
    for (end = start + 1; end < labels.length && labels[end] === labels[start]; end++);
    const to = end < labels.length ? times[end] : times[end - 1] + step;
    if (labels[start] >= 0) blocks.push({ from: times[start], to, k: labels[start], row });
  }
  return blocks;
}

/** A line for each class, from 0 at the bottom to 1 at the top. */
export function drawProbs(canvas, times, probs, K, view, timeKind) {
  const { context, text, left, width, height, x } = begin(canvas, 150, view, timeKind);
  const y = (p) => (height - 12) * (1 - p) + 6;
  context.fillStyle = text;
  for (const p of [0, 0.5, 1]) context.fillText(`${100 * p} %`, 0, y(p), left - 8);
  context.beginPath();
  context.rect(left, 0, width - left, height);
  context.clip();
  context.lineWidth = 1.5;
  const first = Math.max(0, times.findIndex((time) => time > view[0]) - 1);
  const after = times.findIndex((time) => time > view[1]);
  const last = after < 0 ? times.length : after + 1;
  const stride = Math.max(1, Math.floor((last - first) / (4 * width)));
  for (let k = 0; k < K; k++) {
    context.strokeStyle = colour(k);
    context.setLineDash(k < COLOURS.length ? [] : [6, 3]);
    context.beginPath();
    for (let i = first; i < last; i += stride) context.lineTo(x(times[i]), y(probs[i * K + k]));
    context.stroke();
  }
}
