// Outputs of runs. Content of sessions is text, a picture, or a document in a sandboxed frame that has an origin of
// its own: it never becomes part of this document.
import { html, useEffect, useMemo, useRef, useState } from "./html.mjs";
import { path } from "./api.mjs";
import { size, visible } from "./format.mjs";
import { LineBuffer, Lines } from "./lines.mjs";
import { router } from "./router.mjs";

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const FRAME_MIN = 24;
const FRAME_MAX = 900;
const SOURCE_MAX = 200000;

export function outputUrl(session, run, part, type) {
  const name = part.event ? `@${part.event}` : String(part.index);
  return `${path("sessions", session, "runs", run, "outputs", name)}?type=${encodeURIComponent(type)}`;
}

export function pictureOf(session, run, part) {
  const type = PICTURES.find((one) => part.data && part.data[one]);
  if (type) return `data:${type};base64,${part.data[type].replace(/\s/g, "")}`;
  if (part.data && part.data["image/svg+xml"]) return outputUrl(session, run, part, "image/svg+xml");
  return null;
}

// The frame tells its height; it can tell nothing else.
function Frame({ url }) {
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
    src="${url}&frame=true"
    style=${{ height: `${height}px` }}
  ></iframe>`;
}

function Picture({ session, run, part, index }) {
  const url = pictureOf(session, run, part);
  return html`<button
    type="button"
    class="picture"
    title="Full size"
    onClick=${() => router.set({ picture: `${run}.${index}` })}
  >
    <img src=${url} alt=${visible(part.data["text/plain"] || "picture")} />
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

function Rich({ session, run, part, index }) {
  const data = part.data || {};
  const hasPicture = Boolean(pictureOf(session, run, part));
  const hasHtml = Boolean(data["text/html"]);
  const [live, setLive] = useState(!hasPicture);
  if (!Object.keys(data).length) return html`<p class="note">This output was too large to keep.</p>`;
  if (hasHtml && live)
    return html`<div>
      <${Frame} url=${outputUrl(session, run, part, "text/html")} />
      ${hasPicture && html`<button type="button" class="quiet" onClick=${() => setLive(false)}>Show the picture</button>`}
    </div>`;
  if (hasPicture)
    return html`<div>
      <${Picture} session=${session} run=${run} part=${part} index=${index} />
      ${hasHtml && html`<button type="button" class="quiet" onClick=${() => setLive(true)}>Show it interactively</button>`}
    </div>`;
  for (const type of ["text/markdown", "text/latex", "text/plain"])
    if (data[type]) return html`<${PlainText} text=${data[type]} />`;
  const [type] = Object.keys(data);
  const source = typeof data[type] === "string" ? data[type] : JSON.stringify(data[type], null, 1);
  return html`<details>
    <summary>${type}, ${size(source.length)}</summary>
    <${PlainText} text=${source.slice(0, SOURCE_MAX)} />
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

export function Blocks({ session, run }) {
  return run.blocks.map((block, i) => {
    if (block.kind === "stdout" || block.kind === "stderr")
      return html`<${Lines} key=${i} buffer=${block.buffer} tone=${block.kind} label="output of run ${run.number}" />`;
    if (block.kind === "error") return html`<${Failure} key=${i} error=${run.error || {}} />`;
    if (block.kind === "prompt")
      return html`<p key=${i} class="asked">
        <span class="mark">asks</span
        ><q>${visible(block.text) || "(see the output)"}</q>${block.answered ? " answered" : ""}
      </p>`;
    return html`<${Rich} key=${i} session=${session} run=${run.number} part=${block} index=${i} />`;
  });
}
