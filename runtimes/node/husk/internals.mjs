// What Node has and does not offer in public. Everything of this kind is here, since an upgrade of Node has to look at it.

import { compileFunction } from "node:vm";

function binding(name) {
  const before = process.noDeprecation;
  process.noDeprecation = true; // DEP0111 is for programs that can do without
  try {
    return process.binding(name);
  } finally {
    process.noDeprecation = before;
  }
}

// libuv's signal handle. Unlike process.on() it works in a worker too, and no cell can take it away.
export const { Signal } = binding("signal_wrap");

const asyncWrap = binding("async_wrap");

// As Node does itself when an exception leaves a callback: code that is torn out of its frames cannot pop what it pushed.
export const { clearAsyncIdStack } = asyncWrap;

const anImmediate = setImmediate(() => {});
clearImmediate(anImmediate);
const Immediate = anImmediate.constructor;

const mark = Symbol("husk"); // marks the kernel's immediates

export function kernelImmediate(callback) {
  setImmediate(callback)[mark] = true;
}

const nothing = () => {};

// Makes Node count one immediate more than it has. Those at the ends of its list it also knows by other means than their links.
function countOneMore() {
  const [first, counted, last] = [nothing, nothing, nothing].map((callback) => setImmediate(callback));
  counted.unref();
  first._idleNext = last;
  last._idlePrev = first;
  clearImmediate(first);
  clearImmediate(last);
}

let again = null; // an immediate that Node may call again

// Takes back the immediates that wait behind the running one, for when that one is terminated: Node then forgets them but goes
// on counting them, and an event loop that believes in waiting immediates spins for ever. If there was one before it in this turn, Node
// comes back to the running one itself, and would fail for ever at finding it begun: so it is made one that does nothing.
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

// Ticks and microtasks that wait behind one that is terminated have their turn at the end of the next callback, whenever that is.
// This is one in the same turn of the event loop, before the timers.
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

// The parser that Node's own prompt uses.
export function parser() {
  if (!acorn) {
    const module = { exports: {} };
    const source = binding("natives")["internal/deps/acorn/acorn/dist/acorn"];
    compileFunction(source, ["exports", "module"])(module.exports, module);
    acorn = module.exports;
  }
  return acorn;
}

// Whether writes to the socket's descriptor block. Not for longer than a write: libuv's reads would block too.
export function setBlocking(socket, value) {
  socket._handle?.setBlocking?.(value);
}

const OWN_WARNINGS = ["vm.USE_MAIN_CONTEXT_DEFAULT_LOADER", "stripTypeScriptTypes"];

// That the kernel uses what Node calls experimental is no news to the user.
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

// process.exit() calls listeners and leaves a mark that keeps callbacks from running; this one ends the process.
export const reallyExit = process.reallyExit.bind(process);
