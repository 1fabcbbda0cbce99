// Settings as TOML: what files of settings use of it, and no more. Anything else is refused, with its line.
import { float, repr } from "./text.js";

const ESCAPES = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", '"': '"', "\\": "\\" };
const NUMBER = /[+-]?(?:0|[1-9](?:_?[0-9])*)(?:\.[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?/y;

/** The sections of a text as objects without a prototype, so that a key may have any name. */
export function parseToml(text) {
  return new Reader(text).read();
}

class Reader {
  #text;
  #at = 0;

  constructor(text) {
    this.#text = text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  }

  read() {
    const root = Object.create(null);
    const titles = new Set();
    let section = root;
    for (this.#skip(); this.#at < this.#text.length; this.#skip()) {
      if (this.#take("[")) {
        const path = this.#path();
        this.#need("]", "a title such as [options] or [channel.weak]");
        if (titles.has(JSON.stringify(path))) this.#fail(`the section [${path.join(".")}] is there twice`);
        titles.add(JSON.stringify(path));
        section = path.reduce((parent, key) => this.#section(parent, key), root);
      } else {
        const key = this.#key();
        this.#need("=", "a key, then = and a value");
        if (Object.hasOwn(section, key)) this.#fail(`${key} is there twice`);
        section[key] = this.#value();
      }
      this.#blank();
      if (this.#at < this.#text.length && this.#text[this.#at] !== "\n") this.#fail("something follows; give it a line of its own");
    }
    return root;
  }

  #section(parent, key) {
    if (!Object.hasOwn(parent, key)) parent[key] = Object.create(null);
    if (typeof parent[key] !== "object" || Array.isArray(parent[key])) this.#fail(`${key} is a value and a section`);
    return parent[key];
  }

  #path() {
    const path = [this.#key()];
    while (this.#take(".")) path.push(this.#key());
    return path;
  }

  #key() {
    this.#blank();
    const character = this.#text[this.#at];
    if (character === '"' || character === "'") return this.#string();
    const [word] = this.#match(/[A-Za-z0-9_-]+/y) ?? this.#fail("a key is letters, digits, _ and -, or text in quotes");
    return word;
  }

  #value() {
    this.#blank();
    const character = this.#text[this.#at];
    if (character === '"' || character === "'") return this.#string();
    if (this.#take("[")) return this.#list();
    const word = this.#match(/true|false/y);
    if (word !== null) return word[0] === "true";
    const number = this.#match(NUMBER);
    if (number === null || /[\w:.+-]/.test(this.#text[this.#at] ?? "")) {
      this.#fail("a value is a number, text in quotes, true, false, or a list of them");
    }
    return Number(number[0].replaceAll("_", ""));
  }

  #list() {
    const items = [];
    for (this.#skip(); !this.#take("]"); this.#skip()) {
      items.push(this.#value());
      this.#skip();
      if (this.#take(",")) continue;
      this.#need("]", "a list has commas between its values and ends with ]");
      break;
    }
    return items;
  }

  #string() {
    const quote = this.#text[this.#at];
    if (this.#text.startsWith(quote.repeat(3), this.#at)) this.#fail("text has no triple quotes here");
    const pattern = quote === "'" ? /'([^'\n]*)'/y : /"((?:[^"\\\n]|\\.)*)"/y;
    const match = this.#match(pattern) ?? this.#fail("text ends in the same line, with the same quote");
    if (/[\x00-\x08\x0b-\x1f\x7f]/.test(match[1])) this.#fail("text has a control character; write it as \\u001f");
    return quote === "'" ? match[1] : match[1].replace(/\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)/g, (_, code) => this.#escape(code));
  }

  #escape(code) {
    if (Object.hasOwn(ESCAPES, code)) return ESCAPES[code];
    const point = code.length > 1 ? Number.parseInt(code.slice(1), 16) : NaN;
    const valid = point < 0xd800 || (point > 0xdfff && point <= 0x10ffff);
    return valid ? String.fromCodePoint(point) : this.#fail(`\\${code} is no escape`);
  }

  #match(pattern) {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match !== null) this.#at = pattern.lastIndex;
    return match;
  }

  #take(character) {
    this.#blank();
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #need(character, what) {
    if (!this.#take(character)) this.#fail(`${repr(character)} is missing: ${what}`);
  }

  #blank() {
    this.#match(/[ \t]*(?:#[^\n]*)?/y);
  }

  /** Past blanks, comments and line ends. */
  #skip() {
    this.#match(/(?:[ \t\n]|#[^\n]*)*/y);
  }

  #fail(why) {
    throw new RangeError(`line ${this.#text.slice(0, this.#at).split("\n").length}: ${why}`);
  }
}

/** A filter, with the weights and channels of its sources, as the TOML that Python's `load` reads. */
export function toToml(filter, { beta = {}, channel = {} } = {}) {
  const names = filter.classes.map((name) => (typeof name === "number" ? String(name) : quoted(name)));
  const classes = `classes = [${names.join(", ")}]\n`;
  if (filter.kind !== "multi_label") return classes + settings(filter, beta, channel, "");
  const lanes = filter.classes.map((label, i) => {
    const of = (given) => (isByLabel(given) ? given[String(label)] : given);
    const each = (section) => Object.entries(section).map(([source, given]) => [source, of(given)]);
    const weights = typeof beta === "number" ? beta : Object.fromEntries(each(beta));
    return (title) => settings(filter.filters[i], weights, Object.fromEntries(each(channel)), title);
  });
  const head = `${classes}scores = "independent"\n`;
  const texts = new Set(lanes.map((lane) => lane("")));
  if (texts.size === 1) return head + [...texts][0];
  return head + lanes.map((lane, i) => lane(`labels.${key(String(filter.classes[i]))}`)).join("");
}

/** Whether a weight or a channel is given for each label. */
const isByLabel = (given) => typeof given === "object" && given !== null && typeof given.apply !== "function";

/** The kind of a filter, its options, weights and channels; within a section, where it has a title. */
function settings(filter, beta, channel, title) {
  const within = (name) => (title === "" ? name : `${title}.${name}`);
  const sections = [[within("options"), entriesOf(filter.options)]];
  const head = [["filter", filter.kind]];
  if (typeof beta === "number") head.push(["beta", beta]);
  else if (Object.keys(beta).length > 0) sections.push([within("beta"), Object.entries(beta)]);
  for (const [source, used] of Object.entries(channel)) {
    if (used) sections.push([within(`channel.${key(source)}`), [["matrix", used.matrix], ["prior", used.prior]]]);
  }
  const lines = sections.map(([name, entries]) => [`\n[${name}]`, ...entries.map(line)].join("\n") + "\n");
  return `${title === "" ? "" : `\n[${title}]\n`}${head.map(line).join("\n")}\n${lines.join("")}`;
}

/** Options by the names of Python; what it computes by itself is left out. */
function entriesOf(options) {
  const renamed = Object.entries(options).map(([name, entry]) => [name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), entry]);
  return renamed.filter(([name, entry]) => name !== "prepared" && entry !== undefined);
}

const line = ([name, entry]) => `${key(name)} = ${value(entry)}`;

function value(entry) {
  if (typeof entry === "number") return float(entry);
  if (typeof entry === "string") return quoted(entry);
  return typeof entry === "boolean" ? String(entry) : `[${Array.from(entry, value).join(", ")}]`;
}

const key = (name) => (/^[A-Za-z0-9_-]+$/.test(name) ? name : quoted(name));

function quoted(text) {
  const escape = (c) => (c === '"' || c === "\\" ? `\\${c}` : `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `"${String(text).replace(/["\\\x00-\x1f\x7f]/g, escape)}"`;
}
