// Opens a report from disk in Chromium, takes steps, and prints what it shows after each: node use_report.mjs FILE FOLDER < steps
// A step is [what, selector or key, value]. Numbers are printed as their bits.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { openPage } from "./open_page.mjs";

const [file, folder] = process.argv.slice(2);
const { browser, page, messages, requests, drawn } = await openPage(1000, 900);
page.setDefaultTimeout(10_000);

/** Where a picture is on the screen; the mouse does not scroll. */
async function boxOf(selector) {
  const over = page.locator(`${selector} .u-over`);
  await over.scrollIntoViewIfNeeded();
  return over.boundingBox();
}

const ACTIONS = {
  slide: (selector, value) => page.locator(selector).evaluate((input, number) => {
    input.value = number;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }, value),
  select: (selector, value) => page.selectOption(selector, value),
  stream: async (index) => {
    await page.evaluate(() => (document.getElementById("probs").chart.old = true));
    await page.selectOption("#stream", index);
    await page.waitForFunction(() => document.getElementById("probs").chart.old !== true);
  },
  search: async (selector, text) => {
    await page.evaluate(() => (document.getElementById("probs").chart.old = true));
    await page.fill(selector, text);
    await page.waitForFunction(() => document.getElementById("probs").chart.old !== true);
  },
  choose: (selector, path) => page.setInputFiles(selector, path),
  drop: async (_, [name, text]) => {
    const files = await page.evaluateHandle(([title, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], title));
      return transfer;
    }, [name, text]);
    await page.dispatchEvent("body", "drop", { dataTransfer: files });
  },
  type: (selector, text) => page.fill(selector, text),
  check: (selector, value) => page.setChecked(selector, value),
  click: (selector) => page.click(selector),
  press: (selector, key) => page.locator(selector).press(key),
  drag: async (selector, [from, to]) => {
    const box = await boxOf(selector);
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + from * box.width, y);
    await page.mouse.down();
    await page.mouse.move(box.x + to * box.width, y, { steps: 4 });
    await page.mouse.up();
    await page.mouse.move(0, 0);
  },
  wheel: async (selector, [key, at, delta]) => {
    const box = await boxOf(selector);
    await page.mouse.move(box.x + at * box.width, box.y + box.height / 2);
    await page.keyboard.down(key);
    await page.mouse.wheel(0, delta);
    await drawn();
    await page.keyboard.up(key);
  },
  point: async (selector, [x, y]) => {
    const box = await boxOf(selector);
    await page.mouse.move(box.x + x * box.width, box.y + y * box.height);
  },
  theme: (scheme) => page.emulateMedia({ colorScheme: scheme }),
  size: (width, height) => page.setViewportSize({ width, height }),
  open: (selector) => page.locator(selector).evaluate((details) => (details.open = true)),
  screenshot: (name, fullPage) => page.screenshot({ path: join(folder, name), fullPage }),
  pdf: (name) => page.pdf({ path: join(folder, name) }),
  download: async (selector, name) => {
    const [saved] = await Promise.all([page.waitForEvent("download"), page.click(selector)]);
    await saved.saveAs(join(folder, name));
  },
};

/** What the page shows: the data of the pictures, the times in view, and its words. */
const look = () => page.evaluate(() => {
  const bits = (numbers) => {
    const bytes = new Uint8Array(Float64Array.from(numbers).buffer);
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return btoa(text);
  };
  /** The headings of a table that are seen without scrolling it. */
  const headingsOf = (table) => {
    const seen = [...table.rows[0].cells].map((cell) => [cell.getBoundingClientRect(), cell.textContent.trim()]);
    return seen.filter(([{ width, right }]) => width > 0 && right <= table.getBoundingClientRect().right).map(([, title]) => title);
  };
  const text = (id) => document.getElementById(id).textContent;
  const message = document.getElementById("message").hidden ? null : text("message");
  const { chart } = document.getElementById("probs");
  if (chart === undefined) return { message, open: !document.getElementById("open").hidden };
  const cells = [...document.getElementById("eventRows").rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  const { min, max } = chart.scales.x;
  const lanes = document.getElementById("lanes").chart;
  const other = lanes.scales.x;
  return {
    data: chart.data.map(bits), view: [min, max], lanesView: [other.min, other.max], numbers: text("numbers").trim(), span: text("span"), row: text("row"),
    json: text("json"), message, open: !document.getElementById("open").hidden,
    events: document.getElementById("eventRows").events.map(({ label, start, end, probability }) => [label, ...[start, end, probability].map((x) => bits([x]))]),
    eventTable: cells, eventCount: text("eventCount"), zones: [...document.getElementById("zone").options].map((option) => option.text),
    unpacked: document.getElementById("data").counted.unpacked, elements: document.querySelectorAll("*").length,
    offered: document.getElementById("streamNames").options.length, streamCount: text("streamCount"), shownStream: document.getElementById("streamName").value,
    headings: [...document.querySelectorAll("table")].map(headingsOf),
    halfLifeDisabled: document.getElementById("halfLife").disabled,
    wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
  };
});

/** The colour that is most frequent in a lane at some times. */
const lanePixels = (lane, times) => page.evaluate(([index, at]) => {
  const u = document.getElementById("lanes").chart;
  const count = u.scales.y.max;
  const [top, bottom] = [count - index - 0.2, count - index - 0.8].map((y) => Math.round(u.valToPos(y, "y", true)));
  return at.map((time) => {
    const x = Math.round(u.valToPos(time, "x", true));
    const { data } = u.ctx.getImageData(x - 4, top, 9, bottom - top);
    const seen = new Map();
    for (let i = 0; i < data.length; i += 4) {
      const colour = `#${[...data.subarray(i, i + 3)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
      seen.set(colour, (seen.get(colour) ?? 0) + 1);
    }
    return [...seen].sort((a, b) => b[1] - a[1])[0][0];
  });
}, [lane, times]);

await page.goto(pathToFileURL(file).href);
await page.waitForFunction(() => ["open", "message"].some((id) => !document.getElementById(id).hidden) || document.getElementById("numbers").textContent !== "");
await drawn();
const states = [await look()];
for (const [what, target, value] of JSON.parse(readFileSync(0, "utf8"))) {
  if (what === "pixels") {
    states.push({ pixels: await lanePixels(target, value) });
    continue;
  }
  await ACTIONS[what](target, value);
  await drawn();
  states.push(await look());
}
const own = messages.slice(); // before the two things that the policy forbids
const markup = await page.evaluate(() => document.querySelectorAll("img, u, i, main script").length);
const outside = await page.evaluate(() => fetch("https://example.org").then(() => "sent", () => "blocked"));
const inline = await page.evaluate(() => {
  const script = document.createElement("script");
  script.textContent = "globalThis.ran = true";
  document.body.append(script);
  return globalThis.ran === true ? "ran" : "blocked";
});
await browser.close();
console.log(JSON.stringify({ states, markup, outside, inline, messages: own, requests }));
