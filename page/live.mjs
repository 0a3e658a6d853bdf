// All sessions and the journal of this server, for the list, the title and the activity.
import { Stream, get, path } from "./api.mjs";
import { Watched } from "./html.mjs";

const LIST_MS = 5000;
const USAGE_MS = 4000;
const HIDDEN_LIST_MS = 15000;
const ACTIVITY_MAX = 2000;

class Live extends Watched {
  constructor() {
    super();
    this.sessions = [];
    this.loaded = false;
    this.error = null;
    this.runs = new Map(); // session -> Map of its runs that have not ended
    this.usage = new Map(); // session -> {memory, limit, samples}
    this.activity = [];
    this.connection = { state: "connecting" };
    this.shown = new Map(); // session -> number of rows that show it
    this.withEnded = false;
    this.all = true;
  }

  start() {
    if (this.list) return;
    this.list = setInterval(() => document.hidden || this.refresh(), LIST_MS);
    this.listHidden = setInterval(() => document.hidden && this.refresh(), HIDDEN_LIST_MS);
    this.measuring = setInterval(() => document.hidden || this.measure(), USAGE_MS);
    this.follow(this.all);
    this.refresh();
  }

  // A screen that follows one session does without the journal of all: browsers allow six connections to a server.
  follow(all) {
    this.all = all;
    if (!all) {
      if (this.stream) this.stream.close();
      this.stream = null;
      this.runs.clear();
      this.begun = false;
      return;
    }
    if (this.stream || !this.list) return;
    this.stream = new Stream("/v1/events?all=true&quiet=true", {
      onEvent: (event) => this.take(event),
      onState: (state) => {
        const was = this.connection.state;
        this.connection = state;
        if (state.state === "live" && was !== "live") this.refresh();
        this.changed();
      },
    });
  }

  stop() {
    if (this.stream) this.stream.close();
    this.stream = null;
    clearInterval(this.list);
    clearInterval(this.listHidden);
    clearInterval(this.measuring);
    this.list = null;
  }

  async refresh() {
    if (this.refreshing) {
      this.refreshAgain = true; // the answer may not have what has just changed
      return;
    }
    this.refreshing = true;
    try {
      const { sessions } = await get(`/v1/sessions?all=true&brief=true${this.withEnded ? "&ended=true" : ""}`);
      const now = Date.now();
      this.sessions = sessions.map((session) => ({ ...session, at: now }));
      this.error = null;
      if (!this.loaded) setTimeout(() => this.measure(), 0);
      this.loaded = true;
    } catch (error) {
      this.error = error;
    }
    this.refreshing = false;
    this.changed();
    if (!this.refreshAgain) return;
    this.refreshAgain = false;
    await this.refresh();
  }

  find(id) {
    return this.sessions.find((session) => session.id === id || session.name === id);
  }

  runsOf(session) {
    return this.runs.get(session) || new Map();
  }

  // Only what somebody sees is measured.
  show(session, shown) {
    const n = (this.shown.get(session) || 0) + (shown ? 1 : -1);
    if (n > 0) this.shown.set(session, n);
    else this.shown.delete(session);
  }

  async measure() {
    const ids = [...this.shown.keys()].filter((id) => {
      const session = this.find(id);
      return session && ["running", "busy"].includes(session.status) && !this.asking?.has(id);
    });
    this.asking ||= new Set();
    for (const id of ids) {
      this.asking.add(id);
      get(path("sessions", id, "usage"))
        .then((answer) => this.keepUsage(id, answer))
        .catch(() => {})
        .finally(() => this.asking.delete(id));
    }
  }

  keepUsage(id, { usage, limits, samples = [] }) {
    const cpu = [];
    for (let i = 1; i < samples.length; i++) {
      const ms = samples[i].time_ms - samples[i - 1].time_ms;
      if (samples[i].cpu_us && ms > 0) cpu.push(Math.max(0, (samples[i].cpu_us - samples[i - 1].cpu_us) / 1000 / ms));
    }
    this.usage.set(id, {
      memory: usage && usage.memory,
      limit: limits && limits.memory,
      cpus: (limits && limits.cpus) || 1,
      history: samples.map((sample) => sample.memory),
      cpu,
      samples,
    });
    this.changed();
  }

  // --- the journal ---

  take(event) {
    if (event.event === "gap") this.takeState(event);
    else this.takeEvent(event);
    this.changed();
  }

  takeState(gap) {
    this.runs.clear();
    for (const session of gap.sessions) {
      if (!session.runs.length) continue;
      this.runs.set(session.session, new Map(session.runs.map((run) => [run.run, run])));
      for (const run of session.runs) if (run.state === "waiting") this.readPrompt(session.session, run);
    }
    if (this.begun) this.missed = Date.now();
    this.begun = true;
    this.refresh();
  }

  // The state does not have the text that a program has shown.
  async readPrompt(session, run) {
    const { prompts = [] } = await get(path("sessions", session, "runs", run.run)).catch(() => ({}));
    if (prompts.length) run.prompt = prompts[prompts.length - 1].text;
    this.changed();
  }

  takeEvent(event) {
    const runs = this.runs.get(event.session) || new Map();
    const run = runs.get(event.run) || { run: event.run, kind: event.kind, by: event.by };
    if (event.event !== "run.output" && event.event !== "run.display") this.keepActivity(event);
    switch (event.event) {
      case "run.queued":
        runs.set(event.run, { ...run, state: "queued", text: event.text, queued_ms: event.time_ms });
        break;
      case "run.started":
        runs.set(event.run, { ...run, state: "running", started_ms: event.time_ms });
        break;
      case "run.output":
        runs.set(event.run, { ...run, state: "running", last: (event.text || "").trimEnd().split("\n").pop() });
        break;
      case "run.prompt":
        runs.set(event.run, { ...run, state: "waiting", prompt: event.text || run.last || "" });
        break;
      case "run.answered":
        runs.set(event.run, { ...run, state: "running" });
        break;
      case "run.ended":
        runs.delete(event.run);
        break;
      case "session.ended":
        this.runs.delete(event.session);
        break;
    }
    if (event.run && event.event !== "session.ended") this.runs.set(event.session, runs);
    if (event.event.startsWith("session.") || event.event === "run.ended") this.refresh();
  }

  keepActivity(event) {
    this.activity.push(event);
    if (this.activity.length > ACTIVITY_MAX) this.activity.splice(0, this.activity.length - ACTIVITY_MAX);
  }

  // Events from before the page was opened, once.
  async loadActivity() {
    if (this.activityLoaded) return;
    this.activityLoaded = true;
    const known = new Set(this.activity.map((event) => event.position));
    const older = [];
    for (const only of ["session", "run.queued", "run.ended", "files", "network", "checkpoint", "limit"]) {
      let after = 0;
      for (let page = 0; page < 8; page++) {
        const { events, next } = await get(`/v1/events?all=true&only=${only}&after=${after}&limit=500`);
        older.push(...events.filter((event) => event.event !== "gap" && !known.has(event.position)));
        if (events.length < 500) break;
        after = next;
      }
    }
    older.sort((a, b) => a.position - b.position);
    this.activity = [...older, ...this.activity].slice(-ACTIVITY_MAX);
    this.changed();
  }

  // The state that a person wants to know: one of widgets.STATES.
  stateOf(session) {
    const runs = [...this.runsOf(session.id).values()];
    if (session.status === "ended") return /^(stopped|$)/.test(session.cause || "") ? "ended" : "failed";
    if (["starting", "adopting", "left"].includes(session.status)) return session.status;
    if (runs.some((run) => run.state === "waiting")) return "waiting";
    return runs.length || session.status === "busy" ? "running" : "idle";
  }
}

export const live = new Live();
