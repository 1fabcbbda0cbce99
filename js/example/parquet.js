// Parquet files: columns of numbers, text, dates and spans of time.
import { decompress } from "../node_modules/fzstd/esm/index.mjs";
import { parquetMetadata, parquetSchema } from "../node_modules/hyparquet/src/metadata.js";
import { parquetRead } from "../node_modules/hyparquet/src/read.js";
import { arrowColumns } from "./arrow_schema.js";
import { Moment } from "./moment.js";

const COMPRESSIONS = ["UNCOMPRESSED", "SNAPPY", "ZSTD"];
const PARSERS = {
  timestampFromMilliseconds: (ms) => Moment.of("date", BigInt(ms), 1000n),
  timestampFromMicroseconds: (us) => Moment.of("date", us, 1000000n),
  timestampFromNanoseconds: (ns) => Moment.of("date", ns, 1000000000n),
  dateFromDays: (days) => Moment.of("day", BigInt(days) * 86400n, 1n),
};

/** The names and the columns of a Parquet file; the zone of each column of dates that has one. */
export async function readParquet(bytes, file) {
  const remedy = `write it as CSV: classfilter filter ${file} -o rows.csv`;
  let metadata;
  try {
    metadata = parquetMetadata(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  } catch (error) {
    throw new RangeError(`${file} cannot be read as .parquet: ${error.message}`);
  }
  const codecs = metadata.row_groups.flatMap(({ columns }) => columns.map(({ meta_data }) => meta_data.codec));
  const unknown = codecs.find((codec) => !COMPRESSIONS.includes(codec));
  if (unknown !== undefined) throw new RangeError(`${file} is compressed by ${unknown}, which this page does not read; ${remedy}`);
  const arrow = metadata.key_value_metadata?.find(({ key }) => key === "ARROW:schema")?.value;
  const known = arrow === undefined ? new Map() : arrowColumns(arrow);
  const fields = parquetSchema(metadata).children;
  const names = fields.map(({ element }) => element.name);
  const rows = await new Promise((onComplete, reject) => {
    const buffer = { byteLength: bytes.byteLength, slice: (from, to) => bytes.slice(from, to).buffer };
    const compressors = { ZSTD: (input, length) => decompress(input, new Uint8Array(length)) };
    parquetRead({ file: buffer, metadata, compressors, parsers: PARSERS, geoparquet: false, onComplete }).catch((error) =>
      reject(new RangeError(`${file} cannot be read as .parquet: ${error.message}; ${remedy}`)));
  });
  const columns = names.map((name, i) => {
    const { perSecond } = known.get(name) ?? {};
    const cells = rows.map((row) => row[i] ?? null);
    return perSecond === undefined ? cells : cells.map((cell) => (cell === null ? null : Moment.of("span", BigInt(cell), perSecond)));
  });
  const zones = new Map(fields.map(({ element }) => [element.name, zoneOf(element, known)]));
  return { names, columns, zones };
}

/** The zone of a column of dates; null where they have none. */
function zoneOf({ name, logical_type: type, converted_type: older }, known) {
  const inUtc = type?.isAdjustedToUTC ?? /^TIMESTAMP/.test(older ?? "");
  return inUtc ? (known.get(name)?.zone ?? "UTC") : null;
}
