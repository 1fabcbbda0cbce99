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

/** The labels of a stream and what each source predicted, which no slider changes: lanes, and the class of each row. */
export function givenLanes(table, rows, time, columns, step) {
  const K = columns.length;
  const raw = new Float64Array(rows.length * K);
  rows.forEach((row, i) => columns.forEach((column, k) => (raw[i * K + k] = table.probs[row * K + column])));
  const several = table.source.names.length > 1;
  const own = table.source.names.map(() => []);
  rows.forEach((row, i) => own[table.source.codes[row]].push(i));
  const sources = table.source.names.map((name, s) => ({ name: several ? String(name) : "predicted", own: own[s] })).filter((one) => one.own.length > 0);
  if (table.independent) {
    const lanes = sources.map(({ name, own: mine }) => ({ name, rows: K, blocks: onBlocks(raw, K, mine, mine.map((i) => time[i]), step) }));
    return { lanes, predicted: null, truth: null };
  }
  const predicted = largest(raw, K);
  const lanes = sources.map(({ name, own: mine }) => ({ name, rows: 1, blocks: blocksOf(mine.map((i) => time[i]), mine.map((i) => predicted[i]), step) }));
  const truth = table.label === null ? null : Int16Array.from(rows, (row) => columns.indexOf(table.label[row]));
  const top = truth?.some((k) => k >= 0) ? [{ name: "label", rows: 1, blocks: blocksOf(time, truth, step) }] : [];
  return { lanes: [...top, ...lanes], predicted, truth };
}

/** Where each label is on, a row for each. */
const onBlocks = (probs, K, rows, times, step) => Array.from({ length: K }, (_, k) =>
  blocksOf(times, rows.map((i) => (probs[i * K + k] > 0.5 ? k : -1)), step, k)).flat();

/** The lanes of the filter and of events below those that are given, and a sentence with the numbers. */
export function lanesOf({ lanes, predicted, truth }, { time, probs }, classes, found, step) {
  const K = classes.length;
  const rows = predicted === null ? K : 1;
  const blocks = found.map(({ label, start, end }) => ({ from: start, to: end, k: classes.indexOf(label), row: rows > 1 ? classes.indexOf(label) : 0 }));
  const events = { name: "events", rows, blocks };
  if (predicted === null) {
    const filtered = { name: "filtered", rows, blocks: onBlocks(probs, K, Array.from(time.keys()), time, step) };
    return { lanes: [...lanes, filtered, events], words: `Each label is decided by itself: ${eventWords(found)}.` };
  }
  const steady = largest(probs, K);
  const filtered = { name: "filtered", rows, blocks: blocksOf(time, steady, step) };
  return { lanes: [...lanes, filtered, events], words: numbers(predicted, steady, truth, found) };
}

const times = (count) => (count === 1 ? "once" : `${count} times`);
const eventWords = (found) => (found.length === 1 ? "1 event" : `${found.length} events`);

function numbers(predicted, steady, truth, found) {
  const words = `The class changes ${times(changes(predicted))} as predicted and ${times(changes(steady))} filtered: ${eventWords(found)}.`;
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
