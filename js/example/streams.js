// The streams of a table: the rows of each in order of time, as a filter gets them.
import { arrayType } from "../src/checks.js";
import { corrected } from "../src/label_scores.js";
import { prediction } from "../src/predictions.js";
import { repr } from "../src/text.js";

/** The rows of each stream, as indices, in order of time. With `sort` they may come in any order. */
export function rowsByStream({ time, stream, place, layout }, sort) {
  const rows = stream.names.map(() => []);
  stream.codes.forEach((code, row) => {
    const before = rows[code].at(-1);
    if (!sort && time[row] < time[before]) {
      const of = layout.columns.has("stream") ? ` of stream ${repr(String(stream.names[code]))}` : "";
      throw new RangeError(
        `time${place(row)} is ${time[row]}, before ${time[before]}, the row before${of}; put the rows in order of time, or tick "Rows in any order of time"`,
      );
    }
    rows[code].push(row);
  });
  if (sort) for (const own of rows) own.sort((a, b) => time[a] - time[b]);
  return rows.map((own) => Uint32Array.from(own));
}

/** The median time between two rows of a stream; 1 where there is none. */
export function usualStep(time, streams) {
  const steps = [];
  for (const rows of streams) {
    for (let i = 1; i < rows.length && steps.length < 1e4; i++) {
      const step = time[rows[i]] - time[rows[i - 1]];
      if (step > 0) steps.push(step);
    }
  }
  return steps.sort((a, b) => a - b)[(steps.length - 1) >> 1] ?? 1;
}

/** One stream of a table, filtered: a probability per class of the filter and row, in order of time. */
export function filterStream(table, rows, { filter, beta, channel }) {
  const own = { rows, time: Float64Array.from(rows, (row) => table.time[row]) };
  const dt = own.time.map((at, i) => (i === 0 ? 0 : at - own.time[i - 1]));
  const weight = table.source.names.map((name) => remembered(() => weightOf(String(name), beta)));
  const weights = Array.from(rows, (row) => weight[table.source.codes[row]]());
  filter.reset();
  const observe = filter.kind === "multi_label" ? filterLabels : filterClasses;
  return { ...own, probs: observe(table, rows, filter, weights, dt, channel) };
}

/** A function that computes once, when it is first called. */
function remembered(compute) {
  let value;
  return () => (value ??= compute());
}

function weightOf(source, beta) {
  if (typeof beta === "number") return beta;
  if (Object.hasOwn(beta, source)) return beta[source];
  throw new RangeError(`source is ${repr(source)}, which has no weight; the settings name ${repr(Object.keys(beta))}: add it there`);
}

function filterClasses(table, rows, filter, weights, dt, channel) {
  const K = filter.classes.length;
  const type = arrayType(filter.dtype);
  const columns = columnsOf(table.classes, filter.classes);
  const channels = table.source.names.map((name) => (Object.hasOwn(channel, name) ? channel[name] : undefined));
  const observed = new type(rows.length * K);
  rows.forEach((row, i) => {
    const corrects = channels[table.source.codes[row]];
    for (let k = 0; k < K; k++) observed[i * K + k] = table.probs[row * K + columns[k]];
    const own = observed.subarray(i * K, (i + 1) * K);
    if (corrects) own.set(corrects.apply(own));
    else if (table.hard[row]) own.set(prediction(own.indexOf(1), filter.classes));
  });
  return filter.run(observed, { beta: type.from(weights), dt });
}

function filterLabels(table, rows, filter, weights, dt, channel) {
  const L = filter.classes.length;
  const type = arrayType(filter.dtype);
  const columns = columnsOf(table.classes, filter.classes);
  const out = new type(rows.length * L);
  rows.forEach((row, i) => {
    const source = String(table.source.names[table.source.codes[row]]);
    const corrects = Object.hasOwn(channel, source) ? ofLabels(channel[source], filter.classes) : undefined;
    const weight = typeof weights[i] === "number" ? weights[i] : filter.classes.map((name) => weights[i][name]);
    out.set(filter._observe(corrected(type.from(columns, (k) => table.probs[row * L + k]), corrects), weight, dt[i]), i * L);
  });
  return out;
}

/** The channel of each label: one for all, or by name. */
const ofLabels = (channel, labels) => labels.map((name) => (typeof channel?.apply === "function" ? channel : (channel?.[name] ?? null)));

/** The column of each class of the filter; numbers from 0 are places. */
export function columnsOf(classes, wanted) {
  const names = wanted.map(String);
  const same = names.length === classes.length && names.every((name) => classes.includes(name));
  if (same) return names.map((name) => classes.indexOf(name));
  if (names.length === classes.length && wanted.every((name, k) => name === k)) return names.map((_, k) => k);
  throw new RangeError(`the file has the classes ${repr(classes)}, but the settings have ${repr(wanted)}; drop settings with the same names, or name the columns`);
}

/** The index of the largest of the K probabilities of each row; of several, the first, and -1 where nothing was observed. */
export function largest(probs, K) {
  return Int16Array.from({ length: probs.length / K }, (_, i) => {
    let best = i * K;
    for (let k = best + 1; k < (i + 1) * K; k++) if (probs[k] > probs[best]) best = k;
    return Number.isNaN(probs[i * K]) ? -1 : best - i * K;
  });
}
