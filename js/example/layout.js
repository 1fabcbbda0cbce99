// Where things are in a table: which column is the time, which are the classes.
import { repr } from "../src/text.js";

const COLUMNS = ["time", "stream", "source", "label", "prediction", "confidence"];
const isNameHere = (name) => COLUMNS.includes(name) || name.startsWith("p_");
export const isNumberHere = (name) => name === "time" || name === "confidence" || name.startsWith("p_");

/** "time=ts p_walk=walk" as names in the table by names here; either way round, where that is clear. */
export function readColumns(text) {
  const columns = new Map();
  for (const pair of text.split(/[,\n]/).map((one) => one.trim()).filter((one) => one !== "")) {
    const [, left, right] = /^([^=]+)=(.+)$/.exec(pair) ?? [];
    if (right === undefined) throw new RangeError(`columns: ${repr(pair)} is not NAME=COLUMN, such as time=ts`);
    const [here, there] = (isNameHere(left) ? [left, right] : [right, left]).map((name) => name.trim());
    if (!isNameHere(here)) {
      throw new RangeError(`columns names ${repr(left)}; it must be one of ${COLUMNS.join(", ")} or p_<class>: give the name in the table for a name here, time=ts`);
    }
    if (columns.has(here)) throw new RangeError(`columns has both ${repr(columns.get(here))} and ${repr(there)} for ${here}; give one`);
    columns.set(here, there);
  }
  return columns;
}

/**
 * The names in the table by names here, the classes (null where only the labels tell) and whether predictions are labels.
 * `known` are the classes of the settings, or those that were typed; null where the columns tell.
 */
export function layoutOf(names, { columns: renamed, known, independent }) {
  let columns = byNameHere(names, renamed);
  if (!columns.has("time")) {
    throw new RangeError(`the table has no column time; it has ${repr(names)}${meant(["time"], names)}: name it in "Columns", time=COLUMN`);
  }
  const prefixed = new Map([...unprefixed([...columns.keys()], known, renamed)].map(([here, name]) => [name, here]));
  columns = new Map([...columns].map(([here, name]) => [prefixed.get(here) ?? here, name]));
  const probs = [...columns.keys()].filter((name) => name.startsWith("p_")).map((name) => name.slice(2));
  if (isCount(known) && !known.some((name) => probs.includes(name))) known = null; // a number of classes: by position
  const matched = known !== null && known.every((name) => probs.includes(name));
  const alone = known !== null || probs.length < 2;
  const labels = ((columns.has("prediction") && !matched && alone) || renamed.has("prediction")) && !independent;
  if (labels) return { columns, classes: known, labels };
  if (probs.length < (independent ? 1 : 2)) throw withoutPredictions(names, known, independent);
  return { columns, classes: matched ? probs.filter((name) => known.includes(name)) : probs, labels, guessed: !matched };
}

/** Whether classes are 0, 1, 2 and so on. */
const isCount = (known) => known !== null && known.every((name, k) => name === String(k));

function byNameHere(names, renamed) {
  for (const [here, name] of renamed) {
    if (!names.includes(name)) throw new RangeError(`columns has ${repr(name)} for ${here}, which the table does not have; it has ${repr(names)}`);
  }
  const taken = new Set(renamed.values());
  const both = new Map([...names.filter((name) => !taken.has(name)).map((name) => [name, name]), ...renamed]);
  return new Map([...both].sort(([, a], [, b]) => names.indexOf(a) - names.indexOf(b)));
}

/** The columns that are named as the classes, by p_<class>: only where the classes are known and no p_<class> is there. */
function unprefixed(names, known, renamed) {
  const byPosition = isCount(known) && names.some((name) => name.startsWith("p_"));
  if (known === null || byPosition || renamed.has("prediction")) return new Map();
  const named = known.filter((name) => names.includes(name) && !COLUMNS.includes(name) && !renamed.has(name));
  const prefixed = known.filter((name) => names.includes(`p_${name}`));
  if (named.length === 0 || prefixed.length === known.length) return new Map();
  const missing = known.filter((name) => !named.includes(name) && !prefixed.includes(name));
  if (prefixed.length > 0 && missing.length === 0) {
    throw new RangeError(`the table has columns ${repr(prefixed.map((name) => `p_${name}`))}, but ${repr(named)} without p_; name all of them in one way`);
  }
  if (names.includes("prediction") && missing.length === 0) {
    throw new RangeError(`the table has a column prediction, and columns ${repr(named)} that are named as classes; say which in "Columns": prediction=prediction, or p_walk=walk`);
  }
  const others = names.filter((name) => name.startsWith("p_")).length > 1 || names.includes("prediction");
  if (missing.length > 0 && prefixed.length === 0 && !others) {
    throw new RangeError(`the table has columns for the classes ${repr(named)}, but none for ${repr(missing)}; it has ${repr(names)}`);
  }
  return new Map(missing.length > 0 ? [] : named.map((name) => [`p_${name}`, name]));
}

function withoutPredictions(names, known, independent) {
  const prefixed = names.filter((name) => name.trim().slice(0, 2).toLowerCase() === "p_").map((name) => `p_${name.trim().slice(2)}`);
  const wanted = [...(known ?? []), ...(known ?? []).map((name) => `p_${name}`), "prediction", ...prefixed];
  const problem = independent
    ? "the table needs a column p_<label> for each label"
    : "the table needs two or more columns p_<class>, one per class, or a column prediction with names of classes";
  const classes = known === null ? "" : `the classes are ${repr(known)}, and `;
  const named = 'name them in "Columns", p_walk=COLUMN or prediction=COLUMN';
  const remedy = known === null ? `${named}; or, where the columns are named as the classes, give "Classes"` : named;
  const hint = !independent && prefixed.length === 1 ? '; if it is one score by itself, tick "Several may be true at once"' : "";
  return new RangeError(`${problem}; ${classes}it has ${repr(names)}${meant(wanted, names)}: ${remedy}${hint}`);
}

/** Which columns were probably meant: capitals and spaces differ. */
function meant(wanted, names) {
  const byForm = new Map(names.map((name) => [name.trim().toLowerCase(), name]));
  const pairs = wanted.filter((name) => !names.includes(name) && byForm.has(name.toLowerCase()));
  return pairs.length === 0 ? "" : `, probably ${pairs.map((name) => `${repr(byForm.get(name.toLowerCase()))} for ${name}`).join(", ")}`;
}

const isWhole = (name) => /^-*\d+$/.test(name);

/** The classes that columns of labels name: sorted, whole numbers by value. */
export function labelClasses(columns) {
  const named = [...columns].map(([column, cells]) => [column, [...new Set(cells.filter((cell) => cell !== null && cell !== "" && !Number.isNaN(cell)).map(String))]]);
  const numbers = named.filter(([, names]) => names.length > 0 && names.every(isWhole));
  const texts = named.filter(([, names]) => names.length > 0 && !names.some(isWhole));
  if (numbers.length > 0 && texts.length > 0) {
    const [first, other] = [numbers[0], texts[0]].map(([column, names]) => [column, repr(names.sort(byCodePoints).slice(0, 5))]);
    throw new RangeError(
      `column ${first[0]} has the numbers ${first[1]}, but column ${other[0]} the names ${other[1]}: they share no class; give the names in the order of the numbers in "Classes"`,
    );
  }
  const names = [...new Set(named.flatMap(([, ones]) => ones))];
  if (names.length < 2) {
    const what = names.length === 0 ? "names no class" : `names only the class ${repr(names[0])}`;
    throw new RangeError(`column prediction ${what}; give the classes in "Classes"`);
  }
  return names.every(isWhole) ? names.sort((a, b) => Number(a) - Number(b) || byCodePoints(a, b)) : names.sort(byCodePoints);
}

/** As Python sorts text; JavaScript would compare units of UTF-16. */
function byCodePoints(a, b) {
  const [left, right] = [[...a], [...b]];
  const i = left.findIndex((character, k) => character !== right[k]);
  if (i < 0) return left.length - right.length;
  return right[i] === undefined ? 1 : left[i].codePointAt(0) - right[i].codePointAt(0);
}
