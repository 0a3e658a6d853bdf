// SIGINT, the interrupt that PID 1 sends: ends the running cell, and does nothing at any other time.
//
// A signal is noticed twice. The event loop notices it here when the cell waits. A worker (watcher.mjs) notices it
// when the cell blocks the loop: the worker makes the main thread check itself at its next interrupt check, also in
// `while (true);`. The check decides, without a race, whether there is user code on the stack that must end.

import util from "node:util";
import { Worker } from "node:worker_threads";
import { Signal } from "./internals.mjs";
import { afterTurns, nextTurn } from "./turns.mjs";

const SIGINT = 2;
const LOOK = "_huskLook"; // name by which the worker finds it
const KERNEL = new URL("..", import.meta.url).href;
// A cell without a call, a template or an import ends at once.
const mayTakeTime = (code) => /[(`]|\bimport\b/.test(code);
const FRAMES_SEEN = 200;
const STUCK_AFTER = 3; // checks, 2 ms apart
const PATIENCE = 50;

const isKernel = (frame) => frame.scriptName.startsWith(KERNEL);
const isNode = (frame) => frame.scriptName.startsWith("node:");
// Calls the user's microtasks: the kernel's own have frames of the kernel.
const isDraining = (frame) => frame.functionName === "processTicksAndRejections";
const isUsers = (frame) => !isKernel(frame) && !isNode(frame);
// Loads one of Node's own modules. That takes a moment, and a module that is terminated in the middle would stay half
// loaded.
const isLoading = (frame) => isNode(frame) && frame.functionName === "compileForInternalLoader";
const isHolding = (frame) => frame.functionName === "hold" && frame.scriptName === import.meta.url;

export class Interrupts {
  #evaluator;
  #running = false;
  #seen = 0; // signals seen by the event loop
  #earlier = 0; // of these, before the cell began
  #offset = 0; // difference between the worker's count and ours
  #worker = null; // started late: it costs more memory than everything else, and prepared sessions may wait long for their first cell
  #terminated = 0; // how often
  #pending = false; // a signal came while held
  #onInterrupt;
  #onStop;

  // onStop is called while the cell is still on the stack, onInterrupt afterwards.
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

  // Calls `next` when the worker watches, if this code could need it. A worker that connected in the middle of the
  // cell would miss the first signal, and V8 does not allow that at every place.
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

  // Runs code that must not be terminated in the middle. A check sees on the stack that this function runs. A counter
  // would be wrong: a check can come before the first line of this function, and terminated code does not decrement
  // anything.
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
      once(); // no thread available; the next cell tries again
      return;
    }
    this.#worker = worker;
    this.#offset = this.#seen;
    let offset = Infinity;
    worker.on("message", (count) => {
      delete process[LOOK];
      // By then our count includes everything in the worker's, and perhaps more.
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

  // Called by the worker, on this thread, on top of the running code; `turn` is the last return value. Returns the
  // turn of the event loop if it wants to be called again, -N if it has now terminated code for the Nth time, else 0.
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
    if (turns && (below.length === 0 || signal <= this.#seen)) return 0; // the event loop has seen the signal too
    // Without a frame the loop is about to turn, or is between two of many microtasks if it does not.
    const draining = below.length === 0 ? asked >= STUCK_AFTER : isDraining(below[0]) && below.every(isNode);
    // Code that runs between two cells gets time to end. If it does not, it blocks the next cell.
    if (!(draining || below.some(isUsers)) || (!this.#running && asked < PATIENCE)) return loopCount;
    this.#onStop();
    const number = ++this.#terminated;
    nextTurn(() => this.#worker?.postMessage(number));
    this.#evaluator.terminate(); // call nothing from here on: the call would be terminated instead
    return -number;
  }
}
