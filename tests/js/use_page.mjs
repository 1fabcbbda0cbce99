// Opens the example page from disk in Chromium, uses it, and prints what happened: node use_page.mjs FILE FOLDER
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { openPage, root } from "./open_page.mjs";

const [file, folder] = process.argv.slice(2);
const page_ = pathToFileURL(join(root, "docs/example.html")).href;
const { browser, page, messages, requests, drawn } = await openPage(1000, 1100);

const text = (id) => page.locator(`#${id}`).textContent();
const pixels = (id) => page.evaluate((name) => document.getElementById(name).toDataURL(), id);
const slide = (selector, value) =>
  page.locator(selector).evaluate((input, number) => {
    input.value = number;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }, value);
async function download(button, name) {
  const [saved] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
  await saved.saveAs(join(folder, name));
}

await page.goto(page_);
await page.click("#demo");
await drawn();
const simulated = { summary: await text("summary"), raw: await text("rawSwitches"), filtered: await text("filteredSwitches") };
await page.screenshot({ path: join(folder, "page.png") });
await page.emulateMedia({ colorScheme: "dark" });
await page.setViewportSize({ width: 400, height: 1200 });
await drawn();
await page.screenshot({ path: join(folder, "narrow.png") });

await page.setInputFiles("#file", file);
await page.waitForFunction(() => document.getElementById("summary").textContent.includes("<img"));
const before = await pixels("filtered");
const spans = [await text("span")];
for (const button of ["in", "right", "out", "all"]) {
  await page.click(`[data-view=${button}]`);
  await drawn();
  spans.push(await text("span"));
}
const box = await page.locator("#filtered").boundingBox();
await page.mouse.move(box.x + 96 + 0.25 * (box.width - 96), box.y + 20);
await page.mouse.down();
await page.mouse.move(box.x + 96 + 0.5 * (box.width - 96), box.y + 20);
await page.mouse.up();
await drawn();
spans.push(await text("span"));
await page.click("[data-view=all]");
await drawn();
await slide("#halfLife", "2.5");
await slide("#weights input >> nth=0", "0.2");
await drawn();
const after = await pixels("filtered");
const summary = await text("summary");
const markup = await page.evaluate(() => document.querySelectorAll("img, b, main script").length);
await download("#saveResult", "filtered.csv");
await download("#saveSettings", "settings.toml");
await page.setInputFiles("#file", { name: "bad.csv", mimeType: "text/csv", buffer: Buffer.from("time,p_a,p_b\n0,0.5,x\n") });
await page.waitForFunction(() => document.getElementById("message").textContent !== "");
const error = await text("message");
const outside = await page.evaluate(() => fetch("https://example.org").then(() => "sent", () => "blocked"));
await browser.close();
const refused = messages.splice(0).filter((message) => !message.includes("example.org"));
console.log(JSON.stringify({ simulated, summary, spans, markup, changed: before !== after, error, outside, messages: refused, requests }));
