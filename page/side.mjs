// Details of one run, beside the notebook: when and how it ran, and what the model saw of it.
import { Fragment, html, useEffect } from "./html.mjs";
import { path } from "./api.mjs";
import { clock, count, duration, exact, size, visible } from "./format.mjs";
import { router, useRouter } from "./router.mjs";
import { endingWords } from "./run.mjs";
import { Copy, ErrorBox, State, When } from "./widgets.mjs";

function Seen({ answer, index, total }) {
  const content = answer.content || [];
  const chars = content.reduce((sum, block) => sum + (block.text ? [...block.text].length : 0), 0);
  const pictures = content.filter((block) => block.type === "image");
  return html`<section class="seen">
    <h3>
      ${total > 1 ? `Answer ${index + 1} of ${total}` : "The answer"}${" "}
      <span class="muted">
        ${count(chars, "character")}${pictures.length ? `, ${count(pictures.length, "picture")}` : ""},${" "}<${When}
          ms=${answer.time_ms}
      /></span>
    </h3>
    ${content.map((block, i) => {
      if (block.type === "text") return html`<pre key=${i} class="quoted">${visible(block.text)}</pre>`;
      if (block.data)
        return html`<img
          key=${i}
          src="data:${block.mimeType};base64,${block.data}"
          alt="picture ${i} of the answer"
        />`;
      return html`<p key=${i} class="note">A picture (${block.mimeType}) that was too large to keep.</p>`;
    })}
  </section>`;
}

function Outputs({ runs, run }) {
  const text = run.blocks.filter((b) => b.buffer).map((b) => b.buffer.text());
  const raw = path("sessions", runs.id, "runs", run.number);
  return html`<p class="links">
    <${Copy} text=${text.join("\n")} label="Copy the text" />
    <a href=${raw} target="_blank" rel="noreferrer">record (JSON)</a>
  </p>`;
}

function Facts({ run }) {
  const rows = [
    ["started", run.started_ms && html`<time title=${exact(run.started_ms)}>${clock(run.started_ms)}</time>`],
    ["by", run.by],
    ["took", run.state === "ended" ? duration(run.milliseconds) : null],
    [
      "ending",
      run.state === "ended"
        ? html`<${State} name=${run.failed ? "failed" : "idle"} words=${run.failed ? endingWords(run) : "ok"} />`
        : html`<${State} name=${run.state} words=${run.state} />`,
    ],
    [
      "memory",
      run.memory_peak && `peak ${size(run.memory_peak)}${run.memory_limit ? ` of ${size(run.memory_limit)}` : ""}`,
    ],
    ["exit code", run.exit_code],
    ["why", run.detail],
  ];
  return html`<dl class="facts-list">
    ${rows
      .filter(([, value]) => value || value === 0)
      .map(
        ([name, value]) =>
          html`<${Fragment} key=${name}
            ><dt>${name}</dt>
            <dd>${value}</dd><//
          >`,
      )}
  </dl>`;
}

export function Side({ runs, number }) {
  const wide = useRouter().query.get("wide") === "true";
  const run = runs.run(number);
  // After a gap, the run is another object, which is empty until it is read.
  useEffect(() => {
    runs.load(number);
  }, [run]);
  const answers = run.answers || [];
  return html`<aside class="side ${wide ? "wide" : ""}" aria-label="Run ${number}">
    <header>
      <h2>Run ${number}</h2>
      <button type="button" class="quiet only-wide" onClick=${() => router.set({ wide: wide ? null : "true" }, true)}>
        ${wide ? "Narrow" : "Side by side"}
      </button>
      <button
        type="button"
        class="quiet"
        aria-label="Close the panel"
        onClick=${() => router.set({ run: null, wide: null })}
      >
        ✕
      </button>
    </header>
    <${ErrorBox} error=${run.loadError} />
    <${Facts} run=${run} />
    <${Outputs} runs=${runs} run=${run} />
    <h2 class="section">What the model saw</h2>
    ${answers.map((answer, i) => html`<${Seen} key=${i} answer=${answer} index=${i} total=${answers.length} />`)}
    ${!answers.length && html`<p class="muted">${run.state === "ended" ? "No model has been shown this run." : "The run has not been answered yet."}</p>`}
  </aside>`;
}
