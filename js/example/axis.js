// Times as text: dates in the zone of the file, and numbers as they are.

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** What writes times of a kind, `{ kind, zone }`: "2024-05-01 08:00:00" in its zone, as it is without one. */
export function timeWriter({ kind, zone }) {
  if (kind !== "date") return (time) => String(Number(time.toPrecision(12)));
  const shift = offsetOf(zone);
  return (time) => {
    const text = new Date(Math.round(1000 * (time + shift(time)))).toISOString().replace("T", " ");
    return text.endsWith(".000Z") ? text.slice(0, 19) : text.slice(0, 23);
  };
}

/** How far the clocks of a zone are ahead of UTC, in seconds, at a time. */
export function offsetOf(zone) {
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)$/.exec(zone ?? "") ?? [];
  if (sign !== undefined) return () => (sign === "-" ? -60 : 60) * (60 * Number(hours) + Number(minutes));
  if (zone === null || zone === "UTC") return () => 0;
  const parts = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" };
  const format = new Intl.DateTimeFormat("en-US", { ...parts, hourCycle: "h23", timeZone: zone });
  return (time) => {
    const of = Object.fromEntries(format.formatToParts(1000 * time).map(({ type, value }) => [type, Number(value)]));
    return Date.UTC(of.year, of.month - 1, of.day, of.hour, of.minute, of.second) / 1000 - Math.floor(time);
  };
}

/** Marks on an axis between two times, at most so many: `{ time, text }`. */
export function ticks([from, to], most, timeKind) {
  const isDate = timeKind.kind === "date";
  const rough = (to - from) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const plain = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough) ?? power;
  const days = 86400 * (Math.ceil(rough / 86400) || 1);
  const step = isDate && rough > 0.5 ? (STEPS.find((one) => one >= rough) ?? days) : plain;
  const write = timeWriter(timeKind);
  const marks = [];
  for (let time = Math.ceil(from / step) * step; time <= to && marks.length <= most + 1; time += step) {
    marks.push({ time, text: isDate ? shortDate(write(time), step) : write(time) });
  }
  return marks;
}

function shortDate(text, step) {
  if (step >= 86400) return text.slice(0, 10);
  return text.endsWith("00:00:00") ? text.slice(5, 10) : text.slice(11, step % 60 === 0 ? 16 : 23);
}
