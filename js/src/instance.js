// The core, compiled in the background: until 2023, Chrome refused to compile more than 4 kB at once in a page.
import { WASM } from "../dist/wasm.js";

const bytes = Uint8Array.from(atob(WASM), (character) => character.charCodeAt(0));
const { instance } = await WebAssembly.instantiate(bytes);

/** The functions of `c/binding_impl.h`; their names end in _f32 or _f64. */
export const core = instance.exports;
