// SIGINT, the interrupt that PID 1 sends: ends the running cell, does nothing at any other time.
//
// A signal is noticed twice. Here, by the event loop, when the cell waits. And by a worker (watcher.mjs), when the cell keeps
// the loop from turning: the worker has the main thread look at itself at its next interrupt check, also in `while (true);`,
// and what looks decides, without a race, whether there is code of the user's on the stack that has to go.

import util from "node:util";
import { Worker } from "node:worker_threads";
import { Signal } from "./internals.mjs";
import { afterTurns, nextTurn } from "./turns.mjs";

const SIGINT = 2;
const LOOK = "_huskLook"; // where the worker finds it
const KERNEL = new URL("..", import.meta.url).href;
// Without a call, a template or an import a cell ends at once.
const mayTakeTime = (code) => /[(`]|\bimport\b/.test(code);
const FRAMES_SEEN = 200;
const STUCK_AFTER = 3; // questions, 2 ms apart
const PATIENCE = 50;

const isKernel = (frame) => frame.scriptName.startsWith(KERNEL);
const isNode = (frame) => frame.scriptName.startsWith("node:");
// Calls the microtasks, which are the user's: the kernel's own have frames of the kernel.
const isDraining = (frame) => frame.functionName === "processTicksAndRejections";
const isUsers = (frame) => !isKernel(frame) && !isNode(frame);
// Loads a module of Node's own. That takes a moment, and what is torn down in the middle of it would stay half loaded for ever.
const isLoading = (frame) => isNode(frame) && frame.functionName === "compileForInternalLoader";
const isHolding = (frame) => frame.functionName === "hold" && frame.scriptName === import.meta.url;

export class Interrupts {
  #evaluator;
  #running = false;
  #seen = 0; // signals, by the event loop
  #earlier = 0; // of these, before the cell began
  #offset = 0; // from the worker's count to ours
  #worker = null; // costs more memory than all else, and sessions wait in stock before their first cell
  #terminated = 0; // how often
  #pending = false; // came while something was held
  #onInterrupt;
  #onStop;

  // onStop is called while the cell is still on the stack, onInterrupt when it no longer is.
  constructor(evaluator, onInterrupt, onStop) {
    this.#evaluator = evaluator;
    this.#onInterrupt = onInterrupt;
    this.#onStop = onStop;
    const signal = new Signal();
    signal.unref();
    signal.onsignal = () => this.#onSignal();
    signal.start(SIGINT);
  }

  #onSignal() {
    this.#seen++;
    if (this.#running) this.#onInterrupt();
  }

  // Calls `next` when the worker watches, if this code could need it. A worker that connected in the middle of the cell would take the
  // first signal for none, and V8 does not bear it at every place.
  prepare(code, next) {
    if (this.#worker || !mayTakeTime(code)) next();
    else this.#startWatcher(next);
  }

  // A cell begins; not before the loop has read the signals that came before it (afterTurns).
  arm() {
    this.#earlier = this.#seen;
    this.#pending = false;
    this.#running = true;
  }

  disarm() {
    this.#running = false;
  }

  // Runs what must not be cut in the middle. A look sees on the stack that it is in here. A count would be wrong: a look can come
  // before the first line of this, and what is terminated counts nothing down.
  hold(uncut) {
    try {
      return uncut();
    } finally {
      if (this.#pending && this.#running) {
        this.#pending = false;
        this.#onStop();
        this.#evaluator.terminateHere();
      }
    }
  }

  #startWatcher(next) {
    let worker;
    const once = () => {
      const call = next;
      next = null;
      call?.();
    };
    process[LOOK] = (...question) => this.#look(...question);
    try {
      worker = new Worker(new URL("watcher.mjs", import.meta.url), {
        workerData: { look: `process.${LOOK}`, signal: SIGINT },
        env: {},
        execArgv: [],
        argv: [],
        resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 },
      });
    } catch {
      once(); // no thread to be had; the next cell tries again
      return;
    }
    this.#worker = worker;
    this.#offset = this.#seen;
    let offset = Infinity;
    worker.on("message", (count) => {
      delete process[LOOK];
      // By then our count has everything that the worker's had, and perhaps more.
      afterTurns(() => {
        offset = Math.min(offset, this.#seen - count);
        this.#offset = offset;
        once();
      });
    });
    worker.on("error", () => {});
    worker.on("exit", () => {
      this.#worker = null;
      once();
    });
    worker.unref();
  }

  // Called by the worker, on this thread, on top of whatever runs; `turn` is what it returned when it was asked before. Returns the turn
  // of the event loop if it wants to be asked again, -N if it has now terminated something for the Nth time, else 0.
  #look(count, asked, turn) {
    const { loopCount } = performance.nodeTiming.uvMetricsInfo;
    const signal = count + this.#offset;
    if (this.#running && signal <= this.#earlier) return 0; // meant for an earlier cell
    const frames = util.getCallSites(FRAMES_SEEN);
    const below = frames.slice(frames.findIndex((frame) => frame.scriptName === "") + 1);
    if (below.some(isHolding)) {
      this.#pending = true;
      return 0;
    }
    if (below.some(isLoading)) return loopCount;
    const turns = asked > 0 && turn !== loopCount;
    if (turns && (below.length === 0 || signal <= this.#seen)) return 0; // the event loop has the signal too
    // Without a frame the loop is about to turn. Or it is between two microtasks of many, if it does not.
    const draining = below.length === 0 ? asked >= STUCK_AFTER : isDraining(below[0]) && below.every(isNode);
    // Between two cells something is given time to end. If it does not, it keeps the next cell from beginning.
    if (!(draining || below.some(isUsers)) || (!this.#running && asked < PATIENCE)) return loopCount;
    this.#onStop();
    const number = ++this.#terminated;
    nextTurn(() => this.#worker?.postMessage(number));
    this.#evaluator.terminate(); // nothing may be called from here on: that would be what is terminated
    return -number;
  }
}
