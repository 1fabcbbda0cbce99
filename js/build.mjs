// Builds what is not written by hand: the C core as WebAssembly, the package for npm in dist/, and the script and the style of
// the report's page, which are committed, so that Python writes reports without Node.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const read = (path) => readFileSync(here + path, "utf8").replaceAll("\r\n", "\n");
const list = (folder, pattern) => readdirSync(here + folder).filter((name) => pattern.test(name)).map((name) => folder + name);

const CORE = "../src/classfilter/csrc/";
const WEB = "../src/classfilter/report/";
const WASM = "dist/classfilter.wasm";
const SOURCES = ["build.mjs", ...list("c/", /\.[ch]$/), ...list("src/", /\.js$/), ...list("page/", /\.(js|css)$/), ...list(CORE, /\.[ch]$/)];

// Small first: rows are short, and code that fills vector registers (CF_BLOCK) is several times as large for little.
const FLAGS = [
  "--target=wasm32", "-std=c99", "-Oz", "-mbulk-memory", "-nostdlib", "-ffreestanding", "-ffp-contract=off",
  "-fvisibility=hidden", "-DCF_BLOCK=1", `-I${CORE}`,
  "-Wl,--no-entry,--export-dynamic,--export=__heap_base,--strip-all,--compress-relocations",
];

mkdirSync(`${here}dist`, { recursive: true });
const files = [...list("c/", /\.c$/), ...list(CORE, /\.c$/)];
const clang = spawnSync("clang", [...FLAGS, "-o", WASM, ...files], { cwd: here, stdio: "inherit" });
if (clang.status !== 0) throw clang.error ?? new Error("clang failed");

/** The licence of a package in the page; its version is that of package.json. */
function licence(name) {
  const { version } = JSON.parse(read(`node_modules/${name}/package.json`));
  return `${name} ${version}\n\n${read(`node_modules/${name}/LICENSE`).trim()}`;
}

// What the page was built from, so that a test can tell when it is old: names and texts, one after the other.
const texts = new Map(SOURCES.map((path) => [path.startsWith("../") ? path.slice(3) : `js/${path}`, read(path)]));
const digest = createHash("sha256").update([...texts.keys()].sort().map((name) => `${name}\n${texts.get(name)}\n`).join("")).digest("hex");
const banner = `/*! Built by js/build.mjs; do not edit. Sources: ${digest}\n\n${licence("uplot")}\n\n${licence("papaparse")}\n*/`;

const common = { absWorkingDir: here, bundle: true, charset: "utf8", target: "es2022", loader: { ".wasm": "binary" }, legalComments: "none" };
await build({ ...common, entryPoints: ["src/index.js"], outfile: "dist/classfilter.mjs", format: "esm" });
await build({ ...common, entryPoints: ["src/index.js"], outfile: "dist/classfilter.cjs", format: "cjs" });
await build({
  ...common, entryPoints: ["page/page.js"], outfile: `${WEB}classfilter.js`, format: "iife", minify: true, banner: { js: banner, css: banner },
});
copyFileSync(`${here}classfilter.d.ts`, `${here}dist/classfilter.d.cts`);
copyFileSync(`${here}../LICENSE`, `${here}LICENSE`);
for (const path of [WASM, "dist/classfilter.mjs", `${WEB}classfilter.js`, `${WEB}classfilter.css`]) {
  console.log(`${path.replace("../", "")}: ${statSync(here + path).size} bytes`);
}
