// NDJSON: one object per line.

/** The names and the columns of a file of JSON objects; null where an object has no such key. */
export function readNdjson(text, file) {
  const columns = new Map();
  let rows = 0;
  text.split("\n").forEach((line, i) => {
    if (line.trim() === "") return;
    for (const [name, cell] of Object.entries(parse(line, i + 1, file))) {
      if (!columns.has(name)) columns.set(name, new Array(rows).fill(null));
      columns.get(name).push(cell);
    }
    rows += 1;
    for (const column of columns.values()) if (column.length < rows) column.push(null);
  });
  return { names: [...columns.keys()], columns: [...columns.values()] };
}

function parse(text, line, file) {
  let object;
  try {
    object = JSON.parse(text, /\d{16}/.test(text) ? exact : undefined);
  } catch {
    throw new RangeError(`${file} cannot be read: line ${line} is no JSON object; write one object per line`);
  }
  if (typeof object !== "object" || object === null || Array.isArray(object)) {
    throw new RangeError(`${file} cannot be read: line ${line} is no JSON object; write one object per line`);
  }
  return object;
}

/** Whole numbers that a double does not hold stay as they are. */
function exact(_, value, context) {
  const isLarge = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
  return isLarge && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context.source) : value;
}
