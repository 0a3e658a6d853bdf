// Servers in a session. A browser opens one at an origin of its own, so its pages cannot act as this page.
import { html, useState } from "./html.mjs";
import { can, path, post } from "./api.mjs";
import { short } from "./format.mjs";
import { router, useRouter } from "./router.mjs";
import { ErrorBox, Field, Snippet } from "./widgets.mjs";

const PORT_MAX = 65535;

// The address works once, so it is not shown as a link.
function openTab(href) {
  const link = document.createElement("a");
  Object.assign(link, { href, target: "_blank", rel: "noopener noreferrer" });
  link.click();
}

export function Ports({ runs }) {
  const port = Number(useRouter().query.get("port")) || 0;
  const [error, setError] = useState(null);
  const [opened, setOpened] = useState("");
  const open = async (event) => {
    event.preventDefault();
    const wanted = Number(event.target.port.value);
    router.set({ port: wanted }, true);
    setError(null);
    try {
      const { url } = await post(path("sessions", runs.id, "ports"), { port: wanted });
      openTab(url);
      setOpened(new URL(url).host);
    } catch (problem) {
      setError(problem);
    }
  };
  if (!can("ports")) return html`<p class="note">This login may not use ports.</p>`;
  if (runs.ended) return html`<p class="empty-line">The session has ended.</p>`;
  const address = `${location.origin}${path("sessions", runs.id, "ports")}/${port || "PORT"}/`;
  return html`<div class="parts">
    <p>
      A server that a cell or a command starts on 127.0.0.1 or 0.0.0.0 can be opened from here, also if the session has
      no network.
    </p>
    <form class="inline" onSubmit=${open}>
      <${Field} label="Port"
        ><input
          name="port"
          type="number"
          min="1"
          max=${PORT_MAX}
          required
          placeholder="8000"
          value=${port || ""}
          autocomplete="off"
      /><//>
      <button type="submit" class="primary">Open in a new tab</button>
    </form>
    <${ErrorBox} error=${error} onClose=${() => setError(null)} />
    ${opened && html`<p class="strip" role="status">Opened at ${opened}. Only this browser has its cookie.</p>`}
    <div class="snippets">
      <${Snippet} title="On the machine of the server" text=${`husk open ${short(runs.id)} ${port || "PORT"}`} />
      <${Snippet} title="From a program, with a key" text=${`curl -H "Authorization: Bearer $KEY" ${address}`} />
    </div>
  </div>`;
}
