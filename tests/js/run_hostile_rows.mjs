// Runs the rows of cases that Python wrote to standard input through a Tracker: the bits of each estimate, or why a row is refused.
import { readFileSync } from "node:fs";
import { Tracker, load } from "../../js/dist/classfilter.mjs";

const revive = (_, value) => (value === "NaN" ? NaN : value);
const encode = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");

function run({ config, options, steps }) {
  const tracker = new Tracker(load(config), options);
  const results = steps.map(({ expire, row }) => {
    if (row === undefined) return { over: tracker.expire(expire) };
    try {
      return { estimate: encode(tracker.update(...row)), label: tracker.label(row[0]) };
    } catch (error) {
      return { refused: String(error) };
    }
  });
  return { results, streams: tracker.streams };
}

/** One case that fails must not hide the others. */
function attempt(one) {
  try {
    return run(one);
  } catch (error) {
    return { failed: String(error) };
  }
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8"), revive).map(attempt)));
