// The pictures: classes as lanes, and probabilities as lines. uPlot has the axes, the zoom and the canvas.
import uPlot from "uplot";

import { DURATIONS, clocks, dateWriter, dates } from "./times.js";

// Okabe and Ito's colours, which the colour-blind can distinguish; hatches tell them apart without colour.
const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"];
const HATCHES = [[], ["/"], ["o"], ["\\"], ["-"], ["/", "\\"], ["|"]];
const TILE = 8;
const LANE_HEIGHT = 30;
const AXIS_WIDTH = 96;

const colourOf = (k) => COLOURS[k % COLOURS.length];

/** The fill of a class: its colour with its hatch. */
function patternOf(k, context) {
  const hatch = HATCHES[(k + Math.floor(k / COLOURS.length)) % HATCHES.length];
  const tile = Object.assign(document.createElement("canvas"), { width: TILE, height: TILE });
  const pen = tile.getContext("2d");
  pen.fillStyle = colourOf(k);
  pen.fillRect(0, 0, TILE, TILE);
  pen.strokeStyle = pen.fillStyle = "#0007";
  pen.beginPath();
  for (const mark of hatch) {
    if (mark === "o") pen.fillRect(2, 2, 3, 3);
    else if (mark === "-") pen.fillRect(0, 3, TILE, 1);
    else if (mark === "|") pen.fillRect(3, 0, 1, TILE);
    else {
      for (const shift of [-TILE, 0, TILE]) {
        pen.moveTo(shift - 1, mark === "/" ? TILE + 1 : -1);
        pen.lineTo(shift + TILE + 1, mark === "/" ? -1 : TILE + 1);
      }
    }
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

/** A small picture of a class's colour and hatch. */
export function swatch(k) {
  const canvas = Object.assign(document.createElement("canvas"), { width: 16, height: 16, className: "swatch" });
  const pen = canvas.getContext("2d");
  pen.fillStyle = patternOf(k, pen);
  pen.fillRect(0, 0, 16, 16);
  return canvas;
}

const shorten = (name, length) => (name.length <= length ? name : `${name.slice(0, length - 1)}…`);

/** What both pictures share: the axes, in the colours of the page, and what a drag and a double click do. */
function chartOptions(element, zone, height, setView) {
  const hasDates = zone !== null;
  const write = hasDates ? dateWriter(zone) : null;
  const colour = () => getComputedStyle(element).color;
  const grid = { stroke: () => `color-mix(in srgb, ${colour()} 15%, transparent)`, width: 1 };
  const axis = { stroke: colour, grid, ticks: grid, font: "12px system-ui, sans-serif" };
  const time = { space: 90, values: (_, splits) => (hasDates ? dates(splits, write) : clocks(splits)) };
  if (!hasDates) time.incrs = DURATIONS;
  return {
    width: element.clientWidth, height, axes: [{ ...axis, ...time, size: 32 }, { ...axis, size: AXIS_WIDTH }],
    scales: { x: { time: hasDates, auto: false } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), zone || "UTC"),
    legend: { show: false },
    padding: [6, 28, 0, 0],
    cursor: {
      sync: { key: "classfilter" }, points: { show: false }, y: false,
      drag: { x: true, y: false, setScale: false },
      bind: { dblclick: () => () => (setView(null), null) },
    },
    hooks: {
      setSelect: [(u) => {
        const { left, width } = u.select;
        if (width > 2) setView([u.posToVal(left, "x"), u.posToVal(left + width, "x")]);
        if (width > 0) u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
    },
  };
}

/** With Ctrl, a wheel zooms at the pointer; sideways, or with Shift, it moves. */
function zoomByWheel(u, setView) {
  u.over.addEventListener("wheel", (event) => {
    const { min, max } = u.scales.x;
    const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
    if (!event.ctrlKey && sideways === 0) return;
    event.preventDefault();
    if (event.ctrlKey) {
      const at = u.posToVal(event.offsetX, "x");
      const factor = 1.002 ** event.deltaY;
      setView([at - (at - min) * factor, at + (max - at) * factor]);
    } else {
      const moved = ((max - min) * sideways) / 1000;
      setView([min + moved, max + moved]);
    }
  }, { passive: false });
  return u;
}

/** One lane per source of classes, coloured by class. `lanes` are names, times and class indices; -1 is none. */
export function drawLanes(element, classes, zone, lanes, setView) {
  const height = LANE_HEIGHT * lanes.length + 38;
  const options = chartOptions(element, zone, height, setView);
  const middles = lanes.map((_, i) => lanes.length - i - 0.5);
  Object.assign(options.axes[1], {
    splits: () => middles, values: () => lanes.map(({ name }) => shorten(name, 13)), grid: { show: false }, ticks: { show: false },
  });
  options.scales.y = { range: [0, lanes.length] };
  options.series = [{}, { paths: () => null, points: { show: false } }];
  let patterns = null;
  options.hooks.draw = [(u) => {
    patterns ??= classes.map((_, k) => patternOf(k, u.ctx));
    u.ctx.save(); // uPlot remembers its colours
    lanes.forEach((lane, i) => fillLane(u, lane, lanes.length - i, patterns));
    u.ctx.restore();
  }];
  return zoomByWheel(new uPlot(options, [[0, 1], [0, 0]], element), setView);
}

/** Where there are more rows or events than pixels, each pixel has its most frequent class. */
function fillLane(u, lane, top, patterns) {
  const { left, width } = u.bbox;
  const [upper, lower] = [u.valToPos(top - 0.08, "y", true), u.valToPos(top - 0.92, "y", true)];
  const { min, max } = u.scales.x;
  const place = (time) => left + (width * (time - min)) / (max - min);
  const fill = (from, to, k) => {
    const [start, end] = [Math.max(from, left), Math.min(to, left + width)];
    if (k < 0 || end <= start) return;
    u.ctx.fillStyle = patterns[k];
    u.ctx.fillRect(start, upper, Math.max(end - start, 1), lower - upper);
  };
  const fillPixels = (shown) => {
    for (let start = 0, end; start < shown.length; start = end) {
      for (end = start + 1; end < shown.length && shown[end] === shown[start]; end++);
      fill(left + start, left + end, shown[start]);
    }
  };
  if (lane.events !== undefined) {
    const inView = lane.events.filter(({ start, end }) => end > min && start < max);
    if (2 * inView.length > width) return fillPixels(mostTime(inView, min, max, Math.round(width), patterns.length));
    for (const { start, end, k } of inView) {
      const to = place(end);
      fill(place(start), to - place(start) > 4 ? to - 1 : to, k); // a gap, so that two of one class are two
    }
    return undefined;
  }
  const { times, labels } = lane;
  const first = Math.max(0, upperBound(times, min) - 1);
  const last = Math.min(times.length, upperBound(times, max));
  if (last - first > width) return fillPixels(mostFrequent(times, labels, first, last, min, max, Math.round(width), patterns.length));
  for (let start = first, end; start < last; start = end) {
    for (end = start + 1; end < last && labels[end] === labels[start]; end++);
    fill(place(times[start]), end < times.length ? place(times[end]) : left + width, labels[start]);
  }
  return undefined;
}

/** The class that has most of the time in each of some bins; -1 where there is no event. */
function mostTime(events, min, max, bins, classes) {
  const spent = new Float64Array(bins * classes);
  const scale = bins / (max - min);
  for (const { start, end, k } of events) {
    const [from, to] = [Math.max(0, (start - min) * scale), Math.min(bins, (end - min) * scale)];
    for (let bin = Math.floor(from); bin < to; bin++) spent[bin * classes + k] += Math.min(to, bin + 1) - Math.max(from, bin);
  }
  return mostIn(spent, bins, classes);
}

/** The class with the largest number in each bin; -1 where all are 0. */
function mostIn(numbers, bins, classes) {
  const shown = new Int16Array(bins).fill(-1);
  for (let bin = 0; bin < bins; bin++) {
    let most = 0;
    for (let k = 0; k < classes; k++) {
      if (numbers[bin * classes + k] > most) [most, shown[bin]] = [numbers[bin * classes + k], k];
    }
  }
  return shown;
}

/** The class that is most frequent in each of some bins; a bin without rows continues the one before. */
function mostFrequent(times, labels, first, last, min, max, bins, classes) {
  const counts = new Uint32Array(bins * classes);
  for (let i = first; i < last; i++) {
    const bin = Math.min(bins - 1, Math.max(0, Math.floor((bins * (times[i] - min)) / (max - min))));
    if (labels[i] >= 0) counts[bin * classes + labels[i]] += 1;
  }
  const shown = mostIn(counts, bins, classes);
  for (let bin = 1; bin < bins; bin++) if (shown[bin] < 0) shown[bin] = shown[bin - 1];
  return shown;
}

/** How many of the increasing times are at most one. */
function upperBound(times, time) {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A line for each class. Few rows are steps, since an estimate holds until the next row; of many, each pixel has the range of its rows. */
export function drawProbs(element, classes, zone, setView, showRow) {
  const options = chartOptions(element, zone, 240, setView);
  const steps = uPlot.paths.stepped({ align: 1 });
  const isDense = (u, from, to) => to - from > u.bbox.width;
  const paths = (u, i, from, to) => (isDense(u, from, to) ? null : steps(u, i, from, to));
  options.scales.y = { range: [0, 1] };
  options.hooks.setCursor = [(u) => showRow(u.cursor.left >= 0 ? u.cursor.idx : null)];
  options.hooks.drawSeries = [(u, i) => {
    const times = u.data[0];
    const [from, to] = [Math.max(0, upperBound(times, u.scales.x.min) - 1), Math.min(times.length, upperBound(times, u.scales.x.max) + 1)];
    if (i > 0 && isDense(u, from, to)) fillRanges(u, times, u.data[i], from, to, colourOf(i - 1));
  }];
  Object.assign(options.axes[1], { values: (_, splits) => splits.map((p) => `${Math.round(100 * p)} %`) });
  options.series = [{}, ...classes.map((label, k) => ({
    label, stroke: colourOf(k), width: 1.5, paths, points: { show: false }, dash: k < COLOURS.length ? undefined : [6, 3],
  }))];
  return zoomByWheel(new uPlot(options, [[0, 1], ...classes.map(() => [0, 0])], element), setView);
}

/** Fill the range of some values in each pixel, joined to the one before: as a line would look, for a fraction of its work. */
function fillRanges(u, times, values, from, to, colour) {
  const { left, top, width, height } = u.bbox;
  const { min, max } = u.scales.x;
  const [bins, thick] = [Math.round(width), Math.max(1, Math.round(1.5 * devicePixelRatio))];
  const scale = bins / (max - min);
  const [low, high, last] = [Infinity, -Infinity, NaN].map((value) => new Float64Array(bins).fill(value));
  let [before, used] = [NaN, -1];
  for (let i = from; i < to; i++) {
    const bin = Math.floor((times[i] - min) * scale);
    const value = values[i];
    if (bin >= 0 && bin < bins && value === value) {
      if (bin !== used && before === before) { // the line comes from the row before
        low[bin] = Math.min(low[bin], before);
        high[bin] = Math.max(high[bin], before);
      }
      if (value < low[bin]) low[bin] = value;
      if (value > high[bin]) high[bin] = value;
      last[bin] = value;
      used = bin;
    }
    before = value;
  }
  u.ctx.save();
  u.ctx.fillStyle = colour;
  const place = (value) => top + Math.round((1 - value) * height - thick / 2);
  let [start, upper, lower] = [0, NaN, NaN];
  const fill = (end) => upper === upper && u.ctx.fillRect(left + start, upper, end - start, lower - upper + thick);
  for (let bin = 0; bin < bins; bin++) {
    const empty = high[bin] < low[bin]; // an estimate holds until the next row
    const held = empty && bin > 0 ? place(last[bin - 1]) : NaN;
    if (empty && bin > 0) last[bin] = last[bin - 1];
    const [a, b] = empty ? [held, held] : [place(high[bin]), place(low[bin])];
    if (a === upper && b === lower) continue; // one rectangle for equal neighbours
    fill(bin);
    [start, upper, lower] = [bin, a, b];
  }
  fill(bins);
  u.ctx.restore();
}
