// One session: its state, its commands, and the views of it.
import { html, useEffect, useRef, useState, useTick, useWatched } from "./html.mjs";
import { call, can, path, post } from "./api.mjs";
import { Files } from "./files.mjs";
import { left, short, size } from "./format.mjs";
import { live } from "./live.mjs";
import { Network } from "./network.mjs";
import { Notebook } from "./notebook.mjs";
import { Ports } from "./ports.mjs";
import { Link, router, to } from "./router.mjs";
import { SessionRuns } from "./runs.mjs";
import { Side } from "./side.mjs";
import { Tree } from "./tree.mjs";
import { Usage, Variables } from "./usage.mjs";
import { ErrorBox, Menu, State, Tabs, announce } from "./widgets.mjs";

export function useSession(id) {
  const [runs, setRuns] = useState(null);
  useEffect(() => {
    const made = new SessionRuns(id);
    made.onEnded = (run) => announce(`Run ${run.number} ended: ${run.ending || "unknown"}`);
    live.follow(false);
    made.onState = (state) => {
      live.connection = state;
      live.changed();
    };
    made.start();
    setRuns(made);
    return () => {
      made.stop();
      live.follow(true);
    };
  }, [id]);
  return useWatched(runs && runs.id === id ? runs : null);
}

function statusWords(runs, listed) {
  const info = runs.info || {};
  const parts = [info.language || listed?.language].filter(Boolean);
  const usage = live.usage.get(runs.id);
  if (usage && usage.memory && !runs.ended) parts.push(`${size(usage.memory)} of ${size(usage.limit)}`);
  const passed = (Date.now() - (runs.infoAt || Date.now())) / 1000;
  const lifetime = info.seconds_left ?? listed?.seconds_left;
  if (!runs.ended && lifetime) parts.push(`ends in ${left(lifetime - (info.seconds_left ? passed : 0))}`);
  return parts.join(" · ");
}

function downloadNotebook(id) {
  const link = document.createElement("a");
  link.href = path("sessions", id, "notebook.ipynb");
  link.download = `${short(id)}.ipynb`;
  link.click();
}

function printSoon() {
  requestAnimationFrame(() => requestAnimationFrame(() => print()));
}

function Head({ runs, act }) {
  useTick(1000);
  useWatched(live);
  const listed = live.find(runs.id);
  const active = runs.active.filter((run) => run.state !== "queued");
  const state = runs.ended ? "ended" : runs.prompting ? "waiting" : active.length ? "running" : "idle";
  const name = runs.info?.name || listed?.name || short(runs.id);
  const items = [
    can("sessions:write") && { label: "Keep alive", run: () => act("PATCH", "", { keep_alive: true }, "Kept alive.") },
    can("run") && {
      label: "Restart the interpreter",
      run: () => act("POST", "restart", {}, "The interpreter is new."),
    },
    { label: "Download as notebook", run: () => downloadNotebook(runs.id) },
    // Runs that nobody has looked at are not there yet.
    { label: "Print or save", run: () => Promise.all(runs.list.map((run) => runs.load(run.number))).then(printSoon) },
    can("sessions:write") && {
      label: "Stop the session",
      danger: true,
      run: () =>
        confirm(`Stop ${name}? Its variables and files are deleted.`) && act("DELETE", "", undefined, "Stopped."),
    },
  ];
  return html`<header class="session-head">
    <${Link} href=${to()} class="back">‹ sessions<//>
    <h1>${name}</h1>
    <div class="facts"><${State} name=${state} /> <span class="muted">· ${statusWords(runs, listed)}</span></div>
    <div class="commands">
      <button
        type="button"
        class="interrupt"
        disabled=${!active.length || !can("run")}
        title="Interrupt what runs (i)"
        onClick=${() => active.forEach((run) => act("POST", `runs/${run.number}/interrupt`, {}, `Run ${run.number} is interrupted.`))}
      >
        Interrupt
      </button>
      ${runs.ended ? html`<button type="button" onClick=${() => downloadNotebook(runs.id)}>Notebook</button>` : html`<${Menu} label="⋯" title="More commands" items=${items} />`}
    </div>
  </header>`;
}

function Terminal({ id }) {
  if (!can("terminal")) return html`<p class="note">This login may not open terminals.</p>`;
  return html`<iframe
    class="terminal-frame"
    title="Terminal of the session"
    src="/ui/terminal.html?session=${encodeURIComponent(id)}"
  ></iframe>`;
}

function Connection({ runs }) {
  useTick(1000);
  const { state, at } = runs.connection;
  if (runs.missed && Date.now() - runs.missed < 8000)
    return html`<p class="strip">Events were missed while the connection was lost. The runs were read again.</p>`;
  if (state === "live" || state === "connecting" || state === "over" || state === "refused") return null;
  const seconds = Math.max(0, Math.ceil(((at || 0) - Date.now()) / 1000));
  return html`<p class="strip waiting" role="status">
    ${state === "offline" ? "Offline." : "The connection was lost."}
    ${seconds ? `Next try in ${seconds} s.` : "Connecting …"}
  </p>`;
}

export function Session({ id, view }) {
  const runs = useSession(id);
  const [error, setError] = useState(null);
  const [said, setSaid] = useState("");
  const main = useRef();
  useEffect(() => {
    live.show(id, true);
    return () => live.show(id, false);
  }, [id]);
  useEffect(() => {
    const timer = said && setTimeout(() => setSaid(""), 4000);
    return () => clearTimeout(timer);
  }, [said]);
  if (!runs) return null;
  const act = async (method, action, body, done) => {
    try {
      const target = path("sessions", id) + (action ? `/${action}` : "");
      await (method === "POST" ? post(target, body) : call(method, target, body));
      setSaid(done);
      announce(done);
      runs.readInfo();
    } catch (problem) {
      setError(problem);
    }
  };
  const tabs = [
    { id: "cells", label: "Cells" },
    { id: "tree", label: "Tree" },
    { id: "terminal", label: "Terminal" },
    { id: "files", label: "Files" },
    { id: "variables", label: "Variables" },
    { id: "network", label: "Network" },
    { id: "ports", label: "Ports" },
    { id: "usage", label: "Usage" },
  ];
  const shown = Number(router.query.get("run")) || 0;
  const link = ({ id: tab, label, current }) =>
    html`<${Link}
      key=${tab}
      href=${tab === "cells" ? to("sessions", id) : to("sessions", id, tab)}
      aria-current=${current}
      >${label}<//
    >`;
  return html`<div class="session ${shown && view === "cells" ? "with-side" : ""}" ref=${main}>
    <div class="main-column">
      <${Head} runs=${runs} act=${act} />
      <${Tabs} tabs=${tabs} active=${view} link=${link} />
      <div>
        <${ErrorBox} error=${error || runs.error} onClose=${error ? () => setError(null) : null} />
        <${Connection} runs=${runs} />
        ${said && html`<p class="strip" role="status">${said}</p>`}
      </div>
      ${/* Notices come and go beside the view: an iframe that is moved in the document starts again. */ ""}
      <div>
        ${view === "cells" && html`<${Notebook} runs=${runs} selected=${shown} />`}
        ${view === "terminal" && html`<${Terminal} id=${id} />`} ${view === "files" && html`<${Files} id=${id} />`}
        ${view === "tree" && html`<${Tree} runs=${runs} />`} ${view === "network" && html`<${Network} runs=${runs} />`}
        ${view === "ports" && html`<${Ports} runs=${runs} />`}
        ${view === "variables" && html`<${Variables} runs=${runs} />`}
        ${view === "usage" && html`<${Usage} id=${id} />`}
      </div>
    </div>
    ${shown && view === "cells" ? html`<${Side} runs=${runs} number=${shown} />` : null}
  </div>`;
}
