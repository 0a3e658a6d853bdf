// Internals of Node that are not public. They are all in this file, because each upgrade of Node must check them.

import { compileFunction } from "node:vm";

function binding(name) {
  const before = process.noDeprecation;
  process.noDeprecation = true; // no DEP0111 warning, since the kernel needs process.binding()
  try {
    return process.binding(name);
  } finally {
    process.noDeprecation = before;
  }
}

// libuv's signal handle. Unlike process.on() it also works in a worker, and no cell can remove it.
export const { Signal } = binding("signal_wrap");

const asyncWrap = binding("async_wrap");

// Node calls this when an exception leaves a callback. Terminated code cannot pop the IDs that it pushed either.
export const { clearAsyncIdStack } = asyncWrap;

const anImmediate = setImmediate(() => {});
clearImmediate(anImmediate);
const Immediate = anImmediate.constructor;

const mark = Symbol("husk"); // marks the kernel's immediates

export function kernelImmediate(callback) {
  setImmediate(callback)[mark] = true;
}

const nothing = () => {};

// Makes Node count one more immediate than it has, by unlinking an immediate that is still counted. That immediate
// needs neighbours, because Node's list also points to its first and last entries.
function countOneMore() {
  const [first, counted, last] = [nothing, nothing, nothing].map((callback) => setImmediate(callback));
  counted.unref();
  first._idleNext = last;
  last._idlePrev = first;
  clearImmediate(first);
  clearImmediate(last);
}

let again = null; // an immediate that Node may call again

// Removes the immediates that wait behind the running immediate, in case that one is terminated. Otherwise Node would
// drop the waiting ones but still count them, and the event loop would spin forever. If another immediate ran earlier
// in this turn, Node calls the running one again and would fail forever, since it has already begun. So its callback is
// replaced by one that does nothing.
export function clearImmediatesBehind() {
  const running = asyncWrap.execution_async_resources.find((resource) => resource instanceof Immediate);
  for (let immediate = running?._idleNext, next; immediate; immediate = next) {
    next = immediate._idleNext;
    const { _onImmediate: callback } = immediate;
    clearImmediate(immediate);
    if (immediate[mark]) kernelImmediate(callback);
  }
  if (!running?._idlePrev || !running._destroyed) return;
  countOneMore();
  again = Object.assign(running, { _destroyed: false, _onImmediate: nothing, _argv: undefined });
}

let draining = false;

// Ticks and microtasks behind a terminated one run only after the next callback, whenever that is. This function causes
// a callback in the same turn of the event loop, before the timers.
export function drainThisTurn() {
  if (draining) return;
  draining = true;
  new Signal().close(() => {
    draining = false;
    clearImmediate(again); // in case Node has not called it again
    again = null;
  });
}

let acorn;

// The parser of Node's own prompt.
export function parser() {
  if (!acorn) {
    const module = { exports: {} };
    const source = binding("natives")["internal/deps/acorn/acorn/dist/acorn"];
    compileFunction(source, ["exports", "module"])(module.exports, module);
    acorn = module.exports;
  }
  return acorn;
}

// Sets whether writes to the socket's descriptor block. Only for use during a write: libuv's reads would block too.
export function setBlocking(socket, value) {
  socket._handle?.setBlocking?.(value);
}

const OWN_WARNINGS = ["vm.USE_MAIN_CONTEXT_DEFAULT_LOADER", "stripTypeScriptTypes"];

// Users need not be warned about experimental features that the kernel uses.
export function hideOwnWarnings() {
  const { emitWarning } = process;
  process.emitWarning = (warning, ...args) => {
    if (
      !OWN_WARNINGS.some(
        (ours) => typeof warning === "string" && warning.startsWith(`${ours} is an experimental feature`),
      )
    )
      emitWarning.call(process, warning, ...args);
  };
}

// Only ends the process. process.exit() would also call listeners, and sets a flag that stops callbacks.
export const reallyExit = process.reallyExit.bind(process);
