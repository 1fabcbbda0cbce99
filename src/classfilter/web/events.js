// The events of a stream: decided by the core's rule, as Python does, and judged by the labels.
const IOU = 0.5;

/** The events of rows, with the index of their class. */
function eventsOf(rule, stream, probs) {
  const { classes } = tuned.filter;
  const names = classes.map(String);
  const found = classfilter.events(rule, { classes, times: stream.time, probs, stream: stream.stream });
  return found.map((event) => ({ ...event, k: names.indexOf(event.label) }));
}

/** The events of the labels, as label_events in Python: stretches of one label. */
function labelEvents(stream) {
  const probs = new Float64Array(stream.label.length * K).fill(NaN);
  stream.label.forEach((k, i) => {
    if (k >= 0) probs.fill(0, i * K, (i + 1) * K)[i * K + k] = 1;
  });
  return eventsOf(new classfilter.EventRule(), stream, probs);
}

/**
 * F1 of events by their intersection over union, as metrics.event_scores in Python: events in order of time go to the true event
 * of their class with the largest one. Both lists are by their start, and no two events of a class overlap.
 */
function eventF1(truth, predicted, ignored) {
  let [found, count] = [0, 0];
  for (let k = 0; k < K; k++) {
    if (ignored.includes(String(tuned.filter.classes[k]))) continue;
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
function describeEvents(stream, list, rule) {
  const rate = stream.hours > 0 ? `, ${(list.length / stream.hours).toFixed(1)} an hour` : "";
  const words = `Events: ${list.length.toLocaleString("en")}${rate}.`;
  if (!stream.labelled) return [words];
  stream.truth ??= labelEvents(stream);
  return [words, `F1 of events by the labels: ${eventF1(stream.truth, list, rule.ignore).toFixed(3)}.`];
}

// ---- files ----

const FORMATS = ["csv", "tsv", "txt", "rttm", "TextGrid", "vtt", "json"];
const IN_SECONDS = ["tsv", "txt", "rttm", "TextGrid", "vtt"];
const WITH_STREAMS = ["csv", "rttm", "TextGrid", "json"];

/** The buttons for files; what a file holds depends on the times, and on whether it is of one stream or of all. */
function fillDownloads() {
  element("formats").append(...FORMATS.map((format) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: format });
    button.dataset.format = format;
    return button;
  }));
  const count = data.streams.length;
  if (count > 1 && !data.independent) element("eventsOf").append(new Option(`all ${count.toLocaleString("en")} streams in this page`, "all"));
  showDownloads();
}

function showDownloads() {
  const all = element("eventsOf").value === "all";
  for (const button of element("formats").querySelectorAll("button")) button.disabled = all && !WITH_STREAMS.includes(button.dataset.format);
  const notes = [];
  if (data.dates) notes.push("csv and json have dates, in the zone of the data; the others have seconds, counted from the first row of the stream that is shown");
  if (all) notes.push("tsv, txt and vtt have no streams in them");
  element("formatNote").textContent = notes.map((note) => `${note[0].toUpperCase()}${note.slice(1)}.`).join(" ");
}

/** A file of events, as cf.write_events writes it. Those that hold seconds begin at the first row, where times are dates. */
function eventFile(list, format, zone, first) {
  const plain = list.map(({ stream, label, start, end, probability }) => ({ stream, label, start, end, probability }));
  const options = data.dates ? { dates: true, zone } : {};
  if (data.dates && IN_SECONDS.includes(format)) options.start = first;
  return classfilter.writeEvents(plain, format, options);
}
