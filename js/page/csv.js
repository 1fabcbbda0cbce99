// Predictions in a CSV file, as the streams that Python embeds in a report.
import Papa from "papaparse";

import { checkRow } from "../src/checks.js";

const COLUMNS = "time, p_<class> for two classes or more, and maybe stream, source and label";
const DATE = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:[.,](\d+))?)? ?(Z|[+-]\d\d(?::?\d\d)?)?$/i;
/** Numbers from here on are taken for UNIX seconds, as in a report: 1979. */
const FIRST_DATE = 3e8;

/** The streams of a file, with settings to start from: nothing is tuned, and each source counts fully. */
export function readCsv(text, file) {
  const { data: [header = [], ...lines], meta } = Papa.parse(text.replace(/^\uFEFF/, ""), { skipEmptyLines: "greedy" });
  const names = header.map((name) => name.trim());
  const place = (name) => names.indexOf(name);
  const classes = names.filter((name) => name.startsWith("p_")).map((name) => name.slice(2));
  const isRead = [...classes.map((name) => `p_${name}`), "time", "stream", "source", "label"];
  const twice = isRead.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice !== undefined) throw new RangeError(`${file} has several columns ${twice}; rename them, or keep one`);
  if (place("time") < 0 || classes.length < 2) {
    throw new RangeError(`${file} has the columns ${names.join(", ")}; it must have ${COLUMNS}`);
  }
  if (lines.length === 0) throw new RangeError(`${file} has no rows below its header`);
  const number = (cell) => (meta.delimiter === "," ? cell : cell.replace(",", ".")); // a decimal comma
  const first = lines[0][place("time")] ?? "";
  const [readTime, isDate] = DATE.test(first.trim()) ? [dateSeconds, true] : [(cell) => Number(number(cell) || NaN), false];
  const sources = new Map();
  const streams = new Map();
  lines.forEach((line, row) => {
    const cell = (name) => (line[place(name)] ?? "").trim();
    const rejected = (problem) => new RangeError(`${file}, line ${row + 2}: ${problem}`);
    const time = readTime(cell("time"));
    if (!Number.isFinite(time)) {
      throw rejected(`time is "${cell("time")}"; it must be ${isDate ? "a date such as 2024-05-01T08:00:00Z" : "a number of seconds, or a date in every row"}`);
    }
    const source = cell("source") || "default";
    if (!sources.has(source)) sources.set(source, sources.size);
    const name = cell("stream");
    if (!streams.has(name)) streams.set(name, { time: [], source: [], probs: [], label: [] });
    const stream = streams.get(name);
    if (time < stream.time.at(-1)) throw rejected(`time is ${cell("time")}, before the row above of the same stream; sort the rows by time`);
    const probs = Float64Array.from(classes, (label) => {
      const given = cell(`p_${label}`);
      const p = given === "" ? NaN : Number(number(given));
      if (given !== "" && Number.isNaN(p) && given.toLowerCase() !== "nan") throw rejected(`p_${label} is "${given}"; it must be a number`);
      return p;
    });
    try {
      checkRow(probs);
    } catch (error) {
      throw rejected(error.message);
    }
    const label = cell("label");
    if (label !== "" && !classes.includes(label)) throw rejected(`label is "${label}"; the classes are ${classes.join(", ")}`);
    stream.time.push(time);
    stream.source.push(sources.get(source));
    stream.probs.push(...probs);
    stream.label.push(classes.indexOf(label));
  });
  const zone = isDate ? (/([Z+-][\d:]*)$/i.test(first.trim().slice(10)) ? "UTC" : "") : null;
  const unix = !isDate && [...streams.values()].every((stream) => stream.time[0] >= FIRST_DATE);
  const step = usualStep([...streams.values()]);
  return {
    classes, sources: [...sources.keys()], reliability: 1, independent: false, dates: isDate, unix, zone: unix ? "UTC" : zone, step,
    configs: [startingSettings(classes, [...sources.keys()], step)],
    streams: [...streams].map(([name, { time, source, probs, label }]) => ({
      name: name || "all rows", stream: name || null, config: 0,
      time: Float64Array.from(time), source: Uint16Array.from(source), probs: Float64Array.from(probs),
      hard: new Uint8Array(time.length), label: Int16Array.from(label),
    })),
  };
}

/** A date as UNIX seconds; without a zone it is UTC, as in Python. */
function dateSeconds(text) {
  const [, day, minute = "00:00", second = ":00", fraction = "0", zone = "Z"] = DATE.exec(text) ?? [];
  const [, hours, minutes = "00"] = /^([+-]\d\d):?(\d\d)?$/.exec(zone) ?? [];
  return Date.parse(`${day}T${minute}${second}${hours === undefined ? "Z" : `${hours}:${minutes}`}`) / 1000 + Number(`0.${fraction}`);
}

/** The median time from one row of a stream to the next; 1 where there is none. */
function usualStep(streams) {
  const steps = streams.flatMap(({ time }) => time.slice(1).map((at, i) => at - time[i])).filter((step) => step > 0);
  return steps.sort((a, b) => a - b)[(steps.length - 1) >> 1] ?? 1;
}

function startingSettings(classes, sources, step) {
  return {
    classes, filter: "sticky", options: { stay: 0.5 ** (1 / (30 * step)) }, beta: Object.fromEntries(sources.map((name) => [name, 1])),
    events: { change_cost: Number((5 * step).toPrecision(3)) },
  };
}
