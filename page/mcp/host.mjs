// The connection to the MCP client that shows this document: JSON-RPC over postMessage (MCP Apps, 2026-01-26).
const VERSION = "2026-01-26";

export class Host {
  constructor(handlers) {
    this.handlers = handlers;
    this.open = new Map();
    this.number = 0;
    addEventListener("message", (event) => this.take(event));
  }

  send(message) {
    parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }

  notify(method, params = {}) {
    this.send({ method, params });
  }

  request(method, params) {
    const id = ++this.number;
    return new Promise((done, fail) => {
      this.open.set(id, { done, fail });
      this.send({ id, method, params });
    });
  }

  // Frames with HTML of sessions are below this document and can send messages too: only those of the client count.
  take(event) {
    const message = event.data;
    if (event.source !== parent || !message || message.jsonrpc !== "2.0") return;
    if (message.method !== undefined) this.answer(message);
    else this.settle(message);
  }

  answer({ id, method, params }) {
    const handler = Object.hasOwn(this.handlers, method) ? this.handlers[method] : null;
    if (id === undefined || id === null) {
      if (handler) handler(params || {});
    } else if (handler || method === "ping") {
      this.send({ id, result: (handler && handler(params || {})) || {} });
    } else {
      this.send({ id, error: { code: -32601, message: `Method not found: ${method}` } });
    }
  }

  settle({ id, result, error }) {
    const waiting = this.open.get(id);
    if (!waiting) return;
    this.open.delete(id);
    if (error) waiting.fail(new Error(error.message || "refused"));
    else waiting.done(result);
  }

  async begin() {
    const { hostCapabilities = {}, hostContext = {} } = await this.request("ui/initialize", {
      protocolVersion: VERSION,
      appInfo: { name: "husk", version: "1" },
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    });
    this.capabilities = hostCapabilities;
    this.notify("ui/notifications/initialized");
    return hostContext;
  }

  // The client makes the frame as high as the content.
  reportSize() {
    const tell = () => {
      const { width, height } = document.documentElement.getBoundingClientRect();
      this.notify("ui/notifications/size-changed", { width: Math.ceil(width), height: Math.ceil(height) });
    };
    new ResizeObserver(tell).observe(document.documentElement);
  }
}
