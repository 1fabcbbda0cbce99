// Opens a page with sessions from disk in Chromium, runs them, and prints what they showed: node use_try.mjs PAGE FOLDER
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { openPage } from "./open_page.mjs";

const [file, folder] = process.argv.slice(2);
const { browser, page, messages, requests, drawn } = await openPage(1200, 1000);
page.setDefaultTimeout(120_000);
await page.goto(pathToFileURL(file).href);

const cell = (i) => page.locator(".cell").nth(i);
const idle = (i) => cell(i).getByRole("button", { name: "Run" }).and(page.locator(":enabled")).waitFor();
const shown = async (i) => ({
  code: await cell(i).locator("textarea").inputValue(),
  status: await cell(i).locator(".status").textContent(),
  output: await cell(i).locator(".output").textContent(),
  lanes: await cell(i).locator(".lane svg").evaluateAll((all) => all.map((svg) => svg.getAttribute("aria-label"))),
  key: await cell(i).locator(".key > span").allTextContents(),
});
async function run(i, code) {
  if (code !== undefined) await cell(i).locator("textarea").fill(code);
  await cell(i).getByRole("button", { name: "Run" }).click();
  await idle(i);
  return shown(i);
}

const count = await page.locator(".cell").count();
const asWritten = [];
const cells = [];
for (let i = 0; i < count; i++) asWritten.push(await shown(i));
for (let i = 0; i < count; i++) cells.push(await run(i));
await drawn();
await page.screenshot({ path: join(folder, "wide.png") });
await page.screenshot({ path: join(folder, "whole.png"), fullPage: true });

const failed = await run(0, 'import classfilter as cf\nprint("before")\ncf.DirichletFilter(2).update([3, 4])');
const wrong = await run(0, "1 +");
const fresh = await run(0, "cf");
await cell(0).locator("textarea").fill("while True: pass");
await cell(0).getByRole("button", { name: "Run" }).click();
await cell(0).getByText("Running").waitFor();
await cell(0).getByRole("button", { name: "Stop" }).click();
await idle(0);
const stopped = await shown(0);
const again = await run(0, "1 + 1");
await cell(0).getByRole("button", { name: "Reset" }).click();
const reset = await cell(0).locator("textarea").inputValue();

await page.setViewportSize({ width: 400, height: 1000 });
await page.emulateMedia({ colorScheme: "dark" });
await page.reload();
await run(0);
await drawn();
await page.screenshot({ path: join(folder, "narrow-dark.png") });
const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
await browser.close();
console.log(JSON.stringify({ messages, requests, asWritten, cells, failed, wrong, fresh, stopped, again, reset, overflow }));
