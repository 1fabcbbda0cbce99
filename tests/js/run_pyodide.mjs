// Runs Python code in Pyodide with the wheels of make pyodide, and prints what it printed: node run_pyodide.mjs FOLDER < CODE
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { loadPyodide } from "../../js/node_modules/pyodide/pyodide.mjs";

const [folder] = process.argv.slice(2);
const pyodide = await loadPyodide();
for (const name of readdirSync(folder).filter((file) => file.endsWith(".whl"))) {
  pyodide.unpackArchive(new Uint8Array(readFileSync(join(folder, name))), "wheel");
}
try {
  pyodide.runPython(readFileSync(0, "utf8"));
} catch (error) {
  console.error(error.message); // Node would print the script of Pyodide with it
  process.exitCode = 1;
}
