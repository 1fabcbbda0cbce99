// Builds what is not written by hand: the core as WebAssembly and the modules of src/ as one script, both for the report of
// the Python package, which carries them; the core as a module for npm; and the example as one page that opens from disk, for
// the documentation.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const at = (path, base = import.meta.url) => new URL(path, base);
const list = (folder, pattern) => readdirSync(at(folder)).filter((name) => pattern.test(name)).map((name) => folder + name);
const read = (path) => readFileSync(at(path), "utf8").replaceAll("\r\n", "\n");
const sha256 = (bytes, encoding) => createHash("sha256").update(bytes).digest(encoding);

const CORE = "../src/classfilter/csrc/";
const WEB = "../src/classfilter/web/";
const C_FILES = [...list("c/", /\.c$/), ...list(CORE, /\.c$/)];
const SOURCES = ["build.mjs", ...list("c/", /\.[ch]$/), ...list("src/", /\.js$/), ...list(CORE, /\.[ch]$/)];

// Small first: rows are short, and code that fills vector registers (CF_BLOCK, CF_LANES) is several times as large for little.
const FLAGS = [
  "--target=wasm32", "-std=c99", "-Oz", "-mbulk-memory", "-nostdlib", "-ffreestanding", "-ffp-contract=off",
  "-fvisibility=hidden", "-DCF_BLOCK=1", "-DCF_LANES=1", `-I${CORE}`,
  "-Wl,--no-entry,--export-dynamic,--export=__heap_base,--strip-all",
];

/** One script from a module and all that it imports: each becomes a function that returns what it exports. */
function bundle(entry, known = {}) {
  const names = new Map(Object.entries(known).map(([path, name]) => [at(path).href, name]));
  const parts = [];
  const add = (url) => {
    if (names.has(url.href)) return names.get(url.href);
    const exported = [];
    const text = readFileSync(url, "utf8")
      .replaceAll("\r\n", "\n")
      .replace(/^import (\{[^}]*\}) from "(.*)";$/gm, (_, list, path) => `const ${list} = ${add(at(path, url))};`)
      .replace(/^export (\{[^}]*\}) from "(.*)";$/gm, (_, list, path) => {
        exported.push(...list.slice(1, -1).split(",").map((name) => name.trim()));
        return `const ${list} = ${add(at(path, url))};`;
      })
      .replace(/^export (class|function|const) (\w+)/gm, (_, kind, name) => {
        exported.push(name);
        return `${kind} ${name}`;
      });
    const name = `module${names.size}`;
    names.set(url.href, name);
    parts.push(`const ${name} = await (async () => {\n${text}\nreturn { ${exported.join(", ")} };\n})();\n`);
    return name;
  };
  const name = add(at(entry));
  return { script: parts.join("\n"), name };
}

/** The example with its script and its style inside, and a policy that allows these only. */
function examplePage() {
  const { script } = bundle("example/page.js");
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

// One .wasm, which lies in the Python package; npm gets it when it packs.
const wasm = readFileSync(at(`${WEB}classfilter.wasm`));
copyFileSync(at(`${WEB}classfilter.wasm`), at("dist/classfilter.wasm"));
writeFileSync(at("dist/wasm.js"), `export const WASM = "${wasm.toString("base64")}";\n`);
copyFileSync(at("../LICENSE"), at("LICENSE"));

// In the report, the core comes before this script, as `wasm`, and the page after it uses `classfilter`.
const library = bundle("src/index.js", { "dist/wasm.js": "wasm" });
const script = `// Written by js/build.mjs from js/src; do not edit.\n${library.script}\nconst classfilter = ${library.name};\n`;
writeFileSync(at(`${WEB}classfilter.js`), script);

// What it was built of, so that a test can tell when it is old: names and texts, one after the other.
const named = Object.fromEntries(SOURCES.map((path) => [at(path).href.slice(at("../").href.length), read(path)]));
const digest = sha256(Object.keys(named).sort().map((path) => `${path}\n${named[path]}\n`).join(""), "hex");
const built = { sources: digest, "classfilter.wasm": sha256(wasm, "hex"), "classfilter.js": sha256(script, "hex") };
writeFileSync(at(`${WEB}built.json`), `${JSON.stringify(built, null, 2)}\n`);

const page = examplePage();
writeFileSync(at("../docs/example.html"), page);
console.log(`classfilter.wasm: ${wasm.length} bytes; classfilter.js: ${script.length}; docs/example.html: ${page.length}`);
