// Turns of the event loop. A message port is called by the loop itself, with an empty stack, after all microtasks and
// ticks. If its callback is terminated, nothing else is lost, unlike with an immediate or a timer.

import { MessageChannel } from "node:worker_threads";
import { kernelImmediate } from "./internals.mjs";

const { port1, port2 } = new MessageChannel();
const waiting = new Map();
let last = 0;

port2.on("message", (turn) => {
  const callback = waiting.get(turn);
  waiting.delete(turn);
  callback?.();
});

// Calls back when the stack is empty, perhaps in the same turn of the loop.
export function nextTurn(callback) {
  const turn = ++last;
  waiting.set(turn, callback);
  port1.postMessage(turn);
}

// Calls back when the loop has handled everything that was ready at the time of this call. The loop handles signals
// last in a turn, and their pipe may become readable after the turn's list was made, so this waits for another turn.
export function afterTurns(callback) {
  kernelImmediate(() => kernelImmediate(callback));
}

// Calls back after the current callback, in the same turn. If a tick is terminated, no immediates are lost.
export const thisTurn = process.nextTick.bind(process);

// Runs the steps, one per turn, as long as isWanted() is true.
export function eachTurn(steps, isWanted) {
  const [step, ...others] = steps;
  if (!step) return;
  kernelImmediate(() => {
    if (!isWanted()) return;
    step();
    eachTurn(others, isWanted);
  });
}
