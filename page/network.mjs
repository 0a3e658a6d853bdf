// The network of a session: its hosts, open connections, and what was refused. A person can change the list while the
// session runs. The screen of all sessions has their connections and the secrets.
import { html, useEffect, useState, useWatched } from "./html.mjs";
import { call, can, get, path } from "./api.mjs";
import { clock, count, exact, left, short, size, visible } from "./format.mjs";
import { live } from "./live.mjs";
import { Link, to, useRouter } from "./router.mjs";
import { Empty, ErrorBox, Field, State, When } from "./widgets.mjs";

const READ_MS = 3000;
const SHOWN = 300;
const REASONS = {
  gate_denied: "no rule allows it",
  gate_limit: "too many connections",
  gate_mismatch: "the request names another host",
  gate_tls: "not TLS that names the host",
  gate_upstream: "the host's certificate is not valid",
  gate_http: "not a valid HTTP request",
  host_private: "a private address",
  host_not_found: "there is no such host",
  host_refused: "the host refused it",
  host_timeout: "the host did not answer",
};
const ABOUT = {
  public:
    "This session reaches every public address. Its connections do not go through the gate, so they are not listed.",
  list: "This session reaches only the hosts below.",
  none: "This session has no network. Hosts that are allowed here can be reached from now on.",
};

export const reasonOf = (cause) => REASONS[cause] || (cause || "").replaceAll("_", " ");
const place = ({ name, port }) => `${visible(name)}${port ? `:${port}` : ""}`;

function Rule({ rule, label, onClick }) {
  return html`<li>
    <code>${visible(rule)}</code>
    ${
      can("settings") &&
      html`<button type="button" class="quiet" aria-label="${label} ${visible(rule)}" onClick=${onClick}>
        ${label}
      </button>`
    }
  </li>`;
}

function Rules({ network, change }) {
  const add = (event) => {
    event.preventDefault();
    const form = event.target;
    change({ allow: [form.host.value.trim()] }).then((done) => done && form.reset());
  };
  // A host that a person has removed stays in the list, as a refusal.
  const rules = network.rules || [];
  const allowed = rules.filter((rule) => !rule.startsWith("!"));
  const refused = rules.filter((rule) => rule.startsWith("!")).map((rule) => rule.slice(1));
  return html`<section>
    <h2>Allowed hosts</h2>
    ${
      allowed.length
        ? html`<ul class="rules">
            ${allowed.map((rule) => html`<${Rule} key=${rule} rule=${rule} label="Refuse" onClick=${() => change({ deny: [rule] })} />`)}
          </ul>`
        : html`<p class="muted">None.</p>`
    }
    ${
      refused.length > 0 &&
      html`<h3>Refused</h3>
        <ul class="rules">
          ${refused.map((rule) => html`<${Rule} key=${rule} rule=${rule} label="Allow" onClick=${() => change({ allow: [rule] })} />`)}
        </ul>`
    }
    ${
      can("settings") &&
      html`<form class="inline" onSubmit=${add}>
        <${Field} label="Allow another host"
          ><input name="host" required placeholder="api.example.com" autocomplete="off" spellcheck="false"
        /><//>
        <button type="submit">Allow</button>
      </form>`
    }
  </section>`;
}

// Asks the gate itself, so the answer is what a connection would get.
function Check({ id }) {
  const [answer, setAnswer] = useState(null);
  const [error, setError] = useState(null);
  const check = async (event) => {
    event.preventDefault();
    const host = event.target.host.value.trim();
    try {
      const { allowed, decides } = await get(`${path("sessions", id, "network")}?check=${encodeURIComponent(host)}`);
      setAnswer({ host, allowed, decides });
      setError(null);
    } catch (problem) {
      setAnswer(null);
      setError(problem);
    }
  };
  return html`<section>
    <h2>Check a host</h2>
    <form class="inline" onSubmit=${check}>
      <${Field} label="Host, with a port if it is not 443"
        ><input name="host" required placeholder="db.example.com:5432" autocomplete="off" spellcheck="false"
      /><//>
      <button type="submit">Check</button>
    </form>
    <${ErrorBox} error=${error} onClose=${() => setError(null)} />
    ${
      answer &&
      html`<p role="status">
        <${State} name=${answer.allowed ? "running" : "failed"} words=${answer.allowed ? "allowed" : "refused"} />${" "}
        <code>${visible(answer.host)}</code>
        ${answer.decides ? html`<span class="muted"> by </span><code>${visible(answer.decides)}</code>` : ""}
      </p>`
    }
  </section>`;
}

function Open({ list }) {
  if (!list.length) return html`<p class="muted">None.</p>`;
  return html`<table class="stack">
    <thead>
      <tr>
        <th>host</th>
        <th class="right">sent</th>
        <th class="right">received</th>
        <th class="right">open for</th>
        <th>secret</th>
      </tr>
    </thead>
    <tbody>
      ${list.map(
        (one, i) =>
          html`<tr key=${i}>
            <td class="mono lead">${place(one)}</td>
            <td class="right">${size(one.up || 0)}</td>
            <td class="right">${size(one.down || 0)}</td>
            <td class="right">${left((one.age_ms || 0) / 1000)}</td>
            <td class="mono muted">${visible(one.secret || "")}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function Refused({ network, change }) {
  // A query of a name is listed without a port; the connection says more.
  const list = network.failed.filter((one) => one.port || !network.failed.some((o) => o.port && o.name === one.name));
  if (!list.length) return html`<p class="muted">None.</p>`;
  const ruleOf = (one) => (!one.port || [80, 443].includes(one.port) ? one.name : `${one.name}:${one.port}`);
  const allowed = (one) => one.cause === "gate_denied" && network.kind !== "public" && can("settings");
  return html`<table class="stack">
    <thead>
      <tr>
        <th>host</th>
        <th>reason</th>
        <th class="right">times</th>
        <th><span class="sr-only">commands</span></th>
      </tr>
    </thead>
    <tbody>
      ${list.map(
        (one) =>
          html`<tr key=${place(one) + one.cause}>
            <td class="mono lead">${place(one)}</td>
            <td><${State} name="failed" words=${reasonOf(one.cause)} /></td>
            <td class="right">${one.count.toLocaleString()}</td>
            <td class="right">
              ${
                allowed(one) &&
                html`<button
                  type="button"
                  class="quiet"
                  aria-label="Allow ${place(one)}"
                  onClick=${() => change({ allow: [ruleOf(one)] })}
                >
                  Allow
                </button>`
              }
            </td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

export function Network({ runs }) {
  const [network, setNetwork] = useState(null);
  const [error, setError] = useState(null);
  const address = path("sessions", runs.id, "network");
  const read = () =>
    get(address)
      .then((answer) => setNetwork(answer))
      .catch(setError);
  useEffect(() => {
    if (runs.ended) return undefined;
    read();
    const timer = setInterval(() => document.hidden || read(), READ_MS);
    return () => clearInterval(timer);
  }, [runs, runs.ended, runs.connections]);
  const change = async (body) => {
    try {
      setNetwork(await call("PATCH", address, body));
      setError(null);
      return true;
    } catch (problem) {
      setError(problem);
      return false;
    }
  };
  if (runs.ended) return html`<p class="empty-line">The session has ended.</p>`;
  return html`<div class="parts">
    <${ErrorBox} error=${error} onClose=${() => setError(null)} />
    ${!network && !error && html`<p class="muted">Reading …</p>`}
    ${
      network &&
      html`<p>${ABOUT[network.kind]}</p>
        ${network.kind !== "public" && html`<${Rules} network=${network} change=${change} /><${Check} id=${runs.id} />`}
        ${
          (network.kind !== "public" || network.connections.length || network.failed.length) &&
          html`<section>
              <h2>Open connections</h2>
              <${Open} list=${network.connections} />
            </section>
            <section>
              <h2>Connections that failed</h2>
              <${Refused} network=${network} change=${change} />
            </section>`
        }`
    }
  </div>`;
}

// --- all sessions ---

export function Connection({ event }) {
  const times = event.count > 1 ? ` ${event.count.toLocaleString()} times` : "";
  return html`<code>${visible(event.text || "")}</code>${times}${" "}
    ${
      event.cause
        ? html`<${State} name="failed" words=${reasonOf(event.cause)} />`
        : html`<span class="muted">${size(event.up || 0)} sent, ${size(event.down || 0)} received</span>`
    }
    ${event.secret ? html` <span class="muted">with the secret</span> <code>${visible(event.secret)}</code>` : ""}`;
}

function Secrets() {
  const [list, setList] = useState(null);
  const [error, setError] = useState(null);
  const read = () =>
    get("/v1/secrets")
      .then((answer) => setList(answer.secrets))
      .catch(setError);
  useEffect(() => {
    read();
  }, []);
  const add = async (event) => {
    event.preventDefault();
    const form = event.target;
    const hosts = form.hosts.value.split(/[\s,]+/).filter(Boolean);
    try {
      await call("PUT", path("secrets", form.secret.value.trim()), { value: form.value.value, hosts });
      setError(null);
      form.reset();
      read();
    } catch (problem) {
      setError(problem.request ? Object.assign(problem, { request: null }) : problem); // its body has the value
    }
  };
  const remove = (one) => {
    if (confirm(`Delete the secret ${one.name}? Sessions that use it are refused by its hosts.`))
      call("DELETE", path("secrets", one.name)).then(read).catch(setError);
  };
  return html`<section>
    <h2>Secrets</h2>
    <p class="muted">
      A session that is created with a secret has a placeholder for it. The gate puts the value into requests to these
      hosts, so the value never enters the session.
    </p>
    <form class="inline" onSubmit=${add}>
      <${Field} label="Name"
        ><input name="secret" required placeholder="API_TOKEN" autocomplete="off" spellcheck="false"
      /><//>
      <${Field} label="Value"><input name="value" type="password" required minlength="8" autocomplete="off" /><//>
      <${Field} label="Hosts"
        ><input name="hosts" required placeholder="api.example.com" autocomplete="off" spellcheck="false"
      /><//>
      <button type="submit">Store</button>
    </form>
    <${ErrorBox} error=${error} onClose=${() => setError(null)} />
    ${
      list?.length
        ? html`<table class="stack">
            <thead>
              <tr>
                <th>name</th>
                <th>hosts</th>
                <th>stored</th>
                <th><span class="sr-only">commands</span></th>
              </tr>
            </thead>
            <tbody>
              ${list.map(
                (one) =>
                  html`<tr key=${one.name}>
                    <td class="mono lead">${visible(one.name)}</td>
                    <td class="mono">${(one.hosts || []).map(visible).join(", ")}</td>
                    <td class="muted nowrap"><${When} ms=${one.changed_ms || one.created_ms} /></td>
                    <td class="right">
                      <button
                        type="button"
                        class="quiet danger"
                        aria-label="Delete ${visible(one.name)}"
                        onClick=${() => remove(one)}
                      >
                        Delete
                      </button>
                    </td>
                  </tr>`,
              )}
            </tbody>
          </table>`
        : null
    }
  </section>`;
}

export function Networks() {
  useWatched(live);
  const { query } = useRouter();
  const words = (query.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
  useEffect(() => {
    live.loadActivity().catch(() => {});
  }, []);
  const nameOf = (id) => visible(live.find(id)?.name || short(id));
  const text = (e) =>
    `${e.text} ${nameOf(e.session)} ${e.session} ${reasonOf(e.cause)} ${e.secret || ""}`.toLowerCase();
  const found = live.activity.filter(
    (event) => event.event === "network.connection" && words.every((word) => text(event).includes(word)),
  );
  const list = found.slice(-SHOWN).reverse();
  return html`<div class="parts">
    <div class="bar">
      <h1>Network</h1>
      ${found.length ? html`<span class="muted">${count(found.length, "connection")}</span>` : null}
    </div>
    ${
      list.length
        ? html`<table class="activity stack">
            <thead>
              <tr>
                <th>time</th>
                <th>session</th>
                <th>connection</th>
              </tr>
            </thead>
            <tbody>
              ${list.map(
                (event) =>
                  html`<tr key=${event.position}>
                    <td class="figure muted" title=${exact(event.time_ms)}>${clock(event.time_ms)}</td>
                    <td class="nowrap">
                      <${Link} href=${to("sessions", event.session, "network")}>${nameOf(event.session)}<//>
                    </td>
                    <td class="what"><${Connection} event=${event} /></td>
                  </tr>`,
              )}
            </tbody>
          </table>`
        : html`<${Empty} title=${words.length ? "Nothing matches" : "No connections yet"}>
            <p>
              Connections of sessions that have a list of hosts appear here when they end or are refused. Sessions that
              reach every public address do not use the gate, and are not listed.
            </p>
          <//>`
    }
    ${found.length > SHOWN ? html`<p class="note">Only the newest ${SHOWN} of ${found.length} are shown.</p>` : null}
    ${can("secrets") && html`<${Secrets} />`}
  </div>`;
}
