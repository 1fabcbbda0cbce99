// What the page shows of one stream: numbers, lanes, and the table of events.
import { timeWriter } from "./axis.js";
import { blocksOf, colour } from "./lanes.js";
import { largest } from "./streams.js";

const MOST_EVENTS = 500;

/** The number of changes of class from one row to the next that has one. */
function changes(labels) {
  let [count, before] = [0, -1];
  for (const label of labels) {
    if (label >= 0 && before >= 0 && label !== before) count += 1;
    if (label >= 0) before = label;
  }
  return count;
}

const share = (labels, truth) => {
  const judged = Array.from(truth.keys()).filter((i) => truth[i] >= 0 && labels[i] >= 0);
  return judged.length === 0 ? null : judged.filter((i) => labels[i] === truth[i]).length / judged.length;
};

/** The lanes of one stream, from the top: the labels, each source, the filter, the events; and a sentence with the numbers. */
export function lanesOf(table, stream, classes, columns, found, step) {
  const K = classes.length;
  const { rows, time } = stream;
  const of = (values) => Int16Array.from(rows, (row) => values[row]);
  const raw = Float64Array.from({ length: rows.length * K }, (_, i) => table.probs[rows[Math.floor(i / K)] * K + columns[i % K]]);
  const events = { name: "events", rows: 1, blocks: found.map(({ label, start, end }) => ({ from: start, to: end, k: classes.indexOf(label), row: 0 })) };
  const several = table.source.names.length > 1;
  const sources = table.source.names.map((name, s) => {
    const own = Array.from(rows.keys()).filter((i) => table.source.codes[rows[i]] === s);
    return { name: several ? String(name) : "predicted", own };
  }).filter(({ own }) => own.length > 0);
  if (table.independent) {
    const on = (probs, own, at) => Array.from({ length: K }, (_, k) =>
      blocksOf(at, own.map((i) => (probs[i * K + k] > 0.5 ? k : -1)), step, k)).flat();
    const lanes = sources.map(({ name, own }) => ({ name, rows: K, blocks: on(raw, own, own.map((i) => time[i])) }));
    const filtered = { name: "filtered", rows: K, blocks: on(stream.probs, Array.from(rows.keys()), time) };
    for (const block of events.blocks) block.row = block.k;
    return { lanes: [...lanes, filtered, { ...events, rows: K }], words: `${eventWords(found)}.` };
  }
  const [predicted, steady] = [largest(raw, K), largest(stream.probs, K)];
  const lanes = sources.map(({ name, own }) => ({ name, rows: 1, blocks: blocksOf(own.map((i) => time[i]), own.map((i) => predicted[i]), step) }));
  const filtered = { name: "filtered", rows: 1, blocks: blocksOf(time, steady, step) };
  const place = table.label === null ? null : table.classes.map((name) => columns.findIndex((k) => table.classes[k] === name));
  const truth = place === null ? null : of(table.label.map((k) => (k < 0 ? -1 : place[k])));
  const top = truth?.some((k) => k >= 0) ? [{ name: "label", rows: 1, blocks: blocksOf(time, truth, step) }] : [];
  return { lanes: [...top, ...lanes, filtered, events], words: numbers(predicted, steady, truth, found) };
}

const eventWords = (found) => (found.length === 1 ? "1 event" : `${found.length} events`);

function numbers(predicted, steady, truth, found) {
  const words = `The class changes ${changes(predicted)} times as predicted and ${changes(steady)} times filtered: ${eventWords(found)}.`;
  const [before, after] = truth === null ? [null, null] : [share(predicted, truth), share(steady, truth)];
  if (before === null) return words;
  return `${words} ${(100 * before).toFixed(1)} % of the predictions are right, ${(100 * after).toFixed(1)} % filtered.`;
}

/** The colours of the classes. */
export function legendItems(classes) {
  return classes.map((name, k) => {
    const swatch = Object.assign(document.createElement("canvas"), { width: 16, height: 16 });
    const pen = swatch.getContext("2d");
    pen.fillStyle = colour(k);
    pen.fillRect(0, 0, 16, 16);
    const item = document.createElement("span");
    item.append(swatch, String(name));
    return item;
  });
}

/** The rows of the table of events: class, start, end, duration, probability. */
export function eventRows(found, timeKind) {
  const write = timeWriter(timeKind);
  const rows = found.slice(0, MOST_EVENTS).map(({ label, start, end, probability }) => {
    const cells = [label, write(start), write(end), String(Number((end - start).toPrecision(6))), probability.toFixed(3)];
    const row = document.createElement("tr");
    row.append(...cells.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
    return row;
  });
  return { rows, more: Math.max(0, found.length - MOST_EVENTS) };
}
