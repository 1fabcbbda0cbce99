// The pictures: classes as lanes, and probabilities as lines. uPlot has the axes, the zoom and the canvas.

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
function swatch(k) {
  const canvas = Object.assign(document.createElement("canvas"), { width: 16, height: 16 });
  const pen = canvas.getContext("2d");
  pen.fillStyle = patternOf(k, pen);
  pen.fillRect(0, 0, 16, 16);
  return canvas;
}

const shorten = (name, length) => (name.length <= length ? name : `${name.slice(0, length - 1)}…`);

/** Seconds as 1:23:45, or with days. */
function clock(seconds) {
  const sign = seconds < 0 ? "-" : "";
  const whole = Math.floor(Math.abs(seconds));
  const [days, hours, minutes] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
  const two = (number) => String(number).padStart(2, "0");
  const rest = Math.abs(seconds) - whole;
  const fraction = rest > 0 ? rest.toFixed(3).slice(1).replace(/0+$/, "") : "";
  return `${sign}${days > 0 ? `${days} d ` : ""}${hours}:${two(minutes)}:${two(whole % 60)}${fraction}`;
}

/** Times on an axis, without seconds where all are whole minutes. */
function clocks(times) {
  const whole = times.every((time) => time % 60 === 0);
  return times.map((time) => (whole ? clock(time).slice(0, -3) : clock(time)));
}

/** A zone, or UTC if the browser does not know it. */
function knownZone(zone) {
  try {
    new Intl.DateTimeFormat("en-CA", { timeZone: zone || "UTC" });
    return zone;
  } catch {
    return "UTC";
  }
}

/** What writes a time as 2024-05-01 08:00:00, in a zone; "" is none, and shows dates as they are. */
function dateWriter(zone) {
  const parts = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const format = new Intl.DateTimeFormat("en-CA", { ...parts, hourCycle: "h23", timeZone: zone || "UTC" });
  return (time) => {
    const of = Object.fromEntries(format.formatToParts(1000 * time).map(({ type, value }) => [type, value]));
    return `${of.year}-${of.month}-${of.day} ${of.hour}:${of.minute}:${of.second}`;
  };
}

/** Dates on an axis: the day where it begins, and the time of day. */
function dates(times, write) {
  const texts = times.map(write);
  if (texts.every((text) => text.endsWith(" 00:00:00"))) return texts.map((text) => text.slice(0, 10));
  const end = texts.every((text) => text.endsWith(":00")) ? 16 : 19;
  const isNew = (i) => i === 0 || texts[i].slice(0, 10) !== texts[i - 1].slice(0, 10);
  return texts.map((text, i) => (isNew(i) ? `${text.slice(5, 10)} ` : "") + text.slice(11, end));
}

const DURATIONS = [
  ...[1e-3, 1e-2, 0.1].flatMap((unit) => [unit, 2 * unit, 5 * unit]), 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
  3600, 7200, 10800, 21600, 43200, ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((days) => 86400 * days),
];

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
function drawLanes(element, classes, zone, lanes, setView) {
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

/** Where there are more rows than pixels, each pixel has its most frequent class. */
function fillLane(u, { times, labels }, top, patterns) {
  const { left, width } = u.bbox;
  const [upper, lower] = [u.valToPos(top - 0.08, "y", true), u.valToPos(top - 0.92, "y", true)];
  const { min, max } = u.scales.x;
  const place = (time) => left + (width * (time - min)) / (max - min);
  const first = Math.max(0, upperBound(times, min) - 1);
  const last = Math.min(times.length, upperBound(times, max));
  const fill = (from, to, k) => {
    const [start, end] = [Math.max(from, left), Math.min(to, left + width)];
    if (k < 0 || end <= start) return;
    u.ctx.fillStyle = patterns[k];
    u.ctx.fillRect(start, upper, Math.max(end - start, 1), lower - upper);
  };
  if (last - first > width) {
    const shown = mostFrequent(times, labels, first, last, min, max, Math.round(width), patterns.length);
    for (let start = 0, end; start < shown.length; start = end) {
      for (end = start + 1; end < shown.length && shown[end] === shown[start]; end++);
      fill(left + start, left + end, shown[start]);
    }
    return;
  }
  for (let start = first, end; start < last; start = end) {
    for (end = start + 1; end < last && labels[end] === labels[start]; end++);
    fill(place(times[start]), end < times.length ? place(times[end]) : left + width, labels[start]);
  }
}

/** The class that is most frequent in each of some bins; a bin without rows continues the one before. */
function mostFrequent(times, labels, first, last, min, max, bins, classes) {
  const counts = new Uint32Array(bins * classes);
  for (let i = first; i < last; i++) {
    const bin = Math.min(bins - 1, Math.max(0, Math.floor((bins * (times[i] - min)) / (max - min))));
    if (labels[i] >= 0) counts[bin * classes + labels[i]] += 1;
  }
  const shown = new Int16Array(bins).fill(-1);
  for (let bin = 0; bin < bins; bin++) {
    let most = 0;
    for (let k = 0; k < classes; k++) {
      if (counts[bin * classes + k] > most) [most, shown[bin]] = [counts[bin * classes + k], k];
    }
    if (most === 0 && bin > 0) shown[bin] = shown[bin - 1];
  }
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

/** A line for each class. Few rows are steps, since an estimate holds until the next row. `showRow` gets the row under the pointer. */
function drawProbs(element, classes, zone, setView, showRow) {
  const options = chartOptions(element, zone, 220, setView);
  const [steps, lines] = [uPlot.paths.stepped({ align: 1 }), uPlot.paths.linear()];
  const paths = (u, i, from, to) => (to - from < u.bbox.width / 2 ? steps : lines)(u, i, from, to);
  options.scales.y = { range: [0, 1] };
  options.hooks.setCursor = [(u) => showRow(u.cursor.left >= 0 ? u.cursor.idx : null)];
  Object.assign(options.axes[1], { values: (_, splits) => splits.map((p) => `${Math.round(100 * p)} %`) });
  options.series = [{}, ...classes.map((label, k) => ({
    label, stroke: colourOf(k), width: 1.5, paths, points: { show: false }, dash: k < COLOURS.length ? undefined : [6, 3],
  }))];
  return zoomByWheel(new uPlot(options, [[0, 1], ...classes.map(() => [0, 0])], element), setView);
}
