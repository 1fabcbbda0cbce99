// Reads times and CSV files as the example page does: { times, files } on standard input, what they are on standard output.
import { readFileSync } from "node:fs";

import { readCsv } from "../../js/example/csv.js";
import { parseTime } from "../../js/example/times.js";

const { times, files } = JSON.parse(readFileSync(0, "utf8"));

/** A number that JSON can hold; null is no time. */
const number = (at) => (at === undefined ? null : Number.isFinite(at) ? at : String(at));

function table(text) {
  try {
    const { names, columns, separator } = readCsv(text, "rows.csv");
    return { names, columns, separator };
  } catch (error) {
    return { error: error.message };
  }
}

console.log(JSON.stringify({ times: times.map((text) => number(parseTime(text))), files: files.map(table) }));
