// Takes the pictures of the documentation: screenshots.mjs FOLDER
import { api, callTool, launch, logIn, open, origin } from "./browser.mjs";

const [folder] = process.argv.slice(2);
const TRAIN =
  "import time\nfor epoch in range(60):\n    print(f'epoch {epoch}  loss {1 / (epoch + 1):.3f}', flush=True)\n    time.sleep(1)";
const PLOT =
  "import matplotlib.pyplot as plt\nplt.figure(figsize=(6, 3))\nplt.plot([1.2, 1.9, 1.7, 2.6, 3.1], marker='o')\nplt.title('sales')\nplt.show()";
const TABLE = "import pandas as pd\npd.DataFrame({'month': ['Jan', 'Feb', 'Mar'], 'sales': [1204, 1331, 1290]})";

async function create(language, name) {
  return (await api("POST", "/v1/sessions", { language, name })).id;
}

const browser = await launch();
const { page, context } = await open(browser);
await logIn(page);
const report = await create("python", "sales-report");
const loader = await create("python", "loader");
await create("node", "viz");
await callTool("execute_code", { session_id: report, code: TABLE });
const { result } = await callTool("execute_code", { session_id: report, code: PLOT });
await callTool("execute_code", { session_id: report, code: "sales.describe()" });
await api("POST", `/v1/sessions/${loader}/runs`, { text: "input('Password: ')", interactive: true, by: "claude-code" });
await api("POST", `/v1/sessions/${report}/runs`, { text: TRAIN, by: "claude-code", timeout: 0 });
await page.getByText("waiting:").waitFor();
await page.waitForFunction(
  () => document.querySelector(".memory polyline")?.getAttribute("points").split(" ").length >= 6,
);
await page.screenshot({ path: `${folder}/page-sessions.png`, clip: { x: 0, y: 0, width: 1280, height: 280 } });
await page.goto(`${origin}/ui/sessions/${report}?run=2`);
await page.locator(".seen img").waitFor();
await page.getByText("epoch").last().waitFor();
await page.screenshot({ path: `${folder}/page-session.png` });
const dark = await open(browser, {
  storageState: await context.storageState(),
  colorScheme: "dark",
  reducedMotion: "reduce",
  viewport: { width: 390, height: 780 },
});
await dark.page.goto(`${origin}/ui/sessions/${report}`);
await dark.page.getByText(/epoch 5/).waitFor();
await dark.page.evaluate(() => scrollTo(0, document.body.scrollHeight));
await dark.page.screenshot({ path: `${folder}/page-phone.png` });
await browser.close();
if (result.isError) process.exit(1);
