// Opens reports in Chromium and prints milliseconds: node benchmarks/report_page.mjs TO_OPEN TO_REDRAW OF_MANY_STREAMS
import { pathToFileURL } from "node:url";
import { openPage } from "../tests/js/open_page.mjs";

const ROUNDS = 5;
const [toOpen, toRedraw, ofMany] = process.argv.slice(2).map((file) => pathToFileURL(file).href);
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
const redraw = (id, from, by, kind, rounds) => page.evaluate(async ([control, first, step, wanted, count]) => {
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
    set(control, first + step * i); // the page draws in the same frame, after that
    await frame();
    const end = performance.now();
    await frame();
    times.push([end - begin, performance.now() - begin]);
  }
  return times;
}, [id, from, by, kind, rounds]);

/** The least of several. */
async function openSeveral(url) {
  const times = [];
  for (let i = 0; i < ROUNDS; i++) times.push(await open(url));
  return Math.min(...times);
}

async function redrawEach() {
  const least = (times) => [0, 1].map((i) => Math.min(...times.map((pair) => pair[i])));
  const redrawn = {};
  for (const kind of ["transitions", "sticky", "dirichlet"]) redrawn[kind] = least(await redraw("weight1", 0.2, 0.01, kind, 4 * ROUNDS));
  redrawn["sticky, change cost"] = least(await redraw("changeCost", 100, 20, "sticky", 4 * ROUNDS));
  return redrawn;
}

const opened = await openSeveral(toOpen);
await open(toRedraw);
const redrawn = await redrawEach();
const openedMany = await openSeveral(ofMany);
const redrawnMany = await redrawEach();
await browser.close();
console.log(JSON.stringify({ opened, redrawn, openedMany, redrawnMany }));
