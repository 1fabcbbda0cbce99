// Chromium with a page that tells what it said and what it asked for.
import { createRequire } from "node:module";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");
const { chromium } = createRequire(join(root, "js/package.json"))("playwright-core");

/** A page of this size, its browser, and all its messages and requests. */
export async function openPage(width, height) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
  const page = await browser.newPage({ viewport: { width, height } });
  const messages = [];
  const requests = [];
  page.on("console", (message) => messages.push(message.text()));
  page.on("pageerror", (error) => messages.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  page.on("dialog", (dialog) => (messages.push(dialog.message()), dialog.dismiss()));
  const drawn = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return { browser, page, messages, requests, drawn };
}
