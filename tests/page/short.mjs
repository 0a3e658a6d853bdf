// The page in a minute: login, a session, cells, streams, prompts, attacks of the output, what the model saw.
import assert from "node:assert/strict";
import {
  addresses,
  api,
  callTool,
  checkAccess,
  launch,
  logIn,
  loginUrl,
  open,
  origin,
  runCell,
  visit,
} from "./browser.mjs";

// HTML of a session tries to reach the page, and shows how far it got.
const ATTACK = `<p id="found">trying</p><script>
const found = [];
const attempt = (name, act) => { try { found.push(name + "=" + act()); } catch { found.push(name + "=refused"); } };
attempt("cookie", () => document.cookie || "empty");
attempt("storage", () => localStorage.length);
attempt("parent", () => parent.document.title);
attempt("top", () => { top.location.href; return "read"; });
fetch("/v1/me").then((r) => r.status, () => "refused").then((r) => { found.push("fetch=" + r); document.getElementById("found").textContent = found.join(" "); });
</script>`;

async function start(page) {
  await logIn(page);
  assert.equal(new URL(page.url()).hash, "");
  await page.keyboard.press("n");
  await page.fill("[name=name]", "demo");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.waitForSelector("#prompt");
  return new URL(page.url()).pathname.split("/").pop();
}

async function cells(page) {
  const value = await runCell(page, "x = 41\nx + 1");
  await value.getByText("42", { exact: true }).waitFor();
  const text = await runCell(page, "print('<b>bold</b> <script>alert(1)</script>')");
  await text.getByText("<b>bold</b> <script>alert(1)</script>", { exact: true }).waitFor();
  const live = await runCell(page, "import time\nprint('first', flush=True)\nwhile True: time.sleep(0.1)");
  await live.getByText("first", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Interrupt" }).click();
  await live.getByText("KeyboardInterrupt").first().waitFor();
  await runCell(page, "input('Your name? ')");
  await page.waitForSelector(".answering");
  await page.fill("#prompt", "Ada");
  await page.press("#prompt", "Enter");
  await page.getByText("'Ada'", { exact: true }).waitFor();
}

async function attack(page, problems) {
  const cell = await runCell(page, `from IPython.display import HTML\nHTML(${JSON.stringify(ATTACK)})`);
  const frame = await (await cell.locator("iframe").elementHandle()).contentFrame();
  await frame.getByText("fetch=").waitFor();
  const found = await frame.locator("#found").textContent();
  assert.equal(found, "cookie=refused storage=refused parent=refused top=refused fetch=refused");
  // The frame's own policy has stopped the request.
  assert.deepEqual(problems.splice(0), [`policy: connect-src ${origin}/v1/me`]);
}

async function longOutput(page) {
  const cell = await runCell(page, "for i in range(3000): print('line', i)");
  await cell.getByText("line 2999", { exact: false }).waitFor();
  assert.ok(
    (await page.locator("pre").allTextContents()).join("").length < 10000,
    "only the lines that are seen are there",
  );
}

async function seen(page, session) {
  const answer = await callTool("execute_code", { session_id: session, code: "print('for the model')" });
  const text = answer.result.content[0].text;
  const cell = page.locator(".cell").last();
  await cell.getByText("for the model", { exact: true }).waitFor();
  await cell.locator(".number").click();
  await page.locator(".seen pre").waitFor();
  assert.equal(await page.locator(".seen pre").textContent(), text);
}

async function screens(page, session) {
  for (const address of addresses(session)) {
    await visit(page, address);
    await checkAccess(page, address);
  }
}

const browser = await launch();
const { page, problems, calm } = await open(browser);
const session = await start(page);
await cells(page);
await attack(page, problems);
await longOutput(page);
await seen(page, session);
calm();
const other = await open(browser);
await other.page.goto(loginUrl);
await other.page.getByText("was used already").waitFor();
// Text that fades in has too little contrast at first.
const checked = await open(browser, {
  storageState: await page.context().storageState(),
  bypassCSP: true,
  reducedMotion: "reduce",
});
await screens(checked.page, session);
await api("DELETE", `/v1/sessions/${session}`);
assert.deepEqual(problems, []);
await browser.close();
