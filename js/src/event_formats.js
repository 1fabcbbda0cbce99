// Files of events: what each format makes of their rows, with the bytes of Python.
import { ZERO, compare, exact, minus, plain, thousands, toNumber } from "./decimals.js";
import { SPACE, float, repr } from "./text.js";
import { duration } from "./times.js";

const COLUMNS = ["stream", "class", "start", "end", "duration", "probability"];
const NA = "n/a";
const RTTM_NA = "<NA>";
const TIERS = ["stream", "class"];

/** CSV with the columns of an event table; times are numbers, or dates. */
export function writeCsv(events, writeDate) {
  const rows = events.map(({ stream, label, start, end, probability }) => {
    const times = [start, end].map(exact);
    const texts = writeDate === null ? times.map(plain) : [start, end].map(writeDate);
    return [stream ?? "", label, ...texts, plain(minus(times[1], times[0])), probability === null ? "" : float(probability)];
  });
  const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return [COLUMNS, ...rows].map((row) => `${row.map(quoted).join(",")}\n`).join("");
}

/** JSON as ActivityNet has it; the stream null is the key "". */
export function writeJson(events, writeDate) {
  const results = new Map();
  for (const { stream, label, start, end, probability } of events) {
    const times = [start, end].map((x) => (writeDate === null ? float(x) : JSON.stringify(writeDate(x))));
    const entries = [["label", JSON.stringify(label)]];
    if (probability !== null) entries.push(["score", float(probability)]);
    entries.push(["segment", nested("[]", 4, times)]);
    const item = nested("{}", 3, entries.map(([key, text]) => `"${key}": ${text}`));
    if (!results.has(stream ?? "")) results.set(stream ?? "", []);
    results.get(stream ?? "").push(item);
  }
  const streams = [...results].map(([stream, items]) => `${JSON.stringify(stream)}: ${nested("[]", 2, items)}`);
  return `${nested("{}", 0, [`"results": ${nested("{}", 1, streams)}`])}\n`;
}

/** A list or an object in JSON, each entry in a line of its own, so many spaces in and one more. */
function nested([open, close], depth, entries) {
  if (entries.length === 0) return open + close;
  return `${open}\n${entries.map((entry) => " ".repeat(depth + 1) + entry).join(",\n")}\n${" ".repeat(depth)}${close}`;
}

/** A BIDS table of events; `probability` is a column of our own, as BIDS allows. */
export function writeTsv(rows) {
  oneStream(rows, "BIDS events.tsv");
  checkNames(rows, /[\t\n\r]/, 'tabs, line breaks or the name "n/a"', "BIDS events.tsv", NA);
  const known = rows.some(({ probability }) => probability !== null);
  const lines = byStart(rows).map(({ label, start, end, probability }) => {
    const cells = [plain(start), plain(minus(end, start)), label];
    return [...cells, ...(known ? [probability === null ? NA : float(probability)] : [])];
  });
  const header = ["onset", "duration", "trial_type", ...(known ? ["probability"] : [])];
  return [header, ...lines].map((cells) => `${cells.join("\t")}\n`).join("");
}

/** Audacity's label track; it has no place for probabilities. */
export function writeAudacity(rows) {
  oneStream(rows, "a label track");
  checkNames(rows, /[\t\n\r]/, "tabs or line breaks", "a label track");
  return rows.map(({ label, start, end }) => `${plain(start)}\t${plain(end)}\t${label}\n`).join("");
}

/** RTTM: a line SPEAKER with ten fields for each event. */
export function writeRttm(rows) {
  checkNames(rows, SPACE, 'spaces or the name "<NA>"', "RTTM", RTTM_NA);
  const line = ({ stream, label, start, end, probability }) =>
    `SPEAKER ${stream ?? RTTM_NA} 1 ${plain(start)} ${plain(minus(end, start))} ` +
    `${RTTM_NA} ${RTTM_NA} ${label} ${probability === null ? RTTM_NA : float(probability)} ${RTTM_NA}\n`;
  return rows.map(line).join("");
}

/**
 * WebVTT, with times to the millisecond: the first line of a cue is the class, in the voice of its stream, the second the
 * probability.
 */
export function writeWebvtt(rows, { probability = true }) {
  checkNames(rows, /[\n\r]/, "line breaks", "WebVTT");
  const cues = byStart(rows).map((row) => {
    const [start, end] = [row.start, row.end].map(thousands);
    if (start < 0n) {
      throw new RangeError(`start is ${float(toNumber(row.start))}; WebVTT has no negative times: give start`);
    }
    if (start === end) {
      throw new RangeError(
        `end is ${float(toNumber(row.end))}, the start ${plain(row.start)}; a cue of WebVTT must last for a millisecond: ` +
          "leave the event out",
      );
    }
    const voice = row.stream === null ? "" : `<v ${escaped(row.stream)}>`;
    const p = row.probability === null || !probability ? "" : `\n${float(row.probability)}`;
    return `\n${clock(start)} --> ${clock(end)}\n${voice}${escaped(row.label)}${p}\n`;
  });
  return `WEBVTT\n${cues.join("")}`;
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Milliseconds as WebVTT has a time: 01:02:03.004. */
function clock(ms) {
  const two = (n) => n.toString().padStart(2, "0");
  const seconds = ms / 1000n;
  return `${two(seconds / 3600n)}:${two((seconds / 60n) % 60n)}:${two(seconds % 60n)}.${(ms % 1000n).toString().padStart(3, "0")}`;
}

/**
 * Praat's TextGrid in the long format. `tiers` says what each holds: all events of a stream, or those of a class. Of a stream
 * whose events overlap there is a tier for each class. `duration` is the end of the last interval.
 */
export function writeTextgrid(rows, { tiers = "stream", duration: longest = null }) {
  if (!TIERS.includes(tiers)) throw new RangeError(`tiers is ${repr(tiers)}; it must be one of ${TIERS.join(", ")}`);
  const first = rows.reduce((least, { start }) => (compare(start, least) < 0 ? start : least), ZERO);
  let last = rows.reduce((most, { end }) => (most === null || compare(end, most) > 0 ? end : most), null) ?? first;
  if (longest !== null) {
    const length = exact(duration("duration", longest));
    if (compare(length, last) < 0) {
      throw new RangeError(`duration is ${float(toNumber(length))}; the last event ends at ${plain(last)}`);
    }
    last = length;
  }
  if (compare(last, first) <= 0) {
    throw new RangeError(`events are ${rows.length}, so the file would have no length; give duration`);
  }
  if (tiers === "class") oneStream(rows, "a TextGrid with a tier for each class");
  const groups = groupsOf(rows, tiers);
  const span = [`xmin = ${plain(first)}`, `xmax = ${plain(last)}`];
  const lines = ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", ...span];
  lines.push("tiers? <exists>", `size = ${groups.length}`, "item []:");
  const inside = (depth, texts) => texts.map((text) => " ".repeat(depth) + text);
  groups.forEach(([name, group], i) => {
    const intervals = intervalsOf(group, first, last);
    const tier = ['class = "IntervalTier"', `name = ${quoted(name)}`, ...span, `intervals: size = ${intervals.length}`];
    lines.push(`    item [${i + 1}]:`, ...inside(8, tier));
    intervals.forEach(([start, end, text], j) => {
      const entries = [`xmin = ${plain(start)}`, `xmax = ${plain(end)}`, `text = ${quoted(text)}`];
      lines.push(`        intervals [${j + 1}]:`, ...inside(12, entries));
    });
  });
  return `${lines.join("\n")}\n`;
}

/** The name of each tier, and its events by their start. */
function groupsOf(rows, tiers) {
  const inOrder = byStart(rows);
  const ends = new Map();
  const overlap = new Set();
  for (const { stream, start, end } of inOrder) {
    if (ends.has(stream) && compare(start, ends.get(stream)) < 0) overlap.add(stream);
    ends.set(stream, end);
  }
  const names = ({ stream, label }) =>
    tiers === "class" ? [label, ""] : [stream ?? "", overlap.has(stream) ? label : ""];
  const groups = new Map(rows.map((row) => [JSON.stringify(names(row)), [names(row)[0], []]]));
  for (const row of inOrder) groups.get(JSON.stringify(names(row)))[1].push(row);
  return groups.size === 0 ? [["", []]] : [...groups.values()];
}

/** The intervals of a tier, without gaps between them. */
function intervalsOf(rows, first, last) {
  const intervals = [];
  let at = first;
  for (const { start, end, label } of rows) {
    if (compare(start, at) < 0) {
      throw new RangeError(
        `start is ${float(toNumber(start))}, but the event before ends at ${plain(at)}; intervals of a class must not overlap: ` +
          "merge them",
      );
    }
    if (compare(end, start) === 0) {
      throw new RangeError(`end is ${float(toNumber(end))}, as the start; an interval must have a length: leave it out`);
    }
    if (compare(start, at) > 0) intervals.push([at, start, ""]);
    intervals.push([start, end, label]);
    at = end;
  }
  if (compare(at, last) < 0) intervals.push([at, last, ""]);
  return intervals;
}

const quoted = (text) => `"${text.replaceAll('"', '""')}"`;

const byStart = (rows) => [...rows].sort((a, b) => compare(a.start, b.start));

/** Refuse several streams in a format that has no place for their names. */
function oneStream(rows, where) {
  const count = new Set(rows.map(({ stream }) => stream)).size;
  if (count > 1) {
    throw new RangeError(
      `events have ${count} streams; ${where} has no place for their names: write each stream to a file of its own, ` +
        "or write CSV or JSON",
    );
  }
}

/** Refuse names with characters that a format cannot hold, or that mean something else there. */
function checkNames(rows, forbidden, words, where, taken) {
  rows.forEach(({ label, stream }, i) => {
    for (const [what, name] of [["label", label], ["stream", stream]]) {
      if (name === null || !(forbidden.test(name) || name === taken)) continue;
      const remedy = "rename it, or write CSV or JSON";
      throw new RangeError(`${what} in row ${i} is ${repr(name)}; ${where} cannot hold ${words}: ${remedy}`);
    }
  });
}
