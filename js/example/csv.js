// CSV files as they exist: separators, line ends, encodings. They are read as Python reads them, cell by cell as text.

export const SEPARATORS = new Map([[",", "comma"], [";", "semicolon"], ["\t", "tab"], ["|", "bar"]]);

/** The text of a file in UTF-8, without the mark at its beginning. */
export function decode(bytes, file) {
  const utf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (utf16 || bytes.subarray(0, 1000).includes(0)) throw notUtf8(file, "UTF-16");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw notUtf8(file, "latin1", firstLineNotUtf8(bytes));
  }
}

function notUtf8(file, encoding, line) {
  const where = line === undefined ? "" : ` in line ${line}`;
  return new RangeError(`${file} is not in UTF-8${where}; if it is in ${encoding}, convert it: iconv -f ${encoding} -t UTF-8`);
}

function firstLineNotUtf8(bytes) {
  for (let line = 1, start = 0, end; start < bytes.length; line += 1, start = end + 1) {
    end = bytes.indexOf(10, start);
    if (end < 0) end = bytes.length;
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(start, end));
    } catch {
      return line;
    }
  }
  return undefined;
}

/**
 * The names and the columns of a CSV file; null for an empty cell. Without a `separator`, the header tells: where it could have
 * several, it is the one that gives the name of the column of times.
 */
export function readCsv(text, file, { separator, time = "time", usual = "," } = {}) {
  const body = text.replace(/^[\r\n]+/, "");
  const mark = separator ?? findSeparator(headerOf(body), file, time, usual);
  const reader = cellReader(body, file, mark);
  const names = (reader.next() ?? []).map((name) => name ?? "");
  const twice = names.find((name, i) => name !== "" && names.indexOf(name) < i);
  if (twice !== undefined) {
    const count = names.filter((name) => name === twice).length;
    throw new RangeError(`${file} has ${count} columns '${twice}'; rename them, or keep one`);
  }
  const columns = names.map(() => []);
  for (let cells = reader.next(); cells !== undefined; cells = reader.next()) {
    if (cells.length > names.length) {
      const line = columns[0].length + 2;
      throw new RangeError(`${file} has more cells in line ${line} than names in the header; quote a cell that has a ${SEPARATORS.get(mark)} in it`);
    }
    for (let i = 0; i < names.length; i++) columns[i].push(cells[i] ?? null);
  }
  return { names, columns, separator: mark };
}

/** A quoted cell, or the end of a line, which is the group. */
const LINE_END = /(?:^|(?<=[,;\t|]))"(?:[^"]|"")*"|(\r\n|\r|\n)/g;

function headerOf(body) {
  for (const match of body.matchAll(LINE_END)) if (match[1] !== undefined) return body.slice(0, match.index);
  return body;
}

function findSeparator(header, file, time, usual) {
  const unquoted = header.replaceAll(LINE_END, "");
  let several = [...SEPARATORS.keys()].filter((mark) => unquoted.includes(mark));
  const hasTime = (mark) =>
    (cellReader(header, file, mark).next() ?? []).some((name) => String(name ?? "").trim().toLowerCase() === time.toLowerCase());
  if (several.length > 1) {
    const withTime = several.filter(hasTime);
    if (withTime.length > 0) several = withTime;
  }
  if (several.length > 1 && usual === ",") {
    const kinds = several.map((mark) => SEPARATORS.get(mark)).join(" and ");
    throw new RangeError(`${kinds} may separate the columns of ${file}; choose the separator`);
  }
  return several.length === 1 ? several[0] : usual;
}

/** Reads one line after the other: cells of text, null where there is nothing, undefined at the end. */
function cellReader(text, file, separator) {
  const end = lineEnd(text, file);
  const mark = separator === "|" ? "\\|" : separator;
  const ends = end === "\n" ? "\\r?\\n" : "\\r";
  const pattern = new RegExp(`(?:"((?:[^"]|"")*)"|([^"${mark}${end}][^${mark}${end}]*)?)(${mark}|${ends}|$)`, "y");
  let at = 0;
  let line = 0;
  const next = () => {
    if (at >= text.length) return undefined;
    line += 1;
    for (const cells = []; ; ) {
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (match === null || /^[^"]*"[^"]*$/.test(match[2] ?? "")) {
        throw new RangeError(`${file} cannot be read: line ${line} has a quote inside of a cell; double it, and quote the cell`);
      }
      const [, quoted, plain, after] = match;
      cells.push(quoted === undefined ? plain?.replace(/\r$/, "") || null : quoted.replaceAll('""', '"'));
      at = pattern.lastIndex;
      if (after !== separator) return cells;
      if (at >= text.length) {
        cells.push(null);
        return cells;
      }
    }
  };
  return { next };
}

/** "\n" or "\r"; old files have carriage returns alone. */
function lineEnd(text, file) {
  let first;
  for (const [, end] of text.matchAll(LINE_END)) {
    if (end === undefined) continue;
    first ??= end;
    if (first !== "\r") break;
    if (end !== "\r") throw new RangeError(`${file} has line ends of several kinds; write all of them as \\n`);
  }
  return first === "\r" ? "\r" : "\n";
}

const COMMA_NUMBER = /^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$/;
const POINT_NUMBER = /^(\s*[+-]?\d*)\.(\d+(?:[eE][+-]?\d+)?\s*)$/;

/** Columns of text with points for decimal commas; all numbers must have the same mark. */
export function withPoints(columns, names, line) {
  const first = (pattern) => {
    for (let row = 0; row < (columns[0]?.length ?? 0); row++) {
      const i = columns.findIndex((column) => column[row] !== null && pattern.test(column[row]));
      if (i >= 0) return { row, i };
    }
    return null;
  };
  const comma = first(COMMA_NUMBER);
  if (comma === null) return columns;
  const point = first(POINT_NUMBER);
  if (point !== null) {
    const later = comma.row > point.row || (comma.row === point.row && comma.i > point.i) ? comma : point;
    const words = later === comma ? "points" : "commas";
    const { row, i } = later;
    throw new RangeError(
      `column ${names[i]} in row ${row}${line(row)} is '${columns[i][row]}'; other numbers have decimal ${words}: write all of them in one way`,
    );
  }
  return columns.map((column) => column.map((cell) => (cell === null ? null : cell.replace(COMMA_NUMBER, "$1.$2"))));
}
