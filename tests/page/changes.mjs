// A person changes what a session reaches, and goes back to a checkpoint: the tree shows what was undone.
import assert from "node:assert/strict";
import { api, callTool, launch, logIn, open, origin, visit } from "./browser.mjs";

const DIAL = "import socket\nsocket.create_connection(('files.example.net', 8080), 5)";

const browser = await launch();
const { page, calm } = await open(browser);
await logIn(page);
const { id } = await api("POST", "/v1/sessions", { name: "changes", network: ["api.example.com"] });
const run = (code) => callTool("execute_code", { session_id: id, code });
const screen = page.locator(".main-column");

// --- network: what is refused appears while the page is open; a person allows it, checks it, and removes it again
await visit(page, "/ui/");
await page.locator("tr", { hasText: "changes" }).getByText("1 host").waitFor();
await visit(page, `/ui/sessions/${id}/network`);
await screen.getByText("api.example.com", { exact: true }).waitFor();
await run(DIAL);
await screen.getByText("no rule allows it").first().waitFor();
await screen.getByRole("button", { name: /^Allow files\.example\.net/ }).click();
const refuse = page.getByRole("button", { name: "Refuse files.example.net" });
await refuse.waitFor();
const check = async (host, words) => {
  await page.getByLabel("Host, with a port if it is not 443").fill(host);
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await screen.getByRole("status").filter({ hasText: words }).filter({ hasText: host }).waitFor();
};
await check("api.example.com", "allowed");
await check("files.example.net", "allowed");
await refuse.click();
await refuse.waitFor({ state: "detached" });
await check("files.example.net", "refused");
await page.getByLabel("Allow another host").fill("not a host");
await page.getByRole("button", { name: "Allow", exact: true }).first().click();
await page.getByRole("alert").waitFor();
await page.keyboard.press("Escape");
await visit(page, "/ui/network");
await page.locator("tr", { hasText: "files.example.net" }).first().getByText("no rule allows it").waitFor();

// --- secrets: the value is sent once, and never shown
await page.getByLabel("Name").fill("API_TOKEN");
await page.getByLabel("Value").fill("not-for-sessions");
await page.getByLabel("Hosts").fill("api.example.com");
await page.getByRole("button", { name: "Store" }).click();
await page.locator("tr", { hasText: "API_TOKEN" }).getByText("api.example.com").waitFor();
assert.ok(!(await page.content()).includes("not-for-sessions"));
page.once("dialog", (dialog) => dialog.accept());
await page.getByRole("button", { name: "Delete API_TOKEN" }).click();
await page.locator("tr", { hasText: "API_TOKEN" }).waitFor({ state: "detached" });

// --- the tree: a checkpoint, two cells that are undone, and a new branch
await visit(page, `/ui/sessions/${id}/tree`);
await run("x = 1");
await page.getByLabel("Keep the variables as they are now").fill("first");
await page.getByRole("button", { name: "Make a checkpoint" }).click();
const row = (text) => page.locator(".branch-row", { hasText: text });
await row("x = 1").getByText("first").waitFor();
await run("x = 2");
await run("x = 3");
await row("x = 3").getByText("now").waitFor();
await page.getByRole("button", { name: "Commands for the checkpoint first" }).click();
await page.getByRole("menuitem", { name: "Return to it" }).click();
await row("x = 1").getByText("now", { exact: true }).waitFor();
await page.locator(".branch-row.gone", { hasText: "x = 3" }).waitFor();
await run("print(x + 3)");
await row("print(x + 3)").getByText("now", { exact: true }).waitFor();
const rows = () =>
  page
    .locator(".branch-row")
    .evaluateAll((all) =>
      all.map(
        (one) =>
          `${one.classList.contains("gone") ? "gone" : "kept"} ${one.querySelector("circle").getAttribute("cx")}`,
      ),
    );
const tree = ["kept 9", "kept 9", "kept 9", "gone 27", "gone 27", "kept 9"]; // the first cell is the one that dialled
assert.deepEqual(await rows(), tree);
// A page that is opened later has the same tree.
await page.reload();
await row("print(x + 3)").getByText("now", { exact: true }).waitFor();
await page.locator(".branch-row.gone").first().waitFor();
assert.deepEqual(await rows(), tree);
// Branches stay until one of them is kept; then the cells of the others are gone.
await callTool("execute_code", { session_id: id, code: "x = 10", branch: "left" });
await callTool("execute_code", { session_id: id, code: "x = 20", branch: "right" });
await row("x = 10").getByText("left").waitFor();
await row("x = 20").getByText("right").waitFor();
assert.equal(await page.locator(".branch-row.gone").count(), 2, "only the cells of the undo");
await page.getByRole("button", { name: "Commands for the branch right" }).click();
await page.getByRole("menuitem", { name: "Make it the interpreter" }).click();
await row("x = 20").getByText("now", { exact: true }).waitFor();
await page.locator(".branch-row.gone", { hasText: "x = 10" }).waitFor();
// A death goes back too, by itself.
await run("import os; os._exit(1)");
await page.locator(".branch-row.gone", { hasText: "os._exit" }).waitFor();
await visit(page, "/ui/activity?kind=checkpoint");
await page.locator("tr", { hasText: "returned" }).getByText("first").waitFor();

// --- printing: everything that was printed is on the paper
await api("POST", `/v1/sessions/${id}/runs`, { text: "for i in range(500): print('row', i)" });
await visit(page, `/ui/sessions/${id}`);
await page.getByText("row 499").waitFor();
assert.ok(!(await page.locator(".cell").last().textContent()).includes("row 0\n"), "not in the document yet");
await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
assert.match(await page.locator(".cell").last().textContent(), /row 0\nrow 1\n[^]*row 499/);
await page.evaluate(() => dispatchEvent(new Event("afterprint")));
calm();
await fetch(`${origin}/v1/sessions/${id}`, {
  method: "DELETE",
  headers: { Authorization: `Bearer ${process.env.KEY}` },
});
await browser.close();
