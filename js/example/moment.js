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

  /** As Polars writes it to CSV: a date without its zone, or ISO 8601's duration. */
  toString() {
    const digits = Math.round(Math.log10(this.perSecond));
    const fraction = digits === 0 ? "" : `.${String(this.rest).padStart(digits, "0")}`;
    if (this.kind === "span") return `PT${this.whole}${fraction}S`;
    const text = new Date(1000 * this.whole).toISOString();
    return this.kind === "day" ? text.slice(0, 10) : text.slice(0, 19) + fraction;
  }
}
