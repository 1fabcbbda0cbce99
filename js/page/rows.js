// The rows that the page has in it, and what is computed of them.
import { page } from "./state.js";

const classCount = () => page.data.classes.length;
/** For tests: a page of thousands of streams opens one. */
export const counted = { unpacked: 0 };

/** Numbers as Python packed them: little-endian, deflated, in base 64. Those of a CSV file are there already. */
async function unpack(text, type) {
  if (typeof text !== "string") return text;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new type(await new Response(unpacked).arrayBuffer());
}

function argmax(values, start, K) {
  let best = start;
  for (let k = start + 1; k < start + K; k++) if (values[k] > values[best]) best = k;
  return Number.isNaN(values[start]) ? -1 : best - start;
}

// Plain loops where there is something to do for each row: a slider redraws all of them.

export function labelsOf(probs) {
  const K = classCount();
  const labels = new Int16Array(probs.length / K);
  for (let i = 0; i < labels.length; i++) labels[i] = argmax(probs, i * K, K);
  return labels;
}

/** The rows of a source: their indices. */
function rowsOf(source, s) {
  const rows = [];
  for (let i = 0; i < source.length; i++) if (source[i] === s) rows.push(i);
  return rows;
}

/** Some rows of a table of probabilities, as one array. */
export function takeRows(probs, rows, type) {
  const K = classCount();
  const taken = new type(rows.length * K);
  for (let j = 0; j < rows.length; j++) for (let k = 0; k < K; k++) taken[j * K + k] = probs[rows[j] * K + k];
  return taken;
}

/** The rows without a channel: a class without confidence, a one-hot row, counts by the default reliability. */
function withoutChannel(probs, hard) {
  const { reliability } = page.data;
  const K = classCount();
  const rows = probs.slice();
  const rest = (1 - reliability) / (K - 1);
  for (let i = 0; i < rows.length; i++) if (hard[Math.floor(i / K)]) rows[i] = probs[i] === 1 ? reliability : rest;
  return rows;
}

/** A stream: its rows without channels, and those of each source through its channel. Only what is shown is unpacked. */
export async function openStream({ name, stream, zone, ...packed }) {
  const [time, source, probs, label, hard] = await Promise.all([
    unpack(packed.time, Float64Array), unpack(packed.source, Uint16Array),
    unpack(packed.probs, Float64Array), unpack(packed.label, Int16Array), unpack(packed.hard, Uint8Array),
  ]);
  counted.unpacked += 1;
  const dt = time.map((at, i) => (i === 0 ? 0 : at - time[i - 1]));
  const sorted = dt.filter((step, i) => i > 0 && step > 0).sort();
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  const type = page.tuned.filter.dtype === "float32" ? Float32Array : Float64Array;
  const rowsOfSources = page.data.sources.map((_, s) => rowsOf(source, s));
  const corrected = page.data.sources.map((name_, s) => {
    const channel = page.tuned.channel[name_];
    if (channel === undefined) return null;
    const rows = rowsOfSources[s];
    return { rows, probs: channel.apply(takeRows(probs, rows, type)) };
  });
  return {
    name, stream, zone, time, source, label, dt, corrected, rowsOf: rowsOfSources,
    probs: withoutChannel(probs, hard), raw: labelsOf(probs), longestGap: 10 * median, hours: hoursOf(dt),
    labelled: label.some((k) => k >= 0), observed: null,
  };
}

/** What the filter gets of a stream: the rows, those of some sources through their channels. */
export function observations(of, channelled) {
  const K = classCount();
  const wanted = String(channelled);
  if (of.observed?.wanted === wanted) return of.observed.rows;
  const all = of.probs.slice();
  of.corrected.forEach((channel, s) => {
    if (channel === null || !channelled[s]) return;
    channel.rows.forEach((i, j) => all.set(channel.probs.subarray(j * K, (j + 1) * K), i * K));
  });
  of.observed = { wanted, rows: all };
  return all;
}

/** Hours without pauses longer than ten usual steps, as in the table of the streams. */
function hoursOf(dt) {
  const steps = dt.slice(1).sort();
  if (steps.length === 0) return 0;
  const middle = steps.length >> 1;
  const median = steps.length % 2 ? steps[middle] : (steps[middle - 1] + steps[middle]) / 2;
  let seconds = 0;
  for (let i = 1; i < dt.length; i++) if (dt[i] <= 10 * median) seconds += dt[i];
  return seconds / 3600;
}

/** As metrics.switches_per_hour in Python; of several rows of one time, the last counts. */
export function switchesPerHour(stream, labels) {
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
export function accuracy(stream, labels) {
  let [right, judged] = [0, 0];
  for (let i = 0; i < labels.length; i++) {
    if (stream.label[i] < 0 || labels[i] < 0) continue;
    judged += 1;
    if (labels[i] === stream.label[i]) right += 1;
  }
  return judged > 0 ? right / judged : NaN;
}

/** The times, then the probabilities of each class. */
export function columnsOf(times, probs) {
  const K = classCount();
  const columns = page.data.classes.map((_, k) => {
    const column = new Float64Array(times.length);
    for (let i = 0; i < column.length; i++) column[i] = probs[i * K + k];
    return column;
  });
  return [times, ...columns];
}
