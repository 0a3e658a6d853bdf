// A shell of a session. It has a document of its own, because xterm.js writes a style element.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";

// The theme that was chosen for the page is this one's too, also when it changes.
function follow() {
  if (parent === window) return;
  const { theme } = parent.document.documentElement.dataset;
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}
follow();

const session = new URLSearchParams(location.search).get("session");
const style = getComputedStyle(document.documentElement);
const colour = (name) => style.getPropertyValue(name).trim();
const colours = () => ({
  background: colour("--surface"),
  foreground: colour("--text"),
  cursor: colour("--accent"),
  selectionBackground: `${colour("--accent")}55`,
});
const notice = document.getElementById("notice");

const terminal = new Terminal({
  cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
  fontFamily: "ui-monospace, 'DejaVu Sans Mono', monospace",
  fontSize: 13,
  screenReaderMode: true,
  scrollback: 5000,
  linkHandler: { activate: () => {} },
  theme: colours(),
});
const recolour = () => {
  follow();
  terminal.options.theme = colours();
};
new MutationObserver(recolour).observe(parent.document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.open(document.getElementById("terminal"));
fit.fit();

function connect() {
  notice.hidden = true;
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const query = new URLSearchParams({
    cols: terminal.cols,
    rows: terminal.rows,
    term: "xterm-256color",
    credit: "true",
  });
  const socket = new WebSocket(
    `${scheme}://${location.host}/v1/sessions/${encodeURIComponent(session)}/terminal?${query}`,
  );
  const encoder = new TextEncoder();
  let end = null;
  socket.binaryType = "arraybuffer";
  const send = (data) => socket.readyState === WebSocket.OPEN && socket.send(data);
  const listeners = [
    terminal.onData((text) => send(encoder.encode(text))),
    terminal.onBinary((text) => send(Uint8Array.from(text, (c) => c.charCodeAt(0)))),
    terminal.onResize(({ rows, cols }) => send(JSON.stringify({ size: { rows, cols } }))),
  ];
  socket.onmessage = ({ data }) => {
    if (typeof data === "string") end = JSON.parse(data).end || end;
    else terminal.write(new Uint8Array(data), () => send(JSON.stringify({ credit: data.byteLength })));
  };
  socket.onclose = () => {
    for (const listener of listeners) listener.dispose();
    const why =
      end?.problem?.detail ||
      (end ? `The shell has ended with exit code ${end.exit_code}.` : "The connection to the shell was lost.");
    notice.firstElementChild.textContent = why;
    notice.hidden = false;
    document.body.dataset.state = "closed";
  };
  socket.onopen = () => {
    document.body.dataset.state = "open";
    terminal.focus();
  };
}

document.getElementById("again").addEventListener("click", () => {
  terminal.reset();
  connect();
});
new ResizeObserver(() => fit.fit()).observe(document.getElementById("terminal"));
connect();
