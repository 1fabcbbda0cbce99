// Which stream is shown: a list of them or, of many, a field that searches.
import { element, page } from "./state.js";

const MANY_STREAMS = 100;
const MOST_MATCHES = 30;
let streamTexts = [];
export let shownIndex = -1;

/** The names in the field: those that occur twice have their number behind them. */
function textsOf(streams) {
  const seen = new Set();
  return streams.map(({ name }, i) => {
    const text = seen.has(name) ? `${name} (${i + 1})` : name;
    seen.add(text);
    return text;
  });
}

export function fillStreams() {
  streamTexts = textsOf(page.data.streams);
  const many = page.data.streams.length > MANY_STREAMS;
  element("streamList").hidden = many;
  element("streamSearch").hidden = !many;
  if (many) offerStreams("");
  else element("stream").replaceChildren(...streamTexts.map((text, i) => new Option(text, i)));
  element("streamSteps").hidden = page.data.streams.length < 2;
}

/** Offer the streams whose name has some letters, the first of them; a list of thousands would take seconds to open. */
function offerStreams(letters) {
  const wanted = letters.toLowerCase();
  const matches = [];
  let count = 0;
  for (const text of streamTexts) {
    if (!text.toLowerCase().includes(wanted)) continue;
    count += 1;
    if (matches.length < MOST_MATCHES) matches.push(new Option(text, text));
  }
  element("streamNames").replaceChildren(...matches);
  const total = page.data.streams.length.toLocaleString("en");
  const more = count > MOST_MATCHES ? `, of which the first ${MOST_MATCHES} are offered: type more letters` : "";
  element("streamCount").textContent = wanted === "" ? `${total} streams: type a part of a name.` : `${count.toLocaleString("en")} of ${total} streams${more}.`;
}

/** The stream that was chosen; null while its name is not complete. */
export function chosenStream({ id, value }) {
  if (id === "stream") return Number(value);
  offerStreams(value);
  const index = streamTexts.indexOf(value);
  return index < 0 ? null : index;
}

/** Say which stream is shown, in both kinds of list. */
export function markStream(index) {
  shownIndex = index;
  element("stream").value = index;
  element("streamName").value = streamTexts[index];
  element("streamPlace").textContent = `${(index + 1).toLocaleString("en")} of ${page.data.streams.length.toLocaleString("en")}`;
  element("streamBefore").disabled = index === 0;
  element("streamAfter").disabled = index === page.data.streams.length - 1;
}
