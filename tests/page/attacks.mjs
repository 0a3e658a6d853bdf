// Everything that a session can send, with an attack in it: scripts in HTML, SVG and charts, names of files, escape
// sequences, links, hidden characters, errors, prompts, code and variables. Nothing may run in the page, leave the
// server, or look like the page's own words.
import assert from "node:assert/strict";
import { callTool, key, launch, logIn, open, origin, runCell } from "./browser.mjs";

const MARKUP =
  "<img src=x onerror=\"window.pwned=1\"><script>window.pwned=1</script><a href='javascript:window.pwned=1'>link</a>";
const HIDDEN = "a\u202eb\u200bc\u2066d\ufeffe\u{e0041}f";
// The server shows them in output, the page everywhere else.
const SHOWN = "a<U+202E>b<U+200B>c<U+2066>d<U+FEFF>e<U+E0041>f";
const literal = (text) => JSON.stringify(text).replace(/\\u\{?/g, "\\u");
// Tries all that a document in the frame could do, and says how far it got.
const TRY = `const found = [];
const attempt = (name, act) => { try { found.push(name + "=" + act()); } catch { found.push(name + "=refused"); } };
attempt("cookie", () => document.cookie || "empty");
attempt("storage", () => localStorage.length);
attempt("parent", () => parent.document.title);
attempt("navigate", () => { top.location = "about:blank"; return "done"; });
attempt("popup", () => window.open("/ui/") ? "opened" : "refused");
const form = document.createElement("form");
form.action = "${origin}/v1/sessions";
form.method = "post";
document.documentElement.append(form);
attempt("form", () => { form.submit(); return "sent"; });
parent.postMessage({ height: 1e9 }, "*");
parent.postMessage({ height: { toString: () => "x" }.height }, "*");
const socket = () => new Promise((done, fail) => {
  const one = new WebSocket("${origin.replace("http", "ws")}/v1/sessions/x/terminal");
  one.onopen = done;
  one.onerror = fail;
});
const asks = [fetch("/v1/me"), fetch("${origin}/v1/me", { credentials: "include", mode: "no-cors" }), import("${origin}/ui/a/none.js"), socket()];
Promise.allSettled(asks).then((all) => {
  found.push("network=" + all.map((one) => one.status).join());
  const p = document.createElement("p");
  p.id = "found";
  p.textContent = found.join(" ");
  document.documentElement.append(p);
});`;
const REFUSED = new RegExp(
  "^cookie=refused storage=refused parent=refused navigate=\\w+ popup=refused form=\\w+ " +
    "network=rejected,rejected,rejected,rejected$",
);

const browser = await launch();
const { page, context, problems } = await open(browser);
const outside = [];
const dialogs = [];
const popups = [];
context.on(
  "request",
  (request) =>
    new URL(request.url()).origin === origin ||
    /^(data|blob|about):/.test(request.url()) ||
    outside.push(request.url()),
);
page.on("dialog", (dialog) => dialogs.push(dialog.message()) && dialog.dismiss());
context.on("page", (popup) => popups.push(popup.url()));
await logIn(page);
await page.keyboard.press("n");
await page.fill("[name=name]", "attacks");
await page.getByRole("button", { name: "Create", exact: true }).click();
await page.waitForSelector("#prompt");
const session = new URL(page.url()).pathname.split("/").pop();

async function check(what) {
  assert.equal(await page.evaluate(() => window.pwned), undefined, `${what}: a script ran`);
  assert.ok(page.url().startsWith(`${origin}/ui/sessions/${session}`), `${what}: the page is at ${page.url()}`);
  assert.equal(
    await page.locator("img[src='x'], a[href^='javascript:']").count(),
    0,
    `${what}: markup became part of the page`,
  );
  assert.deepEqual([dialogs, popups, outside], [[], [], []], what);
}

async function frameOf(cell) {
  const frame = await (await cell.locator("iframe").elementHandle()).contentFrame();
  await frame.waitForSelector("#found", { state: "attached" });
  return frame;
}

// Documents run their scripts, locked up.
const documents = {
  html: `from IPython.display import HTML\nHTML(${literal(`<p>html</p><script>${TRY}</script>`)})`,
  chart: `display({"text/html": ${literal(`<div id="plot">chart</div><script>${TRY}</script>`)}, "application/vnd.plotly.v1+json": "{}", "text/plain": "Figure"}, raw=True)`,
};
for (const [what, code] of Object.entries(documents)) {
  const cell = await runCell(page, code);
  const frame = await frameOf(cell);
  assert.match(await frame.locator("#found").textContent(), REFUSED, what);
  assert.ok((await cell.locator("iframe").evaluate((f) => f.offsetHeight)) <= 902, `${what}: the frame is bounded`);
  await check(what);
}
// The frames' own policies have stopped them, and nothing else has complained.
assert.ok(
  problems.length > 0 && problems.every((one) => /policy|Content Security Policy|sandbox|Refused/i.test(one)),
  problems.join("\n"),
);
problems.length = 0;

// Drawings are pictures: their scripts do not run.
const DRAWING =
  '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" onload="window.pwned=1"><script>parent.pwned=1</script>' +
  '<image href="http://192.0.2.1/x"/><rect width="20" height="20"/></svg>';
const svg = await runCell(page, `from IPython.display import SVG\nSVG(${literal(DRAWING)})`);
await svg.locator("img").waitFor();
await page.waitForFunction(
  (n) => document.querySelectorAll(".cell")[n].querySelector("img").complete,
  (await page.locator(".cell").count()) - 1,
);
await check("svg");
// Opened by itself, the drawing has the policy of frames: its scripts have an origin of their own.
const drawing = await (await open(browser, { storageState: await context.storageState() })).context.newPage();
const number = await svg.getAttribute("data-run");
await drawing.goto(`${origin}/v1/sessions/${session}/runs/${number}/outputs/0?type=image/svg%2Bxml`);
assert.equal(await drawing.evaluate(() => document.documentElement.tagName), "svg");
assert.equal(await drawing.evaluate(() => window.origin), "null");

// Everything else is text.
const texts = {
  output: `print(${literal(MARKUP)})`,
  value: `class V:\n def __repr__(self): return ${literal(MARKUP)}\nV()`,
  markdown: `display({"text/markdown": ${literal(MARKUP)}}, raw=True)`,
  error: `raise ValueError(${literal(MARKUP)})`,
  script: `from IPython.display import Javascript\nJavascript("window.pwned=1")`,
};
for (const [what, code] of Object.entries(texts)) {
  const cell = await runCell(page, code);
  await cell.locator(".results > *").first().waitFor();
  if (what !== "script") assert.ok((await cell.locator(".results").textContent()).includes("onerror="), what);
  await check(what);
}
const links = await runCell(
  page,
  "print('https://example.com javascript:alert(1) \\x1b]8;;javascript:alert(1)\\x07here\\x1b]8;;\\x07')",
);
await links.locator(".results").getByText("https://example.com").waitFor();
assert.equal(await links.locator(".results a").count(), 0, "no text becomes a link");
const ansi = await runCell(page, "print('\\x1b[2J\\x1b[31mred\\x1b[0m\\x1b]0;title\\x07 end')");
await ansi.locator(".results").getByText("end").waitFor();
assert.ok(!(await ansi.locator(".results").textContent()).includes("\x1b"));
assert.ok(!(await page.title()).includes("title"));
const hidden = await runCell(page, `print(${literal(HIDDEN)})`);
await hidden.locator(".results").getByText(SHOWN, { exact: true }).waitFor();
assert.ok((await hidden.locator(".code").textContent()).includes("⟦U+202E⟧"), "in code too");
const label = await runCell(page, "print('⟦ok⟧ from husk'); x = 5");
await label.locator(".results").getByText("from husk").waitFor();
assert.ok(!(await label.locator(".results").textContent()).includes("⟦ok⟧"), "programs cannot print our brackets");
await runCell(page, `input(${literal(`${MARKUP}${HIDDEN}`)})`);
await page.locator(".answering").getByText("onerror=").waitFor();
assert.match(await page.locator(".answering").textContent(), /a.U\+202E.b.U\+200B.c/);
await page.fill("#prompt", "x");
await page.press("#prompt", "Enter");
await page.locator(".answering").waitFor({ state: "detached" });
await check("prompt");

// The same in answers to models, and in variables.
await callTool("execute_code", {
  session_id: session,
  code: `class _T: pass\nevil = type(${literal(MARKUP)}, (), {})()\nprint(${literal(MARKUP + HIDDEN)})`,
});
const seen = page.locator(".cell").last();
await seen.locator(".results").getByText("onerror=").waitFor();
await seen.locator(".number").click();
await page.locator(".seen").getByText("onerror=").waitFor();
assert.ok((await page.locator(".seen").textContent()).includes(SHOWN));
await check("seen");
await page.goto(`${origin}/ui/sessions/${session}/variables`);
await page.getByText("evil", { exact: true }).waitFor();
await check("variables");

// Names of files.
const names = [`<img src=x onerror=window.pwned=1>.html`, `a\u202etxt.exe`, `"quoted" & 'more'.txt`, "two\nlines.txt"];
await callTool("execute_code", {
  session_id: session,
  code: `for n in ${literal(names)}: open('/workspace/' + n, 'w').write(${literal(MARKUP)})`,
});
await page.goto(`${origin}/ui/sessions/${session}/files`);
await page.getByText("a⟦U+202E⟧txt.exe").waitFor();
for (const text of ["<img src=x onerror=window.pwned=1>.html", `"quoted" & 'more'.txt`]) {
  await page.getByText(text, { exact: true }).click();
  await page.locator(".preview").getByText("onerror=").waitFor();
  await check(`file ${text}`);
}
const headers = { Authorization: `Bearer ${key}` };
const html = await fetch(`${origin}/v1/sessions/${session}/files/workspace/${encodeURIComponent(names[0])}`, {
  headers,
});
assert.match(
  html.headers.get("content-security-policy") || "",
  /sandbox/,
  "a file that a browser opens has the policy of frames",
);
await page.goto(`${origin}/ui/activity`);
await page.getByText("onerror=").first().waitFor();
assert.equal(await page.evaluate(() => window.pwned), undefined);
await fetch(`${origin}/v1/sessions/${session}`, { method: "DELETE", headers });
assert.deepEqual(problems, []);
await browser.close();
