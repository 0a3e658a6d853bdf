// Small parts that several screens share.
import { Fragment, html, useEffect, useRef, useState } from "./html.mjs";
import { curlOf } from "./api.mjs";
import { ago, exact } from "./format.mjs";

// Icons go with words, so that nothing depends on colour.
export const STATES = {
  running: { icon: "●", word: "running", tone: "running" },
  busy: { icon: "●", word: "running", tone: "running" },
  waiting: { icon: "◐", word: "waiting for input", tone: "waiting" },
  starting: { icon: "◌", word: "starting", tone: "muted" },
  adopting: { icon: "◌", word: "being taken over", tone: "muted" },
  idle: { icon: "○", word: "idle", tone: "muted" },
  left: { icon: "◌", word: "its server has ended", tone: "waiting" },
  ended: { icon: "✕", word: "ended", tone: "muted" },
  failed: { icon: "✕", word: "failed", tone: "failed" },
};

export function State({ name, words }) {
  const state = STATES[name] || STATES.idle;
  return html`<span class="state ${state.tone}"
    ><span class="icon" aria-hidden="true">${state.icon}</span>${words === "" ? "" : ` ${words || state.word}`}</span
  >`;
}

export function Copy({ text, label = "Copy", title }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class="quiet" title=${title} onClick=${copy}>${done ? "Copied" : label}</button>`;
}

export function Snippet({ title, text }) {
  return html`<figure class="snippet">
    <figcaption>${title}<${Copy} text=${text} /></figcaption>
    <pre tabindex="0" aria-label=${title}>${text}</pre>
  </figure>`;
}

export function ErrorBox({ error, onClose }) {
  if (!error) return null;
  return html`<div class="error-box" role="alert">
    <div>
      <strong>${error.message}</strong>
      ${error.hint && html`<div>${error.hint}</div>`}
    </div>
    <div class="actions">
      ${error.request && html`<${Copy} text=${curlOf(error.request)} label="Copy as curl" />`}
      ${onClose && html`<button type="button" class="quiet" aria-label="Close the message" onClick=${onClose}>✕</button>`}
    </div>
  </div>`;
}

export function When({ ms }) {
  if (!ms) return null;
  return html`<time datetime=${new Date(ms).toISOString()} title=${exact(ms)}>${ago(ms)}</time>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty">
    <h2>${title}</h2>
    ${children}
  </div>`;
}

// Points in order; the newest is on the right. Drawn in the text's colour.
export function Spark({ values, max, width = 64, height = 18, label }) {
  const points = values.slice(-30);
  const top = Math.max(max || 0, ...points, 1e-9);
  const step = width / 29;
  const place = (v, i) =>
    `${(width - (points.length - 1 - i) * step).toFixed(1)},${(height - 1 - (v / top) * (height - 2)).toFixed(1)}`;
  const line = points.map(place).join(" ");
  const start = (width - (points.length - 1) * step).toFixed(1);
  return html`<svg class="spark" width=${width} height=${height} role="img" aria-label=${label}>
    ${
      points.length > 1 &&
      html`<${Fragment}
        ><polygon points="${start},${height} ${line} ${width},${height}" /><polyline points=${line}
      /><//>`
    }
  </svg>`;
}

// A list of commands below a button.
export function Menu({ label, items, title }) {
  const [open, setOpen] = useState(false);
  const box = useRef();
  useEffect(() => {
    if (!open) return undefined;
    const close = (event) => {
      if (event.type === "keydown" ? event.key === "Escape" : !box.current.contains(event.target)) setOpen(false);
    };
    addEventListener("pointerdown", close);
    addEventListener("keydown", close, true);
    box.current.querySelector("[role=menuitem]")?.focus();
    return () => {
      removeEventListener("pointerdown", close);
      removeEventListener("keydown", close, true);
    };
  }, [open]);
  const move = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = [...box.current.querySelectorAll("[role=menuitem]")];
    all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  };
  return html`<div class="menu" ref=${box}>
    <button
      type="button"
      aria-haspopup="menu"
      aria-expanded=${open}
      aria-label=${title}
      title=${title}
      onClick=${() => setOpen(!open)}
    >
      ${label}
    </button>
    ${
      open &&
      html`<div role="menu" onKeyDown=${move}>
        ${items.filter(Boolean).map(
          (item) =>
            html`<button
              type="button"
              role="menuitem"
              class=${item.danger ? "danger" : ""}
              onClick=${() => {
                setOpen(false);
                item.run();
              }}
            >
              ${item.label}
            </button>`,
        )}
      </div>`
    }
  </div>`;
}

// Messages for screen readers.
export function announce(text) {
  const region = document.getElementById("announcements");
  if (region) region.textContent = text;
}

// A row of links that look like tabs.
export function Tabs({ tabs, active, link }) {
  return html`<nav class="tabs" aria-label="Views">
    ${tabs.map((tab) => link({ ...tab, current: tab.id === active ? "page" : undefined }))}
  </nav>`;
}

export function Field({ label, hint, children }) {
  return html`<label class="field"><span>${label}</span>${children}${hint && html`<small>${hint}</small>`}</label>`;
}
