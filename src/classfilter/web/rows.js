// The rows that the page has in it, and what is computed of them.
const element = (id) => document.getElementById(id);
const data = JSON.parse(element("data").textContent);
let tuned = classfilter.load(data.configs[0]); // that of the stream that is shown
const K = data.classes.length;

/** Numbers as Python packed them: little-endian, deflated, in base 64. */
async function unpack(text, type) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new type(await new Response(unpacked).arrayBuffer());
}

function argmax(values, start) {
  let best = start;
  for (let k = start + 1; k < start + K; k++) if (values[k] > values[best]) best = k;
  return Number.isNaN(values[start]) ? -1 : best - start;
}

// Plain loops where there is something to do for each row: a slider redraws all of them.

function labelsOf(probs) {
  const labels = new Int16Array(probs.length / K);
  for (let i = 0; i < labels.length; i++) labels[i] = argmax(probs, i * K);
  return labels;
}

/** The rows of a source: their indices. */
function rowsOf(source, s) {
  const rows = [];
  for (let i = 0; i < source.length; i++) if (source[i] === s) rows.push(i);
  return rows;
}

/** Some rows of a table of probabilities, as one array. */
function takeRows(probs, rows, type) {
  const taken = new type(rows.length * K);
  for (let j = 0; j < rows.length; j++) for (let k = 0; k < K; k++) taken[j * K + k] = probs[rows[j] * K + k];
  return taken;
}

/** The rows without a channel: a class without confidence, a one-hot row, counts by the default reliability. */
function withoutChannel(probs, hard) {
  const rows = probs.slice();
  const rest = (1 - data.reliability) / (K - 1);
  for (let i = 0; i < rows.length; i++) if (hard[Math.floor(i / K)]) rows[i] = probs[i] === 1 ? data.reliability : rest;
  return rows;
}

/** A stream: its rows without channels, and those of each source through its channel. */
async function openStream({ name, ...packed }) {
  const [time, source, probs, label, hard] = await Promise.all([
    unpack(packed.time, Float64Array), unpack(packed.source, Uint16Array),
    unpack(packed.probs, Float64Array), unpack(packed.label, Int16Array), unpack(packed.hard, Uint8Array),
  ]);
  const dt = time.map((at, i) => (i === 0 ? 0 : at - time[i - 1]));
  const raw = labelsOf(probs);
  const sorted = dt.filter((step, i) => i > 0 && step > 0).sort();
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  const type = tuned.filter.dtype === "float32" ? Float32Array : Float64Array;
  const corrected = data.sources.map((source_, s) => {
    const channel = tuned.channel[source_];
    if (channel === undefined) return null;
    const rows = rowsOf(source, s);
    return { rows, probs: channel.apply(takeRows(probs, rows, type)) };
  });
  return { name, time, source, probs: withoutChannel(probs, hard), label, dt, raw, longestGap: 10 * median, corrected, observed: null };
}

/** As metrics.switches_per_hour in Python; of several rows of one time, the last counts. */
function switchesPerHour(stream, labels) {
  let [switches, seconds, before] = [0, 0, -1];
  for (let i = 0; i < labels.length; i++) {
    if (stream.dt[i + 1] === 0) continue;
    const dt = before < 0 ? Infinity : stream.time[i] - stream.time[before];
    if (dt <= stream.longestGap && labels[i] >= 0 && labels[before] >= 0) {
      seconds += dt;
      if (labels[i] !== labels[before]) switches += 1;
    }
    before = i;
  }
  return seconds > 0 ? switches / (seconds / 3600) : NaN;
}

/** The share of the labelled rows whose class is the label. */
function accuracy(stream, labels) {
  let [right, judged] = [0, 0];
  for (let i = 0; i < labels.length; i++) {
    if (stream.label[i] < 0 || labels[i] < 0) continue;
    judged += 1;
    if (labels[i] === stream.label[i]) right += 1;
  }
  return judged > 0 ? right / judged : NaN;
}

/** The times, then the probabilities of each class. */
function columnsOf(times, probs) {
  const columns = data.classes.map((_, k) => {
    const column = new Float64Array(times.length);
    for (let i = 0; i < column.length; i++) column[i] = probs[i * K + k];
    return column;
  });
  return [times, ...columns];
}
