// The events of a stream: decided by the core's rule, as Python does, and judged by the labels.
import { EventRule, events, writeEvents } from "../src/index.js";
import { element, page } from "./state.js";

const IOU = 0.5;

/** The events of rows, with the index of their class. */
export function eventsOf(rule, stream, probs) {
  const { classes } = page.tuned.filter;
  const names = classes.map(String);
  const found = events(rule, { classes, times: stream.time, probs, stream: stream.stream });
  return found.map((event) => ({ ...event, k: names.indexOf(event.label) }));
}

/** The events of the labels, as label_events in Python: stretches of one label. */
function labelEvents(stream) {
  const K = page.data.classes.length;
  const probs = new Float64Array(stream.label.length * K).fill(NaN);
  stream.label.forEach((k, i) => {
    if (k >= 0) probs.fill(0, i * K, (i + 1) * K)[i * K + k] = 1;
  });
  return eventsOf(new EventRule(), stream, probs);
}

/**
 * F1 of events by their intersection over union, as metrics.event_scores in Python: events in order of time go to the true event
 * of their class with the largest one. Both lists are by their start, and no two events of a class overlap.
 */
function eventF1(truth, predicted, ignored) {
  let [found, count] = [0, 0];
  for (const [k, name] of page.tuned.filter.classes.entries()) {
    if (ignored.includes(String(name))) continue;
    const [known, guesses] = [truth, predicted].map((list) => list.filter((event) => event.k === k));
    count += known.length + guesses.length;
    const taken = new Set();
    let first = 0;
    for (const { start, end } of guesses) {
      while (first < known.length && known[first].end <= start) first += 1;
      let [best, most] = [-1, 0];
      for (let i = first; i < known.length && known[i].start < end; i++) {
        const shared = Math.min(known[i].end, end) - Math.max(known[i].start, start);
        const ratio = shared / (Math.max(known[i].end, end) - Math.min(known[i].start, start));
        if (ratio > most) [best, most] = [i, ratio];
      }
      if (most >= IOU && !taken.has(best)) {
        taken.add(best);
        found += 1;
      }
    }
  }
  return count > 0 ? (2 * found) / count : NaN;
}

/** How many events there are, in words. */
export function describeEvents(stream, list, rule) {
  const rate = stream.hours > 0 ? `, ${(list.length / stream.hours).toFixed(1)} an hour` : "";
  const words = `Events: ${list.length.toLocaleString("en")}${rate}.`;
  if (!stream.labelled) return [words];
  stream.truth ??= labelEvents(stream);
  return [words, `F1 of events by the labels: ${eventF1(stream.truth, list, rule.ignore).toFixed(3)}.`];
}

// ---- files ----

/** The choice of what a file holds. */
export function fillDownloads() {
  const { streams, independent } = page.data;
  const all = streams.length > 1 && !independent ? [new Option(`all ${streams.length.toLocaleString("en")} streams in this page`, "all")] : [];
  element("eventsOf").replaceChildren(new Option("this stream", "one"), ...all);
}

/** A file of events; dates are in UTC there. */
export function eventFile(list, format) {
  const plain = list.map(({ stream, label, start, end, probability }) => ({ stream, label, start, end, probability }));
  return writeEvents(plain, format, { dates: page.data.dates });
}
