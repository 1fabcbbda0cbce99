// Values in messages, written as the Python library writes them.

/** A number as Python prints a float: 1.0, 1e-05, nan. */
export function float(x) {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
  if (Object.is(x, -0)) return "-0.0";
  const [digits, exponent] = x.toExponential().split("e");
  const power = Number(exponent);
  if (x !== 0 && (power < -4 || power >= 16)) {
    return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  const text = String(x);
  if (text.includes("e")) return `${x.toFixed(20).replace(/0+$/, "")}`;
  return text.includes(".") ? text : `${text}.0`;
}

/** A value as it was typed: whole numbers without a point, text in quotes. */
export function repr(value) {
  if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) < 1e16 ? String(value) : float(value);
  if (typeof value === "string") return quoted(value);
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return `[${Array.from(value, repr).join(", ")}]`;
  if (value instanceof Map) return repr(Object.fromEntries(value));
  if (value !== null && typeof value === "object") {
    return `{${Object.entries(value).map(([key, entry]) => `${quoted(key)}: ${repr(entry)}`).join(", ")}}`;
  }
  return String(value);
}

function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t");
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}

/** A number with at most `digits` significant ones, as printf's %g writes it. */
export function general(x, digits = 6) {
  if (!Number.isFinite(x)) return float(x);
  if (x === 0) return "0";
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
  const power = Number(exponent);
  if (power < -4 || power >= digits) {
    const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    return `${short}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  const text = x.toFixed(digits - 1 - power);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A character that Python counts as space. */
export const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

export const isBlank = (text) => Array.from(text).every((character) => SPACE.test(character));
