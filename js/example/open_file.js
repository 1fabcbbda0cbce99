// A file as a table: its kind by its suffix, decompressed.
import { decompress } from "../node_modules/fzstd/esm/index.mjs";
import { decode, readCsv } from "./csv.js";
import { readNdjson } from "./ndjson.js";
import { readParquet } from "./parquet.js";

const USUAL = { csv: ",", tsv: "\t" };
const GZIP = [0x1f, 0x8b];
const ZSTD = [0x28, 0xb5, 0x2f, 0xfd];

/**
 * The names and columns of a file, as `classfilter filter` would read it. `isText` says that all cells are text, as in CSV;
 * `line` is the line of the first row of a text file.
 */
export async function openFile(name, bytes, options) {
  const suffix = /\.(csv|tsv|parquet|ndjson|jsonl)(\.(?:gz|zst))?$/i.exec(name);
  if (suffix === null || (suffix[1].toLowerCase() === "parquet" && suffix[2] !== undefined)) throw otherKind(name);
  const kind = suffix[1].toLowerCase();
  if (kind === "parquet") return readParquet(bytes, name);
  const text = decode(await unpacked(bytes, name), name);
  if (kind in USUAL) return { ...readCsv(text, name, { ...options, usual: USUAL[kind] }), isText: true, line: 2 };
  return { ...readNdjson(text, name), isText: false, line: 1 };
}

function otherKind(name) {
  const ending = /\.[^.]*$/.exec(name)?.[0] ?? "";
  const known = "it must be one of .csv, .tsv, .parquet, .ndjson, .jsonl, perhaps with .gz or .zst after it";
  const remedy = "rename it, or save the table as CSV";
  return new RangeError(`${name} ends in '${ending}'; ${known}, or .toml for settings: ${remedy}`);
}

const begins = (bytes, magic) => magic.every((byte, i) => bytes[i] === byte);

async function unpacked(bytes, name) {
  try {
    if (begins(bytes, ZSTD)) return decompress(bytes);
    if (!begins(bytes, GZIP)) return bytes;
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch (error) {
    throw new RangeError(`${name} cannot be decompressed: ${error.message}; is it whole?`);
  }
}
