// The page in Debian's Firefox, over WebDriver BiDi: login, cells, streams, locked-up HTML, terminal, files up and down,
// keys, and axe on every screen.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import puppeteer from "puppeteer-core";
import { addresses, api, axe, key, loginUrl, origin } from "./browser.mjs";

const browser = await puppeteer.launch({
  browser: "firefox",
  executablePath: process.env.HUSK_FIREFOX || "/usr/bin/firefox-esr",
  headless: true,
  extraPrefsFirefox: { "network.proxy.type": 0, "datareporting.policy.dataSubmissionEnabled": false },
});
const page = await browser.newPage();
page.setDefaultTimeout(30000);
await page.setViewport({ width: 1280, height: 800 });
const problems = [];
page.on("pageerror", (error) => problems.push(String(error)));
page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
const has = (selector, text) =>
  page.waitForFunction(
    (s, t) => [...document.querySelectorAll(s)].some((one) => one.textContent.includes(t)),
    {},
    selector,
    text,
  );

async function runCell(text) {
  const n = (await page.$$(".cell")).length;
  await page.$eval("#prompt", (box, value) => (box.value = value), text);
  await page.focus("#prompt");
  await page.keyboard.down("Shift");
  await page.keyboard.press("Enter");
  await page.keyboard.up("Shift");
  await page.waitForFunction((count) => document.querySelectorAll(".cell").length > count, {}, n);
  return n;
}

await page.goto(loginUrl);
await page.waitForSelector(".top");
assert.equal(new URL(page.url()).hash, "");
const { id } = await api("POST", "/v1/sessions", { language: "python", name: "firefox", network: false });
await has("tr.row", "firefox");
await page.keyboard.press("j");
await page.keyboard.press("Enter");
await page.waitForSelector("#prompt");
assert.ok(page.url().endsWith(`/ui/sessions/${id}`));

await runCell("x = 41\nx + 1");
await has(".results .output", "42");
await runCell("import time\nprint('first', flush=True)\nwhile True: time.sleep(0.1)");
await has(".results .output", "first");
await page.evaluate(() => document.activeElement.blur());
await page.keyboard.press("i");
await has(".failure", "KeyboardInterrupt");
const html = `<p id="found">trying</p><script>
const found = [];
const attempt = (name, act) => { try { found.push(name + "=" + act()); } catch { found.push(name + "=refused"); } };
attempt("cookie", () => document.cookie || "empty");
attempt("storage", () => localStorage.length);
attempt("parent", () => parent.document.title);
fetch("${origin}/v1/me").then((r) => r.status, () => "refused").then((r) => { found.push("fetch=" + r); document.getElementById("found").textContent = found.join(" "); });
</script>`;
await runCell(`from IPython.display import HTML\nHTML(${JSON.stringify(html)})`);
const frame = await page.waitForFrame((one) => one.url().includes("frame=true"));
await frame.waitForFunction(() => /fetch=/.test(document.getElementById("found").textContent));
assert.equal(
  await frame.$eval("#found", (one) => one.textContent),
  "cookie=refused storage=refused parent=refused fetch=refused",
);

await runCell("for i in range(3000): print('line', i)");
await has(".lines", "line 2999");

// A server that goes away is not here: load.mjs has it. A stream that breaks off continues by itself.
await page.goto(`${origin}/ui/sessions/${id}/terminal`);
const terminal = await page.waitForFrame((one) => one.url().includes("terminal.html"));
await terminal.waitForSelector("body[data-state=open]");
await terminal.focus(".xterm-helper-textarea");
await page.keyboard.type("echo $((40 + 2))\n");
await terminal.waitForFunction(() =>
  [...document.querySelectorAll(".xterm-rows > div")].some((row) => row.textContent.trim() === "42"),
);

await writeFile("up.txt", "from firefox");
await page.goto(`${origin}/ui/sessions/${id}/files`);
const input = await page.waitForSelector("input[type=file]");
await input.uploadFile("up.txt");
await has("tr", "up.txt");
const link = await page.$eval("a[download]", (one) => one.href);
const down = await page.evaluate((url) => fetch(url).then((answer) => answer.text()), link);
assert.equal(down, await readFile("up.txt", "utf8"));

const source = await readFile(axe, "utf8");
for (const address of addresses(id)) {
  await page.goto(origin + address);
  await page.waitForSelector(".screen > *");
  await new Promise((done) => setTimeout(done, 300)); // rows fade in
  await page.evaluate(`(() => { ${source} })()`);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"], iframes: false });
    return violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" "))}`);
  });
  assert.deepEqual(found, [], address);
}
// The policy of the frame has stopped the request, each time the frame was shown.
assert.deepEqual(
  problems.filter((one) => !/connect-src.*v1\/me/.test(one)),
  [],
);
await fetch(`${origin}/v1/sessions/${id}`, { method: "DELETE", headers: { Authorization: `Bearer ${key}` } });
await browser.close();
