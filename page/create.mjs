// Creates a session, with all options of the API.
import { html, useEffect, useState } from "./html.mjs";
import { can, get, post } from "./api.mjs";
import { live } from "./live.mjs";
import { router, to } from "./router.mjs";
import { ErrorBox, Field } from "./widgets.mjs";

// "pandas==2.2" or "TZ=Europe/Berlin", one on each line.
function pairs(text, separator) {
  const out = {};
  for (const line of text.split("\n").map((l) => l.trim())) {
    const at = line.indexOf(separator);
    if (line) out[at < 0 ? line : line.slice(0, at).trim()] = at < 0 ? "" : line.slice(at + separator.length).trim();
  }
  return Object.keys(out).length ? out : undefined;
}

export function Create() {
  const [languages, setLanguages] = useState(["python"]);
  const [network, setNetwork] = useState("public");
  const [secrets, setSecrets] = useState([]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  useEffect(() => {
    get("/v1/openapi.json")
      .then((description) => {
        const schema = description.paths["/v1/sessions"].post.requestBody.content["application/json"].schema;
        setLanguages(schema.properties.language.enum || ["python"]);
      })
      .catch(() => {});
    if (can("secrets"))
      get("/v1/secrets")
        .then((answer) => setSecrets(answer.secrets))
        .catch(() => {});
  }, []);
  const create = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const text = (name) => form.get(name).trim() || undefined;
    const hosts = (form.get("hosts") || "").split(/[\s,]+/).filter(Boolean);
    const body = {
      language: form.get("language"),
      name: text("name"),
      network: { public: true, list: hosts, none: false }[network],
      secrets: form.getAll("secret").length ? form.getAll("secret") : undefined,
      dependencies: pairs(form.get("dependencies"), "=="),
      env: pairs(form.get("env"), "="),
      cwd: text("cwd"),
      memory: text("memory"),
      disk: text("disk"),
      cpus: text("cpus") && Number(form.get("cpus")),
      image: text("image"),
      on: text("on"),
      labels: pairs(form.get("labels"), "="),
    };
    setBusy(true);
    setError(null);
    try {
      const session = await post("/v1/sessions", JSON.parse(JSON.stringify(body)));
      live.refresh();
      router.go(to("sessions", session.id));
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return html`<aside class="side" aria-label="New session">
    <header>
      <h2>New session</h2>
      <button type="button" class="quiet" aria-label="Close the panel" onClick=${() => router.go(to())}>✕</button>
    </header>
    <form class="form" onSubmit=${create}>
      <${Field} label="Language"
        ><select name="language">
          ${languages.map((language) => html`<option key=${language}>${language}</option>`)}
        </select><//
      >
      <${Field} label="Name" hint="Can be used instead of the id."><input name="name" autocomplete="off" /><//>
      <${Field} label="Network"
        ><select name="network" value=${network} onChange=${(event) => setNetwork(event.target.value)}>
          <option value="public">every public address</option>
          <option value="list">only these hosts</option>
          <option value="none">none</option>
        </select><//
      >
      ${
        network === "list" &&
        html`<${Field}
          label="Hosts"
          hint="One on each line: api.example.com, *.example.org, db.example.com:5432, @python"
        >
          <textarea name="hosts" rows="3" required spellcheck="false"></textarea>
        <//>`
      }
      <${Field} label="Packages" hint="One on each line: pandas or pandas==2.2.3">
        <textarea name="dependencies" rows="3" spellcheck="false"></textarea>
      <//>
      <div class="three">
        <${Field} label="Memory"><input name="memory" placeholder="2g" /><//>
        <${Field} label="CPUs"><input name="cpus" inputmode="decimal" placeholder="2" /><//>
        <${Field} label="Disk"><input name="disk" placeholder="4g" /><//>
      </div>
      <details>
        <summary>More options</summary>
        <${Field} label="Environment" hint="One on each line: NAME=value">
          <textarea name="env" rows="3" spellcheck="false"></textarea>
        <//>
        ${
          secrets.length > 0 &&
          html`<fieldset>
            <legend>Secrets</legend>
            ${secrets.map((one) => html`<label class="check" key=${one.name}><input type="checkbox" name="secret" value=${one.name} /> <code>${one.name}</code></label>`)}
          </fieldset>`
        }
        <${Field} label="Directory"><input name="cwd" placeholder="/workspace" /><//>
        <${Field} label="Image" hint="A name from CONTAINER_IMAGES"><input name="image" /><//>
        <${Field} label="Host" hint="A name from CONTAINER_POOL"><input name="on" /><//>
        <${Field} label="Labels" hint="One on each line: team=data">
          <textarea name="labels" rows="2" spellcheck="false"></textarea>
        <//>
      </details>
      <${ErrorBox} error=${error} />
      <button type="submit" class="primary" disabled=${busy}>${busy ? "Creating …" : "Create"}</button>
    </form>
  </aside>`;
}
