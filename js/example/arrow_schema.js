// What Parquet does not say of a column, but Arrow's schema in its metadata does: spans of time, and names of zones.

const TIMESTAMP = 10;
const DURATION = 18;
/** How many of each unit a second has, in Arrow's order. */
const PER_SECOND = [1n, 1000n, 1000000n, 1000000000n];

/** Of each column by name: `{ zone }` of dates, `{ perSecond }` of spans of time. */
export function arrowColumns(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const start = view.getInt32(0, true) === -1 ? 8 : 4; // after the length of the message
  const message = start + view.getInt32(start, true);
  const schema = follow(view, message, 2);
  const found = new Map();
  const list = schema === null ? null : follow(view, schema, 1);
  const count = list === null ? 0 : view.getInt32(list, true);
  for (let i = 0; i < count; i++) {
    const at = list + 4 + 4 * i;
    const field = at + view.getInt32(at, true);
    const [kind, type] = [offset(view, field, 2), follow(view, field, 3)];
    const name = text(view, follow(view, field, 0));
    if (kind === null || type === null) continue;
    if (view.getUint8(kind) === TIMESTAMP) found.set(name, { zone: text(view, follow(view, type, 1)) });
    if (view.getUint8(kind) === DURATION) {
      const unit = offset(view, type, 0);
      found.set(name, { perSecond: PER_SECOND[unit === null ? 1 : view.getInt16(unit, true)] });
    }
  }
  return found;
}

/** Where a table of a flatbuffer has a field; null if it has none. */
function offset(view, table, field) {
  const vtable = table - view.getInt32(table, true);
  const place = 4 + 2 * field;
  const at = place < view.getUint16(vtable, true) ? view.getUint16(vtable + place, true) : 0;
  return at === 0 ? null : table + at;
}

/** Where the table, the list or the text lies that a field refers to. */
function follow(view, table, field) {
  const at = offset(view, table, field);
  return at === null ? null : at + view.getInt32(at, true);
}

function text(view, at) {
  if (at === null) return null;
  return new TextDecoder().decode(new Uint8Array(view.buffer, at + 4, view.getInt32(at, true)));
}
