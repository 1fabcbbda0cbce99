// Uses the example page in Chromium as a person would, and prints what happened: node walk_page.mjs FILE FOLDER
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { openPage, root } from "./open_page.mjs";

const [file, folder] = process.argv.slice(2);
const { browser, page, messages, requests, drawn } = await openPage(1400, 1000);
const text = (id) => page.locator(`#${id}`).textContent();
const pixels = (id) => page.evaluate((name) => document.getElementById(name).toDataURL(), id);
const slide = (id, value) =>
  page.locator(`#${id}`).evaluate((input, number) => {
    input.value = number;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }, value);
const eventRows = () => page.locator("#eventRows tr").count();

await page.goto(pathToFileURL(join(root, "docs/example.html")).href);
await page.waitForFunction(() => !document.getElementById("view").hidden);
const words = (await page.locator("main").innerText()).toLowerCase();
const simulated = { origin: await text("origin"), summary: await text("summary"), events: await eventRows(), words };
await page.screenshot({ path: join(folder, "wide.png"), fullPage: true });
await slide("changeCost", 0);
await drawn();
const free = await eventRows();
await slide("changeCost", 101);
await drawn();
const dear = await eventRows();
await page.emulateMedia({ colorScheme: "dark" });
await page.setViewportSize({ width: 400, height: 900 });
await drawn();
const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
await page.screenshot({ path: join(folder, "narrow.png"), fullPage: true });
await page.setViewportSize({ width: 1400, height: 1000 });

await page.setInputFiles("#file", file);
await page.waitForFunction(() => document.getElementById("origin").textContent.includes("<img"));
const weights = await page.locator("#weights").isVisible();
const before = await pixels("probs");
const spans = [await text("span")];
for (const button of ["in", "right", "out", "all"]) {
  await page.click(`[data-view=${button}]`);
  await drawn();
  spans.push(await text("span"));
}
await page.locator("#lanes").scrollIntoViewIfNeeded();
const box = await page.locator("#lanes").boundingBox();
await page.mouse.move(box.x + 96 + 0.25 * (box.width - 96), box.y + 20);
await page.mouse.down();
await page.mouse.move(box.x + 96 + 0.5 * (box.width - 96), box.y + 20);
await page.mouse.up();
await drawn();
spans.push(await text("span"));
await page.locator("#lanes").press("Home");
await drawn();
spans.push(await text("span"));
await slide("halfLife", "2.5");
await drawn();
const after = await pixels("probs");
const origin = await text("origin");
const [saved] = await Promise.all([page.waitForEvent("download"), page.click("#saveResult")]);
const name = saved.suggestedFilename();
await saved.saveAs(join(folder, name));
const markup = await page.evaluate(() => document.querySelectorAll("img, b, main script").length);
const unnamed = await page.evaluate(() =>
  [...document.querySelectorAll("input, select, button, canvas[role=img]")].filter((one) =>
    !one.labels?.length && !one.ariaLabel && one.textContent.trim() === "").map((one) => one.id));
await page.setInputFiles("#file", { name: "bad.csv", mimeType: "text/csv", buffer: Buffer.from("time,p_a,p_b\n0,0.5,x\n") });
await page.waitForFunction(() => document.getElementById("message").textContent !== "");
const bad = { error: await text("message"), hidden: await page.locator("#view").isHidden(), open: await page.evaluate(() => document.getElementById("format").open) };
const outside = await page.evaluate(() => fetch("https://example.org").then(() => "sent", () => "blocked"));
await browser.close();
const refused = messages.splice(0).filter((message) => !message.includes("example.org"));
console.log(JSON.stringify({
  name, simulated, free, dear, sideways, weights, origin, spans, markup, unnamed, changed: before !== after, bad, outside, messages: refused, requests,
}));
