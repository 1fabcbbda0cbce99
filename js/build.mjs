// Builds what is not written by hand: for the report of the Python package, the core as WebAssembly, the modules of src/ as one
// script, and the library of charts; for npm, the core as a module, and a script for `require`; for the documentation, the
// example as one page that opens from disk.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { vendored } from "./vendor.mjs";

const at = (path, base = import.meta.url) => new URL(path, base);
const list = (folder, pattern) => readdirSync(at(folder)).filter((name) => pattern.test(name)).map((name) => folder + name);
const read = (path) => readFileSync(at(path), "utf8").replaceAll("\r\n", "\n");
const sha256 = (bytes, encoding) => createHash("sha256").update(bytes).digest(encoding);

const CORE = "../src/classfilter/csrc/";
const WEB = "../src/classfilter/web/";
const CHARTS = "node_modules/uplot/";
const C_FILES = [...list("c/", /\.c$/), ...list(CORE, /\.c$/)];
const SOURCES = ["build.mjs", ...list("c/", /\.[ch]$/), ...list("src/", /\.js$/), ...list(CORE, /\.[ch]$/)];

// Small first: rows are short, and code that fills vector registers (CF_BLOCK) is several times as large for little.
const FLAGS = [
  "--target=wasm32", "-std=c99", "-Oz", "-mbulk-memory", "-nostdlib", "-ffreestanding", "-ffp-contract=off",
  "-fvisibility=hidden", "-DCF_BLOCK=1", `-I${CORE}`,
  "-Wl,--no-entry,--export-dynamic,--export=__heap_base,--strip-all,--compress-relocations",
];

/**
 * One script from a module and all that it imports: each becomes a function that returns what it exports. `known` names the
 * modules that are there already. With `sync`, nothing waits: a module with a variant for that is replaced by it.
 */
function bundle(entry, { known = {}, sync = false } = {}) {
  const names = new Map(Object.entries(known).map(([path, name]) => [at(path).href, name]));
  const parts = [];
  const add = (url) => {
    if (names.has(url.href)) return names.get(url.href);
    const exported = [];
    const variant = at(url.href.replace(/\.js$/, "_sync.js"));
    const text = readFileSync(sync && existsSync(variant) ? variant : url, "utf8")
      .replaceAll("\r\n", "\n")
      .replace(/^import (\{[^}]*\}) from "(.*)";$/gm, (_, list, path) => `const ${list} = ${add(at(path, url))};`)
      .replace(/^export (\{[^}]*\}) from "(.*)";$/gm, (_, list, path) => {
        exported.push(...list.slice(1, -1).split(",").map((name) => name.trim()));
        return `const ${list} = ${add(at(path, url))};`;
      })
      .replace(/^export (class|(?:async )?function|const) (\w+)/gm, (_, kind, name) => {
        exported.push(name);
        return `${kind} ${name}`;
      });
    const name = `module${names.size}`;
    names.set(url.href, name);
    parts.push(`const ${name} = ${sync ? "(" : "await (async "}() => {\n${text}\nreturn { ${exported.join(", ")} };\n})();\n`);
    return name;
  };
  const name = add(at(entry));
  return { script: parts.join("\n"), name };
}

/** The example with its script, what that needs of npm, and its style inside, and a policy that allows these only. */
function examplePage() {
  const paths = ["hyparquet/src/read.js", "hyparquet/src/metadata.js", "fzstd/esm/index.mjs"];
  const known = Object.fromEntries(paths.map((path) => [`node_modules/${path}`, `vendor("${path}")`]));
  const script = vendored(paths) + bundle("example/page.js", { known }).script;
  const style = read("example/style.css");
  const hash = (text) => `'sha256-${sha256(text, "base64")}'`;
  return read("example/index.html")
    .replace("script-src 'self'", () => `script-src ${hash(script)}`)
    .replace("style-src 'self'", () => `style-src ${hash(style)}`)
    .replace('<link rel="stylesheet" href="style.css">', () => `<style>${style}</style>`)
    .replace('<script type="module" src="page.js"></script>', () => `<script type="module">${script}</script>`);
}

mkdirSync(at("dist/"), { recursive: true });
const args = [...FLAGS, "-o", `${WEB}classfilter.wasm`, ...C_FILES];
const clang = spawnSync("clang", args, { cwd: fileURLToPath(at(".")), stdio: "inherit" });
if (clang.status !== 0) throw clang.error ?? new Error("clang failed");

// One .wasm, which lies in the Python package; npm gets it when it packs. `require` cannot wait, so it has a script of its own.
const wasm = readFileSync(at(`${WEB}classfilter.wasm`));
const base64 = wasm.toString("base64");
const known = { "dist/wasm.js": "wasm" };
const commonJs = bundle("src/index.js", { known, sync: true });
copyFileSync(at(`${WEB}classfilter.wasm`), at("dist/classfilter.wasm"));
writeFileSync(at("dist/wasm.js"), `export const WASM = "${base64}";\n`);
writeFileSync(
  at("dist/classfilter.cjs"),
  `"use strict";\nconst wasm = { WASM: "${base64}" };\n${commonJs.script}\nmodule.exports = ${commonJs.name};\n`,
);
copyFileSync(at("classfilter.d.ts"), at("dist/classfilter.d.cts"));
copyFileSync(at("../LICENSE"), at("LICENSE"));

// In the report, the core comes before this script, as `wasm`, and the page after it uses `classfilter`.
const library = bundle("src/index.js", { known });
const script = `// Written by js/build.mjs from js/src; do not edit.\n${library.script}\nconst classfilter = ${library.name};\n`;
writeFileSync(at(`${WEB}classfilter.js`), script);

// The library of charts, as npm has it, with its licence; js/package.json has its version.
const { version, license } = JSON.parse(read(`${CHARTS}package.json`));
const banner = `/*! uPlot ${version} (${license} licence), as npm has it; js/build.mjs wrote this file.\n\n${read(`${CHARTS}LICENSE`).trim()}\n*/\n`;
const charts = { "uplot.js": "uPlot.iife.min.js", "uplot.css": "uPlot.min.css" };
for (const [name, path] of Object.entries(charts)) writeFileSync(at(WEB + name), `${banner}${read(`${CHARTS}dist/${path}`).trim()}\n`);

// What it was built of, so that a test can tell when it is old: names and texts, one after the other.
const named = Object.fromEntries(SOURCES.map((path) => [at(path).href.slice(at("../").href.length), read(path)]));
const digest = sha256(Object.keys(named).sort().map((path) => `${path}\n${named[path]}\n`).join(""), "hex");
const files = ["classfilter.wasm", "classfilter.js", ...Object.keys(charts)];
const hashes = Object.fromEntries(files.map((name) => [name, sha256(readFileSync(at(WEB + name)), "hex")]));
writeFileSync(at(`${WEB}built.json`), `${JSON.stringify({ sources: digest, uplot: version, ...hashes }, null, 2)}\n`);

writeFileSync(at("../docs/example.html"), examplePage());
for (const path of [...files.map((name) => WEB + name), "dist/classfilter.cjs", "../docs/example.html"]) {
  console.log(`${at(path).href.slice(at("../").href.length)}: ${statSync(at(path)).size} bytes`);
}
