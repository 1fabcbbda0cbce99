// Decimal numbers without rounding, as Python's `decimal` has them: a coefficient, and the power of ten of its last digit.
import { float } from "./text.js";

/** The digits to which Python rounds a product. */
const DIGITS = 28;

/** The shortest decimal that is read as this number. */
export function exact(x) {
  const [mantissa, power = "0"] = float(Math.abs(x)).split("e");
  const [whole, fraction = ""] = mantissa.split(".");
  return { negative: x < 0 || Object.is(x, -0), digits: BigInt(whole + fraction), power: Number(power) - fraction.length };
}

/** The decimal 0, without digits behind the point. */
export const ZERO = Object.freeze({ negative: false, digits: 0n, power: 0 });

export function minus(a, b) {
  const power = Math.min(a.power, b.power);
  const difference = signed(a, power) - signed(b, power);
  const negative = difference === 0n ? a.digits === 0n && a.negative && !b.negative : difference < 0n;
  return { negative, digits: difference < 0n ? -difference : difference, power };
}

/** Below, at or above 0, as a is below, at or above b. */
export function compare(a, b) {
  const { negative, digits } = minus(a, b);
  return digits === 0n ? 0 : negative ? -1 : 1;
}

/** The number as text without an exponent, which not every reader knows. */
export function plain({ negative, digits, power }) {
  const text = digits.toString();
  const sign = negative ? "-" : "";
  if (power >= 0) return sign + text + (digits === 0n ? "" : "0".repeat(power));
  const padded = text.padStart(1 - power, "0");
  return `${sign}${padded.slice(0, power)}.${padded.slice(power)}`;
}

export const toNumber = (x) => Number(plain(x));

/** The largest whole number that is not above x, and what is left, from 0 to 1, as digits behind the point. */
export function floorAndFraction(x) {
  const { power } = x;
  if (power >= 0) return [signed(x, 0), ""];
  const one = 10n ** BigInt(-power);
  const rest = ((signed(x, power) % one) + one) % one;
  return [(signed(x, power) - rest) / one, rest.toString().padStart(-power, "0").replace(/0+$/, "")];
}

/** x times 1000 as a whole number; of two that are equally near, the even one. */
export function thousands(x) {
  const digits = x.digits * 1000n;
  const excess = digits.toString().length - DIGITS;
  const rounded = excess > 0 ? { ...x, digits: halfEven(digits, excess), power: x.power + excess } : { ...x, digits };
  const whole = rounded.power >= 0 ? signed({ ...rounded, negative: false }, 0) : halfEven(rounded.digits, -rounded.power);
  return x.negative ? -whole : whole;
}

/** Digits without so many of the last. */
function halfEven(digits, count) {
  const one = 10n ** BigInt(count);
  const whole = digits / one;
  const twice = 2n * (digits % one);
  return twice > one || (twice === one && whole % 2n === 1n) ? whole + 1n : whole;
}

function signed({ negative, digits, power }, to) {
  const scaled = digits * 10n ** BigInt(power - to);
  return negative ? -scaled : scaled;
}
