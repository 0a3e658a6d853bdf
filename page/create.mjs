// Creates a session, with all options of the API.
import { html, useEffect, useState } from "./html.mjs";
import { get, post } from "./api.mjs";
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
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  useEffect(() => {
    get("/v1/openapi.json")
      .then((description) => {
        const schema = description.paths["/v1/sessions"].post.requestBody.content["application/json"].schema;
        setLanguages(schema.properties.language.enum || ["python"]);
      })
      .catch(() => {});
  }, []);
  const create = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const text = (name) => form.get(name).trim() || undefined;
    const body = {
      language: form.get("language"),
      name: text("name"),
      network: form.get("network") === "on",
      dependencies: pairs(form.get("dependencies"), "=="),
      env: pairs(form.get("env"), "="),
      cwd: text("cwd"),
      memory: text("memory"),
      disk: text("disk"),
      cpus: text("cpus") && Number(form.get("cpus")),
      image: text("image"),
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
      <label class="check"><input type="checkbox" name="network" checked /> Internet access</label>
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
        <${Field} label="Directory"><input name="cwd" placeholder="/workspace" /><//>
        <${Field} label="Image" hint="A name from CONTAINER_IMAGES"><input name="image" /><//>
      </details>
      <${ErrorBox} error=${error} />
      <button type="submit" class="primary" disabled=${busy}>${busy ? "Creating …" : "Create"}</button>
    </form>
  </aside>`;
}
