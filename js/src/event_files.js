// Events as the text of a file: CSV or JSON.
import { checkOptions, isRow, show } from "./checks.js";

const FORMATS = { csv: writeCsv, json: writeJson };

/** Events as the text of a file. With `dates`, the times are UNIX seconds, and dates in UTC in the file. */
export function writeEvents(list, format, options = {}) {
  if (!Object.hasOwn(FORMATS, format)) throw new RangeError(`format is ${show(format)}; it must be csv or json`);
  checkOptions("writeEvents", options, ["dates", "overlaps"]);
  const { dates = false, overlaps = false } = options;
  return FORMATS[format](checked(list, overlaps), dates ? dateText : (time) => time);
}

/** CSV with the columns of an event table in Python. */
function writeCsv(events, timeOf) {
  const rows = events.map(({ stream, label, start, end, probability }) =>
    [stream ?? "", label, timeOf(start), timeOf(end), end - start, probability ?? ""]);
  const cell = (value) => (/[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);
  const header = ["stream", "class", "start", "end", "duration", "probability"];
  return [header, ...rows].map((row) => `${row.map(cell).join(",")}\n`).join("");
}

/** JSON as ActivityNet has it; events without a stream are those of "". */
function writeJson(events, timeOf) {
  const results = new Map();
  for (const { stream, label, start, end, probability } of events) {
    const name = stream ?? "";
    if (!results.has(name)) results.set(name, []);
    const score = probability === null ? {} : { score: probability };
    results.get(name).push({ label, ...score, segment: [timeOf(start), timeOf(end)] });
  }
  return `${JSON.stringify({ results: Object.fromEntries(results) }, null, 1)}\n`;
}

function dateText(time) {
  const date = new Date(1000 * time);
  if (Number.isNaN(date.getTime())) throw new RangeError(`time is ${time}; it must be UNIX seconds, since dates is true`);
  return date.toISOString();
}

/** Events with their streams as text, checked. */
function checked(list, overlaps) {
  if (!Array.isArray(list) || list.some((event) => typeof event !== "object" || event === null || isRow(event))) {
    throw new TypeError(`events is ${show(list)}; give a list of events: { stream, label, start, end, probability }`);
  }
  list.forEach(checkEvent);
  if (!overlaps) checkOverlaps(list);
  const names = new Map();
  return list.map(({ stream = null, label, start, end, probability = null }, i) => {
    const text = stream === null ? null : String(stream);
    if (text !== null && text.trim() === "") {
      throw new RangeError(`stream in row ${i} is ${show(stream)}; it must be a name that is not empty, or null`);
    }
    if (names.has(text) && names.get(text) !== stream) {
      throw new RangeError(`stream in row ${i} is ${show(stream)}, but another stream is ${show(names.get(text))}; rename one of them`);
    }
    names.set(text, stream);
    return { stream: text, label, start, end, probability };
  });
}

function checkEvent({ label, start, end = null, probability = null }, i) {
  const rejected = (name, rest) => new RangeError(`${name} in row ${i} is ${rest}`);
  if (typeof label !== "string" || label.trim() === "") {
    throw rejected("label", `${show(label)}; it must be text that is not empty`);
  }
  if (end === null) throw rejected("end", "null: the event is provisional; leave it out until it is confirmed");
  for (const [name, time] of [["start", start], ["end", end]]) {
    if (!Number.isFinite(time)) throw rejected(name, `${show(time)}; it must be a finite number`);
  }
  if (end < start) throw rejected("end", `${end}, before the start, ${start}`);
  if (probability !== null && !(typeof probability === "number" && probability >= 0 && probability <= 1)) {
    throw rejected("probability", `${show(probability)}; it must lie in [0, 1], or be null`);
  }
}

function checkOverlaps(events) {
  const last = new Map(); // of each stream, of each class
  const order = events.map((_, i) => i).sort((a, b) => events[a].start - events[b].start || events[a].end - events[b].end);
  for (const i of order) {
    const { stream = null, label, start } = events[i];
    if (!last.has(stream)) last.set(stream, new Map());
    const before = last.get(stream).get(label);
    last.get(stream).set(label, i);
    if (before === undefined || !(start < events[before].end)) continue;
    throw new RangeError(
      `start in row ${i} is ${start}, but row ${before}, also of ${show(label)}, ends at ${events[before].end}; ` +
        "merge them, or give overlaps: true",
    );
  }
}
