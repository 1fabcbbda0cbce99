// The core, and its memory, which one filter at a time has to itself.
import wasm from "../dist/classfilter.wasm";

/** The functions of `c/binding_impl.h`; their names end in _f32 or _f64. */
export const core = new WebAssembly.Instance(new WebAssembly.Module(wasm)).exports;

const ALIGNMENT = 16;
const START = aligned(core.__heap_base.value);
const PAGE = 65536;

function aligned(address) {
  return Math.ceil(address / ALIGNMENT) * ALIGNMENT;
}

/** The message of a status. */
export function message(status) {
  const start = core.strerror(status);
  const memory = new Uint8Array(core.memory.buffer);
  return new TextDecoder().decode(memory.subarray(start, memory.indexOf(0, start)));
}

/** Addresses of parts of the given sizes in bytes, one after the other. Nothing is kept there between calls. */
export function place(...sizes) {
  const addresses = [];
  let end = START;
  for (const size of sizes) {
    addresses.push(end);
    end = aligned(end + size);
  }
  const missing = end - core.memory.buffer.byteLength;
  if (missing > 0) core.memory.grow(Math.ceil(missing / PAGE));
  return addresses;
}

/** `count` numbers of a type at an address; only until memory grows. */
export function numbers(type, address, count) {
  return new type(core.memory.buffer, address, count);
}

let owner = null;

/** As `place`, for a call whose first part is no block. */
export function borrow(...sizes) {
  owner = null;
  return place(...sizes);
}

/**
 * Bytes that a filter or a policy keeps: structures with pointers into themselves, so that they always return to the
 * address at which they were made, the first one of `place`.
 */
export class Block {
  #bytes;

  constructor(size) {
    this.#bytes = new Uint8Array(core.memory.buffer, START, size).slice();
    owner = this;
  }

  get size() {
    return this.#bytes.length;
  }

  /** Bring the bytes back, if another call had the memory since. */
  load() {
    if (owner === this) return;
    new Uint8Array(core.memory.buffer, START, this.#bytes.length).set(this.#bytes);
    owner = this;
  }
}
