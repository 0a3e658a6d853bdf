// Long text. Only the lines that can be seen are in the document, so 100,000 lines scroll like ten.
import { html, renderNow, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./html.mjs";
import { visible } from "./format.mjs";

const LINE = 18; // pixels, as in page.css
const SHORT = 60; // up to this many lines are simply shown
const EXTRA = 20;
const LINE_CHARS = 5000;
const PRINTED = 5000; // lines of one output on paper

// Text that grows. A carriage return goes back to the start of the line, as in a terminal.
export class LineBuffer {
  constructor() {
    this.lines = [""];
    this.version = 0;
    this.chars = 0;
  }

  add(text) {
    this.version++;
    this.chars += text.length;
    const pieces = text.replaceAll("\r\n", "\n").split("\n");
    for (let i = 0; i < pieces.length; i++) {
      if (i) this.lines.push("");
      this.addToLast(pieces[i]);
    }
  }

  addToLast(piece) {
    const last = this.lines.length - 1;
    const parts = piece.split("\r");
    let line = this.lines[last] + parts[0];
    for (const part of parts.slice(1)) line = part + line.slice(part.length);
    for (let at = line.indexOf("\b"); at >= 0; at = line.indexOf("\b"))
      line = line.slice(0, Math.max(0, at - 1)) + line.slice(at + 1);
    this.lines[last] = line.length > LINE_CHARS ? `${line.slice(0, LINE_CHARS)}…` : line;
  }

  // Without the empty line after a final line end.
  get count() {
    return this.lines.length - (this.lines[this.lines.length - 1] === "" ? 1 : 0);
  }

  text(from = 0, to = this.count) {
    return visible(this.lines.slice(from, Math.min(to, this.count)).join("\n"));
  }
}

// Paper has no scroll bars, so what is printed must be in the document.
function usePrinting() {
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const begin = () => renderNow(() => setPrinting(true));
    const end = () => setPrinting(false);
    addEventListener("beforeprint", begin);
    addEventListener("afterprint", end);
    return () => {
      removeEventListener("beforeprint", begin);
      removeEventListener("afterprint", end);
    };
  }, []);
  return printing;
}

// The place of the bytes that the server has left out.
const GAP = /^\.\.\. \[\d+ bytes cut\] \.\.\.$/;

// `cut`: the middle of the output is missing.
export function Lines({ buffer, tone, label, cut }) {
  const [window_, setWindow] = useState([0, SHORT]);
  const box = useRef();
  const atEnd = useRef(true);
  const count = buffer.count;
  const printing = usePrinting();
  const long = count > SHORT && !printing;
  const gap = useMemo(() => (cut ? buffer.lines.findIndex((line) => GAP.test(line)) : -1), [cut, buffer.version]);
  const see = () => {
    if (!box.current) return;
    const top = box.current.scrollTop;
    atEnd.current = top + box.current.clientHeight >= box.current.scrollHeight - LINE;
    const first = Math.max(0, Math.floor(top / LINE) - EXTRA);
    const last = Math.ceil((top + box.current.clientHeight) / LINE) + EXTRA;
    if (first !== window_[0] || last !== window_[1]) setWindow([first, last]);
  };
  useLayoutEffect(() => {
    if (!long) return;
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
    see();
  }, [buffer.version, long]);
  useEffect(() => {
    if (!long) return undefined;
    const observer = new ResizeObserver(see);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [long]);
  if (!count) return null;
  if (printing)
    return html`<pre class="output ${tone}">${buffer.text(0, PRINTED)}</pre>
      ${count > PRINTED && html`<div class="note">${(count - PRINTED).toLocaleString()} more lines are not printed.</div>`}`;
  if (!long) return html`<pre class="output ${tone}">${buffer.text()}</pre>`;
  const toGap = () => {
    box.current.scrollTop = Math.max(0, gap * LINE - box.current.clientHeight / 2);
    box.current.focus();
  };
  const [first, last] = [Math.min(window_[0], count), Math.min(window_[1], count)];
  return html`<div class="long">
    <div class="output lines ${tone}" ref=${box} onScroll=${see} tabindex="0" role="region" aria-label=${label}>
      <div class="all" style=${{ height: `${count * LINE}px` }}>
        <pre style=${{ transform: `translateY(${first * LINE}px)` }}>${buffer.text(first, last)}</pre>
      </div>
    </div>
    <div class="note">
      ${`${count.toLocaleString()} lines`}${gap >= 0 && html`, the beginning and the end. <button type="button" class="link" onClick=${toGap}>Show the gap</button>`}
    </div>
  </div>`;
}
