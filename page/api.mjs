// Requests to /v1, and streams of its journal.
import { Watched } from "./html.mjs";

export const BEYOND = 2 ** 53 - 2; // after this number there is nothing, so a stream begins with the current state
const SILENCE_MS = 40000; // a live stream has a comment every 15 seconds

// A failure in the words of the API.
export class Problem extends Error {
  constructor(status, body, request) {
    super((body && body.detail) || (status ? `The server answered with ${status}.` : "The server cannot be reached."));
    this.status = status;
    this.hint = (body && body.hint) || "";
    this.cause = (body && body.cause) || "";
    this.request = request;
  }
}

export const auth = new Watched();
auth.me = undefined; // undefined = unknown yet, null = not logged in

export function can(scope) {
  return Boolean(auth.me && (auth.me.scopes.includes(scope) || auth.me.scopes.includes("admin")));
}

export function path(...words) {
  return `/v1/${words.map((word) => encodeURIComponent(word)).join("/")}`;
}

// A path in a session: its slashes stay.
export function filePath(session, name) {
  const inner = name.replace(/^\//, "").split("/").map(encodeURIComponent).join("/");
  return `${path("sessions", session, "files")}/${inner}`;
}

// The same request for a terminal.
export function curlOf({ method, target, body }) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const words = ["curl", "-H", '"Authorization: Bearer $KEY"'];
  if (method !== "GET") words.push("-X", method);
  if (body !== undefined) words.push("--json", quoted(JSON.stringify(body)));
  return [...words, quoted(location.origin + target)].join(" ");
}

async function problemOf(answer, request) {
  const body = await answer.json().catch(() => null);
  if (answer.status === 401) {
    auth.me = null;
    auth.changed();
  }
  return new Problem(answer.status, body, request);
}

export async function call(method, target, body, fields = {}) {
  const request = { method, target, body };
  const headers = { Accept: "application/json", ...fields };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(target, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Problem(0, null, request);
  }
  if (!answer.ok) throw await problemOf(answer, request);
  return answer.status === 204 ? null : answer.json();
}

export const get = (target) => call("GET", target);
export const post = (target, body = {}, fields) => call("POST", target, body, fields);

// Follows a journal. It continues after the last event it got, so nothing is missed; if the server no longer has some of
// it, the server says so with an event "gap". Hidden pages give their connection back, since browsers allow only six.
export class Stream {
  constructor(target, { onEvent, onState, after = BEYOND }) {
    this.target = target;
    this.onEvent = onEvent;
    this.onState = onState || (() => {});
    this.last = String(after);
    this.tries = 0;
    this.visibility = () => this.follow();
    document.addEventListener("visibilitychange", this.visibility);
    this.follow();
  }

  close() {
    this.closed = true;
    document.removeEventListener("visibilitychange", this.visibility);
    this.drop();
    clearTimeout(this.hiding);
  }

  drop() {
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    if (this.abort) this.abort.abort();
    this.abort = null;
  }

  follow() {
    clearTimeout(this.hiding);
    if (document.hidden) {
      this.hiding = setTimeout(() => this.drop(), 30000);
    } else if (!this.abort) {
      this.tries = 0;
      this.connect();
    }
  }

  heard() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.abort && this.abort.abort(), SILENCE_MS);
  }

  async connect() {
    if (this.closed) return;
    const abort = new AbortController();
    this.abort = abort;
    try {
      this.heard();
      const answer = await fetch(this.target, {
        headers: { Accept: "text/event-stream", "Last-Event-ID": this.last },
        signal: abort.signal,
      });
      if (!answer.ok) throw await problemOf(answer, { method: "GET", target: this.target });
      this.tries = 0;
      this.onState({ state: "live" });
      await this.read(answer.body.getReader());
      this.again(abort, null);
    } catch (error) {
      this.again(abort, error);
    }
  }

  async read(reader) {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      this.heard();
      rest += decoder.decode(value, { stream: true });
      const messages = rest.split("\n\n");
      rest = messages.pop();
      for (const message of messages) this.take(message);
    }
  }

  take(message) {
    let id = null;
    const data = [];
    for (const line of message.split("\n")) {
      if (line.startsWith("id:")) id = line.slice(3).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
    }
    if (!data.length) return;
    if (id !== null) this.last = id;
    const event = JSON.parse(data.join("\n"));
    if (event.event === "session.ended" || (event.event === "gap" && this.isOver(event))) this.over = true;
    this.onEvent(event);
  }

  // The journal of a session ends with the session.
  isOver(gap) {
    return this.target.includes("/sessions/") && gap.sessions.every((s) => s.status === "ended");
  }

  again(abort, error) {
    if (this.closed || this.abort !== abort) return;
    this.abort = null;
    if (document.hidden) return;
    const final = error instanceof Problem && error.status >= 400 && error.status < 500 && error.status !== 429;
    if (final || (this.over && this.target.includes("/sessions/"))) {
      this.onState({ state: this.over ? "over" : "refused", error });
      return;
    }
    const wait = Math.min(10000, 300 * 2 ** Math.min(this.tries++, 6));
    this.onState({ state: navigator.onLine ? "reconnecting" : "offline", at: Date.now() + wait });
    this.timer = setTimeout(() => this.connect(), wait);
  }
}
