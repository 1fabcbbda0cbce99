// Predictions as people have them: numbers in order or by name, a class, a class and how sure it is.
import { isRow, noNumber, show } from "./checks.js";

/**
 * How probable a class is that comes without confidence, from a source without a channel; the others share the rest. It is
 * that of Python.
 */
const DEFAULT_RELIABILITY = 0.7;

/**
 * One prediction as numbers in the order of the classes; numbers without names are returned as they are. A class, by name or
 * by index, counts with its confidence; `certain` is for a source with a channel, which says how often it is right.
 */
export function prediction(probs, classes, { confidence, certain = false, row } = {}) {
  const place = row === undefined ? "" : ` in row ${row}`;
  if (probs === null || typeof probs === "string" || Number.isInteger(probs)) {
    const k = indexOf(probs, classes, place);
    const top = confidence === undefined || k < 0 ? (certain ? 1 : DEFAULT_RELIABILITY) : checkConfidence(confidence);
    return classes.map((_, i) => (k < 0 ? NaN : i === k ? top : (1 - top) / (classes.length - 1)));
  }
  if (confidence !== undefined) {
    throw new RangeError(
      "confidence is given, but probs holds no class; give a class, by name or by index, or leave confidence out",
    );
  }
  if (isRow(probs)) return probs;
  if (typeof probs?.then === "function") throw new TypeError(`probs${place} is a promise; await it`);
  if (typeof probs !== "object" || ArrayBuffer.isView(probs)) throw noNumber("probs", probs);
  return byName(probs instanceof Map ? probs : new Map(Object.entries(probs)), classes, place);
}

/** Predictions of many rows; numbers without names are returned as they are. */
export function predictions(rows, classes) {
  const plain = !Array.isArray(rows) || rows.every(isRow) || rows.every((row) => row === null || typeof row === "number");
  return plain ? rows : rows.map((probs, row) => (isRow(probs) ? probs : prediction(probs, classes, { row })));
}

/** The index of a class; -1 where there is none. */
function indexOf(label, classes, place) {
  if (label === null || label === "") return -1;
  const k = typeof label === "number" ? label : classes.findIndex((name) => String(name) === label);
  if (k < classes.length && (k >= 0 || label === -1)) return k;
  const remedy = `give a name, an index from 0 to ${classes.length - 1}, or -1 where it is unknown`;
  throw new RangeError(`probs${place} is ${show(label)}; the classes are ${show(classes.map(String))}: ${remedy}`);
}

function checkConfidence(confidence) {
  if (typeof confidence === "number" && confidence >= 0 && confidence <= 1) return confidence;
  const remedy = confidence > 1 && confidence <= 100 ? ": divide percentages by 100" : "";
  throw new RangeError(`confidence is ${show(confidence)}; it must lie in [0, 1]${remedy}`);
}

/** Numbers by the names of the classes, or all by p_<class>, in the order of the classes. */
function byName(given, classes, place) {
  const wanted = classes.map(String);
  const texts = [...given.keys()].map(String);
  const values = [...given.values()];
  for (const names of [texts, texts.map((text) => (text.startsWith("p_") ? text.slice(2) : null))]) {
    const order = wanted.map((name) => names.indexOf(name));
    if (texts.length === wanted.length && !order.includes(-1)) return order.map((at) => values[at]);
  }
  throw new RangeError(
    `probs${place} names ${show(texts)}, but the classes are ${show(wanted)}; name each class once, and no other`,
  );
}
