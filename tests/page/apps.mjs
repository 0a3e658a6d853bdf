// MCP Apps with the official client and the official bridge of hosts: a run is shown while it runs, its HTML is alive
// and locked up, and large contents come from the tool that models do not see. Prints what the server said, as JSON.
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { getToolUiResourceUri, isToolVisibilityAppOnly } from "@modelcontextprotocol/ext-apps/app-bridge";
import { key, launch, open, origin } from "./browser.mjs";
import { startHost } from "./host.mjs";

const UI = "io.modelcontextprotocol/ui";
const TYPE = "text/html;profile=mcp-app";
const TICKS =
  "import os, time\nprint('tick 1', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.02)\nprint('tick 2')";
// Tries to reach the document, the host and the server, and shows how far it got. 3 MB, as the HTML of charts is.
const ATTACK = `<p id="found">trying</p><button onclick="this.textContent='alive'">press</button><script>
const found = [];
const attempt = (name, act) => { try { found.push(name + "=" + act()); } catch { found.push(name + "=refused"); } };
attempt("cookie", () => document.cookie || "empty");
attempt("parent", () => parent.document.title);
attempt("top", () => top.document.title);
const message = { jsonrpc: "2.0", id: 99, method: "tools/call", params: { name: "stop_session", arguments: {} } };
for (const target of [parent, parent.parent, top]) target.postMessage(message, "*");
parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/tool-result", params: { content: [{ type: "text", text: "forged" }] } }, "*");
parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/host-context-changed", params: { theme: "light" } }, "*");
fetch("${origin}/v1/me").then((r) => r.status, () => "refused").then((r) => { found.push("fetch=" + r); document.getElementById("found").textContent = found.join(" "); });
</script><!--${"x".repeat(3 << 20)}-->`;

async function connect(capabilities, versionNegotiation) {
  const client = new Client({ name: "test-host", version: "1" }, { capabilities, versionNegotiation });
  const headers = { Authorization: `Bearer ${key}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { requestInit: { headers } }));
  return client;
}

// The parts of the extension that the client hears of.
async function heard(client) {
  const { tools } = await client.listTools();
  const { resources } = await client.listResources();
  const read = await client.readResource({ uri: "ui://husk/output" }).catch((error) => ({ error: error.code }));
  return { tools, resources, read, extensions: client.getServerCapabilities().extensions || {} };
}

const declared = { extensions: { [UI]: { mimeTypes: [TYPE] } } };
const report = {};
for (const [era, mode] of [
  ["modern", { mode: { pin: "2026-07-28" } }],
  ["legacy", { mode: "legacy" }],
]) {
  for (const [name, capabilities] of [
    ["with", declared],
    ["without", {}],
  ]) {
    const client = await connect(capabilities, mode);
    report[`${era} ${name}`] = await heard(client);
    await client.close();
  }
}
const { tools, read } = report["modern with"];
assert.equal(getToolUiResourceUri(tools.find((tool) => tool.name === "execute_code")), "ui://husk/output");
assert.ok(isToolVisibilityAppOnly(tools.find((tool) => tool.name === "show_run")));

const client = await connect(declared, { mode: { pin: "2026-07-28" } });
const call = (name, args) => client.callTool({ name, arguments: args });
const session_id = (await call("create_session", { network: false })).structuredContent.session_id;
const host = await startHost();
const browser = await launch();
const { page } = await open(browser);
const called = [];
await page.exposeFunction("callTool", (params) => {
  called.push(params.name);
  return client.callTool(params);
});
await page.goto(host.url);
await page.waitForFunction(() => window.loaded);

// Begins a call of the model, as a host does, and shows the document beside it.
async function begin(name, args) {
  const app = await page.evaluate((options) => window.show(options), {
    proxy: host.proxy,
    html: read.contents[0].text,
    theme: "dark",
  });
  assert.equal(app.name, "husk");
  await page.evaluate((params) => window.bridge.sendToolInput({ arguments: params }), args);
  const result = call(name, args);
  const document = page.frameLocator("iframe").frameLocator("iframe");
  const end = async () => {
    const answer = await result;
    await page.evaluate((params) => window.bridge.sendToolResult(params), answer);
    return answer;
  };
  return { document, end };
}

// While the tool runs, its output is there before its answer.
const ticks = await begin("execute_code", { session_id, code: TICKS });
await ticks.document.getByText("tick 1", { exact: true }).waitFor();
await ticks.document.locator("[data-state=running]").waitFor();
await call("execute_terminal", { session_id, command: "touch go" });
await ticks.document.locator(".results").getByText("tick 2").waitFor();
report.plain = await ticks.end();
await ticks.document.locator("[data-state=ended]").waitFor();

// HTML is alive, and reaches nothing.
const code = `from IPython.display import HTML\nHTML(${JSON.stringify(ATTACK)})`;
const attack = await begin("execute_code", { session_id, code });
report.rich = await attack.end();
const frame = attack.document.frameLocator("iframe");
await frame.getByText("fetch=").waitFor();
assert.equal(await frame.locator("#found").textContent(), "cookie=refused parent=refused top=refused fetch=refused");
await frame.getByRole("button").click();
await frame.getByText("alive").waitFor();
assert.equal(await attack.document.locator(".results").getByText("forged").count(), 0);
assert.equal(await attack.document.locator("html").getAttribute("data-theme"), "dark", "only the host is heard");
assert.deepEqual([...new Set(called)], ["show_run"], "only the document's own calls reach the server");
assert.ok((await page.evaluate(() => window.sizes)).length, "the document tells its size");
report.calls = called.length;

// Without tools of the server, the answer itself is shown.
const shown = await begin("execute_code", { session_id: "none", code: "1" });
await shown.end();
await shown.document.locator("[data-state=answered]").waitFor();
await shown.document
  .getByText("There is no session", { exact: false })
  .or(shown.document.getByText("session", { exact: false }))
  .first()
  .waitFor();
await call("stop_session", { session_id });
await browser.close();
host.close();
await client.close();
console.log(JSON.stringify(report));
