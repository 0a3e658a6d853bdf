// Turns of the event loop. A message port calls from the loop itself: with an empty stack, after all microtasks and
// ticks. Unlike with an immediate or a timer, nothing else is lost when its callback is terminated.

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

// Calls back when the loop has handled everything that was ready at the time of this call. Signals come last in a
// turn, and their pipe may have become readable after the turn's list was made, so this waits for the next turn.
export function afterTurns(callback) {
  kernelImmediate(() => kernelImmediate(callback));
}

// Calls back after the current callback, in the same turn. If a tick is terminated, no immediates are lost.
export const thisTurn = process.nextTick.bind(process);

// Runs the steps, one per turn, as long as they are needed.
export function eachTurn(steps, isWanted) {
  const [step, ...others] = steps;
  if (!step) return;
  kernelImmediate(() => {
    if (!isWanted()) return;
    step();
    eachTurn(others, isWanted);
  });
}
