// Writes times as the page of a report does: {zone, times} on standard input, texts on standard output.
import { readFileSync } from "node:fs";

import { dateWriter, dates, knownZone } from "../../js/page/times.js";

const texts = JSON.parse(readFileSync(0, "utf8")).map(({ zone, times }) => {
  const write = dateWriter(knownZone(zone));
  return { zone: knownZone(zone), texts: times.map(write), axis: dates(times, write) };
});
process.stdout.write(JSON.stringify(texts));
