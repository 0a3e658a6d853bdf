// Files of a session: browse, preview, upload, download, delete.
import { html, useEffect, useRef, useState } from "./html.mjs";
import { Problem, call, can, filePath, get, path, post } from "./api.mjs";
import { exact, size, visible } from "./format.mjs";
import { Code } from "./highlight.mjs";
import { router, useRouter } from "./router.mjs";
import { ErrorBox, When } from "./widgets.mjs";

const PREVIEW_BYTES = 256 * 1024;
const PICTURES = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp" };
const LANGUAGES = { py: "python", js: "node", mjs: "node", r: "r", sh: "bash" };
const START = "/workspace";

function join(folder, name) {
  return `${folder.replace(/\/$/, "")}/${name}`;
}

// Sends a file and tells how much of it has arrived.
function upload(session, folder, file, onProgress) {
  const target = filePath(session, join(folder, file.name));
  return new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    request.open("PUT", target);
    request.upload.onprogress = (event) => onProgress(event.loaded / Math.max(event.total, 1));
    request.onload = () => {
      if (request.status < 300) return done();
      let body = null;
      try {
        body = JSON.parse(request.responseText);
      } catch {
        // The status is enough.
      }
      return fail(new Problem(request.status, body, { method: "PUT", target }));
    };
    request.onerror = () => fail(new Problem(0, null, { method: "PUT", target }));
    request.send(file);
  });
}

function Preview({ id, name }) {
  const [shown, setShown] = useState(null);
  const [error, setError] = useState(null);
  const extension = name.split(".").pop().toLowerCase();
  useEffect(() => {
    let url = null;
    let left = false;
    setShown(null);
    setError(null);
    const read = async () => {
      const answer = await fetch(
        filePath(id, name),
        PICTURES[extension] ? {} : { headers: { Range: `bytes=0-${PREVIEW_BYTES - 1}` } },
      );
      if (!answer.ok && answer.status !== 416)
        throw new Problem(answer.status, await answer.json().catch(() => null), {
          method: "GET",
          target: filePath(id, name),
        });
      const bytes = answer.status === 416 ? new ArrayBuffer(0) : await answer.arrayBuffer();
      if (left) return;
      if (PICTURES[extension]) {
        const binary = new Uint8Array(bytes);
        let text = "";
        for (let i = 0; i < binary.length; i += 8192) text += String.fromCharCode(...binary.subarray(i, i + 8192));
        url = `data:${PICTURES[extension]};base64,${btoa(text)}`;
        setShown({ picture: url });
      } else {
        const text = new TextDecoder().decode(bytes);
        setShown(text.includes("\0") ? { binary: true } : { text, cut: bytes.byteLength === PREVIEW_BYTES });
      }
    };
    read().catch(setError);
    return () => {
      left = true;
    };
  }, [id, name]);
  return html`<aside class="side wide" aria-label="Preview">
    <header>
      <h2 class="mono">${visible(name.split("/").pop())}</h2>
      <a class="button" href=${filePath(id, name)} download=${name.split("/").pop()}>Download</a>
      <button type="button" class="quiet" aria-label="Close the preview" onClick=${() => router.set({ file: null })}>
        ✕
      </button>
    </header>
    <${ErrorBox} error=${error} />
    ${shown?.picture && html`<img class="preview" src=${shown.picture} alt=${visible(name)} />`}
    ${shown?.binary && html`<p class="muted">This file is not text.</p>`}
    ${shown?.text !== undefined && html`<pre class="quoted preview" tabindex="0"><${Code} text=${shown.text} language=${LANGUAGES[extension]} /></pre>`}
    ${shown?.cut && html`<p class="note">Only the first ${size(PREVIEW_BYTES)} are shown.</p>`}
  </aside>`;
}

function Crumbs({ folder }) {
  const words = folder.split("/").filter(Boolean);
  return html`<nav class="crumbs" aria-label="Folder">
    <button type="button" class="quiet" onClick=${() => router.set({ dir: "/", file: null })}>/</button>
    ${words.map((word, i) => {
      const dir = `/${words.slice(0, i + 1).join("/")}`;
      return html`<button type="button" class="quiet" key=${dir} onClick=${() => router.set({ dir, file: null })}>
          ${visible(word)}</button
        >${i < words.length - 1 && html`<span class="muted">/</span>`}`;
    })}
  </nav>`;
}

function Sending({ one }) {
  return html`<p class="sending">
    <span>${visible(one.name)}</span>
    <progress value=${one.done} max="1" aria-label="Upload of ${visible(one.name)}"></progress>
    <span class="figure">${Math.round(one.done * 100)} %</span>
  </p>`;
}

function Commands({ id, entry, name, act }) {
  const isFolder = entry.type === "directory";
  const keep = () => act(post(`${path("sessions", id)}/exports`, { files: [{ path: name }] }));
  const remove = () =>
    confirm(`Delete ${visible(name)}?`) &&
    act(call("DELETE", `${filePath(id, name)}${isFolder ? "?recursive=true" : ""}`));
  const kept = "Keep a copy when the session ends";
  return html`
    ${!isFolder && html`<a class="quiet" href=${filePath(id, name)} download=${entry.name}>Download</a>`}
    ${can("files:read") && html`<button type="button" class="quiet" title=${kept} onClick=${keep}>Export</button>`}
    ${can("files:write") && html`<button type="button" class="quiet danger" onClick=${remove}>Delete</button>`}
  `;
}

export function Files({ id }) {
  const { query } = useRouter();
  const folder = query.get("dir") || START;
  const file = query.get("file");
  const [list, setList] = useState(null);
  const [error, setError] = useState(null);
  const [sending, setSending] = useState([]);
  const [over, setOver] = useState(false);
  const chooser = useRef();
  const place = useRef();
  place.current = `${id} ${folder}`;
  const read = () => {
    const wanted = place.current;
    get(`${filePath(id, folder).replace(/\/$/, "")}/?limit=1000`)
      .then((answer) => {
        if (place.current !== wanted) return; // another folder was opened meanwhile
        setList(answer);
        setError(null);
      })
      .catch(setError);
  };
  useEffect(() => {
    setList(null);
    read();
  }, [id, folder]);
  const send = async (files) => {
    for (const one of files) {
      const entry = { name: one.name, done: 0 };
      setSending((all) => [...all, entry]);
      try {
        await upload(id, folder, one, (done) => {
          entry.done = done;
          setSending((all) => [...all]);
        });
      } catch (problem) {
        setError(problem);
      }
      setSending((all) => all.filter((other) => other !== entry));
    }
    read();
  };
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    if (can("files:write")) send([...event.dataTransfer.files]);
  };
  const act = (promise) => promise.then(read).catch(setError);
  const entries = [...(list?.entries || [])].sort(
    (a, b) => (a.type === "directory" ? 0 : 1) - (b.type === "directory" ? 0 : 1) || (a.name < b.name ? -1 : 1),
  );
  return html`<div
    class="files ${over ? "over" : ""} ${file ? "with-side" : ""}"
    onDragOver=${(e) => e.preventDefault() || setOver(true)}
    onDragLeave=${() => setOver(false)}
    onDrop=${drop}
  >
    <div>
      <div class="bar">
        <${Crumbs} folder=${folder} />
        ${
          can("files:write") &&
          html`<input
              ref=${chooser}
              type="file"
              multiple
              class="sr-only"
              tabindex="-1"
              aria-label="Files to upload"
              onChange=${(e) => send([...e.target.files])}
            />
            <button type="button" onClick=${() => chooser.current.click()}>Upload</button>`
        }
      </div>
      <${ErrorBox} error=${error} onClose=${() => setError(null)} />
      ${sending.map((one) => html`<${Sending} key=${one.name} one=${one} />`)}
      ${
        list &&
        html`<table>
          <thead>
            <tr>
              <th>name</th>
              <th class="right">size</th>
              <th class="changed">changed</th>
              <th><span class="sr-only">commands</span></th>
            </tr>
          </thead>
          <tbody>
            ${entries.map((entry) => {
              const name = join(folder, entry.name);
              const isFolder = entry.type === "directory";
              return html`<tr key=${entry.name} class=${name === file ? "selected" : ""}>
                <td>
                  <button
                    type="button"
                    class="link mono"
                    onClick=${() => router.set(isFolder ? { dir: name, file: null } : { file: name })}
                  >
                    ${visible(entry.name)}${isFolder ? "/" : ""}${entry.target ? html` <span class="muted">→ ${visible(entry.target)}</span>` : ""}
                  </button>
                </td>
                <td class="right figure">${isFolder ? "" : size(entry.size || 0)}</td>
                <td class="muted changed" title=${exact(entry.mtime_ms)}><${When} ms=${entry.mtime_ms} /></td>
                <td class="right nowrap">
                  <${Commands} id=${id} entry=${entry} name=${name} act=${act} />
                </td>
              </tr>`;
            })}
          </tbody>
        </table>`
      }
      ${list && !entries.length && html`<p class="empty-line">This folder is empty.${can("files:write") ? " Drop files here to upload them." : ""}</p>`}
      ${list?.more && html`<p class="note">Only the first 1,000 names are listed.</p>`}
    </div>
    ${file && html`<${Preview} id=${id} name=${file} />`}
  </div>`;
}
