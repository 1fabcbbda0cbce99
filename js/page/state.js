// What the page shows at present; its parts read it, and change what is theirs.
export const page = {
  data: null, // the streams, as Python embeds them or csv.js reads them
  config: null, // the settings of the stream that is shown, as they were tuned
  tuned: null, // what `load` makes of them
  settings: null, // what the controls say
  stream: null, view: null, charts: null, result: null,
  zone: null, timeText: null,
};

export const element = (id) => document.getElementById(id);
