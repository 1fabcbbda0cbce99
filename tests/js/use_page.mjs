// Opens files in the example page in Chromium, one case after the other: node use_page.mjs FOLDER < cases.json
// A case is { files, form, controls, downloads }. Downloads go to FOLDER/NAME; what the page says goes to standard output.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { openPage, root } from "./open_page.mjs";

const [folder] = process.argv.slice(2);
const cases = JSON.parse(readFileSync(0, "utf8"));
const { browser, page, messages, requests, drawn } = await openPage(1200, 1000);
const text = (id) => page.locator(`#${id}`).textContent();

/** Set controls, by the events that a person would cause. */
async function set(values, type) {
  for (const [id, value] of Object.entries(values ?? {})) {
    const control = id.startsWith("weight:") ? `[data-source=${JSON.stringify(id.slice(7))}]` : `#${id}`;
    await page.locator(control).evaluate((input, [given, kind]) => {
      if (input.type === "checkbox") input.checked = given;
      else input.value = given;
      input.dispatchEvent(new Event(kind, { bubbles: true }));
    }, [value, type]);
    await ready();
  }
}

/** Until the page has read and drawn what it was given. */
async function ready() {
  await drawn();
  await page.waitForSelector("main[aria-busy=false]");
}

/** What a button saves; the browser would refuse the eleventh file of a page, so that none gets that far. */
async function download(button, path) {
  await page.click(button);
  await ready();
  writeFileSync(path, await page.evaluate(() => globalThis.saved.text()));
}

await page.addInitScript(() => {
  const create = URL.createObjectURL;
  URL.createObjectURL = (blob) => create((globalThis.saved = blob));
  HTMLAnchorElement.prototype.click = () => {};
});
const results = {};
await page.goto(pathToFileURL(join(root, "docs/example.html")).href);
await ready();
for (const [name, { files, form, controls, downloads = [] }] of Object.entries(cases)) {
  await page.setInputFiles("#file", files.map((file) => join(folder, file)));
  await ready();
  await set(form, "change");
  await set(controls, "input");
  const said = Object.fromEntries(await Promise.all(["message", "origin", "summary", "span", "command"].map(async (id) => [id, await text(id)])));
  said.visible = await page.locator("#weights").isVisible();
  results[name] = said;
  if (said.message !== "") continue;
  mkdirSync(join(folder, name), { recursive: true });
  await download("#saveResult", join(folder, name, "page-filtered.csv"));
  await download("#saveSettings", join(folder, name, "settings.toml"));
  for (const format of downloads) await download(`[data-format=${format}]`, join(folder, name, `page-events.${format}`));
}
await browser.close();
console.log(JSON.stringify({ results, messages, requests }));
