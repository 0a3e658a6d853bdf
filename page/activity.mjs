// Everything that happens in all sessions of this server, newest first.
import { html, useEffect, useWatched } from "./html.mjs";
import { brief, clock, exact, short, size, visible } from "./format.mjs";
import { live } from "./live.mjs";
import { Connection, reasonOf } from "./network.mjs";
import { Link, router, to, useRouter } from "./router.mjs";
import { Empty, State } from "./widgets.mjs";

const SHOWN = 500;
const KINDS = ["all", "session", "run", "files", "network", "checkpoint", "limit"];

function Failed({ event }) {
  const why = event.error?.message ? visible(event.error.message) : event.detail || "";
  return html`<${State} name="failed" words=${event.error?.type || event.ending || "failed"} /> ${why}`;
}

function What({ event }) {
  const run =
    event.run && html`<span class="muted">${event.kind === "command" ? "command" : "cell"} ${event.run}</span>`;
  switch (event.event) {
    case "run.queued":
      return html`${run} <code>${brief(event.text, 110) || "(code is not kept)"}</code>`;
    case "run.started":
      return html`${run} <span class="muted">started</span>`;
    case "run.prompt":
      return html`${run} <${State} name="waiting" words="asks" /> <q>${visible(event.text || "")}</q>`;
    case "run.answered":
      return html`${run} <span class="muted">was answered</span>`;
    case "run.ended":
      return html`${run}${" "}
      ${event.ending === "ok" ? html`<span class="muted">ended</span>` : html`<${Failed} event=${event} />`}`;
    case "session.ended":
      return html`<${State} name=${event.cause ? "failed" : "ended"} words="session ended" />
        ${event.text ? visible(event.text) : ""}`;
    case "session.created":
      return "session created";
    case "session.claimed":
      return html`<span class="muted">session ready</span>`;
    case "session.adopted":
      return "session taken over from another server";
    case "files.imported":
      return html`imported <code>${visible(event.text || "")}</code> <span class="muted">${size(event.bytes)}</span>`;
    case "files.exported":
      return html`exported <code>${visible(event.text || "")}</code> <span class="muted">${size(event.bytes)}</span>`;
    case "network.connection":
      return html`<${Connection} event=${event} />`;
    case "checkpoint.saved":
      return html`checkpoint <code>${visible(event.text || "")}</code>${" "}
        <span class="muted">after run ${event.after_run || 0}</span>`;
    case "checkpoint.restored":
      return html`<${State} name="waiting" words="returned" /> to the checkpoint${" "}
        <code>${visible(event.text || "")}</code> <span class="muted">after run ${event.after_run || 0}</span>`;
    case "checkpoint.dropped":
      return html`<span class="muted">checkpoint deleted</span> <code>${visible(event.text || "")}</code>`;
    case "branch.made":
      return html`<span class="muted">branch</span> <code>${visible(event.text || "")}</code>`;
    case "branch.kept":
      return html`<span class="muted">the interpreter is now the branch</span>${" "}
        <code>${visible(event.text || "")}</code>`;
    case "limit.reached":
      return html`<${State} name="waiting" words="limit reached: ${event.text}" />`;
    default:
      return event.event;
  }
}

export function Activity() {
  useWatched(live);
  const { query } = useRouter();
  const kind = query.get("kind") || "all";
  const words = (query.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
  useEffect(() => {
    live.loadActivity().catch(() => {});
  }, []);
  const nameOf = (id) => visible(live.find(id)?.name || short(id));
  const text = (event) =>
    [
      event.event,
      nameOf(event.session),
      event.session,
      event.text,
      event.by,
      event.ending,
      reasonOf(event.cause),
      event.error?.type,
      event.error?.message,
    ]
      .filter(Boolean)
      .join(" ")
      .toLowerCase();
  const found = live.activity
    .filter((event) => event.event !== "run.started" && event.event !== "run.cleared")
    .filter(
      (event) =>
        (kind === "all" || event.event.startsWith(`${kind}.`)) && words.every((word) => text(event).includes(word)),
    );
  const list = found.slice(-SHOWN).reverse();
  return html`<div>
    <div class="bar">
      <h1>Activity</h1>
      <div class="choice" role="group" aria-label="Kind">
        ${KINDS.map((one) => html`<button type="button" key=${one} class="quiet" aria-pressed=${one === kind} onClick=${() => router.set({ kind: one === "all" ? null : one }, true)}>${one}</button>`)}
      </div>
    </div>
    ${
      list.length
        ? html`<table class="activity stack">
            <thead>
              <tr>
                <th>time</th>
                <th>session</th>
                <th class="by">by</th>
                <th>what</th>
              </tr>
            </thead>
            <tbody>
              ${list.map(
                (event) =>
                  html`<tr key=${event.position}>
                    <td class="figure muted" title=${exact(event.time_ms)}>${clock(event.time_ms)}</td>
                    <td class="nowrap">
                      <${Link} href=${to("sessions", event.session) + (event.run ? `?run=${event.run}` : "")}
                        >${nameOf(event.session)}<//
                      >
                    </td>
                    <td class="muted by">${event.by || ""}</td>
                    <td class="what"><${What} event=${event} /></td>
                  </tr>`,
              )}
            </tbody>
          </table>`
        : html`<${Empty} title=${words.length || kind !== "all" ? "Nothing matches" : "Nothing has happened yet"}>
            <p>Runs, files, limits, and the beginning and end of sessions appear here as they happen.</p>
          <//>`
    }
    ${found.length > SHOWN ? html`<p class="note">Only the newest ${SHOWN} of ${found.length} are shown.</p>` : null}
  </div>`;
}
