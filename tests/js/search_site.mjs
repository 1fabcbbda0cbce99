// Searches the built documentation from disk in Chromium, and prints the pages found by word: node search_site.mjs SITE WORDS
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { openPage } from "./open_page.mjs";

const [site, words] = process.argv.slice(2);
const { browser, page, messages } = await openPage(1200, 900);
await page.goto(pathToFileURL(join(site, "index.html")).href);
await page.click("[data-md-component=search-query]");
const found = {};
for (const word of JSON.parse(words)) {
  await page.fill("[data-md-component=search-query]", word);
  await page.keyboard.press("End"); // the search listens to keys
  // Links carry the query, so that those of the word before do not count.
  const query = new URLSearchParams({ h: word.toLowerCase().replaceAll("-", " ") }).toString();
  const links = page.locator(`.md-search-result__link[href*="?${query}"]`);
  await links.first().waitFor({ state: "attached", timeout: 20000 }).catch(() => undefined);
  found[word] = await links.evaluateAll((list) => list.map((link) => link.href));
}
console.log(JSON.stringify({ found, messages }));
await browser.close();
