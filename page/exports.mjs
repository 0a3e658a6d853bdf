// Copies of files that stay when their session has ended.
import { html, useEffect, useState, useWatched } from "./html.mjs";
import { call, can, get, path } from "./api.mjs";
import { count, short, size, visible } from "./format.mjs";
import { live } from "./live.mjs";
import { Link, to } from "./router.mjs";
import { Empty, ErrorBox, When } from "./widgets.mjs";

export function Exports() {
  useWatched(live);
  const [list, setList] = useState(null);
  const [next, setNext] = useState(null);
  const [error, setError] = useState(null);
  const read = async (after) => {
    try {
      const answer = await get(`/v1/exports?limit=100${after ? `&after=${encodeURIComponent(after)}` : ""}`);
      setList((old) => [...(after ? old : []), ...answer.exports]);
      setNext(answer.next || null);
    } catch (problem) {
      setError(problem);
      setList((old) => old || []);
    }
  };
  useEffect(() => {
    read();
  }, []);
  const remove = async (one) => {
    if (!confirm(`Delete the export ${one.name}?`)) return;
    try {
      await call("DELETE", path("exports", one.id));
      setList((old) => old.filter((other) => other.id !== one.id));
    } catch (problem) {
      setError(problem);
    }
  };
  if (!list) return html`<p class="muted">Reading …</p>`;
  return html`<div>
    <div class="bar">
      <h1>Exports</h1>
      ${list.length ? html`<span class="muted">${count(list.length, "export")}${next ? " and more" : ""}</span>` : null}
    </div>
    <${ErrorBox} error=${error} onClose=${() => setError(null)} />
    ${
      list.length
        ? html`<table class="stack">
            <thead>
              <tr>
                <th>name</th>
                <th class="right">size</th>
                <th>path in the session</th>
                <th>session</th>
                <th>made</th>
                <th><span class="sr-only">commands</span></th>
              </tr>
            </thead>
            <tbody>
              ${list.map(
                (one) =>
                  html`<tr key=${one.id}>
                    <td class="mono lead">${visible(one.name)}${one.directory ? "/" : ""}</td>
                    <td class="right figure">${size(one.size)}</td>
                    <td class="mono muted">${visible(one.path)}</td>
                    <td>
                      <${Link} href=${to("sessions", one.session)}
                        >${visible(live.find(one.session)?.name || short(one.session))}<//
                      >
                    </td>
                    <td class="muted"><${When} ms=${one.created_ms} /></td>
                    <td class="right nowrap">
                      <a
                        class="quiet"
                        href=${`${path("exports", one.id)}/content`}
                        download=${one.directory ? `${one.name}.tar` : one.name}
                        >Download</a
                      >
                      ${can("files:write") && html`<button type="button" class="quiet danger" onClick=${() => remove(one)}>Delete</button>`}
                    </td>
                  </tr>`,
              )}
            </tbody>
          </table>`
        : html`<${Empty} title="No exports">
            <p>
              An export is a copy of a file that stays when its session ends. A model makes one with export_files, and
              you with Export in the files of a session.
            </p>
          <//>`
    }
    ${next && html`<button type="button" class="quiet" onClick=${() => read(next)}>More</button>`}
  </div>`;
}
