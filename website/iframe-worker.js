// The search runs in a worker, and browsers start none from a file on disk. There, an iframe takes its place.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.loaded = new Promise((done) => {
        frame.onload = () => done(frame.contentWindow);
      });
      window.fromIFrameWorker = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      frame.srcdoc = `<script>postMessage = (data) => parent.fromIFrameWorker(data)</script><script src="${url}"></script>`;
      document.body.append(frame);
    }

    async postMessage(data) {
      const target = await this.loaded;
      target.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {}
  };
  const NativeWorker = window.Worker;
  window.Worker = function (url) {
    return url.startsWith("blob:") ? new NativeWorker(url) : new IFrameWorker(url);
  };
}
