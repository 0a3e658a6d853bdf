// Much of everything: 100,000 lines, 200 sessions, 100 MB up and down, and a server that is killed. Figures are printed,
// never asserted. For the last part, the test kills the server when a line says so, and starts it again.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { api, key, launch, logIn, open, origin, runCell } from "./browser.mjs";

const LINES = 100000;
const SESSIONS = 200;
const BYTES = 100 << 20;

const browser = await launch();
const { page, context } = await open(browser);
await logIn(page);
const { id } = await api("POST", "/v1/sessions", { language: "python", name: "load", network: false });
await page.goto(`${origin}/ui/sessions/${id}`);
await page.waitForSelector("#prompt");

// Scrolls step by step through the element, or the page, and measures the time from frame to frame.
function scroll(selector) {
  return page.evaluate(async (wanted) => {
    const box = wanted ? document.querySelector(wanted) : document.scrollingElement;
    const times = [];
    const steps = 120;
    let nodes = 0;
    let last = performance.now();
    for (let i = 0; i <= steps; i++) {
      box.scrollTop = ((box.scrollHeight - box.clientHeight) * i) / steps;
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      times.push(now - last);
      last = now;
      nodes = Math.max(nodes, (box.textContent || "").length);
    }
    times.sort((a, b) => a - b);
    return { median: times[steps / 2], worst: times[steps], text: nodes };
  }, selector);
}

const ms = (n) => `${n.toFixed(1)} ms`;

// --- 100,000 lines
const began = Date.now();
const flood = await runCell(page, `for i in range(${LINES}): print('line', i)`);
await flood.getByText(`line ${LINES - 1}`, { exact: false }).waitFor({ timeout: 120000 });
const seconds = (Date.now() - began) / 1000;
await flood.getByText(`${LINES.toLocaleString("en-US")} lines`).waitFor();
const lines = await scroll(".lines");
assert.ok(lines.text < 100000, `only lines that are seen are in the document: ${lines.text} characters`);
console.log(
  `figure: ${LINES} lines: there after ${seconds.toFixed(1)} s; scrolling ${ms(lines.median)} a frame, worst ${ms(lines.worst)}`,
);

// --- 200 sessions: the list is made up, since 200 containers would load the machine
const one = (await api("GET", "/v1/sessions?all=true&brief=true")).sessions[0];
const sessions = Array.from({ length: SESSIONS }, (_, i) => ({
  ...one,
  id: `made-up-${i}`,
  name: `session-${i}`,
  age_seconds: i,
}));
await context.route("**/v1/sessions?all=true*", (route) => route.fulfill({ json: { sessions } }));
const samples = [1, 2, 3, 4].map((t) => ({ time_ms: t * 1000, memory: 5e7 * t, cpu_us: t * 2e5 }));
const usage = { usage: { memory: 5e7 }, limits: { memory: 2e9, cpus: 2 }, samples };
await context.route("**/v1/sessions/made-up-*/usage", (route) => route.fulfill({ json: usage }));
await page.goto(`${origin}/ui/`);
await page.waitForFunction((n) => document.querySelectorAll("tr.row").length === n, SESSIONS);
const table = await scroll(null);
console.log(`figure: ${SESSIONS} sessions: scrolling ${ms(table.median)} a frame, worst ${ms(table.worst)}`);
await page.keyboard.press("/");
await page.keyboard.type("session-19");
await page.waitForFunction(() => document.querySelectorAll("tr.row").length === 11);
await context.unrouteAll();

// --- 100 MB up with progress, and down again
const block = Buffer.alloc(BYTES / 100, (i) => i);
const content = Buffer.concat(
  Array.from({ length: 100 }, (_, i) => Buffer.concat([Buffer.from([i]), block.subarray(1)])),
);
await writeFile("big.bin", content);
await page.goto(`${origin}/ui/sessions/${id}/files`);
await page.getByText("This folder is empty").waitFor();
await page.evaluate(() => {
  window.progress = new Set();
  new MutationObserver(() => {
    const bar = document.querySelector("progress");
    if (bar) window.progress.add(bar.value);
  }).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
});
const sent = Date.now();
await page.setInputFiles("input[type=file]", "big.bin");
await page.getByText("big.bin").waitFor();
await page.locator("tr", { hasText: "big.bin" }).getByText("100 MB").waitFor();
const steps = await page.evaluate(() => window.progress.size);
assert.ok(steps > 3, `progress was shown ${steps} times`);
const [download] = await Promise.all([page.waitForEvent("download"), page.getByText("Download").click()]);
const hash = createHash("sha256");
for await (const piece of createReadStream(await download.path())) hash.update(piece);
assert.equal(hash.digest("hex"), createHash("sha256").update(content).digest("hex"));
console.log(
  `figure: 100 MB up and down through the browser: ${((Date.now() - sent) / 1000).toFixed(1)} s, progress in ${steps} steps`,
);
await api("DELETE", `/v1/sessions/${id}/files/workspace/big.bin`);

// --- the server is killed while a cell prints: the page continues, and shows every line once
await page.goto(`${origin}/ui/sessions/${id}`);
await page.waitForSelector("#prompt");
const count = await runCell(
  page,
  "import os, time\nfor i in range(2000):\n    print('n', i, flush=True)\n    if os.path.exists('stop'): break\n    time.sleep(0.05)\nprint('done')",
);
await count.getByText("n 100", { exact: false }).first().waitFor();
console.log("KILL");
await page.getByText("The connection was lost.").waitFor();
await page.locator(".dot .running").waitFor({ timeout: 120000 });
const text = () =>
  api("GET", `/v1/sessions/${id}/runs`)
    .then(({ runs }) => runs[0].run)
    .then((n) => api("GET", `/v1/sessions/${id}/runs/${n}`));
await fetch(`${origin}/v1/sessions/${id}/files/workspace/stop`, {
  method: "PUT",
  body: "x",
  headers: { Authorization: `Bearer ${key}` },
});
await page.locator(".cell").last().getByText("done", { exact: false }).waitFor({ timeout: 60000 });
const record = await text();
const numbers = [...record.stdout.matchAll(/^n (\d+)$/gm)].map((match) => Number(match[1]));
assert.deepEqual(
  numbers,
  numbers.map((_, i) => i),
  "the record has every line once",
);
const counted = await page.locator(".cell").last().locator(".note").first().textContent();
assert.equal(counted, `${(numbers.length + 1).toLocaleString("en-US")} lines`, "the page has every line once");
console.log(`figure: ${numbers.length} lines across a killed server, none missing, none twice`);
await api("DELETE", `/v1/sessions/${id}`);
await browser.close();
