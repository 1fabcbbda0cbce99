// The core, compiled at once: `require` cannot wait. dist/classfilter.cjs has it in place of instance.js.
import { WASM } from "../dist/wasm.js";

const bytes = Uint8Array.from(atob(WASM), (character) => character.charCodeAt(0));

export const core = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
