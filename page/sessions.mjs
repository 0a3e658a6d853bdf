// All sessions, as a live table.
import { html, useEffect, useMemo, useRef, useState, useTick, useWatched } from "./html.mjs";
import { call, can, path } from "./api.mjs";
import { Create } from "./create.mjs";
import { brief, count, duration, left, short, size } from "./format.mjs";
import { live } from "./live.mjs";
import { Link, router, to, useRouter } from "./router.mjs";
import { Clients, Tour } from "./start.mjs";
import { Empty, ErrorBox, Menu, STATES, Spark, State } from "./widgets.mjs";

const ORDER = { waiting: 0, running: 1, starting: 2, adopting: 2, idle: 3, left: 4, failed: 5, ended: 6 };

function Now({ session, state }) {
  const run = [...live.runsOf(session.id).values()].sort((a, b) => b.run - a.run)[0];
  if (run && run.state === "waiting")
    return html`<span class="waiting">waiting: <q>${brief(run.prompt, 60) || "input"}</q></span>`;
  if (run)
    return html`<span class="muted">${run.kind === "command" ? "command" : "cell"} ${run.run}</span
      >${" "}<code>${brief(run.text, 80)}</code>${" "}
      <span class="muted nowrap">${run.started_ms ? duration(Date.now() - run.started_ms) : "queued"}</span>`;
  if (state === "running") return html`<span class="muted">runs something for another server</span>`;
  if (state === "idle")
    return html`<span class="muted"
      >idle ${left((session.idle_seconds || 0) + (Date.now() - session.at) / 1000)}</span
    >`;
  if (state === "failed") return html`<span class="muted">ended: ${session.cause}</span>`;
  return html`<span class="muted">${STATES[state].word}</span>`;
}

function Ends({ session, state }) {
  if (state === "ended" || state === "failed") return html`<span class="muted">ended</span>`;
  const passed = (Date.now() - session.at) / 1000;
  const lifetime = session.seconds_left ? session.seconds_left - passed : Infinity;
  const idle = state === "idle" && session.idle_seconds_left ? session.idle_seconds_left - passed : Infinity;
  const soonest = Math.min(lifetime, idle);
  if (!Number.isFinite(soonest)) return null;
  return html`<span class=${soonest < 300 ? "waiting" : ""}>${left(soonest)}</span
    >${idle < lifetime ? html` <span class="muted">idle</span>` : ""}`;
}

function reachOf(network) {
  if (Array.isArray(network)) return count(network.filter((rule) => !rule.startsWith("!")).length, "host");
  return network ? "public" : "none";
}

function Row({ session, selected, act }) {
  const row = useRef();
  const state = live.stateOf(session);
  const usage = live.usage.get(session.id);
  useEffect(() => {
    let shown = false;
    const observer = new IntersectionObserver((entries) => {
      const seen = entries[entries.length - 1].isIntersecting;
      if (seen !== shown) live.show(session.id, seen);
      shown = seen;
    });
    observer.observe(row.current);
    return () => {
      observer.disconnect();
      if (shown) live.show(session.id, false);
    };
  }, [session.id]);
  const items = [
    can("sessions:write") && { label: "Keep alive", run: () => act("PATCH", session, { keep_alive: true }) },
    can("sessions:write") && {
      label: "Stop",
      danger: true,
      run: () =>
        confirm(`Stop ${session.name || short(session.id)}? Its variables and files are deleted.`) &&
        act("DELETE", session),
    },
  ].filter(Boolean);
  const memory = usage?.memory || session.memory;
  const cpu = usage?.cpu.length ? usage.cpu[usage.cpu.length - 1] : undefined;
  const over = (state === "ended" || state === "failed") && "over";
  return html`<tr ref=${row} class="row ${selected ? "selected" : ""} ${over || ""}" data-session=${session.id}>
    <td class="name">
      <${State} name=${state} words="" />
      <${Link} href=${to("sessions", session.id)} title=${session.id}>${session.name || short(session.id)}<//>
      <span class="sr-only">${STATES[state].word}</span>
    </td>
    <td class="language">${session.language}</td>
    <td class="now"><${Now} session=${session} state=${state} /></td>
    <td class="right figure memory">
      ${usage?.history.length > 1 ? html`<${Spark} values=${usage.history} max=${usage.limit} label="memory" />` : null}
      <span>${memory && !over ? size(memory) : ""}</span>
    </td>
    <td class="right figure cpu">
      ${usage?.cpu.length > 1 ? html`<${Spark} values=${usage.cpu} max=${usage.cpus} label="processor" />` : null}
      <span>${cpu !== undefined && !over ? `${Math.round(cpu * 100)} %` : ""}</span>
    </td>
    <td class="right ends"><${Ends} session=${session} state=${state} /></td>
    <td class="muted conversation" title=${session.conversation}>${short(session.conversation)}</td>
    <td class="muted network">${reachOf(session.network)}</td>
    <td class="right">
      ${items.length && !over ? html`<${Menu} label="⋯" title="Commands for ${session.name || short(session.id)}" items=${items} />` : null}
    </td>
  </tr>`;
}

function Summary({ sessions }) {
  const states = sessions.map((s) => live.stateOf(s));
  const n = (name) => states.filter((state) => state === name).length;
  return html`<p class="summary">
    <strong>${count(sessions.length, "session")}</strong>
    ${n("running") ? html`<${State} name="running" words="${n("running")} running" />` : null}
    ${n("waiting") ? html`<${State} name="waiting" words="${n("waiting")} waiting for input" />` : null}
    ${n("failed") ? html`<${State} name="failed" words="${n("failed")} failed" />` : null}
  </p>`;
}

function matches(session, words) {
  const text = [
    session.name,
    session.id,
    session.language,
    session.conversation,
    live.stateOf(session),
    STATES[live.stateOf(session)].word,
  ]
    .filter(Boolean)
    .join(" ")
    .toLowerCase();
  const runs = [...live.runsOf(session.id).values()].map((run) => run.text || "").join(" ");
  return words.every((word) => text.includes(word) || runs.toLowerCase().includes(word));
}

export function Sessions({ creating }) {
  useWatched(live);
  useTick(1000);
  const { query } = useRouter();
  const [error, setError] = useState(null);
  const ended = query.get("ended") === "true";
  const filter = query.get("q") || "";
  const selected = query.get("at");
  useEffect(() => {
    live.withEnded = ended;
    live.refresh();
  }, [ended]);
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const list = live.sessions
    .filter((session) => matches(session, words))
    .sort(
      (a, b) =>
        ORDER[live.stateOf(a)] - ORDER[live.stateOf(b)] || a.age_seconds - b.age_seconds || (a.id < b.id ? -1 : 1),
    );
  useEffect(() => {
    const move = (event) => {
      const step = { j: 1, k: -1 }[event.detail];
      const at = list.findIndex((session) => session.id === router.query.get("at"));
      if (step && list.length) router.set({ at: list[Math.min(list.length - 1, Math.max(0, at + step))].id }, true);
      if (event.detail === "Enter" && at >= 0) router.go(to("sessions", list[at].id));
    };
    addEventListener("husk-key", move);
    return () => removeEventListener("husk-key", move);
  });
  const act = async (method, session, body) => {
    try {
      await call(method, path("sessions", session.id), body);
      live.refresh();
    } catch (problem) {
      setError(problem);
    }
  };
  const nothing = live.loaded && !live.sessions.length && !ended;
  return html`<div class=${creating ? "with-side" : ""}>
    <div class="main-column">
      <div class="bar">
        <h1 class="sr-only">Sessions</h1>
        <${Summary} sessions=${live.sessions.filter((s) => s.status !== "ended")} />
        <label class="check"
          ><input
            type="checkbox"
            checked=${ended}
            onChange=${(e) => router.set({ ended: e.target.checked ? "true" : null }, true)}
          />
          ended too</label
        >
        ${can("sessions:write") && html`<${Link} href=${to("new")} class="button primary">New session<//>`}
      </div>
      <${ErrorBox} error=${error} onClose=${() => setError(null)} />
      ${live.error && !live.loaded && html`<${ErrorBox} error=${live.error} />`}
      ${
        nothing
          ? html`<${Empty} title="No sessions yet">
              <p>
                A session is a container with a live interpreter. Your client creates one when it needs one, and so can
                you.
              </p>
              <p class="inline">
                <${Tour} /> <span class="muted">shows in a minute what a session does. Or connect a client:</span>
              </p>
              <${Clients} few=${true} />
            <//>`
          : html`<table class="sessions">
              <caption class="sr-only">
                Sessions
              </caption>
              <thead>
                <tr>
                  <th>session</th>
                  <th class="language">language</th>
                  <th>now</th>
                  <th class="right">memory</th>
                  <th class="right cpu">cpu</th>
                  <th class="right">ends in</th>
                  <th class="conversation">conversation</th>
                  <th class="network">network</th>
                  <th><span class="sr-only">commands</span></th>
                </tr>
              </thead>
              <tbody>
                ${list.map((one) => html`<${Row} key=${one.id} session=${one} selected=${one.id === selected} act=${act} />`)}
              </tbody>
            </table>`
      }
      ${live.sessions.length && !list.length ? html`<p class="empty-line">No session matches “${filter}”.</p>` : null}
    </div>
    ${creating && html`<${Create} />`}
  </div>`;
}

// A page that is left open shows in its tab what happens.
export function useTitle() {
  useWatched(live);
  const states = live.sessions.map((session) => live.stateOf(session));
  const running = states.filter((state) => state === "running").length;
  const waiting = states.includes("waiting");
  const mark = useMemo(() => icon(running, waiting), [running, waiting]);
  useEffect(() => {
    document.title = `${waiting ? "◐ " : ""}${running ? `(${running}) ` : ""}Husk`;
    document.querySelector("link[rel=icon]").href = mark;
  }, [mark]);
}

function icon(running, waiting) {
  const fill = waiting ? "#9a6700" : running ? "#1c7c4a" : "#6b6f76";
  const mark = `<text x="16" y="23" font-family="system-ui" font-size="19" text-anchor="middle" fill="#fff">`;
  const inner = running ? `${mark}${Math.min(running, 99)}</text>` : `<circle cx="16" cy="16" r="6" fill="#fff"/>`;
  const box = `<rect width="32" height="32" rx="7" fill="${fill}"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${box}${inner}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
