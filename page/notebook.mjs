// The runs of a session in their order, as they happen, and the line that starts the next one.
import { html, useEffect, useLayoutEffect, useRef, useState, useTick } from "./html.mjs";
import { Blocks, Notes, pictureOf } from "./output.mjs";
import { filePath, path } from "./api.mjs";
import { duration, exact, visible } from "./format.mjs";
import { Code } from "./highlight.mjs";
import { Prompt } from "./prompt.mjs";
import { router, useRouter } from "./router.mjs";
import { endingWords } from "./run.mjs";
import { State } from "./widgets.mjs";

const HOME = "/home/sandbox";
const NEAR = 80; // pixels from the end that still count as the end

// Contents by address: the server gives them a policy that keeps them apart from the page.
function sourceOf(session, ended) {
  const address = (run, part, type) => {
    const name = part.event ? `@${part.event}` : String(part.index);
    return `${path("sessions", session, "runs", run, "outputs", name)}?type=${encodeURIComponent(type)}`;
  };
  return {
    frame: (run, part) => ({ src: `${address(run, part, "text/html")}&frame=true` }),
    svg: (run, part) => address(run, part, "image/svg+xml"),
    home: (name) => (ended ? null : filePath(session, `${HOME}/${name}`)),
    open: (run, index) => router.set({ picture: `${run}.${index}` }),
  };
}

function Took({ run }) {
  useTick(run.state === "running" ? 1000 : 3600000);
  const took = duration(run.milliseconds);
  if (run.state === "running") return html`<${State} name="running" words=${took} />`;
  if (run.state === "waiting") return html`<${State} name="waiting" words="waiting for input" />`;
  if (run.state === "queued") return html`<span class="muted">queued</span>`;
  if (run.failed) return html`<${State} name="failed" words=${run.error?.type || endingWords(run)} />`;
  return html`<span class="muted" title=${exact(run.ended_ms)}>${took}</span>`;
}

function Cell({ runs, run, selected, language }) {
  const box = useRef();
  useEffect(() => {
    if (run.loaded) return undefined;
    const observer = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && runs.load(run.number),
      { rootMargin: "600px" },
    );
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [run, run.loaded]);
  const open = () => router.set({ run: selected ? null : run.number });
  const onKeyDown = (event) => {
    if (event.key === "Enter" && event.target === event.currentTarget) open();
  };
  return html`<article
    ref=${box}
    class="cell ${run.failed ? "bad" : ""} ${selected ? "selected" : ""} ${run.state}"
    id="run-${run.number}"
    data-run=${run.number}
    tabindex="0"
    aria-label="Run ${run.number}, ${run.state}"
    onKeyDown=${onKeyDown}
  >
    <button
      type="button"
      class="number"
      title="Details"
      aria-label="Details of run ${run.number}"
      aria-expanded=${selected}
      onClick=${open}
    >
      ${run.number}
    </button>
    <div class="code">
      <pre>
${run.kind === "command" && html`<span class="dollar" aria-hidden="true">$ </span>`}${
          run.text === undefined || run.text === null
            ? html`<code class="muted">${run.kind === "command" ? "(a command)" : "(a cell)"}</code>`
            : html`<${Code} text=${run.text} language=${run.kind === "command" ? "bash" : language} />`
        }</pre>
    </div>
    <div class="took">
      ${run.branch && html`<span class="muted" title="In the branch ${visible(run.branch)}">↳ ${visible(run.branch)} </span>`}
      <${Took} run=${run} />
    </div>
    <div class="results">
      <${Blocks} source=${sourceOf(runs.id)} run=${run} />
      <${Notes} source=${sourceOf(runs.id, runs.ended)} run=${run} />
      ${run.loadError && html`<p class="note">${run.loadError.message}</p>`}
    </div>
  </article>`;
}

// Pictures in full size; the arrow keys go from one to the next.
function Viewer({ runs }) {
  const wanted = useRouter().query.get("picture");
  const dialog = useRef();
  const all = runs.list.flatMap((run) =>
    run.blocks.flatMap((block, i) =>
      pictureOf(sourceOf(runs.id), run.number, block) ? [{ id: `${run.number}.${i}`, run, block }] : [],
    ),
  );
  const at = all.findIndex((one) => one.id === wanted);
  useEffect(() => {
    if (at >= 0 && !dialog.current.open) dialog.current.showModal();
    if (at < 0 && dialog.current?.open) dialog.current.close();
  }, [at]);
  const go = (step) => {
    const next = all[(at + step + all.length) % all.length];
    router.set({ picture: next.id }, true);
  };
  const keys = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) go(step);
  };
  return html`<dialog
    ref=${dialog}
    class="viewer"
    aria-label="Picture"
    onKeyDown=${keys}
    onClose=${() => router.set({ picture: null }, true)}
    onClick=${(event) => event.target === dialog.current && dialog.current.close()}
  >
    ${
      at >= 0 &&
      html`<img
          src=${pictureOf(sourceOf(runs.id), all[at].run.number, all[at].block)}
          alt="picture of run ${all[at].run.number}"
        />
        <div class="viewer-bar">
          <span>Run ${all[at].run.number}, picture ${at + 1} of ${all.length}</span>
          <button type="button" onClick=${() => go(-1)} aria-label="Previous picture">←</button>
          <button type="button" onClick=${() => go(1)} aria-label="Next picture">→</button>
          <button type="button" onClick=${() => dialog.current.close()}>Close</button>
        </div>`
    }
  </dialog>`;
}

function atEnd() {
  const page = document.scrollingElement;
  return page.scrollTop + innerHeight >= page.scrollHeight - NEAR;
}

// The page follows its end while the reader is there. An address that names a run leads to that run instead, until the
// reader does something.
function useFollow(runs, selected) {
  const following = useRef(!selected);
  const wanted = useRef(selected);
  const [behind, setBehind] = useState(0);
  const known = useRef(0);
  useEffect(() => {
    const scrolled = () => {
      following.current = atEnd();
      if (!following.current) return;
      known.current = runs.fresh;
      setBehind(0);
    };
    addEventListener("scroll", scrolled, { passive: true });
    const grown = new ResizeObserver(() => {
      if (wanted.current) document.getElementById(`run-${wanted.current}`)?.scrollIntoView({ block: "center" });
      else if (following.current) scrollTo(0, document.scrollingElement.scrollHeight);
    });
    grown.observe(document.body);
    const acted = () => (wanted.current = 0);
    const acts = ["wheel", "touchmove", "keydown", "pointerdown"];
    for (const act of acts) addEventListener(act, acted, { passive: true });
    return () => {
      for (const act of acts) removeEventListener(act, acted);
      removeEventListener("scroll", scrolled);
      grown.disconnect();
    };
  }, [runs]);
  useLayoutEffect(() => {
    if (wanted.current) document.getElementById(`run-${wanted.current}`)?.scrollIntoView({ block: "center" });
    if (following.current && !wanted.current) {
      known.current = runs.fresh;
      scrollTo(0, document.scrollingElement.scrollHeight);
    } else if (runs.fresh - known.current !== behind) {
      setBehind(runs.fresh - known.current);
    }
  });
  return [behind, () => scrollTo(0, document.scrollingElement.scrollHeight)];
}

export function Notebook({ runs, selected }) {
  const [behind, toEnd] = useFollow(runs, selected);
  const list = runs.list;
  const language = runs.info?.language;
  return html`<div class="notebook">
    ${runs.more && html`<button type="button" class="quiet older" onClick=${() => runs.older()}>Earlier runs</button>`}
    ${
      runs.listed &&
      !list.length &&
      html`<p class="empty-line">
        ${runs.ended ? "This session has ended, and its runs are no longer kept." : "Nothing has run yet. Type a cell below, or let your client run one."}
      </p>`
    }
    ${list.map(
      (run) =>
        html`<${Cell}
          key=${run.number}
          runs=${runs}
          run=${run}
          selected=${run.number === selected}
          language=${language}
        />`,
    )}
    ${runs.ended && html`<p class="strip">The session has ended${runs.detail ? `: ${runs.detail}` : runs.cause ? `: ${runs.cause}` : "."}</p>`}
    ${behind > 0 && html`<button type="button" class="behind" onClick=${toEnd}>${behind} new ↓</button>`}
    ${!runs.ended && html`<${Prompt} runs=${runs} />`}
    <${Viewer} runs=${runs} />
  </div>`;
}
