// The document of MCP Apps (mcp/apps.h): one run, while it runs and after it. It is one self-contained file, which the
// client shows in a sandboxed frame. Everything comes from the tool show_run, which the client calls for it; without that, the
// text and the pictures of the answer are shown.
import { html, render, useTick, useWatched, Watched } from "../html.mjs";
import { duration, visible } from "../format.mjs";
import { Code } from "../highlight.mjs";
import { LineBuffer, Lines } from "../lines.mjs";
import { Blocks, Notes } from "../output.mjs";
import { Run, endingWords } from "../run.mjs";
import { Host } from "./host.mjs";

const RESULT = "dev.husk/result";
const RECORD = "dev.husk/run";
const FIRST_MS = 500;
const SLOWEST_MS = 3000;
const TRIES_MAX = 5;
// The policy of frames, as in api/outputs.c. It holds even if the client sets none.
const POLICY =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:";
const STYLE =
  "html{background:#fff;color:#1d1e20;font:13px/1.5 system-ui,sans-serif}body{margin:8px}" +
  "table{border-collapse:collapse;font-variant-numeric:tabular-nums}" +
  "th,td{padding:2px 10px;border-bottom:1px solid #e4e4e1;text-align:right}";
const HEAD =
  `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}">` +
  `<style>${STYLE}</style>`;
// The tag is in two parts, since this text is in a script itself.
const TAIL =
  "<script>new ResizeObserver(()=>parent.postMessage({height:document.documentElement.getBoundingClientRect().height}," +
  '"*")).observe(document.documentElement)</' +
  "script>";
const SHOWN = ["text/html", "image/png", "image/jpeg", "image/svg+xml", "image/gif", "image/webp", "text/plain"];

const source = {
  live: true,
  frame: (run, part) => ({ loading: "eager", srcdoc: HEAD + part.data["text/html"] + TAIL }),
  svg: (run, part) => `data:image/svg+xml,${encodeURIComponent(part.data["image/svg+xml"])}`,
};

class Output extends Watched {
  constructor() {
    super();
    this.args = null; // of the tool
    this.run = null;
    this.content = null; // of the answer
    this.contents = new Map(); // large contents that were read
    this.pause = FIRST_MS;
    this.tries = 0;
  }

  get session() {
    return this.args?.session_id || this.result?.session_id;
  }

  get text() {
    return this.run?.text ?? this.args?.code ?? this.args?.command;
  }

  takeInput({ arguments: args = {} }) {
    this.args = args;
    this.number = Number(args.run) || 0;
    this.changed();
    this.poll();
  }

  takeResult({ content, _meta: meta = {} }) {
    this.content = content || [];
    this.result = meta[RESULT];
    this.number = this.result?.run || this.number;
    this.answered = true;
    this.pause = FIRST_MS;
    this.changed();
    this.poll();
  }

  stop() {
    this.over = true;
    clearTimeout(this.polled);
    this.changed();
  }

  get readable() {
    return Boolean(host.capabilities?.serverTools && this.session && (this.number || !this.answered));
  }

  async call(args) {
    const result = await host.request("tools/call", {
      name: "show_run",
      arguments: { session_id: this.session, ...args },
    });
    const fields = result?._meta?.[RECORD];
    if (result?.isError || !fields) throw new Error(result?.content?.[0]?.text || "There is no record.");
    return fields;
  }

  // Reads the record until the run has ended. One reading at a time.
  async poll() {
    clearTimeout(this.polled);
    if (this.over || !this.readable) return;
    if (this.polling) {
      this.again = true;
      return;
    }
    this.polling = true;
    try {
      await this.read();
      this.tries = 0;
    } catch {
      this.tries++;
    }
    this.polling = false;
    this.pause = this.again ? 0 : Math.min(SLOWEST_MS, Math.max(FIRST_MS, this.pause * 1.3));
    this.again = false;
    if (!this.complete && this.tries < TRIES_MAX) this.polled = setTimeout(() => this.poll(), this.pause);
  }

  async read() {
    const record = await this.call({ run: this.number, known: this.known || 0 });
    if (record.unchanged || !record.run) return;
    // Before the answer, the newest run is this one if it has the same text and has not ended.
    if (!this.number && (record.state === "ended" || record.text !== (this.args.code ?? this.args.command))) return;
    this.number = record.run;
    this.pause = FIRST_MS;
    await this.show(record);
  }

  async show(record) {
    const run = new Run(record.run);
    const large = (record.parts || []).flatMap((part, i) =>
      part.large ? [{ part, i: i + (record.first_part || 0) }] : [],
    );
    for (const one of large) this.prepare(one);
    run.fillParts(record);
    this.run = run;
    this.changed();
    const missing = large.filter(({ part }) => part.loading);
    for (const one of missing) await this.fetch(one);
    if (missing.length) {
      await this.show(record);
      return;
    }
    this.known = record.journal;
    this.complete = run.state === "ended";
  }

  // The one type that is shown, and its size.
  choose(part) {
    if (typeof part.large === "number") return { type: "", size: part.large };
    const types = Object.keys(part.large);
    const type = SHOWN.find((one) => types.includes(one)) || types[0];
    return { type, size: part.large[type] };
  }

  key({ part, i }) {
    return `${i} ${part.event || 0} ${JSON.stringify(part.large)}`;
  }

  prepare(one) {
    const { type, size } = this.choose(one.part);
    const known = this.contents.get(this.key(one));
    one.part.loading = known === undefined ? size : 0;
    if (type) one.part.data = { [type]: known };
    else one.part.text = known ?? "";
  }

  async fetch(one) {
    const { type, size } = this.choose(one.part);
    let text = "";
    for (let offset = 0; offset < size;) {
      const piece = await this.call({ run: this.number, output: one.i, type, offset });
      if (!piece.data || piece.next <= offset) break;
      text += piece.data;
      offset = piece.next;
    }
    this.contents.set(this.key(one), text);
  }
}

const output = new Output();

// --- what is seen --------------------------------------------------------------------------------------------------

function Answer({ content }) {
  return content.map((block, i) => {
    if (block.type === "text") {
      const buffer = new LineBuffer();
      buffer.add(block.text);
      return html`<${Lines} key=${i} buffer=${buffer} tone="" label="answer" />`;
    }
    if (block.type === "image")
      return html`<div key=${i} class="picture">
        <img src="data:${block.mimeType};base64,${block.data}" alt="picture of the answer" />
      </div>`;
    return null;
  });
}

function stateWords(run) {
  if (!run) return output.over ? "cancelled" : output.answered ? "" : "starting";
  if (run.state !== "ended")
    return `${run.state === "waiting" ? "waiting for input" : run.state} ${duration(run.milliseconds)}`;
  return `${run.failed ? endingWords(run) : "ok"}, ${duration(run.milliseconds)}`;
}

function App() {
  useWatched(output);
  const { run } = output;
  useTick(run && run.state !== "ended" ? 1000 : 3600000);
  const kind = output.args?.command || run?.kind === "command" ? "bash" : "python";
  return html`<main class="app">
    <article
      class="cell ${run?.failed ? "bad" : ""}"
      data-state=${run?.state || (output.answered ? "answered" : "starting")}
    >
      ${
        output.text !== undefined &&
        html`<div class="code">
          <pre tabindex="0" aria-label="Code"><${Code} text=${output.text} language=${kind} /></pre>
        </div>`
      }
      <div class="results">
        ${
          run
            ? html`<${Blocks} source=${source} run=${run} /><${Notes} source=${source} run=${run} />`
            : html`<${Answer} content=${output.content || []} />`
        }
      </div>
    </article>
    <p class="foot muted">
      <span>${run ? `run ${run.number}` : ""}</span><span role="status">${visible(stateWords(run))}</span>
    </p>
  </main>`;
}

function takeContext({ theme, styles }) {
  const root = document.documentElement;
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  const variables = styles?.variables || {};
  for (const [name, value] of Object.entries(variables))
    if (name.startsWith("--") && value) root.style.setProperty(name, value);
  if (variables["--color-background-primary"] && variables["--color-text-primary"]) root.dataset.host = "";
}

const host = new Host({
  "ui/notifications/tool-input": (params) => output.takeInput(params),
  "ui/notifications/tool-result": (params) => output.takeResult(params),
  "ui/notifications/tool-cancelled": () => output.stop(),
  "ui/notifications/host-context-changed": takeContext,
  "ui/resource-teardown": () => output.stop(),
});

render(html`<${App} />`, document.getElementById("app"));
host.begin().then((context) => {
  takeContext(context);
  host.reportSize();
  output.changed();
});
