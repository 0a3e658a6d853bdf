// Outputs of runs. Content of sessions is text, a picture, or a document in a sandboxed frame that has an origin of
// its own: it never becomes part of this document.
//
// A source says where contents are: frame(run, part) returns properties of a frame with the HTML, svg(run, part) an
// address of the drawing, and open(run, index) shows a picture in full size (optional). With `live`, charts are shown
// interactively at once.
import { html, useEffect, useMemo, useRef, useState } from "./html.mjs";
import { count, size, visible } from "./format.mjs";
import { LineBuffer, Lines } from "./lines.mjs";
import { endingWords } from "./run.mjs";

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const FRAME_MIN = 24;
const FRAME_MAX = 900;
const SOURCE_MAX = 200000;

export function pictureOf(source, run, part) {
  const type = PICTURES.find((one) => part.data && part.data[one]);
  if (type) return `data:${type};base64,${part.data[type].replace(/\s/g, "")}`;
  if (part.data && part.data["image/svg+xml"]) return source.svg(run, part);
  return null;
}

// The frame tells its height; it can tell nothing else.
function Frame({ content }) {
  const frame = useRef();
  const [height, setHeight] = useState(120);
  useEffect(() => {
    const listen = (event) => {
      if (event.source !== frame.current?.contentWindow) return;
      const value = Number(event.data && event.data.height);
      if (Number.isFinite(value)) setHeight(Math.min(FRAME_MAX, Math.max(FRAME_MIN, Math.ceil(value))));
    };
    addEventListener("message", listen);
    return () => removeEventListener("message", listen);
  }, []);
  return html`<iframe
    ref=${frame}
    class="frame"
    sandbox="allow-scripts"
    referrerpolicy="no-referrer"
    loading="lazy"
    title="HTML output, in a sandbox"
    ...${content}
    style=${{ height: `${height}px` }}
  ></iframe>`;
}

function Picture({ source, run, part, index }) {
  const image = html`<img src=${pictureOf(source, run, part)} alt=${visible(part.data["text/plain"] || "picture")} />`;
  if (!source.open) return html`<div class="picture">${image}</div>`;
  return html`<button type="button" class="picture" title="Full size" onClick=${() => source.open(run, index)}>
    ${image}
  </button>`;
}

function PlainText({ text }) {
  const buffer = useMemo(() => {
    const lines = new LineBuffer();
    lines.add(text);
    return lines;
  }, [text]);
  return html`<${Lines} buffer=${buffer} tone="" label="value" />`;
}

function Rich({ source, run, part, index }) {
  const data = part.data || {};
  const hasPicture = Boolean(pictureOf(source, run, part));
  const hasHtml = Boolean(data["text/html"]);
  const [live, setLive] = useState(Boolean(source.live) || !hasPicture);
  if (part.loading) return html`<p class="note">Loading ${size(part.loading)} …</p>`;
  if (!Object.keys(data).length) return html`<p class="note">This output was too large to keep.</p>`;
  if (hasHtml && live)
    return html`<div>
      <${Frame} content=${source.frame(run, part)} />
      ${hasPicture && html`<button type="button" class="quiet" onClick=${() => setLive(false)}>Show the picture</button>`}
    </div>`;
  if (hasPicture)
    return html`<div>
      <${Picture} source=${source} run=${run} part=${part} index=${index} />
      ${hasHtml && html`<button type="button" class="quiet" onClick=${() => setLive(true)}>Show it interactively</button>`}
    </div>`;
  for (const type of ["text/markdown", "text/latex", "text/plain"])
    if (data[type]) return html`<${PlainText} text=${data[type]} />`;
  const [type] = Object.keys(data);
  const text = typeof data[type] === "string" ? data[type] : JSON.stringify(data[type], null, 1);
  return html`<details>
    <summary>${type}, ${size(text.length)}</summary>
    <${PlainText} text=${text.slice(0, SOURCE_MAX)} />
  </details>`;
}

// Errors are folded as models see them.
function Failure({ error }) {
  const [open, setOpen] = useState(false);
  const trace = visible(error.traceback || "").trimEnd();
  const head = visible(`${error.type || "Error"}${error.message ? `: ${error.message}` : ""}`);
  const more = trace && trace !== head;
  return html`<div class="failure">
    <div class="failure-head">
      <span class="state failed"><span class="icon" aria-hidden="true">✕</span></span>
      <pre>${head}</pre>
      ${more && html`<button type="button" class="quiet" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Fold" : "Traceback"}</button>`}
    </div>
    ${open && html`<pre class="output stderr">${trace}</pre>`}
  </div>`;
}

// PID 1 keeps the beginning and the end of long output. A line in the text marks the place.
const isCut = (run) => run.state === "ended" && Boolean(run.stdout_truncated || run.stderr_truncated);

function Cut({ source, run }) {
  if (!isCut(run)) return null;
  const bytes = (run.stdout_bytes || 0) + (run.stderr_bytes || 0);
  const kept = run.kept_whole ? "All of it" : "Its first 16 MB";
  const file = run.kept_run && `.husk/runs/${run.kept_run}.txt`;
  const href = file && source.home?.(file);
  return html`<p class="note cut">
    The program printed ${size(bytes)}, and only the beginning and the end are shown.${" "}
    ${file ? html`${kept} is in <code>~/${file}</code> of the session.` : ""}${" "}
    ${href && html`<a href=${href} download="run-${run.number}.txt">Download</a>`}
  </p>`;
}

export function Notes({ source, run }) {
  return html`${run.dropped_bytes ? html`<p class="note">${count(run.dropped_bytes, "byte")} of older output are no longer kept.</p>` : null}
    <${Cut} source=${source} run=${run} />
    ${
      run.failed && run.ending !== "error"
        ? html`<p class="note bad">${endingWords(run)}${run.detail ? `: ${visible(run.detail)}` : ""}</p>`
        : null
    }
    ${run.lost_variables ? html`<p class="note bad">The interpreter was restarted; these variables are gone: ${visible(run.lost_variables)}</p>` : null}`;
}

export function Blocks({ source, run }) {
  return run.blocks.map((block, i) => {
    if (block.kind === "stdout" || block.kind === "stderr")
      return html`<${Lines}
        key=${i}
        buffer=${block.buffer}
        tone=${block.kind}
        cut=${isCut(run)}
        label="output of run ${run.number}"
      />`;
    if (block.kind === "error") return html`<${Failure} key=${i} error=${run.error || {}} />`;
    if (block.kind === "prompt")
      return html`<p key=${i} class="asked">
        <span class="mark">asks</span
        ><q>${visible(block.text) || "(see the output)"}</q>${block.answered ? " answered" : ""}
      </p>`;
    return html`<${Rich} key=${i} source=${source} run=${run.number} part=${block} index=${i} />`;
  });
}
