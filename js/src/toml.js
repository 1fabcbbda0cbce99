// Settings as TOML: what files of settings use of it, and no more. Anything else is refused, with its line.
import { isRow } from "./checks.js";
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

/**
 * A filter, with the weights and channels of its sources and a rule for events, as the TOML that Python's `load` reads. What
 * `load` found of a smoother and of what to expect is written as it was.
 */
export function toToml(filter, { beta = {}, channel = {}, rule = null, smoother = null, expected = null } = {}) {
  const names = filter.classes.map((name) => (typeof name === "number" ? String(name) : quoted(name)));
  rule?.check(filter.classes, filter.kind === "multi_label");
  const settings = [...ofRows(filter, beta, channel)];
  if (rule !== null) settings.push(["events", new Map(snakeCased(rule.options))]);
  if (smoother !== null) settings.push(["smoother", smoother]);
  if (expected !== null) settings.push(["expected", expected]);
  return [`classes = [${names.join(", ")}]`, ...section("", settings)].join("\n") + "\n";
}

/** The settings of a filter, its weights and channels; of several labels at once, of all, or of each where they differ. */
function ofRows(filter, beta, channel) {
  if (filter.kind !== "multi_label") return ofClasses(filter, beta, channel);
  const lanes = filter.filters.map((lane, i) => {
    const label = String(filter.classes[i]);
    const of = (given) => (isByLabel(given) ? given[label] : given);
    const each = (entries) => new Map(Object.entries(entries).map(([source, given]) => [source, of(given)]));
    return [label, ofClasses(lane, typeof beta === "number" ? beta : each(beta), each(channel))];
  });
  const texts = new Set(lanes.map(([, lane]) => section("", lane).join("\n")));
  const [[, common]] = lanes;
  return new Map([["scores", "independent"], ...(texts.size === 1 ? common : [["labels", new Map(lanes)]])]);
}

/** Whether a weight or a channel is given for each label. */
const isByLabel = (given) => typeof given === "object" && given !== null && typeof given.apply !== "function";

function ofClasses(filter, beta, channel) {
  const settings = new Map([["filter", filter.kind]]);
  if (typeof beta === "number" && beta !== 1) settings.set("beta", beta);
  settings.set("options", new Map(snakeCased(filter.options)));
  if (typeof beta !== "number" && entriesOf(beta).length > 0) settings.set("beta", beta);
  const used = entriesOf(channel).filter(([, one]) => one);
  const channels = used.map(([source, { matrix, prior }]) => [source, { matrix, prior }]);
  return channels.length > 0 ? settings.set("channel", new Map(channels)) : settings;
}

/** Options by the names of Python; what it computes by itself is left out. */
function snakeCased(options) {
  const renamed = Object.entries(options).map(([name, entry]) => [name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), entry]);
  return renamed.filter(([name, entry]) => name !== "prepared" && entry !== undefined);
}

const entriesOf = (entries) => (Array.isArray(entries) || entries instanceof Map ? [...entries] : Object.entries(entries));

const isSection = (entry) => typeof entry === "object" && !isRow(entry);

/** The lines of a section, and of those within it. */
function section(title, given) {
  const entries = entriesOf(given);
  const inner = entries.filter(([, entry]) => isSection(entry));
  const lines = title !== "" && (inner.length < entries.length || inner.length === 0) ? ["", `[${title}]`] : [];
  for (const [name, entry] of entries) if (!isSection(entry)) lines.push(`${key(name)} = ${value(entry)}`);
  for (const [name, entry] of inner) lines.push(...section(title === "" ? key(name) : `${title}.${key(name)}`, entry));
  return lines;
}

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
