// The first steps of a person: how to connect clients, and a tour.
import { html, useState } from "./html.mjs";
import { can, get, path, post } from "./api.mjs";
import { router, to } from "./router.mjs";
import { ErrorBox, Snippet } from "./widgets.mjs";

export function snippets(key = "KEY") {
  const url = `${location.origin}/mcp`;
  const server = { url, headers: { Authorization: `Bearer ${key}` } };
  const json = (value) => JSON.stringify(value, null, 2);
  return [
    {
      title: "Claude Code",
      text: `claude mcp add --transport http husk ${url} --header "Authorization: Bearer ${key}"`,
    },
    { title: "Cursor: ~/.cursor/mcp.json", text: json({ mcpServers: { husk: server } }) },
    { title: "VS Code: .vscode/mcp.json", text: json({ servers: { husk: { type: "http", ...server } } }) },
    {
      title: "Claude Desktop: claude_desktop_config.json",
      text: json({ mcpServers: { husk: { command: "husk", args: ["mcp"] } } }),
    },
  ];
}

export function Clients({ few = false }) {
  const [key, setKey] = useState(null);
  const [error, setError] = useState(null);
  const make = async () => {
    try {
      setKey((await post("/v1/keys", { name: `client ${new Date().toISOString().slice(0, 19)}` })).key);
    } catch (problem) {
      setError(problem);
    }
  };
  const list = snippets(key || "KEY");
  return html`<div class="snippets">
    ${
      can("keys") &&
      html`<p>
        ${
          key
            ? html`The key is in the texts below. It is shown only now.`
            : html`<button type="button" onClick=${make}>Make a key</button>${" "}
                <span class="muted">and put it into the texts below instead of KEY.</span>`
        }
      </p>`
    }
    <${ErrorBox} error=${error} />
    ${(few ? list.slice(0, 3) : list).map((one) => html`<${Snippet} key=${one.title} ...${one} />`)}
  </div>`;
}

const TOUR = [
  ["cell", "squares = [n * n for n in range(10)]\nsquares"],
  ["cell", "# Variables stay: the next cell uses them.\nsum(squares)"],
  ["command", "# A shell beside the interpreter, in the same container.\nuname -sr; nproc; ls -la /workspace"],
  ["cell", 'import matplotlib.pyplot as plt\n\nplt.plot(squares, marker="o")\nplt.title("squares")\nplt.show()'],
  ["cell", "for second in range(3):\n    import time; time.sleep(1)\n    print(second + 1, flush=True)"],
  ["cell", "1 / 0"],
  ["command", "# The system is read-only, and there is no way to become root.\ntouch /etc/passwd; id -un"],
];

async function ended(session, number) {
  for (;;) {
    const { events } = await get(`${path("sessions", session, "events")}?run=${number}&only=run.ended&after=0&wait=30`);
    if (events.length) return;
  }
}

async function play() {
  const session = await post("/v1/sessions", {
    language: "python",
    name: `tour-${Math.random().toString(36).slice(2, 6)}`,
  });
  router.go(to("sessions", session.id));
  for (const [kind, text] of TOUR) {
    const { run } = await post(path("sessions", session.id, "runs"), { kind, text, by: "tour" });
    await ended(session.id, run);
  }
}

export function Tour() {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const run = () => {
    setBusy(true);
    play()
      .catch(setError)
      .finally(() => setBusy(false));
  };
  if (!can("run")) return null;
  return html`<button type="button" class="primary" disabled=${busy} onClick=${run}>
      ${busy ? "The tour begins …" : "Run the tour"}
    </button>
    <${ErrorBox} error=${error} />`;
}
