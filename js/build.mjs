// After the compiler: the .wasm as a module, so that it needs no fetch.
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";

const at = (path) => new URL(path, import.meta.url);
const wasm = readFileSync(at("dist/classfilter.wasm"));
writeFileSync(at("dist/wasm.js"), `export const WASM = "${wasm.toString("base64")}";\n`);
copyFileSync(at("../LICENSE"), at("LICENSE"));
console.log(`js/dist/classfilter.wasm: ${wasm.length} bytes`);
