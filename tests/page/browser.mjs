// A Chromium that is logged in, for the scenarios. Any violation of a policy, any error in the console and any exception
// of the page fails the scenario.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const { ORIGIN: origin, LOGIN: loginUrl, KEY: key } = process.env;

export async function launch() {
  return chromium.launch({ executablePath: process.env.HUSK_CHROMIUM || "/usr/bin/chromium", args: FLAGS });
}

// Refused requests are reported in the console too; scenarios that expect them name their status.
export async function open(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`));
  });
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    const ours = message.location().url.includes("/ui/");
    if (message.type() === "error" && (ours || /policy/.test(message.text()))) problems.push(message.text());
  });
  page.setDefaultTimeout(30000);
  return { context, page, problems, calm: () => assert.deepEqual(problems, []) };
}

export async function logIn(page, url = loginUrl) {
  await page.goto(url);
  await page.waitForSelector(".top");
}

export async function api(method, path, body) {
  const answer = await fetch(origin + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return answer.status === 204 ? null : answer.json();
}

export const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

// The checker is not part of the page, so pages that it checks are opened with bypassCSP.
export async function checkAccess(page, where) {
  await page.addScriptTag({ path: axe });
  const violations = await page.evaluate(async () => {
    const { violations: list } = await window.axe.run(document, { resultTypes: ["violations"], iframes: false });
    return list.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).join(", ")}`);
  });
  assert.deepEqual(violations, [], where);
}

// The screens of the page, with a session.
export function addresses(session) {
  const views = ["", "/tree", "/terminal", "/files", "/variables", "/network", "/ports?port=80", "/usage"].map(
    (view) => `/ui/sessions/${session}${view}`,
  );
  const settings = ["", "/values", "/keys", "/doctor"].map((view) => `/ui/settings${view}`);
  return ["/ui/", "/ui/new", ...views, "/ui/activity", "/ui/exports", "/ui/network", ...settings];
}

export async function visit(page, address) {
  await page.goto(origin + address);
  await page.waitForSelector(".top");
  await page.locator(".screen > *").first().waitFor();
  await page.waitForLoadState("load");
}

export async function runCell(page, text) {
  const before = await page.locator(".cell").count();
  await page.fill("#prompt", text);
  await page.press("#prompt", "Shift+Enter");
  const cell = page.locator(".cell").nth(before);
  await cell.waitFor();
  return cell;
}

// A model's call, over MCP.
export async function callTool(name, args) {
  const headers = {
    Authorization: `Bearer ${key}`,
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "Mcp-Method": "tools/call",
    "Mcp-Name": name,
    "MCP-Protocol-Version": "2026-07-28",
  };
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args, _meta: meta } };
  const answer = await fetch(`${origin}/mcp`, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text.startsWith("{") ? text : text.match(/^data: ?(.*)$/m)[1]);
}
