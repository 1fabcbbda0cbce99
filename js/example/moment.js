// A date or a span of time, as a Parquet file has it: exact, and as seconds.

export class Moment {
  /** `kind` is "date", "day" or "span"; a second has `perSecond` of the units that `units` counts. */
  static of(kind, units, perSecond) {
    if (units === null || units === undefined) return null;
    let whole = units / perSecond;
    let rest = units % perSecond;
    if (rest < 0n) [whole, rest] = [whole - 1n, rest + perSecond];
    return new Moment(kind, Number(whole), Number(rest), Number(perSecond));
  }

  constructor(kind, whole, rest, perSecond) {
    Object.assign(this, { kind, whole, rest, perSecond });
  }

  get seconds() {
    return this.whole + this.rest / this.perSecond;
  }

  /** As Polars writes it to CSV: a date without its zone, or a span as ISO 8601. */
  toString() {
    return this.text(null);
  }

  /** A date in a zone that is so many seconds ahead of UTC, with its offset; null is none. */
  text(offset) {
    const digits = Math.round(Math.log10(this.perSecond));
    const fraction = digits === 0 ? "" : `.${String(this.rest).padStart(digits, "0")}`;
    if (this.kind === "span") return `PT${this.whole}${fraction}S`;
    const text = new Date(1000 * (this.whole + (offset ?? 0))).toISOString();
    if (this.kind === "day") return text.slice(0, 10);
    return text.slice(0, 19) + fraction + (offset === null ? "" : offsetText(offset));
  }
}

function offsetText(offset) {
  const minutes = Math.abs(offset) / 60;
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  return `${offset < 0 ? "-" : "+"}${two(minutes / 60)}${two(minutes % 60)}`;
}
