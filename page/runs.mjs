// A session and its runs, as the journal tells them. A run is read from its record once it is looked at; then its events
// are added, so nothing is missed and nothing is shown twice.
import { Stream, get, path } from "./api.mjs";
import { Watched } from "./html.mjs";
import { LineBuffer } from "./lines.mjs";

const PAGE = 40;

export class Run {
  constructor(number) {
    this.number = number;
    this.kind = "cell";
    this.state = "queued";
    this.clear();
    this.seen = 0; // number of the last event in `blocks`
    this.loaded = false;
    this.waiting = []; // events that came while the record was read
  }

  clear() {
    this.blocks = [];
  }

  fill(record) {
    for (const name of [
      "kind",
      "state",
      "text",
      "by",
      "queued_ms",
      "started_ms",
      "ended_ms",
      "ending",
      "cause",
      "detail",
    ])
      if (record[name] !== undefined) this[name] = record[name];
    for (const name of [
      "error",
      "exit_code",
      "signal",
      "memory_peak",
      "memory_limit",
      "dropped_bytes",
      "kernel_restarted",
      "lost_variables",
      "duration_ms",
    ])
      if (record[name] !== undefined) this[name] = record[name];
  }

  fillParts(record) {
    this.fill(record);
    this.clear();
    const prompts = record.prompts || [];
    (record.parts || []).forEach((part, index) => {
      for (const prompt of prompts.filter((p) => p.at === index)) this.addPrompt(prompt);
      this.addPart({ ...part, index });
    });
    for (const prompt of prompts.filter((p) => p.at >= (record.parts || []).length)) this.addPrompt(prompt);
    for (const output of record.notebook_outputs || []) this.addNotebook(output);
    this.answers = record.answers || [];
    this.seen = record.journal || 0;
    this.loaded = true;
    for (const event of this.waiting.splice(0)) this.take(event);
  }

  addPart(part) {
    if (part.kind === "stdout" || part.kind === "stderr") this.addText(part.kind, part.text || "");
    else this.blocks.push({ ...part });
  }

  // Outputs of the store have the form of notebooks.
  addNotebook(output) {
    const joined = (value) => (Array.isArray(value) ? value.join("") : value);
    if (output.output_type === "stream")
      this.addText(output.name === "stderr" ? "stderr" : "stdout", joined(output.text));
    else if (output.output_type === "error") {
      this.error ||= { type: output.ename, message: output.evalue, traceback: joined(output.traceback) };
      this.blocks.push({ kind: "error" });
    } else {
      const data = Object.fromEntries(Object.entries(output.data || {}).map(([type, value]) => [type, joined(value)]));
      this.blocks.push({ kind: "display", data, index: this.blocks.length });
    }
  }

  addText(stream, text) {
    let last = this.blocks[this.blocks.length - 1];
    if (!last || last.kind !== stream) {
      last = { kind: stream, buffer: new LineBuffer() };
      this.blocks.push(last);
    }
    last.buffer.add(text);
  }

  addPrompt(prompt) {
    this.blocks.push({ kind: "prompt", text: prompt.text || "", password: prompt.password, answered: prompt.answered });
  }

  addDisplay(event) {
    const display = event.display || {};
    const block = { kind: "display", data: display.data, display_id: display.id, event: event.number };
    const old = display.update && this.blocks.findIndex((b) => b.display_id && b.display_id === display.id);
    if (display.update && old >= 0) this.blocks[old] = block;
    else this.blocks.push(block);
  }

  get prompt() {
    return this.state === "waiting" ? [...this.blocks].reverse().find((b) => b.kind === "prompt") : undefined;
  }

  take(event) {
    if (event.number <= this.seen) return;
    this.seen = event.number;
    this.by = event.by || this.by;
    this.kind = event.kind || this.kind;
    switch (event.event) {
      case "run.queued":
        this.text = event.text;
        this.queued_ms = event.time_ms;
        break;
      case "run.started":
        this.state = "running";
        this.started_ms = event.time_ms;
        break;
      case "run.output":
        this.addText(event.stream || "stdout", event.text || "");
        break;
      case "run.display":
        this.addDisplay(event);
        break;
      case "run.cleared":
        this.clear();
        break;
      case "run.prompt":
        this.state = "waiting";
        this.addPrompt(event);
        break;
      case "run.answered":
        this.state = "running";
        if (this.blocks.length) for (const block of this.blocks) if (block.kind === "prompt") block.answered = true;
        break;
      case "run.ended":
        this.fill(event);
        this.state = "ended";
        this.ended_ms = event.time_ms;
        break;
    }
  }

  // The record will have what the event says; only the state is of interest now.
  note(event) {
    const states = { "run.started": "running", "run.prompt": "waiting", "run.answered": "running" };
    this.state = states[event.event] || this.state;
    if (event.event === "run.started") this.started_ms = event.time_ms;
  }

  get milliseconds() {
    const began = this.started_ms || this.queued_ms;
    if (this.state === "ended") return this.duration_ms ?? (this.ended_ms && began ? this.ended_ms - began : undefined);
    return began && this.state !== "queued" ? Date.now() - began : undefined;
  }

  get failed() {
    return this.state === "ended" && this.ending && this.ending !== "ok";
  }
}

export class SessionRuns extends Watched {
  constructor(id) {
    super();
    this.id = id;
    this.runs = new Map();
    this.more = false;
    this.connection = { state: "connecting" };
    this.info = null;
    this.error = null;
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

  get list() {
    return [...this.runs.values()].sort((a, b) => a.number - b.number);
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
      for (const record of runs) this.run(record.run).fill(record);
      this.more = more;
      this.listed = true;
    } catch (error) {
      this.listError = error;
      this.listed = true;
    }
    this.changed();
  }

  older() {
    const first = this.list[0];
    return first ? this.readList(first.number) : null;
  }

  // Reads what a run has shown. Only for runs that somebody looks at.
  async load(number, again = false) {
    const run = this.run(number);
    if ((run.loaded && !again) || run.loading) return;
    run.loading = true;
    try {
      run.fillParts(await get(path("sessions", this.id, "runs", number)));
    } catch (error) {
      run.loadError = error;
    }
    run.loading = false;
    this.changed();
  }

  take(event) {
    if (event.event === "gap") {
      if (this.begun) this.missed = Date.now();
      this.begun = true;
      this.runs.clear();
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
        this.onEnded?.(run);
      }
      this.fresh++;
    } else if (event.event === "session.ended") {
      this.ended = true;
      this.cause = event.cause;
      this.detail = event.text;
      this.readInfo();
    } else if (event.event.startsWith("session.")) {
      this.readInfo();
    }
    this.changed();
  }
}
