// Writes times as the page of a report does: {zone, times} on standard input, texts on standard output.
import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";

const source = readFileSync(new URL("../../src/classfilter/web/times.js", import.meta.url), "utf8");
const { dateWriter, dates, knownZone } = runInThisContext(`(() => {${source};return { dateWriter, dates, knownZone };})()`);
const cases = JSON.parse(readFileSync(0, "utf8"));
const texts = cases.map(({ zone, times }) => {
  const write = dateWriter(knownZone(zone));
  return { zone: knownZone(zone), texts: times.map(write), axis: dates(times, write) };
});
process.stdout.write(JSON.stringify(texts));
