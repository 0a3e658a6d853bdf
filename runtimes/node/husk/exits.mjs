// Calls that would end the process end the cell.

import os from "node:os";
import vm from "node:vm";

const { signals } = os.constants;
const HARMLESS = new Set([0, signals.SIGINT, signals.SIGCONT, signals.SIGCHLD, signals.SIGURG, signals.SIGWINCH]);

const nameOf = (number) => Object.keys(signals).find((name) => signals[name] === number) ?? `signal ${number}`;

/** Calls leave(what) in place of every way to end the process through `process`. */
export function guardExits(leave) {
  const { pid, _kill: kill } = process;
  const status = (code) => code ?? process.exitCode ?? 0;

  process.exit = (code) => leave(`process.exit(${status(code)})`);
  process.reallyExit = (code) => leave(`process.exit(${status(code)})`);
  process.abort = () => leave("process.abort()");
  // Everything in process.kill() except the system call itself is Node's.
  process._kill = (target, signal) => {
    const us = target === pid || target === -pid || target === 0 || target === -1;
    if (us && !HARMLESS.has(signal) && process.listenerCount(nameOf(signal)) === 0)
      leave(`process.kill(${target}, "${nameOf(signal)}")`);
    return kill(target, signal);
  };

  // breakOnSigint replaces libuv's handler by the signal's default action, the end of the process, and does not
  // restore it. The kernel's own interrupt has the same purpose as the option.
  for (const name of ["runInThisContext", "runInContext"]) {
    const run = vm.Script.prototype[name];
    vm.Script.prototype[name] = function (...args) {
      const options = args.at(-1);
      if (options?.breakOnSigint) args[args.length - 1] = { ...options, breakOnSigint: false };
      return Reflect.apply(run, this, args);
    };
  }
}

/** Calls report(error) for an error in a listener for uncaught exceptions, which would end the process. */
export function guardListeners(report) {
  const { emit } = process;
  process.emit = function (event, ...args) {
    if (event !== "uncaughtException") return Reflect.apply(emit, this, [event, ...args]);
    try {
      return Reflect.apply(emit, this, [event, ...args]);
    } catch (error) {
      report(error);
      return true;
    }
  };
}
