// A full-screen editor in the terminal of the page: a person opens it, types, makes the window smaller and larger, saves
// and leaves. Then links that only long output has, and a cell that runs in a branch.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { api, callTool, launch, logIn, open, origin, runCell, visit } from "./browser.mjs";

const WORDS = "hello from the page";

const browser = await launch();
const { page, calm } = await open(browser);
await logIn(page);
const { id } = await api("POST", "/v1/sessions", { language: "python", name: "editor", network: false });

// --- the editor
await visit(page, `/ui/sessions/${id}/terminal`);
const terminal = await (await page.waitForSelector("iframe.terminal-frame")).contentFrame();
await terminal.waitForSelector("body[data-state=open]");
await terminal.locator(".xterm-helper-textarea").focus();
// Waits until the rows of the screen, without their ends, satisfy the test.
async function screen(test) {
  for (let i = 0; ; i++) {
    const rows = await terminal.evaluate(async () => {
      await new Promise(requestAnimationFrame);
      return [...document.querySelectorAll(".xterm-rows > div")].map((row) => row.textContent.trimEnd());
    });
    if (test(rows)) return rows.length;
    assert.ok(i < 1200, rows.join("\n"));
  }
}
const isWhole = (rows) => rows[0].includes("GNU nano") && rows.at(-1).includes("^X");
const hasWords = (rows) => rows.some((row) => row.trim() === WORDS);
await page.keyboard.type("nano note.txt\n");
await screen(isWhole);
await page.keyboard.type(WORDS);
const large = await screen(hasWords);
// The editor draws its lines again where the new window ends.
await page.setViewportSize({ width: 800, height: 460 });
const small = await screen((rows) => rows.length < large && isWhole(rows) && hasWords(rows));
await page.setViewportSize({ width: 1280, height: 800 });
await screen((rows) => rows.length > small && isWhole(rows) && hasWords(rows));
await page.keyboard.type("\nthe end");
await page.keyboard.press("Control+o");
await screen((rows) => rows.some((row) => /Write.*note\.txt/.test(row)));
await page.keyboard.press("Enter");
await screen((rows) => rows.some((row) => row.includes("Wrote")));
await page.keyboard.press("Control+x");
await screen((rows) => !rows.some((row) => row.includes("GNU nano")));
await page.keyboard.type("echo left-$((6*7))\n");
await screen((rows) => rows.includes("left-42"));
const { result } = await callTool("execute_terminal", { session_id: id, command: "cat note.txt" });
assert.equal(result._meta["dev.husk/result"].stdout, `${WORDS}\nthe end\n`);

// --- output that was cut: its gap, and the file that has all of it
await visit(page, `/ui/sessions/${id}`);
const cell = await runCell(page, "for i in range(20000): print('line', i)");
await cell.getByRole("button", { name: "Show the gap" }).click();
await cell.locator(".lines pre", { hasText: "bytes cut" }).waitFor();
const [download] = await Promise.all([
  page.waitForEvent("download"),
  cell.getByRole("link", { name: "Download" }).click(),
]);
const text = await readFile(await download.path(), "utf8");
assert.ok(
  text.includes("line 0\n") && text.includes("line 10000\n") && text.includes("line 19999\n"),
  text.slice(0, 200),
);

// --- a cell in a branch, chosen beside the prompt
await runCell(page, "x = 1");
await callTool("execute_code", { session_id: id, code: "x = 2", branch: "left" });
await page.getByLabel("What to run").selectOption({ label: "in left" });
const there = await runCell(page, "print('x is', x)");
await there.getByText("x is 2", { exact: true }).waitFor();
await there.getByText("left").first().waitFor();
await page.getByLabel("What to run").selectOption({ label: "python" });
const here = await runCell(page, "print('x is', x)");
await here.getByText("x is 1", { exact: true }).waitFor();
calm();
await fetch(`${origin}/v1/sessions/${id}`, {
  method: "DELETE",
  headers: { Authorization: `Bearer ${process.env.KEY}` },
});
await browser.close();
