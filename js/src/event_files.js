// Events as the text of a file: CSV, BIDS events.tsv, Audacity, RTTM, TextGrid, WebVTT and JSON.
import { isRow } from "./checks.js";
import { exact, minus } from "./decimals.js";
import { dateWriter } from "./event_dates.js";
import { writeAudacity, writeCsv, writeJson, writeRttm, writeTextgrid, writeTsv, writeWebvtt } from "./event_formats.js";
import { float, isBlank, repr } from "./text.js";

const FORMATS = {
  csv: { write: writeCsv, seconds: false, options: [] },
  tsv: { write: writeTsv, seconds: true, options: [] },
  txt: { write: writeAudacity, seconds: true, options: [] },
  rttm: { write: writeRttm, seconds: true, options: [] },
  textgrid: { write: writeTextgrid, seconds: true, options: ["tiers", "duration"] },
  vtt: { write: writeWebvtt, seconds: true, options: ["probability"] },
  json: { write: writeJson, seconds: false, options: [] },
};
const COMMON = ["start", "overlaps", "dates", "zone"];

/**
 * Events as the text of a file, the bytes of Python's `write_events` of the same events.
 *
 * `start` is the time of second 0 of the formats that hold seconds: all but CSV and JSON. With `dates`, the times are dates as
 * UNIX seconds, and CSV and JSON show them in `zone`. `overlaps` allows events of one stream and class that overlap.
 */
export function writeEvents(list, format, options = {}) {
  const kind = typeof format === "string" ? FORMATS[format.toLowerCase()] : undefined;
  if (kind === undefined || !Object.hasOwn(FORMATS, format.toLowerCase())) {
    throw new RangeError(`format is ${repr(format)}; the formats are csv, tsv, txt, rttm, vtt, json and TextGrid`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (COMMON.includes(name) || kind.options.includes(name)) continue;
    const known = kind.options.length > 0 ? `; it has ${kind.options.join(", ")}` : "";
    throw new RangeError(`${name} is ${repr(value)}; ${format} has no such option${known}`);
  }
  const { start = null, overlaps = false, dates = false, zone = null } = options;
  const writeDate = dateWriter(zone);
  const events = checked(list, overlaps);
  if (!kind.seconds) {
    if (start !== null) throw new RangeError(`start is ${repr(start)}; ${format} holds times as they are, without it`);
    return unicode(kind.write(events, dates ? writeDate : null));
  }
  if (dates && start === null) {
    throw new RangeError(
      `start is null, but the times are dates and ${format} holds seconds; give the date of second 0, such as ` +
        "start: events[0].start, or write CSV or JSON",
    );
  }
  const zero = exact(start === null ? 0 : secondZero(start));
  const rows = events.map((event) => ({ ...event, start: minus(exact(event.start), zero), end: minus(exact(event.end), zero) }));
  return unicode(kind.write(rows, options));
}

function secondZero(start) {
  const seconds = start instanceof Date ? start.getTime() / 1000 : start;
  if (typeof seconds === "number" && Number.isFinite(seconds)) return seconds;
  throw new RangeError(`start is ${repr(start)}; give a number or a Date`);
}

/** Events with their streams as text, checked. */
function checked(list, overlaps) {
  if (!Array.isArray(list) || list.some((event) => typeof event !== "object" || event === null || isRow(event))) {
    throw new TypeError(`events is ${repr(list)}; give a list of events: { stream, label, start, end, probability }`);
  }
  list.forEach(checkEvent);
  if (!overlaps) checkOverlaps(list);
  const names = new Map();
  return list.map(({ stream = null, label, start, end, probability = null }, i) => {
    const text = stream === null ? null : typeof stream === "string" ? stream : repr(stream);
    if (text !== null && (isBlank(text) || text.includes("\0"))) {
      throw new RangeError(`stream in row ${i} is ${repr(stream)}; it must be a name that is not empty, or null`);
    }
    if (text !== null && names.has(text) && names.get(text) !== stream) {
      throw new RangeError(
        `stream in row ${i} is ${repr(stream)}, which is ${repr(text)} in a file, as another stream is; rename one of them`,
      );
    }
    names.set(text, stream);
    return { stream: text, label, start, end, probability };
  });
}

function checkEvent({ label, start, end = null, probability = null }, i) {
  const refuse = (name, rest) => new RangeError(`${name} in row ${i} is ${rest}`);
  if (typeof label !== "string" || isBlank(label) || label.includes("\0")) {
    throw refuse("label", `${repr(label)}; it must be text that is not empty`);
  }
  if (end === null) throw refuse("end", "null: the event is provisional; leave it out until it is confirmed");
  for (const [name, x] of [["start", start], ["end", end]]) {
    if (!Number.isFinite(x)) throw refuse(name, `${repr(x)}; it must be a finite number`);
  }
  if (end < start) throw refuse("end", `${float(end)}, before the start, ${float(start)}`);
  if (probability !== null && !(typeof probability === "number" && probability >= 0 && probability <= 1)) {
    throw refuse("probability", `${repr(probability)}; it must lie in [0, 1], or be null`);
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
    const of = `class ${repr(label)}${stream === null ? "" : ` of ${repr(stream)}`}`;
    throw new RangeError(
      `start in row ${i} is ${float(start)}, but row ${before}, also of ${of}, ends at ${float(events[before].end)}; ` +
        "merge them, or give overlaps: true",
    );
  }
}

/** The text, unless half a character is in it, which no file can hold. */
function unicode(text) {
  const half = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.exec(text);
  if (half === null) return text;
  const code = half[0].charCodeAt(0).toString(16);
  throw new RangeError(`events have a name with '\\u${code}', which is not Unicode`);
}
