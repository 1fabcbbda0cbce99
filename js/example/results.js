// What the page gives back: the rows with their results, and the command that computes the same.
import { offsetOf } from "./axis.js";
import { SEPARATORS } from "./csv.js";

/** The table with f_<class> and class added, or f_<label> and labels, as CSV. `columns` are the results in the table's order. */
export function writeTable({ names, columns }, classes, results, last) {
  const added = [...classes.map((name) => `f_${name}`), last.name];
  const taken = added.filter((name) => names.includes(name));
  if (taken.length > 0 && taken.length < added.length) {
    throw new RangeError(`the table already has the columns ${taken.join(", ")}; drop or rename them first`);
  }
  const all = new Map(names.map((name, i) => [name, columns[i]]));
  results.forEach((column, k) => all.set(added[k], column));
  all.set(last.name, last.cells);
  const cells = [...all.values()];
  const lines = [[...all.keys()].map(cell).join(",")];
  for (let row = 0; row < cells[0].length; row++) lines.push(cells.map((column) => cell(column[row])).join(","));
  return `${lines.join("\n")}\n`;
}

/** A table whose dates are text in their zone, with its offset: 2024-05-01T10:00:00.000000+0200. */
export function withZones({ names, columns, zones }) {
  const written = columns.map((cells, i) => {
    const zone = zones?.get(names[i]) ?? null;
    if (zone === null) return cells;
    const shift = offsetOf(zone);
    return cells.map((moment) => moment && moment.text(shift(moment.seconds)));
  });
  return { names, columns: written };
}

function cell(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype ? JSON.stringify(value) : String(value);
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The arguments of the command line that read the file as the page does, with the settings in a file. */
export function commandArguments(file, { separator, scores, unit, columns, sort }) {
  const given = [quoted(file), "--config", "settings.toml"];
  if (separator) given.push("--separator", SEPARATORS.get(separator));
  if (scores !== "probabilities") given.push("--scores", scores);
  if (unit) given.push("--unit", unit);
  for (const [here, name] of columns) given.push("--columns", quoted(`${here}=${name}`));
  if (sort) given.push("--sort");
  return given;
}

/** An argument for a shell. */
const quoted = (text) => (/^[\w./=:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Let the browser save a file. */
export function save(name, content) {
  const url = URL.createObjectURL(new Blob([content], { type: "text/plain" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
