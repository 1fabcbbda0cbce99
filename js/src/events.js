// The events of a whole stream.
import { checkOptions, classNames, show, takeRows } from "./checks.js";
import { EventRule } from "./event_rule.js";
import { Heads } from "./heads.js";

/**
 * The events of one stream, by their start: of rows of probabilities, as a filter returns them or as they are, and of their
 * times, numbers or dates. With `scores: "independent"`, each of several labels is
 * decided by itself, and events overlap; so are heads, where `classes` is an object or a Map of these with their classes.
 */
export function events(rule, options) {
  if (!(rule instanceof EventRule)) throw new TypeError(`rule is ${show(rule)}; it must be an EventRule`);
  checkOptions("events", options, ["classes", "times", "probs", "stream", "scores"]);
  const { probs, stream = null, scores = "probabilities" } = options;
  if (scores !== "probabilities" && scores !== "independent") {
    throw new RangeError(`scores is ${show(scores)}; it must be probabilities or independent`);
  }
  const heads = scores === "independent" ? Heads.of(options.classes) : Heads.exclusive(classNames(options.classes));
  const classes = heads.shown;
  const type = isSingle(probs) ? Float32Array : Float64Array;
  const rows = takeRows(probs, classes.length, type);
  const times = seconds(options.times);
  if (times.length * classes.length !== rows.length) {
    const count = rows.length / classes.length;
    throw new RangeError(`times has ${times.length} entries, but probs has ${count} rows; give one time per row`);
  }
  const core = rule._compiled(heads, type);
  const { state, events: confirmed } = core.run(core.start(), times, rows);
  const found = [...confirmed, ...core.finish(state).events].sort((a, b) => a.start - b.start || a.label - b.label);
  return found.map(({ label, start, end, probability }) => ({
    stream, label: String(classes[label]), start, end, duration: end - start, probability,
  }));
}

const isSingle = (probs) =>
  probs instanceof Float32Array || (Array.isArray(probs) && probs.length > 0 && probs.every((row) => row instanceof Float32Array));

/** Times as numbers; dates become seconds. */
function seconds(times) {
  if (times instanceof Float64Array) return times;
  if (typeof times !== "object" || times === null || typeof times[Symbol.iterator] !== "function") {
    throw new TypeError(`times is ${show(times)}; give a number or a Date for each row`);
  }
  return Float64Array.from(times, (time, i) => {
    if (time instanceof Date) return time.getTime() / 1000;
    if (typeof time === "number") return time;
    throw new TypeError(`times[${i}] is ${show(time)}; give a number or a Date`);
  });
}
