// Packages of npm inside of a page: their modules, and all that these import, as one script.
import { readFileSync } from "node:fs";

import ts from "typescript";

const FOLDER = new URL("node_modules/", import.meta.url);
const OPTIONS = { compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022, removeComments: true } };

/**
 * A script that defines `vendor`, a function from the path of a module to what it exports. `paths` are below node_modules; the
 * licence of each package comes first.
 */
export function vendored(paths) {
  const texts = new Map();
  const add = (url) => {
    if (texts.has(url.href)) return;
    texts.set(url.href, "");
    const { outputText } = ts.transpileModule(readFileSync(url, "utf8"), OPTIONS);
    const resolved = outputText.replace(/\brequire\("(\.[^"]+)"\)/g, (_, path) => {
      add(new URL(path, url));
      return `vendor(${name(new URL(path, url))})`;
    });
    texts.set(url.href, resolved);
  };
  paths.forEach((path) => add(new URL(path, FOLDER)));
  const modules = [...texts].map(([href, text]) => `${name(new URL(href))}: (exports) => {\n${text}},\n`);
  const packages = [...new Set(paths.map((path) => path.split("/")[0]))];
  return `${packages.map(licence).join("")}const vendorModules = {\n${modules.join("")}};
const vendorLoaded = {};
const vendor = (path) => {
  if (vendorLoaded[path] === undefined) vendorModules[path]((vendorLoaded[path] = {}));
  return vendorLoaded[path];
};
`;
}

const name = (url) => JSON.stringify(url.href.slice(FOLDER.href.length));

function licence(folder) {
  const read = (file) => readFileSync(new URL(`${folder}/${file}`, FOLDER), "utf8");
  const { version, license } = JSON.parse(read("package.json"));
  return `/*! ${folder} ${version} (${license} licence), without its comments.\n\n${read("LICENSE").trim()}\n*/\n`;
}
