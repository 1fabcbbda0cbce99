// Checked by the compiler of TypeScript.
import {
  Adaptive, Channel, DirichletFilter, EventRule, MultiLabelFilter, Periodic, StickyFilter, Tracker, events, load,
  writeEvents,
} from "classfilter";
import type { ClassName, Config, ConfirmedEvent, DirichletState, Event, MultiLabelConfig, Numbers, Policy } from "classfilter";

const filter = new DirichletFilter(["walk", "sit"], { halfLife: 10, estimate: "mean", dtype: "float32" });
const row: Numbers = filter.update([0.7, 0.3], { beta: 0.5, dt: 2 });
const rows: Numbers[] = filter.run([[0.7, 0.3], [null, null]], { beta: [0.5, 1] });
const flat: Numbers = filter.run(new Float64Array([0.7, 0.3]));
const state: DirichletState = filter.state;
filter.copy().state = state;
const sticky = new StickyFilter(2, { stay: 0.9 });
const channel = new Channel([[9, 1], [2, 8]]);
const corrected: Numbers = channel.apply([0.5, 0.5]);
const policy: Policy = new Adaptive({ budget: 0.1 });
const config: Config = load({ classes: ["a", "b"], filter: "sticky" });
const kind: "dirichlet" | "sticky" = filter.kind;
const tracker = new Tracker<number>(sticky, { policy: new Periodic({ every: 3 }), channel: { weak: channel } });
tracker.update(1, new Date(0), null, [0.5, 0.5]);
tracker.update(1, new Date(5), "weak", null);
tracker.update(1, new Date(6), "weak", { walk: 0.5, sit: 0.5 });
tracker.update(1, new Date(7), "weak", "walk", { confidence: 0.7 });
sticky.update(1);
sticky.update(new Map([["walk", 0.5], ["sit", 0.5]]));
sticky.run([{ walk: 0.5, sit: 0.5 }, "sit", null, [0.5, 0.5]]);
const limited = new Tracker(sticky, { expireAfter: "1h", maxStreams: 1000, maxJump: 86400, unit: "ms" });
const jump: number | undefined = limited.maxJump;
const birds = new MultiLabelFilter(["robin", "wren"], { robin: sticky, wren: filter });
const onNow: ClassName[] = birds.label;
const scored: Numbers = birds.update({ wren: 0.3, robin: null }, { beta: [0.5, 1] });
birds.run([[0.9, 0.8], null, { robin: 0.1, wren: 0.2 }], { beta: [[0.5, 1], [1, 1], [0, 1]], dt: 2 });
birds.copy().state = birds.state;
const settings: MultiLabelConfig = load<MultiLabelConfig>("");
const many = new Tracker<string, ClassName[]>(birds, { beta: { mic: { robin: 0.5, wren: 1 } }, channel: { mic: channel } });
many.update("garden", 0, "mic", { robin: 0.9, wren: 0.8 });
const heard: ClassName[] = many.label("garden");
const rule = new EventRule({ changeCost: { walk: "30s", sit: 10 }, pad: ["1s", 0], ignore: "sit", maxGap: null });
const cost: number | Readonly<Record<string, number>> = rule.changeCost;
const found: ConfirmedEvent<string>[] = events(rule, { classes: ["walk", "sit"], times: [0, 1], probs: rows, stream: "ann" });
events(rule, { classes: filter.classes, times: new Float64Array(2), probs: flat, scores: "independent" })[0]?.end.toFixed();
const file: string = writeEvents(found, "json", { overlaps: true });
writeEvents([{ label: "walk", start: 0, end: 1 }], "csv", { dates: true });
const live = new Tracker<string>(config, { events: true });
const now: Event<string> | null = live.current("ann");
const confirmed: ConfirmedEvent<string>[] = live.popEvents();
const several: Event<string>[] = new Tracker<string, ClassName[]>(birds, { events: rule }).current("garden");

// @ts-expect-error an option that does not exist
new EventRule({ cost: 1 });
// @ts-expect-error a format that does not exist
writeEvents(found, "rttm");
// @ts-expect-error a rule never changes
rule.shift = 1;
// @ts-expect-error an option that does not exist
new DirichletFilter(2, { half_life: 3 });
const both = new MultiLabelFilter({ activity: ["walk", "sit"], speech: null }, { activity: sticky, speech: filter });
const shown: ClassName[] = both.label;
// @ts-expect-error a filter for each label, or one for all
new MultiLabelFilter(["robin", "wren"], [sticky, sticky]);
// @ts-expect-error rows of text
filter.run([["a", "b"]]);
// @ts-expect-error a unit that does not exist
new Tracker(sticky, { unit: "min" });
// @ts-expect-error an option that does not exist
tracker.update(1, 0, null, "walk", { reliability: 0.7 });
// @ts-expect-error streams are numbers here
tracker.label("ann");
// @ts-expect-error an array names no stream
new Tracker<string[]>(sticky);
// @ts-expect-error limits are given once
limited.expireAfter = 5;
console.log(cost, file, now, confirmed, several, onNow, scored, heard, jump, row, rows, flat, corrected, policy, config, kind);
