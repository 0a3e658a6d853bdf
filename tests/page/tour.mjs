// A first visit without a mouse, in a browser that reaches nothing but the server: the tour, every key, what screen
// readers hear, and the size of everything that is loaded. Then axe on all screens, in both themes and sizes.
import assert from "node:assert/strict";
import { addresses, api, checkAccess, launch, logIn, open, origin, visit } from "./browser.mjs";

const LIMIT = 300 << 10;

const browser = await launch();
const { page, context, problems } = await open(browser);
const outside = [];
const loaded = new Map();
await context.route(
  (url) => url.origin !== origin && !/^(data|blob):/.test(url.href),
  (route) => outside.push(route.request().url()) && route.abort(),
);
page.on("response", async (answer) => {
  const { pathname } = new URL(answer.url());
  if (!pathname.startsWith("/ui/")) return;
  const fields = await answer.allHeaders();
  loaded.set(pathname, Number(fields["content-length"] || 0));
  const immutable = /immutable/.test(fields["cache-control"]);
  if (pathname.startsWith("/ui/a/") !== immutable) problems.push(`${pathname}: ${fields["cache-control"]}`);
  if (!/script-src 'self'/.test(fields["content-security-policy"])) problems.push(`${pathname} has no policy`);
});
await logIn(page);

const at = (path) => page.waitForFunction((p) => location.pathname + location.search === p, path);
const press = async (...keys) => {
  for (const key of keys) await page.keyboard.press(key);
};
// Tab leads to it.
async function tabTo(name) {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate(
      () => document.activeElement.textContent.trim() || document.activeElement.getAttribute("aria-label"),
    );
    if (found === name) return;
  }
  assert.fail(`Tab does not lead to '${name}'`);
}

// The end of the newest run. Numbers of runs may have gaps.
async function announced(ending) {
  const number = await page.locator(".cell").last().getAttribute("data-run");
  const text = () => page.locator("#announcements").textContent();
  const wanted = `Run ${number} ended: ${ending}`;
  for (let i = 0; (await text()) !== wanted; i++) {
    assert.ok(i < 600, `'${await text()}' instead of '${wanted}'`);
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
}

// The first visit explains, and shows the tour.
await page.getByText("No sessions yet").waitFor();
await tabTo("Run the tour");
await press("Enter");
await page.waitForSelector("#prompt");
const session = new URL(page.url()).pathname.split("/").pop();
// The tour draws a picture, which takes long on a busy machine.
await page.waitForFunction(() => document.querySelectorAll(".cell").length === 7, null, { timeout: 120000 });
await page.locator(".cell").last().getByText("sandbox").waitFor();
await page.locator(".cell.bad").getByText("ZeroDivisionError").first().waitFor();

// Keys of a session.
await page.locator("body").click({ position: { x: 2, y: 2 } });
await press("k");
assert.equal(await page.evaluate(() => document.activeElement.dataset.run), "7");
await press("k", "Enter");
await at(`/ui/sessions/${session}?run=6`);
await press("Escape");
await at(`/ui/sessions/${session}`);
await press("e");
await page.keyboard.type("print('by key')");
await press("Shift+Enter");
await page.locator(".cell .output", { hasText: "by key" }).waitFor();
// New output is announced politely, once, and nothing is announced rudely.
await announced("ok");
const regions = await page
  .locator("[aria-live], [role=status], [role=alert], [role=log]")
  .evaluateAll((all) => all.map((one) => `${one.getAttribute("role")} ${one.getAttribute("aria-live")}`));
assert.ok(
  regions.every((one) => !/alert|assertive/.test(one)),
  regions.join(),
);
await press("ArrowUp");
assert.equal(await page.inputValue("#prompt"), "print('by key')");
await page.fill("#prompt", "squa");
await press("Tab");
await page.waitForFunction(() => document.getElementById("prompt").value === "squares");
await page.fill("#prompt", "while True: pass");
await press("Shift+Enter", "Escape");
await page.locator(".cell.running").waitFor();
await press("i");
await page.locator(".cell", { hasText: "KeyboardInterrupt" }).first().waitFor();
await announced("interrupted");
for (const [key, path] of [
  ["f", `/ui/sessions/${session}/files`],
  ["v", `/ui/sessions/${session}/variables`],
  ["c", `/ui/sessions/${session}`],
]) {
  await press(key);
  await at(path);
}
await page.waitForSelector("#prompt");
// After a visit to the variables, ends of runs are still announced.
await press("e");
await page.keyboard.type("1");
await press("Shift+Enter");
await page.waitForFunction(() => document.querySelectorAll(".cell").length === 10);
await announced("ok");
await press("Escape", "t");
await at(`/ui/sessions/${session}/terminal`);
const terminal = await (await page.waitForSelector("iframe.terminal-frame")).contentFrame();
await terminal.waitForSelector("body[data-state=open]");
await terminal.locator(".xterm-helper-textarea").focus();
await page.keyboard.type("stty size");
await press("Enter");
// The size that the shell sees, once it is another one than `old`.
const sizeOf = (old) =>
  terminal
    .waitForFunction((other) => {
      const rows = [...document.querySelectorAll(".xterm-rows > div")].map((row) => row.textContent.trim());
      return rows.filter((row) => /^\d+ \d+$/.test(row) && row !== other).pop();
    }, old)
    .then((handle) => handle.jsonValue());
const size = await sizeOf("");
await page.setViewportSize({ width: 900, height: 500 });
await page.keyboard.type("clear; stty size");
await press("Enter");
await sizeOf(size);
await page.setViewportSize({ width: 1280, height: 800 });
// A notice that comes and goes leaves the shell alone.
await page.getByRole("button", { name: "More commands" }).click();
await page.getByRole("menuitem", { name: "Keep alive" }).click();
await page.getByText("Kept alive.").first().waitFor();
await page.locator("p.strip", { hasText: "Kept alive." }).waitFor({ state: "detached" });
assert.ok(!terminal.isDetached(), "the shell is still there");
await page.goBack();
await at(`/ui/sessions/${session}`);
await page.locator("body").click({ position: { x: 2, y: 2 } });

// Keys of the other screens.
await press("g", "a");
await at("/ui/activity");
await press("/");
await page.keyboard.type("ZeroDivision");
await page.locator(".activity tr", { hasText: "ZeroDivisionError" }).first().waitFor();
await press("Escape", "g", "e");
await at("/ui/exports");
await press("g", "s");
await at("/ui/");
// The list takes keys once it has been painted.
while (!(await page.locator("tr.row.selected").count())) await press("j");
await press("Enter");
await at(`/ui/sessions/${session}`);
await press("Escape");
await at("/ui/");
await press("?");
await page.getByRole("dialog", { name: "Keys" }).waitFor();
await press("Escape");
await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "hidden" });
await press("n");
await at("/ui/new");
await press("Escape");

const bytes = [...loaded.values()].reduce((a, b) => a + b, 0);
assert.ok(bytes > 0 && bytes < LIMIT, `${bytes} bytes`);
assert.deepEqual([outside, problems], [[], []]);
console.log(`figure: all files of the page: ${Math.round(bytes / 1024)} KB compressed`);

// A run with everything, and a file, so that no screen is empty.
await api("POST", `/v1/sessions/${session}/runs`, {
  text: "import pathlib\npathlib.Path('a.txt').write_text('a')\ndisplay({'text/html': '<b>x</b>'}, raw=True)\nfor i in range(200): print(i)",
});
await api("POST", `/v1/sessions/${session}/runs`, { text: "input('Name? ')", interactive: true });
const more = [
  `/ui/sessions/${session}?run=6`,
  `/ui/sessions/${session}/files?file=%2Fworkspace%2Fa.txt`,
  "/ui/?ended=true",
];
for (const colorScheme of ["light", "dark"])
  for (const viewport of [
    { width: 1280, height: 800 },
    { width: 390, height: 780 },
  ]) {
    const options = { colorScheme, viewport, bypassCSP: true, reducedMotion: "reduce" };
    const checked = await open(browser, { ...options, storageState: await context.storageState() });
    for (const address of [...addresses(session), ...more]) {
      await visit(checked.page, address);
      await checkAccess(checked.page, `${address} ${colorScheme} ${viewport.width}`);
      const wide = await checked.page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${address} is ${wide} pixels too wide at ${viewport.width}`);
    }
    await checked.context.close();
    const stranger = await open(browser, options);
    await stranger.page.goto(`${origin}/ui/`);
    await stranger.page.getByText("husk keys add").waitFor();
    await checkAccess(stranger.page, `login ${colorScheme} ${viewport.width}`);
    await stranger.context.close();
  }
await api("DELETE", `/v1/sessions/${session}`);
await browser.close();
