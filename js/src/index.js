export { Channel } from "./channel.js";
export { load } from "./config.js";
export { DirichletFilter } from "./dirichlet.js";
export { MultiLabelFilter } from "./multi_label.js";
export { Adaptive, Periodic } from "./policy.js";
export { softmax } from "./scores.js";
export { StickyFilter } from "./sticky.js";
export { toToml } from "./toml.js";
export { Tracker } from "./tracker.js";
