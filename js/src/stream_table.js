// The streams of a tracker by name, and the rules of their times: order, jumps, and when a stream is over.
import { positiveDuration, show } from "./checks.js";

/** So many streams that agree on a time set the clock, or all of them where there are fewer. */
const ENOUGH = 3;
const MOST_STRAYS = 8;

/**
 * What a tracker keeps of each stream. A row takes two calls: `step` refuses it, or says what it continues, and `put`
 * replaces that. An error between the two leaves the table as it was.
 */
export class StreamTable {
  #entries = new Map(); // the stream whose last row came first is first; an entry that moves is a new object
  #clock; // the time of all streams; undefined before the first row
  #strays = new Map(); // the times of rows further than expireAfter from the clock, by stream
  #walk = this.#entries.entries();
  #first = [];

  #ended;

  /** `ended` is called with a stream and its value before that is forgotten. */
  constructor({ expireAfter, maxStreams, maxJump }, ended) {
    this.#ended = ended;
    if (maxStreams !== undefined && !(typeof maxStreams === "number" && maxStreams >= 1)) {
      throw new RangeError(`maxStreams is ${show(maxStreams)}; it must be 1 or more`);
    }
    const limit = (name, value) => (value === undefined ? undefined : positiveDuration(name, value));
    this.limits = Object.freeze({
      expireAfter: limit("expireAfter", expireAfter), maxStreams, maxJump: limit("maxJump", maxJump),
    });
  }

  get names() {
    return [...this.#entries.keys()];
  }

  get size() {
    return this.#entries.size;
  }

  has(stream) {
    return this.#entries.has(stream);
  }

  /** The entry of a stream: `time`, that of its last row, and `value`. */
  get(stream) {
    checkName(stream);
    const entry = this.#entries.get(stream);
    if (entry === undefined) {
      throw new RangeError(`there is no stream ${show(stream)}; it has had no rows yet, or was dropped`);
    }
    return entry;
  }

  /** The entry that a row at a time would continue; undefined where it would begin the stream. */
  continued(stream, at) {
    checkName(stream);
    const entry = this.#entries.get(stream);
    return entry === undefined || this.#isOver(entry.time, at) ? undefined : entry;
  }

  /**
   * As `continued`, for a row that has come; raise for one that is late, or too far ahead. The time of one too far ahead
   * is remembered, unless `check` raises: the row is no prediction at all.
   */
  step(stream, at, check) {
    checkName(stream);
    const entry = this.#entries.get(stream);
    if (entry === undefined) return undefined;
    if (at < entry.time) throw timeError(stream, at, "before", entry.time);
    this.#confirmJump(stream, at, entry, check);
    if (this.#isOver(entry.time, at)) return undefined;
    if (at - entry.time === Infinity) throw timeError(stream, at, "too long after", entry.time);
    return entry;
  }

  /** Keep a value of a stream that had a row; forget the streams that are over, and those too many. */
  put(stream, at, value) {
    this.#putLast(stream, { time: at, seen: this.#clock, jump: undefined, value });
    if (this.limits.expireAfter !== undefined) {
      this.#noteTime(stream, at);
      this.#entries.get(stream).seen = this.#clock;
    }
    this.#forget();
  }

  /** Forget streams, all or none. */
  drop(streams) {
    streams.forEach((stream) => this.get(stream));
    streams.forEach((stream) => this.#remove(stream));
  }

  /** Set the clock; forget the streams that are over, and return them. */
  expire(now) {
    this.#setClock(now);
    return this.#forget();
  }

  #isOver(last, now) {
    return now - last > this.limits.expireAfter;
  }

  /** Refuse a row far ahead of its stream, unless the one refused before was there, too. */
  #confirmJump(stream, at, entry, check) {
    const { maxJump } = this.limits;
    if (!(at - entry.time > maxJump)) return;
    const since = at - entry.jump;
    if (since >= 0 && since <= maxJump) return;
    check();
    entry.jump = at;
    throw new RangeError(
      `time is ${at}, more than ${maxJump} after ${entry.time}, the time of the last row of stream ` +
        `${show(stream)}; it is rejected, unless the next row of the stream confirms it`,
    );
  }

  /** Move the clock to a row's time if that is near, or if enough streams agree on another one. */
  #noteTime(stream, at) {
    const near = (time) => Math.abs(time - at) <= this.limits.expireAfter;
    const strays = this.#strays;
    if (this.#clock === undefined || near(this.#clock)) {
      this.#clock = Math.max(this.#clock ?? at, at);
      if (strays.size > 0) strays.clear();
      return;
    }
    strays.delete(stream);
    strays.set(stream, at);
    if (strays.size > MOST_STRAYS) strays.delete(strays.keys().next().value);
    const agreed = [...strays].filter(([, time]) => near(time));
    if (agreed.length < Math.min(ENOUGH, this.size)) return;
    this.#setClock(Math.max(...agreed.map(([, time]) => time)));
    strays.clear();
    for (const [name] of agreed) {
      if (this.has(name)) this.#putLast(name, { ...this.#entries.get(name), seen: this.#clock });
    }
  }

  #setClock(now) {
    if (now < this.#clock) for (const entry of this.#entries.values()) entry.seen = Math.min(entry.seen, now);
    this.#clock = now;
  }

  #remove(stream) {
    this.#ended(stream, this.#entries.get(stream).value);
    this.#entries.delete(stream);
  }

  #putLast(stream, entry) {
    this.#entries.delete(stream);
    this.#entries.set(stream, entry);
  }

  #forget() {
    const forgotten = [];
    while (this.size > 0) {
      const [stream, { seen }] = this.#oldest();
      if (!(this.size > this.limits.maxStreams) && !this.#isOver(seen, this.#clock)) break;
      this.#remove(stream);
      forgotten.push(stream);
    }
    return forgotten;
  }

  /** The stream whose last row came first. A new iterator would pass all places that others have left: this one goes on. */
  #oldest() {
    while (this.#first.length === 0 || this.#entries.get(this.#first[0]) !== this.#first[1]) {
      const { value, done } = this.#walk.next();
      if (done) this.#walk = this.#entries.entries();
      this.#first = value ?? [];
    }
    return this.#first;
  }
}

/** Raise for what does not equal itself when it is written again. */
function checkName(stream) {
  if (Number.isNaN(stream)) {
    throw new RangeError("stream is NaN, which does not even equal itself; give it a name");
  }
  if ((typeof stream === "object" && stream !== null) || typeof stream === "function") {
    const [what, text] = Array.isArray(stream) ? [show(stream), stream.join("/")] : ["an object", "site/7"];
    throw new TypeError(`stream is ${what}, which equals no other one; give text or a number, such as ${show(text)}`);
  }
}

function timeError(stream, at, where, last) {
  return new RangeError(
    `time is ${at}, ${where} ${last}, the time of the last row of stream ${show(stream)}; ` +
      "give the rows of a stream in order of time",
  );
}
