// Times as Python reads them: numbers, dates in ISO 8601 (UTC without a zone) and spans of time, in seconds.
import { Moment } from "./moment.js";

/** How many of each unit of numbers a second has. */
export const PER_SECOND = { s: 1, ms: 1e3, us: 1e6, ns: 1e9 };
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/;
const ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?:(:\d\d)(?:[.,](\d+))?)? ?(?:[Zz]|([+-]\d\d):?(\d\d)?)?)?$/;
const DAYS = /^(-)?(?:(\d+) days?,? ?)(?:([+-])?(\d+):(\d\d):(\d\d(?:\.\d+)?))?$/;
const PERIOD = /^(-)?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/;
const BEGINS_AS_DATE = /^\s*\d{4}-\d\d-\d\d/;
const ZONE = /\d\d:\d\d.*?([Zz]|[+-]\d\d(?::?\d\d)?)\s*/;
const REMEDY = "give a number, a date, or ISO 8601 text such as 2024-05-01T08:00:00Z (UTC without a zone)";

/** The times of a column in seconds, and what they were: `{ kind: "number" | "date" | "span", zone }`. */
export function readTimes(cells, unit, zone, place) {
  const factor = PER_SECOND[unit ?? "s"];
  const time = new Float64Array(cells.length);
  cells.forEach((cell, row) => {
    const at = parseTime(cell, factor);
    if (at === undefined) throw new RangeError(`time${place(row)} is ${shown(cell)}; ${REMEDY}`);
    time[row] = at;
  });
  const row = time.findIndex((at) => !Number.isFinite(at));
  if (row >= 0) throw new RangeError(`time${place(row)} is ${cells[row] === null ? "nothing" : time[row]}; it must be finite: leave the row out`);
  return { time, kind: kindOf(cells, zone) };
}

/** One time as a number; NaN for a missing one, undefined for what is no time. */
export function parseTime(cell, factor = 1) {
  if (cell === null) return NaN;
  if (cell instanceof Moment) return cell.seconds;
  if (typeof cell === "number" || typeof cell === "bigint") return Number(cell) / factor;
  if (typeof cell !== "string") return undefined;
  const text = cell.trim();
  if (NUMBER.test(text)) return Number(text) / factor;
  return readDate(text) ?? readSpan(text);
}

/** ISO 8601 as seconds since 1970. Without a zone it is UTC, as in Python; Date.parse would take local time. */
function readDate(text) {
  const match = ISO.exec(text);
  if (match === null) return undefined;
  const [, day, minute = "00:00", second = ":00", fraction = "0", hours = "+00", minutes = "00"] = match;
  const midnight = Date.parse(`${day}T00:00:00Z`);
  const exists = Number.isFinite(midnight) && !day.startsWith("0000") && new Date(midnight).toISOString().startsWith(day);
  if (!exists || minute >= "24") return undefined; // such as 30 February
  const ahead = 60 * Number(hours.slice(1)) + Number(minutes); // Python takes +02:60 for +03:00
  const whole = Date.parse(`${day}T${minute}${second}Z`) / 1000 - 60 * (hours.startsWith("-") ? -ahead : ahead);
  return Number.isFinite(whole) && ahead < 1440 ? whole + Number(`0.${fraction}`) : undefined;
}

/** The text of a span of time, as pandas and as Polars write it, in seconds. */
function readSpan(text) {
  const period = PERIOD.exec(text);
  if (period !== null) {
    const [days, hours, minutes, seconds] = period.slice(2).map((part) => Number(part ?? 0));
    const total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
    return /[PT]$/.test(text) ? undefined : period[1] ? -total : total;
  }
  const match = DAYS.exec(text);
  if (match === null) return undefined;
  const [, minus, days, sign, ...clock] = match;
  const [h, m, s] = clock.map((part) => Number(part ?? 0));
  const within = (h * 60 + m) * 60 + s;
  // As pandas writes it, only the days are negative: -1 days +23:59:59 is -1 s.
  return (minus ? -1 : 1) * Number(days) * 86400 + (sign === "-" ? -within : within);
}

/** What times were, by the first; of several zones, UTC. */
function kindOf(cells, zone = null) {
  const [first] = cells;
  if (first instanceof Moment) return first.kind === "span" ? { kind: "span", zone: null } : { kind: "date", zone };
  if (typeof first !== "string") return { kind: "number", zone: null };
  if (!BEGINS_AS_DATE.test(first)) return { kind: NUMBER.test(first.trim()) ? "number" : "span", zone: null };
  const zones = new Set(cells.map((cell) => ZONE.exec(String(cell))?.[1] ?? null));
  return { kind: "date", zone: zones.size === 1 ? zoneName([...zones][0]) : "UTC" };
}

/** An offset as +02:00, or UTC; null where there is none. */
function zoneName(text) {
  if (text === null) return null;
  const [, hours, minutes = "00"] = /^([+-]\d\d):?(\d\d)?$/.exec(text) ?? [];
  return hours === undefined || `${hours.slice(1)}${minutes}` === "0000" ? "UTC" : `${hours}:${minutes}`;
}

export const shown = (cell) => (typeof cell === "string" ? `'${cell}'` : String(cell));
