// The line at the end of a notebook: it runs cells and commands, and answers programs that wait for input.
import { html, useEffect, useRef, useState } from "./html.mjs";
import { can, path, post } from "./api.mjs";
import { visible } from "./format.mjs";
import { ErrorBox } from "./widgets.mjs";

// Positions of the API count code points, those of a text box UTF-16 units.
const points = (text) => [...text].length;
const units = (text, n) => [...text].slice(0, n).join("").length;

function Answer({ runs, run }) {
  const [error, setError] = useState(null);
  const input = useRef();
  const prompt = run.prompt || { text: "" };
  useEffect(() => input.current.focus(), [run.number]);
  const send = async (event) => {
    event.preventDefault();
    try {
      await post(`${path("sessions", runs.id, "runs", run.number)}/input`, { text: input.current.value });
      input.current.value = "";
    } catch (problem) {
      setError(problem);
    }
  };
  return html`<form class="prompt answering" onSubmit=${send}>
    <${ErrorBox} error=${error} onClose=${() => setError(null)} />
    <div class="prompt-row">
      <label for="prompt"
        ><span class="state waiting">◐</span> run ${run.number} asks${" "}
        <q>${visible(prompt.text) || "for input"}</q></label
      >
      <input
        id="prompt"
        ref=${input}
        type=${prompt.password ? "password" : "text"}
        autocomplete="off"
        spellcheck="false"
      />
      <button type="submit" class="primary">Answer</button>
    </div>
  </form>`;
}

export function Prompt({ runs }) {
  const [kind, setKind] = useState("cell");
  const branches = runs.info?.usage?.branches || [];
  const branch = branches.find((one) => kind === `branch ${one.name}`)?.name;
  const isCell = kind !== "command";
  const [matches, setMatches] = useState(null);
  const [error, setError] = useState(null);
  const box = useRef();
  const place = useRef(null); // place in the history
  if (runs.prompting) return html`<${Answer} runs=${runs} run=${runs.prompting} />`;
  if (!can("run")) return null;
  const fit = () => {
    box.current.style.height = "auto";
    box.current.style.height = `${Math.min(box.current.scrollHeight, 320)}px`;
  };
  const put = (text, at = text.length) => {
    box.current.value = text;
    box.current.setSelectionRange(at, at);
    fit();
  };
  const send = async () => {
    const text = box.current.value;
    if (!text.trim()) return;
    setMatches(null);
    place.current = null;
    put("");
    try {
      const where = branch ? { kind: "cell", branch } : { kind: isCell ? "cell" : "command" };
      await post(path("sessions", runs.id, "runs"), { text, ...where, by: "page", timeout: 0, interactive: true });
      scrollTo(0, document.scrollingElement.scrollHeight);
    } catch (problem) {
      put(text);
      setError(problem);
    }
  };
  const recall = (step) => {
    const texts = runs.list
      .filter((run) => run.kind === (isCell ? "cell" : "command") && run.text)
      .map((run) => run.text);
    const at = Math.max(0, (place.current ?? texts.length) + step);
    place.current = at;
    put(texts[at] || "");
  };
  const complete = async () => {
    const { value, selectionStart } = box.current;
    const answer = await post(`${path("sessions", runs.id)}/complete`, {
      code: value,
      cursor: points(value.slice(0, selectionStart)),
    }).catch(() => null);
    if (!answer || box.current.value !== value) return;
    const found = answer.matches || [];
    const [start, end] = [units(value, answer.start || 0), units(value, answer.end || 0)];
    if (found.length === 1) put(value.slice(0, start) + found[0] + value.slice(end), start + found[0].length);
    setMatches(found.length > 1 ? { found: found.slice(0, 60), start, end } : null);
  };
  const choose = (match) => {
    const { value } = box.current;
    put(value.slice(0, matches.start) + match + value.slice(matches.end), matches.start + match.length);
    setMatches(null);
    box.current.focus();
  };
  const onKeyDown = (event) => {
    const { value, selectionStart, selectionEnd } = box.current;
    const before = value.slice(0, selectionStart);
    if (event.key === "Enter" && (event.shiftKey || event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      send();
    } else if (event.key === "Tab" && !event.shiftKey && isCell && /[\w.)\]]$/.test(before)) {
      event.preventDefault();
      complete();
    } else if (event.key === "ArrowUp" && !before.includes("\n") && selectionStart === selectionEnd) {
      event.preventDefault();
      recall(-1);
    } else if (event.key === "ArrowDown" && place.current !== null && !value.slice(selectionEnd).includes("\n")) {
      event.preventDefault();
      recall(1);
    } else if (event.key === "Escape") {
      if (matches) setMatches(null);
      else box.current.blur();
      event.stopPropagation();
    }
  };
  return html`<div class="prompt">
    <${ErrorBox} error=${error} onClose=${() => setError(null)} />
    ${
      matches &&
      html`<div class="matches" role="group" aria-label="Completions">
        ${matches.found.map((match) => html`<button type="button" key=${match} onClick=${() => choose(match)}>${match}</button>`)}
      </div>`
    }
    <div class="prompt-row">
      <span class="sign" aria-hidden="true">${isCell ? "›" : "$"}</span>
      <textarea
        id="prompt"
        ref=${box}
        rows="1"
        placeholder=${isCell ? "Type a cell" : "Type a command"}
        aria-label=${isCell ? "A cell to run" : "A command to run"}
        autocapitalize="off"
        autocomplete="off"
        spellcheck="false"
        onInput=${fit}
        onKeyDown=${onKeyDown}
      ></textarea>
      <select aria-label="What to run" value=${kind} onChange=${(event) => setKind(event.target.value)}>
        <option value="cell">${runs.info?.language || "cell"}</option>
        ${branches.map(({ name }) => html`<option key=${name} value="branch ${name}">in ${visible(name)}</option>`)}
        <option value="command">bash</option>
      </select>
      <button type="button" class="primary" title="Shift+Enter" onClick=${send}>Run</button>
    </div>
  </div>`;
}
