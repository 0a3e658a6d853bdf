// One run: what it has shown so far, from its record and from events of the journal.
import { LineBuffer } from "./lines.mjs";

export function endingWords(run) {
  const words = {
    oom: "out of memory",
    kernel_died: "the interpreter died",
    container_died: "the session died",
    session_lost: "session lost",
    not_run: "not run",
  };
  if (run.ending === "error" && run.exit_code) return `exit code ${run.exit_code}`;
  return words[run.ending] || run.ending || "ended";
}

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
      "branch",
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
      "restored",
      "duration_ms",
      "stdout_bytes",
      "stderr_bytes",
      "stdout_truncated",
      "stderr_truncated",
      "kept_run",
      "kept_whole",
    ])
      if (record[name] !== undefined) this[name] = record[name];
  }

  // The list may have been read before events that have arrived since.
  fillFromList(record) {
    const { state } = this;
    this.fill(record);
    if (this.noted) this.state = state;
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
    this.noted = true;
    this.by = event.by || this.by;
    this.kind = event.kind || this.kind;
    this.branch = event.branch || this.branch;
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
    this.noted = true;
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
