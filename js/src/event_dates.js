// Times of events as dates in ISO 8601, in a zone.
import { exact, floorAndFraction } from "./decimals.js";
import { float, repr } from "./text.js";

const OFFSET = /^([+-])([01]\d|2[0-3]):([0-5]\d)$/;
const FIRST = new Date(0).setUTCFullYear(1, 0, 1); // `Date.UTC` would take it for 1901
const LAST = Date.UTC(9999, 11, 31, 23, 59, 59);

/** What writes UNIX seconds in a zone, "Europe/Berlin", "+02:00" or "UTC"; without one, as in UTC and without an offset. */
export function dateWriter(zone) {
  const offsetAt = offsetsOf(zone);
  return (x) => {
    const [whole, fraction] = floorAndFraction(exact(x));
    const ms = Number(whole) * 1000;
    const local = ms + offsetAt(ms) * 60000;
    if (!(ms >= FIRST && ms <= LAST && local >= FIRST && local <= LAST)) {
      throw new RangeError(`time is ${float(x)}; a date must lie in the years 1 to 9999`);
    }
    const text = new Date(local).toISOString().slice(0, 19) + (fraction === "" ? "" : `.${fraction}`);
    return zone === null ? text : text + offsetText(offsetAt(ms));
  };
}

/** What tells how many minutes a zone is ahead of UTC at a time, in milliseconds. */
function offsetsOf(zone) {
  if (zone === null || zone === "UTC") return () => 0;
  const match = OFFSET.exec(zone);
  if (match !== null) return () => Number(`${match[1]}1`) * (Number(match[2]) * 60 + Number(match[3]));
  const format = zoneFormat(zone);
  return (ms) => {
    if (!(Math.abs(ms) <= 8.64e15)) return 0;
    const { value } = format.formatToParts(ms).find(({ type }) => type === "timeZoneName");
    const [, sign, hours, minutes, seconds] = /^GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(value) ?? [];
    // Local mean time, before there were zones, has seconds: such a date is written in UTC.
    return sign === undefined || seconds !== undefined ? 0 : Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes));
  };
}

function zoneFormat(zone) {
  try {
    if (typeof zone === "string") return new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  } catch {
    // said below
  }
  throw new RangeError(`zone is ${repr(zone)}; it must be a time zone such as "Europe/Berlin" or "+02:00"`);
}

function offsetText(minutes) {
  const size = Math.abs(minutes);
  const two = (n) => String(n).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
