// SIGINT, the interrupt that PID 1 sends: ends the running cell, and does nothing at any other time.
//
// A signal is noticed in two places. The event loop notices it here while the cell waits. A worker (watcher.mjs)
// notices it while the cell blocks the loop, even in `while (true);`, and makes the main thread call #check at V8's
// next interrupt check. #check decides, without a race, whether there is user code on the stack that must end.

import util from "node:util";
import { Worker } from "node:worker_threads";
import { Signal } from "./internals.mjs";
import { afterTurns, nextTurn } from "./turns.mjs";

const SIGINT = 2;
const CHECK = "_huskCheck"; // name by which the worker finds #check
const KERNEL = new URL("..", import.meta.url).href;
// Without a call, a template or an import, a cell is assumed to end at once.
const mayTakeTime = (code) => /[(`]|\bimport\b/.test(code);
const FRAMES_SEEN = 200;
const STUCK_AFTER = 3; // checks, 2 ms apart
const PATIENCE = 50;

const isKernel = (frame) => frame.scriptName.startsWith(KERNEL);
const isNode = (frame) => frame.scriptName.startsWith("node:");
// Node's function that runs microtasks. If all frames are Node's, the microtask is the user's: the kernel's own have
// frames of the kernel.
const isDraining = (frame) => frame.functionName === "processTicksAndRejections";
const isUsers = (frame) => !isKernel(frame) && !isNode(frame);
// The frame that loads one of Node's own modules. A module that is terminated in the middle would stay half loaded.
const isLoading = (frame) => isNode(frame) && frame.functionName === "compileForInternalLoader";
const isHolding = (frame) => frame.functionName === "hold" && frame.scriptName === import.meta.url;

export class Interrupts {
  #evaluator;
  #running = false;
  #seen = 0; // signals seen by the event loop
  #earlier = 0; // number of these that came before the cell began
  #offset = 0; // difference between the worker's count and ours
  #worker = null; // started late, because it needs more memory than everything else
  #terminated = 0; // how often code was terminated
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

  // Calls `next`; if the code may take time, only once the worker is watching. A worker that connected during the cell
  // would miss the first signal, and V8 does not let a worker connect at every point.
  prepare(code, next) {
    if (this.#worker || !mayTakeTime(code)) next();
    else this.#startWatcher(next);
  }

  // A cell begins. The caller has waited until the loop has read all earlier signals (afterTurns).
  arm() {
    this.#earlier = this.#seen;
    this.#pending = false;
    this.#running = true;
  }

  disarm() {
    this.#running = false;
  }

  // Runs code that must not be terminated in the middle. A check finds this function on the stack. A counter would not
  // work: a check can come before the first line of this function, and terminated code would not decrement it.
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
    process[CHECK] = (...args) => this.#check(...args);
    try {
      worker = new Worker(new URL("watcher.mjs", import.meta.url), {
        workerData: { check: `process.${CHECK}`, signal: SIGINT },
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
      delete process[CHECK];
      // After these turns our count includes every signal that the worker has counted, and perhaps more.
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
  #check(count, tries, turn) {
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
    const turns = tries > 0 && turn !== loopCount;
    if (turns && (below.length === 0 || signal <= this.#seen)) return 0; // the event loop has seen the signal too
    // Without a frame the loop is about to begin a new turn. If it stays in this turn, it is running many microtasks.
    const draining = below.length === 0 ? tries >= STUCK_AFTER : isDraining(below[0]) && below.every(isNode);
    // Code that runs between two cells gets time to end, and is terminated after that, since it blocks the next cell.
    if (!(draining || below.some(isUsers)) || (!this.#running && tries < PATIENCE)) return loopCount;
    this.#onStop();
    const number = ++this.#terminated;
    nextTurn(() => this.#worker?.postMessage(number));
    this.#evaluator.terminate(); // from here on, call nothing: the call would be terminated instead of the cell
    return -number;
  }
}
