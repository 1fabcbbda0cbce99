// Opens reports in Chromium and prints milliseconds: node benchmarks/report_page.mjs TO_OPEN TO_REDRAW
import { pathToFileURL } from "node:url";
import { openPage } from "../tests/js/open_page.mjs";

const ROUNDS = 5;
const [toOpen, toRedraw] = process.argv.slice(2).map((file) => pathToFileURL(file).href);
const { browser, page } = await openPage(1000, 900);

/** From the start of the navigation until the first picture is drawn. */
async function open(url) {
  await page.goto(url);
  return page.evaluate(async () => {
    while (document.getElementById("numbers").textContent === "") await new Promise(requestAnimationFrame);
    return performance.now();
  });
}

/** Moves a slider: the work in the page, and the time until the next frame begins. */
const redraw = (kind, rounds) => page.evaluate(async ([wanted, count]) => {
  const frame = () => new Promise(requestAnimationFrame);
  const set = (id, value) => {
    const control = document.getElementById(id);
    control.value = value;
    control.dispatchEvent(new Event("input", { bubbles: true }));
  };
  set("kind", wanted);
  await frame();
  await frame();
  const times = [];
  for (let i = 0; i < count; i++) {
    let begin;
    requestAnimationFrame(() => (begin = performance.now()));
    set("weight1", 0.2 + i / 100); // the page draws in the same frame, after that
    await frame();
    const end = performance.now();
    await frame();
    times.push([end - begin, performance.now() - begin]);
  }
  return times;
}, [kind, rounds]);

const opened = [];
for (let i = 0; i < ROUNDS; i++) opened.push(await open(toOpen));
await open(toRedraw);
const least = (times) => [0, 1].map((i) => Math.min(...times.map((pair) => pair[i])));
const redrawn = {};
for (const kind of ["transitions", "sticky", "dirichlet"]) redrawn[kind] = least(await redraw(kind, 4 * ROUNDS));
await browser.close();
console.log(JSON.stringify({ opened: Math.min(...opened), redrawn }));
