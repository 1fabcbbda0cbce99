// The table of events: a page of it, in some order; a row leads to its place in the pictures.
import { swatch } from "./charts.js";
import { element, page } from "./state.js";
import { clock } from "./times.js";

const EVENTS_PER_PAGE = 15;
const tableState = { list: [], order: "start", descending: false, page: 0 };

const EVENT_COLUMNS = [
  ["label", "Class"], ["start", "Start"], ["end", "End"], ["duration", "Duration"], ["probability", "Probability"],
];
const durationText = (seconds) => (seconds < 60 ? `${Number(seconds.toFixed(3))} s` : clock(Math.round(1000 * seconds) / 1000));

export function fillEventHeader() {
  element("eventHead").replaceChildren(...EVENT_COLUMNS.map(([name, text]) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: text });
    button.dataset.order = name;
    const cell = Object.assign(document.createElement("th"), { scope: "col", className: name === "label" ? "left" : "right" });
    cell.append(button);
    return cell;
  }));
}

/** Show other events, from the first page on. */
export function setEvents(list) {
  Object.assign(tableState, { list, page: 0 });
  element("eventRows").events = list;
  drawEventTable();
}

function sortedEvents() {
  const { list, order, descending } = tableState;
  const value = { label: ({ k }) => k, duration: ({ start, end }) => end - start }[order] ?? ((event) => event[order]);
  const sorted = list.map((event, i) => [value(event), i, event]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return (descending ? sorted.reverse() : sorted).map(([, , event]) => event);
}

export function drawEventTable() {
  const { list, order, descending } = tableState;
  const pages = Math.max(1, Math.ceil(list.length / EVENTS_PER_PAGE));
  tableState.page = Math.min(Math.max(tableState.page, 0), pages - 1);
  const first = tableState.page * EVENTS_PER_PAGE;
  const shown = sortedEvents().slice(first, first + EVENTS_PER_PAGE);
  element("eventRows").replaceChildren(...shown.map(eventRow));
  for (const button of element("eventHead").querySelectorAll("button")) {
    const direction = descending ? "descending" : "ascending";
    button.parentElement.setAttribute("aria-sort", button.dataset.order === order ? direction : "none");
  }
  const total = list.length.toLocaleString("en");
  element("eventCount").textContent = list.length === 0 ? "There are no events." :
    `Events ${(first + 1).toLocaleString("en")} to ${(first + shown.length).toLocaleString("en")} of ${total}; times: ${page.zone.name}.`;
  element("eventPages").hidden = pages === 1;
  element("eventsBefore").disabled = tableState.page === 0;
  element("eventsAfter").disabled = tableState.page === pages - 1;
}

function eventRow(event) {
  const { k, label, start, end, probability } = event;
  const row = document.createElement("tr");
  const button = Object.assign(document.createElement("button"), { type: "button", className: "link", textContent: label, title: "Show it in the pictures" });
  const name = Object.assign(document.createElement("td"), { className: "left" });
  name.append(swatch(k), " ", button);
  const texts = [page.timeText(start), page.timeText(end), durationText(end - start), `${(100 * probability).toFixed(1)} %`];
  row.append(name, ...texts.map((textContent) => Object.assign(document.createElement("td"), { className: "right", textContent })));
  row.event = event;
  return row;
}

/** The times around an event: it takes the middle third of the picture, or more. */
function viewOf({ start, end }) {
  const margin = Math.max(end - start, 8 * page.data.step);
  return [start - margin, end + margin];
}

/** Listen to the table; `show` gets the times of the event that was chosen. */
export function listenToTable(show) {
  element("eventHead").addEventListener("click", ({ target }) => {
    const { order } = target.dataset;
    if (order === undefined) return;
    Object.assign(tableState, { order, descending: tableState.order === order && !tableState.descending, page: 0 });
    drawEventTable();
  });
  element("eventRows").addEventListener("click", ({ target }) => {
    const row = target.closest("tr");
    if (row === null) return;
    for (const other of element("eventRows").children) other.classList.toggle("chosen", other === row);
    show(viewOf(row.event));
  });
  for (const [id, step] of [["eventsBefore", -1], ["eventsAfter", 1]]) {
    element(id).addEventListener("click", () => {
      tableState.page += step;
      drawEventTable();
    });
  }
}
