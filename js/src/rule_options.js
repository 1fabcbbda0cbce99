// Written by `python -m website.rule_options` from the options of EventRule; do not edit.
export const OPTIONS = [
  { name: "changeCost", kind: "cost", default: 0.0, byClass: true },
  { name: "leaveCost", kind: "cost", default: 0.0, byClass: true },
  { name: "minDuration", kind: "duration", default: 0.0, byClass: true },
  { name: "mergeGap", kind: "duration", byClass: true, core: -1.0 },
  { name: "bias", kind: "number", default: 0.0, byClass: true, least: -1.0, most: 1.0 },
  { name: "evidence", kind: "evidence", default: "time" },
  { name: "minProbability", kind: "number", core: 0.0, least: 1e-30, most: 1.0 },
  { name: "pad", kind: "pair", default: [0.0, 0.0] },
  { name: "shift", kind: "duration", default: 0.0, core: 0.0 },
  { name: "ignore", kind: "classes", default: [] },
  { name: "maxGap", kind: "duration", core: Infinity },
  { name: "maxDuration", kind: "duration", core: Infinity },
  { name: "maxDelay", kind: "duration", core: Infinity },
];
/** The numbers of a whole rule, in the order of events_prepare. */
export const CORE = ["floor", "minProbability", "maxGap", "maxDelay", "maxDuration", "mergeGap", "padBefore", "padAfter", "shift"];
export const EVIDENCE = ["time", "log"];
