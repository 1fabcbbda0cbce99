// Predictions from the text of a CSV or NDJSON file, and results as CSV.

/** A date, maybe with a time of day and a zone. */
const ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?:(:\d\d)(?:[.,](\d+))?)? ?(?:[Zz]|([+-]\d\d):?(\d\d)?)?)?$/;

/** The classes, streams and sources of a table, and its rows: cells as they were, and numbers. */
export function readTable(text) {
  const { names, records } = text.trimStart().startsWith("{") ? readLines(text) : readCells(text);
  const columns = names.filter((name) => name.startsWith("p_"));
  const classes = columns.map((name) => name.slice(2));
  if (!names.includes("time")) throw new RangeError("there is no column time; the columns are " + names.join(", "));
  if (classes.length < 2) throw new RangeError("there are not two columns p_<class>; the columns are " + names.join(", "));
  const rows = records.map((cells, i) => {
    const time = readTime(cells.get("time"), i);
    const probs = columns.map((name) => readProbability(cells.get(name), name, i));
    return { cells, time, probs, stream: cells.get("stream") ?? "", source: cells.get("source") ?? "default" };
  });
  if (rows.length === 0) throw new RangeError("there are no rows");
  return { names, classes, rows, streams: distinct(rows, "stream"), sources: distinct(rows, "source") };
}

const distinct = (rows, key) => [...new Set(rows.map((row) => String(row[key])))];

function readTime(cell, row) {
  const empty = cell === undefined || cell === null || cell === "";
  const number = empty ? NaN : Number(cell);
  const time = Number.isFinite(number) || empty ? number : readDate(String(cell).trim());
  if (!Number.isFinite(time)) {
    const remedy = "give a number, or ISO 8601 such as 2024-05-01T08:00:00Z (UTC without a zone)";
    throw new RangeError(`time in row ${row} is ${JSON.stringify(cell)}; ${remedy}`);
  }
  return time;
}

/** ISO 8601 as seconds since 1970, NaN for other text. Without a zone it is UTC, as in Python; Date.parse would take local time. */
function readDate(text) {
  const [, day, minute = "00:00", second = ":00", fraction = "0", hours = "+00", minutes = "00"] = ISO.exec(text) ?? [];
  const midnight = Date.parse(`${day}T00:00:00Z`);
  if (!Number.isFinite(midnight) || minute >= "24" || !new Date(midnight).toISOString().startsWith(day)) {
    return NaN; // such as 30 February
  }
  return Date.parse(`${day}T${minute}${second}${hours}:${minutes}`) / 1000 + Number(`0.${fraction}`);
}

function readProbability(cell, name, row) {
  if (cell === undefined || cell === null || cell === "") return NaN;
  const p = Number(cell);
  if (Number.isNaN(p) && String(cell).toLowerCase() !== "nan") {
    throw new RangeError(`${name} in row ${row} is ${JSON.stringify(cell)}; give a number`);
  }
  return p;
}

function readLines(text) {
  const names = new Set();
  const records = text.split(/\r?\n/).filter((line) => line.trim() !== "").map((line, i) => {
    let object;
    try {
      object = JSON.parse(line);
    } catch {
      throw new RangeError(`line ${i + 1} is no JSON object`);
    }
    const cells = new Map(Object.entries(object));
    for (const name of cells.keys()) names.add(name);
    return cells;
  });
  return { names: [...names], records };
}

function readCells(text) {
  const [names = [], ...lines] = splitCells(text);
  const records = lines.map((line, i) => {
    if (line.length === names.length) return new Map(names.map((name, column) => [name, line[column]]));
    throw new RangeError(`row ${i} has ${line.length} cells, but there are ${names.length} columns`);
  });
  return { names, records };
}

/** The cells of each line; in quotes, a cell may hold commas, line ends and doubled quotes. */
function splitCells(text) {
  const lines = [];
  let line = [];
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy;
  const body = text.startsWith("\uFEFF") ? text.slice(1) : text;
  while (pattern.lastIndex < body.length) {
    const match = pattern.exec(body);
    if (match === null) throw new RangeError(`line ${lines.length + 1} has a quote inside of a cell`);
    line.push(match[1] === undefined ? match[2] : match[1].replaceAll('""', '"'));
    if (match[3] === ",") {
      if (pattern.lastIndex === body.length) line.push("");
      else continue;
    }
    if (line.length > 1 || line[0] !== "") lines.push(line);
    line = [];
  }
  if (line.length > 0) lines.push(line);
  return lines;
}

/** The table with f_<class> and class added, as CSV. */
export function writeTable({ names, classes, rows }, filtered, labels) {
  const added = [...classes.map((name) => `f_${name}`), "class"];
  const lines = rows.map((row, i) => [...names.map((name) => row.cells.get(name) ?? ""), ...filtered[i], labels[i]]);
  return [[...names, ...added], ...lines].map((line) => line.map(cell).join(",")).join("\n") + "\n";
}

function cell(value) {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
