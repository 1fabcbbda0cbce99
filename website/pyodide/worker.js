// The worker of the page: Python with NumPy and classfilter. All files come in the first message, so that nothing is fetched.
let session;

// From disk, browsers start classic workers only. They import modules, too, but Pyodide refuses them; it knows them by this function.
self.importScripts = null;

const decode = async (text) => {
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const bytes = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(bytes).arrayBuffer());
};

const importModule = (bytes) => import(URL.createObjectURL(new Blob([bytes], { type: "text/javascript" })));

async function start(texts) {
  const names = Object.keys(texts);
  const bytes = await Promise.all(Object.values(texts).map(decode));
  const files = Object.fromEntries(names.map((name, i) => [name, bytes[i]]));
  // Pyodide fetches its files from below this address, which nothing else uses.
  const address = "https://pyodide.invalid/";
  self.fetch = async (url) => {
    const file = files[String(url).replace(address, "")];
    const type = String(url).endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
    return file ? new Response(file, { headers: { "Content-Type": type } }) : new Response(null, { status: 404 });
  };
  const { loadPyodide } = await importModule(files["pyodide.mjs"]);
  const { default: createPyodideModule } = await importModule(files["pyodide.asm.mjs"]);
  const write = (text) => self.postMessage({ output: `${text}\n` });
  const pyodide = await loadPyodide({
    indexURL: address,
    createPyodideModule,
    stdin: () => null,
    stdout: write,
    stderr: write,
  });
  for (const name of ["numpy.whl", "classfilter.whl"]) pyodide.unpackArchive(files[name], "wheel");
  session = pyodide.globals.get("dict")();
  pyodide.runPython(new TextDecoder().decode(files["session.py"]), { globals: session, filename: "session.py" });
}

self.onmessage = async ({ data }) => {
  try {
    if (data.files) await start(data.files);
    else self.postMessage({ lanes: JSON.parse(session.get("run")(data.code)) });
    if (data.files) self.postMessage({ ready: true });
  } catch (error) {
    self.postMessage({ error: String(error) });
  }
};
