// The frame of the page: login, navigation, keys.
import { html, render, useEffect, useRef, useState, useTick, useWatched } from "./html.mjs";
import { Activity } from "./activity.mjs";
import { Problem, auth, call, get } from "./api.mjs";
import { Exports } from "./exports.mjs";
import { live } from "./live.mjs";
import { Networks } from "./network.mjs";
import { Link, router, to, useRouter } from "./router.mjs";
import { Session } from "./session.mjs";
import { Sessions, useTitle } from "./sessions.mjs";
import { Settings } from "./settings.mjs";
import { ErrorBox } from "./widgets.mjs";

const VIEWS = ["tree", "terminal", "files", "variables", "network", "ports", "usage"];
const VIEW_KEYS = { h: "tree", t: "terminal", f: "files", v: "variables", w: "network", p: "ports", u: "usage" };
const THEMES = ["auto", "light", "dark"];

// --- login ---

function browserName() {
  const agent = navigator.userAgent;
  const name = /Firefox/.test(agent)
    ? "Firefox"
    : /Edg\//.test(agent)
      ? "Edge"
      : /Chrom/.test(agent)
        ? "Chrome"
        : /Safari/.test(agent)
          ? "Safari"
          : "browser";
  const system = /Android/.test(agent)
    ? "Android"
    : /iPhone|iPad/.test(agent)
      ? "iOS"
      : /Mac/.test(agent)
        ? "macOS"
        : /Win/.test(agent)
          ? "Windows"
          : "Linux";
  return `${name} on ${system}`;
}

async function logIn(body) {
  await call("POST", "/v1/login", { ...body, browser: browserName() });
  auth.me = await get("/v1/me");
  auth.changed();
}

// `husk ui` gives a code in the fragment. A browser that is logged in keeps its login.
async function begin() {
  const code = /^#code=([a-z0-9]+)$/.exec(location.hash)?.[1];
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  try {
    auth.me = await get("/v1/me");
  } catch (error) {
    auth.me = null;
    auth.error = error instanceof Problem && error.status === 401 ? null : error;
    if (code) await logIn({ code }).catch((problem) => (auth.error = problem));
  }
  auth.changed();
}

function Login() {
  const [error, setError] = useState(null);
  const submit = (event) => {
    event.preventDefault();
    logIn({ key: new FormData(event.target).get("key").trim() }).catch(setError);
  };
  return html`<main class="login">
    <h1>Husk</h1>
    <p>This page shows sessions of this server. To log in on the machine of the server, run:</p>
    <pre class="quoted">husk ui</pre>
    <p>Or give a key, as <code>husk keys add NAME</code> prints it.</p>
    <form class="inline" onSubmit=${submit}>
      <input name="key" type="password" required placeholder="husk_…" aria-label="Key" autocomplete="off" />
      <button type="submit" class="primary">Log in</button>
    </form>
    <${ErrorBox} error=${error || auth.error} />
  </main>`;
}

// --- header ---

function Dot() {
  useWatched(live);
  useTick(1000);
  const { state, at } = live.connection;
  const seconds = Math.max(0, Math.ceil(((at || 0) - Date.now()) / 1000));
  if (live.missed && Date.now() - live.missed < 8000)
    return html`<span class="state waiting"><span class="icon">●</span> live again; events were missed</span>`;
  if (state === "live") return html`<span class="state running"><span class="icon">●</span> live</span>`;
  if (state === "offline") return html`<span class="state failed"><span class="icon">○</span> offline</span>`;
  if (state === "reconnecting")
    return html`<span class="state waiting"
      ><span class="icon">◌</span> reconnecting${seconds ? ` in ${seconds} s` : ""}</span
    >`;
  return html`<span class="muted">connecting</span>`;
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // The choice lasts as long as the page.
  }
}

function Theme() {
  const [theme, set] = useState(() => document.documentElement.dataset.theme || "auto");
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  const icons = { auto: "◑", light: "☀", dark: "☾" };
  return html`<button
    type="button"
    class="quiet theme"
    title="Theme: ${theme}"
    aria-label="Theme: ${theme}. Change to ${next}."
    onClick=${() => {
      setTheme(next);
      set(next);
    }}
  >
    ${icons[theme]}
  </button>`;
}

function Search() {
  const { words, query } = useRouter();
  const where = words[0] || "sessions";
  const usable = !words.length || ["activity", "network", "new"].includes(words[0]);
  if (!usable) return html`<span class="grow"></span>`;
  return html`<input
    id="search"
    type="search"
    placeholder="Search   /"
    aria-label=${{ activity: "Search the activity", network: "Search the connections" }[where] || "Search the sessions"}
    value=${query.get("q") || ""}
    onInput=${(event) => router.set({ q: event.target.value }, true)}
  />`;
}

function Header() {
  const { words } = useRouter();
  const at = words[0] || "sessions";
  const link = (id, label, href) =>
    html`<${Link} href=${href} aria-current=${at === id || (id === "sessions" && at === "new") ? "page" : undefined}
      >${label}<//
    >`;
  return html`<header class="top">
    <${Link} href=${to()} class="brand">husk<//>
    <nav aria-label="Main">
      ${link("sessions", "Sessions", to())} ${link("activity", "Activity", to("activity"))}
      ${link("exports", "Exports", to("exports"))} ${link("network", "Network", to("network"))}
    </nav>
    <${Search} />
    <span class="dot" role="status"><${Dot} /></span>
    <${Theme} />
    ${link("settings", html`<span aria-hidden="true">⚙</span><span class="sr-only">Settings</span>`, to("settings"))}
  </header>`;
}

// --- keys ---

const KEYS = [
  ["j, k", "next, previous session or run"],
  ["Enter", "open"],
  ["Esc", "close the panel, go back"],
  ["i", "interrupt what runs"],
  ["e", "type a cell or an answer"],
  ["c, t, f, v", "cells, terminal, files, variables"],
  ["h, w, p, u", "tree of cells, network, ports, usage"],
  ["n", "new session"],
  ["g s, g a, g e, g n", "sessions, activity, exports, network"],
  ["/", "search"],
  ["?", "these keys"],
];

function Help({ open, onClose }) {
  const dialog = useRef();
  useEffect(() => {
    if (open) dialog.current.showModal();
    else dialog.current.close();
  }, [open]);
  return html`<dialog ref=${dialog} class="help" aria-label="Keys" onClose=${onClose}>
    <h2>Keys</h2>
    <dl class="facts-list">
      ${KEYS.map(
        ([key, what]) =>
          html`<dt key=${key}>${key.split(", ").map((k, i) => html`${i ? ", " : ""}<kbd>${k}</kbd>`)}</dt>
            <dd>${what}</dd>`,
      )}
    </dl>
    <button type="button" onClick=${onClose}>Close</button>
  </dialog>`;
}

function moveInNotebook(step) {
  const cells = [...document.querySelectorAll(".cell")];
  if (!cells.length) return;
  const at = cells.indexOf(document.activeElement.closest?.(".cell"));
  const next = cells[at < 0 ? (step > 0 ? 0 : cells.length - 1) : Math.min(cells.length - 1, Math.max(0, at + step))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function back() {
  if (router.query.get("run") || router.query.get("file")) router.set({ run: null, file: null, wide: null });
  else if (document.activeElement && document.activeElement !== document.body) document.activeElement.blur();
  else if (router.words.length) router.go(router.words.length > 2 ? to("sessions", router.words[1]) : to());
}

function useKeys(setHelp) {
  useEffect(() => {
    let before = "";
    const press = (event) => {
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (event.key === "Escape") {
        if (typing) event.target.blur();
        else back();
        return;
      }
      if (typing) return;
      const [where, id] = router.words;
      const inSession = where === "sessions" && id;
      const keys = {
        "?": () => setHelp(true),
        "/": () => document.getElementById("search")?.focus(),
        n: () => router.go(to("new")),
        i: () => document.querySelector(".session-head .commands > .interrupt:not([disabled])")?.click(),
        e: () => document.getElementById("prompt")?.focus(),
        c: () => inSession && router.go(to("sessions", id)),
        j: () => (inSession ? moveInNotebook(1) : dispatchEvent(new CustomEvent("husk-key", { detail: "j" }))),
        k: () => (inSession ? moveInNotebook(-1) : dispatchEvent(new CustomEvent("husk-key", { detail: "k" }))),
      };
      for (const [key, view] of Object.entries(VIEW_KEYS))
        keys[key] = () => inSession && router.go(to("sessions", id, view));
      const after = { s: to(), a: to("activity"), e: to("exports"), n: to("network") };
      if (before === "g" && after[event.key]) {
        event.preventDefault();
        router.go(after[event.key]);
      } else if (event.key === "Enter" && event.target === document.body) {
        dispatchEvent(new CustomEvent("husk-key", { detail: "Enter" }));
      } else if (keys[event.key]) {
        event.preventDefault();
        keys[event.key]();
      }
      before = event.key;
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

// --- the page ---

function Screen() {
  const { words } = useRouter();
  const [where, id, view] = words;
  if (!where || where === "new") return html`<${Sessions} creating=${where === "new"} />`;
  if (where === "sessions" && id)
    return html`<${Session} key=${id} id=${id} view=${VIEWS.includes(view) ? view : "cells"} />`;
  if (where === "activity") return html`<${Activity} />`;
  if (where === "exports") return html`<${Exports} />`;
  if (where === "network") return html`<${Networks} />`;
  if (where === "settings") return html`<${Settings} view=${id || "clients"} />`;
  return html`<p class="empty-line">There is no such page. <${Link} href=${to()}>Sessions<//></p>`;
}

function Page() {
  const [help, setHelp] = useState(false);
  useKeys(setHelp);
  useTitle();
  useEffect(() => {
    live.start();
    return () => live.stop();
  }, []);
  return html`<${Header} />
    <main class="screen"><${Screen} /></main>
    <${Help} open=${help} onClose=${() => setHelp(false)} />`;
}

function App() {
  useWatched(auth);
  if (auth.me === undefined) return null;
  return auth.me ? html`<${Page} />` : html`<${Login} />`;
}

try {
  setTheme(localStorage.getItem("theme") || "auto");
} catch {
  // Without storage, the theme is the system's.
}
render(html`<${App} />`, document.getElementById("app"));
begin();
