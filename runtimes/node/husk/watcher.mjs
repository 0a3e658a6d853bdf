// The worker that notices SIGINT while the main thread is busy (see interrupts.mjs). libuv reports a signal to every
// loop that listens for it, so the worker needs no helper process and no polling.

import inspector from "node:inspector";
import { parentPort, workerData } from "node:worker_threads";
import { Signal } from "./internals.mjs";

const CHECK_AGAIN_MS = 2;
const SETTLE_MS = 100; // maximum wait for terminated code to leave the stack

const session = new inspector.Session();
let checkId;
let count = 0;
let checking = false;
let missed = false;
let gone = 0; // number of terminations by the main thread
let settling = null;

function next() {
  settling = null;
  if (missed) check(0, 0);
  else checking = false;
}

// The main thread sends this when its stack is empty after a termination. It cannot if the next code, perhaps a tick,
// does not end either; hence the timeout.
parentPort.on("message", (number) => {
  gone = number;
  if (!settling) return;
  clearTimeout(settling);
  next();
});

// The main thread runs the check from its event loop or in the middle of its JavaScript, and then replies. There is one
// check at a time, and none before terminated code has left the stack. The main thread handles all waiting checks at
// once, so a second check would be terminated in place of the cell, and V8 then refuses to terminate anything until the
// stack is empty.
function check(tries, turn) {
  checking = true;
  missed = false;
  session.post(
    "Runtime.callFunctionOn",
    {
      functionDeclaration: `function (...args) { return this(...args) }\n//# sourceURL=${import.meta.url}\n`,
      objectId: checkId,
      arguments: [{ value: count }, { value: tries }, { value: turn }],
      returnByValue: true,
      silent: true,
    },
    (_error, reply) => {
      const again = reply?.result.value;
      if (again > 0) setTimeout(check, CHECK_AGAIN_MS, tries + 1, again);
      else if (-again <= gone) next();
      else settling = setTimeout(next, SETTLE_MS);
    },
  );
}

const signal = new Signal(); // also keeps this thread alive
signal.onsignal = () => {
  count++;
  if (!checkId) return; // the first message tells the main thread that the worker is watching
  parentPort.postMessage(count);
  if (checking) missed = true;
  else check(0, 0);
};
signal.start(workerData.signal);

session.connectToMainThread();
session.post("Runtime.evaluate", { expression: workerData.check }, (_error, { result }) => {
  checkId = result.objectId;
  parentPort.postMessage(count);
});
