// Times in words: seconds, or dates in a zone.

/** Seconds as 1:23:45, or with days. */
export function clock(seconds) {
  const sign = seconds < 0 ? "-" : "";
  const whole = Math.floor(Math.abs(seconds));
  const [days, hours, minutes] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
  const two = (number) => String(number).padStart(2, "0");
  const rest = Math.abs(seconds) - whole;
  const fraction = rest > 0 ? rest.toFixed(3).slice(1).replace(/0+$/, "") : "";
  return `${sign}${days > 0 ? `${days} d ` : ""}${hours}:${two(minutes)}:${two(whole % 60)}${fraction}`;
}

/** Times on an axis, without seconds where all are whole minutes. */
export function clocks(times) {
  const whole = times.every((time) => time % 60 === 0);
  return times.map((time) => (whole ? clock(time).slice(0, -3) : clock(time)));
}

/** What browsers call a zone or an offset such as +02:00; UTC if this one does not know it. */
export function knownZone(zone) {
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)$/.exec(zone) ?? [];
  const whole = minutes === "00" ? [`Etc/GMT${sign === "+" ? "-" : "+"}${Number(hours)}`] : []; // the signs are the other way round there
  for (const name of [zone, ...whole]) {
    try {
      new Intl.DateTimeFormat("en-CA", { timeZone: name || "UTC" });
      return name;
    } catch {
      // the next one
    }
  }
  return "UTC";
}

/** The zones that times can be shown in: the name, the zone for the browser (null: as numbers), and what the choice says. */
export function zonesOf({ zone, unix }) {
  if (zone === null || zone === "") return [];
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const known = knownZone(zone);
  const name = known === "UTC" ? "UTC" : zone;
  const asked = name === zone ? "" : `; this browser does not know ${zone}`;
  const list = [{ name, zone: known, text: unix ? "UTC (the numbers, as UNIX seconds)" : `${name} (that of the data${asked})` }];
  if (name !== "UTC") list.push({ name: "UTC", zone: "UTC", text: "UTC" });
  if (own !== undefined && own !== name && own !== "UTC") list.push({ name: own, zone: own, text: `${own} (that of this computer)` });
  if (unix) list.push({ name: "seconds", zone: null, text: "numbers, as in the data" });
  return list;
}

/** What is said of times that have no zone. */
export const withoutZone = ({ zone }) => (zone === "" ? { name: "no zone", zone: "" } : { name: "h:mm:ss", zone: null });

/** What writes a time as 2024-05-01 08:00:00, in a zone; "" is none, and shows dates as they are. */
export function dateWriter(zone) {
  const parts = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const format = new Intl.DateTimeFormat("en-CA", { ...parts, hourCycle: "h23", timeZone: zone || "UTC" });
  return (time) => {
    const of = Object.fromEntries(format.formatToParts(1000 * time).map(({ type, value }) => [type, value]));
    return `${of.year}-${of.month}-${of.day} ${of.hour}:${of.minute}:${of.second}`;
  };
}

/** Dates on an axis: the day where it begins, and the time of day. */
export function dates(times, write) {
  const texts = times.map(write);
  if (texts.every((text) => text.endsWith(" 00:00:00"))) return texts.map((text) => text.slice(0, 10));
  const end = texts.every((text) => text.endsWith(":00")) ? 16 : 19;
  const isNew = (i) => i === 0 || texts[i].slice(0, 10) !== texts[i - 1].slice(0, 10);
  return texts.map((text, i) => (isNew(i) ? `${text.slice(5, 10)} ` : "") + text.slice(11, end));
}

export const DURATIONS = [
  ...[1e-3, 1e-2, 0.1].flatMap((unit) => [unit, 2 * unit, 5 * unit]), 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
  3600, 7200, 10800, 21600, 43200, ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((days) => 86400 * days),
];
