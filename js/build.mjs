// After the compiler: the .wasm as a module, so that it needs no fetch, and the example as one page that opens from disk.
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";

const at = (path, base = import.meta.url) => new URL(path, base);
const wasm = readFileSync(at("dist/classfilter.wasm"));
writeFileSync(at("dist/wasm.js"), `export const WASM = "${wasm.toString("base64")}";\n`);
copyFileSync(at("../LICENSE"), at("LICENSE"));

/** One script from a module and all that it imports: each becomes a function that returns what it exports. */
function bundle(entry) {
  const names = new Map();
  const parts = [];
  const add = (url) => {
    if (names.has(url.href)) return names.get(url.href);
    const exported = [];
    const text = readFileSync(url, "utf8")
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
  add(entry);
  return parts.join("\n");
}

const script = bundle(at("example/page.js"));
const style = readFileSync(at("example/style.css"), "utf8");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const page = readFileSync(at("example/index.html"), "utf8")
  .replace("script-src 'self'", () => `script-src ${hash(script)}`)
  .replace("style-src 'self'", () => `style-src ${hash(style)}`)
  .replace('<link rel="stylesheet" href="style.css">', () => `<style>${style}</style>`)
  .replace('<script type="module" src="page.js"></script>', () => `<script type="module">${script}</script>`);
writeFileSync(at("dist/example.html"), page);
console.log(`js/dist/classfilter.wasm: ${wasm.length} bytes; js/dist/example.html: ${page.length}`);
