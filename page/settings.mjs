// Settings of the server, keys, the doctor, and how to connect clients.
import { html, useEffect, useState } from "./html.mjs";
import { auth, call, can, get, path, post } from "./api.mjs";
import { visible } from "./format.mjs";
import { Link, to } from "./router.mjs";
import { Clients, Tour } from "./start.mjs";
import { Copy, ErrorBox, Field, State, Tabs, When } from "./widgets.mjs";

function Row({ setting, onChanged }) {
  const [editing, setEditing] = useState(false);
  const [error, setError] = useState(null);
  const value = setting.secret ? (setting.set ? "(set)" : "") : setting.value;
  const put = async (body) => {
    try {
      await call("PUT", "/v1/settings", { name: setting.name, ...body });
      setEditing(false);
      setError(null);
      onChanged(setting.name);
    } catch (problem) {
      setError(problem);
    }
  };
  const save = (event) => {
    event.preventDefault();
    put({ value: new FormData(event.target).get("value") });
  };
  return html`<tr>
    <td class="mono lead">${setting.name}</td>
    <td>
      ${
        editing
          ? html`<form class="inline" onSubmit=${save}>
              <input
                name="value"
                aria-label="Value of ${setting.name}"
                value=${setting.value || ""}
                autocomplete="off"
              />
              <button type="submit" class="primary">Store</button>
              <button type="button" class="quiet" onClick=${() => setEditing(false)}>Cancel</button>
            </form>`
          : html`<span class="mono">${value ?? ""}</span>`
      }
      <${ErrorBox} error=${error} />
    </td>
    <td class="muted">${setting.from}</td>
    <td class="right">
      ${
        can("admin") &&
        !editing &&
        html`<button type="button" class="quiet" aria-label="Change ${setting.name}" onClick=${() => setEditing(true)}>
            Change
          </button>
          ${setting.from === "kept" && html`<button type="button" class="quiet" onClick=${() => put({})}>Reset</button>`}`
      }
    </td>
  </tr>`;
}

function Values() {
  const [list, setList] = useState(null);
  const [error, setError] = useState(null);
  const [filter, setFilter] = useState("");
  const [changed, setChanged] = useState([]);
  useEffect(() => {
    get("/v1/settings")
      .then((answer) => setList(answer.settings))
      .catch(setError);
  }, []);
  if (error) return html`<${ErrorBox} error=${error} />`;
  if (!list) return html`<p class="muted">Reading …</p>`;
  return html`<div>
    <div class="bar">
      <input
        type="search"
        placeholder="Filter"
        aria-label="Filter settings"
        onInput=${(e) => setFilter(e.target.value.toUpperCase())}
      />
    </div>
    ${changed.length ? html`<p class="strip" role="status">Stored: ${changed.join(", ")}. The server uses it when it starts again.</p>` : null}
    <table class="stack">
      <thead>
        <tr>
          <th>name</th>
          <th>value</th>
          <th>from</th>
          <th><span class="sr-only">commands</span></th>
        </tr>
      </thead>
      <tbody>
        ${list
          .filter((setting) => setting.name.includes(filter))
          .map(
            (setting) =>
              html`<${Row}
                key=${setting.name}
                setting=${setting}
                onChanged=${(name) => setChanged((all) => [...new Set([...all, name])])}
              />`,
          )}
      </tbody>
    </table>
  </div>`;
}

function Keys() {
  const [list, setList] = useState(null);
  const [made, setMade] = useState(null);
  const [error, setError] = useState(null);
  const read = () =>
    get("/v1/keys")
      .then((answer) => setList(answer.keys))
      .catch(setError);
  useEffect(() => {
    read();
  }, []);
  const add = async (event) => {
    event.preventDefault();
    const form = event.target;
    try {
      const scopes = new FormData(form).getAll("scope");
      setMade(await post("/v1/keys", { name: form.name.value.trim(), ...(scopes.length ? { scopes } : {}) }));
      setError(null);
      form.reset();
      read();
    } catch (problem) {
      setError(problem);
    }
  };
  const remove = (key) => {
    if (confirm(`Remove the key ${key.name}? Programs that use it are refused.`))
      call("DELETE", path("keys", key.id)).then(read).catch(setError);
  };
  return html`<div>
    <form class="inline bar" onSubmit=${add}>
      <${Field} label="Name"><input name="name" required maxlength="64" autocomplete="off" /><//>
      <details class="scopes">
        <summary>Scopes</summary>
        <fieldset>
          <legend class="sr-only">Scopes</legend>
          ${auth.me.scopes.map((scope) => html`<label class="check" key=${scope}><input type="checkbox" name="scope" value=${scope} /> ${scope}</label>`)}
        </fieldset>
      </details>
      <button type="submit" class="primary">Make a key</button>
    </form>
    ${made && html`<p class="strip">The key of ${made.name}, shown only now: <code class="key">${made.key}</code> <${Copy} text=${made.key} /></p>`}
    <${ErrorBox} error=${error} onClose=${() => setError(null)} />
    ${
      list &&
      html`<table class="stack">
        <thead>
          <tr>
            <th>name</th>
            <th>id</th>
            <th>scopes</th>
            <th>made</th>
            <th>used</th>
            <th><span class="sr-only">commands</span></th>
          </tr>
        </thead>
        <tbody>
          ${list.map(
            (key) =>
              html`<tr key=${key.id}>
                <td class="lead">
                  ${visible(key.name)}${key.id === auth.me.key ? html` <span class="muted">(this browser)</span>` : ""}
                </td>
                <td class="mono muted">${key.id}</td>
                <td class="muted scopes-cell">${key.scopes.includes("admin") ? "all" : key.scopes.join(", ")}</td>
                <td class="muted nowrap"><${When} ms=${key.created_ms} /></td>
                <td class="muted nowrap">${key.used_ms ? html`<${When} ms=${key.used_ms} />` : "never"}</td>
                <td class="right">
                  <button
                    type="button"
                    class="quiet danger"
                    aria-label="Remove ${key.name}"
                    onClick=${() => remove(key)}
                  >
                    Remove
                  </button>
                </td>
              </tr>`,
          )}
        </tbody>
      </table>`
    }
  </div>`;
}

function Doctor() {
  const [report, setReport] = useState(null);
  const [error, setError] = useState(null);
  const look = () => {
    setReport(null);
    setError(null);
    get("/v1/doctor").then(setReport).catch(setError);
  };
  useEffect(look, []);
  const states = { ok: ["idle", "ok"], warn: ["waiting", "warning"], fail: ["failed", "failed"] };
  return html`<div>
    <div class="bar">
      <p class="summary">
        ${report && html`<strong>${report.ok ? "Sessions can work." : "Something is missing."}</strong>`}
        ${report && html`<span class="muted">husk ${report.version}</span>`} ${!report && !error && "Checking …"}
      </p>
      <button type="button" onClick=${look}>Check again</button>
    </div>
    <${ErrorBox} error=${error} />
    ${
      report &&
      html`<table class="stack">
        <thead>
          <tr>
            <th>check</th>
            <th>state</th>
            <th>detail</th>
          </tr>
        </thead>
        <tbody>
          ${report.checks.map(
            (check) =>
              html`<tr key=${check.name}>
                <td class="nowrap">${check.name}</td>
                <td class="nowrap"><${State} name=${states[check.status][0]} words=${states[check.status][1]} /></td>
                <td class="wrap">
                  ${check.detail}${check.fix && html`<div class="fix">${check.fix} <${Copy} text=${check.fix} /></div>`}
                </td>
              </tr>`,
          )}
        </tbody>
      </table>`
    }
  </div>`;
}

function logOut() {
  call("DELETE", "/v1/login")
    .catch(() => {})
    .finally(() => {
      auth.me = null;
      auth.changed();
    });
}

export function Settings({ view }) {
  const tabs = [
    { id: "clients", label: "Clients" },
    can("settings") && { id: "values", label: "Settings" },
    can("keys") && { id: "keys", label: "Keys" },
    can("admin") && { id: "doctor", label: "Doctor" },
  ].filter(Boolean);
  const shown = tabs.some((tab) => tab.id === view) ? view : "clients";
  const link = ({ id, label, current }) =>
    html`<${Link} key=${id} href=${to("settings", id)} aria-current=${current}>${label}<//>`;
  return html`<div class="settings">
    <div class="bar">
      <h1>Settings</h1>
      <span class="muted">tenant ${auth.me.tenant}</span>
      ${auth.me.key && html`<button type="button" onClick=${logOut}>Log out</button>`}
    </div>
    <${Tabs} tabs=${tabs} active=${shown} link=${link} />
    ${
      shown === "clients" &&
      html`<div class="parts">
        <p class="inline"><${Tour} /> <span class="muted">shows in a minute what a session does.</span></p>
        <p>To connect a client, give it one of these texts:</p>
        <${Clients} />
      </div>`
    }
    ${shown === "values" && html`<${Values} />`} ${shown === "keys" && html`<${Keys} />`}
    ${shown === "doctor" && html`<${Doctor} />`}
  </div>`;
}
