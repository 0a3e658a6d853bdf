// A host of MCP Apps, as the specification wants web pages to be: the official bridge in a page, a proxy of another
// origin below it, and the document of the server below that, with the policy for documents that name no domains.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import path from "node:path";

const MODULES = path.resolve("node_modules");
const CONDITIONS = ["browser", "import", "default"];
// The specification's policy. A document written into the proxy's frame inherits it.
const POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "font-src 'self'; media-src 'self' data:; connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'";
const PROXY = `<!doctype html><style>html,body,iframe{margin:0;border:0;width:100%;height:100%}</style><script>
const inner = document.createElement("iframe");
inner.sandbox = "allow-scripts";
addEventListener("message", ({ source, data }) => {
  if (source === inner.contentWindow) parent.postMessage(data, "*");
  else if (source !== parent) window.strangers = (window.strangers || 0) + 1;
  else if (data.method === "ui/notifications/sandbox-resource-ready") {
    inner.srcdoc = data.params.html;
    document.body.append(inner);
  } else inner.contentWindow.postMessage(data, "*");
});
addEventListener("load", () => parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, "*"));
</script>`;
const HOST = `<!doctype html><title>host</title><body><script type="module">
import { AppBridge, PostMessageTransport } from "/m/@modelcontextprotocol/ext-apps/app-bridge";
window.show = async ({ proxy, html, theme }) => {
  document.querySelector("iframe")?.remove();
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts allow-same-origin";
  frame.style = "width: 800px; height: 100px";
  frame.src = proxy;
  const bridge = new AppBridge(null, { name: "test-host", version: "1" }, { serverTools: {}, logging: {} }, { hostContext: { theme } });
  window.bridge = bridge;
  window.sizes = [];
  bridge.oncalltool = (params) => window.callTool(params);
  bridge.addEventListener("sizechange", (size) => {
    window.sizes.push(size);
    frame.style.height = size.height + "px";
  });
  bridge.addEventListener("sandboxready", () => bridge.sendSandboxResourceReady({ html }));
  const ready = new Promise((done) => bridge.addEventListener("initialized", done));
  document.body.append(frame);
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  await ready;
  return bridge.getAppVersion();
};
window.loaded = true;
</script></body>`;

// "@scope/name/sub" -> the file that a browser's bundler would take.
async function resolve(name) {
  const words = name.split("/");
  const length = name.startsWith("@") ? 2 : 1;
  const folder = path.join(MODULES, ...words.slice(0, length));
  const rest = words.slice(length).join("/");
  const { exports, main } = JSON.parse(await readFile(path.join(folder, "package.json")));
  let found = exports?.[rest ? `./${rest}` : "."] ?? (rest ? null : main);
  while (found && typeof found === "object") found = found[CONDITIONS.find((one) => one in found)];
  return path.join(folder, found || rest);
}

// Gives bare imports an address.
function addressed(text) {
  return text.replace(/(\bfrom\s*|\bimport\s*\(?\s*)(["'])([^"'./][^"':\s]*)\2/g, (_, before, quote, name) => {
    return `${before}${quote}/m/${name}${quote}`;
  });
}

async function moduleAt(target) {
  const bare = target.startsWith("/m/");
  const file = bare ? await resolve(target.slice(3)) : path.join(MODULES, target.slice("/node_modules/".length));
  // Relative imports need the real address.
  if (bare) return { moved: `/node_modules/${path.relative(MODULES, file)}` };
  return { type: "text/javascript", body: addressed(await readFile(file, "utf8")) };
}

function listen(answer) {
  return new Promise((done) => {
    const server = createServer(async (request, response) => {
      const {
        type = "text/html; charset=utf-8",
        body,
        fields = {},
        moved,
      } = await answer(request.url).catch((error) => ({
        body: String(error),
      }));
      response.writeHead(moved ? 302 : 200, { "Content-Type": type, ...(moved && { Location: moved }), ...fields });
      response.end(body);
    });
    server.listen(0, "127.0.0.1", () => done(server));
  });
}

export async function startHost() {
  const host = await listen(async (url) => (url === "/" ? { body: HOST } : moduleAt(url)));
  const proxy = await listen(async () => ({ body: PROXY, fields: { "Content-Security-Policy": POLICY } }));
  return {
    url: `http://127.0.0.1:${host.address().port}/`,
    proxy: `http://localhost:${proxy.address().port}/`,
    close() {
      host.close();
      proxy.close();
    },
  };
}
