// A session and its runs, as the journal tells them. A run is read from its record once it is looked at; then its events
// are added, so nothing is missed and nothing is shown twice.
import { Stream, get, path } from "./api.mjs";
import { Watched } from "./html.mjs";
import { Run } from "./run.mjs";

const PAGE = 40;

export class SessionRuns extends Watched {
  constructor(id) {
    super();
    this.id = id;
    this.runs = new Map();
    this.more = false;
    this.connection = { state: "connecting" };
    this.info = null;
    this.error = null;
    this.endedCount = 0;
    this.connections = 0; // of the gate that have ended
    this.points = []; // events about checkpoints
    this.fresh = 0; // runs and outputs since the reader was last at the end
  }

  start() {
    this.stream = new Stream(path("sessions", this.id, "events"), {
      onEvent: (event) => this.take(event),
      onState: (state) => {
        this.connection = state;
        this.onState?.(["over", "refused"].includes(state.state) ? { state: "live" } : state);
        if (state.state === "refused" && !this.runs.size) this.refused(state.error);
        this.changed();
      },
    });
    this.readInfo();
  }

  stop() {
    if (this.stream) this.stream.close();
  }

  // The journal is gone, but the store may still know the runs.
  async refused(error) {
    await this.readList();
    if (!this.runs.size) this.error = error;
    this.changed();
  }

  // An address may name a run that does not exist.
  get list() {
    return [...this.runs.values()]
      .filter((run) => !run.loadError || run.noted || run.queued_ms)
      .sort((a, b) => a.number - b.number);
  }

  get active() {
    return this.list.filter((run) => run.state !== "ended");
  }

  get prompting() {
    return this.list.find((run) => run.state === "waiting");
  }

  run(number) {
    if (!this.runs.has(number)) this.runs.set(number, new Run(number));
    return this.runs.get(number);
  }

  async readInfo() {
    try {
      this.info = await get(path("sessions", this.id));
      this.infoAt = Date.now();
    } catch (error) {
      this.infoError = error;
    }
    this.changed();
  }

  async readList(before) {
    try {
      const { runs, more } = await get(
        `${path("sessions", this.id, "runs")}?limit=${PAGE}${before ? `&before=${before}` : ""}`,
      );
      for (const record of runs) this.run(record.run).fillFromList(record);
      this.more = more;
      this.listed = true;
    } catch (error) {
      this.listError = error;
      this.listed = true;
    }
    this.changed();
  }

  // Events about checkpoints from before the page was opened.
  async readPoints() {
    for (const only of ["checkpoint", "branch"]) {
      const target = `${path("sessions", this.id, "events")}?only=${only}&after=0`;
      const { events } = await get(target).catch(() => ({}));
      for (const event of events || []) this.addPoint(event);
    }
    this.changed();
  }

  addPoint(event) {
    if (event.event === "gap" || this.points.some((one) => one.number === event.number)) return;
    this.points = [...this.points, event].sort((a, b) => a.number - b.number);
  }

  older() {
    const first = this.list[0];
    return first ? this.readList(first.number) : null;
  }

  // Reads what a run has shown. Only for runs that somebody looks at.
  async load(number, again = false) {
    const run = this.run(number);
    if (run.loading) run.again ||= again;
    if ((run.loaded && !again) || run.loading) return;
    run.loading = true;
    try {
      run.fillParts(await get(path("sessions", this.id, "runs", number)));
    } catch (error) {
      run.loadError = error;
    }
    run.loading = false;
    this.changed();
    if (!run.again) return;
    run.again = false;
    await this.load(number, true);
  }

  take(event) {
    if (event.event === "gap") {
      if (this.begun) this.missed = Date.now();
      this.begun = true;
      this.runs.clear();
      for (const record of event.sessions[0]?.runs || []) this.run(record.run).fill(record);
      if (event.sessions[0] && event.sessions[0].status === "ended") this.ended = true;
      this.readList();
    } else if (event.run) {
      const run = this.run(event.run);
      if (event.event === "run.queued" && !run.loaded) {
        run.loaded = true; // its first event: there is no record to read
        run.state = "queued";
      }
      if (run.loaded) run.take(event);
      else if (run.loading) run.waiting.push(event);
      else run.note(event);
      if (event.event === "run.ended") {
        // The record also has the value, and what the model saw.
        if (run.state !== "ended") run.fill({ ...event, state: "ended", ended_ms: event.time_ms });
        this.load(event.run, true);
        this.endedCount++;
        this.onEnded?.(run);
        // The branch was not there yet when `branch.made` came.
        if (run.branch) this.readInfo();
      }
      this.fresh++;
    } else if (event.event === "session.ended") {
      this.ended = true;
      this.cause = event.cause;
      this.detail = event.text;
      this.readInfo();
    } else if (/^(checkpoint|branch)\./.test(event.event)) {
      this.addPoint(event);
      this.readInfo();
    } else if (event.event === "network.connection") {
      this.connections++;
    } else if (event.event.startsWith("session.")) {
      this.readInfo();
    }
    this.changed();
  }
}
