// process.stdin. In an interactive cell a read sends a prompt, and the client that ran the cell answers it. In any
// other cell process.stdin is at its end.

import { createRequire, syncBuiltinESMExports } from "node:module";
import { Readable } from "node:stream";
import { afterTurns } from "./turns.mjs";

const require = createRequire(import.meta.url);
const CLOSED =
  "stdin is closed in this session: nobody can answer. Run the cell with interactive=true to answer, or put the value into the code.";
const END_OF_INPUT = "\x04"; // typed by Ctrl-D

/** Input of interactive cells: sends a prompt when code reads and no input is left. */
class Typed extends Readable {
  fd = 0;
  #onRead;

  constructor(onRead) {
    super({ autoDestroy: false });
    this.#onRead = onRead;
  }

  _read() {
    this.#onRead();
  }
}

export class Keyboard {
  #send; // (fields) => sends an input message
  #open = false;
  #closed; // Node's own stdin
  #typed = null;
  #wanted = false; // code is reading
  #interfaces = new Set(); // interfaces of readline that read #typed
  #prompt = null; // { text, owner } of a waiting question of readline
  #waiting = 0; // number of the prompt that waits for an answer; 0 = none
  #prompts = 0;
  #idle = null;
  #adapted = false; // readline is adapted; it is loaded only in sessions with prompts

  constructor(send) {
    this.#send = send;
    const { get } = Object.getOwnPropertyDescriptor(process, "stdin");
    Object.defineProperty(process, "stdin", {
      get: () => this.#stream(() => (this.#closed ??= Reflect.apply(get, process, []))),
      configurable: true,
      enumerable: true,
    });
  }

  open() {
    this.#adaptReadline();
    this.#open = true;
    afterTurns(() => this.#consider());
  }

  /** Called at the end of a cell. */
  close() {
    this.#open = false; // #wanted stays: code that waits for input also waits in the next cell
    this.#prompt = this.#idle = null;
    this.#waiting = 0;
  }

  /** Calls back when no code waits for input any more, perhaps before it returns. */
  whenIdle(callback) {
    if (this.#open && (this.#waiting || this.#reads())) this.#idle = callback;
    else callback();
  }

  answer(number, text) {
    if (number !== this.#waiting) return; // the prompt was withdrawn meanwhile
    this.#waiting = 0;
    this.#prompt = null;
    this.#wanted = false;
    const [typed, end] = text.split(END_OF_INPUT);
    if (typed || end === undefined) this.#typed.push(typed.endsWith("\n") ? typed : `${typed}\n`);
    if (end !== undefined) {
      this.#typed.push(null);
      this.#typed = null;
    }
    afterTurns(() => this.#consider());
  }

  #stream(closed) {
    this.#adaptReadline();
    if (!this.#open) return closed();
    this.#typed ??= new Typed(() => {
      this.#wanted = true;
      afterTurns(() => this.#consider());
    });
    return this.#typed;
  }

  /** True if code waits for input: a question of readline, or a reader of the stream. */
  #reads() {
    if (this.#prompt) return true;
    if (!this.#wanted || !this.#typed) return false;
    if (this.#typed.listenerCount("readable")) return true;
    const quiet = [...this.#interfaces].filter((one) => !one.listenerCount("line")).length;
    return !this.#typed.isPaused() && this.#typed.listenerCount("data") > quiet;
  }

  #consider() {
    if (!this.#open) return;
    const reads = this.#reads();
    if (reads && !this.#waiting) this.#sendPrompt();
    else if (!reads) this.#withdraw();
    if (!reads && this.#idle) {
      const idle = this.#idle;
      this.#idle = null;
      idle();
    }
  }

  #sendPrompt() {
    this.#waiting = ++this.#prompts;
    this.#send({ question: this.#waiting, prompt: this.#prompt?.text ?? "" });
  }

  #withdraw() {
    if (this.#waiting) this.#send({ question: this.#waiting, cancel: true });
    this.#waiting = 0;
  }

  // ---- readline

  #adaptReadline() {
    if (this.#adapted) return;
    this.#adapted = true;
    for (const name of ["node:readline", "node:readline/promises"]) {
      const module = require(name);
      const { createInterface } = module;
      const { prototype } = module.Interface;
      const { question } = prototype;
      const ours = (...args) => this.#question(question, ...args);
      module.createInterface = (...args) => this.#watch(createInterface(...args));
      prototype.question = function (...args) {
        return ours(this, args);
      };
    }
    syncBuiltinESMExports();
  }

  #watch(created) {
    if (created.input !== this.#typed || !this.#typed || this.#interfaces.has(created)) return created;
    this.#interfaces.add(created);
    created.on("close", () => {
      this.#interfaces.delete(created);
      this.#forget(created);
    });
    created.on("newListener", (event) => event === "line" && afterTurns(() => this.#consider()));
    return created;
  }

  #question(question, owner, args) {
    if (owner.input === this.#closed && owner.input) throw new Error(`readline: a question was asked, but ${CLOSED}`);
    if (owner.input !== this.#typed || !this.#typed) return Reflect.apply(question, owner, args);
    if (!this.#open) throw new Error(`readline: a question was asked, but ${CLOSED}`);
    this.#watch(owner); // in case the interface was created in another way
    const { output } = owner;
    owner.output = undefined; // the prompt is sent separately
    try {
      return Reflect.apply(question, owner, args);
    } finally {
      owner.output = output;
      this.#prompt = { text: String(args[0]), owner };
      if (this.#waiting) this.#sendPrompt(); // replaces a prompt without this text
      const signal = args.find((argument) => argument?.signal)?.signal;
      signal?.addEventListener("abort", () => this.#forget(owner), { once: true });
      afterTurns(() => this.#consider());
    }
  }

  /** The question of this interface no longer waits. */
  #forget(owner) {
    if (this.#prompt?.owner === owner) this.#prompt = null;
    afterTurns(() => this.#consider());
  }
}
