// A web server in a session, opened in the browser that is logged in to Husk. Its pages try to act as the page of Husk, to
// read or replace its cookie, and to use the ports of another session.
import assert from "node:assert/strict";
import { api, key, launch, loginUrl, open, origin } from "./browser.mjs";

// Tells every page which fields the server has seen so far.
const SERVER = `
import http.server, json
seen = []
class Web(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass
    def do_GET(self):
        seen.append(str(self.headers))
        body = json.dumps(seen).encode() if self.path == "/seen" else b"<!doctype html><title>app</title>app"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", "husk_PORT=tossed; Domain=localhost; Path=/")
        self.send_header("Set-Cookie", "app=1; Domain=localhost; Path=/")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Web).serve_forever()
`;
const START = "setsid python3 server.py & until (</dev/tcp/127.0.0.1/8000) 2>&-; do read -t 0.02 <> <(:); done; true";

const port = new URL(origin).port;
// The host name of the page is the parent of the host names of ports, which is the worse case.
const home = `http://localhost:${port}`;

async function run(id, kind, text) {
  const answer = await fetch(`${origin}/v1/sessions/${id}/runs`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", Prefer: "wait=60" },
    body: JSON.stringify({ kind, text }),
  });
  assert.equal((await answer.json()).ending, "ok");
}

async function serveIn(name) {
  const { id } = await api("POST", "/v1/sessions", { language: "python", network: false, name });
  const write = `open("server.py", "w").write(${JSON.stringify(SERVER.replace("PORT", port))})`;
  await run(id, "cell", write);
  await run(id, "command", START);
  return id;
}

const [mine, other] = [await serveIn("mine"), await serveIn("other")];
const browser = await launch();
const { page, context } = await open(browser);
await page.goto(loginUrl.replace("127.0.0.1", "localhost"));
await page.waitForSelector(".top");

// The page of Husk asks for the address and opens it.
const ask = (id) =>
  page.evaluate(async (session) => {
    const answer = await fetch(`/v1/sessions/${session}/ports`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"port":8000}',
    });
    return (await answer.json()).url;
  }, id);
const url = await ask(mine);
assert.equal(new URL(url).host, `${mine}--8000.localhost:${port}`);
await page.goto(`${home}/ui/sessions/${mine}/ports`);
await page.getByLabel("Port").fill("8000");
const [app] = await Promise.all([context.waitForEvent("page"), page.getByRole("button", { name: "Open" }).click()]);
await page.getByText(`Opened at ${mine}--8000.localhost`).waitFor();
await app.waitForFunction(() => document.title === "app");
assert.equal(app.url(), `http://${mine}--8000.localhost:${port}/`, "the code is not in the address any more");

const found = await app.evaluate(
  async ([husk, numeric, theirs]) => {
    const outcome = async (act) => {
      try {
        return await act();
      } catch {
        return "refused";
      }
    };
    const socket = (to) =>
      new Promise((done) => {
        const one = new WebSocket(to.replace("http", "ws"));
        one.onopen = () => done("opened");
        one.onerror = () => done("refused");
      });
    const frame = (src) =>
      new Promise((done) => {
        const one = document.createElement("iframe");
        one.onload = () => done(outcome(() => one.contentDocument?.title || "locked"));
        one.src = src;
        document.body.append(one);
      });
    const results = { cookie: document.cookie, opener: window.opener === null };
    document.cookie = `husk_${location.port}=tossed; Domain=localhost; Path=/`;
    document.cookie = `husk_${location.port}=tossed; Domain=localhost; Path=/v1`;
    for (const [name, base] of Object.entries({ husk, numeric, theirs })) {
      results[`${name} read`] = await outcome(
        async () => (await fetch(`${base}/v1/me`, { credentials: "include" })).status,
      );
      results[`${name} write`] = await outcome(
        async () =>
          (await fetch(`${base}/v1/sessions`, { method: "POST", credentials: "include", mode: "no-cors", body: "{}" }))
            .type,
      );
      results[`${name} socket`] = await socket(`${base}/v1/sessions/x/terminal`);
      results[`${name} frame`] = await frame(`${base}/ui/`);
    }
    results.worker = await outcome(() =>
      navigator.serviceWorker.register(`${husk}/ui/a/x.js`).then(() => "registered"),
    );
    return results;
  },
  [home, origin, `http://${other}--8000.localhost:${port}`],
);
assert.equal(found.cookie, "app=1", "scripts see the server's own cookie alone");
assert.ok(found.opener, "the page of Husk cannot be reached");
for (const where of ["husk", "numeric", "theirs"]) {
  assert.equal(found[`${where} read`], "refused");
  assert.ok(["opaque", "refused"].includes(found[`${where} write`]));
  assert.equal(found[`${where} socket`], "refused");
  assert.ok(["locked", "refused"].includes(found[`${where} frame`]), found[`${where} frame`]);
}
assert.equal(found.worker, "refused");
assert.equal((await api("GET", "/v1/sessions")).sessions.length, 2, "no session was created");

// A form, which browsers send to any origin, with the cookies that belong to it.
const answered = app.waitForResponse(`${home}/v1/sessions`);
const moved = app.waitForURL(`${home}/v1/sessions`);
await app.evaluate((to) => {
  const form = document.createElement("form");
  form.action = to;
  form.method = "post";
  document.body.append(form);
  form.submit();
}, `${home}/v1/sessions`);
assert.equal((await answered).status(), 403);
await moved;

// Neither the cookie of the page nor that of the port reaches the session, and no other session sees its cookies.
await app.goto(`http://${mine}--8000.localhost:${port}/seen`);
const seen = await app.evaluate(() => document.body.innerText);
assert.ok(seen.includes("app=1") && !seen.includes("husk_"), seen);
await app.goto(await ask(other));
await app.waitForFunction(() => document.title === "app");
await app.goto(`http://${other}--8000.localhost:${port}/seen`);
const [first] = JSON.parse(await app.evaluate(() => document.body.innerText));
assert.ok(!first.includes("app=1"), "the first request of the other session has no cookie of this one");

// The page is logged in as before.
assert.equal(await page.evaluate(async () => (await fetch("/v1/me")).status), 200);
const cookies = (await context.cookies(home)).filter((one) => one.name.startsWith("husk_"));
assert.deepEqual(
  cookies.map((one) => [one.domain, one.value === "tossed"]),
  [["localhost", false]],
);
for (const id of [mine, other]) await api("DELETE", `/v1/sessions/${id}`);
await browser.close();
