// Internals that Node does not offer in public. All of them are here, since an upgrade of Node must check them.

import { compileFunction } from "node:vm";

function binding(name) {
  const before = process.noDeprecation;
  process.noDeprecation = true; // DEP0111 is for programs that do not need it
  try {
    return process.binding(name);
  } finally {
    process.noDeprecation = before;
  }
}

// libuv's signal handle. Unlike process.on() it also works in a worker, and no cell can remove it.
export const { Signal } = binding("signal_wrap");

const asyncWrap = binding("async_wrap");

// As Node does when an exception leaves a callback: terminated code cannot pop what it pushed.
export const { clearAsyncIdStack } = asyncWrap;

const anImmediate = setImmediate(() => {});
clearImmediate(anImmediate);
const Immediate = anImmediate.constructor;

const mark = Symbol("husk"); // marks the kernel's immediates

export function kernelImmediate(callback) {
  setImmediate(callback)[mark] = true;
}

const nothing = () => {};

// Makes Node count one more immediate than it has. Node also refers to the ends of its list by other means than their
// links.
function countOneMore() {
  const [first, counted, last] = [nothing, nothing, nothing].map((callback) => setImmediate(callback));
  counted.unref();
  first._idleNext = last;
  last._idlePrev = first;
  clearImmediate(first);
  clearImmediate(last);
}

let again = null; // an immediate that Node may call again

// Removes the immediates that wait behind the running one, in case that one is terminated: Node then drops them but
// still counts them, and an event loop that expects immediates spins forever. If another one ran before it in this
// turn, Node returns to the running one itself and would fail forever, since it has already begun. So it is replaced
// by one that does nothing.
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

// Ticks and microtasks behind a terminated one run at the end of the next callback, whenever that is. This makes such
// a callback in the same turn of the event loop, before the timers.
export function drainThisTurn() {
  if (draining) return;
  draining = true;
  new Signal().close(() => {
    draining = false;
    clearImmediate(again); // if Node had no need to call it, since only what it had called was terminated
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

// Sets whether writes to the socket's descriptor block. Only during a write: libuv's reads would block too.
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

// process.exit() calls listeners and sets a flag that keeps callbacks from running; this function just ends the
// process.
export const reallyExit = process.reallyExit.bind(process);
