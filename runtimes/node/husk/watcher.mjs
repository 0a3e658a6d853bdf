// The worker that notices SIGINT while the main thread is busy, see interrupts.mjs. libuv reports a signal to every
// loop that listens for it, so this needs no helper process and no polling.

import inspector from "node:inspector";
import { parentPort, workerData } from "node:worker_threads";
import { Signal } from "./internals.mjs";

const ASK_AGAIN_MS = 2;
const SETTLE_MS = 100; // at most

const session = new inspector.Session();
let lookId;
let count = 0;
let asking = false;
let missed = false;
let gone = 0; // number of terminations by the main thread
let settling = null;

function next() {
  settling = null;
  if (missed) ask(0, 0);
  else asking = false;
}

// The main thread reports when its stack is empty. It does not get that far if the next code, perhaps a tick, does
// not end either.
parentPort.on("message", (number) => {
  gone = number;
  if (!settling) return;
  clearTimeout(settling);
  next();
});

// The answer comes when the main thread has run the check: from its event loop, or in the middle of its JavaScript.
// There is one check at a time, and none before terminated code has left the stack. The main thread handles all
// waiting checks at once, so a second check would be terminated in place of the cell, and V8 then refuses to
// terminate anything until the stack is empty.
function ask(asked, turn) {
  asking = true;
  missed = false;
  session.post(
    "Runtime.callFunctionOn",
    {
      functionDeclaration: `function (...question) { return this(...question) }\n//# sourceURL=${import.meta.url}\n`,
      objectId: lookId,
      arguments: [{ value: count }, { value: asked }, { value: turn }],
      returnByValue: true,
      silent: true,
    },
    (_error, reply) => {
      const again = reply?.result.value;
      if (again > 0) setTimeout(ask, ASK_AGAIN_MS, asked + 1, again);
      else if (-again <= gone) next();
      else settling = setTimeout(next, SETTLE_MS);
    },
  );
}

const signal = new Signal(); // also keeps this thread alive
signal.onsignal = () => {
  count++;
  if (!lookId) return; // its first message says that it is watching
  parentPort.postMessage(count);
  if (asking) missed = true;
  else ask(0, 0);
};
signal.start(workerData.signal);

session.connectToMainThread();
session.post("Runtime.evaluate", { expression: workerData.look }, (_error, { result }) => {
  lookId = result.objectId;
  parentPort.postMessage(count);
});
